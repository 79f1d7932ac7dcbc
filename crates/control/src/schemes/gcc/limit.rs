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

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 1 Mbit/s nothing was sent for ten seconds. At 100 kbit/s the budget is 32.5 kbit, and 20 kbit take it below a half.
    #[test]
    fn a_budget_is_that_of_the_present_rate() {
        let mut limit = Limit::default();
        for now in [0.0, 10.0] {
            limit.on_sent(now, 0.0, 1e6);
        }
        assert_eq!(limit.since(), Some(10.0));
        limit.on_sent(11.0, 26_000.0, 1e5);
        assert_eq!(limit.since(), Some(10.0), "65 kbit were to be had in a second");
        limit.on_sent(11.0, 20_000.0, 1e5);
        assert_eq!((limit.since(), limit.lately(11.0, 3.0)), (None, true));
    }

    #[test]
    fn a_lower_rate_has_a_smaller_budget_at_once() {
        let mut limit = Limit::default();
        for now in [0.0, 10.0] {
            limit.on_sent(now, 0.0, 1e6);
        }
        limit.on_sent(10.0, 20_000.0, 1e5);
        assert_eq!(limit.since(), None);
    }
}
