//! What the run finds out late, or did too early for somebody to look: arrivals that are taken in many at a time, at fair queues and
//! where links meet (`gathering.rs`), what has left fair queues, and packets that links hold until a look is over. The loop over
//! events is in `simulator.rs`; what links do, in `paths/fed.rs`.

use tailback_core::{Packet, Time};

use crate::ahead::Ahead;
use crate::links::Place;
use crate::recorder::Recorder;
use crate::simulator::Simulator;

/// What says where a packet and its link are is fetched so many packets ahead.
const LATER: usize = 18;
/// The packet, and what it touches behind a queue: so many.
const SOON: usize = 6;
/// What only the packet and the links behind the queue tell: so many.
const NEAR: usize = 2;

impl<R: Recorder> Simulator<R> {
    /// Moves a packet into a link that feeds others what leaves its queue, and what leaves on to its receiver.
    #[inline(never)]
    pub(crate) fn forward_into_stage(&mut self, place: Place, number: u64, way: u64, rest: u64) {
        let cursor = Packet::from_words(number, way, rest).route.0;
        self.work_off(place, self.paths.now, self.paths.leaf);
        if let Some((packet, arrives)) = self.paths.enter_stage(place, cursor + 1, number, way, rest) {
            self.hand_over(packet, arrives);
        }
    }

    /// Takes in what has arrived at a link and was put off, and what has left its queue before the leaf `leaf` was due at `until`
    /// goes on.
    #[inline(never)]
    pub(crate) fn work_off(&mut self, place: Place, until: Time, leaf: u32) {
        let mut begun = std::mem::take(&mut self.begun);
        self.paths.work_off(place, until, leaf, &mut begun);
        for at in 0..begun.len() {
            if let Some((soon, arrives)) = begun.get(at + SOON) {
                let next = self.paths.fetch_next(soon);
                if *arrives < self.paths.until {
                    self.look_behind(next);
                }
            }
            let (packet, arrives) = begun[at];
            if let Some((packet, arrives)) = self.paths.send_on(place, packet, arrives) {
                self.hand_over(packet, arrives);
            }
        }
        begun.clear();
        self.begun = begun;
    }

    /// Fetches what a packet will touch behind a link that leads to a receiver alone.
    #[inline(always)]
    fn look_behind(&self, place: Place) {
        if self.ahead.is_some() {
            Ahead::look_behind(place, &self.paths, &self.flows);
        }
    }

    /// The same at all links of which it is found out late what leaves them.
    pub(crate) fn let_all_go(&mut self, until: Time, leaf: u32) {
        for index in 0..self.paths.feeding.late().len() {
            let place = self.paths.feeding.late()[index];
            self.work_off(place, until, leaf);
        }
    }

    /// Takes in what has arrived and is only listed, each as of its own time, that of one list: before `until`, or then by a wire
    /// in front of `before`.
    #[inline(never)]
    fn take_in(&mut self, list: usize, until: Time, before: Place) {
        let now = self.paths.now;
        let mut taken = 0;
        self.paths.gathering.list(list).begin(until, before);
        while let Some(packet) = self.paths.take_gathered(list) {
            taken += 1;
            if self.ahead.is_some() {
                let listed = self.paths.gathering.list(list);
                let (near, soon, later) = (listed.soon(NEAR), listed.soon(SOON), listed.soon(LATER));
                if let Some(later) = later {
                    self.paths.links.fetch_wire(later);
                }
                if let Some(soon) = soon {
                    Ahead::look_beyond(soon, &self.paths, &self.flows);
                }
                if let Some(near) = near {
                    Ahead::look_nearer(near, &self.paths);
                }
            }
            self.forward(packet);
        }
        self.events_handled += taken;
        self.paths.now = now;
    }

    /// The same of what arrives at a link, if that is listed.
    pub(crate) fn take_in_at(&mut self, place: Place, until: Time, before: Place) {
        if let Some(list) = self.paths.gathering.list_into(place) {
            self.take_in(list, until, before);
        }
    }

    /// The same of all lists.
    pub(crate) fn take_all_in(&mut self, until: Time, before: Place) {
        for list in 0..self.paths.gathering.len() {
            self.take_in(list, until, before);
        }
    }

    /// The run must stop: for nothing but lists that are to be taken in before it goes on?
    #[inline(never)]
    pub(crate) fn goes_on(&mut self) -> bool {
        let stop = self.paths.stop;
        if stop >= self.paths.until {
            return false;
        }
        if let Some(list) = self.paths.gathering.due(stop) {
            self.take_in(list, stop, Place(0));
        }
        self.paths.stop = self.paths.gathering.alarm().min(self.paths.until);
        true
    }

    /// Hands over what links hold and what arrives before somebody looks again.
    #[inline(never)]
    pub(crate) fn hand_over_held(&mut self) {
        let mut held = std::mem::take(&mut self.paths.held);
        for at in 0..held.len() {
            if let Some(&(soon, _)) = held.get(at + SOON) {
                self.paths.links.fetch(soon);
                self.look_behind(soon);
            }
            let (place, mut arrives) = held[at];
            while arrives < self.paths.until {
                let (packet, next) = self.paths.take_held(place, arrives);
                self.hand_over(packet, arrives);
                arrives = next;
            }
            held[at].1 = arrives;
        }
        held.retain(|(_, arrives)| *arrives != Time::NEVER);
        self.paths.held = held;
    }
}
