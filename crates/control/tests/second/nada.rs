//! NADA, written a second time from RFC 8698.
//!
//! Known before: the head of the first writing (that it runs once per report at the sender, that a silence counts as TAU at most,
//! that the signal ends at 500 ms) and its fields. After it was read: that losses are events by report, and that their intervals
//! are closed ones, discounted; the text's words on both were not at hand.

use std::collections::VecDeque;

use serde_json::json;
use tailback_core::Stream;

use super::media::{Directs, Flow, News, Path, SecondLaw};

const TAU: f64 = 0.5;
const LOGWIN: f64 = 0.5;
const DELTA: f64 = 0.1;
/// Times that are equal in the first writing may differ by less in seconds.
const NANO: f64 = 2e-10;
const QTH: f64 = 0.05;

/// A packet in the observation window; one that is lost has no bytes.
struct Logged {
    at: f64,
    bytes: f64,
    marked: bool,
    queue: f64,
}

struct Nada {
    prio: f64,
    xref: f64,
    rmin: f64,
    rmax: f64,
    delta: f64,
    r: f64,
    d_base: f64,
    /// The last fifteen one-way delays.
    delays: VecDeque<f64>,
    log: Vec<Logged>,
    p_loss: f64,
    p_mark: f64,
    x_prev: f64,
    t_last: Option<f64>,
    rtt: f64,
    /// Packets since the last loss event, and intervals before it with their discounts, the newest first.
    open: f64,
    intervals: Vec<(f64, f64)>,
}

impl Nada {
    /// RFC 5348 §5.4, of the closed intervals.
    fn loss_interval(&self) -> Option<f64> {
        let (mut sum, mut weights) = (0.0, 0.0);
        for (i, (packets, discount)) in self.intervals.iter().enumerate() {
            let weight = if i < 4 { 1.0 } else { 2.0 * (8 - i) as f64 / 10.0 };
            sum += packets * discount * weight;
            weights += discount * weight;
        }
        (weights > 0.0).then(|| sum / weights)
    }

    /// A report with losses ends an interval (RFC 5348 §5.5 for the discount).
    fn loss_event(&mut self) {
        let packets = self.open.max(1.0);
        let mean = self.loss_interval().unwrap_or(packets);
        if packets > 2.0 * mean {
            let factor = (2.0 * mean / packets).max(0.25);
            self.intervals.iter_mut().for_each(|(_, discount)| *discount *= factor);
        }
        self.intervals.insert(0, (packets, 1.0));
        self.intervals.truncate(8);
        self.open = 0.0;
    }

    /// §4.2, equation 1, and how the warping ends.
    fn warped(&self, q: f64) -> f64 {
        let Some(interval) = self.loss_interval() else { return q };
        if q <= QTH {
            return q;
        }
        let warped = QTH * (-0.5 * (q - QTH) / QTH).exp();
        let past = (self.open / interval - 7.0).clamp(0.0, 1.0);
        past * q + (1.0 - past) * warped
    }

    /// §4.2 and §5.1, what the receiver would do.
    fn receive(&mut self, news: &News) {
        let newest = self.log.iter().map(|logged| logged.at).chain(news.came.iter().map(|came| came.at));
        let newest = newest.fold(f64::NEG_INFINITY, f64::max);
        for came in &news.came {
            let delay = came.at - came.left;
            self.d_base = self.d_base.min(delay);
            self.delays.push_back(delay);
            let queue = delay - self.d_base;
            self.log.push(Logged { at: came.at, bytes: came.size, marked: came.marked, queue });
        }
        while self.delays.len() > 15 {
            self.delays.pop_front();
        }
        for _ in &news.lost {
            self.log.push(Logged { at: newest, bytes: 0.0, marked: false, queue: 0.0 });
        }
        self.log.retain(|logged| newest - logged.at < LOGWIN - NANO);
        self.open += news.came.len() as f64;
        if !news.lost.is_empty() {
            self.loss_event();
        }
    }
}

impl SecondLaw for Nada {
    fn heard(&mut self, now: f64, news: &News) {
        self.receive(news);
        let q = self.delays.iter().copied().fold(f64::INFINITY, f64::min) - self.d_base;
        let count = |of: fn(&Logged) -> bool| self.log.iter().filter(|logged| of(logged)).count() as f64;
        let (lost, total) = (count(|logged| logged.bytes <= 0.0), self.log.len() as f64);
        self.p_loss = 0.1 * lost / total + 0.9 * self.p_loss;
        self.p_mark = 0.1 * count(|logged| logged.marked) / total + 0.9 * self.p_mark;
        let r_recv = 8.0 * self.log.iter().map(|logged| logged.bytes).sum::<f64>() / LOGWIN;
        self.rtt = news.round_trip;
        let x = self.warped(q) + 0.002 * (self.p_mark / 0.01).powi(2) + 0.01 * (self.p_loss / 0.01).powi(2);
        let x = x.min(0.5);
        if lost <= 0.0 && self.log.iter().all(|logged| logged.queue < 0.01) {
            let gamma = (0.05 / (self.rtt + self.delta + 0.12)).min(0.5);
            self.r = self.r.max((1.0 + gamma) * r_recv);
        } else {
            let delta = self.t_last.map_or(self.delta, |last| now - last).min(TAU);
            let offset = x - self.prio * self.xref * self.rmax / self.r;
            let change = 0.5 * (delta / TAU) * (offset / TAU) + 0.5 * 2.0 * (x - self.x_prev) / TAU;
            self.r -= change * self.r;
        }
        self.r = self.r.clamp(self.rmin, self.rmax);
        self.x_prev = x;
        self.t_last = Some(now);
    }

    fn directs(&self) -> Directs {
        Directs { rate: self.r, ..Directs::default() }
    }

    fn state(&self) -> String {
        let (bytes, queue) = self
            .log
            .iter()
            .fold((0.0, 0.0_f64), |(bytes, queue), logged| (bytes + logged.bytes, queue.max(logged.queue)));
        format!(
            "r {:.1} x {:.6} p_loss {:.5} p_mark {:.5} open {} intervals {:?} bytes {bytes} queue {queue:.5}",
            self.r, self.x_prev, self.p_loss, self.p_mark, self.open, self.intervals
        )
    }
}

fn case(seed: u64) {
    let mut rng = Stream::new(seed, "case");
    let path = Path::drawn(&mut rng, 3e6, true);
    let plain = rng.chance(0.5);
    let prio = if plain { 1.0 } else { 0.1 + 3.0 * rng.uniform() };
    let xref = if plain { 10 } else { 1 + rng.below(50) };
    let rmin = if plain { 150_000 } else { 30_000 + rng.below(200_000) };
    let rmax = if plain { 1_500_000 } else { rmin + rng.below(2_000_000) };
    let config = json!({"name": "nada", "priority": prio, "reference_delay": format!("{xref} ms"),
        "min_rate": format!("{rmin} bit/s"), "max_rate": format!("{rmax} bit/s")});
    let second = Nada {
        prio,
        xref: xref as f64 * 1e-3,
        rmin: rmin as f64,
        rmax: rmax as f64,
        delta: DELTA,
        r: rmin as f64,
        d_base: f64::INFINITY,
        delays: VecDeque::new(),
        log: Vec::new(),
        p_loss: 0.0,
        p_mark: 0.0,
        x_prev: 0.0,
        t_last: None,
        rtt: 0.0,
        open: 0.0,
        intervals: Vec::new(),
    };
    Flow::new(config, second, path, seed).run(300);
}

#[test]
fn nada_over_any_path() {
    (0..400).for_each(case);
}
