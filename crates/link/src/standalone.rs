//! A link driven by itself: it keeps its own timers and hands over what comes out, for whoever has one link and a clock rather
//! than a network and an event queue. What a link does lives in `link.rs`.

use std::collections::VecDeque;

use tailback_core::{Allowance, Annexes, DropReason, LinkId, Packet, Time};

use crate::counters::LinkCounters;
use crate::driver::{LinkCx, LinkDriver, LinkTimers};
use crate::link::{Link, Offer};
use crate::spec::LinkSpec;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Passage {
    /// It has reached the far end, perhaps [damaged](Packet::is_corrupted).
    Delivered(Packet),
    /// The link dropped it.
    Dropped(Packet, DropReason),
    /// It was duplicated on the wire: a second one will be delivered.
    Duplicated(Packet),
}

/// A link with its own timers. Everything in it happens at the instant when it is due, also when it is called late: a clock
/// that is late delays what comes out, never what follows.
#[derive(Debug)]
pub struct StandaloneLink {
    link: Link,
    now: Time,
    keeper: Keeper,
}

/// Keeps the timers of one link, and what became of its packets until somebody asks.
#[derive(Debug)]
struct Keeper {
    timers: [Time; 3],
    passages: VecDeque<(Time, Passage)>,
}

/// In the order in which they are due at one instant, as in the simulator.
const TIMERS: LinkTimers = LinkTimers { service: 0, wire: 1, late: 2 };
const IDENTITY: LinkId = LinkId(0);

impl LinkDriver for &mut Keeper {
    const PACKETS: bool = true;

    #[inline]
    fn arm(&mut self, timer: u32, at: Time) {
        self.timers[timer as usize] = at;
    }

    #[inline]
    fn served(&mut self, _now: Time, _link: LinkId, _packet: &Packet, _begins: Time, _ends: Time) {}

    fn dropped(&mut self, now: Time, _link: LinkId, packet: &Packet, reason: DropReason) {
        self.passages.push_back((now, Passage::Dropped(*packet, reason)));
    }

    fn duplicated(&mut self, now: Time, packet: &Packet) {
        self.passages.push_back((now, Passage::Duplicated(*packet)));
    }
}

impl StandaloneLink {
    /// A link at rest at time zero, whose random streams derive from `seed` and its name.
    pub fn new(spec: LinkSpec, seed: u64) -> Self {
        let mut link = Link::new(spec, seed);
        let mut keeper = Keeper { timers: [Time::NEVER; 3], passages: VecDeque::new() };
        link.settle(TIMERS, &mut &mut keeper);
        Self { link, now: Time::ZERO, keeper }
    }

    /// When something happens next without a packet; [`Time::NEVER`] if nothing does.
    #[inline]
    pub fn next_event(&self) -> Time {
        let [service, wire, late] = self.keeper.timers;
        service.min(wire).min(late)
    }

    /// What became of packets, in the order of time. What a dropped packet carried is freed.
    #[inline]
    pub fn poll(&mut self) -> Option<(Time, Passage)> {
        self.keeper.passages.pop_front()
    }

    /// Lets happen everything up to `now`, `now` included, each thing at its own instant.
    pub fn advance(&mut self, now: Time, annexes: &mut Annexes) {
        loop {
            let next = self.next_event();
            if next > now {
                break;
            }
            self.now = self.now.max(next);
            self.step(annexes);
        }
        self.now = self.now.max(now);
        self.link.catch_up(self.now);
    }

    /// The earliest event, which is due.
    fn step(&mut self, annexes: &mut Annexes) {
        let next = self.next_event();
        let mut cx = LinkCx { now: self.now, id: IDENTITY, annexes, driver: &mut self.keeper };
        let [service, wire, _] = cx.driver.timers;
        let arrived = if service == next {
            self.link.serve(&mut cx);
            None
        } else if wire == next {
            let (packet, then) = self.link.take_head();
            cx.driver.arm(TIMERS.wire, then);
            if self.link.is_rough() { self.link.wear(packet, &mut cx) } else { Some(packet) }
        } else {
            self.link.arrive_late(&mut cx)
        };
        if let Some(packet) = arrived {
            self.keeper.passages.push_back((self.now, Passage::Delivered(packet)));
        }
    }

    /// A packet is offered to the link at `now`, after everything up to then; a `now` that is past counts as the present.
    /// Where it is on its route stays as it is.
    pub fn offer(&mut self, now: Time, packet: Packet, annexes: &mut Annexes) {
        self.advance(now, annexes);
        let offer = self.link.offer(self.link.entrance(), self.now, packet, packet.route);
        let mut cx = LinkCx { now: self.now, id: IDENTITY, annexes, driver: &mut self.keeper };
        match offer {
            Offer::Queued => {}
            Offer::Leads(timer, at) => cx.driver.arm(timer, at),
            Offer::Overflow => self.link.drop(packet, DropReason::Overflow, &mut cx),
            Offer::AtLength => {
                let departed = self.link.offer_at_length(packet, packet.route, &mut cx);
                debug_assert!(departed.is_none(), "alone, it feeds no other");
            }
        }
    }

    /// What a governed link may let go changes.
    pub fn allow(&mut self, now: Time, allowance: &Allowance, annexes: &mut Annexes) {
        self.advance(now, annexes);
        let driver = &mut self.keeper;
        self.link.allow(allowance, &mut LinkCx { now: self.now, id: IDENTITY, annexes, driver });
    }

    /// Everything countable, as of the present.
    pub fn counters(&mut self) -> LinkCounters {
        self.link.counters(self.now)
    }

    /// What the queue discipline tells of its state at the present.
    pub fn queue_state(&self, note: &mut dyn FnMut(&'static str, f64)) {
        self.link.queue_state(self.now, note);
    }
}
