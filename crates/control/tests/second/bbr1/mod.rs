//! BBR version 1, written a second time from what Linux does (`net/ipv4/tcp_bbr.c`), in whole packets as there, except for the
//! deviations that the scheme's head names.

use tailback_core::{CongestionEvent, DeliverySample, Feedback, Recovery, Sent, Span, Stream};

mod fates;
mod long_term;
mod most;

use self::long_term::LongTerm;
use self::most::Most;
use super::Second;
use super::wire::SEGMENT;

const HIGH: f64 = 2.885;
const MSS: f64 = SEGMENT as f64;
/// Times are whole nanoseconds: what differs by less is equal.
const TIE: f64 = 1e-10;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

#[expect(clippy::struct_excessive_bools, reason = "facts independent of each other, as in Linux")]
struct Bbr {
    draws: Stream,
    mode: Mode,
    cwnd: f64,
    prior_cwnd: f64,
    prev_recovery: Recovery,
    rate: f64,
    bw: Most,
    rounds: f64,
    next_round: f64,
    round_start: bool,
    conserve: bool,
    least: f64,
    least_stamp: f64,
    probe_done: Option<f64>,
    probe_round: bool,
    full: bool,
    full_bw: f64,
    full_count: u32,
    cycle: usize,
    cycle_stamp: f64,
    pacing_gain: f64,
    cwnd_gain: f64,
    seen_rtt: bool,
    idle_restart: bool,
    lt: LongTerm,
    epoch_stamp: f64,
    epoch_acked: f64,
    extra: [f64; 2],
    extra_index: usize,
    extra_rounds: u32,
    delivered: f64,
    lost: f64,
    /// What ProbeRTT takes for the application's limit, and which packets left under it.
    bubble: f64,
    in_bubble: Vec<bool>,
    timed_out: bool,
}

impl Bbr {
    fn new(seed: u64, now: f64) -> Self {
        Self {
            draws: Stream::new(seed, "controller"),
            mode: Mode::Startup,
            cwnd: 10.0,
            prior_cwnd: 0.0,
            prev_recovery: Recovery::Open,
            rate: 0.99 * HIGH * 10.0 / 1e-3,
            bw: Most::default(),
            rounds: 0.0,
            next_round: 0.0,
            round_start: false,
            conserve: false,
            least: f64::INFINITY,
            least_stamp: now,
            probe_done: None,
            probe_round: false,
            full: false,
            full_bw: 0.0,
            full_count: 0,
            cycle: 0,
            cycle_stamp: 0.0,
            pacing_gain: HIGH,
            cwnd_gain: HIGH,
            seen_rtt: false,
            idle_restart: false,
            lt: LongTerm::default(),
            epoch_stamp: now,
            epoch_acked: 0.0,
            extra: [0.0; 2],
            extra_index: 0,
            extra_rounds: 0,
            delivered: 0.0,
            lost: 0.0,
            bubble: 0.0,
            in_bubble: Vec::new(),
            timed_out: false,
        }
    }

    fn most(&self) -> f64 {
        self.bw.get()
    }

    fn estimate(&self) -> f64 {
        if self.lt.in_use { self.lt.bw } else { self.most() }
    }

    fn pace(&mut self, bw: f64, gain: f64, srtt: Option<f64>) {
        let rate = bw * gain * 0.99;
        if let (false, Some(srtt)) = (self.seen_rtt, srtt) {
            self.seen_rtt = true;
            self.rate = 0.99 * self.cwnd / srtt * HIGH;
        }
        if rate > 0.0 && (self.full || rate > self.rate) {
            self.rate = rate;
        }
    }

    fn train(&self) -> f64 {
        let bytes = (self.rate * MSS / 1024.0).min(65_536.0);
        let least = if self.rate * MSS * 8.0 < 1.2e6 { 1.0 } else { 2.0 };
        (bytes / MSS).floor().max(least)
    }

    fn product(&self, bw: f64, gain: f64) -> f64 {
        if self.least.is_infinite() { 10.0 } else { (bw * self.least * gain - 1e-9).ceil() }
    }

    fn budget(&self, packets: f64) -> f64 {
        let even = (0.5 * (packets + 3.0 * self.train())).ceil() * 2.0;
        if self.mode == Mode::ProbeBw && self.cycle == 0 { even + 2.0 } else { even }
    }

    fn target(&self, bw: f64, gain: f64) -> f64 {
        self.budget(self.product(bw, gain))
    }

    fn save(&mut self) {
        let cut = self.prev_recovery != Recovery::Open || self.mode == Mode::ProbeRtt;
        self.prior_cwnd = if cut { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    fn advance_cycle(&mut self, now: f64) {
        self.cycle = (self.cycle + 1) % 8;
        self.cycle_stamp = now;
    }

    fn begin_cycle(&mut self, now: f64) {
        self.mode = Mode::ProbeBw;
        self.cycle = 7 - self.draws.below(7) as usize;
        self.advance_cycle(now);
    }

    fn probe_rtt_done(&mut self, now: f64) {
        if self.probe_done.is_none_or(|done| now <= done + TIE) {
            return;
        }
        self.least_stamp = now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.full { self.begin_cycle(now) } else { self.mode = Mode::Startup }
    }

    fn min_rtt(&mut self, now: f64, rtt: Option<f64>, in_flight: f64) {
        let expired = now > self.least_stamp + 10.0 + TIE;
        if let Some(rtt) = rtt.filter(|rtt| *rtt < self.least - TIE || expired) {
            (self.least, self.least_stamp) = (rtt, now);
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save();
            self.probe_done = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.bubble = (self.delivered + in_flight).max(1.0);
            if self.probe_done.is_none() && in_flight <= 4.0 {
                (self.probe_done, self.probe_round) = (Some(now + 0.2), false);
                self.next_round = self.delivered;
            } else if self.probe_done.is_some() {
                self.probe_round |= self.round_start;
                if self.probe_round {
                    self.probe_rtt_done(now);
                }
            }
        }
    }

    fn gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH, HIGH),
            Mode::Drain => (1.0 / HIGH, HIGH),
            Mode::ProbeBw if self.lt.in_use => (1.0, 2.0),
            Mode::ProbeBw => ([1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0][self.cycle], 2.0),
            Mode::ProbeRtt => (1.0, 1.0),
        };
    }

    /// What Linux does when its state of congestion changes; whether there is nothing else to hear.
    fn event_is_all(&mut self, now: f64, event: Option<CongestionEvent>, in_flight: f64) -> bool {
        match event {
            Some(CongestionEvent::Loss) => self.save(),
            Some(CongestionEvent::Timeout { consecutive }) => {
                if consecutive == 1 {
                    self.save();
                }
                self.prev_recovery = Recovery::Timeout;
                self.conserve = false;
                self.full_bw = 0.0;
                self.timed_out = true;
                self.cwnd = in_flight + 1.0;
                return true;
            }
            Some(CongestionEvent::Spurious) => {
                (self.full_bw, self.full_count) = (0.0, 0);
                self.lt_reset(now);
                self.cwnd = self.cwnd.max(self.prior_cwnd);
                return true;
            }
            _ => {}
        }
        false
    }

    /// `bbr_update_bw`.
    fn bandwidth(&mut self, now: f64, sample: &DeliverySample, losses: f64, app_limited: bool) {
        self.round_start = false;
        let Some(rate) = sample.rate else { return };
        if sample.prior_delivered.as_f64() / MSS >= self.next_round {
            self.next_round = self.delivered;
            self.rounds += 1.0;
            self.round_start = true;
            self.conserve = false;
        }
        let lossy = losses > 0.0 || std::mem::take(&mut self.timed_out);
        self.long_term(now, lossy, app_limited);
        let bw = rate.bits_per_sec() as f64 / 8.0 / MSS;
        if !app_limited || bw >= self.most() {
            self.bw.add(self.rounds, bw);
        }
    }

    /// `bbr_update_cycle_phase`; `before` were in flight before this acknowledgement.
    fn cycle_phase(&mut self, now: f64, before: f64, losses: f64) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let long = now - self.cycle_stamp > self.least + TIE;
        let next = if self.pacing_gain == 1.0 {
            long
        } else if self.pacing_gain > 1.0 {
            long && (losses > 0.0 || before >= self.target(self.most(), self.pacing_gain))
        } else {
            long || before <= self.target(self.most(), 1.0)
        };
        if next {
            self.advance_cycle(now);
        }
    }

    /// `bbr_check_full_bw_reached`.
    fn full_pipe(&mut self, app_limited: bool) {
        if self.full || !self.round_start || app_limited {
            return;
        }
        if self.most() >= self.full_bw * 1.25 {
            (self.full_bw, self.full_count) = (self.most(), 0);
        } else {
            self.full_count += 1;
            self.full = self.full_count >= 3;
        }
    }

    fn aggregation(&mut self, now: f64, acked: f64) {
        if self.round_start {
            self.extra_rounds += 1;
            if self.extra_rounds >= 5 {
                self.extra_rounds = 0;
                self.extra_index = 1 - self.extra_index;
                self.extra[self.extra_index] = 0.0;
            }
        }
        let mut expected = (self.estimate() * (now - self.epoch_stamp) + 1e-9).floor();
        if self.epoch_acked <= expected || self.epoch_acked + acked >= f64::from(1 << 20) {
            (self.epoch_acked, self.epoch_stamp, expected) = (0.0, now, 0.0);
        }
        self.epoch_acked += acked;
        let extra = (self.epoch_acked - expected).min(self.cwnd);
        self.extra[self.extra_index] = self.extra[self.extra_index].max(extra);
    }

    fn set_cwnd(&mut self, acked: f64, losses: f64, in_flight: f64, recovery: Recovery) {
        if acked > 0.0 {
            let mut cwnd = self.cwnd;
            if losses > 0.0 {
                cwnd = (cwnd - losses).max(1.0);
            }
            if recovery == Recovery::Fast && self.prev_recovery != Recovery::Fast {
                self.conserve = true;
                self.next_round = self.delivered;
                cwnd = in_flight + acked;
            } else if self.prev_recovery != Recovery::Open && recovery == Recovery::Open {
                cwnd = cwnd.max(self.prior_cwnd);
                self.conserve = false;
            }
            self.prev_recovery = recovery;
            if self.conserve {
                cwnd = cwnd.max(in_flight + acked);
            } else {
                let bw = self.estimate();
                let mut target = self.product(bw, self.cwnd_gain);
                if self.full {
                    let extra = self.extra[0].max(self.extra[1]);
                    target += extra.min((self.estimate() * 0.1 + 1e-9).floor());
                }
                let target = self.budget(target);
                if self.full {
                    cwnd = (cwnd + acked).min(target);
                } else if cwnd < target || self.delivered < 10.0 {
                    cwnd += acked;
                }
                cwnd = cwnd.max(4.0);
            }
            self.cwnd = cwnd;
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(4.0);
        }
    }
}

impl Second for Bbr {
    fn sent(&mut self, now: f64, sent: &Sent) {
        if sent.in_flight == sent.size && sent.app_limited {
            self.idle_restart = true;
            (self.epoch_stamp, self.epoch_acked) = (now, 0.0);
            match self.mode {
                Mode::ProbeBw => self.pace(self.estimate(), 1.0, None),
                Mode::ProbeRtt => self.probe_rtt_done(now),
                _ => {}
            }
        }
        self.in_bubble.push(self.bubble > 0.0);
    }

    fn heard(&mut self, now: f64, f: &Feedback<'_>) {
        let in_flight = f.in_flight.as_f64() / MSS;
        if self.event_is_all(now, f.event, in_flight) {
            return;
        }
        let Some(sample) = f.delivery.filter(|sample| sample.newly_acked.get() > 0) else { return };
        self.delivered = sample.delivered.as_f64() / MSS;
        self.lost = sample.lost.as_f64() / MSS;
        let (acked, losses) = (sample.newly_acked.as_f64() / MSS, sample.newly_lost.as_f64() / MSS);
        if self.bubble > 0.0 && self.delivered > self.bubble {
            self.bubble = 0.0;
        }
        let newest = f.acked.iter().max_by_key(|packet| (packet.sent_at, packet.number));
        let app_limited =
            sample.app_limited || newest.is_some_and(|newest| self.in_bubble[newest.number as usize]);
        self.bandwidth(now, sample, losses, app_limited);
        self.aggregation(now, acked);
        self.cycle_phase(now, in_flight + acked + losses, losses);
        self.full_pipe(app_limited);
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && in_flight <= self.target(self.most(), 1.0) {
            self.begin_cycle(now);
        }
        self.min_rtt(now, sample.rtt.map(Span::as_secs_f64), in_flight);
        self.idle_restart = false;
        self.gains();
        self.pace(self.estimate(), self.pacing_gain, f.rtt.map(|rtt| rtt.smoothed.as_secs_f64()));
        self.set_cwnd(acked, losses, in_flight, f.recovery);
    }

    fn window(&self) -> f64 {
        self.cwnd
    }

    fn rate(&self) -> Option<f64> {
        Some(self.rate * MSS * 8.0)
    }

    fn state(&self) -> String {
        format!(
            "{:?} {} rate {:.0} bw {:.3} full {} {} least {:.6} prior {} conserve {} rounds {} {} extra {:?} train {} lt {:?}",
            self.mode,
            self.cycle,
            self.rate * MSS * 8.0,
            self.most(),
            self.full,
            self.full_count,
            self.least,
            self.prior_cwnd,
            self.conserve,
            self.rounds,
            self.round_start,
            self.extra,
            self.train(),
            self.lt
        )
    }
}
