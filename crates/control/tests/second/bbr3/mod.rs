//! BBR version 3, written a second time from draft-ietf-ccwg-bbr-06 (as at commit 4ce5e87 of its repository), §5, with its
//! contradictions decided as the head of the scheme decides them. Known before: that head, the constants and what the shared
//! parts are for; the code of the law was read after two trials, to judge where both differed. Amounts in bytes, rates in bytes
//! per second.

use std::collections::HashMap;

use tailback_core::{CongestionEvent, DeliverySample, Feedback, Recovery, Sent, Span, Stream};

mod cycle;
mod fates;
mod losses;
mod model;
mod trips;

use super::Second;
use super::wire::SEGMENT;

const SMSS: f64 = SEGMENT as f64;
const INITIAL: f64 = 10.0 * SMSS;
const LEAST: f64 = 4.0 * SMSS;
const LOSS: f64 = 0.02;
const BETA: f64 = 0.7;
const NEVER: f64 = f64::INFINITY;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Acks {
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// What a batch says, as the draft names it.
#[derive(Clone, Copy, Debug, Default)]
struct Rs {
    rate: f64,
    delivered: f64,
    prior: f64,
    acked: f64,
    lost: f64,
    tx_in_flight: f64,
    limited: bool,
    rtt: Option<f64>,
}

#[derive(Clone, Copy, Debug)]
struct Saved {
    from: Option<Mode>,
    bw: f64,
    short: f64,
    long: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct FullBw {
    bw: f64,
    count: u32,
    now: bool,
}

#[expect(clippy::struct_excessive_bools, reason = "facts independent of each other, as in the draft")]
struct Bbr {
    draws: Stream,
    mode: Mode,
    cwnd: f64,
    prior_cwnd: f64,
    recovery: Recovery,
    rate: f64,
    seen_rtt: bool,
    rs: Rs,
    /// The window was full in the present round, and in the last one.
    full_window: [bool; 2],
    // Model.
    max_bw: [f64; 2],
    bw_short: f64,
    short: f64,
    long: f64,
    bw_latest: f64,
    latest: f64,
    delivered: f64,
    extra_start: f64,
    extra_delivered: f64,
    extra: Vec<(u64, f64)>,
    // Rounds.
    next_round: f64,
    round_start: bool,
    rounds: u64,
    loss_round: f64,
    loss_round_start: bool,
    loss_in_round: bool,
    pieces: u32,
    last_lost: Option<u64>,
    recovering_from: Option<f64>,
    // Full pipe.
    full: FullBw,
    full_reached: bool,
    drain_began: u64,
    // The cycle.
    acks: Acks,
    probe_sample: bool,
    too_high: bool,
    cautious: bool,
    rounds_since: u64,
    wait: f64,
    cycle: f64,
    up_acked: f64,
    up_every: f64,
    up_rounds: i32,
    // Round trip times.
    min_rtt: f64,
    min_rtt_stamp: f64,
    probe_min: f64,
    probe_min_stamp: Option<f64>,
    expired: bool,
    done: Option<f64>,
    round_done: bool,
    idle: bool,
    saved: Saved,
    /// What ProbeRTT takes for the application's limit, and which packets left under it.
    bubble: f64,
    in_bubble: HashMap<u64, bool>,
}

impl Bbr {
    fn new(seed: u64, now: f64) -> Self {
        Self {
            draws: Stream::new(seed, "controller"),
            mode: Mode::Startup,
            cwnd: INITIAL,
            prior_cwnd: 0.0,
            recovery: Recovery::Open,
            rate: 2.77 * INITIAL / 1e-3,
            seen_rtt: false,
            rs: Rs::default(),
            full_window: [false; 2],
            max_bw: [0.0; 2],
            bw_short: NEVER,
            short: NEVER,
            long: NEVER,
            bw_latest: 0.0,
            latest: 0.0,
            delivered: 0.0,
            extra_start: now,
            extra_delivered: 0.0,
            extra: Vec::new(),
            next_round: 0.0,
            round_start: false,
            rounds: 0,
            loss_round: 0.0,
            loss_round_start: false,
            loss_in_round: false,
            pieces: 0,
            last_lost: None,
            recovering_from: None,
            full: FullBw::default(),
            full_reached: false,
            drain_began: 0,
            acks: Acks::Init,
            probe_sample: false,
            too_high: false,
            cautious: false,
            rounds_since: 0,
            wait: 0.0,
            cycle: 0.0,
            up_acked: 0.0,
            up_every: NEVER,
            up_rounds: 0,
            min_rtt: NEVER,
            min_rtt_stamp: now,
            probe_min: NEVER,
            probe_min_stamp: None,
            expired: false,
            done: None,
            round_done: false,
            idle: false,
            saved: Saved { from: None, bw: 0.0, short: 0.0, long: 0.0 },
            bubble: 0.0,
            in_bubble: HashMap::new(),
        }
    }

    fn gains(&self) -> (f64, f64) {
        match self.mode {
            Mode::Startup => (2.77, 2.0),
            Mode::Drain => (0.5, 2.0),
            Mode::Down => (0.9, 2.0),
            Mode::Cruise | Mode::Refill => (1.0, 2.0),
            Mode::Up => (1.25, 2.25),
            Mode::ProbeRtt => (1.0, 0.5),
        }
    }

    fn cycles(&self) -> bool {
        matches!(self.mode, Mode::Down | Mode::Cruise | Mode::Refill | Mode::Up)
    }

    fn probes(&self) -> bool {
        matches!(self.mode, Mode::Startup | Mode::Refill | Mode::Up)
    }

    fn most_bw(&self) -> f64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    /// With the newest sample in it: in the draft's order that of the acknowledgement before.
    fn bw(&self) -> f64 {
        self.most_bw().min(self.bw_short)
    }

    fn bdp(&self) -> f64 {
        if self.min_rtt == NEVER { 0.0 } else { self.bw() * self.min_rtt }
    }

    fn product(&self, bw: f64, gain: f64) -> f64 {
        if self.min_rtt == NEVER { INITIAL } else { gain * bw * self.min_rtt }
    }

    fn quantum(&self) -> f64 {
        (self.rate * 1e-3).clamp(2.0 * SMSS, 65_536.0)
    }

    fn budget(&self, cap: f64) -> f64 {
        let cap = cap.max(3.0 * self.quantum()).max(LEAST);
        if self.mode == Mode::Up { cap + 2.0 * SMSS } else { cap }
    }

    fn with_headroom(&self) -> f64 {
        if self.long == NEVER {
            return NEVER;
        }
        (self.long - SMSS.max(0.15 * self.long)).max(LEAST)
    }

    fn window_limited(&self) -> bool {
        self.full_window.contains(&true)
    }

    fn aim(&self) -> f64 {
        self.bdp().min(self.cwnd)
    }

    fn start_round(&mut self) {
        self.next_round = self.delivered;
    }

    fn save_cwnd(&mut self) {
        if self.recovery == Recovery::Open && self.mode != Mode::ProbeRtt {
            self.prior_cwnd = self.cwnd;
        } else {
            self.prior_cwnd = self.prior_cwnd.max(self.cwnd);
        }
    }

    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    fn pace(&mut self, gain: f64) {
        let rate = gain * self.bw() * 0.99;
        if self.full_reached || rate > self.rate {
            self.rate = rate;
        }
    }

    // ── window ──

    fn set_cwnd(&mut self) {
        let most = self.budget(self.product(self.bw(), self.gains().1) + self.most_extra());
        if self.full_reached {
            self.cwnd = (self.cwnd + self.rs.acked).min(most);
        } else if self.cwnd < most || self.delivered < INITIAL {
            self.cwnd += self.rs.acked;
        }
        self.cwnd = self.cwnd.max(LEAST);
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        let cap = match self.mode {
            Mode::Down | Mode::Refill | Mode::Up => self.long,
            Mode::Cruise | Mode::ProbeRtt => self.with_headroom(),
            Mode::Startup | Mode::Drain => NEVER,
        };
        self.cwnd = self.cwnd.min(cap.min(self.short).max(LEAST));
    }

    fn sample(&mut self, f: &Feedback<'_>, sample: &DeliverySample) {
        let newest = f.acked.iter().max_by_key(|packet| (packet.sent_at, packet.number));
        let bubble = newest.and_then(|newest| self.in_bubble.get(&newest.number)).copied().unwrap_or(false);
        self.delivered = sample.delivered.as_f64();
        if self.bubble > 0.0 && self.delivered > self.bubble {
            self.bubble = 0.0;
        }
        self.rs = Rs {
            rate: sample.rate.map_or(0.0, |rate| rate.bits_per_sec() as f64 / 8.0),
            delivered: sample.rate.map_or(0.0, |_| (sample.delivered - sample.prior_delivered).as_f64()),
            prior: sample.prior_delivered.as_f64(),
            acked: sample.newly_acked.as_f64(),
            lost: sample.lost_since.as_f64(),
            tx_in_flight: sample.prior_in_flight.as_f64(),
            limited: sample.app_limited || bubble,
            rtt: sample.rtt.map(Span::as_secs_f64),
        };
    }
}

impl Second for Bbr {
    fn sent(&mut self, now: f64, sent: &Sent) {
        if sent.in_flight == sent.size && sent.app_limited {
            self.idle = true;
            (self.extra_start, self.extra_delivered) = (now, 0.0);
            if self.cycles() {
                self.pace(1.0);
            } else if self.mode == Mode::ProbeRtt {
                self.check_done(now);
            }
        }
        self.full_window[0] |= sent.in_flight.as_f64() + SMSS > self.cwnd;
        self.in_bubble.insert(sent.number, self.bubble > 0.0);
    }

    fn heard(&mut self, now: f64, f: &Feedback<'_>) {
        let in_flight = f.in_flight.as_f64();
        match f.event {
            Some(CongestionEvent::Loss) => {
                self.save_state();
                let delivered = f.delivery.map(|sample| sample.delivered.as_f64());
                self.recovering_from = Some(delivered.unwrap_or(self.delivered));
            }
            Some(CongestionEvent::Timeout { consecutive }) => {
                if consecutive == 1 {
                    self.save_state();
                }
                self.recovery = Recovery::Timeout;
                self.recovering_from = None;
                self.cwnd = in_flight + SMSS;
                return;
            }
            Some(CongestionEvent::Spurious) => {
                self.recovery = Recovery::Open;
                self.recovering_from = None;
                self.spurious();
                return;
            }
            Some(CongestionEvent::RecoveryEnd) => self.recovering_from = None,
            _ => {}
        }
        let Some(sample) = f.delivery else {
            if f.recovery == Recovery::Open && std::mem::take(&mut self.recovery) != Recovery::Open {
                self.restore_cwnd();
            }
            return;
        };
        self.delivered = sample.delivered.as_f64();
        let before = std::mem::replace(&mut self.recovery, f.recovery);
        self.lose(now, f, sample);
        if sample.newly_acked.get() == 0 {
            return;
        }
        self.sample(f, sample);
        self.update_latest();
        self.update_congestion();
        self.update_aggregation(now);
        self.check_full();
        self.check_startup();
        let drained = in_flight <= self.budget(self.product(self.bw(), 1.0));
        if self.mode == Mode::Drain && (drained || self.rounds > self.drain_began + 3) {
            self.start_down(now);
        }
        self.update_cycle(now, in_flight);
        self.update_min_rtt(now);
        self.check_probe_rtt(now, in_flight);
        if self.loss_round_start {
            (self.bw_latest, self.latest) = (self.rs.rate, self.rs.delivered);
        }
        if before != Recovery::Open && f.recovery == Recovery::Open {
            self.restore_cwnd();
        }
        if let (false, Some(rtt)) = (self.seen_rtt, f.rtt) {
            self.seen_rtt = true;
            self.rate = 2.77 * INITIAL / rtt.smoothed.as_secs_f64();
        }
        self.pace(self.gains().0);
        self.set_cwnd();
    }

    fn window(&self) -> f64 {
        self.cwnd / SMSS
    }

    fn rate(&self) -> Option<f64> {
        Some(self.rate * 8.0)
    }

    fn state(&self) -> String {
        format!(
            "{:?} {:?} rate {:.0} bw {:.0} of {:?} short {:.0} {:.0} long {:.0} full {:?} {} min {:.6} extra {:.0} prior {:.0} rounds {} since {} loss {} pieces {} high {} cautious {} sample {}",
            self.mode,
            self.acks,
            self.rate * 8.0,
            self.bw(),
            self.max_bw,
            self.bw_short,
            self.short,
            self.long,
            self.full,
            self.full_reached,
            self.min_rtt,
            self.most_extra(),
            self.prior_cwnd,
            self.rounds,
            self.rounds_since,
            self.loss_in_round,
            self.pieces,
            self.too_high,
            self.cautious,
            self.probe_sample,
        )
    }
}
