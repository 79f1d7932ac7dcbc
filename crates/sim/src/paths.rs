//! What lies between endpoints: links, routes, the clock and the order of events. Moves packets from link to link;
//! what a link does to them lives in the crate `link`, what endpoints do with them in `drive.rs`; how packets enter links ahead
//! of their time, in `paths/fed.rs`.

use std::collections::BTreeMap;

use tailback_core::{Allowance, Annexes, Capacity, DropReason, FlowId, LinkId, Packet, RouteCursor, Time};
use tailback_link::{Entrance, Laid, LinkCx, LinkDriver, Offer};

use crate::cells_and_multicast::CellsAndMulticast;
use crate::event_queue::EventQueue;
use crate::feeding::Feeding;
use crate::gathering::Gathering;
use crate::links::{Links, Place};
use crate::memory::MemoryLimit;
use crate::recorder::{PacketEvent, Recorder};
use crate::routes::{
    BESIDE_FED, BESIDE_OTHER_FED, Branch, Edge, End, Hop, INTO_FEEDER, INTO_GATHERED, INTO_LAST_FEEDER,
    INTO_OPEN, INTO_OTHER, INTO_OTHER_FEEDER, INTO_OTHER_LAST_FEEDER, INTO_PLAIN, INTO_STAGE, KIND_OF_STEP,
    RECEIVER, Routes, SENDER, place_of,
};

/// More packets than any window has: who sends so many at one instant does not end.
const ENDLESS: u32 = 2 * Capacity::MOST_PACKETS;

/// Encodes and decodes a packet, so that a run can prove that the wire format carries everything.
pub type Codec = fn(Packet, &mut Annexes) -> Packet;

/// The network without its endpoints.
pub(crate) struct Paths<R> {
    pub(crate) now: Time,
    /// Whose event it is.
    pub(crate) leaf: u32,
    pub(crate) events: EventQueue,
    pub(crate) links: Links,
    pub(crate) routes: Routes,
    pub(crate) annexes: Annexes,
    pub(crate) notes: Vec<(&'static str, f64)>,
    pub(crate) codec: Option<Codec>,
    /// What is carried otherwise than packet by packet along one route, if anything is.
    pub(crate) cells_and_multicast: Option<Box<CellsAndMulticast>>,
    /// The links that the senders of aggregates govern.
    pub(crate) governed: BTreeMap<FlowId, LinkId>,
    /// What the run may take of memory, and after which number of events it is looked at next.
    pub(crate) memory: MemoryLimit,
    pub(crate) look_at: u64,
    /// What is fed ahead of time, and how many arrivals have been without an event so.
    pub(crate) feeding: Feeding,
    pub(crate) left_out: u64,
    /// Before when nobody looks, and the links that hold packets which arrive later, each with when the first does.
    pub(crate) until: Time,
    /// When the run must stop for that, or for what is to be taken in (`gathering.rs`).
    pub(crate) stop: Time,
    pub(crate) gathering: Gathering,
    pub(crate) held: Vec<(Place, Time)>,
    /// A flow that sends without end at one instant.
    pub(crate) endless: Option<FlowId>,
    pub(crate) recorder: R,
}

/// How the simulator drives links: the event queue keeps their timers, the recorder hears what becomes of packets.
pub(crate) struct Watch<'a, R> {
    pub(crate) events: &'a mut EventQueue,
    pub(crate) recorder: &'a mut R,
}

impl<R: Recorder> LinkDriver for Watch<'_, R> {
    const PACKETS: bool = R::PACKETS;

    #[inline(always)]
    fn arm(&mut self, timer: u32, at: Time) {
        self.events.arm(timer, at);
    }

    #[inline(always)]
    fn bring_forward(&mut self, timer: u32, at: Time) {
        self.events.bring_forward(timer, at);
    }

    #[inline(always)]
    fn served(&mut self, now: Time, link: LinkId, packet: &Packet, begins: Time, ends: Time) {
        self.recorder.packet(now, PacketEvent::Served { link, packet, begins, ends });
    }

    #[inline(always)]
    fn dropped(&mut self, now: Time, link: LinkId, packet: &Packet, reason: DropReason) {
        self.recorder.packet(now, PacketEvent::Dropped(link, packet, reason));
    }
}

/// A link of a network, and what it borrows for one call.
macro_rules! link {
    ($paths:ident, $place:expr) => {{
        let place: Place = $place;
        let cx = LinkCx {
            now: $paths.now,
            id: $paths.links.id(place),
            annexes: &mut $paths.annexes,
            driver: Watch { events: &mut $paths.events, recorder: &mut $paths.recorder },
        };
        ($paths.links.at(place), cx)
    }};
}

// Behind the macro, which it uses too.
mod fed;

impl<R: Recorder> Paths<R> {
    pub(crate) fn new(events: EventQueue, links: Links, routes: Routes, recorder: R) -> Self {
        Self {
            now: Time::ZERO,
            leaf: 0,
            events,
            links,
            routes,
            annexes: Annexes::new(),
            notes: Vec::new(),
            codec: None,
            cells_and_multicast: None,
            governed: BTreeMap::new(),
            memory: MemoryLimit::NONE,
            look_at: MemoryLimit::EVERY,
            feeding: Feeding::default(),
            left_out: 0,
            until: Time::ZERO,
            stop: Time::ZERO,
            gathering: Gathering::default(),
            held: Vec::new(),
            endless: None,
            recorder,
        }
    }

    /// The head of a link's wire has reached the far end. Re-arms the wire's leaf before the packet is handled, so that
    /// taking it and arming are one walk through the event queue.
    ///
    /// The second value says whether the packet must go through [`Paths::wear`] first.
    #[inline(always)]
    pub(crate) fn take_head(&mut self, place: Place, leaf: u32) -> (Packet, bool) {
        let (link, slots) = self.links.with_slots(place);
        let (packet, next) =
            if link.is_open() { link.take_laid(place.0, self.now, slots) } else { link.take_head() };
        let is_rough = link.is_rough();
        self.events.arm(leaf, next);
        (packet, is_rough)
    }

    /// What a rough wire leaves of a packet.
    #[inline(never)]
    pub(crate) fn wear(&mut self, place: Place, packet: Packet) -> Option<Packet> {
        let (link, mut cx) = link!(self, place);
        link.wear(packet, &mut cx)
    }

    /// A packet held back on a link's wire arrives.
    #[inline(never)]
    pub(crate) fn take_late(&mut self, id: LinkId) -> Option<Packet> {
        let (link, mut cx) = link!(self, self.links.place(id));
        link.arrive_late(&mut cx)
    }

    /// A staged link's end of transmission, change or timer.
    #[inline(never)]
    pub(crate) fn serve(&mut self, id: LinkId) -> Option<(Packet, Time)> {
        let place = self.links.place(id);
        let (link, mut cx) = link!(self, place);
        let (packet, arrives) = link.serve(&mut cx)?;
        self.send_on(place, packet, arrives)
    }

    /// The aggregate's edge that a mark in a route stands for.
    pub(crate) fn edge_at(&self, mark: u32) -> Option<Edge> {
        match self.routes.branch(mark) {
            Some(Branch::Edge(edge)) => Some(*edge),
            _ => None,
        }
    }

    /// Whether packets wait in a link.
    pub(crate) fn waits_at(&mut self, id: LinkId) -> bool {
        self.links.of(id).has_waiting()
    }

    /// The link that an aggregate's sender governs obeys an allowance from now on.
    #[cold]
    pub(crate) fn allow(&mut self, flow: FlowId, allowance: &Allowance) {
        if let Some(&id) = self.governed.get(&flow) {
            let (link, mut cx) = link!(self, self.links.place(id));
            link.allow(allowance, &mut cx);
        }
    }

    /// A flow's endpoint sends very many packets at once. Whether it has to stop, as memory is used up, or as no window is
    /// so large and it would never end; the run then ends with this event.
    #[cold]
    pub(crate) fn is_choked(&mut self, flow: FlowId, sent: u32) -> bool {
        if sent > ENDLESS {
            self.endless = Some(flow);
        }
        let choked = self.endless.is_some() || self.memory.is_exceeded();
        if choked {
            self.look_at = 0;
        }
        choked
    }

    /// Where a packet goes next.
    #[inline(always)]
    pub(crate) fn next_hop(&self, packet: &Packet) -> Hop {
        self.hop(packet.route.0)
    }

    #[inline(always)]
    fn hop(&self, cursor: u32) -> Hop {
        let step = self.routes.at(cursor);
        match step >> KIND_OF_STEP {
            INTO_OPEN => Hop::Link(Entrance::Open, Place(place_of(step))),
            INTO_PLAIN => Hop::Link(Entrance::Plain, Place(place_of(step))),
            INTO_OTHER => Hop::Link(Entrance::AtLength, Place(place_of(step))),
            RECEIVER => Hop::End(End::Receiver),
            SENDER => Hop::End(End::Sender),
            INTO_FEEDER => Hop::Feeder(Entrance::Plain, Place(place_of(step))),
            INTO_LAST_FEEDER => Hop::LastFeeder(Entrance::Plain, Place(place_of(step))),
            INTO_OTHER_LAST_FEEDER => Hop::LastFeeder(Entrance::AtLength, Place(place_of(step))),
            INTO_STAGE => Hop::Stage(Place(place_of(step))),
            BESIDE_FED => Hop::Beside(Entrance::Plain, Place(place_of(step))),
            INTO_GATHERED => Hop::Gathered(Place(place_of(step))),
            INTO_OTHER_FEEDER => Hop::Feeder(Entrance::AtLength, Place(place_of(step))),
            BESIDE_OTHER_FED => Hop::Beside(Entrance::AtLength, Place(place_of(step))),
            _ => Hop::Branch(step),
        }
    }

    /// A packet enters a link, to go on from `route` behind it.
    ///
    /// The route travels beside the packet and is written where the packet comes to rest. A packet that is changed
    /// and then copied costs a failed store-to-load forwarding, which was a third of a hop.
    #[inline(always)]
    pub(crate) fn enter(&mut self, entrance: Entrance, place: Place, packet: Packet, route: RouteCursor) {
        let begins = if R::PACKETS {
            self.recorder.packet(self.now, PacketEvent::Offered(self.links.id(place), &packet));
            self.links.at(place).busy_until().max(self.now)
        } else {
            self.now
        };
        let offer = if entrance == Entrance::Open {
            self.lay(self.now, place, packet, route)
        } else {
            self.links.at(place).offer(entrance, self.now, packet, route)
        };
        if R::PACKETS && matches!(offer, Offer::Queued | Offer::Leads(..)) {
            let ends = self.links.at(place).busy_until();
            self.recorder.packet(
                self.now,
                PacketEvent::Served { link: self.links.id(place), packet: &packet, begins, ends },
            );
        }
        match offer {
            Offer::Queued => {}
            Offer::Leads(leaf, arrives) => self.events.bring_forward(leaf, arrives),
            Offer::Overflow => {
                let (number, way, rest) = packet.words();
                self.overflow(place, number, way, rest);
            }
            Offer::AtLength => {
                let (number, way, rest) = packet.words();
                self.enter_at_length(place, route, number, way, rest);
            }
        }
    }

    /// A packet enters a link without a bound.
    #[inline(always)]
    fn lay(&mut self, at: Time, place: Place, packet: Packet, route: RouteCursor) -> Offer {
        let (link, slots) = self.links.with_slots(place);
        match link.lay(at, packet, route, slots) {
            Laid::Behind => Offer::Queued,
            Laid::First(arrives) => Offer::Leads(self.links.leaf(place), arrives),
            Laid::Full => Offer::Overflow,
        }
    }

    #[cold]
    fn overflow(&mut self, place: Place, number: u64, way: u64, rest: u64) {
        let packet = Packet::from_words(number, way, rest);
        let (link, mut cx) = link!(self, place);
        link.drop(packet, DropReason::Overflow, &mut cx);
    }

    #[inline(never)]
    fn enter_at_length(&mut self, place: Place, route: RouteCursor, number: u64, way: u64, rest: u64) {
        let packet = Packet::from_words(number, way, rest);
        let (link, mut cx) = link!(self, place);
        let departed = link.offer_at_length(packet, route, &mut cx);
        debug_assert!(departed.is_none(), "it feeds no other");
    }

    /// A packet leaves its endpoint for the first link of its route.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, mut packet: Packet, route: u32) {
        if let Some(codec) = self.codec {
            packet = codec(packet, &mut self.annexes);
        }
        if R::PACKETS {
            self.recorder.packet(self.now, PacketEvent::Sent(packet.flow, &packet));
        }
        if self.cells_and_multicast.is_some() {
            let (number, way, rest) = packet.words();
            self.transmit_otherwise(route, number, way, rest);
            return;
        }
        match self.hop(route) {
            Hop::Link(entrance, place) => self.enter(entrance, place, packet, RouteCursor(route + 1)),
            Hop::Gathered(place) => self.enter_gathered(place, packet, RouteCursor(route + 1)),
            hop => {
                let (number, way, rest) = packet.words();
                self.enter_feeder(hop, route, number, way, rest);
            }
        }
    }
}
