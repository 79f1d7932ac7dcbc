//! Looking ahead: with many flows, what an event touches is in no near cache, so it is fetched before. Nothing here changes what
//! is simulated. Which element is due soon is known to the event queue; what it holds, to links and flows.
//!
//! Most links are some flow's own: all packets that leave such a wire go the same way, so that what they will touch is known as
//! soon as routes are laid, and needs no look at a packet. With many flows, it is fetched during the event before. With very
//! many, some events before, and what only the packet tells, or the endpoint, during the event before, when these are at hand.

use tailback_core::Packet;
use tailback_core::fetch::fetch_from_line;
use tailback_transport::AnySender;

use crate::flow::Flow;
use crate::leaves::Leaves;
use crate::links::{Links, Place};
use crate::neighbours::{Passage, passages};
use crate::paths::Paths;
use crate::routes::{End, RECEIVER, Routes, SENDER, Step};

/// In no route yet.
const NOWHERE: u32 = u32::MAX;
/// In front of a line: it begins a sender's end.
const AT_SENDER: u32 = 1 << 31;
/// The end is another for each packet, so that only that tells which.
const ANY: u32 = u32::MAX;
/// So many lines of an end are fetched where the next event may be soon over, and the rest then comes by itself: a receiver,
/// and as many of a sender, so that nobody asks which it is.
const BEGINNING: usize = Flow::OF_RECEIVER;

const _: () = assert!(BEGINNING <= Flow::OF_SENDER, "lines beyond a sender's end");

/// What a packet touches that leaves a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(16))]
struct Beyond {
    /// The link that it enters, apart from one that feeds others: many come by there.
    next: u32,
    /// The link into which the end then sends at which it arrives.
    answers: u32,
    /// The first cache line of that end among those of all flows; the first of all where it arrives at none, which does no
    /// harm, or [`ANY`].
    end: u32,
    /// Where its route goes on.
    cursor: u32,
}

/// What lies beyond each wire, by its link's place.
#[derive(Debug)]
pub(crate) struct Ahead {
    beyond: Vec<Beyond>,
    /// Whether more than the next event is looked at.
    is_far: bool,
}

impl Ahead {
    /// `None` where so little is simulated that all of it is at hand in any case.
    pub(crate) fn new<R>(paths: &Paths<R>, flows: &[Flow]) -> Option<Self> {
        paths.events.is_wide().then(|| {
            let places = 0..paths.links.len() as u32;
            let nothing = |place| Beyond { next: place, answers: place, end: 0, cursor: NOWHERE };
            let mut ahead = Self { beyond: places.map(nothing).collect(), is_far: paths.events.is_large() };
            for (index, flow) in flows.iter().enumerate() {
                let [there, back] = [flow.sender_port.route, flow.receiver_port.route];
                let [receiver, sender] =
                    [End::Receiver, End::Sender].map(|end| Flow::line_of(index, end) as u32);
                ahead.follow(&paths.routes, &paths.links, there, receiver, back);
                ahead.follow(&paths.routes, &paths.links, back, sender | AT_SENDER, there);
            }
            ahead
        })
    }

    /// Whether more than the next event is looked at.
    #[inline(always)]
    pub(crate) fn is_far(&self) -> bool {
        self.is_far
    }

    /// Notes what lies beyond each wire of a route, at the end of which stands a flow's `end` that sends along `answers`.
    fn follow(&mut self, routes: &Routes, links: &Links, route: u32, end: u32, answers: u32) {
        for (at, passage) in (route + 1..).zip(passages(routes.steps_from(route))) {
            let Passage { link: Place(place), to, behind, .. } = passage;
            let next = to.link().filter(|&next| !links.look(next).feeds()).or(behind);
            let hands_over = next.is_some_and(|next| links.look(next).hands_over());
            let arrives = hands_over || matches!(to.kind(), RECEIVER | SENDER);
            let next = next.map_or(place, |Place(place)| place);
            let first = routes.first_link(answers).map_or(place, |Place(place)| place);
            let (answers, end) = if arrives { (first, end) } else { (next, 0) };
            let found = Beyond { next, answers, end, cursor: at };
            let known = &mut self.beyond[place as usize];
            let is_one = known.cursor == NOWHERE || *known == found;
            *known =
                if is_one { found } else { Beyond { next: place, answers: place, end: ANY, cursor: at } };
            if to.link().is_none() {
                return;
            }
        }
    }

    /// Fetches what the next event will touch, and the annex of the packet at hand.
    #[inline(always)]
    pub(crate) fn look_next<R>(&self, packet: &Packet, paths: &Paths<R>, leaves: &Leaves, flows: &[Flow]) {
        paths.annexes.fetch(packet.annex);
        let place = paths.events.first().wrapping_sub(leaves.first_wire());
        let Some(&Beyond { next, answers, end, .. }) = self.beyond.get(place as usize) else { return };
        paths.links.slots.fetch_head(place);
        for place in [place, next, answers] {
            paths.links.fetch(Place(place));
        }
        // Of several ends none: it is too far for any memory.
        fetch_from_line::<BEGINNING, _>(flows, (end & !AT_SENDER) as usize);
    }

    /// Fetches what the events to come will touch; `leaf` has just been armed.
    #[inline(always)]
    pub(crate) fn look_far<R>(&self, leaf: u32, paths: &Paths<R>, leaves: &Leaves, flows: &[Flow]) {
        let soon = paths.events.soon(leaf);
        let place = soon.wrapping_sub(leaves.first_wire());
        let Some(&Beyond { next, answers, end, cursor }) = self.beyond.get(place as usize) else { return };
        paths.links.slots.fetch_head(place);
        paths.events.fetch(soon);
        for place in [place, next, answers] {
            paths.links.fetch(Place(place));
        }
        paths.events.fetch(answers.wrapping_add(leaves.first_wire()));
        paths.routes.fetch(cursor);
        if end & AT_SENDER == 0 {
            fetch_from_line::<{ Flow::OF_RECEIVER }, _>(flows, end as usize);
        } else if end != ANY {
            fetch_from_line::<{ Flow::OF_SENDER }, _>(flows, (end & !AT_SENDER) as usize);
        }
    }

    /// Fetches what the next event will touch that only its packet or its endpoint tells.
    #[inline(always)]
    pub(crate) fn look_close<R>(&self, paths: &Paths<R>, leaves: &Leaves, flows: &[Flow]) {
        let place = paths.events.first().wrapping_sub(leaves.first_wire());
        let Some(&Beyond { end, .. }) = self.beyond.get(place as usize) else { return };
        if end == ANY {
            Self::look_at_packet(Place(place), paths, flows);
            return;
        }
        if end == 0 {
            return;
        }
        if let Some(packet) = paths.links.slots.upcoming(place) {
            paths.annexes.fetch(packet.annex);
        }
        if end & AT_SENDER != 0
            && let Some(flow) = flows.get((end & !AT_SENDER) as usize / Flow::LINES)
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
        let (step, flow) = (Step(paths.routes.peek(packet.route.0)), packet.flow.index());
        match step.kind() {
            RECEIVER => {
                fetch_from_line::<{ Flow::OF_RECEIVER }, _>(flows, Flow::line_of(flow, End::Receiver));
            }
            SENDER => fetch_from_line::<{ Flow::OF_SENDER }, _>(flows, Flow::line_of(flow, End::Sender)),
            _ => {
                if let Some(link) = step.link() {
                    paths.links.fetch(link);
                }
            }
        }
    }
}
