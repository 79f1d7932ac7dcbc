//! BBR version 3, written a second time from draft-ietf-ccwg-bbr-06 (as at commit 4ce5e87 of its repository), §5, with its
//! contradictions decided as the head of the scheme decides them. Known before: that head, the constants and what the shared
//! parts are for; the code of the law was read after two trials, to judge where both differed. Amounts in bytes, rates in bytes per second.

use std::collections::HashMap;

use serde_json::json;
use tailback_core::{CongestionEvent, DeliverySample, Feedback, Recovery, Sent, Span, Stream};

use super::Second;
use super::wire::{Fate, SEGMENT, Wire, params, scheme};

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
    limited_now: bool,
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
            limited_now: false,
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

    fn save_state(&mut self) {
        self.save_cwnd();
        self.saved = Saved { from: None, bw: self.bw_short, short: self.short, long: self.long };
    }

    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    fn reset_short(&mut self) {
        (self.bw_short, self.short) = (NEVER, NEVER);
    }

    fn pace(&mut self, gain: f64) {
        let rate = gain * self.bw() * 0.99;
        if self.full_reached || rate > self.rate {
            self.rate = rate;
        }
    }

    // ── losses ──

    fn too_high_now(&self) -> bool {
        self.rs.lost > self.rs.tx_in_flight * LOSS
    }

    fn handle_too_high(&mut self, now: f64) {
        self.too_high = true;
        self.probe_sample = false;
        if !self.rs.limited {
            self.long = self.rs.tx_in_flight.max(self.aim() * BETA);
        }
        if self.mode == Mode::Up {
            self.saved.from = Some(Mode::Up);
            self.start_down(now);
        }
    }

    fn lose(&mut self, now: f64, f: &Feedback<'_>, sample: &DeliverySample) {
        for (lost, then) in f.lost.iter().zip(&sample.losses) {
            if !self.loss_in_round {
                self.loss_round = self.delivered;
                self.save_state();
            }
            self.loss_in_round = true;
            if self.last_lost.is_none_or(|last| last + 1 != lost.number) {
                self.pieces += 1;
            }
            self.last_lost = Some(lost.number);
            if !self.probe_sample {
                continue;
            }
            self.rs.tx_in_flight = then.in_flight.as_f64();
            self.rs.lost = then.lost_since.as_f64();
            self.rs.limited = then.app_limited || self.in_bubble.get(&lost.number).copied().unwrap_or(false);
            if self.too_high_now() {
                let size = then.size.as_f64();
                let (before, lost_before) = (self.rs.tx_in_flight - size, self.rs.lost - size);
                self.rs.tx_in_flight = before + ((LOSS * before - lost_before) / (1.0 - LOSS)).max(0.0);
                self.handle_too_high(now);
            }
        }
    }

    // ── the model ──

    fn update_latest(&mut self) {
        self.loss_round_start = false;
        self.bw_latest = self.bw_latest.max(self.rs.rate);
        self.latest = self.latest.max(self.rs.delivered);
        if self.rs.prior >= self.loss_round {
            self.loss_round = self.delivered;
            self.loss_round_start = true;
        }
    }

    fn update_congestion(&mut self) {
        self.round_start = self.rs.prior >= self.next_round;
        if self.round_start {
            self.start_round();
            self.rounds += 1;
            self.rounds_since += 1;
        }
        if self.rs.rate > 0.0 && (self.rs.rate >= self.most_bw() || !self.rs.limited) {
            self.max_bw[1] = self.max_bw[1].max(self.rs.rate);
        }
        if !self.loss_round_start {
            return;
        }
        if !self.probes() && self.loss_in_round {
            if self.bw_short == NEVER {
                self.bw_short = self.most_bw();
            }
            if self.short == NEVER {
                self.short = self.cwnd;
            }
            self.bw_short = self.bw_latest.max(BETA * self.bw_short);
            self.short = self.latest.max(BETA * self.short);
        }
        self.loss_in_round = false;
    }

    fn update_aggregation(&mut self, now: f64) {
        let mut expected = self.bw() * (now - self.extra_start);
        if self.extra_delivered <= expected {
            (self.extra_delivered, self.extra_start, expected) = (0.0, now, 0.0);
        }
        self.extra_delivered += self.rs.acked;
        let extra = (self.extra_delivered - expected).min(self.cwnd);
        let length = if self.full_reached { 10 } else { 1 };
        let rounds = self.rounds;
        self.extra.push((rounds, extra));
        self.extra.retain(|(round, _)| round + length > rounds);
    }

    fn most_extra(&self) -> f64 {
        self.extra.iter().fold(0.0, |most, (_, extra)| most.max(*extra))
    }

    fn check_full(&mut self) {
        if self.full.now || !self.round_start || self.rs.limited {
            return;
        }
        if self.rs.rate >= self.full.bw * 1.25 {
            self.full = FullBw { bw: self.rs.rate, ..FullBw::default() };
            return;
        }
        self.full.count += 1;
        self.full.now = self.full.count >= 3;
        self.full_reached |= self.full.now;
    }

    fn check_startup(&mut self, recovery: Recovery) {
        let steady = recovery == Recovery::Fast && self.recovery == Recovery::Fast;
        if self.mode == Mode::Startup
            && !self.full_reached
            && self.loss_round_start
            && steady
            && self.pieces >= 6
            && self.too_high_now()
        {
            self.saved.from = Some(Mode::Startup);
            self.full_reached = true;
            self.long = self.bdp().max(self.latest);
        }
        if self.loss_round_start {
            (self.pieces, self.last_lost) = (0, None);
        }
        if self.mode == Mode::Startup && self.full_reached {
            self.mode = Mode::Drain;
            self.drain_began = self.rounds;
        }
    }

    // ── the cycle ──

    fn start_down(&mut self, now: f64) {
        self.loss_in_round = false;
        (self.bw_latest, self.latest) = (0.0, 0.0);
        self.up_every = NEVER;
        self.rounds_since = self.draws.below(2);
        self.wait = 2.0 + self.draws.uniform();
        self.cycle = now;
        self.acks = Acks::Stopping;
        self.start_round();
        self.mode = Mode::Down;
    }

    fn start_refill(&mut self) {
        self.reset_short();
        (self.up_rounds, self.up_acked, self.cautious) = (0, 0.0, false);
        self.acks = Acks::Refilling;
        self.start_round();
        self.mode = Mode::Refill;
    }

    fn raise_slope(&mut self) {
        let growth = 2f64.powi(self.up_rounds);
        self.up_rounds = (self.up_rounds + 1).min(30);
        self.up_every = (self.cwnd / growth).max(SMSS);
    }

    fn start_up(&mut self) {
        self.acks = Acks::Starting;
        self.start_round();
        self.full = FullBw { bw: self.rs.rate, ..FullBw::default() };
        self.mode = Mode::Up;
        self.raise_slope();
    }

    fn time_to_probe(&mut self, now: f64) -> bool {
        let rounds = (self.aim() / SMSS).min(63.0);
        let due = now > self.cycle + self.wait || self.rounds_since as f64 >= rounds;
        if due {
            self.start_refill();
        }
        due
    }

    fn time_to_go_down(&mut self, in_flight: f64) -> bool {
        if self.too_high && in_flight >= self.long {
            self.cautious = true;
            return true;
        }
        if self.limited_now && self.cwnd >= self.long {
            self.full = FullBw { bw: self.rs.rate, ..FullBw::default() };
            return false;
        }
        self.full.now
    }

    /// Whether it decided on a state.
    fn adapt_long(&mut self) -> bool {
        if self.acks == Acks::Starting && self.round_start {
            self.acks = Acks::Feedback;
        }
        if self.acks == Acks::Stopping && self.round_start {
            self.probe_sample = false;
            self.acks = Acks::Init;
            if self.cycles() && !self.rs.limited {
                self.max_bw = [self.max_bw[1], 0.0];
            }
            if self.cycles() && self.cautious && !self.too_high {
                self.start_refill();
                return true;
            }
        }
        if self.too_high_now() || self.long == NEVER {
            return false;
        }
        self.long = self.long.max(self.rs.tx_in_flight);
        if self.mode == Mode::Up && self.limited_now && self.cwnd >= self.long {
            self.up_acked += self.rs.acked;
            if self.up_acked >= self.up_every {
                let delta = (self.up_acked / self.up_every).floor();
                self.up_acked -= delta * self.up_every;
                self.long += delta * SMSS;
            }
            if self.round_start {
                self.raise_slope();
            }
        }
        false
    }

    fn update_cycle(&mut self, now: f64, in_flight: f64) {
        if !self.full_reached || self.adapt_long() {
            return;
        }
        let mode = self.mode;
        match mode {
            Mode::Down => {
                let room = in_flight <= self.with_headroom();
                if !self.time_to_probe(now) && room && in_flight <= self.budget(self.product(self.bw(), 1.0))
                {
                    self.mode = Mode::Cruise;
                }
            }
            Mode::Cruise => {
                self.time_to_probe(now);
            }
            Mode::Refill if self.round_start => {
                self.probe_sample = true;
                self.start_up();
            }
            _ if self.mode == Mode::Up && self.time_to_go_down(in_flight) => {
                self.too_high = false;
                self.start_down(now);
            }
            _ => {}
        }
    }

    // ── round trip times ──

    fn update_min_rtt(&mut self, now: f64) {
        self.expired = self.probe_min_stamp.is_some_and(|stamp| now > stamp + 5.0);
        if let Some(rtt) = self.rs.rtt.filter(|rtt| *rtt < self.probe_min || self.expired) {
            (self.probe_min, self.probe_min_stamp) = (rtt, Some(now));
        }
        let old = now > self.min_rtt_stamp + 10.0;
        if self.probe_min < self.min_rtt || old {
            self.min_rtt = self.probe_min;
            self.min_rtt_stamp = self.probe_min_stamp.unwrap_or(now);
        }
    }

    fn probe_rtt_cwnd(&self) -> f64 {
        self.product(self.bw(), 0.5).max(LEAST)
    }

    fn check_probe_rtt(&mut self, now: f64, in_flight: f64) {
        if self.mode != Mode::ProbeRtt && self.expired && !self.idle {
            self.save_cwnd();
            self.mode = Mode::ProbeRtt;
            self.done = None;
            self.acks = Acks::Stopping;
            self.start_round();
        }
        if self.mode == Mode::ProbeRtt {
            self.bubble = (self.delivered + in_flight).max(1.0);
            if self.done.is_none() && in_flight <= self.probe_rtt_cwnd() {
                (self.done, self.round_done) = (Some(now + 0.2), false);
                self.start_round();
            } else if self.done.is_some() {
                self.round_done |= self.round_start;
                if self.round_done {
                    self.check_done(now);
                }
            }
        }
        if self.rs.delivered > 0.0 {
            self.idle = false;
        }
    }

    fn check_done(&mut self, now: f64) {
        if self.done.is_none_or(|done| now <= done) {
            return;
        }
        self.probe_min_stamp = Some(now);
        self.restore_cwnd();
        self.reset_short();
        if self.full_reached {
            self.start_down(now);
            self.mode = Mode::Cruise;
        } else {
            self.mode = Mode::Startup;
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

    fn spurious(&mut self) {
        self.restore_cwnd();
        self.loss_in_round = false;
        self.full = FullBw::default();
        self.bw_short = self.bw_short.max(self.saved.bw);
        self.short = self.short.max(self.saved.short);
        self.long = self.long.max(self.saved.long);
        match self.saved.from {
            Some(Mode::Startup) if self.mode != Mode::Startup => {
                self.full_reached = false;
                if self.mode != Mode::ProbeRtt {
                    self.mode = Mode::Startup;
                }
            }
            Some(Mode::Up) if self.mode != Mode::Up && self.mode != Mode::ProbeRtt => self.start_refill(),
            _ => {}
        }
        self.saved.from = None;
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
            delivered: (sample.delivered - sample.prior_delivered).as_f64(),
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
        self.in_bubble.insert(sent.number, self.bubble > 0.0);
    }

    fn heard(&mut self, now: f64, f: &Feedback<'_>) {
        let in_flight = f.in_flight.as_f64();
        self.limited_now = f.window_limited;
        match f.event {
            Some(CongestionEvent::Loss) => self.save_state(),
            Some(CongestionEvent::Timeout { consecutive }) => {
                if consecutive == 1 {
                    self.save_state();
                }
                self.recovery = Recovery::Timeout;
                self.cwnd = in_flight + SMSS;
                return;
            }
            Some(CongestionEvent::Spurious) => {
                self.recovery = Recovery::Open;
                self.spurious();
                return;
            }
            _ => {}
        }
        let Some(sample) = f.delivery else { return };
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
        self.check_startup(before);
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

fn run(fate: Fate) {
    for seed in 0..10 {
        let ours = scheme(json!({"name": "bbr3"}), &params(10, None));
        Wire::new(ours, Bbr::new(seed, 1.0), fate, seed).run(6000);
    }
}

#[test]
fn bbr3_calm() {
    run(Fate { queue: 20.0, ..Fate::CALM });
}

#[test]
fn bbr3_with_losses() {
    run(Fate { loss: 0.003, stretch: 3, queue: 20.0, ..Fate::CALM });
}

#[test]
fn bbr3_with_timeouts() {
    run(Fate { loss: 0.003, timeout: 0.0005, stretch: 3, queue: 20.0, ..Fate::CALM });
}

/// All but recoveries that were for nothing.
#[test]
fn bbr3_all() {
    run(Fate { spurious: 0.0, ..Fate::ROUGH });
}

#[test]
fn bbr3_at_high_rates() {
    run(Fate { base: 1.0, queue: 0.1, ..Fate::CALM });
}
