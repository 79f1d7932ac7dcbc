//! The order of events: at most one live entry per leaf, ordered by time, then by the leaf's number. What a leaf
//! stands for, and why its number is what it is, is the simulator's business (`leaves.rs`).
//!
//! A winner tree over 8-byte keys serves while time and leaf share 64 bits; a radix wheel serves beyond that.
//! Measured: at the dumbbell's sizes the tree costs less than half of a binary heap's push and pop.

mod tree;
mod wheel;

use tailback_core::Time;

use crate::links::Place;
use tree::{IDLE, WinnerTree, key_of};
use wheel::RadixWheel;

/// A pending-event set with one entry per leaf.
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// The tree's root, kept here because every event reads it.
    root: u64,
    bits: u32,
    /// Keys' low bits, in which the leaf's number stands.
    mask: u32,
    kind: Kind,
}

/// How a time and a wire's place share 64 bits outside the queue, as they do in its tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys {
    bits: u32,
}

impl Keys {
    /// The key of a wire whose head is due then.
    #[inline(always)]
    pub(crate) fn of(self, wire: Place, time: Time) -> u64 {
        key_of(self.bits, wire.0, time)
    }

    /// When it is due.
    #[inline(always)]
    pub(crate) fn time(self, key: u64) -> Time {
        Time::from_nanos(key >> self.bits)
    }

    /// The wire.
    #[inline(always)]
    pub(crate) fn wire(self, key: u64) -> Place {
        Place(key as u32 & ((1 << self.bits) - 1))
    }
}

#[derive(Debug)]
enum Kind {
    Tree(WinnerTree),
    Wheel(Box<RadixWheel>),
}

impl EventQueue {
    /// A queue for leaves `0..leaves` and times up to `horizon`.
    pub(crate) fn new(leaves: usize, horizon: Time) -> Self {
        let Some(tree) = WinnerTree::new(leaves, horizon) else { return Self::wheel(leaves) };
        let bits = tree.bits();
        Self { root: IDLE, bits, mask: (1 << bits) - 1, kind: Kind::Tree(tree) }
    }

    /// A queue of the kind that has no limit of time.
    pub(crate) fn wheel(leaves: usize) -> Self {
        Self { root: IDLE, bits: 0, mask: 0, kind: Kind::Wheel(Box::new(RadixWheel::new(leaves))) }
    }

    /// How keys are made in a queue that is a tree.
    pub(crate) fn keys(&self) -> Option<Keys> {
        matches!(self.kind, Kind::Tree(_)).then_some(Keys { bits: self.bits })
    }

    /// No entry is due at or after this time: [`EventQueue::next`] then says that it is idle.
    pub(crate) fn horizon(&self) -> Time {
        match &self.kind {
            Kind::Tree(_) => Time::from_nanos(IDLE >> self.bits),
            Kind::Wheel(_) => Time::NEVER,
        }
    }

    /// Sets when `leaf` is due, replacing what was set before; [`Time::NEVER`] clears it.
    #[inline(always)]
    pub(crate) fn arm(&mut self, leaf: u32, time: Time) {
        match &mut self.kind {
            Kind::Tree(tree) => self.root = tree.arm(leaf, time),
            Kind::Wheel(wheel) => wheel.arm(leaf, time),
        }
    }

    /// Sets when `leaf` is due where it was due later, or not at all. That is much cheaper than [`EventQueue::arm`]: what
    /// becomes earlier can only replace what stands above it.
    #[inline(always)]
    pub(crate) fn bring_forward(&mut self, leaf: u32, time: Time) {
        match &mut self.kind {
            Kind::Tree(tree) => self.root = self.root.min(tree.bring_forward(leaf, time)),
            Kind::Wheel(wheel) => wheel.arm(leaf, time),
        }
    }

    /// The leaf that is due first; any where the queue is no tree.
    #[inline(always)]
    pub(crate) fn first(&self) -> u32 {
        self.root as u32 & self.mask
    }

    /// Which leaf is due first of the part of the tree in which `leaf` is; see [`WinnerTree::soon`].
    #[inline(always)]
    pub(crate) fn soon(&self, leaf: u32) -> u32 {
        match &self.kind {
            Kind::Tree(tree) => tree.soon(leaf) as u32 & self.mask,
            Kind::Wheel(_) => leaf,
        }
    }

    /// Whether what the next event touches is seldom at hand.
    pub(crate) fn is_wide(&self) -> bool {
        matches!(&self.kind, Kind::Tree(tree) if tree.is_wide())
    }

    /// Whether walks to the root go through memory that is seldom at hand.
    pub(crate) fn is_large(&self) -> bool {
        matches!(&self.kind, Kind::Tree(tree) if tree.is_large())
    }

    /// Fetches what [`EventQueue::arm`] touches of a leaf, ahead of it.
    #[inline(always)]
    pub(crate) fn fetch(&self, leaf: u32) {
        if let Kind::Tree(tree) = &self.kind {
            tree.fetch(leaf);
        }
    }

    /// When `leaf` is due.
    #[inline(always)]
    pub(crate) fn due(&self, leaf: u32) -> Time {
        match &self.kind {
            Kind::Tree(tree) => match tree.key(leaf) >> self.bits {
                time if time == IDLE >> self.bits => Time::NEVER,
                time => Time::from_nanos(time),
            },
            Kind::Wheel(wheel) => wheel.due(leaf),
        }
    }

    /// Makes room for more leaves; what is armed stays armed.
    pub(crate) fn grow(&mut self, leaves: usize, horizon: Time) {
        let old = match &self.kind {
            Kind::Tree(tree) => tree.leaves(),
            Kind::Wheel(wheel) => wheel.leaves(),
        };
        if leaves <= old {
            return;
        }
        let mut grown = Self::new(leaves, horizon);
        for leaf in 0..old as u32 {
            grown.arm(leaf, self.due(leaf));
        }
        *self = grown;
    }

    /// The earliest entry, which stays until its leaf is armed anew; [`EventQueue::horizon`] and no leaf in particular
    /// while nothing is armed.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> (Time, u32) {
        match &mut self.kind {
            Kind::Tree(_) => (Time::from_nanos(self.root >> self.bits), self.root as u32 & self.mask),
            Kind::Wheel(wheel) => wheel.next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// The reference: when each leaf is due, and all of these in order.
    struct Model {
        due: Vec<u64>,
        order: BTreeSet<(u64, u32)>,
    }

    impl Model {
        fn next(&self) -> Option<(u64, u32)> {
            self.order.first().copied()
        }

        fn arm(&mut self, leaf: usize, at: u64) {
            self.order.remove(&(self.due[leaf], leaf as u32));
            self.due[leaf] = at;
            if at != u64::MAX {
                self.order.insert((at, leaf as u32));
            }
        }
    }

    fn agree(queue: &mut EventQueue, leaves: usize, operations: &[(usize, u64, bool)]) {
        let mut model = Model { due: vec![u64::MAX; leaves], order: BTreeSet::new() };
        let mut now = 0;
        for &(leaf, delay, pop) in operations {
            let (time, due) = queue.next();
            let expected = model.next();
            match expected {
                None => assert_eq!(time, queue.horizon()),
                Some(expected) => assert_eq!((time.as_nanos(), due), expected),
            }
            let (leaf, at) = match expected {
                Some(expected) if pop => {
                    now = expected.0;
                    (due as usize, if delay % 3 == 0 { u64::MAX } else { now + delay })
                }
                _ => (leaf % leaves, now + delay),
            };
            if at <= model.due[leaf] && delay % 2 == 0 {
                queue.bring_forward(leaf as u32, Time::from_nanos(at));
            } else {
                queue.arm(leaf as u32, Time::from_nanos(at));
            }
            model.arm(leaf, at);
            assert_eq!(queue.due(leaf as u32).as_nanos(), at);
        }
    }

    proptest! {
        #[test]
        fn tree_and_wheel_agree_with_a_sorted_set(
            leaves in prop_oneof![4 => 1_usize..40, 1 => 40_usize..2000, 1 => 2000_usize..40_000],
            operations in prop::collection::vec(
                (prop_oneof![0_usize..40, 0_usize..40_000], prop_oneof![0_u64..5, 0_u64..1000, 0_u64..2_000_000_000], any::<bool>()), 0..400),
        ) {
            let mut tree = EventQueue::new(leaves, Time::from_secs_f64(4000.0));
            prop_assert!(matches!(tree.kind, Kind::Tree(_)));
            agree(&mut tree, leaves, &operations);
            agree(&mut EventQueue::wheel(leaves), leaves, &operations);
        }
    }

    proptest! {
        #[test]
        fn what_is_due_soon_is_first_in_its_part(
            leaves in 2000_usize..5000,
            operations in prop::collection::vec((0_usize..5000, 0_u64..1_000_000), 1..400),
        ) {
            let mut queue = EventQueue::new(leaves, Time::from_secs_f64(4000.0));
            let mut due = vec![u64::MAX; leaves];
            let wide = leaves.next_power_of_two() / tree::PARTS;
            for (leaf, at) in operations {
                let leaf = leaf % leaves;
                due[leaf] = at;
                queue.arm(leaf as u32, Time::from_nanos(at));
                let part = leaf / wide * wide..(leaf / wide + 1) * wide;
                let first = part.filter(|&other| other < leaves).min_by_key(|&other| (due[other], other));
                prop_assert_eq!(Some(queue.soon(leaf as u32) as usize), first);
            }
        }
    }

    #[test]
    fn long_horizons_fall_back_to_the_wheel() {
        let never = Time::from_nanos(u64::MAX - 1);
        assert!(matches!(EventQueue::new(1000, never).kind, Kind::Wheel(_)));
    }
}
