//! Schemes that are Reno (RFC 5681, RFC 3465, RFC 3168) except for what they add and keep: DCTCP (RFC 8257), HighSpeed (RFC 3649),
//! Illinois (Liu, Başar and Srikant 2008), Westwood+ (Grieco and Mascolo 2004). The second writings, and their tests.

use serde_json::json;
use tailback_core::{CongestionEvent, Feedback, Recovery, Sent};

use super::Second;
use super::wire::{Fate, SEGMENT, Wire, params, scheme};

/// cwnd and ssthresh, in segments, which count bytes with L = 2 and reduce from what is in flight.
#[derive(Clone, Debug)]
pub(crate) struct Reno {
    pub(crate) cwnd: f64,
    pub(crate) ssthresh: f64,
    initial: f64,
    pub(crate) before: Option<(f64, f64)>,
}

impl Reno {
    pub(crate) fn new(initial: f64, ssthresh: f64) -> Self {
        Self { cwnd: initial, ssthresh, initial, before: None }
    }

    /// A window and a threshold of a scheme's own, to which nothing spurious leads back.
    pub(crate) fn enter(&mut self, cwnd: f64, ssthresh: f64) {
        (self.cwnd, self.ssthresh, self.before) = (cwnd, ssthresh, None);
    }

    pub(crate) fn new_data(f: &Feedback<'_>) -> f64 {
        f.advanced.as_f64() / SEGMENT as f64
    }

    /// What is in flight, and no more than the window: what a time-out has lost is not in flight.
    pub(crate) fn flight(&self, f: &Feedback<'_>) -> f64 {
        (f.outstanding.as_f64() / SEGMENT as f64).min(self.cwnd)
    }

    /// May this acknowledgement open the window?
    pub(crate) fn opens(f: &Feedback<'_>) -> bool {
        f.event.is_none() && Self::opens_or_ends(f)
    }

    /// The same, or does it end a recovery?
    pub(crate) fn opens_or_ends(f: &Feedback<'_>) -> bool {
        let marked = f.echoes.ce > 0 && f.recovery != Recovery::Timeout;
        f.advanced.get() > 0 && f.recovery != Recovery::Fast && f.window_limited && !marked
    }

    pub(crate) fn open(&mut self, f: &Feedback<'_>, per_window: f64) {
        let acked = Self::new_data(f);
        if self.cwnd < self.ssthresh {
            let limit = if f.recovery == Recovery::Timeout { 1.0 } else { 2.0 };
            self.cwnd += acked.min(limit);
        } else {
            self.cwnd += per_window * acked / self.cwnd;
        }
    }

    pub(crate) fn answer(&mut self, event: CongestionEvent, to: f64) {
        match event {
            CongestionEvent::Loss => {
                self.before = Some((self.cwnd, self.ssthresh));
                self.ssthresh = to.max(2.0);
                self.cwnd = self.ssthresh.min(self.cwnd);
            }
            CongestionEvent::Ecn => {
                self.before = None;
                self.ssthresh = to.max(2.0);
                self.cwnd = to.min(self.cwnd).max(1.0);
            }
            CongestionEvent::Timeout { consecutive } => {
                if consecutive == 1 {
                    self.before = Some((self.cwnd, self.ssthresh));
                    self.ssthresh = to.max(2.0);
                }
                self.cwnd = 1.0;
            }
            CongestionEvent::Spurious => {
                if let Some(before) = self.before.take().filter(|before| self.cwnd < before.0) {
                    (self.cwnd, self.ssthresh) = before;
                }
            }
            CongestionEvent::Idle => {
                self.before = None;
                self.cwnd = self.cwnd.min(self.initial);
            }
            CongestionEvent::RecoveryEnd => {}
        }
    }
}

/// Ends of windows by sequence numbers: from SND.NXT to its acknowledgement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Windows {
    next: u64,
    una: u64,
    end: u64,
}

impl Windows {
    pub(crate) fn sent(&mut self, sent: &Sent) {
        self.next = self.next.max(sent.number + 1);
    }

    /// Takes an acknowledgement in; whether it ends the window, which only what lies beyond the end does.
    pub(crate) fn ends(&mut self, f: &Feedback<'_>) -> bool {
        self.una += f.advanced.get() / SEGMENT;
        if f.advanced.get() == 0 || self.una <= self.end {
            return false;
        }
        self.end = self.next;
        true
    }
}

// ── DCTCP ──

struct Dctcp {
    reno: Reno,
    windows: Windows,
    alpha: f64,
    acked: f64,
    marked: f64,
}

impl Second for Dctcp {
    fn sent(&mut self, _now: f64, sent: &Sent) {
        self.windows.sent(sent);
    }

    fn heard(&mut self, _now: f64, f: &Feedback<'_>) {
        self.acked += Reno::new_data(f);
        self.marked += if f.echoes.ce > 0 { Reno::new_data(f) } else { 0.0 };
        if self.windows.ends(f) {
            let part = (self.marked / self.acked).min(1.0);
            self.alpha += (part - self.alpha) / 16.0;
            (self.acked, self.marked) = (0.0, 0.0);
        }
        if let Some(event) = f.event {
            let to = if event == CongestionEvent::Ecn {
                self.reno.cwnd * (1.0 - self.alpha / 2.0)
            } else {
                self.reno.flight(f) / 2.0
            };
            self.reno.answer(event, to);
        }
        if Reno::opens(f) {
            self.reno.open(f, 1.0);
        }
    }

    fn window(&self) -> f64 {
        self.reno.cwnd
    }

    fn state(&self) -> String {
        format!(
            "ssthresh {:.3} α {:.5}, {} of {} marked",
            self.reno.ssthresh, self.alpha, self.marked, self.acked
        )
    }
}

#[test]
fn dctcp() {
    for seed in 0..20 {
        let fate = Fate { mark: 0.05, stretch: 1 + seed % 4, ..Fate::ROUGH };
        let params = params(10, None);
        let second = Dctcp {
            reno: Reno::new(10.0, f64::INFINITY),
            windows: Windows::default(),
            alpha: 1.0,
            acked: 0.0,
            marked: 0.0,
        };
        Wire::new(scheme(json!({"name": "dctcp", "echo": "counted"}), &params), second, fate, seed).run(4000);
    }
}

// ── HighSpeed ──

struct HighSpeed {
    reno: Reno,
    /// Where a(w) was computed last, and its value: anew only where the window has moved by a segment, as the scheme's head says.
    at: (f64, f64),
}

impl HighSpeed {
    /// b(w) of RFC 3649 §5: straight in log w, from 0.5 at 38 to 0.1 at 83000.
    fn b(w: f64) -> f64 {
        if w <= 38.0 {
            return 0.5;
        }
        (0.1 - 0.5) * (w.ln() - 38_f64.ln()) / (83_000_f64.ln() - 38_f64.ln()) + 0.5
    }

    /// p(w): the straight line in logarithms through (38, 10⁻³) and (83000, 10⁻⁷).
    fn p(w: f64) -> f64 {
        let slope = (1e-7_f64.ln() - 1e-3_f64.ln()) / (83_000_f64.ln() - 38_f64.ln());
        (1e-3_f64.ln() + slope * (w.ln() - 38_f64.ln())).exp()
    }

    /// a(w) = w² p(w) 2 b(w) / (2 - b(w)), and no less than Reno's.
    fn a(w: f64) -> f64 {
        if w <= 38.0 { 1.0 } else { (w * w * Self::p(w) * 2.0 * Self::b(w) / (2.0 - Self::b(w))).max(1.0) }
    }
}

impl Second for HighSpeed {
    fn heard(&mut self, _now: f64, f: &Feedback<'_>) {
        if let Some(event) = f.event {
            let kept = 1.0 - Self::b(self.reno.cwnd);
            self.reno.answer(event, self.reno.flight(f) * kept);
        }
        if Reno::opens(f) {
            if (self.reno.cwnd - self.at.0).abs() >= 1.0 {
                self.at = (self.reno.cwnd, Self::a(self.reno.cwnd));
            }
            self.reno.open(f, self.at.1);
        }
    }

    fn window(&self) -> f64 {
        self.reno.cwnd
    }

    fn state(&self) -> String {
        format!("ssthresh {:.3}", self.reno.ssthresh)
    }
}

#[test]
fn highspeed() {
    for seed in 0..20 {
        let fate = Fate { mark: 0.002, stretch: 1 + seed % 4, loss: 0.0005, ..Fate::ROUGH };
        let second = HighSpeed { reno: Reno::new(10.0, f64::INFINITY), at: (0.0, 1.0) };
        Wire::new(scheme(json!({"name": "highspeed"}), &params(10, None)), second, fate, seed).run(6000);
    }
}

// ── Illinois ──

/// The paper's curves; a mean over each window, as in Linux; Reno below 15 segments.
struct Illinois {
    reno: Reno,
    windows: Windows,
    least: f64,
    most: f64,
    sum: f64,
    count: f64,
    alpha: f64,
    beta: f64,
    above: bool,
    good: u32,
}

impl Illinois {
    fn update(&mut self) {
        if self.count == 0.0 {
            return;
        }
        if self.reno.cwnd < 15.0 {
            (self.alpha, self.beta) = (1.0, 0.5);
        } else {
            let (da, dm) = (self.sum / self.count - self.least, self.most - self.least);
            let d1 = 0.01 * dm;
            if da <= d1 {
                if self.above {
                    self.good += 1;
                    if self.good >= 5 {
                        (self.good, self.above, self.alpha) = (0, false, 10.0);
                    }
                } else {
                    self.alpha = 10.0;
                }
            } else {
                (self.above, self.good) = (true, 0);
                let k1 = (dm - d1) * 0.3 * 10.0 / (10.0 - 0.3);
                let k2 = (dm - d1) * 0.3 / (10.0 - 0.3) - d1;
                self.alpha = k1 / (k2 + da);
            }
            let (d2, d3) = (0.1 * dm, 0.8 * dm);
            self.beta = if da <= d2 {
                0.125
            } else if da >= d3 {
                0.5
            } else {
                let k3 = (0.125 * d3 - 0.5 * d2) / (d3 - d2);
                let k4 = (0.5 - 0.125) / (d3 - d2);
                k3 + k4 * da
            };
        }
        (self.sum, self.count) = (0.0, 0.0);
    }
}

impl Second for Illinois {
    fn sent(&mut self, _now: f64, sent: &Sent) {
        self.windows.sent(sent);
    }

    fn heard(&mut self, _now: f64, f: &Feedback<'_>) {
        if let Some(rtt) = f.rtt {
            let rtt = rtt.latest.as_secs_f64();
            (self.least, self.most) = (self.least.min(rtt), self.most.max(rtt));
            self.sum += rtt;
            self.count += 1.0;
        }
        if self.windows.ends(f) {
            self.update();
        }
        if let Some(event) = f.event {
            self.reno.answer(event, self.reno.flight(f) * (1.0 - self.beta));
            if matches!(event, CongestionEvent::Timeout { .. }) {
                (self.alpha, self.beta, self.above) = (1.0, 0.5, false);
            }
        }
        if Reno::opens(f) {
            self.reno.open(f, self.alpha);
        }
    }

    fn window(&self) -> f64 {
        self.reno.cwnd
    }

    fn state(&self) -> String {
        format!(
            "ssthresh {:.3} α {:.5} β {:.5} above {} good {}",
            self.reno.ssthresh, self.alpha, self.beta, self.above, self.good
        )
    }
}

#[test]
fn illinois() {
    for seed in 0..20 {
        let fate = Fate { mark: 0.002, stretch: 1 + seed % 4, loss: 0.003, ..Fate::ROUGH };
        let second = Illinois {
            reno: Reno::new(10.0, f64::INFINITY),
            windows: Windows::default(),
            least: f64::INFINITY,
            most: 0.0,
            sum: 0.0,
            count: 0.0,
            alpha: 1.0,
            beta: 0.5,
            above: false,
            good: 0,
        };
        Wire::new(scheme(json!({"name": "illinois"}), &params(10, None)), second, fate, seed).run(6000);
    }
}

// ── Westwood+ ──

struct Westwood {
    reno: Reno,
    since: Option<f64>,
    bytes: f64,
    stages: Option<(f64, f64)>,
    srtt: f64,
    least: f64,
}

impl Westwood {
    /// The data acknowledged in each interval by its length, through the two stages of Linux's filter.
    fn measure(&mut self, now: f64, f: &Feedback<'_>) {
        if let Some(rtt) = f.rtt {
            (self.srtt, self.least) = (rtt.smoothed.as_secs_f64(), self.least.min(rtt.latest.as_secs_f64()));
        }
        let bytes: f64 = f.acked.iter().map(|packet| packet.size.as_f64()).sum();
        if bytes == 0.0 {
            return;
        }
        self.bytes += bytes;
        let since = *self.since.get_or_insert(now);
        if now - since < self.srtt.max(0.05) - 1e-10 {
            return;
        }
        let sample = self.bytes / (now - since);
        self.stages = Some(match self.stages {
            None => (sample, sample),
            Some((first, second)) => {
                let first = (7.0 * first + sample) / 8.0;
                (first, (7.0 * second + first) / 8.0)
            }
        });
        (self.since, self.bytes) = (Some(now), 0.0);
    }
}

impl Second for Westwood {
    fn heard(&mut self, now: f64, f: &Feedback<'_>) {
        self.measure(now, f);
        if let Some(event) = f.event {
            let pipe = self
                .stages
                .map_or(self.reno.cwnd / 2.0, |(_, bandwidth)| bandwidth * self.least / SEGMENT as f64);
            self.reno.answer(event, pipe.min(self.reno.cwnd));
        }
        if Reno::opens(f) {
            self.reno.open(f, 1.0);
        }
    }

    fn window(&self) -> f64 {
        self.reno.cwnd
    }

    fn state(&self) -> String {
        format!(
            "ssthresh {:.3} bandwidth {:?} least {:.6} bytes {}",
            self.reno.ssthresh, self.stages, self.least, self.bytes
        )
    }
}

#[test]
fn westwood_plus() {
    for seed in 0..20 {
        let fate = Fate { stretch: 1 + seed % 4, loss: 0.003, ..Fate::ROUGH };
        let second = Westwood {
            reno: Reno::new(10.0, f64::INFINITY),
            since: None,
            bytes: 0.0,
            stages: None,
            srtt: 0.0,
            least: f64::INFINITY,
        };
        Wire::new(scheme(json!({"name": "westwood-plus"}), &params(10, None)), second, fate, seed).run(6000);
    }
}
