//! Looking ahead: with very many flows, what an event touches is in no cache, so it is fetched some events before. Nothing here
//! changes what is simulated. Which element is due soon is known to the event queue; what it holds, to links and flows.
//!
//! Each thing is found by a look at another one, so it goes in stages, some events apart: a link that is due soon; its first
//! packet; where that goes; and what it will find there.

use tailback_core::Packet;
use tailback_core::fetch::fetch;

use crate::flow::Flow;
use crate::leaves::Leaves;
use crate::links::Place;
use crate::paths::Paths;
use crate::routes::{
    INTO_FEEDER, INTO_LAST_FEEDER, INTO_OTHER_FEEDER, INTO_OTHER_LAST_FEEDER, KIND_OF_STEP, RECEIVER, SENDER,
    place_of,
};

/// How many events lie between two stages: longer than a look into memory takes.
const APART: u32 = 6;
/// So many events are remembered.
const KEPT: usize = 32;
const _: () = assert!(2 * (APART as usize) < KEPT, "the last stage looks back at what the first one found");

/// What an endpoint touches of itself while packets come in order, in cache lines.
const OF_RECEIVER: usize = 3;
const OF_SENDER: usize = 8;

/// What is known of the events to come.
#[derive(Debug)]
pub(crate) struct Ahead {
    /// The links into which each flow's receiver and sender send.
    first: Vec<[u32; 2]>,
    /// Links that are due soon, the newest at `at`.
    near: [u32; KEPT],
    /// Links into which a packet will go soon.
    next: [u32; KEPT],
    at: u32,
}

impl Ahead {
    /// `None` where so little is simulated that all of it is at hand in any case: looking ahead costs a quarter more
    /// instructions.
    pub(crate) fn new<R>(paths: &Paths<R>, flows: &[Flow]) -> Option<Self> {
        let first = |flow: &Flow| {
            [flow.receiver_port.route, flow.sender_port.route].map(|route| place_of(paths.routes.peek(route)))
        };
        paths.events.is_large().then(|| Self {
            first: flows.iter().map(first).collect(),
            near: [0; KEPT],
            next: [0; KEPT],
            at: 0,
        })
    }

    /// Looks ahead; `leaf` has just been armed.
    #[inline(always)]
    pub(crate) fn look<R>(&mut self, leaf: u32, paths: &Paths<R>, leaves: &Leaves, flows: &[Flow]) {
        self.at = self.at.wrapping_add(1);
        let link = |place| paths.links.peek(Place(place));
        let soon = paths.events.soon(leaf);
        let place = soon.wrapping_sub(leaves.first_wire());
        self.near[slot(self.at)] = place;
        if let Some(link) = link(place) {
            fetch::<1, _>(link);
            paths.events.fetch(soon);
        }
        if let Some(link) = link(self.near[slot(self.at.wrapping_sub(APART))]) {
            link.fetch_head(&paths.links.slots);
        }
        let due = link(self.near[slot(self.at.wrapping_sub(2 * APART))]);
        self.next[slot(self.at)] = due
            .and_then(|link| link.upcoming(&paths.links.slots))
            .map_or(u32::MAX, |packet| self.fetch_next(packet, paths, flows));
        let place = self.next[slot(self.at.wrapping_sub(APART))];
        if let Some(link) = link(place) {
            link.fetch_tail(&paths.links.slots);
            paths.events.fetch(place + leaves.first_wire());
        }
    }

    /// Fetches where a packet goes, and the link that it, or the endpoint's answer, then enters; that link.
    #[inline(always)]
    fn fetch_next<R>(&self, packet: &Packet, paths: &Paths<R>, flows: &[Flow]) -> u32 {
        let cursor = packet.route.0;
        let step = paths.routes.peek(cursor);
        let kind = step >> KIND_OF_STEP;
        let flow = packet.flow.index();
        let first = self.first.get(flow).copied().unwrap_or([u32::MAX; 2]);
        let hands_over = matches!(kind, INTO_LAST_FEEDER | INTO_OTHER_LAST_FEEDER);
        // What feeds another link is at hand: many packets come by.
        let feeds = hands_over || matches!(kind, INTO_FEEDER | INTO_OTHER_FEEDER);
        let link = |place| {
            if let Some(link) = paths.links.peek(Place(place)) {
                fetch::<2, _>(link);
            }
            place
        };
        let place = match kind {
            RECEIVER | SENDER => link(first[usize::from(kind == SENDER)]),
            _ if feeds => link(place_of(paths.routes.peek(cursor + 1))),
            _ => link(place_of(step)),
        };
        paths.annexes.fetch(packet.annex);
        let place = if hands_over { link(first[0]) } else { place };
        if (hands_over || matches!(kind, RECEIVER | SENDER))
            && let Some(flow) = flows.get(flow)
        {
            if kind == SENDER {
                fetch::<1, _>(&flow.sender_port);
                fetch::<OF_SENDER, _>(&flow.sender);
            } else {
                fetch::<1, _>(&flow.receiver_port);
                fetch::<OF_RECEIVER, _>(&flow.receiver);
            }
        }
        place
    }
}

/// Where what was found at an event is kept.
#[inline(always)]
fn slot(event: u32) -> usize {
    event as usize % KEPT
}
