//! A packet's way where its route branches, and where it is carried in cells. All of it is off the engine's straight path,
//! which is in `paths.rs`; who is carried so is in `cells_and_multicast.rs`.

use tailback_core::{FlowId, Kind, Packet, RouteCursor};

use crate::paths::Paths;
use crate::recorder::Recorder;
use crate::routes::{Branch, End, Hop};

impl<R: Recorder> Paths<R> {
    /// A packet leaves its endpoint: perhaps for one receiver of a group, perhaps in cells.
    #[cold]
    pub(crate) fn transmit_otherwise(&mut self, route: u32, number: u64, way: u64, rest: u64) {
        let packet = Packet::from_words(number, way, rest);
        let Some(special) = &mut self.cells_and_multicast else { return };
        let forward = matches!(packet.kind(), Kind::Data | Kind::Control);
        let route = special.alone.get(&packet.flow).copied().filter(|_| forward).unwrap_or(route);
        let (mut one, count) = special.cells.cut(packet).unwrap_or((packet, 1));
        one.route = RouteCursor(route);
        for _ in 0..count {
            self.send(one);
        }
    }

    /// Into the first link of a route, or of all its branches.
    fn send(&mut self, packet: Packet) {
        match self.next_hop(&packet) {
            Hop::Link(entrance, place) => {
                self.enter(entrance, place, packet, RouteCursor(packet.route.0 + 1));
            }
            Hop::Branch(end) => self.copies(packet, end).into_iter().for_each(|copy| self.send(copy)),
            // No route ends where it begins: whoever made it saw to that.
            // Nothing is fed where routes branch.
            Hop::End(_)
            | Hop::Feeder(..)
            | Hop::LastFeeder(..)
            | Hop::Beside(..)
            | Hop::Stage(_)
            | Hop::Gathered(_) => {
                self.annexes.free(packet.annex);
            }
        }
    }

    /// The group whose sender a route ends at.
    pub(crate) fn group_at(&self, end: u32) -> Option<FlowId> {
        match self.routes.branch(end) {
            Some(Branch::Sender(group)) => Some(*group),
            _ => None,
        }
    }

    /// A packet's copies where routes branch.
    pub(crate) fn copies(&mut self, packet: Packet, end: u32) -> Vec<Packet> {
        let Some(Branch::Copies(branches)) = self.routes.branch(end) else { return Vec::new() };
        let annexes = &mut self.annexes;
        let copy = |&(flow, cursor): &(FlowId, u32)| {
            let mut copy = packet;
            copy.annex = annexes.copy(packet.annex);
            (copy.flow, copy.route) = (flow, RouteCursor(cursor));
            copy
        };
        let copies = branches.iter().map(copy).collect();
        self.annexes.free(packet.annex);
        copies
    }

    /// The packet that an arrival completes, and how many turned out to be torn.
    pub(crate) fn put_together(&mut self, packet: Packet, end: End) -> (Option<Packet>, u32) {
        match &mut self.cells_and_multicast {
            None => (Some(packet), 0),
            Some(special) => {
                let arrived = special.cells.arrive(packet, end, &mut self.annexes);
                (arrived.whole, arrived.torn)
            }
        }
    }
}
