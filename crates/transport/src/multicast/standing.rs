//! How the receivers of a multicast stand, and all of them together: kept in a tree, so that an acknowledgement of one of thousands
//! does not look at all others. What follows from it is the sender's business.

use tailback_core::Time;

/// How one receiver stands, or the worst of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    /// The last number that is acknowledged, and one.
    pub(super) first: u64,
    /// When its timer, or its controller's, is due.
    pub(super) timer: Time,
    /// The rate that its controller directs, and its place; of equals the first.
    pub(super) slowest: (u64, usize),
    /// Its place where its gate is closed.
    pub(super) closed: usize,
    /// Whether what it misses may leave.
    pub(super) misses: bool,
    /// Whether new data has room, and a packet behind it.
    pub(super) fits: bool,
    pub(super) fits_behind: bool,
}

impl Standing {
    /// Nobody's: who stands like this holds up nothing.
    pub(super) const NONE: Self = Self {
        first: u64::MAX,
        timer: Time::NEVER,
        slowest: (u64::MAX, usize::MAX),
        closed: usize::MAX,
        misses: false,
        fits: true,
        fits_behind: true,
    };

    fn and(self, other: Self) -> Self {
        Self {
            first: self.first.min(other.first),
            timer: self.timer.min(other.timer),
            slowest: self.slowest.min(other.slowest),
            closed: self.closed.min(other.closed),
            misses: self.misses || other.misses,
            fits: self.fits && other.fits,
            fits_behind: self.fits_behind && other.fits_behind,
        }
    }
}

/// How all receivers stand, by their places.
#[derive(Debug)]
pub(super) struct Standings {
    /// A tree from its root, which is at 1, to its leaves, which are half of it; each node is the worst of the two below.
    nodes: Vec<Standing>,
}

impl Standings {
    /// Of so many receivers, of which nothing is known.
    pub(super) fn new(receivers: usize) -> Self {
        Self { nodes: vec![Standing::NONE; 2 * receivers.next_power_of_two()] }
    }

    fn leaves(&self) -> usize {
        self.nodes.len() / 2
    }

    fn join(&mut self, node: usize) {
        looked();
        self.nodes[node] = self.nodes[2 * node].and(self.nodes[2 * node + 1]);
    }

    /// One stands otherwise than before.
    pub(super) fn set(&mut self, place: usize, standing: Standing) {
        let mut node = self.leaves() + place;
        self.nodes[node] = standing;
        while node > 1 {
            node /= 2;
            self.join(node);
        }
    }

    /// All stand otherwise than before.
    pub(super) fn set_all(&mut self, standings: impl Iterator<Item = Standing>) {
        let leaves = self.leaves();
        for (leaf, standing) in self.nodes[leaves..].iter_mut().zip(standings) {
            looked();
            *leaf = standing;
        }
        (1..leaves).rev().for_each(|node| self.join(node));
    }

    /// How one stands.
    #[cfg(test)]
    pub(super) fn get(&self, place: usize) -> &Standing {
        &self.nodes[self.leaves() + place]
    }

    /// The worst of all.
    pub(super) fn worst(&self) -> &Standing {
        &self.nodes[1]
    }

    /// The first place from `from` on of one that stands so; what holds of any must hold of the worst of them.
    pub(super) fn next(&self, from: usize, holds: impl Fn(&Standing) -> bool) -> Option<usize> {
        let leaves = self.leaves();
        if from >= leaves {
            return None;
        }
        let mut node = leaves + from;
        while !holds(&self.nodes[node]) {
            looked();
            // What lies to the right of this and of all above it that lie to the right themselves.
            while node % 2 == 1 {
                node /= 2;
            }
            if node == 0 {
                return None;
            }
            node += 1;
        }
        while node < leaves {
            looked();
            node *= 2;
            node += usize::from(!holds(&self.nodes[node]));
        }
        Some(node - leaves)
    }
}

#[cfg(test)]
thread_local! {
    /// How many receivers, or nodes above them, were looked at in this thread.
    pub(super) static LOOKS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// One more is looked at; counted in tests alone.
#[inline(always)]
pub(super) fn looked() {
    #[cfg(test)]
    LOOKS.set(LOOKS.get() + 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_that_stands_so_is_found_from_every_place() {
        for count in [1, 2, 3, 5, 8, 13] {
            let mut standings = Standings::new(count);
            for pattern in 0..1_u32 << count.min(8) {
                let misses = |place: usize| pattern >> (place % 8) & 1 == 1;
                let standing = |place| Standing { misses: misses(place), ..Standing::NONE };
                standings.set_all((0..count).map(standing));
                for from in 0..=count + 1 {
                    let expected = (from..count).find(|place| misses(*place));
                    assert_eq!(
                        standings.next(from, |standing| standing.misses),
                        expected,
                        "{count} {pattern}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_worst_of_all_is_known_when_one_changes() {
        let mut standings = Standings::new(5);
        let of = |place: usize, first, rate| Standing { first, slowest: (rate, place), ..Standing::NONE };
        standings.set_all((0..5).map(|place| of(place, 10, 7)));
        assert_eq!((standings.worst().first, standings.worst().slowest), (10, (7, 0)));
        standings.set(3, of(3, 9, 6));
        assert_eq!((standings.worst().first, standings.worst().slowest), (9, (6, 3)));
        standings.set(3, Standing { closed: 3, fits: false, ..of(3, 11, 7) });
        assert_eq!((standings.worst().first, standings.worst().slowest), (10, (7, 0)));
        assert!(!standings.worst().fits && standings.worst().fits_behind && standings.worst().closed == 3);
    }

    #[test]
    fn the_next_timer_is_known_and_one_without_room_is_enough() {
        let mut standings = Standings::new(3);
        let at = |seconds| Standing { timer: Time::from_secs_f64(seconds), ..Standing::NONE };
        standings.set_all([3.0, 2.0, 4.0].map(at).into_iter());
        assert_eq!(standings.worst().timer, Time::from_secs_f64(2.0));
        assert!(standings.worst().fits && standings.worst().fits_behind && !standings.worst().misses);
        standings.set(1, Standing { fits_behind: false, misses: true, ..at(5.0) });
        assert_eq!(standings.worst().timer, Time::from_secs_f64(3.0));
        assert!(standings.worst().fits && !standings.worst().fits_behind && standings.worst().misses);
    }
}
