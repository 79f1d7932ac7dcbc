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
use crate::links::{FEEDS, HANDS_OVER, PUTS_OFF, Place};
use crate::neighbours::{Passage, Ways, passages};
use crate::paths::Paths;
use crate::routes::{End, RECEIVER, SENDER, Step};

/// In no route yet.
const NOWHERE: u32 = u32::MAX;
/// In front of a line: it begins a sender's end.
const AT_SENDER: u32 = 1 << 31;
/// The end is another for each packet, so that only that tells which.
const ANY: u32 = u32::MAX;
/// So many lines of an end are fetched without asking which it is: a receiver, and as many of a sender.
const BEGINNING: usize = Flow::OF_RECEIVER;

const _: () = assert!(BEGINNING <= Flow::OF_SENDER, "lines beyond a sender's end");

/// What a packet touches that leaves a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl Beyond {
    const fn nothing(place: u32) -> Self {
        Self { next: place, answers: place, end: 0, cursor: NOWHERE }
    }
}

/// Notes what lies beyond each wire of a route, at the end of which stands a flow's `end` that sends along another route, which
/// begins with the link `answers`.
fn follow<R>(beyond: &mut [Beyond], paths: &Paths<R>, route: u32, end: u32, answers: Option<Place>) {
    let Paths { routes, links, .. } = paths;
    for (at, passage) in (route + 1..).zip(passages(routes.steps_from(route))) {
        let Passage { link: Place(place), to, behind, .. } = passage;
        let next = match to.link() {
            // What is put off goes no further in the same event.
            Some(next) if links.about(next).is_any(FEEDS | PUTS_OFF) => {
                behind.filter(|_| !links.about(next).is(PUTS_OFF))
            }
            Some(next) => Some(next),
            None => behind,
        };
        let hands_over = next.is_some_and(|next| links.about(next).is(HANDS_OVER));
        let arrives = hands_over || to.ends();
        let next = next.map_or(place, |Place(place)| place);
        let first = answers.map_or(place, |Place(place)| place);
        let (answers, end) = if arrives { (first, end) } else { (next, 0) };
        let found = Beyond { next, answers, end, cursor: at };
        let known = &mut beyond[place as usize];
        let is_one = known.cursor == NOWHERE || *known == found;
        *known = if is_one { found } else { Beyond { next: place, answers: place, end: ANY, cursor: at } };
        if to.link().is_none() {
            return;
        }
    }
}

/// Looking ahead. What lies beyond each wire is kept beside its head.
#[derive(Debug)]
pub(crate) struct Ahead {
    /// Whether more than the next event is looked at.
    is_far: bool,
}

impl Ahead {
    /// `None` where so little is simulated that all of it is at hand in any case.
    pub(crate) fn new<R>(paths: &mut Paths<R>, flows: &[Ways]) -> Option<Self> {
        paths.events.is_wide().then(|| {
            let places = 0..paths.links.len() as u32;
            let mut beyond: Vec<Beyond> = places.map(Beyond::nothing).collect();
            for (index, Ways { there, back, .. }) in flows.iter().enumerate() {
                let [receiver, sender] =
                    [End::Receiver, End::Sender].map(|end| Flow::line_of(index, end) as u32);
                follow(&mut beyond, paths, there.route, receiver, back.first);
                follow(&mut beyond, paths, back.route, sender | AT_SENDER, there.first);
            }
            for (place, beyond) in (0..).zip(&beyond) {
                paths.links.slots.keep_beside(place, [beyond.next, beyond.answers, beyond.end]);
            }
            Self { is_far: paths.events.is_large() }
        })
    }

    /// Whether more than the next event is looked at.
    #[inline(always)]
    pub(crate) fn is_far(&self) -> bool {
        self.is_far
    }

    /// Fetches what the next event will touch, and the annex of the packet at hand.
    #[inline(always)]
    pub(crate) fn look_next<R>(packet: &Packet, paths: &Paths<R>, leaves: &Leaves, flows: &[Flow]) {
        paths.annexes.fetch(packet.annex);
        let place = paths.events.first().wrapping_sub(leaves.first_wire());
        let Some([next, answers, end]) = paths.links.slots.fetch_head(place) else { return };
        for place in [place, next, answers] {
            paths.links.fetch(Place(place));
        }
        // Of several ends none: it is too far for any memory.
        fetch_from_line::<BEGINNING, _>(flows, (end & !AT_SENDER) as usize);
        // The rest of a sender; of a receiver nothing more, without a branch.
        let rest = ((end & !AT_SENDER) + BEGINNING as u32) * (end / AT_SENDER);
        fetch_from_line::<{ Flow::OF_SENDER - BEGINNING }, _>(flows, rest as usize);
    }

    /// Fetches what a packet will touch that leaves the wire of a link at once for a receiver.
    #[inline(always)]
    pub(crate) fn look_behind<R>(place: Place, paths: &Paths<R>, flows: &[Flow]) {
        let Some([_, answers, end]) = paths.links.slots.fetch_head(place.0) else { return };
        if end & AT_SENDER != 0 {
            return;
        }
        paths.links.fetch(Place(answers));
        fetch_from_line::<{ Flow::OF_RECEIVER }, _>(flows, end as usize);
    }

    /// Fetches what a packet will touch that leaves the wire of a link soon, for another link and perhaps at once for a receiver.
    #[inline(always)]
    pub(crate) fn look_beyond<R>(place: Place, paths: &Paths<R>, flows: &[Flow]) {
        let Some([next, answers, end]) = paths.links.slots.fetch_head(place.0) else { return };
        for place in [place, Place(next), Place(answers)] {
            paths.links.fetch(place);
        }
        fetch_from_line::<{ Flow::OF_RECEIVER }, _>(flows, (end & !AT_SENDER) as usize);
    }

    /// Fetches what only the links and the packet tell that [`Ahead::look_beyond`] has fetched: where the packet goes on, and
    /// the packets behind which it and its answer will be laid.
    #[inline(always)]
    pub(crate) fn look_nearer<R>(place: Place, paths: &Paths<R>) {
        let Some([next, answers, _]) = paths.links.slots.beside(place.0) else { return };
        if let Some(packet) = paths.links.slots.upcoming(place.0) {
            paths.routes.fetch(packet.route.0);
        }
        for place in [next, answers] {
            paths.links.fetch_last(Place(place));
        }
    }

    /// Fetches what the events to come will touch; `leaf` has just been armed.
    #[inline(always)]
    pub(crate) fn look_far<R>(leaf: u32, paths: &Paths<R>, leaves: &Leaves, flows: &[Flow]) {
        let soon = paths.events.soon(leaf);
        let place = soon.wrapping_sub(leaves.first_wire());
        let Some([next, answers, end]) = paths.links.slots.fetch_head(place) else { return };
        paths.events.fetch(soon);
        for place in [place, next, answers] {
            paths.links.fetch(Place(place));
        }
        paths.events.fetch(answers.wrapping_add(leaves.first_wire()));
        if end & AT_SENDER == 0 {
            fetch_from_line::<{ Flow::OF_RECEIVER }, _>(flows, end as usize);
        } else if end != ANY {
            fetch_from_line::<{ Flow::OF_SENDER }, _>(flows, (end & !AT_SENDER) as usize);
        }
    }

    /// Fetches what the next event will touch that only its packet or its endpoint tells.
    #[inline(always)]
    pub(crate) fn look_close<R>(paths: &Paths<R>, leaves: &Leaves, flows: &[Flow]) {
        let place = paths.events.first().wrapping_sub(leaves.first_wire());
        let Some([_, answers, end]) = paths.links.slots.beside(place) else { return };
        if end == ANY {
            Self::look_at_packet(Place(place), paths, flows);
            return;
        }
        if end == 0 {
            return;
        }
        if let Some(packet) = paths.links.slots.upcoming(place) {
            paths.annexes.fetch(packet.annex);
            paths.routes.fetch(packet.route.0);
        }
        if end & AT_SENDER != 0
            && let Some(flow) = flows.get((end & !AT_SENDER) as usize / Flow::LINES)
            && let AnySender::Stream(sender) = &flow.sender
        {
            sender.fetch_records();
            paths.links.fetch_last(Place(answers));
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
