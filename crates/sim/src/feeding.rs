//! Which links are fed by one link alone, so that a packet may enter them ahead of its time: found once all routes are laid,
//! and written into these. What that saves is in `paths/fed.rs`, what links keep for it in the crate `link`.
//!
//! Behind a bottleneck, a receiver's access link takes packets from the bottleneck alone. So it takes them in the order in
//! which the bottleneck did, and nothing else can come between: what becomes of a packet there is known as soon as it is
//! known when it arrives, and the event of its arrival can be left out. Nothing that is simulated changes.

use tailback_core::{LinkId, Time};
use tailback_link::{Coming, LinkCounters};

use crate::links::{FED, FEEDS, Links, MAY_FEED, ON_ARRIVALS, OPEN, Place, ROUGH, TAKES_TIME};
use crate::neighbours::{From, Neighbours, Passage, Ways, passages};
use crate::refusals::NetworkError;
use crate::routes::Routes;

/// Whether a packet that goes from link `before` into link `link` leaves that one behind whatever else happens at the instant at
/// which it enters. A packet may pass in no time; then its arrival at the far end, of which the event queue knows sooner than
/// of its entering, must not go before that: links stand in the order in which they go at equal times.
fn keeps_order(links: &Links, before: u32, link: u32) -> bool {
    before < link || links.about(Place(link)).is(TAKES_TIME)
}

/// Which links are fed ahead of time, by place. A link that is fed feeds no other, so that of a line of them every second one
/// is.
fn fed(links: &Links, neighbours: &Neighbours) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum Known {
        Unknown,
        Fed(bool),
    }
    let feeder_of = |place: u32| {
        let feeder = neighbours.feeder(Place(place))?;
        let may_be_fed = links.about(Place(place)).is(OPEN)
            && links.about(feeder).is(MAY_FEED)
            && keeps_order(links, feeder.0, place);
        may_be_fed.then_some(feeder.0)
    };
    let mut known = vec![Known::Unknown; neighbours.len()];
    let mut line = Vec::new();
    for start in 0..neighbours.len() as u32 {
        if known[start as usize] != Known::Unknown {
            continue;
        }
        // Mostly no line begins here that is not known.
        match feeder_of(start).map(|feeder| known[feeder as usize]) {
            None => known[start as usize] = Known::Fed(false),
            Some(Known::Fed(is_fed)) => known[start as usize] = Known::Fed(!is_fed),
            Some(Known::Unknown) => {}
        }
        let mut at = start;
        // Towards the beginning of the line, or, in a circle, where it was begun.
        while known[at as usize] == Known::Unknown {
            let Some(feeder) = feeder_of(at) else {
                known[at as usize] = Known::Fed(false);
                break;
            };
            known[at as usize] = Known::Fed(true);
            line.push((at, feeder));
            at = feeder;
        }
        while let Some((place, feeder)) = line.pop() {
            known[place as usize] = Known::Fed(known[feeder as usize] == Known::Fed(false));
        }
    }
    known.into_iter().map(|known| known == Known::Fed(true)).collect()
}

/// Which links hand over to receivers ahead of time, by place, of those that are fed. What enters them goes to receivers that
/// act on packets alone and answer each at once, and nobody else sends into the link of the answers: it takes them in the
/// order in which they leave, whenever that is found out.
fn handing_over(links: &Links, flows: &[Ways], neighbours: &Neighbours) -> Vec<bool> {
    // What leaves a queue when an endpoint sends may be any packet that waits there.
    let is_stage_at_an_end = |link| neighbours.begins(link) && !links.about(link).is(ON_ARRIVALS);
    let may_hand_over = |link: Place| {
        links.about(link).is(FED)
            && !links.about(link).is(ROUGH)
            && neighbours.leads_to_receivers_only(link)
            // An endpoint that sends into the feeder is at work, and another cannot be called.
            && !neighbours.is_second(link)
            && !neighbours.feeder(link).is_some_and(is_stage_at_an_end)
    };
    let mut hands_over: Vec<bool> =
        (0..links.len() as u32).map(|place| may_hand_over(Place(place))).collect();
    for Ways { there, back, answers_at_once } in flows {
        let Some(Place(last)) = there.last else { continue };
        let may_answer = |link: Place| {
            neighbours.is_one_receivers(link)
                && links.about(link).is(ON_ARRIVALS)
                && keeps_order(links, last, link.0)
        };
        if !(*answers_at_once && back.first.is_some_and(may_answer)) {
            hands_over[last as usize] = false;
        }
    }
    hands_over
}

/// So many looks at one instant are each at what the link's own feeder has sent ahead; with more it pays to put in order what all
/// feeders have.
const FEW: u32 = 4;

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
    known: Option<Neighbours>,
    /// The links that are fed, in order, each with its feeder.
    fed: Vec<(Place, Place)>,
    /// The instant of the last look at one of them, and how many there were at it.
    looks: (Time, u32),
    /// What is to come, by link and in order, as of an instant.
    coming: Option<(Time, Vec<Coming>)>,
    /// What is to come to one link; kept for its memory.
    few: Vec<Coming>,
}

impl Feeding {
    /// Finds what may be fed, and lays routes anew.
    pub(crate) fn begin(
        routes: &mut Routes,
        links: &mut Links,
        flows: &[Ways],
        neighbours: &Neighbours,
    ) -> Self {
        let fed = fed(links, neighbours);
        let mut feeding = Self::default();
        for (place, is_fed) in (0..).map(Place).zip(fed) {
            let Some(feeder) = neighbours.feeder(place).filter(|_| is_fed) else { continue };
            links.begin_to_be_fed(place);
            feeding.fed.push((place, feeder));
            if !links.about(feeder).is(FEEDS) {
                if links.begin_to_feed(feeder) {
                    feeding.late.push(feeder);
                }
                feeding.feeders.push(feeder);
            }
        }
        if !feeding.feeders.is_empty() {
            for (place, hands_over) in (0..).map(Place).zip(handing_over(links, flows, neighbours)) {
                if hands_over {
                    links.set_to_hand_over(place, true);
                    feeding.hands_over = true;
                }
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
            links.set_to_hand_over(Place(place), false);
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
        let known = self.known.get_or_insert_with(|| Neighbours::on(&routes.steps()[..laid], links.len()));
        let elsewhere = |link, from| known.feeder(link).map(From::Link) != Some(from);
        let enters_elsewhere =
            |passage: &Passage| links.about(passage.link).is(FED) && elsewhere(passage.link, passage.from);
        let found = passages(&routes.steps()[laid..]).find(enters_elsewhere);
        if let Some(Passage { link, .. }) = found {
            return Err(NetworkError::EnteredElsewhere { flow: flow.to_owned(), link: links.id(link) });
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
        let looks = if self.looks.0 == now { self.looks.1.saturating_add(1) } else { 1 };
        self.looks = (now, looks);
        if looks <= FEW {
            self.find_coming(links, place, now);
            let (link, slots) = links.with_slots(place);
            return link.counters_without(now, &self.few, slots);
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

    /// Finds what is to come to one link: of what its feeder has sent ahead, in order.
    fn find_coming(&mut self, links: &Links, place: Place, now: Time) {
        self.few.clear();
        if let Ok(at) = self.fed.binary_search_by_key(&place.0, |(link, _)| link.0) {
            let coming = links.look(self.fed[at].1).coming(now);
            self.few.extend(coming.filter(|coming| coming.to == place.0));
        }
    }

    /// Whether what is to come was put in order for a look at this instant.
    #[cfg(feature = "for-tests")]
    pub(crate) fn has_put_in_order(&self, now: Time) -> bool {
        self.coming.as_ref().is_some_and(|(at, _)| *at == now)
    }
}
