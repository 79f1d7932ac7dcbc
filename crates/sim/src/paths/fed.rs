//! Packets that enter links ahead of their time: into links that are fed by one other alone, and out of queues of which it is found
//! out late what leaves them. Which links these are is found in `feeding.rs`, and what they keep for it is in the crate `link`.

use tailback_core::{Packet, RouteCursor, Time};
use tailback_link::{Begun, Entrance, Fed, LinkCx, Offer, PutOff};

use super::{Paths, Watch};
use crate::links::Place;
use crate::recorder::Recorder;
use crate::routes::{Hop, Step, place_of};

impl<R: Recorder> Paths<R> {
    /// A packet arrives at a link of which it is found out late what leaves its queue, to go on from `route`; whether it is put
    /// off.
    #[inline(always)]
    pub(crate) fn put_off(&mut self, place: Place, route: u32, number: u64, way: u64, rest: u64) -> PutOff {
        let packet = Packet::from_words(number, Packet::way_by(way, RouteCursor(route)), rest);
        let mut driver = Watch { events: &mut self.events, recorder: &mut self.recorder };
        self.links.at(place).put_off(self.now, self.leaf, packet, &mut driver)
    }

    /// Takes in what was put off so, and lets go what has left the queue before the leaf `leaf` was due at `until`.
    pub(crate) fn work_off(&mut self, place: Place, until: Time, leaf: u32, begun: &mut Vec<Begun>) {
        let (link, mut cx) = link!(self, place);
        let ended = link.work_off(until, leaf, &mut cx, begun);
        self.left_out += ended;
    }

    /// Fetches the link into which a packet goes next that has left a queue, and gives its place.
    #[inline(always)]
    pub(crate) fn fetch_next(&self, packet: &Packet) -> Place {
        let next = Place(place_of(self.routes.at(packet.route.0)));
        self.links.fetch(next);
        next
    }

    /// Whether anything must be done at such a link by now, as its service timer is due.
    pub(crate) fn is_due(&self, place: Place) -> bool {
        self.links.look(place).is_due(self.now)
    }

    /// The service timer of such a link was due, and what had to be done by then is done.
    pub(crate) fn lag_on(&mut self, place: Place) {
        let (link, mut cx) = link!(self, place);
        link.lag_on(&mut cx.driver);
    }

    /// A packet enters a link that feeds others what leaves its queue, which may be another packet. It goes on from `route`.
    #[inline(never)]
    pub(crate) fn enter_stage(
        &mut self,
        place: Place,
        route: u32,
        number: u64,
        way: u64,
        rest: u64,
    ) -> Option<(Packet, Time)> {
        let packet = Packet::from_words(number, Packet::way_by(way, RouteCursor(route)), rest);
        let (link, mut cx) = link!(self, place);
        let (packet, arrives) = link.offer_to_stage(packet, &mut cx)?;
        self.send_on(place, packet, arrives)
    }

    /// A packet has left a link's queue: into the next link, if that is fed. Gives it where it is to be handed over, and when.
    #[inline(always)]
    pub(crate) fn send_on(&mut self, place: Place, packet: Packet, arrives: Time) -> Option<(Packet, Time)> {
        let cursor = packet.route.0;
        let next = Step(self.routes.at(cursor)).link().map(|next| (next, self.links.look(next).fed()));
        let Some((next, fed)) = next.filter(|&(_, fed)| fed != Fed::No) else {
            if let Offer::Leads(leaf, at) = self.links.at(place).send_beside(self.now, packet, arrives) {
                self.events.bring_forward(leaf, at);
            }
            return None;
        };
        self.links.at(place).send_on(self.now, &packet, arrives, next.0);
        if fed == Fed::HandsOver {
            return self.pass_ahead(place, next, arrives, packet, cursor - 1).map(|at| (packet, at));
        }
        self.enter_ahead(place, next, arrives, packet, cursor - 1);
        None
    }

    /// A packet enters a link, and behind it the next, which nothing else enters: as of its arrival there, whose event is left
    /// out. It is to go on from the step behind that.
    #[inline(always)]
    pub(crate) fn enter_both(&mut self, entrance: Entrance, place: Place, packet: Packet, cursor: u32) {
        let next = self.behind(cursor);
        if let Some((packet, arrives)) = self.feed(entrance, place, packet, next) {
            self.enter_ahead(place, next, arrives, packet, cursor);
        }
    }

    /// The link into which the step behind a cursor leads.
    #[inline(always)]
    pub(crate) fn behind(&self, cursor: u32) -> Place {
        Place(place_of(self.routes.at(cursor + 1)))
    }

    /// A packet enters a link that feeds the next: what enters that, and when.
    #[inline(always)]
    pub(crate) fn feed(
        &mut self,
        entrance: Entrance,
        place: Place,
        packet: Packet,
        next: Place,
    ) -> Option<(Packet, Time)> {
        if entrance == Entrance::AtLength {
            let (number, way, rest) = packet.words();
            return self.feed_at_length(place, next, number, way, rest);
        }
        let Some(arrives) = self.links.at(place).feed(self.now, &packet, next.0) else {
            let (number, way, rest) = packet.words();
            self.overflow(place, number, way, rest);
            return None;
        };
        Some((packet, arrives))
    }

    #[inline(never)]
    fn feed_at_length(
        &mut self,
        place: Place,
        next: Place,
        number: u64,
        way: u64,
        rest: u64,
    ) -> Option<(Packet, Time)> {
        let (link, mut cx) = link!(self, place);
        link.feed_at_length(Packet::from_words(number, way, rest), next.0, &mut cx)
    }

    /// A packet enters a link as of its arrival there.
    #[inline(always)]
    fn enter_ahead(&mut self, feeder: Place, place: Place, arrives: Time, packet: Packet, cursor: u32) {
        self.left_out += 1;
        match self.lay(arrives, place, packet, RouteCursor(cursor + 2)) {
            Offer::Leads(leaf, arrives) => self.events.bring_forward(leaf, arrives),
            Offer::Queued => {}
            Offer::Overflow | Offer::AtLength => {
                self.links.at(feeder).feed_in_vain();
                let (number, way, rest) = packet.words();
                self.overflow(place, number, way, rest);
            }
        }
    }

    /// A packet enters a link as of its arrival there, to be handed over behind it: when, if that can be known by now, as
    /// nobody looks before. Otherwise it stays on the wire until then.
    #[inline(always)]
    pub(crate) fn pass_ahead(
        &mut self,
        feeder: Place,
        place: Place,
        arrives: Time,
        packet: Packet,
        cursor: u32,
    ) -> Option<Time> {
        self.left_out += 1;
        let Some(pass) = self.links.at(place).pass(arrives, packet.size()) else {
            self.links.at(feeder).feed_in_vain();
            let (number, way, rest) = packet.words();
            self.overflow(place, number, way, rest);
            return None;
        };
        // None is on the wire in front of it: that would arrive no later.
        if pass.arrives < self.until {
            self.left_out += 1;
            return Some(pass.arrives);
        }
        let (link, slots) = self.links.with_slots(place);
        if link.keep(pass, packet, RouteCursor(cursor + 2), slots) {
            self.held.push((place, pass.arrives));
        }
        None
    }

    /// The next packet that a link holds, which arrives at `at` and can be handed over by now, and when the one behind it
    /// arrives.
    #[inline(always)]
    pub(crate) fn take_held(&mut self, place: Place, at: Time) -> (Packet, Time) {
        self.left_out += 1;
        let (link, slots) = self.links.with_slots(place);
        link.take_laid(place.0, at, slots)
    }

    /// Packets reach their receivers by events from now on. Nobody is ahead of the present where nothing is at work.
    pub(crate) fn hand_over_by_events(&mut self) {
        if !self.feeding.stop_handing_over(&mut self.routes, &mut self.links) {
            return;
        }
        for (place, arrives) in std::mem::take(&mut self.held) {
            self.events.arm(self.links.leaf(place), arrives);
        }
    }

    /// A packet enters a link of which it is listed when it arrives at the next one.
    #[inline(always)]
    pub(crate) fn enter_gathered(&mut self, place: Place, packet: Packet, route: RouteCursor) {
        let (link, slots) = self.links.with_slots(place);
        let Some(pass) = link.pass(self.now, packet.size()) else {
            let (number, way, rest) = packet.words();
            return self.overflow(place, number, way, rest);
        };
        link.keep(pass, packet, route, slots);
        let list = link.note();
        self.stop = self.stop.min(self.gathering.add(list, place, pass.arrives));
    }

    /// The next packet of a list that is to be taken in, as of its time, which is the present then.
    #[inline(always)]
    pub(crate) fn take_gathered(&mut self, list: usize) -> Option<Packet> {
        let (place, at) = self.gathering.list(list).take()?;
        self.now = at;
        self.leaf = self.links.leaf(place);
        let (link, slots) = self.links.with_slots(place);
        Some(link.take_listed(place.0, slots))
    }

    /// All that arrives does so by events from now on: of each wire the first packet is armed last.
    pub(crate) fn gather_no_longer(&mut self) {
        for (place, arrives) in self.gathering.end(&mut self.routes).into_iter().rev() {
            self.events.arm(self.links.leaf(place), arrives);
        }
    }

    /// A packet enters a link that feeds others, but not the next of its route.
    #[inline(always)]
    pub(crate) fn enter_beside(&mut self, entrance: Entrance, place: Place, packet: Packet, cursor: u32) {
        let route = RouteCursor(cursor + 1);
        if entrance == Entrance::AtLength {
            let (link, mut cx) = link!(self, place);
            return link.offer_beside_at_length(packet, route, &mut cx);
        }
        match self.links.at(place).offer_beside(self.now, packet, route) {
            Offer::Leads(leaf, arrives) => self.events.bring_forward(leaf, arrives),
            Offer::Queued => {}
            Offer::Overflow | Offer::AtLength => {
                let (number, way, rest) = packet.words();
                self.overflow(place, number, way, rest);
            }
        }
    }

    /// A packet enters the first link of its route, which feeds others.
    #[cold]
    pub(super) fn enter_feeder(&mut self, hop: Hop, route: u32, number: u64, way: u64, rest: u64) {
        let packet = Packet::from_words(number, way, rest);
        match hop {
            Hop::Feeder(entrance, place) => self.enter_both(entrance, place, packet, route),
            Hop::Beside(entrance, place) => self.enter_beside(entrance, place, packet, route),
            // All that is put off may only be taken in where other endpoints can be called: soon.
            Hop::Stage(place) => match self.put_off(place, route + 1, number, way, rest) {
                PutOff::Yes | PutOff::Full => {}
                PutOff::No => self.enter_stage_alone(place, route, number, way, rest),
            },
            // What begins a route is no last but one link that feeds (`feeding.rs`).
            Hop::LastFeeder(..) | Hop::Gathered(_) | Hop::Link(..) | Hop::End(_) | Hop::Branch(_) => {}
        }
    }

    /// A packet enters a link of the staged form that feeds others, while an endpoint is at work.
    fn enter_stage_alone(&mut self, place: Place, route: u32, number: u64, way: u64, rest: u64) {
        let mut begun = Vec::new();
        self.work_off(place, self.now, self.leaf, &mut begun);
        for (packet, arrives) in begun {
            let given = self.send_on(place, packet, arrives);
            debug_assert!(given.is_none(), "an endpoint is at work, and another cannot be called");
        }
        let given = self.enter_stage(place, route + 1, number, way, rest);
        debug_assert!(given.is_none(), "an endpoint is at work, and another cannot be called");
    }
}
