//! The states of BBR, version 1: what leads from one to the next, and the gains of each. When they are looked at, and the order,
//! is `mod.rs`'s business.

use tailback_core::{Bytes, Cx, DeliverySample, Span, Time};

use super::{Bbr1, HIGH_GAIN, LEAST_WINDOW};

/// Gains of the phases of ProbeBW.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// The window's gain in ProbeBW.
const WINDOW_GAIN: f64 = 2.0;
/// How long ProbeRTT lasts at least.
const PROBE_RTT: Span = Span::from_millis(200);

/// What BBR does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Looks for the rate by doubling.
    Startup,
    /// Empties the queue that this made.
    Drain,
    /// Cycles around the rate.
    ProbeBw,
    /// Empties the pipe to see its round trip time.
    ProbeRtt,
}

impl Bbr1 {
    /// Whether ProbeBW looks for more.
    pub(super) fn is_rising(&self) -> bool {
        self.mode == Mode::ProbeBw && self.phase == 0
    }

    pub(super) fn cycle(&mut self, now: Time, sample: &DeliverySample, in_flight: Bytes) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        // Before this batch.
        let prior_in_flight =
            || self.packets(in_flight) + self.packets(sample.newly_acked + sample.newly_lost);
        let whole = self.model.min_rtt().is_some_and(|rtt| now.since(self.phase_began) > rtt);
        let gain = self.pacing_gain;
        let next = if gain > 1.0 {
            let lost = sample.newly_lost > Bytes::ZERO;
            whole && (lost || prior_in_flight() >= self.target(self.model.bandwidth(), gain))
        } else if gain < 1.0 {
            whole || prior_in_flight() <= self.target(self.model.bandwidth(), 1.0)
        } else {
            whole
        };
        if next {
            self.advance(now);
        }
    }

    fn advance(&mut self, now: Time) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_began = now;
    }

    pub(super) fn enter_probe_bw(&mut self, now: Time, cx: &mut Cx<'_>) {
        self.mode = Mode::ProbeBw;
        // Any phase but 0.75, which is what would follow number 0.
        self.phase = CYCLE.len() - 1 - cx.rng.below(CYCLE.len() as u64 - 1) as usize;
        self.advance(now);
    }

    pub(super) fn leave_probe_rtt(&mut self, now: Time, cx: &mut Cx<'_>) {
        self.model.refresh_min_rtt(now);
        self.window = self.window.max(self.prior_window);
        if self.full.is_reached() {
            self.enter_probe_bw(now, cx);
        } else {
            self.mode = Mode::Startup;
        }
    }

    pub(super) fn drain(&mut self, now: Time, in_flight: Bytes, cx: &mut Cx<'_>) {
        if self.mode == Mode::Startup && self.full.is_reached() {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && self.packets(in_flight) <= self.target(self.model.bandwidth(), 1.0) {
            self.enter_probe_bw(now, cx);
        }
    }

    pub(super) fn probe_rtt(
        &mut self,
        now: Time,
        sample: &DeliverySample,
        in_flight: Bytes,
        expired: bool,
        cx: &mut Cx<'_>,
    ) {
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_window();
            self.probe_rtt_done = None;
            self.model.rounds.limit_from(sample.delivered);
        }
        if self.mode == Mode::ProbeRtt {
            let in_flight = self.packets(in_flight);
            let flying = Bytes::from_f64(in_flight * self.segment);
            self.model.rounds.limit_until(sample.delivered + flying);
            match self.probe_rtt_done {
                None if in_flight <= LEAST_WINDOW => {
                    self.probe_rtt_done = Some(now + PROBE_RTT);
                    self.probe_rtt_round = false;
                    self.model.rounds.restart(sample.delivered);
                }
                None => {}
                Some(done) => {
                    self.probe_rtt_round |= self.model.rounds.begins;
                    if self.probe_rtt_round && now > done {
                        self.leave_probe_rtt(now, cx);
                    }
                }
            }
        }
        if sample.newly_acked > Bytes::ZERO {
            self.idle_restart = false;
        }
    }

    pub(super) fn set_gains(&mut self) {
        (self.pacing_gain, self.window_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (1.0 / HIGH_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policed().is_some() => (1.0, WINDOW_GAIN),
            Mode::ProbeBw => (CYCLE[self.phase], WINDOW_GAIN),
            Mode::ProbeRtt => (1.0, 1.0),
        };
    }
}
