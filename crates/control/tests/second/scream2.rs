//! SCReAM version 2, written a second time from draft-ietf-ccwg-rfc8298bis-screamv2 as of August 2026 and RFC 6817's base delay,
//! with the names of the draft; what it calls optional is left out where the head of the first writing says so.
//!
//! The first writing was read before: independent, not blind. From its code alone: that a round trip ends before the window is
//! updated and begins with what is in flight, that late marks shrink no growth below zero, and that the rate is halved for 60 s
//! at most.

use serde_json::json;
use tailback_core::Stream;

use super::media::{Directs, Flow, Leaves, News, Path, SecondLaw};
use super::wire::SEGMENT;

const MSS: f64 = SEGMENT as f64;
const VIRTUAL_RTT: f64 = 0.025;
const QDELAY_TARGET_LO: f64 = 0.06;
const QDELAY_TARGET_HI: f64 = 0.4;
const MIN_REF_WND: f64 = 3000.0;
/// Times that are equal in the first writing may differ by less in seconds.
const NANO: f64 = 1e-9;
const NEVER: f64 = f64::NEG_INFINITY;

struct Scream2 {
    is_l4s: bool,
    target_bitrate_min: f64,
    target_bitrate_max: f64,
    ref_wnd: f64,
    ref_wnd_i: f64,
    ref_wnd_i_update_allowed: bool,
    l4s_alpha: f64,
    last_update_l4s_alpha: f64,
    data_units_delivered: f64,
    data_units_marked: f64,
    /// Since the last reaction: loss, marks.
    detected: (bool, bool),
    last_congestion_detected: f64,
    last_reaction_to_congestion: f64,
    s_rtt: Option<f64>,
    /// Of each packet, by number; one beyond the highest that arrived.
    sizes: Vec<f64>,
    acked_to: usize,
    max_bytes_in_flight: f64,
    max_bytes_in_flight_prev: f64,
    round_began: f64,
    round_has_loss: bool,
    /// One-way delays by the minute in which they were seen, since the base was last forgotten.
    delays: Vec<(usize, f64)>,
    minute: usize,
    minute_began: f64,
    qdelay: f64,
    qdelay_avg: f64,
    last_update_qdelay_avg: f64,
    qdelay_target: f64,
    qdelay_min: f64,
    qdelay_min_avg: f64,
    half_until: f64,
    /// Of each round trip, the delay over the lower target, and whether it had loss; where others are competed with.
    rounds: Option<Vec<(f64, bool)>>,
    target_bitrate: f64,
}

impl Scream2 {
    fn new(is_l4s: bool, competes: bool, (least, most): (u64, u64)) -> Self {
        Self {
            is_l4s,
            target_bitrate_min: least as f64,
            target_bitrate_max: most as f64,
            ref_wnd: MIN_REF_WND,
            ref_wnd_i: 1.0,
            ref_wnd_i_update_allowed: true,
            l4s_alpha: 0.0,
            last_update_l4s_alpha: NEVER,
            data_units_delivered: 0.0,
            data_units_marked: 0.0,
            detected: (false, false),
            last_congestion_detected: NEVER,
            last_reaction_to_congestion: NEVER,
            s_rtt: None,
            sizes: Vec::new(),
            acked_to: 0,
            max_bytes_in_flight: 0.0,
            max_bytes_in_flight_prev: 0.0,
            round_began: NEVER,
            round_has_loss: false,
            delays: Vec::new(),
            minute: 0,
            minute_began: NEVER,
            qdelay: 0.0,
            qdelay_avg: 0.0,
            last_update_qdelay_avg: NEVER,
            qdelay_target: QDELAY_TARGET_LO,
            qdelay_min: f64::INFINITY,
            qdelay_min_avg: 0.0,
            half_until: NEVER,
            rounds: competes.then(Vec::new),
            target_bitrate: least as f64,
        }
    }

    fn bytes_in_flight(&self) -> f64 {
        self.sizes[self.acked_to..].iter().sum()
    }

    /// RFC 6817, §2.4.2: the least of the newest four, over the least of ten minutes.
    fn update_qdelay(&mut self, now: f64, news: &News, s_rtt: f64) {
        for came in &news.came {
            if now - self.minute_began >= 60.0 - NANO {
                (self.minute, self.minute_began) = (self.minute + 1, now);
            }
            self.delays.push((self.minute, came.at - came.left));
        }
        let least = |delays: &mut dyn Iterator<Item = &(usize, f64)>| {
            delays.fold(f64::INFINITY, |least, (_, delay)| least.min(*delay))
        };
        let base = least(&mut self.delays.iter().filter(|(minute, _)| minute + 10 > self.minute));
        self.qdelay = least(&mut self.delays.iter().rev().take(4)) - base;
        self.qdelay_min = self.qdelay_min.min(self.qdelay);
        if now - self.last_update_qdelay_avg >= VIRTUAL_RTT.min(s_rtt) {
            let slow = 0.25 * self.qdelay + 0.75 * self.qdelay_avg;
            self.qdelay_avg = if self.qdelay < self.qdelay_avg { self.qdelay } else { slow };
            self.last_update_qdelay_avg = now;
        }
    }

    fn end_round(&mut self, now: f64, s_rtt: f64) {
        self.round_began = now;
        self.max_bytes_in_flight_prev = self.max_bytes_in_flight;
        self.max_bytes_in_flight = self.bytes_in_flight();
        self.qdelay_min_avg = 255.0 / 256.0 * self.qdelay_min_avg + self.qdelay_min / 256.0;
        self.qdelay_min = f64::INFINITY;
        if self.qdelay_min_avg > self.qdelay_target / 4.0 {
            self.qdelay_min_avg = 0.0;
            self.delays.clear();
            (self.minute, self.minute_began) = (0, NEVER);
            self.half_until = now + (5.0 * s_rtt).clamp(0.2, 60.0);
        }
        let has_loss = std::mem::take(&mut self.round_has_loss);
        self.adjust_qdelay_target(has_loss);
    }

    fn adjust_qdelay_target(&mut self, has_loss: bool) {
        let Some(rounds) = &mut self.rounds else { return };
        rounds.push((self.qdelay / QDELAY_TARGET_LO, has_loss));
        let last = |count: usize| &rounds[rounds.len().saturating_sub(count)..];
        let average =
            |rounds: &[(f64, bool)]| rounds.iter().map(|(delay, _)| delay).sum::<f64>() / rounds.len() as f64;
        let (of, long) = (average(last(200)), last(200));
        let var = long.iter().map(|(delay, _)| (delay - of).powi(2)).sum::<f64>() / long.len() as f64;
        let loss_event_rate = long.iter().filter(|(_, lost)| *lost).count() as f64 / long.len() as f64;
        let new_target = (average(last(50)) + var.sqrt()) * QDELAY_TARGET_LO;
        self.qdelay_target = if loss_event_rate > 0.002 {
            1.5 * new_target
        } else if var < 0.2 {
            new_target
        } else if new_target < QDELAY_TARGET_LO {
            (self.qdelay_target * 0.5).max(new_target)
        } else {
            self.qdelay_target * 0.9
        };
        self.qdelay_target = self.qdelay_target.clamp(QDELAY_TARGET_LO, QDELAY_TARGET_HI);
    }

    fn update_alpha(&mut self, now: f64, news: &News, s_rtt: f64) {
        self.data_units_delivered += news.came.len() as f64;
        self.data_units_marked += news.came.iter().filter(|came| came.marked).count() as f64;
        if now - self.last_update_l4s_alpha < s_rtt.min(0.01) {
            return;
        }
        let fraction = self.data_units_marked / self.data_units_delivered;
        self.l4s_alpha = if fraction >= self.l4s_alpha {
            fraction / 8.0 + (1.0 - 1.0 / 8.0) * self.l4s_alpha
        } else {
            (1.0 - 1.0 / 128.0) * self.l4s_alpha
        };
        self.last_update_l4s_alpha = now;
        (self.data_units_delivered, self.data_units_marked) = (0.0, 0.0);
    }

    fn reduce(&mut self, now: f64, s_rtt: f64, scl: f64) {
        let since = now - self.last_reaction_to_congestion;
        if since < VIRTUAL_RTT.min(s_rtt) {
            return;
        }
        let half = self.qdelay_target / 2.0;
        let is_loss = self.detected.0;
        let is_ce = !is_loss && self.detected.1;
        let is_virtual_ce = !is_loss && !is_ce && self.qdelay_avg > half;
        if !(is_loss || is_ce || is_virtual_ce) {
            return;
        }
        if self.ref_wnd_i_update_allowed {
            (self.ref_wnd_i, self.ref_wnd_i_update_allowed) = (self.ref_wnd, false);
        }
        if is_loss {
            self.ref_wnd *= 0.7;
        }
        if is_ce && !self.is_l4s {
            self.ref_wnd *= 0.8;
        }
        if is_ce && self.is_l4s {
            let mut backoff = self.l4s_alpha / 2.0 / (s_rtt / VIRTUAL_RTT).max(1.0);
            if self.qdelay < self.qdelay_target * 0.25 {
                backoff *= scl.max(0.25);
            }
            if since > 100.0 * s_rtt.max(VIRTUAL_RTT) {
                self.ref_wnd = self.ref_wnd.min(self.max_bytes_in_flight_prev);
            }
            self.ref_wnd *= 1.0 - backoff;
        }
        if is_virtual_ce {
            let alpha_v = ((self.qdelay_avg - half) / half).min(1.0);
            self.ref_wnd *= 1.0 - alpha_v / 2.0 / (s_rtt / VIRTUAL_RTT).max(1.0);
        }
        self.ref_wnd = self.ref_wnd.max(MIN_REF_WND);
        self.last_reaction_to_congestion = now;
        self.detected = (false, false);
    }

    fn increase(&mut self, now: f64, s_rtt: f64, scl: f64, unmarked: f64) {
        let cautious = 100.0 * s_rtt.max(VIRTUAL_RTT);
        let post = ((now - self.last_congestion_detected) / cautious).min(1.0);
        let factor = 1.0 + 0.02 * self.ref_wnd / MSS * post * scl;
        let ratio = (MSS / self.ref_wnd).min(1.0);
        let increment = unmarked * ratio * (s_rtt / VIRTUAL_RTT).min(1.0) * scl.max(0.25) * factor;
        let max_allowed = MSS + 1.5 * self.max_bytes_in_flight.max(self.max_bytes_in_flight_prev);
        let is_allowed = self.ref_wnd + increment <= max_allowed;
        if is_allowed && increment > 0.0 && self.target_bitrate < self.target_bitrate_max {
            self.ref_wnd += increment;
            self.ref_wnd_i_update_allowed = true;
        }
    }

    fn update_target_bitrate(&mut self, now: f64, s_rtt: f64) {
        let ratio = (MSS / self.ref_wnd).min(1.0);
        let scale = (1.0 - (ratio - 0.1).clamp(0.0, 0.2)) * (MSS / (MSS + 20.0)) / 1.2;
        let drift = if now < self.half_until - NANO { 0.5 } else { 1.0 };
        let rate = drift * scale * 8.0 * self.ref_wnd / s_rtt;
        self.target_bitrate = rate.max(self.target_bitrate_min).min(self.target_bitrate_max);
    }
}

impl SecondLaw for Scream2 {
    fn sent(&mut self, _now: f64, packet: &Leaves) {
        self.sizes.push(packet.size);
        self.max_bytes_in_flight = self.max_bytes_in_flight.max(self.bytes_in_flight());
    }

    fn heard(&mut self, now: f64, news: &News) {
        let sample = news.round_trip.max(1e-6);
        let s_rtt = self.s_rtt.map_or(sample, |s_rtt| s_rtt * 7.0 / 8.0 + sample / 8.0);
        self.s_rtt = Some(s_rtt);
        let acked_to = news.came.iter().map(|came| came.number as usize + 1).fold(self.acked_to, usize::max);
        let newly_acked: f64 = self.sizes[self.acked_to..acked_to].iter().sum();
        self.acked_to = acked_to;
        let newly_acked_ce: f64 = news.came.iter().filter(|came| came.marked).map(|came| came.size).sum();
        self.detected.0 |= !news.lost.is_empty();
        self.round_has_loss |= !news.lost.is_empty();
        self.detected.1 |= newly_acked_ce > 0.0;
        self.update_qdelay(now, news, s_rtt);
        if now - self.round_began >= s_rtt {
            self.end_round(now, s_rtt);
        }
        self.update_alpha(now, news, s_rtt);
        let scl = (8.0 * (self.ref_wnd - self.ref_wnd_i) / self.ref_wnd_i).powi(2).clamp(0.1, 1.0);
        if self.detected.0 || self.detected.1 {
            self.last_congestion_detected = now;
        }
        self.reduce(now, s_rtt, scl);
        self.increase(now, s_rtt, scl, newly_acked - newly_acked_ce);
        self.update_target_bitrate(now, s_rtt);
    }

    fn directs(&self) -> Directs {
        let send_wnd = 3.0 * self.ref_wnd - self.bytes_in_flight();
        let nominal = self.target_bitrate / self.target_bitrate_max;
        let scale = ((nominal - 0.8) / (1.0 - 0.8)).min(1.0);
        let scale = (1.0 - scale).clamp(1.0 / 4.0, 1.0);
        let pace_bitrate = self.target_bitrate.max(50_000.0) * 1.5 / scale;
        Directs {
            rate: if send_wnd < 0.0 { 50_000.0 } else { pace_bitrate },
            media: Some(self.target_bitrate),
            ..Directs::default()
        }
    }

    fn published(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("reference_window", self.ref_wnd),
            ("alpha", self.l4s_alpha),
            ("queueing_delay", self.qdelay),
            ("target_delay", self.qdelay_target),
        ]
    }

    fn state(&self) -> String {
        format!(
            "ref_wnd {:.2} i {:.2} alpha {:.5} s_rtt {:?} in flight {} max {} {} qdelay {:.5} avg {:.5} \
             target {:.4} min_avg {:.5} half until {:.3} seen {} {}",
            self.ref_wnd,
            self.ref_wnd_i,
            self.l4s_alpha,
            self.s_rtt,
            self.bytes_in_flight(),
            self.max_bytes_in_flight,
            self.max_bytes_in_flight_prev,
            self.qdelay,
            self.qdelay_avg,
            self.qdelay_target,
            self.qdelay_min_avg,
            self.half_until,
            self.detected.0,
            self.detected.1,
        )
    }
}

fn case(seed: u64) {
    let mut rng = Stream::new(seed, "case");
    let ecn = ["off", "ect0", "ect1"][rng.below(3) as usize];
    let path = Path::drawn(&mut rng, 4e6, ecn != "off").unsteady(&mut rng);
    let competes = rng.chance(0.7);
    let least = if rng.chance(0.5) { 150_000 } else { 20_000 + rng.below(300_000) };
    let most = if rng.chance(0.5) { 2_500_000 } else { least + rng.below(4_000_000) };
    let config = json!({"name": "scream2", "ecn": ecn, "competitive": competes,
        "min_rate": format!("{least} bit/s"), "max_rate": format!("{most} bit/s")});
    Flow::new(config, Scream2::new(ecn == "ect1", competes, (least, most)), path, seed).run(500);
}

#[test]
fn scream2_over_any_path() {
    (0..300).for_each(case);
}

/// Twelve minutes, so that a base delay is forgotten.
#[test]
fn scream2_for_long() {
    for seed in 0..4 {
        let path = Path::calm(0.01, 0.03, 2e-5 * (seed as f64 - 1.5));
        calm(path, 200_000, seed, 3600);
    }
}

/// Marks that come a hundred round trips apart.
#[test]
fn scream2_seldom_marked() {
    (0..32).for_each(|seed| calm(Path::calm(0.002, 0.2, 0.0), 500_000, seed, 1000));
}

fn calm(path: Path, most: u64, seed: u64, reports: u32) {
    let config = json!({"name": "scream2", "ecn": "ect1", "min_rate": "100 kbit/s",
        "max_rate": format!("{most} bit/s")});
    Flow::new(config, Scream2::new(true, true, (100_000, most)), path, seed).run(reports);
}
