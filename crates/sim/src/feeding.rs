//! Which links are fed by one link alone, so that a packet may enter them ahead of its time: found once all routes are laid,
//! and written into these. What that saves is in `paths.rs`, what links keep for it in the crate `link`.
//!
//! Behind a bottleneck, a receiver's access link takes packets from the bottleneck alone. So it takes them in the order in
//! which the bottleneck did, and nothing else can come between: what becomes of a packet there is known as soon as it is
//! known when it arrives, and the event of its arrival can be left out. Nothing that is simulated changes.

use tailback_core::{LinkId, Time};
use tailback_link::{Coming, Entrance, LinkCounters};
use tailback_transport::AnyReceiver;

use crate::flow::Flow;
use crate::links::{Links, Place};
use crate::refusals::NetworkError;
use crate::routes::{PARTED, Routes, Step};

/// Not fed by a link, or by several.
const NOBODY: u32 = u32::MAX;
const SEVERAL: u32 = u32::MAX - 1;

/// Which link each link is fed by, by place: [`NOBODY`] also where routes begin with it.
fn feeders(steps: impl Iterator<Item = Step>, links: usize) -> Vec<u32> {
    let mut feeders = vec![NOBODY; links];
    let mut before = None;
    for step in steps {
        let Some(Place(place)) = step.link() else {
            before = None;
            continue;
        };
        let feeder = &mut feeders[place as usize];
        *feeder = match before {
            Some(before) if [NOBODY, before].contains(feeder) => before,
            // Several links, or an endpoint.
            _ => SEVERAL,
        };
        before = Some(place);
    }
    feeders
}

/// Whether a packet that goes from link `before` into link `link` leaves that one behind whatever else happens at the instant at
/// which it enters. A packet may pass in no time; then its arrival at the far end, of which the event queue knows sooner than
/// of its entering, must not go before that: links stand in the order in which they go at equal times.
fn keeps_order(links: &Links, before: u32, link: u32) -> bool {
    before < link || links.look(Place(link)).takes_time()
}

/// Which links are fed ahead of time, by place. A link that is fed feeds no other, so that of a line of them every second one
/// is.
fn fed(links: &mut Links, feeders: &[u32]) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum Known {
        Unknown,
        Fed(bool),
    }
    let may_be_fed = |links: &mut Links, place: u32| {
        let feeder = feeders[place as usize];
        feeder < SEVERAL
            && links.at(Place(place)).entrance() == Entrance::Open
            && links.at(Place(feeder)).may_feed()
            && keeps_order(links, feeder, place)
    };
    let mut known = vec![Known::Unknown; feeders.len()];
    let mut line = Vec::new();
    for start in 0..feeders.len() as u32 {
        let mut at = start;
        // Towards the beginning of the line, or, in a circle, where it was begun.
        while known[at as usize] == Known::Unknown {
            if !may_be_fed(links, at) {
                known[at as usize] = Known::Fed(false);
                break;
            }
            known[at as usize] = Known::Fed(true);
            line.push(at);
            at = feeders[at as usize];
        }
        while let Some(place) = line.pop() {
            let feeder = known[feeders[place as usize] as usize];
            known[place as usize] = Known::Fed(feeder == Known::Fed(false));
        }
    }
    known.into_iter().map(|known| known == Known::Fed(true)).collect()
}

/// Which links hand over to receivers ahead of time, by place, of those that are fed. What enters them goes to receivers that
/// act on packets alone and answer each at once, and nobody else sends into the link of the answers: it takes them in the
/// order in which they leave, whenever that is found out.
fn handing_over(routes: &Routes, links: &Links, flows: &[Flow]) -> Vec<bool> {
    let mut hands_over: Vec<bool> = (0..links.len() as u32)
        .map(|place| links.look(Place(place)).is_fed() && !links.look(Place(place)).is_rough())
        .collect();
    // How many send into a link: two stand for many.
    let mut senders = vec![0_u8; links.len()];
    // What leaves a queue when an endpoint sends may be any packet that waits there.
    let mut stages_at_ends = vec![false; links.len()];
    let mut steps = [None; 3];
    for step in routes.steps() {
        steps.rotate_left(1);
        steps[2] = Some(step);
        let [before, feeder, fed] = steps.map(|step| step.and_then(Step::link));
        // What passes an aggregate's far edge enters there as if from a link.
        if let (Some(PARTED), Some(Place(link))) = (steps[1].map(Step::kind), fed) {
            senders[link as usize] = 2;
        }
        if let (None, Some(Place(first))) = (feeder, fed) {
            stages_at_ends[first as usize] |= !links.look(Place(first)).acts_on_arrivals();
        }
        // An endpoint that sends into the feeder is at work, and another cannot be called.
        if let (None, Some(_), Some(Place(fed))) = (before, feeder, fed) {
            hands_over[fed as usize] = false;
        }
        if let (Some(_), Some(Place(link))) = (feeder, fed) {
            senders[link as usize] = 2;
        }
        if let (Some(Place(fed)), false) = (feeder, step.is_receiver()) {
            hands_over[fed as usize] = false;
        }
    }
    let mut before: Option<usize> = None;
    for step in routes.steps() {
        let link = step.link().map(|Place(link)| link as usize);
        if let (Some(feeder), Some(fed)) = (before, link) {
            hands_over[fed] &= !stages_at_ends[feeder];
        }
        before = link;
    }
    let first = |route| routes.first_link(route);
    for flow in flows {
        for (route, count) in [(flow.sender_port.route, 2), (flow.receiver_port.route, 1)] {
            if let Some(Place(link)) = first(route) {
                senders[link as usize] = senders[link as usize].saturating_add(count);
            }
        }
    }
    for flow in flows {
        let Some(Place(last)) = routes.last_link(flow.sender_port.route) else { continue };
        let may_answer = |Place(link): Place| {
            senders[link as usize] == 1
                && links.look(Place(link)).acts_on_arrivals()
                && keeps_order(links, last, link)
        };
        let answers = matches!(&flow.receiver, AnyReceiver::Stream(receiver) if receiver.answers_at_once());
        if !(answers && first(flow.receiver_port.route).is_some_and(may_answer)) {
            hands_over[last as usize] = false;
        }
    }
    hands_over
}

/// What is fed ahead of time.
#[derive(Debug, Default)]
pub(crate) struct Feeding {
    /// The links that feed others.
    feeders: Vec<Place>,
    /// Those of which it is found out late what has left the queue.
    late: Vec<Place>,
    /// Whether any link hands over to receivers.
    hands_over: bool,
    /// Which link each link is fed by, once a flow has come while running.
    known: Option<Vec<u32>>,
    /// What is to come, by link and in order, as of an instant.
    coming: Option<(Time, Vec<Coming>)>,
}

impl Feeding {
    /// Finds what may be fed, and lays routes anew.
    pub(crate) fn begin(routes: &mut Routes, links: &mut Links, flows: &[Flow]) -> Self {
        let feeders = feeders(routes.steps(), links.len());
        let fed = fed(links, &feeders);
        let mut feeding = Self::default();
        for place in 0..fed.len() {
            if !fed[place] {
                continue;
            }
            links.at(Place(place as u32)).begin_to_be_fed();
            let feeder = Place(feeders[place]);
            if !links.at(feeder).feeds() {
                links.at(feeder).begin_to_feed();
                feeding.feeders.push(feeder);
                if links.at(feeder).may_lag() {
                    links.at(feeder).begin_to_lag();
                    feeding.late.push(feeder);
                }
            }
        }
        if !feeding.feeders.is_empty() {
            for (place, hands_over) in (0..).zip(handing_over(routes, links, flows)) {
                links.at(Place(place)).set_to_hand_over(hands_over);
                feeding.hands_over |= hands_over;
            }
            routes.feed(links, 0);
        }
        feeding
    }

    /// The links of which it is found out late what has left the queue.
    pub(crate) fn late(&self) -> &[Place] {
        &self.late
    }

    /// Packets are handed over by events from now on; whether that is new.
    pub(crate) fn stop_handing_over(&mut self, routes: &mut Routes, links: &mut Links) -> bool {
        if !std::mem::take(&mut self.hands_over) {
            return false;
        }
        for place in 0..links.len() as u32 {
            links.at(Place(place)).set_to_hand_over(false);
        }
        routes.feed(links, 0);
        true
    }

    /// Takes routes of a flow that came while running, which stand in the table from `laid` on.
    ///
    /// # Errors
    /// Another way into a link that is fed by one alone.
    pub(crate) fn admit(
        &mut self,
        routes: &mut Routes,
        links: &mut Links,
        laid: usize,
        flow: &str,
    ) -> Result<(), NetworkError> {
        if self.feeders.is_empty() {
            return Ok(());
        }
        let known = self.known.get_or_insert_with(|| feeders(routes.steps().take(laid), links.len()));
        let mut before = None;
        for step in routes.steps().skip(laid) {
            let place = step.link();
            if let Some(place) = place.filter(|&place| links.at(place).is_fed())
                && before != Some(known[place.0 as usize])
            {
                return Err(NetworkError::EnteredElsewhere { flow: flow.to_owned(), link: links.id(place) });
            }
            before = place.map(|place| place.0);
        }
        routes.feed(links, laid);
        Ok(())
    }

    /// How many packets have entered links in which they are to arrive at `now` or later.
    pub(crate) fn ahead(&self, links: &Links, now: Time) -> u64 {
        self.feeders.iter().map(|&feeder| links.look(feeder).coming(now).count() as u64).sum()
    }

    /// A link's counters.
    pub(crate) fn counters(&mut self, links: &mut Links, id: LinkId, now: Time) -> LinkCounters {
        let place = links.place(id);
        if !links.at(place).is_fed() {
            let (link, slots) = links.with_slots(place);
            return link.counters_without(now, &[], slots);
        }
        if self.coming.as_ref().is_none_or(|(at, _)| *at != now) {
            let mut coming: Vec<Coming> =
                self.feeders.iter().flat_map(|&feeder| links.look(feeder).coming(now)).collect();
            // Each link is fed by one, and that one's packets are in order.
            coming.sort_by_key(|coming| coming.to);
            self.coming = Some((now, coming));
        }
        let coming = self.coming.as_ref().map_or(&[][..], |(_, coming)| coming);
        let from = coming.partition_point(|coming| coming.to < place.0);
        let to = coming.partition_point(|coming| coming.to <= place.0);
        let (link, slots) = links.with_slots(place);
        link.counters_without(now, &coming[from..to], slots)
    }
}
