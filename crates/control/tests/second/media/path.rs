//! What may happen to a flow of media. How it happens is in the parent.

use tailback_core::Stream;

/// What may happen to a flow; chances are per packet, or per report where that is said, times in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub(super) loss: f64,
    /// How likely the next packet is lost after a lost one.
    pub(super) burst: f64,
    pub(super) mark: f64,
    pub(super) report_loss: f64,
    pub(super) late: f64,
    /// Per packet: the path becomes shorter or longer.
    pub(super) step: f64,
    /// Nothing arrives for some time, either way.
    pub(super) outage: f64,
    /// The application has less than the rate allows for some time, or nothing.
    pub(super) limited: f64,
    pub(super) idle: f64,
    /// Packets that leave at once.
    pub(super) frame: u64,
    /// In bytes per second, what it holds at most, and the round trip without a queue.
    pub(super) capacity: f64,
    pub(super) queue: f64,
    pub(super) base: f64,
    /// A queue beyond this marks all; infinite for none.
    pub(super) threshold: f64,
    /// Between two reports; by how much of that they vary; how many packets each repeats.
    pub(super) interval: f64,
    pub(super) jitter: f64,
    pub(super) overlap: u64,
    /// The receiver's clock: parts in a million, and how far it is ahead.
    pub(super) drift: f64,
    pub(super) ahead: f64,
    /// Bytes of a packet; one in four is small where this is said.
    pub(super) size: u64,
    pub(super) mixed: bool,
    /// Per packet: the capacity becomes another, up to so many times more or less.
    pub(super) change: f64,
    pub(super) wander: f64,
    /// A report is held up on its way back by so much at most, and those behind it with it.
    pub(super) held: f64,
    pub(super) held_by: f64,
}

impl Path {
    /// Nothing happens to the flow but marks, an application with little, and a receiver's clock that drifts.
    pub(crate) fn calm(mark: f64, base: f64, drift: f64) -> Self {
        Self {
            loss: 0.0,
            burst: 0.0,
            mark,
            report_loss: 0.0,
            late: 0.0,
            step: 0.0,
            outage: 0.0,
            limited: 0.02,
            idle: 0.0,
            frame: 1,
            capacity: 125_000.0,
            queue: 0.3,
            base,
            threshold: f64::INFINITY,
            interval: 0.2,
            jitter: 0.5,
            overlap: 0,
            drift,
            ahead: 0.0,
            size: 1000,
            mixed: false,
            change: 0.0,
            wander: 1.0,
            held: 0.0,
            held_by: 0.0,
        }
    }

    /// With a capacity that changes, and reports that are held up and come together.
    pub(crate) fn unsteady(self, rng: &mut Stream) -> Self {
        let change = if rng.chance(0.5) { 0.0 } else { 0.02 * rng.uniform().powi(3) };
        let held = if rng.chance(0.5) { 0.0 } else { 0.2 * rng.uniform() };
        Self { change, wander: 1.0 + 7.0 * rng.uniform(), held, held_by: 0.5 * rng.uniform(), ..self }
    }

    /// Any of all that, each with an even chance; `capacity` is the most in bits per second.
    pub(crate) fn drawn(rng: &mut Stream, capacity: f64, marks: bool) -> Self {
        let some = |rng: &mut Stream, most: f64| {
            if rng.chance(0.5) { 0.0 } else { most * rng.uniform().powi(3) }
        };
        Self {
            loss: some(rng, 0.1),
            burst: some(rng, 0.8),
            mark: if marks { some(rng, 0.2) } else { 0.0 },
            report_loss: some(rng, 0.3),
            late: some(rng, 0.05),
            step: some(rng, 0.01),
            outage: some(rng, 0.001),
            limited: some(rng, 0.01),
            idle: some(rng, 0.002),
            frame: if rng.chance(0.5) { 1 } else { 1 + rng.below(8) },
            capacity: capacity / 8.0 * (0.05 + 0.95 * rng.uniform()),
            queue: 0.03 + 0.6 * rng.uniform(),
            base: 0.002 + 0.3 * rng.uniform().powi(2),
            threshold: if marks && rng.chance(0.5) { 0.01 + 0.05 * rng.uniform() } else { f64::INFINITY },
            interval: if rng.chance(0.5) { 0.1 } else { 0.02 + 0.2 * rng.uniform() },
            jitter: if rng.chance(0.3) { 0.0 } else { 0.9 * rng.uniform() },
            overlap: if rng.chance(0.5) { 0 } else { rng.below(64) },
            drift: if rng.chance(0.5) { 0.0 } else { 1e-6 * (1000.0 * rng.uniform() - 500.0) },
            ahead: if rng.chance(0.5) { 0.0 } else { 1800.0 * rng.uniform() - 900.0 },
            size: 400 + rng.below(801),
            mixed: rng.chance(0.3),
            change: 0.0,
            wander: 1.0,
            held: 0.0,
            held_by: 0.0,
        }
    }
}
