//! Who stands next to each link on the routes: the one walk over their steps, and what it tells of each link. What may be done
//! ahead of time where a link has this neighbour or that is not here: `feeding.rs`, `timers.rs`, `ahead.rs`.

use crate::links::Place;
use crate::routes::{PARTED, RECEIVER, Routes, SENDER, Step};

/// What a packet comes from that enters a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// From an endpoint: the link is the first of its route.
    End,
    /// From an aggregate's edge, where the aggregate's own packets enter, too.
    Edge,
    /// From another link.
    Link(Place),
}

impl From {
    /// Whether it is no link.
    fn is_no_link(self) -> bool {
        !matches!(self, Self::Link(_))
    }
}

/// A link where a route passes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passage {
    pub(crate) link: Place,
    pub(crate) from: From,
    /// Whether it comes from a link, and that from none.
    pub(crate) is_second: bool,
    /// The step behind it.
    pub(crate) to: Step,
    /// The link into which the step behind that one leads, unless the route is at its end before.
    pub(crate) behind: Option<Place>,
}

/// The links that steps lead into, in turn. Routes stand one behind another, and each ends with a step into no link.
pub(crate) fn passages(steps: &[Step]) -> impl Iterator<Item = Passage> {
    let (mut from, mut before) = (From::End, From::End);
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let step = *steps.get(at)?;
            at += 1;
            let Some(link) = step.link() else {
                (before, from) = (From::End, if step.kind() == PARTED { From::Edge } else { From::End });
                continue;
            };
            let to = *steps.get(at)?;
            let is_second = !from.is_no_link() && before.is_no_link();
            let goes_on = !to.ends();
            let behind = if goes_on { steps.get(at + 1).and_then(|step| step.link()) } else { None };
            let passage = Passage { link, from, is_second, to, behind };
            (before, from) = (from, From::Link(link));
            return Some(passage);
        }
    })
}

/// One direction of a flow: where its route begins in the table of routes, and its first and its last link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) route: u32,
    pub(crate) first: Option<Place>,
    pub(crate) last: Option<Place>,
}

/// Both directions of a flow. All that routes are laid by stands here together, as flows themselves take many lines of memory each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ways {
    pub(crate) there: Way,
    pub(crate) back: Way,
    /// Whether the receiver acts on packets alone and answers each at once.
    pub(crate) answers_at_once: bool,
}

impl Way {
    /// That of the route that begins at a cursor.
    pub(crate) fn of(routes: &Routes, route: u32) -> Self {
        Self { route, first: routes.first_link(route), last: routes.last_link(route) }
    }
}

/// From or into no link yet, or from or into more than one thing.
const NONE: u32 = u32::MAX;
const SEVERAL: u32 = u32::MAX - 1;

/// What stands next to a link on any route.
const FROM_LINK: u8 = 1;
const FROM_END: u8 = 1 << 1;
const FROM_EDGE: u8 = 1 << 2;
const IS_SECOND: u8 = 1 << 3;
const TO_RECEIVER: u8 = 1 << 4;
const TO_SENDER: u8 = 1 << 5;
const TO_OTHER: u8 = 1 << 6;

/// What is known of one link.
#[derive(Clone, Copy, Debug)]
struct Neighbour {
    /// The link that all comes from.
    feeder: u32,
    /// The link that all goes into, where it comes from endpoints.
    leads: u32,
    about: u8,
    /// How many senders and receivers send into it, and how many senders hear over it: two stand for many.
    senders: u8,
    receivers: u8,
    heard: u8,
}

/// The neighbours of all links, by place.
#[derive(Debug)]
pub(crate) struct Neighbours(Vec<Neighbour>);

impl Neighbours {
    /// Those on routes over so many links, and at the ends of flows.
    pub(crate) fn of(routes: &Routes, links: usize, flows: &[Ways]) -> Self {
        let mut neighbours = Self::on(routes.steps(), links);
        for Ways { there, back, .. } in flows {
            if let Some(link) = there.first {
                count(&mut neighbours.at(link).senders);
            }
            if let Some(link) = back.first {
                count(&mut neighbours.at(link).receivers);
            }
            if let Some(link) = back.last {
                count(&mut neighbours.at(link).heard);
            }
        }
        neighbours
    }

    /// Those among so many links alone.
    pub(crate) fn on(steps: &[Step], links: usize) -> Self {
        let nobody = Neighbour { feeder: NONE, leads: NONE, about: 0, senders: 0, receivers: 0, heard: 0 };
        let mut neighbours = Self(vec![nobody; links]);
        for passage in passages(steps) {
            neighbours.at(passage.link).note(passage);
        }
        neighbours
    }

    fn at(&mut self, link: Place) -> &mut Neighbour {
        &mut self.0[link.0 as usize]
    }

    fn look(&self, link: Place) -> &Neighbour {
        &self.0[link.0 as usize]
    }

    /// How many links there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The link from which comes all that enters a link, if it does.
    pub(crate) fn feeder(&self, link: Place) -> Option<Place> {
        let Neighbour { feeder, .. } = *self.look(link);
        (feeder < SEVERAL).then_some(Place(feeder))
    }

    /// The link into which all goes that enters a link, if it does, and if it all comes from endpoints.
    pub(crate) fn leads(&self, link: Place) -> Option<Place> {
        let Neighbour { leads, .. } = *self.look(link);
        (leads < SEVERAL).then_some(Place(leads))
    }

    /// Whether anything enters a link that comes from no other: from an endpoint, or at an edge.
    pub(crate) fn begins(&self, link: Place) -> bool {
        self.look(link).is(FROM_END | FROM_EDGE)
    }

    /// Whether anything enters a link from one that [begins](Neighbours::begins) with it.
    pub(crate) fn is_second(&self, link: Place) -> bool {
        self.look(link).is(IS_SECOND)
    }

    /// Whether all that leaves a link is at its receiver.
    pub(crate) fn leads_to_receivers_only(&self, link: Place) -> bool {
        !self.look(link).is(TO_SENDER | TO_OTHER)
    }

    /// Whether nothing enters a link but what one receiver sends.
    pub(crate) fn is_one_receivers(&self, link: Place) -> bool {
        let Neighbour { senders, receivers, .. } = *self.look(link);
        (senders, receivers) == (0, 1) && !self.look(link).is(FROM_LINK | FROM_EDGE)
    }

    /// Whether nothing enters a link but what one endpoint sends.
    pub(crate) fn is_one_ends(&self, link: Place) -> bool {
        let Neighbour { senders, receivers, .. } = *self.look(link);
        senders + receivers == 1 && !self.look(link).is(FROM_LINK | FROM_EDGE)
    }

    /// Whether a link leads to one sender and nowhere else.
    pub(crate) fn is_heard_by_one(&self, link: Place) -> bool {
        self.look(link).heard == 1 && !self.look(link).is(TO_RECEIVER | TO_OTHER)
    }
}

impl Neighbour {
    fn is(self, about: u8) -> bool {
        self.about & about != 0
    }

    fn note(&mut self, passage: Passage) {
        let next = passage.to.link().map_or(SEVERAL, |Place(next)| next);
        let (from, feeder, leads) = match passage.from {
            From::End => (FROM_END, SEVERAL, next),
            From::Edge => (FROM_EDGE, SEVERAL, SEVERAL),
            From::Link(Place(feeder)) => (FROM_LINK, feeder, SEVERAL),
        };
        let to = match passage.to.kind() {
            RECEIVER => TO_RECEIVER,
            SENDER => TO_SENDER,
            _ => TO_OTHER,
        };
        self.feeder = if [NONE, feeder].contains(&self.feeder) { feeder } else { SEVERAL };
        self.leads = if [NONE, leads].contains(&self.leads) { leads } else { SEVERAL };
        self.about |= from | to | if passage.is_second { IS_SECOND } else { 0 };
    }
}

/// One more, of which two stand for many.
fn count(counted: &mut u8) {
    *counted = (*counted + 1).min(2);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::{INTO_OPEN, INTO_STAGE, KIND_OF_STEP};

    fn into(place: u32) -> Step {
        Step(INTO_OPEN << KIND_OF_STEP | place)
    }

    fn end(kind: u32) -> Step {
        Step(kind << KIND_OF_STEP)
    }

    fn seen(steps: &[Step]) -> Vec<(u32, From, bool, u32, Option<u32>)> {
        let of = |p: Passage| (p.link.0, p.from, p.is_second, p.to.0, p.behind.map(|link| link.0));
        passages(steps).map(of).collect()
    }

    #[test]
    fn each_link_of_each_route_has_its_neighbours() {
        let steps = [into(5), into(3), into(4), end(RECEIVER), into(4), end(SENDER)];
        assert_eq!(
            seen(&steps),
            [
                (5, From::End, false, steps[1].0, Some(4)),
                (3, From::Link(Place(5)), true, steps[2].0, None),
                (4, From::Link(Place(3)), false, steps[3].0, None),
                (4, From::End, false, steps[5].0, None),
            ]
        );
    }

    #[test]
    fn behind_an_edge_a_route_begins_again() {
        let steps = [into(0), end(PARTED), into(1), into(2), end(PARTED), into(3), end(RECEIVER)];
        assert_eq!(
            seen(&steps),
            [
                (0, From::End, false, steps[1].0, Some(1)),
                (1, From::Edge, false, steps[3].0, None),
                (2, From::Link(Place(1)), true, steps[4].0, Some(3)),
                (3, From::Edge, false, steps[6].0, None),
            ]
        );
    }

    #[test]
    fn what_stands_behind_a_routes_end_is_another_route() {
        let steps = [into(0), end(RECEIVER), into(1), end(SENDER)];
        assert!(seen(&steps).iter().all(|&(.., behind)| behind.is_none()));
        assert_eq!(seen(&[]), []);
    }

    #[test]
    fn a_link_has_one_feeder_if_all_comes_from_there() {
        let routes = [
            [into(0), into(2), into(3), end(RECEIVER)],
            [into(1), into(2), into(4), end(RECEIVER)],
            [into(6), into(5), into(3), end(SENDER)],
            [into(6), Step(INTO_STAGE << KIND_OF_STEP | 2), into(4), end(SENDER)],
        ];
        let of = |routes: &[[Step; 4]]| Neighbours::on(routes.as_flattened(), 7);
        let feeders = |neighbours: &Neighbours| {
            [0, 2, 3, 4, 5].map(|link| neighbours.feeder(Place(link)).map(|feeder| feeder.0))
        };
        assert_eq!(feeders(&of(&routes[..1])), [None, Some(0), Some(2), None, None]);
        assert_eq!(feeders(&of(&routes[..2])), [None, None, Some(2), Some(2), None]);
        assert_eq!(feeders(&of(&routes)), [None, None, None, Some(2), Some(6)]);
        // Who comes from an endpoint as well comes from several.
        let also_first = [into(0), into(1), end(RECEIVER), into(1), end(SENDER)];
        assert_eq!(Neighbours::on(&also_first, 2).feeder(Place(1)), None);
        let first_before = [into(1), end(SENDER), into(0), into(1), end(RECEIVER)];
        assert_eq!(Neighbours::on(&first_before, 2).feeder(Place(1)), None);
    }

    #[test]
    fn a_link_knows_who_enters_and_where_it_leads() {
        let steps = [into(0), into(1), into(2), end(RECEIVER), into(3), end(PARTED), into(2), end(SENDER)];
        let known = Neighbours::on(&steps, 5);
        let by = |what: fn(&Neighbours, Place) -> bool| [0, 1, 2, 3, 4].map(|link| what(&known, Place(link)));
        assert_eq!(by(Neighbours::begins), [true, false, true, true, false]);
        assert_eq!(by(Neighbours::is_second), [false, true, false, false, false]);
        assert_eq!(by(Neighbours::leads_to_receivers_only), [false, false, false, false, true]);
        assert_eq!(known.len(), 5);
        assert_eq!(
            [0, 1, 2, 3, 4].map(|link| known.leads(Place(link)).map(|next| next.0)),
            [Some(1), None, None, None, None]
        );
        // Who enters elsewhere as well, or goes on elsewhere, leads into none.
        let also_beyond = [into(0), into(1), end(RECEIVER), into(2), into(0), into(1), end(RECEIVER)];
        assert_eq!(Neighbours::on(&also_beyond, 3).leads(Place(0)), None);
        let also_there = [into(0), into(1), end(RECEIVER), into(0), into(2), end(RECEIVER)];
        assert_eq!(Neighbours::on(&also_there, 3).leads(Place(0)), None);
    }

    #[test]
    fn a_link_is_one_ends_if_nobody_else_enters() {
        let link = |about, senders, receivers, heard| Neighbour {
            feeder: NONE,
            leads: NONE,
            about,
            senders,
            receivers,
            heard,
        };
        let known = Neighbours(vec![
            link(FROM_END | TO_OTHER, 0, 1, 0),
            link(FROM_END | TO_OTHER, 1, 0, 0),
            link(FROM_END | TO_OTHER, 1, 1, 0),
            link(FROM_END | FROM_EDGE | TO_OTHER, 0, 1, 0),
            link(FROM_END | FROM_LINK | TO_SENDER, 0, 1, 1),
            link(FROM_LINK | TO_SENDER, 0, 0, 2),
            link(FROM_LINK | TO_SENDER | TO_RECEIVER, 0, 0, 1),
            link(FROM_LINK | TO_SENDER | TO_OTHER, 0, 0, 1),
        ]);
        let which = |what: fn(&Neighbours, Place) -> bool| {
            (0..known.len() as u32).filter(|&link| what(&known, Place(link))).collect::<Vec<_>>()
        };
        assert_eq!(which(Neighbours::is_one_receivers), [0]);
        assert_eq!(which(Neighbours::is_one_ends), [0, 1]);
        assert_eq!(which(Neighbours::is_heard_by_one), [4]);
        let mut counted = 0;
        for expected in [1, 2, 2] {
            count(&mut counted);
            assert_eq!(counted, expected);
        }
    }
}
