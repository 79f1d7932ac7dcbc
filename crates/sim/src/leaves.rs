//! Which leaf of the event queue stands for what. Leaves of equal time fire in the order of their numbers, so the
//! numbers decide ties: ends of transmission before arrivals before timers, and within a kind by a hash of seed and
//! name. So the forms of a link agree, no element always wins, and adding one does not change the order of others.
//! The wires' leaves are the most frequent: they are consecutive, and links stand in their order (`links.rs`).

use std::ops::Range;

use tailback_core::rng::mix;
use tailback_core::{FlowId, LinkId, StreamName};
use tailback_link::{LinkSpec, LinkTimers};

use crate::links::Place;

/// Kinds of leaves.
const SERVICE: u8 = 0;
const WIRE: u8 = 1;
const LATE: u8 = 2;
const TIMER: u8 = 3;

/// So few are compared with each other.
const FEW: usize = 64;

/// What a leaf stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaf {
    /// A staged link's end of transmission, change or timer.
    Service(LinkId),
    /// The head of a link's wire arrives.
    Wire(LinkId),
    /// A packet held back on a link's wire arrives.
    Late(LinkId),
    /// A sender's timer.
    Sender(FlowId),
    /// A receiver's timer.
    Receiver(FlowId),
}

impl Leaf {
    /// Earlier kinds go first at equal times.
    fn kind(self) -> u8 {
        match self {
            Self::Service(_) => SERVICE,
            Self::Wire(_) => WIRE,
            Self::Late(_) => LATE,
            Self::Sender(_) | Self::Receiver(_) => TIMER,
        }
    }
}

/// A leaf's meaning in four bytes: the variant in the lowest three bits, the index above.
#[derive(Clone, Copy, Debug)]
struct Packed(u32);

impl Packed {
    fn new(leaf: Leaf) -> Self {
        let (variant, index) = match leaf {
            Leaf::Service(link) => (0, link.0),
            Leaf::Wire(link) => (1, link.0),
            Leaf::Late(link) => (2, link.0),
            Leaf::Sender(flow) => (3, flow.0),
            Leaf::Receiver(flow) => (4, flow.0),
        };
        assert!(index < 1 << 28, "a run holds fewer than 2^28 links and flows");
        Self(index << 3 | variant)
    }

    #[inline(always)]
    fn leaf(self) -> Leaf {
        let index = self.0 >> 3;
        match self.0 & 7 {
            0 => Leaf::Service(LinkId(index)),
            1 => Leaf::Wire(LinkId(index)),
            2 => Leaf::Late(LinkId(index)),
            3 => Leaf::Sender(FlowId(index)),
            _ => Leaf::Receiver(FlowId(index)),
        }
    }
}

/// The table of leaves.
#[derive(Debug)]
pub(crate) struct Leaves {
    /// Packed to four bytes: every event reads an entry, and thousands of them should stay in the nearest cache.
    table: Vec<Packed>,
    flow_count: usize,
    /// The wires' leaves, one after another.
    wires: Range<u32>,
}

/// Its inverse, which links and flows are told as they are laid.
#[derive(Debug)]
pub(crate) struct Numbers {
    /// By link, its leaves apart from its wire's; empty where no link has any.
    others: Vec<(u32, u32)>,
    /// By flow, its sender's and its receiver's.
    flows: Vec<(u32, u32)>,
    /// Whether two links or flows may have one name.
    pub(crate) may_be_alike: bool,
}

/// What needs a leaf, and its rank among others of its kind.
#[derive(Clone, Copy, Debug)]
struct Ranked {
    rank: u64,
    leaf: Packed,
}

/// Collects what needs leaves, so that they can be numbered.
#[derive(Debug)]
pub(crate) struct LeafOrder {
    seed: u64,
    /// By kind.
    ranked: [Vec<Ranked>; 4],
    links: usize,
    flows: usize,
}

impl LeafOrder {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, ranked: Default::default(), links: 0, flows: 0 }
    }

    /// Makes room for so many links and flows that have no more than they must.
    pub(crate) fn reserve(&mut self, links: usize, flows: usize) {
        self.ranked[usize::from(WIRE)].reserve_exact(links);
        self.ranked[usize::from(TIMER)].reserve_exact(2 * flows);
    }

    #[inline]
    fn add(&mut self, leaf: Leaf, name: StreamName, salt: u64) {
        let rank = name.child(self.seed, mix(salt)).below(u64::MAX);
        self.ranked[usize::from(leaf.kind())].push(Ranked { rank, leaf: Packed::new(leaf) });
    }

    /// The next link.
    pub(crate) fn link(&mut self, spec: &LinkSpec) {
        let id = LinkId::from(self.links);
        let name = StreamName::new(&spec.name);
        self.links += 1;
        self.add(Leaf::Wire(id), name, 1);
        if spec.is_staged() {
            self.add(Leaf::Service(id), name, 0);
        }
        if spec.impairments.may_hold() {
            self.add(Leaf::Late(id), name, 2);
        }
    }

    /// The next link, one that has no more than a wire.
    pub(crate) fn open_link(&mut self, name: StreamName) {
        let id = LinkId::from(self.links);
        self.links += 1;
        self.add(Leaf::Wire(id), name, 1);
    }

    /// The next flow.
    pub(crate) fn flow(&mut self, name: StreamName) {
        let id = FlowId::from(self.flows);
        self.flows += 1;
        self.add(Leaf::Sender(id), name, 3);
        self.add(Leaf::Receiver(id), name, 4);
    }

    /// Numbers them all.
    pub(crate) fn lay_out(self) -> (Leaves, Numbers) {
        let Self { ranked, links, flows, .. } = self;
        let first = ranked[usize::from(SERVICE)].len() as u32;
        let has_others = first > 0 || !ranked[usize::from(LATE)].is_empty();
        let mut leaves = Leaves {
            table: Vec::with_capacity(ranked.iter().map(Vec::len).sum()),
            flow_count: flows,
            wires: first..first + links as u32,
        };
        let mut numbers = Numbers {
            others: if has_others { vec![(0, 0); links] } else { Vec::new() },
            flows: vec![(0, 0); flows],
            may_be_alike: false,
        };
        for ranked in ranked {
            let ranked = in_order(ranked);
            // Of one name come equal ranks.
            numbers.may_be_alike |= ranked.windows(2).any(|pair| pair[0].rank == pair[1].rank);
            for (number, Ranked { leaf, .. }) in (leaves.table.len() as u32..).zip(ranked) {
                leaves.table.push(leaf);
                numbers.note(leaf.leaf(), number);
            }
        }
        (leaves, numbers)
    }
}

/// Puts in order what has ranks. These are as good as drawn, so that the uppermost bits of each say nearly where it stands, and
/// only a few must be compared.
fn in_order(mut ranked: Vec<Ranked>) -> Vec<Ranked> {
    let by_rank = |ranked: &Ranked| (ranked.rank, ranked.leaf.0);
    if ranked.len() < FEW {
        ranked.sort_unstable_by_key(by_rank);
        return ranked;
    }
    let bits = ranked.len().ilog2() - 1;
    let part = |ranked: &Ranked| (ranked.rank >> (64 - bits)) as usize;
    let mut ends = vec![0_u32; 1 << bits];
    for one in &ranked {
        ends[part(one)] += 1;
    }
    let mut before = 0;
    for end in &mut ends {
        before += std::mem::replace(end, before);
    }
    let mut laid = ranked.clone();
    for one in &ranked {
        let end = &mut ends[part(one)];
        laid[*end as usize] = *one;
        *end += 1;
    }
    let mut start = 0;
    for end in ends {
        let part = &mut laid[start..end as usize];
        start = end as usize;
        if part.len() > FEW {
            part.sort_unstable_by_key(by_rank);
            continue;
        }
        for at in 1..part.len() {
            let one = part[at];
            let mut to = at;
            while to > 0 && by_rank(&part[to - 1]) > by_rank(&one) {
                part[to] = part[to - 1];
                to -= 1;
            }
            part[to] = one;
        }
    }
    laid
}

impl Numbers {
    fn note(&mut self, leaf: Leaf, number: u32) {
        match leaf {
            Leaf::Service(link) => self.others[link.index()].0 = number,
            // Wires are numbered as their links stand.
            Leaf::Wire(_) => {}
            Leaf::Late(link) => self.others[link.index()].1 = number,
            Leaf::Sender(flow) => self.flows[flow.index()].0 = number,
            Leaf::Receiver(flow) => self.flows[flow.index()].1 = number,
        }
    }

    /// Those of a link with this number for its wire.
    pub(crate) fn of_link(&self, link: LinkId, wire: u32) -> LinkTimers {
        let (service, late) = self.others.get(link.index()).copied().unwrap_or_default();
        LinkTimers { wire, service, late }
    }

    pub(crate) fn of_flow(&self, index: usize) -> (u32, u32) {
        self.flows[index]
    }
}

impl Leaves {
    /// Appends a leaf; its number.
    fn append(&mut self, leaf: Leaf) -> u32 {
        self.table.push(Packed::new(leaf));
        self.table.len() as u32 - 1
    }

    /// Leaves for a flow added while running: behind all others.
    pub(crate) fn add_flow(&mut self) -> (u32, u32) {
        let flow = FlowId::from(self.flow_count);
        self.flow_count += 1;
        (self.append(Leaf::Sender(flow)), self.append(Leaf::Receiver(flow)))
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// Links in the order of their wires' leaves.
    pub(crate) fn wires(&self) -> impl Iterator<Item = LinkId> {
        self.wires.clone().filter_map(|leaf| match self.get(leaf) {
            Leaf::Wire(link) => Some(link),
            _ => None,
        })
    }

    /// The link of a wire's leaf, by its place in [`Leaves::wires`].
    #[inline(always)]
    pub(crate) fn wire(&self, leaf: u32) -> Option<Place> {
        let place = leaf.wrapping_sub(self.wires.start);
        (place < self.wires.end - self.wires.start).then_some(Place(place))
    }

    /// The first of the wires' leaves.
    #[inline(always)]
    pub(crate) fn first_wire(&self) -> u32 {
        self.wires.start
    }

    /// The first wire whose leaf stands no further in front than this one, by its place; one beyond all where there is none.
    pub(crate) fn first_wire_behind(&self, leaf: u32) -> Place {
        Place(leaf.saturating_sub(self.wires.start))
    }

    /// What a leaf stands for.
    #[inline]
    pub(crate) fn get(&self, leaf: u32) -> Leaf {
        self.table[leaf as usize].leaf()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Ranks that are drawn, that are close to each other, and that are equal.
        #[test]
        fn ranks_are_put_in_order(
            drawn in prop::collection::vec(any::<u64>(), 0..300),
            close in prop::collection::vec(0_u64..50, 0..200),
        ) {
            let ranks = drawn.into_iter().chain(close.into_iter().map(|rank| rank + (1 << 63)));
            let ranked: Vec<Ranked> =
                ranks.zip(0..).map(|(rank, number)| Ranked { rank, leaf: Packed(number) }).collect();
            let mut sorted = ranked.clone();
            sorted.sort_by_key(|one| (one.rank, one.leaf.0));
            let pairs = |all: &[Ranked]| all.iter().map(|one| (one.rank, one.leaf.0)).collect::<Vec<_>>();
            prop_assert_eq!(pairs(&in_order(ranked)), pairs(&sorted));
        }
    }

    #[test]
    fn kinds_go_in_turn_and_each_knows_its_number() {
        let mut order = LeafOrder::new(5);
        for number in 0..100_usize {
            order.open_link(StreamName::new(&format!("link {number}")));
            order.flow(StreamName::new(&format!("flow {number}")));
        }
        let (leaves, numbers) = order.lay_out();
        assert!(!numbers.may_be_alike);
        assert_eq!((leaves.len(), leaves.first_wire()), (300, 0));
        let mut links: Vec<_> = leaves.wires().map(LinkId::index).collect();
        links.sort_unstable();
        assert_eq!(links, (0..100).collect::<Vec<_>>());
        for flow in 0..100_usize {
            let (sender, receiver) = numbers.of_flow(flow);
            assert_eq!(leaves.get(sender), Leaf::Sender(FlowId::from(flow)));
            assert_eq!(leaves.get(receiver), Leaf::Receiver(FlowId::from(flow)));
            assert!(sender >= 100 && receiver >= 100);
        }
    }
}
