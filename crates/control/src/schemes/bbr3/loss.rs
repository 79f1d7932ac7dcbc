//! What losses, time-outs and their being spurious do to BBR version 3 (draft-ietf-ccwg-bbr-06, §5.5.10 and §5.6.4). What they do
//! to the short-term bounds is in `model.rs`.

use tailback_core::{CongestionEvent, Cx, DeliverySample, Time};

use super::{Bbr3, LOSS, PIECES, State, Undo};

impl Bbr3 {
    /// Each lost packet (`BBRHandleLostPacket`).
    pub(super) fn take_losses(&mut self, now: Time, sample: &DeliverySample, cx: &mut Cx<'_>) {
        if sample.losses.is_empty() {
            return;
        }
        for lost in &sample.losses {
            self.model.note_loss(sample.delivered);
            self.lost_in_round += lost.size.as_f64();
            let (flown, gone, size) = (lost.in_flight.as_f64(), lost.lost_since.as_f64(), lost.size.as_f64());
            if self.model.probing_samples && gone > LOSS * flown {
                let at = volume_at_loss(flown, gone, size);
                self.too_high(now, at, lost.app_limited, sample.delivered, cx);
            }
        }
        // One piece per batch that finds any: what is lost in a row is found together.
        self.pieces += 1;
    }

    /// Startup ends by loss where a whole round of recovery lost too much, in enough pieces.
    pub(super) fn check_startup_loss(&mut self, sample: &DeliverySample) {
        if !self.model.loss_round_start {
            return;
        }
        let recovering = self.recovery_round.is_some_and(|round| self.model.rounds.count > round);
        let flown = sample.prior_in_flight.as_f64();
        let heavy = self.lost_in_round > LOSS * flown && self.pieces >= PIECES;
        if self.state == State::Startup && recovering && heavy {
            self.model.fill();
            let product = self.product().unwrap_or(0.0);
            self.model.bounds.inflight_long = product.max(self.model.inflight_latest);
        }
        (self.pieces, self.lost_in_round) = (0, 0.0);
    }

    pub(super) fn on_event(&mut self, event: CongestionEvent, in_flight: f64) {
        match event {
            CongestionEvent::Loss => {
                self.control.save();
                self.keep();
                self.recovery_round = Some(self.model.rounds.count);
            }
            CongestionEvent::Timeout { consecutive } => {
                if consecutive <= 1 {
                    self.control.save();
                    self.keep();
                }
                self.control.time_out(in_flight);
            }
            CongestionEvent::RecoveryEnd => {
                self.recovery_round = None;
                self.control.restore();
            }
            CongestionEvent::Spurious => self.take_back(),
            CongestionEvent::Ecn | CongestionEvent::Idle => {}
        }
    }

    fn keep(&mut self) {
        self.undo = Some(Undo { state: self.state, bounds: self.model.bounds });
    }

    /// The recovery was for nothing (`BBRHandleSpuriousLossDetection`).
    fn take_back(&mut self) {
        self.recovery_round = None;
        self.control.restore();
        let Some(undo) = self.undo.take() else { return };
        self.model.undo(&undo.bounds);
        if self.state == State::ProbeRtt || self.state == undo.state {
            return;
        }
        if undo.state == State::Startup {
            self.model.empty();
            self.state = State::Startup;
        } else if undo.state == State::Up {
            self.start_refill(self.model.delivered());
        }
    }
}

/// The volume in flight at which loss crossed the threshold, before the packet of `size` that was lost then
/// (`BBRInflightAtLoss`).
fn volume_at_loss(flown: f64, lost: f64, size: f64) -> f64 {
    let (flown, lost) = (flown - size, lost - size);
    flown + ((LOSS * flown - lost) / (1.0 - LOSS)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// s2n-quic's vectors: packets of 1200 bytes.
    #[test]
    fn the_volume_at_which_loss_crossed_the_threshold() {
        for (flown, lost, expected) in [(3000.0, 1210.0, 1826.53), (3000.0, 3000.0, 1800.0)] {
            let found = volume_at_loss(flown, lost, 1200.0);
            assert!((found - expected).abs() < 0.01, "{found}, not {expected}");
        }
    }
}
