//! Whether the application sends less than the rate allows. Who asks: probes, and the loss part.
//!
//! Source: libwebrtc (2025), `alr_detector`: less than 0.65 of the rate is sent, by a budget of half a second. Rates are bits
//! per second, times seconds.

/// The budget's length, the part of the rate, and where the limit begins and ends.
const BUDGET: f64 = 0.5;
const USED: f64 = 0.65;
const LEVELS: (f64, f64) = (0.8, 0.5);

/// The application's limit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limit {
    /// Bits that could have been sent more.
    budget: f64,
    spent: Option<f64>,
    since: Option<f64>,
    ended: Option<f64>,
}

impl Limit {
    /// So many bits leave, where the rate is this.
    pub(super) fn on_sent(&mut self, now: f64, bits: f64, rate: f64) {
        let Some(spent) = self.spent.replace(now) else { return };
        let full = BUDGET * USED * rate;
        self.budget = (self.budget.clamp(-full, full) - bits).max(-full);
        self.budget = (self.budget + USED * rate * (now - spent)).min(full);
        if self.since.is_none() && self.budget > LEVELS.0 * full {
            self.since = Some(now);
        } else if self.since.is_some() && self.budget < LEVELS.1 * full {
            (self.since, self.ended) = (None, Some(now));
        }
    }

    /// Since when the application limits the sender, if it does.
    pub(super) const fn since(&self) -> Option<f64> {
        self.since
    }

    /// Whether it does, or did so within the last `seconds`.
    pub(super) fn lately(&self, now: f64, seconds: f64) -> bool {
        self.since.is_some() || self.ended.is_some_and(|ended| now - ended < seconds)
    }
}
