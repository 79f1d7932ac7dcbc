//! Rate and window of BBR version 1: what the model and recovery make of them (`bbr_set_pacing_rate` and `bbr_set_cwnd` in
//! Linux). States are in `mod.rs`.

use tailback_core::{DeliverySample, Recovery, Span};

use super::{Bbr1, HIGH_GAIN, LEAST_WINDOW, MARGIN, Mode};

impl Bbr1 {
    pub(super) fn set_rate(&mut self, smoothed: Option<Span>) {
        if let Some(smoothed) = smoothed.filter(|smoothed| !self.seen_rtt && !smoothed.is_zero()) {
            self.seen_rtt = true;
            self.rate = HIGH_GAIN * self.window * self.segment / smoothed.as_secs_f64();
        }
        let rate = self.pacing_gain * self.bandwidth() * MARGIN;
        if rate > 0.0 && (self.full.is_reached() || rate > self.rate) {
            self.rate = rate;
        }
    }

    pub(super) fn save_window(&mut self) {
        let repairing = self.recovery != Recovery::Open || self.mode == Mode::ProbeRtt;
        self.prior_window = if repairing { self.prior_window.max(self.window) } else { self.window };
    }

    /// What recovery makes of the window; whether that is all there is to say about it.
    fn recover(&mut self, sample: &DeliverySample, recovery: Recovery, acked: f64, in_flight: f64) -> bool {
        let lost = sample.newly_lost.as_f64() / self.segment;
        if lost > 0.0 {
            self.window = (self.window - lost).max(1.0);
        }
        let before = std::mem::replace(&mut self.recovery, recovery);
        if recovery == Recovery::Fast && before != Recovery::Fast {
            self.conserving = true;
            self.model.restart_round(sample.delivered);
            self.window = in_flight + acked;
        } else if before != Recovery::Open && recovery == Recovery::Open {
            self.window = self.window.max(self.prior_window);
            self.conserving = false;
        }
        if self.conserving {
            self.window = self.window.max(in_flight + acked);
        }
        self.conserving
    }

    pub(super) fn set_window(&mut self, sample: &DeliverySample, recovery: Recovery, in_flight: f64) {
        let acked = sample.newly_acked.as_f64() / self.segment;
        if acked > 0.0 && !self.recover(sample, recovery, acked, in_flight) {
            let rtt = self.model.min_rtt().unwrap_or(Span::ZERO).as_secs_f64();
            let products = (self.window_gain * self.bandwidth() * rtt / self.segment).ceil();
            let target = self.with_trains(products + self.model.aggregated(self.segment));
            let unknown = self.model.min_rtt().is_none();
            if self.full.is_reached() {
                self.window = (self.window + acked).min(target);
            } else if unknown
                || self.window < target
                || sample.delivered.as_f64() < self.initial * self.segment
            {
                self.window += acked;
            }
            self.window = self.window.max(LEAST_WINDOW);
        }
        self.window = self.window.min(self.most);
        if self.mode == Mode::ProbeRtt {
            self.window = self.window.min(LEAST_WINDOW);
        }
    }
}
