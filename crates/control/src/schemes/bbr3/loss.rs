//! What losses, time-outs and their being spurious do to BBR version 3 (draft-ietf-ccwg-bbr-06, §5.3.1.3, §5.5.10, §5.5.11 and
//! §5.6.4). What they do to the short-term bounds is in `model.rs`.

use tailback_core::{CongestionEvent, Cx, DeliverySample, Feedback, Lost, Recovery, Time};

use super::{Bbr3, LOSS, PIECES, State, Undo};

impl Bbr3 {
    /// Each lost packet (`BBRHandleLostPacket`).
    pub(super) fn take_losses(&mut self, now: Time, lost: &[Lost], sample: &DeliverySample, cx: &mut Cx<'_>) {
        if sample.losses.is_empty() {
            return;
        }
        for lost in &sample.losses {
            self.model.note_loss(sample.delivered);
            let (flown, gone, size) = (lost.in_flight.as_f64(), lost.lost_since.as_f64(), lost.size.as_f64());
            if self.model.probing_samples && gone > LOSS * flown {
                let at = volume_at_loss(flown, gone, size);
                self.too_high(now, at, lost.app_limited, sample.delivered, cx);
            }
        }
        self.pieces.take(lost);
    }

    /// Startup ends by loss where a whole round of recovery lost too much, in enough pieces.
    pub(super) fn check_startup_loss(&mut self, sample: &DeliverySample) {
        if !self.model.loss_round_start {
            return;
        }
        let pieces = std::mem::take(&mut self.pieces).count;
        let recovering = self.recovering_from.is_some_and(|from| sample.prior_delivered >= from);
        let heavy = sample.lost_since.as_f64() > LOSS * sample.prior_in_flight.as_f64() && pieces >= PIECES;
        if self.state == State::Startup && !self.model.is_full() && recovering && heavy {
            self.leave_by_loss();
            self.model.fill();
            let product = self.product().unwrap_or(0.0);
            self.model.bounds.inflight_long = product.max(self.model.inflight_latest);
        }
    }

    pub(super) fn on_event(&mut self, event: CongestionEvent, feedback: &Feedback<'_>) {
        match event {
            CongestionEvent::Loss => {
                self.keep();
                let delivered = feedback.delivery.map_or(self.model.delivered(), |sample| sample.delivered);
                self.recovering_from = Some(delivered);
            }
            CongestionEvent::Timeout { consecutive } => {
                self.recovering_from = None;
                if consecutive <= 1 {
                    self.keep();
                }
                self.control.time_out(feedback.in_flight.as_f64());
            }
            CongestionEvent::RecoveryEnd => self.recovering_from = None,
            CongestionEvent::Spurious => self.take_back(),
            CongestionEvent::Ecn | CongestionEvent::Idle => {}
        }
    }

    /// `BBRSaveCwnd`: neither a recovery nor ProbeRTT may cut what is remembered.
    pub(super) fn save(&mut self) {
        self.control.save(self.recovery != Recovery::Open || self.state == State::ProbeRtt);
    }

    /// A recovery begins (`BBRSaveStateUponLoss`).
    fn keep(&mut self) {
        self.save();
        self.undo = Some(Undo { left: None, bounds: self.model.bounds });
    }

    /// Its losses end the present state.
    pub(super) fn leave_by_loss(&mut self) {
        if let Some(undo) = &mut self.undo {
            undo.left = Some(self.state);
        }
    }

    /// The recovery was for nothing (`BBRHandleSpuriousLossDetection`).
    fn take_back(&mut self) {
        self.recovering_from = None;
        self.control.restore();
        let Some(undo) = self.undo.take() else { return };
        self.model.undo(&undo.bounds);
        let probes_rtt = self.state == State::ProbeRtt;
        match undo.left {
            Some(State::Startup) if self.state != State::Startup => {
                self.model.empty();
                self.state = if probes_rtt { self.state } else { State::Startup };
            }
            Some(State::Up) if self.state != State::Up && !probes_rtt => {
                self.start_refill(self.model.delivered());
            }
            _ => {}
        }
    }
}

/// Pieces of lost data in the present round of loss: packets in a row are one, in however many batches they are found.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pieces {
    count: u32,
    next: Option<u64>,
}

impl Pieces {
    fn take(&mut self, lost: &[Lost]) {
        for lost in lost {
            self.count = self.count.saturating_add(u32::from(self.next != Some(lost.number)));
            self.next = lost.number.checked_add(1);
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
    use tailback_core::Bytes;

    use super::*;
    use crate::parts::ControllerParams;

    /// s2n-quic's vectors: packets of 1200 bytes.
    #[test]
    fn the_volume_at_which_loss_crossed_the_threshold() {
        for (flown, lost, expected) in [(3000.0, 1210.0, 1826.53), (3000.0, 3000.0, 1800.0)] {
            let found = volume_at_loss(flown, lost, 1200.0);
            assert!((found - expected).abs() < 0.01, "{found}, not {expected}");
        }
    }

    fn new() -> Bbr3 {
        Bbr3::new(&ControllerParams::unlimited(Bytes::new(1200), 10))
    }

    /// At the end of a round of loss: so many pieces, bytes lost of 10 000 in flight, and bytes delivered when the packet left.
    fn ends_startup(bbr: &mut Bbr3, pieces: u32, lost: u64, prior: u64) -> bool {
        bbr.model.loss_round_start = true;
        bbr.pieces.count = pieces;
        bbr.check_startup_loss(&DeliverySample {
            prior_delivered: Bytes::new(prior),
            prior_in_flight: Bytes::new(10_000),
            lost_since: Bytes::new(lost),
            ..DeliverySample::default()
        });
        bbr.model.is_full()
    }

    #[test]
    fn startup_ends_by_losses_of_a_whole_round_of_fast_recovery() {
        let mut bbr = new();
        bbr.recovering_from = Some(Bytes::new(5000));
        assert!(!ends_startup(&mut bbr, 5, 900, 5000), "too few pieces");
        assert!(!ends_startup(&mut bbr, 6, 200, 5000), "no more than 2 %");
        assert!(!ends_startup(&mut bbr, 6, 900, 4999), "not a whole round");
        bbr.on_event(CongestionEvent::Timeout { consecutive: 1 }, &Feedback::empty());
        assert!(!ends_startup(&mut bbr, 6, 900, 5000), "after a time-out");
        bbr.on_event(CongestionEvent::Loss, &Feedback::empty());
        bbr.model.inflight_latest = 8000.0;
        assert!(ends_startup(&mut bbr, 6, 201, 5000));
        assert_eq!(
            bbr.model.bounds.inflight_long, 8000.0,
            "what flew in the round, where the product is less"
        );
    }

    #[test]
    fn what_is_lost_in_a_row_is_one_piece() {
        let lost = |numbers: &[u64]| -> Vec<Lost> {
            let one =
                |number: &u64| Lost { number: *number, size: Bytes::new(1200), sent_at: Time::ZERO, tag: 0 };
            numbers.iter().map(one).collect()
        };
        let mut pieces = Pieces::default();
        pieces.take(&lost(&[3, 4, 7, 9]));
        pieces.take(&lost(&[10, 12]));
        assert_eq!(pieces.count, 4);
    }

    /// Losses that were none ended Startup: it goes on, after ProbeRTT where that has begun. Nothing else that ended does.
    #[test]
    fn a_spurious_recovery_gives_back_the_state_that_it_ended() {
        for (left, state, then, is_full) in [
            (Some(State::Startup), State::Drain, State::Startup, false),
            (Some(State::Startup), State::ProbeRtt, State::ProbeRtt, false),
            (Some(State::Up), State::Down, State::Refill, true),
            (Some(State::Up), State::ProbeRtt, State::ProbeRtt, true),
            (None, State::Drain, State::Drain, true),
        ] {
            let mut bbr = new();
            bbr.model.fill();
            bbr.state = state;
            bbr.undo = Some(Undo { left, bounds: bbr.model.bounds });
            bbr.take_back();
            assert_eq!((bbr.state, bbr.model.is_full()), (then, is_full), "{left:?} {state:?}");
        }
    }
}
