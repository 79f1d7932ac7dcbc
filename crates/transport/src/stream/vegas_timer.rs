//! Vegas's retransmission: an early look at the oldest segment's age, by a timer without ticks or minimum. What Reno does
//! beside it is in `recovery.rs`; whether the window is cut is the controller's decision.
//!
//! Source: Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", 1995, §III-A. A segment
//! older than the time-out is retransmitted
//!
//! * at a duplicate acknowledgement, be it the first: a window too small for three of them need not wait for the timer;
//! * at the first fresh acknowledgement after a retransmission, this one's too: it was lost with the others, and no
//!   duplicates may come. The paper has a look at the second as well; the authors' code, and ns-2's after it, only where the
//!   first showed another loss, and so does this.
//!
//! The paper does not give the time-out. The authors' code, and ns-2's after it, take 17/16 of the smoothed round trip
//! time plus twice its variation, with the gains of RFC 6298, and lengthen it at each retransmission until the next
//! sample: by an eighth, or to twice where the segment had been retransmitted before.

use tailback_core::{Span, Time};

use super::ack::Samples;
use super::{LossRecovery, Own};

/// The timer of one connection.
#[derive(Clone, Debug, Default)]
pub(super) struct VegasTimer {
    /// Smoothed round trip time and its variation, in nanoseconds.
    smoothed: f64,
    variation: f64,
    /// None before a sample.
    timeout: Option<Span>,
    /// The next fresh acknowledgement is followed by a look at the oldest segment.
    pub(super) worried: bool,
}

/// No time-out grows beyond this.
const LONGEST: Span = Span::from_secs(60);

impl VegasTimer {
    fn sample(&mut self, rtt: Span) {
        let sample = rtt.as_nanos() as f64;
        if self.timeout.is_none() {
            self.smoothed = sample;
            self.variation = sample / 4.0;
        } else {
            let error = sample - self.smoothed;
            self.smoothed += error / 8.0;
            self.variation += (error.abs() - self.variation) / 4.0;
        }
        let timeout = (self.smoothed + 2.0 * self.variation) * 17.0 / 16.0;
        self.timeout = Some(Span::from_nanos(timeout as u64).min(LONGEST));
    }

    /// A segment leaves again; `before` says whether not for the first time.
    pub(super) fn retransmitted(&mut self, before: bool) {
        let factor = if before { 2.0 } else { 1.125 };
        self.timeout = self.timeout.map(|timeout| timeout.mul_f64(factor).min(LONGEST));
        self.worried = true;
    }
}

impl LossRecovery {
    /// Vegas's timer, where it runs.
    pub(super) fn vegas_timer(&mut self) -> Option<&mut VegasTimer> {
        match self.own.as_deref_mut() {
            Some(Own::Vegas(timer)) => Some(timer),
            _ => None,
        }
    }

    /// What an acknowledgement says of the round trip time, where Vegas's timer runs.
    pub(super) fn learn_finely(&mut self, now: Time, samples: &Samples) {
        if samples.any
            && !samples.ambiguous
            && let Some(timer) = self.vegas_timer()
        {
            timer.sample(now.since(samples.newest));
        }
    }

    /// Whether the oldest segment has been in the network for longer than Vegas's time-out.
    pub(super) fn is_overdue(&self, now: Time) -> bool {
        let Some(Own::Vegas(VegasTimer { timeout, .. })) = self.own.as_deref() else { return false };
        let (&Some(timeout), false) = (timeout, self.ring.is_empty() || self.forced) else { return false };
        let record = self.ring.get(self.ring.first());
        record.in_network() > 0 && now.since(record.sent_at()) >= timeout
    }

    /// Whether a fresh acknowledgement shows another segment to be lost with one that was retransmitted.
    pub(super) fn is_worried(&mut self, now: Time) -> bool {
        let worried = self.vegas_timer().is_some_and(|timer| std::mem::take(&mut timer.worried));
        worried && self.is_overdue(now)
    }
}
