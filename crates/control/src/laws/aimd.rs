//! Additive increase and multiplicative decrease with free factors: what Reno and the schemes have in common that differ from
//! it by how much they add and by how much they keep. The factors are each scheme's own; bounds, slow start and what a
//! reduction starts from are in `window.rs`.

use tailback_core::{Bytes, CongestionEvent, Cx, Feedback, Recovery};

use super::window::{Counting, Halve, WindowLaw, echo_forbids_growth};
use crate::parts::ControllerParams;

/// A window that answers congestion as RFC 5681 and RFC 3168 say, except for the factor.
#[derive(Clone, Debug)]
pub struct Aimd {
    /// The window, in segments.
    pub law: WindowLaw,
}

impl Aimd {
    /// A connection's start. Windows count bytes with L = 2 (RFC 3465), so that delayed acknowledgements slow nothing.
    pub fn new(params: &ControllerParams) -> Self {
        Self::of(WindowLaw::new(params, Counting::Bytes, 2.0, Halve::Flight))
    }

    /// A window of this bookkeeping.
    pub const fn of(law: WindowLaw) -> Self {
        Self { law }
    }

    /// Whether a batch may grow the window: new data is acknowledged, the window was used, nothing is being repaired
    /// and no echo forbids it.
    #[inline]
    pub fn may_grow(feedback: &Feedback<'_>) -> bool {
        feedback.window_limited
            && feedback.advanced > Bytes::ZERO
            && feedback.recovery != Recovery::Fast
            && !echo_forbids_growth(feedback)
    }

    /// Grows by slow start, or by `increase` segments per round trip.
    #[inline]
    pub fn grow(&mut self, feedback: &Feedback<'_>, increase: f64) {
        let law = &mut self.law;
        if law.in_slow_start() {
            law.slow_start(feedback.advanced, feedback.recovery == Recovery::Timeout);
        } else {
            law.set(law.window + feedback.gain * increase * law.counted(feedback.advanced) / law.window);
        }
    }

    /// Answers an event with a reduction to the part `kept` of what is in flight.
    pub fn on_event(&mut self, event: CongestionEvent, feedback: &Feedback<'_>, kept: f64, cx: &mut Cx<'_>) {
        let to = self.law.reduce_from(feedback) * kept;
        self.reduce_to(event, to, cx);
    }

    /// Answers an event with a reduction to `to` segments, whatever is in flight.
    pub fn reduce_to(&mut self, event: CongestionEvent, to: f64, cx: &mut Cx<'_>) {
        let law = &mut self.law;
        let threshold = to.max(2.0);
        match event {
            CongestionEvent::Loss => {
                law.remember();
                law.ssthresh = threshold;
                law.set(threshold.min(law.window));
            }
            // "The value of the congestion window is bounded below by a value of one MSS" (RFC 3168 §6.1.2): it must be able
            // to give way further than after a loss, which the retransmission timer follows up.
            CongestionEvent::Ecn => {
                law.forget();
                law.ssthresh = threshold;
                law.set(to.min(law.window));
            }
            CongestionEvent::Timeout { consecutive } => {
                // Of time-outs in a row the first is what would be taken back (RFC 4015 §3.2, `pipe_prev`).
                if consecutive <= 1 {
                    law.remember();
                    law.ssthresh = threshold;
                }
                law.set(1.0);
            }
            CongestionEvent::RecoveryEnd => {}
            CongestionEvent::Spurious => {
                law.restore();
            }
            CongestionEvent::Idle => law.restart(),
        }
        cx.note("ssthresh", law.ssthresh * law.segment());
    }
}
