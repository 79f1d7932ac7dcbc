//! CUBIC (RFC 9438) with `HyStart++` (RFC 9406), written a second time.

use std::ops::Range;

use serde_json::json;
use tailback_core::{
    Bytes, CongestionEvent, Controller, Cx, Feedback, Recovery, RttSample, Sent, Span, Stream, Time,
};

use super::Second;
use super::classic::Reno;
use super::wire::{Fate, SEGMENT, Wire, params, scheme};

const BETA: f64 = 0.7;
const C: f64 = 0.4;

/// RFC 9406 §4.2 and §4.3.
#[derive(Clone, Debug, Default)]
struct HyStart {
    next: u64,
    end: u64,
    last: Option<f64>,
    current: Option<f64>,
    samples: u32,
    /// The baseline, while in conservative slow start, and rounds of it.
    baseline: Option<f64>,
    rounds: u32,
}

impl HyStart {
    /// What slow start adds; nothing where it is over. The acknowledgement that makes it conservative grows as those after it.
    fn ack(&mut self, count: f64, acknowledged: u64, trip: Option<f64>) -> Option<f64> {
        if let Some(trip) = trip {
            self.current = Some(self.current.map_or(trip, |least| least.min(trip)));
            self.samples += 1;
        }
        match (trip, self.baseline) {
            (None, _) => {}
            (Some(_), None) => {
                if let (true, Some(current), Some(last)) = (self.samples >= 8, self.current, self.last) {
                    let threshold = (last / 8.0).clamp(0.004, 0.016);
                    if current >= last + threshold {
                        (self.baseline, self.rounds) = (Some(current), 0);
                    }
                }
            }
            (Some(_), Some(baseline)) => {
                if self.samples >= 8 && self.current.is_some_and(|current| current < baseline) {
                    self.baseline = None;
                }
            }
        }
        if acknowledged >= self.end {
            self.end = self.next;
            (self.last, self.current, self.samples) = (self.current, None, 0);
            if self.baseline.is_some() {
                self.rounds += 1;
                if self.rounds >= 5 {
                    return None;
                }
            }
        }
        Some(count.min(8.0) / if self.baseline.is_some() { 4.0 } else { 1.0 })
    }
}

struct Cubic {
    reno: Reno,
    hystart: Option<HyStart>,
    /// In the first slow start.
    first: bool,
    w_max: Option<f64>,
    prior: f64,
    k: f64,
    epoch: Option<f64>,
    w_est: f64,
    /// After a time-out: K is 0 and `W_max` the window at the start of the next stage.
    flat: bool,
    /// Without data until now since then, as the application had none.
    dry: Option<f64>,
    fast_convergence: bool,
    srtt: f64,
    undo: Option<Box<Undo>>,
}

#[derive(Clone, Debug)]
struct Undo {
    cwnd: f64,
    ssthresh: f64,
    prior: f64,
    w_max: Option<f64>,
    k: f64,
    epoch: Option<f64>,
    w_est: f64,
    flat: bool,
}

impl Cubic {
    fn new(hystart: bool, fast_convergence: bool, ssthresh: f64) -> Self {
        Self {
            reno: Reno::new(10.0, ssthresh),
            hystart: hystart.then(HyStart::default),
            first: true,
            w_max: None,
            prior: 0.0,
            k: 0.0,
            epoch: None,
            w_est: 0.0,
            flat: false,
            dry: None,
            fast_convergence,
            srtt: 0.0,
            undo: None,
        }
    }

    fn at(&self, t: f64) -> f64 {
        C * (t - self.k).powi(3) + self.w_max.expect("begun")
    }

    fn begin(&mut self, now: f64) {
        let cwnd = self.reno.cwnd;
        match self.w_max {
            Some(most) if !self.flat && most > cwnd => self.k = ((most - cwnd) / C).cbrt(),
            _ => (self.w_max, self.k) = (Some(cwnd), 0.0),
        }
        if self.prior == 0.0 {
            self.prior = cwnd;
        }
        (self.epoch, self.w_est, self.flat) = (Some(now), cwnd, false);
    }

    /// The application has held the window back until now, if it did.
    fn take_up(&mut self, now: f64) {
        if let (Some(epoch), Some(dry)) = (&mut self.epoch, self.dry.take()) {
            *epoch += now - dry;
        }
    }

    fn avoid(&mut self, now: f64, acked: f64) {
        if self.epoch.is_none() {
            self.begin(now);
        }
        let cwnd = self.reno.cwnd;
        let t = now - self.epoch.expect("begun");
        let alpha = if self.w_est >= self.prior { 1.0 } else { 3.0 * (1.0 - BETA) / (1.0 + BETA) };
        self.w_est += alpha * acked / cwnd;
        if self.at(t) < self.w_est {
            self.reno.cwnd = cwnd.max(self.w_est);
        } else {
            let target = self.at(t + self.srtt).clamp(cwnd, 1.5 * cwnd);
            self.reno.cwnd += (target - cwnd) / cwnd * acked;
        }
    }

    fn reduce(&mut self, now: f64, event: CongestionEvent, flight: f64) {
        self.take_up(now);
        let cwnd = self.reno.cwnd;
        if let CongestionEvent::Loss | CongestionEvent::Timeout { consecutive: 1 } = event {
            self.undo = Some(Box::new(Undo {
                cwnd,
                ssthresh: self.reno.ssthresh,
                prior: self.prior,
                w_max: self.w_max,
                k: self.k,
                epoch: self.epoch,
                w_est: self.w_est,
                flat: self.flat,
            }));
        }
        self.w_max = Some(match self.w_max {
            Some(most) if cwnd < most && self.fast_convergence => cwnd * f64::midpoint(1.0, BETA),
            _ => cwnd,
        });
        self.prior = cwnd;
        (self.epoch, self.flat) = (None, false);
        self.reno.answer(event, flight * BETA);
    }
}

impl Second for Cubic {
    fn sent(&mut self, _now: f64, sent: &Sent) {
        if let Some(hystart) = &mut self.hystart {
            hystart.next = sent.number + 1;
        }
    }

    fn heard(&mut self, now: f64, f: &Feedback<'_>) {
        if let Some(rtt) = f.rtt {
            self.srtt = rtt.smoothed.as_secs_f64();
        }
        match f.event {
            Some(event @ (CongestionEvent::Loss | CongestionEvent::Ecn)) => {
                self.first = false;
                self.reduce(now, event, self.reno.flight(f));
            }
            Some(event @ CongestionEvent::Timeout { consecutive }) => {
                self.first = false;
                if consecutive == 1 {
                    self.reduce(now, event, self.reno.flight(f));
                } else {
                    self.reno.answer(event, 0.0);
                }
                (self.flat, self.epoch) = (true, None);
            }
            Some(CongestionEvent::Spurious) => {
                if let Some(undo) = self.undo.take().filter(|_| self.reno.cwnd < self.prior) {
                    (self.reno.cwnd, self.reno.ssthresh) = (undo.cwnd, undo.ssthresh);
                    (self.prior, self.w_max, self.k) = (undo.prior, undo.w_max, undo.k);
                    (self.epoch, self.w_est, self.flat) = (undo.epoch, undo.w_est, undo.flat);
                    self.dry = None;
                }
            }
            Some(event @ CongestionEvent::Idle) => {
                self.reno.answer(event, 0.0);
                (self.first, self.flat, self.epoch, self.undo) = (false, true, None, None);
            }
            Some(CongestionEvent::RecoveryEnd) | None => {}
        }
        let acked = Reno::new_data(f);
        let slow = self.first && Reno::opens(f) && self.reno.cwnd < self.reno.ssthresh;
        if let (true, Some(hystart)) = (slow, &mut self.hystart) {
            let acknowledged = f.acked.last().map_or(0, |last| last.number + 1);
            if let Some(grown) = hystart.ack(acked, acknowledged, f.rtt.map(|rtt| rtt.latest.as_secs_f64())) {
                self.reno.cwnd += grown;
            } else {
                self.reno.ssthresh = self.reno.cwnd;
                (self.first, self.prior) = (false, self.reno.cwnd);
            }
            return;
        }
        if !f.window_limited && f.advanced.get() > 0 {
            // Time in which the application holds the window back does not count.
            if let (Some(epoch), Some(dry)) = (&mut self.epoch, self.dry) {
                *epoch += now - dry;
            }
            self.dry = Some(now);
        } else if f.advanced.get() > 0 {
            self.take_up(now);
        }
        if Reno::opens(f) {
            if self.reno.cwnd < self.reno.ssthresh {
                self.reno.open(f, 0.0);
            } else {
                self.avoid(now, acked);
            }
        }
    }

    fn window(&self) -> f64 {
        self.reno.cwnd
    }

    fn state(&self) -> String {
        format!(
            "ssthresh {:.3} W_max {:?} prior {:.3} K {:.5} epoch {:?} W_est {:.4} srtt {:.6} {:?}",
            self.reno.ssthresh,
            self.w_max,
            self.prior,
            self.k,
            self.epoch,
            self.w_est,
            self.srtt,
            self.hystart
        )
    }
}

/// The first slow start ends at a threshold that was given, or by `HyStart++`: "CUBIC sets `cwnd_prior` = cwnd" (RFC 9438 §4.10),
/// so that `W_est` grows by a segment per round trip from there on (§4.3), as Reno does.
#[test]
fn cubic_that_left_slow_start_without_a_loss() {
    for hystart in [false, true] {
        let config = json!({"name": "cubic", "hystart": hystart, "counting": "bytes"});
        let fate = Fate { base: 4.0, queue: 1.0, ..Fate::CALM };
        let second = Cubic::new(hystart, true, 12.0);
        let mut wire = Wire::new(scheme(config, &params(10, Some(12))), second, fate, 3);
        wire.run(400);
        assert!(wire.second.window() > 20.0, "{}", wire.second.state());
    }
}

fn run(fate: Fate, hystart: bool, convergence: bool, seeds: u64) {
    run_over(fate, hystart, convergence, 0..seeds);
}

fn run_over(fate: Fate, hystart: bool, convergence: bool, seeds: Range<u64>) {
    for seed in seeds {
        let config = json!({"name": "cubic", "hystart": hystart, "counting": "bytes", "fast_convergence": convergence});
        let ours = scheme(config, &params(10, None));
        Wire::new(ours, Cubic::new(hystart, convergence, f64::INFINITY), fate, seed).run(6000);
    }
}

#[test]
fn cubic_under_losses() {
    run(Fate { loss: 0.002, queue: 20.0, ..Fate::CALM }, false, true, 10);
    run(Fate { loss: 0.002, queue: 20.0, base: 4.0, ..Fate::CALM }, false, false, 10);
}

#[test]
fn cubic_with_marks() {
    run(Fate { mark: 0.003, queue: 20.0, ..Fate::CALM }, false, true, 10);
}

#[test]
fn cubic_with_timeouts() {
    run(Fate { loss: 0.002, timeout: 0.001, queue: 20.0, ..Fate::CALM }, false, true, 10);
}

#[test]
fn cubic_with_spurious() {
    run(Fate { loss: 0.002, timeout: 0.001, spurious: 0.001, queue: 20.0, ..Fate::CALM }, false, true, 10);
}

#[test]
fn cubic_with_pauses() {
    run(Fate { loss: 0.002, pause: 0.001, limited: 0.1, queue: 20.0, ..Fate::CALM }, false, true, 10);
}

#[test]
fn cubic_with_hystart() {
    run(Fate { loss: 0.0002, queue: 60.0, ..Fate::CALM }, true, true, 40);
}

#[test]
fn cubic_all() {
    run(Fate { loss: 0.002, stretch: 4, ..Fate::ROUGH }, true, true, 20);
}

/// A time-out that was none while the application limited the sender, which it did not any more when that was found: what had
/// passed since the time-out belongs to the stage that is taken up again (RFC 9438 §4.9.2).
#[test]
fn cubic_that_was_limited_before_a_spurious_timeout() {
    run_over(Fate { loss: 0.002, stretch: 4, ..Fate::ROUGH }, true, true, 4000..4020);
}

/// Tables 1 and 2 of RFC 9438 §5.1 and §5.2, from its equation 5: where a loss comes whenever the window is back at `W_max`,
/// once in 1/p packets, the mean window is 1.054 (RTT/p)^(3/4) segments. The model is continuous; 3 % is for whole
/// acknowledgements. (A loss after each so many packets is no rest for CUBIC: large and small periods alternate.) The cubic
/// stands alone here: of its two curves CUBIC takes the larger at each moment, and so has more than the larger of their means.
#[test]
fn cubic_has_the_mean_windows_of_its_tables() {
    for (packets, trip, expected) in
        [(1e3, 0.1, 33.3), (1e4, 0.1, 187.4), (1e5, 0.1, 1053.8), (1e5, 0.01, 187.4)]
    {
        // The mean of a period is (3 + β)/4 of its largest window.
        let (mean, between) = periodic(expected * 4.0 / 3.7, trip);
        let law = 1.0538 * (trip * between).powf(0.75);
        assert!((mean / law - 1.0).abs() < 0.03, "{trip} s, {between} packets: {mean} instead of {law}");
        assert!((between / packets - 1.0).abs() < 0.05, "{trip} s, {between} packets instead of {packets}");
    }
}

/// A loss whenever the window reaches `top`: its mean over time, and the packets between losses, of the last six of eight periods.
fn periodic(top: f64, trip: f64) -> (f64, f64) {
    let config =
        json!({"name": "cubic", "counting": "bytes", "fast_convergence": false, "reno_friendly": false});
    let mut ours = scheme(config, &params(top as u64 + 1, Some(2)));
    let (mut now, mut area, mut time, mut packets, mut losses) = (1.0, 0.0, 0.0, 0.0, 0);
    let mut rng = Stream::new(1, "periodic");
    let span = Span::from_secs_f64(trip);
    let rtt = Some(RttSample { latest: span, smoothed: span, min: span });
    while losses < 8 {
        let window = ours.directive().window.expect("a window").as_f64() / SEGMENT as f64;
        now += trip / window;
        if losses >= 2 {
            (area, time, packets) = (area + trip, time + trip / window, packets + 1.0);
        }
        let ack = Feedback { advanced: Bytes::new(SEGMENT), rtt, ..Feedback::empty() };
        let outstanding = Bytes::new((window * SEGMENT as f64) as u64);
        let mut tell = |feedback: &Feedback<'_>| {
            let mut cx = Cx { rng: &mut rng, notes: None };
            ours.on_feedback(Time::ZERO + Span::from_secs_f64(now), feedback, &mut cx);
        };
        if window >= top {
            losses += 1;
            let event = Some(CongestionEvent::Loss);
            tell(&Feedback { event, outstanding, recovery: Recovery::Fast, ..Feedback::empty() });
            tell(&Feedback { event: Some(CongestionEvent::RecoveryEnd), ..ack });
        } else {
            tell(&ack);
        }
    }
    (area / time, packets / 6.0)
}
