//! Arrivals at a link of which it is found out late what leaves its queue: they are put off, too, and taken in many at a time,
//! each as of its own time. What taking in a packet means is in `ahead.rs`.
//!
//! Nothing follows from an arrival before the packet, or one that waits in front of it, could reach the far end. So a driver
//! that comes back for arrivals by then loses nothing, and whoever takes in many at once has the queue, its code and the
//! receivers behind it at hand.

use tailback_core::{Bytes, Packet, Span, Time};
use tailback_qdisc::fair::PerFlow;
use tailback_qdisc::fair::round::RoundRobin;
use tailback_qdisc::fair::tagged::ByTag;
use tailback_qdisc::fair::weighted::Fluid;
use tailback_qdisc::{Discipline, HearsLate};

use crate::driver::{LinkCx, LinkDriver};
use crate::link::Link;
use crate::server::Server;
use crate::stage::{Arrival, Stage};

/// A packet that has begun transmission, and when it reaches the far end.
pub type Begun = (Packet, Time);

/// So many arrivals are taken in together at most.
const MOST: usize = 1024;
/// So many bytes must be able to leave between an arrival and when the driver comes back for it: where two packets cannot, its
/// calls would cost more than is gained.
const FEWEST: Bytes = Bytes::new(2 * 1500);

/// What became of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutOff {
    /// It is to be taken in at once.
    No,
    /// It is put off.
    Yes,
    /// It is put off, and all that are have to be taken in now, or soon.
    Full,
}

impl Link {
    /// Whether arrivals may be put off where what leaves the queue may be found out `lag` late, and whether that pays.
    pub(crate) fn may_put_off(&self, lag: Span) -> bool {
        !self.loses_before_queue() && self.server.rate().bytes_in(lag) >= FEWEST
    }

    /// Whether arrivals are put off.
    pub fn puts_off(&self) -> bool {
        let staged = self.cold.as_ref().and_then(|cold| cold.staged.as_ref());
        staged.is_some_and(|staged| staged.puts_off)
    }

    /// A packet has arrived by the event of `leaf`. Where it is put off, [`Link::work_off`] is to be called before
    /// the service timer is set anew, and before anybody looks.
    #[inline(always)]
    pub fn put_off<D: LinkDriver>(&mut self, now: Time, leaf: u32, packet: Packet, driver: &mut D) -> PutOff {
        let Some(cold) = self.cold.as_deref_mut() else { return PutOff::No };
        let Some(staged) = cold.staged.as_deref_mut().filter(|staged| staged.puts_off) else {
            return PutOff::No;
        };
        debug_assert!(!D::PACKETS, "where packets are recorded one by one, nothing is found out late");
        if staged.put_off.is_empty() {
            let alarm = now.after(staged.lag);
            if alarm < staged.armed {
                staged.armed = alarm;
                driver.bring_forward(cold.timers.service, alarm);
            }
        }
        staged.put_off.push(Arrival { at: now, leaf, packet });
        if staged.put_off.len() >= MOST { PutOff::Full } else { PutOff::Yes }
    }

    /// Takes in the arrivals that were put off, each as of its time, and lets go what has left the queue before the leaf `leaf`
    /// was due at `until`. What has begun transmission is added to `begun`, in order, with when it reaches the far end. Gives
    /// how much of that did so as a transmission before it ended.
    pub fn work_off<D: LinkDriver>(
        &mut self,
        until: Time,
        leaf: u32,
        cx: &mut LinkCx<'_, D>,
        begun: &mut Vec<Begun>,
    ) -> u64 {
        let staged = self.cold.as_ref().and_then(|cold| cold.staged.as_ref());
        // Which discipline it is, is asked once for all packets.
        match staged.map(|staged| &staged.discipline) {
            Some(Discipline::RoundRobin(_)) => {
                self.work_off_under::<PerFlow<RoundRobin>, D>(until, leaf, cx, begun)
            }
            Some(Discipline::WeightedFair(_)) => {
                self.work_off_under::<PerFlow<ByTag<Fluid>>, D>(until, leaf, cx, begun)
            }
            _ => self.work_off_under::<Discipline, D>(until, leaf, cx, begun),
        }
    }

    /// The same, of a link under this discipline.
    #[inline(never)]
    fn work_off_under<Q: HearsLate, D: LinkDriver>(
        &mut self,
        until: Time,
        leaf: u32,
        cx: &mut LinkCx<'_, D>,
        begun: &mut Vec<Begun>,
    ) -> u64 {
        let delay = self.track.delay;
        let Some(cold) = self.cold.as_deref_mut() else { return 0 };
        let service = cold.timers.service;
        let Some(staged) = cold.staged.as_deref_mut() else { return 0 };
        let mut arrivals = std::mem::take(&mut staged.put_off);
        let mut ended = 0;
        for &Arrival { at, leaf, ref packet } in &arrivals {
            ended += staged.end_all::<Q>(&mut self.server, at, service < leaf, delay, begun);
            self.arrived.add(packet.size());
            let ends = staged.offer_ahead::<Q>(*packet, &mut self.server, at, cx.annexes);
            if let Some(ends) = ends.or_else(|| staged.start_ahead::<Q>(&mut self.server, at))
                && let Some(packet) = staged.in_service
            {
                begun.push((packet, ends.after(delay)));
            }
        }
        ended += staged.end_all::<Q>(&mut self.server, until, service < leaf, delay, begun);
        arrivals.clear();
        staged.put_off = arrivals;
        let alarm = staged.next_alarm();
        if alarm < staged.armed {
            staged.armed = alarm;
            cx.driver.bring_forward(service, alarm);
        }
        cold.marked += u64::from(staged.take_marks());
        if staged.has_drops() {
            self.drop_given_up(cx);
        }
        ended
    }
}

impl Stage {
    /// Ends the transmissions that end before `until`, or at it if `last` says so, as long as a packet waits for that; adds what
    /// begins then to `begun`, and gives how many that are.
    #[inline(always)]
    fn end_all<Q: HearsLate>(
        &mut self,
        server: &mut Server,
        until: Time,
        last: bool,
        delay: Span,
        begun: &mut Vec<Begun>,
    ) -> u64 {
        let before = begun.len();
        while self.waiting > 0 && (self.service_end < until || (last && self.service_end == until)) {
            let end = self.service_end;
            self.serve_ahead(end);
            let Some(ends) = self.start_ahead::<Q>(server, end) else { break };
            if let Some(packet) = self.in_service {
                begun.push((packet, ends.after(delay)));
            }
        }
        (begun.len() - before) as u64
    }
}
