//! Where packets go: the flattened table of routes, and where routes branch. How a route is found is the scenario's
//! business; what happens on it is in `paths.rs`.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};

use tailback_core::fetch::fetch_at;
use tailback_core::{FlowId, LinkId};
use tailback_link::Entrance;

use crate::links::{AT_LENGTH, FED, FEEDS, HANDS_OVER, Links, ON_ARRIVALS, Place};

/// One of a flow's ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Sender,
    Receiver,
}

/// The next step of a packet's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hop {
    /// Into a link.
    Link(Entrance, Place),
    /// Into a link that feeds the next link of the route, and into that at once.
    Feeder(Entrance, Place),
    /// The same where the packet may also be handed over behind the next, to its receiver.
    LastFeeder(Entrance, Place),
    /// Into a link that feeds others, but not the next.
    Beside(Entrance, Place),
    /// Into a link that feeds others what leaves its queue.
    Stage(Place),
    /// Into a link of which it is listed when a packet arrives at the next one.
    Gathered(Place),
    /// To an endpoint.
    End(End),
    /// Where routes branch, or to another flow's sender.
    Branch(u32),
}

/// A step of a route in four bytes: what comes next in the uppermost bits, where that stands in the others. All that decides
/// how a packet goes on is in one place, so that it takes one jump, which a processor must guess, and not three in turn.
pub(crate) const KIND_OF_STEP: u32 = 28;

/// Into a link, by its entrance.
pub(crate) const INTO_OPEN: u32 = 0;
pub(crate) const INTO_PLAIN: u32 = 1;
pub(crate) const INTO_OTHER: u32 = 2;

/// The end of a route: the packet is handed to its flow's receiver or sender.
pub(crate) const RECEIVER: u32 = 3;
pub(crate) const SENDER: u32 = 4;
const TO_RECEIVER: u32 = RECEIVER << KIND_OF_STEP;
const TO_SENDER: u32 = SENDER << KIND_OF_STEP;

/// Ends beyond these two: where the routes of a group's receivers part, and the group's sender.
pub(crate) const PARTED: u32 = 5;
const PARTS: u32 = PARTED << KIND_OF_STEP;

/// Into a link that feeds others: the next one, or another (`feeding.rs`).
pub(crate) const INTO_FEEDER: u32 = 6;
pub(crate) const INTO_LAST_FEEDER: u32 = 7;
pub(crate) const BESIDE_FED: u32 = 8;
/// The same where the link has more to say.
pub(crate) const INTO_OTHER_FEEDER: u32 = 9;
pub(crate) const INTO_OTHER_LAST_FEEDER: u32 = 10;
pub(crate) const BESIDE_OTHER_FED: u32 = 11;
/// Into a link that feeds others what leaves its queue.
pub(crate) const INTO_STAGE: u32 = 12;
/// Into a link of which it is listed when a packet arrives at the next one (`gathering.rs`).
pub(crate) const INTO_GATHERED: u32 = 13;

/// A step as it stands in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Step(pub(crate) u32);

impl Step {
    /// The link into which it leads, if any.
    #[inline(always)]
    pub(crate) fn link(self) -> Option<Place> {
        (!matches!(self.kind(), RECEIVER | SENDER | PARTED)).then_some(Place(place_of(self.0)))
    }

    #[inline(always)]
    pub(crate) fn kind(self) -> u32 {
        self.0 >> KIND_OF_STEP
    }

    /// Whether a route ends with it at an end of its own flow.
    #[inline(always)]
    pub(crate) fn ends(self) -> bool {
        matches!(self.kind(), RECEIVER | SENDER)
    }
}

/// Where a step leads among links, ends or branches.
pub(crate) const fn place_of(step: u32) -> u32 {
    step & ((1 << KIND_OF_STEP) - 1)
}

/// Where a route leads that neither enters a link nor ends at its own flow.
#[derive(Clone, Debug)]
pub(crate) enum Branch {
    /// Past an end of this flow, which is an aggregate, and on.
    Edge(Edge),
    /// To all these cursors, as a packet of these flows.
    Copies(Vec<(FlowId, u32)>),
    /// To the sender of this flow.
    Sender(FlowId),
}

/// The step into a link.
#[inline]
fn step_into(links: &Links, id: LinkId) -> Step {
    let kind = match links.entrance(id) {
        Entrance::Open => INTO_OPEN,
        Entrance::Plain => INTO_PLAIN,
        Entrance::AtLength => INTO_OTHER,
    };
    Step(kind << KIND_OF_STEP | links.place(id).0)
}

/// An edge of an aggregate, as packets pass it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    /// The aggregate's flow.
    pub(crate) flow: FlowId,
    /// Its end.
    pub(crate) end: End,
    /// The link that the sending end governs.
    pub(crate) governs: LinkId,
}

/// Where the routes over an aggregate's link pass its edges.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// The marks in routes.
    edges: (u32, u32),
    /// How many links lie between them.
    links: usize,
}

/// The flattened table of routes; equal routes share their entries, so that it stays small and in cache.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    table: Vec<Step>,
    /// Where routes begin of which there may be equal ones, by their hash: the routes themselves stand in the table.
    known: HashMap<u64, u32, BuildHasherDefault<Hashed>>,
    branches: Vec<Branch>,
    /// Aggregates, by the links that they govern.
    aggregates: BTreeMap<LinkId, Stretch>,
}

/// Takes what is a hash already as it is.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("only whole hashes are looked up");
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

impl Routes {
    /// Makes room for routes over so many links in all.
    pub(crate) fn reserve(&mut self, routes: usize, links: usize) {
        self.table.reserve_exact(routes + links);
    }

    /// The network is laid: routes that come later, of flows added while running, do not share with those known by now, of
    /// which a list would be the tenth part of what a small flow takes.
    pub(crate) fn forget(&mut self) {
        self.known = HashMap::default();
        self.table.shrink_to_fit();
    }

    /// Where the route over these links to this end begins.
    pub(crate) fn intern(&mut self, links: &Links, route: &[LinkId], end: u32) -> u32 {
        let start = self.lay(links, route, end);
        let (before, laid) = self.table.split_at(start as usize);
        let hash = hash_of(&laid);
        match self.known.get(&hash) {
            Some(&known) if before[known as usize..].starts_with(laid) => {
                self.table.truncate(start as usize);
                known
            }
            _ => {
                self.known.insert(hash, start);
                start
            }
        }
    }

    /// Where the route over these links to this end begins, of which it is known that no other is equal to it.
    #[inline]
    pub(crate) fn lay(&mut self, links: &Links, route: &[LinkId], end: u32) -> u32 {
        let start = self.table.len() as u32;
        if self.aggregates.is_empty() {
            self.table.extend(route.iter().map(|&link| step_into(links, link)));
        } else {
            self.lay_past_edges(links, route);
        }
        self.table.push(Step(end));
        start
    }

    /// Lays the places of a route's links, with marks where it passes the edges of aggregates.
    fn lay_past_edges(&mut self, links: &Links, route: &[LinkId]) {
        let mut far_edges: Vec<(usize, u32)> = Vec::new();
        for (at, &link) in route.iter().enumerate() {
            self.table.push(step_into(links, link));
            if let Some(&Stretch { edges: (near, far), links }) = self.aggregates.get(&link) {
                self.table.push(Step(near));
                far_edges.push((at + links, far));
            }
            let ended = far_edges.extract_if(.., |(last, _)| *last == at);
            self.table.extend(ended.map(|(_, far)| Step(far)));
        }
    }

    /// An aggregate over `span` links governs a link: routes over it pass its edges.
    pub(crate) fn aggregate(&mut self, flow: FlowId, governs: LinkId, links: usize) {
        let edge = |end| Branch::Edge(Edge { flow, end, governs });
        let edges = (self.part(edge(End::Sender)), self.part(edge(End::Receiver)));
        self.aggregates.insert(governs, Stretch { edges, links });
    }

    /// Where a flow's two routes begin, of which is said whether there may be equal ones.
    #[inline]
    pub(crate) fn lay_both(
        &mut self,
        links: &Links,
        [forward, reverse]: [&[LinkId]; 2],
        may_be_equal: [bool; 2],
    ) -> (u32, u32) {
        let [there, back] = [(forward, TO_RECEIVER, may_be_equal[0]), (reverse, TO_SENDER, may_be_equal[1])]
            .map(
                |(route, end, may_be_equal)| {
                    if may_be_equal { self.intern(links, route, end) } else { self.lay(links, route, end) }
                },
            );
        (there, back)
    }

    pub(crate) fn part(&mut self, branch: Branch) -> u32 {
        self.branches.push(branch);
        PARTS + self.branches.len() as u32 - 1
    }

    /// Where the tree to these receivers begins: the links that all their routes have in common, then a branch.
    pub(crate) fn intern_tree(&mut self, links: &Links, routes: &[(FlowId, &[LinkId])]) -> u32 {
        let first = routes[0].1;
        if let [(_, route)] = routes {
            return self.intern(links, route, TO_RECEIVER);
        }
        let common = (0..first.len())
            .take_while(|&hop| routes.iter().all(|(_, route)| route.get(hop) == Some(&first[hop])))
            .count();
        let mut branches: BTreeMap<Option<LinkId>, Vec<(FlowId, &[LinkId])>> = BTreeMap::new();
        for &(flow, route) in routes {
            let rest = &route[common..];
            branches.entry(rest.first().copied()).or_default().push((flow, rest));
        }
        // Receivers at one node are copies with no link to pass.
        let copies = branches
            .into_iter()
            .flat_map(|(next, branch)| match next {
                Some(_) => vec![(branch[0].0, self.intern_tree(links, &branch))],
                None => {
                    branch.iter().map(|&(flow, _)| (flow, self.intern(links, &[], TO_RECEIVER))).collect()
                }
            })
            .collect();
        let end = self.part(Branch::Copies(copies));
        self.intern(links, &first[..common], end)
    }

    /// The first link of the route that begins at a cursor.
    pub(crate) fn first_link(&self, cursor: u32) -> Option<Place> {
        Step(self.peek(cursor)).link()
    }

    /// The last link of the route that begins at a cursor, past the edges of aggregates.
    pub(crate) fn last_link(&self, cursor: u32) -> Option<Place> {
        let steps = self.steps_from(cursor).iter();
        steps.take_while(|step| !step.ends()).filter_map(|step| step.link()).last()
    }

    /// How many steps there are.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// Takes back the routes that were laid behind the first `steps`.
    pub(crate) fn take_back(&mut self, steps: usize) {
        self.table.truncate(steps);
        self.known.clear();
    }

    /// All steps of all routes, one route behind another; each ends with a step that leads into no link.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.table
    }

    /// The same from a cursor on.
    pub(crate) fn steps_from(&self, cursor: u32) -> &[Step] {
        self.table.get(cursor as usize..).unwrap_or_default()
    }

    /// Says at each step from `from` on that leads into a link that feeds others whether it feeds the next.
    pub(crate) fn feed(&mut self, links: &Links, from: usize) {
        for at in from..self.table.len() {
            let Some(place) = self.table[at].link() else { continue };
            let about = links.about(place);
            if !about.is(FEEDS) {
                continue;
            }
            if !about.is(ON_ARRIVALS) {
                self.table[at] = Step(INTO_STAGE << KIND_OF_STEP | place.0);
                continue;
            }
            let next = self.table.get(at + 1).and_then(|step| step.link());
            let next = next.map(|next| links.about(next)).filter(|next| next.is(FED));
            let kind = match (next.map(|next| next.is(HANDS_OVER)), about.is(AT_LENGTH)) {
                (None, false) => BESIDE_FED,
                (None, true) => BESIDE_OTHER_FED,
                (Some(false), false) => INTO_FEEDER,
                (Some(false), true) => INTO_OTHER_FEEDER,
                (Some(true), false) => INTO_LAST_FEEDER,
                (Some(true), true) => INTO_OTHER_LAST_FEEDER,
            };
            self.table[at] = Step(kind << KIND_OF_STEP | place.0);
        }
    }

    /// Says at each step into a link of which that is said, and which has no bound, that it is listed when a packet arrives behind it.
    pub(crate) fn gather(&mut self, is_listed: impl Fn(Place) -> bool) {
        for step in &mut self.table {
            if step.link().is_some_and(&is_listed) {
                *step = Step(INTO_GATHERED << KIND_OF_STEP | place_of(step.0));
            }
        }
    }

    /// Takes that back everywhere.
    pub(crate) fn gather_no_longer(&mut self) {
        for step in self.table.iter_mut().filter(|step| step.kind() == INTO_GATHERED) {
            *step = Step(INTO_OPEN << KIND_OF_STEP | place_of(step.0));
        }
    }

    /// What an end beyond a flow's own two is.
    pub(crate) fn branch(&self, end: u32) -> Option<&Branch> {
        self.branches.get(end.wrapping_sub(PARTS) as usize)
    }

    /// The link or end at a cursor.
    #[inline]
    pub(crate) fn at(&self, cursor: u32) -> u32 {
        self.table[cursor as usize].0
    }

    /// Fetches the step at a cursor, and mostly those behind it.
    #[inline(always)]
    pub(crate) fn fetch(&self, cursor: u32) {
        fetch_at::<1, _>(&self.table, cursor as usize);
    }

    /// The same, or 0 where there is none.
    #[inline(always)]
    pub(crate) fn peek(&self, cursor: u32) -> u32 {
        self.table.get(cursor as usize).map_or(0, |step| step.0)
    }
}

/// Of routes given in turn, which two may be equal to another: its first link and its last are those of another, too.
#[derive(Debug)]
pub(crate) struct Equals {
    /// By link, how many routes begin with it and how many end; two stand for many.
    counted: Vec<[u8; 2]>,
}

impl Equals {
    /// Those among routes over so many links.
    pub(crate) fn of<'a>(links: usize, routes: impl Iterator<Item = &'a [LinkId]>) -> Self {
        let mut counted = vec![[0; 2]; links];
        for route in routes {
            if let [first, ..] = route
                && let [.., last] = route
            {
                for (link, end) in [(first, 0), (last, 1)] {
                    let counted: &mut u8 = &mut counted[link.index()][end];
                    *counted = (*counted + 1).min(2);
                }
            }
        }
        Self { counted }
    }

    /// Whether another of them may be equal to this one.
    #[inline]
    pub(crate) fn may_have(&self, route: &[LinkId]) -> bool {
        match route {
            [] => true,
            [first, ..] if self.counted[first.index()][0] < 2 => false,
            [.., last] => self.counted[last.index()][1] >= 2,
        }
    }
}

/// The same number for the same value, in every run.
pub(crate) fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_may_have_an_equal_only_where_another_begins_and_another_ends_with_its_links() {
        let routes: Vec<Vec<LinkId>> = [&[0, 2, 3][..], &[0, 4], &[1, 2, 3], &[0, 2, 3], &[5], &[5]]
            .map(|route| route.iter().map(|&link| LinkId(link)).collect())
            .into();
        let equals = Equals::of(6, routes.iter().map(Vec::as_slice));
        let found: Vec<bool> = routes.iter().map(|route| equals.may_have(route)).collect();
        assert_eq!(found, [true, false, false, true, true, true]);
    }
}
