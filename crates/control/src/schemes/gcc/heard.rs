//! What both loss parts are told. What they make of it is in `loss.rs` and `bwe_v2/`. Rates are bits per second, times seconds.

/// What a report told, with what the other parts make of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    pub(super) now: f64,
    /// When the first and the last packet had left that arrived or is lost.
    pub(super) sent: (f64, f64),
    /// Bytes that arrived and that are lost, and packets.
    pub(super) kept: f64,
    pub(super) lost: f64,
    pub(super) packets: (f64, f64),
    /// The rate by delay alone, and the one in force.
    pub(super) delay_rate: f64,
    pub(super) target: f64,
    /// The rate of arrivals, where it is known.
    pub(super) arriving: Option<f64>,
    pub(super) round_trip: f64,
    /// Whether the application limits what is sent.
    pub(super) limited: bool,
}
