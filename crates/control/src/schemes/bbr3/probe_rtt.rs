//! ProbeRTT of BBR version 3 (draft-ietf-ccwg-bbr-06, §5.3.4): when it begins, how little it sends, and what follows. Round trip
//! times themselves are in `rtt.rs`.

use tailback_core::{Bytes, Cx, DeliverySample, Time};

use super::model::AckPhase;
use super::{Bbr3, LEAST_WINDOW, State};

impl Bbr3 {
    pub(super) fn probe_rtt(&mut self, now: Time, sample: &DeliverySample, in_flight: f64, cx: &mut Cx<'_>) {
        if self.state != State::ProbeRtt && self.trips.is_due() && !self.idle_restart {
            self.state = State::ProbeRtt;
            self.save();
            self.trips.enter();
            self.model.ack_phase = AckPhase::Stopping;
            self.model.rounds.restart(sample.delivered);
            self.model.rounds.limit_from(sample.delivered);
        }
        if self.state == State::ProbeRtt {
            self.model.rounds.limit_until(sample.delivered + Bytes::from_f64(in_flight));
            let low = in_flight <= self.probe_rtt_window();
            if self.trips.hold(now, low, self.model.rounds.begins) {
                self.model.rounds.restart(sample.delivered);
            }
            if self.trips.is_done(now) {
                self.leave_probe_rtt(now, sample.delivered, cx);
            }
        }
        self.idle_restart &= sample.newly_acked == Bytes::ZERO;
    }

    pub(super) fn probe_rtt_window(&self) -> f64 {
        let half = self.product().map_or(0.0, |product| State::ProbeRtt.gains().1 * product);
        half.max(LEAST_WINDOW * self.segment)
    }

    pub(super) fn leave_probe_rtt(&mut self, now: Time, delivered: Bytes, cx: &mut Cx<'_>) {
        self.trips.refresh(now);
        self.control.restore();
        self.model.bounds.reset_short();
        if self.model.is_full() {
            self.start_down(now, delivered, cx);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }
}
