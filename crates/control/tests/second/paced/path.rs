//! What may happen to a stream whose sender keeps to a rate. How it happens is in the parent.

use tailback_core::Stream;

/// What may happen to a stream; chances are per packet, times in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub(crate) loss: f64,
    /// How likely the next packet is lost after a lost one.
    pub(crate) burst: f64,
    /// A packet is held up by so much at most, so that others pass it.
    pub(crate) late: f64,
    pub(crate) lateness: f64,
    /// For some time nothing arrives: it is lost, or comes afterwards.
    pub(crate) outage: f64,
    pub(crate) outage_lasts: f64,
    pub(crate) outage_holds: bool,
    /// The application has less than the rate allows for some time, or nothing.
    pub(crate) limited: f64,
    pub(crate) limited_lasts: f64,
    pub(crate) idle: f64,
    /// The timer goes off though nothing is wrong; a packet is repeated though it is not believed lost.
    pub(crate) timeout: f64,
    pub(crate) repeat: f64,
    /// How long the timer waits, in round trips; 0.2 s at least.
    pub(crate) patience: f64,
    /// Acknowledgements come at multiples of this; 0 for at once.
    pub(crate) bunch: f64,
    /// In bytes per second, by how much it changes at most, and how likely that is.
    pub(crate) capacity: f64,
    pub(crate) wander: f64,
    pub(crate) change: f64,
    /// What the path holds, and the round trip without a queue.
    pub(crate) queue: f64,
    pub(crate) base: f64,
}

impl Path {
    pub(crate) const CALM: Self = Self {
        loss: 0.0,
        burst: 0.0,
        late: 0.0,
        lateness: 0.0,
        outage: 0.0,
        outage_lasts: 0.0,
        outage_holds: false,
        limited: 0.0,
        limited_lasts: 0.0,
        idle: 0.0,
        timeout: 0.0,
        repeat: 0.0,
        patience: 1.2,
        bunch: 0.0,
        capacity: 1.25e6,
        wander: 1.0,
        change: 0.0,
        queue: 0.1,
        base: 0.04,
    };

    /// Any of all that, each with an even chance.
    pub(crate) fn drawn(rng: &mut Stream) -> Self {
        let some = |rng: &mut Stream, most: f64| {
            if rng.chance(0.5) { 0.0 } else { most * rng.uniform().powi(3) }
        };
        let base = 0.001 * 300_f64.powf(rng.uniform());
        Self {
            loss: some(rng, 0.2),
            burst: some(rng, 0.8),
            late: some(rng, 0.1),
            lateness: base * rng.uniform(),
            outage: some(rng, 0.002),
            outage_lasts: if rng.chance(0.5) { 0.2 } else { 3.0 * rng.uniform() },
            outage_holds: rng.chance(0.5),
            limited: some(rng, 0.02),
            limited_lasts: 100.0 * base,
            idle: some(rng, 0.005),
            timeout: some(rng, 0.001),
            repeat: some(rng, 0.01),
            patience: 1.2 + 2.0 * rng.uniform(),
            bunch: if rng.chance(0.5) { 0.0 } else { base * rng.uniform() },
            capacity: 1.25e4 * 1000_f64.powf(rng.uniform()),
            wander: 1.0 + 3.0 * rng.uniform(),
            change: some(rng, 0.01),
            queue: if rng.chance(0.2) { 1.0 } else { 0.2 * rng.uniform() },
            base,
        }
    }
}
