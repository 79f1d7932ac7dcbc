//! Which leaf of the event queue stands for what. Leaves of equal time fire in the order of their numbers, so the
//! numbers decide ties: ends of transmission before arrivals before timers, and within a kind by a hash of seed and
//! name. So the forms of a link agree, no element always wins, and adding one does not change the order of others.
//! The wires' leaves are the most frequent: they are consecutive, and links stand in their order (`links.rs`).

use std::ops::Range;

use tailback_core::rng::mix;
use tailback_core::{FlowId, LinkId, Stream};
use tailback_link::{LinkSpec, LinkTimers};

use crate::flow::FlowSpec;

use crate::links::Place;

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
            Self::Service(_) => 0,
            Self::Wire(_) => 1,
            Self::Late(_) => 2,
            Self::Sender(_) | Self::Receiver(_) => 3,
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

/// The table of leaves and its inverse.
#[derive(Debug)]
pub(crate) struct Leaves {
    /// Packed to four bytes: every event reads an entry, and thousands of them should stay in the nearest cache.
    table: Vec<Packed>,
    /// By link and by flow, until both have been told.
    links: Vec<LinkTimers>,
    flows: Vec<(u32, u32)>,
    flow_count: usize,
    /// The wires' leaves, one after another.
    wires: Range<u32>,
}

/// Collects what needs leaves, so that they can be numbered.
#[derive(Debug)]
pub(crate) struct LeafOrder {
    seed: u64,
    ranked: Vec<(u8, u64, Leaf)>,
    links: usize,
    flows: usize,
}

impl LeafOrder {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, ranked: Vec::new(), links: 0, flows: 0 }
    }

    /// Makes room for so many links and flows that have no more than they must.
    pub(crate) fn reserve(&mut self, links: usize, flows: usize) {
        self.ranked.reserve_exact(links + 2 * flows);
    }

    fn add(&mut self, leaf: Leaf, name: &str, salt: u64) {
        self.ranked.push((leaf.kind(), rank(self.seed, name, salt), leaf));
    }

    /// The next link.
    pub(crate) fn link(&mut self, spec: &LinkSpec) {
        let id = LinkId::from(self.links);
        self.links += 1;
        self.add(Leaf::Wire(id), &spec.name, 1);
        if spec.is_staged() {
            self.add(Leaf::Service(id), &spec.name, 0);
        }
        if spec.impairments.may_hold() {
            self.add(Leaf::Late(id), &spec.name, 2);
        }
    }

    /// The next flow.
    pub(crate) fn flow(&mut self, spec: &FlowSpec) {
        let id = FlowId::from(self.flows);
        self.flows += 1;
        self.add(Leaf::Sender(id), &spec.name, 3);
        self.add(Leaf::Receiver(id), &spec.name, 4);
    }

    /// Numbers them all.
    pub(crate) fn lay_out(mut self) -> Leaves {
        self.ranked.sort_unstable_by_key(|&(kind, rank, _)| (kind, rank));
        let is_wire = |&(_, _, leaf): &(u8, u64, Leaf)| matches!(leaf, Leaf::Wire(_));
        let first = self.ranked.iter().position(is_wire).unwrap_or_default();
        let mut leaves = Leaves {
            table: Vec::with_capacity(self.ranked.len()),
            links: vec![LinkTimers::default(); self.links],
            flows: vec![(0, 0); self.flows],
            flow_count: self.flows,
            wires: first as u32..(first + self.links) as u32,
        };
        for (_, _, leaf) in self.ranked {
            leaves.push(leaf);
        }
        leaves
    }
}

impl Leaves {
    /// Appends a leaf; its number.
    fn append(&mut self, leaf: Leaf) -> u32 {
        self.table.push(Packed::new(leaf));
        self.table.len() as u32 - 1
    }

    fn push(&mut self, leaf: Leaf) {
        let number = self.append(leaf);
        match leaf {
            Leaf::Service(link) => self.links[link.index()].service = number,
            Leaf::Wire(link) => self.links[link.index()].wire = number,
            Leaf::Late(link) => self.links[link.index()].late = number,
            Leaf::Sender(flow) => self.flows[flow.index()].0 = number,
            Leaf::Receiver(flow) => self.flows[flow.index()].1 = number,
        }
    }

    /// Leaves for a flow added while running: behind all others.
    pub(crate) fn add_flow(&mut self) -> (u32, u32) {
        let flow = FlowId::from(self.flow_count);
        self.flow_count += 1;
        (self.append(Leaf::Sender(flow)), self.append(Leaf::Receiver(flow)))
    }

    /// Every link and flow has taken the numbers of its leaves: nobody asks for them again.
    pub(crate) fn forget(&mut self) {
        (self.links, self.flows) = (Vec::new(), Vec::new());
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

    pub(crate) fn of_link(&self, index: usize) -> LinkTimers {
        self.links[index]
    }

    pub(crate) fn of_flow(&self, index: usize) -> (u32, u32) {
        self.flows[index]
    }
}

fn rank(seed: u64, name: &str, salt: u64) -> u64 {
    Stream::child(seed, name, mix(salt)).below(u64::MAX)
}
