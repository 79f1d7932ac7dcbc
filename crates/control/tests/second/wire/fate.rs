//! What may happen to a sender's side of a connection. How it happens is in the parent.

/// What may happen to a connection, as chances per step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fate {
    pub(crate) loss: f64,
    /// Packets that are lost at once, at most; some more are in flight.
    pub(crate) burst: u64,
    pub(crate) mark: f64,
    /// Whether marks are told once per window too, as an event (RFC 3168).
    pub(crate) echo_event: bool,
    pub(crate) timeout: f64,
    pub(crate) spurious: f64,
    /// How likely a retransmission is lost again, in a step while losses are repaired; where it may be, retransmissions are
    /// told as they leave. So they are where `more` may be lost.
    pub(crate) again: f64,
    /// How likely further losses are found in a step of a recovery, in pieces between what arrived.
    pub(crate) more: f64,
    /// Samples of the delivery rate that have no rate: what they measured took less than a round trip.
    pub(crate) unrated: f64,
    pub(crate) pause: f64,
    /// Of the steps, the application limits the sender in these.
    pub(crate) limited: f64,
    /// Packets that one acknowledgement acknowledges, at most.
    pub(crate) stretch: u64,
    /// The smallest round trip time, and how much a queue adds, in milliseconds.
    pub(crate) base: f64,
    pub(crate) queue: f64,
    /// Between these many milliseconds the link takes for a packet, another number every so many steps.
    pub(crate) service: (f64, f64),
    /// How likely another route is taken, and by how many milliseconds it is longer than the shortest, at most.
    pub(crate) route: (f64, f64),
    /// How likely an acknowledgement tells no way of a segment.
    pub(crate) unstamped: f64,
}

impl Fate {
    pub(crate) const CALM: Self = Self {
        loss: 0.0,
        burst: 3,
        mark: 0.0,
        echo_event: true,
        timeout: 0.0,
        spurious: 0.0,
        again: 0.0,
        more: 0.0,
        unrated: 0.0,
        pause: 0.0,
        limited: 0.0,
        stretch: 1,
        base: 40.0,
        queue: 0.0,
        service: (0.0, 0.0),
        route: (0.0, 0.0),
        unstamped: 0.0,
    };
    pub(crate) const ROUGH: Self = Self {
        loss: 0.01,
        timeout: 0.001,
        spurious: 0.0005,
        pause: 0.001,
        limited: 0.05,
        stretch: 3,
        queue: 30.0,
        ..Self::CALM
    };
}
