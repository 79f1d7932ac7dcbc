//! Looking ahead: with many flows, what an event touches is in no near cache, so it is fetched some events before. Nothing here
//! changes what is simulated. Which element is due soon is known to the event queue; what it holds, to links and flows.
//!
//! Most links are some flow's own: all packets that leave such a wire go the same way, so that what they will touch is known as
//! soon as routes are laid, and needs no look at a packet. What only the packet tells, or the endpoint, is fetched during
//! the event before, when these are at hand.

use tailback_transport::AnySender;

use crate::flow::Flow;
use crate::leaves::Leaves;
use crate::links::{Links, Place};
use crate::paths::Paths;
use crate::routes::{RECEIVER, Routes, SENDER, Step};

/// No flow.
const NONE: u32 = u32::MAX;
/// Several, so that only a packet tells which.
const ANY: u32 = u32::MAX - 1;
/// In no route yet.
const NOWHERE: u32 = u32::MAX;
/// In front of a flow's number: its sender's end.
const AT_SENDER: u32 = 1 << 31;

/// What a packet touches that leaves a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(16))]
struct Beyond {
    /// The link that it enters, apart from one that feeds others: many come by there.
    next: u32,
    /// The flow at whose end it arrives, or [`NONE`], or [`ANY`].
    end: u32,
    /// The link into which that end then sends.
    answers: u32,
    /// Where its route goes on.
    cursor: u32,
}

/// What lies beyond each wire, by its link's place.
#[derive(Debug)]
pub(crate) struct Ahead {
    beyond: Vec<Beyond>,
}

impl Ahead {
    /// `None` where so little is simulated that all of it is at hand in any case.
    pub(crate) fn new<R>(paths: &Paths<R>, flows: &[Flow]) -> Option<Self> {
        paths.events.is_large().then(|| {
            let nothing = Beyond { next: 0, end: NONE, answers: 0, cursor: NOWHERE };
            let mut ahead = Self { beyond: vec![nothing; paths.links.len()] };
            for (number, flow) in (0..).zip(flows) {
                let [there, back] = [flow.sender_port.route, flow.receiver_port.route];
                ahead.follow(&paths.routes, &paths.links, there, number, back);
                ahead.follow(&paths.routes, &paths.links, back, number | AT_SENDER, there);
            }
            ahead
        })
    }

    /// Notes what lies beyond each wire of a route, at the end of which stands a flow's `end` that sends along `answers`.
    fn follow(&mut self, routes: &Routes, links: &Links, route: u32, end: u32, answers: u32) {
        let mut at = route;
        while let Some(Place(place)) = Step(routes.peek(at)).link() {
            at += 1;
            let [step, behind] = [at, at + 1].map(|at| Step(routes.peek(at)));
            let next = step.link().filter(|&next| !links.look(next).feeds()).or(behind.link());
            let hands_over = next.is_some_and(|next| links.look(next).hands_over());
            let arrives = hands_over || matches!(step.kind(), RECEIVER | SENDER);
            let first = routes.first_link(answers).map_or(place, |Place(place)| place);
            let next = next.map_or(place, |Place(place)| place);
            let found = Beyond {
                next,
                end: if arrives { end } else { NONE },
                answers: if arrives { first } else { next },
                cursor: at,
            };
            let known = &mut self.beyond[place as usize];
            let is_one = known.cursor == NOWHERE || *known == found;
            *known =
                if is_one { found } else { Beyond { next: place, end: ANY, answers: place, cursor: at } };
        }
    }

    /// Fetches what the events to come will touch; `leaf` has just been armed.
    #[inline(always)]
    pub(crate) fn look<R>(&self, leaf: u32, paths: &Paths<R>, leaves: &Leaves, flows: &[Flow]) {
        let soon = paths.events.soon(leaf);
        let place = soon.wrapping_sub(leaves.first_wire());
        let Some(&Beyond { next, end, answers, cursor }) = self.beyond.get(place as usize) else { return };
        paths.links.slots.fetch_head(place);
        paths.events.fetch(soon);
        for place in [place, next, answers] {
            paths.links.fetch(Place(place));
        }
        paths.events.fetch(answers.wrapping_add(leaves.first_wire()));
        paths.routes.fetch(cursor);
        if end >= ANY {
            return;
        }
        let flow = (end & !AT_SENDER) as usize;
        if end & AT_SENDER == 0 {
            Flow::fetch_receiver(flows, flow);
        } else {
            Flow::fetch_sender(flows, flow);
        }
    }

    /// Fetches what the next event will touch that only its packet or its endpoint tells.
    #[inline(always)]
    pub(crate) fn look_close<R>(&self, paths: &Paths<R>, leaves: &Leaves, flows: &[Flow]) {
        let place = paths.events.first().wrapping_sub(leaves.first_wire());
        let Some(&Beyond { end, .. }) = self.beyond.get(place as usize) else { return };
        if end >= ANY {
            if end == ANY {
                Self::look_at_packet(Place(place), paths, flows);
            }
            return;
        }
        if let Some(packet) = paths.links.slots.upcoming(place) {
            paths.annexes.fetch(packet.annex);
        }
        if end & AT_SENDER != 0
            && let Some(flow) = flows.get((end & !AT_SENDER) as usize)
            && let AnySender::Stream(sender) = &flow.sender
        {
            sender.fetch_records();
        }
    }

    /// The same, where what comes off a wire goes several ways.
    #[inline(never)]
    fn look_at_packet<R>(place: Place, paths: &Paths<R>, flows: &[Flow]) {
        let Some(packet) = paths.links.look(place).upcoming(&paths.links.slots) else { return };
        paths.annexes.fetch(packet.annex);
        let step = Step(paths.routes.peek(packet.route.0));
        match step.kind() {
            RECEIVER => Flow::fetch_receiver(flows, packet.flow.index()),
            SENDER => Flow::fetch_sender(flows, packet.flow.index()),
            _ => {
                if let Some(link) = step.link() {
                    paths.links.fetch(link);
                }
            }
        }
    }
}
