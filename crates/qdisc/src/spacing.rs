//! The spacing of random drops and marks that RED introduced (Floyd and Jacobson 1993, §7), for all that use it. What
//! the probability is made of is not known here.

use tailback_core::Stream;

/// `p_a`: the probability for a packet, given the probability `base` that belongs to the state of the queue and the
/// `count` of packets since the last one picked.
///
/// Without `wait` the distance between two picked packets is uniform on 1..=1/base (1993, §7, method 2); with it, on
/// `1/base..=2/base` (ns-2's `wait_`).
#[inline]
pub fn spaced(base: f64, count: f64, wait: bool) -> f64 {
    let expected = count * base;
    match wait {
        true if expected < 1.0 => 0.0,
        true if expected < 2.0 => base / (2.0 - expected),
        false if expected < 1.0 => base / (1.0 - expected),
        _ => 1.0,
    }
    .min(1.0)
}

/// A counter of packets since the last one picked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spacing {
    count: u32,
}

impl Spacing {
    /// Nothing counted.
    pub const fn new() -> Self {
        Self { count: 0 }
    }

    /// Starts counting again, as when the measure falls below its lower threshold.
    pub const fn restart(&mut self) {
        self.count = 0;
    }

    /// Whether chance picks this packet, at the probability `base`.
    #[inline]
    pub fn picks(&mut self, base: f64, rng: &mut Stream) -> bool {
        let probability = spaced(base, f64::from(self.count), false);
        let picked = probability >= 1.0 || rng.chance(probability);
        self.count = if picked { 0 } else { self.count.saturating_add(1) };
        picked
    }
}
