//! The bookkeeping that every TCP window law shares: units of segments, bounds, slow start, what an acknowledgement
//! counts for and what a window is reduced from (RFC 5681, RFC 3465). When and by how much a window changes in
//! congestion avoidance is each scheme's own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Bytes, Feedback, Recovery};

use crate::parts::ControllerParams;

/// What one acknowledgement counts for when a window grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Counting {
    /// For one segment, however much it acknowledges (RFC 5681 §3.1; ns-2): delayed acknowledgements slow growth.
    #[default]
    PerAck,
    /// For the bytes that it acknowledges (appropriate byte counting, RFC 3465).
    Bytes,
}

/// What a window is reduced from when congestion shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Halve {
    /// From the data in flight (RFC 5681 equation 4).
    #[default]
    Flight,
    /// From the congestion window itself, as ns-2 does.
    Window,
}

/// Whether an ECN echo keeps an acknowledgement from growing the window: "The sending TCP SHOULD NOT increase the
/// congestion window in response to the receipt of an ECN-Echo ACK packet" (RFC 3168 §6.1.2), whether or not that echo
/// reduced it.
///
/// While a time-out is repaired the echo is an old one: a retransmission bears no mark (§6.1.5), and only new data may
/// tell the receiver to end its echo (§6.1.2). Heeding it would hold the window at one segment until all is repaired.
#[inline]
pub fn echo_forbids_growth(feedback: &Feedback<'_>) -> bool {
    feedback.echoes.ce > 0 && feedback.recovery != Recovery::Timeout
}

/// A congestion window in segments, with its bounds and slow start threshold.
#[derive(Clone, Debug)]
pub struct WindowLaw {
    /// The congestion window, in segments; never below one, never above `max`.
    pub window: f64,
    /// The slow start threshold, in segments; infinite before the first loss unless configured.
    pub ssthresh: f64,
    /// The initial window, in segments.
    initial: f64,
    max: f64,
    segment: f64,
    counting: Counting,
    slow_start_limit: f64,
    halve: Halve,
    /// Window and threshold before the last reduction, while that may prove spurious.
    before: Option<(f64, f64)>,
}

impl WindowLaw {
    /// A window at its initial size. `slow_start_limit` is L of RFC 3465 §2.2, in segments.
    pub fn new(params: &ControllerParams, counting: Counting, slow_start_limit: f64, halve: Halve) -> Self {
        let segment = params.segment.as_f64().max(1.0);
        let max = (params.max_window.as_f64() / segment).max(1.0);
        let initial = (params.initial_window.as_f64() / segment).clamp(1.0, max);
        Self {
            window: initial,
            ssthresh: params.initial_ssthresh.map_or(f64::INFINITY, |bytes| bytes.as_f64() / segment),
            initial,
            max,
            segment,
            counting,
            slow_start_limit,
            halve,
            before: None,
        }
    }

    /// Remembers window and threshold before a loss or time-out reduces them.
    pub fn remember(&mut self) {
        self.before = Some((self.window, self.ssthresh));
    }

    /// The newest reduction was for a reason that stands: it is not taken back.
    pub fn forget(&mut self) {
        self.before = None;
    }

    /// Takes the remembered reduction back where the window is still below what it was (RFC 9438 §4.9.2; RFC 4015
    /// §3.2 restores the threshold likewise); whether it did.
    pub fn restore(&mut self) -> bool {
        let Some((window, ssthresh)) = self.before.take().filter(|(window, _)| self.window < *window) else {
            return false;
        };
        self.window = window;
        self.ssthresh = ssthresh;
        true
    }

    /// Nothing was sent for longer than a time-out: the window is at most the initial one, "RW = min(IW,cwnd)" (RFC 5681
    /// §4.1), and slow start leads back to the threshold.
    pub fn restart(&mut self) {
        self.before = None;
        self.window = self.window.min(self.initial);
    }

    /// The window in bytes: what a directive carries.
    #[inline]
    pub fn bytes(&self) -> Bytes {
        Bytes::new((self.window * self.segment) as u64)
    }

    /// One segment's bytes on the wire.
    #[inline]
    pub fn segment(&self) -> f64 {
        self.segment
    }

    /// Whether the window is below the slow start threshold (RFC 5681 §3.1).
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.window < self.ssthresh
    }

    /// Sets the window within its bounds.
    #[inline]
    pub fn set(&mut self, window: f64) {
        self.window = window.clamp(1.0, self.max);
    }

    /// Segments that a cumulative advance counts for in congestion avoidance.
    #[inline]
    pub fn counted(&self, advanced: Bytes) -> f64 {
        match self.counting {
            Counting::PerAck => 1.0,
            Counting::Bytes => self.segments(advanced),
        }
    }

    /// So many bytes in segments. A whole segment is by far the commonest case, and a division the dearest.
    #[inline]
    pub fn segments(&self, bytes: Bytes) -> f64 {
        let bytes = bytes.as_f64();
        if bytes == self.segment { 1.0 } else { bytes / self.segment }
    }

    /// One acknowledgement's growth in slow start: `min(N, SMSS)` (RFC 5681 equation 2), or `min(N, L · SMSS)` by
    /// byte counting (RFC 3465 §2.2; L is 1 while repairing after a time-out, §2.3).
    #[inline]
    pub fn slow_start(&mut self, advanced: Bytes, after_timeout: bool) {
        let limit = match self.counting {
            Counting::Bytes if !after_timeout => self.slow_start_limit,
            _ => 1.0,
        };
        self.set(self.window + self.segments(advanced).min(limit));
    }

    /// What a reduction starts from, in segments.
    #[inline]
    pub fn reduce_from(&self, feedback: &Feedback<'_>) -> f64 {
        match self.halve {
            // In recovery, what is not cumulatively acknowledged may be a multiple of what is in the network: a
            // time-out there must not raise the threshold above the window, or slow start overshoots for ever.
            Halve::Flight => (feedback.outstanding.as_f64() / self.segment).min(self.window),
            Halve::Window => self.window,
        }
    }
}
