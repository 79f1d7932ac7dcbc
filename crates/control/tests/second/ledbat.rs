//! LEDBAT, written a second time from RFC 6817 §2.4.2: its lists, and its listing's steps on each acknowledgement. What the
//! RFC leaves open is as the scheme's head says: no growth while a loss is repaired or its echo comes, minutes that begin with
//! a delay, RFC 5681 §4.1 after a pause.

use std::collections::VecDeque;

use serde_json::json;
use tailback_core::{CongestionEvent, Feedback, Recovery};

use super::Second;
use super::classic::Reno;
use super::wire::{Fate, SEGMENT, Wire, params, scheme};

/// `CURRENT_FILTER` at most, and `BASE_HISTORY`.
const CURRENT_FILTER: usize = 4;
const BASE_HISTORY: usize = 10;
const MIN_CWND: f64 = 2.0;

/// TARGET in seconds, GAIN, `ALLOWED_INCREASE` in segments, and what the receiver's clock gains in a million seconds.
#[derive(Clone, Copy)]
struct Parameters {
    target: f64,
    gain: f64,
    allowed_increase: f64,
    clock_drift: f64,
}

const USUAL: Parameters = Parameters { target: 0.1, gain: 1.0, allowed_increase: 1.0, clock_drift: 0.0 };

struct Ledbat {
    of: Parameters,
    /// Its window is cwnd.
    reno: Reno,
    round_trip: f64,
    /// When each was observed, and the delay in seconds.
    current_delays: VecDeque<(f64, f64)>,
    base_delays: VecDeque<f64>,
    last_rollover: f64,
}

impl Ledbat {
    fn new(of: Parameters) -> Self {
        Self {
            of,
            reno: Reno::new(MIN_CWND, f64::INFINITY),
            round_trip: 0.0,
            current_delays: VecDeque::new(),
            base_delays: VecDeque::from([f64::INFINITY; BASE_HISTORY]),
            last_rollover: f64::NEG_INFINITY,
        }
    }

    fn update_base_delay(&mut self, now: f64, delay: f64) {
        if now - self.last_rollover >= 60.0 - 1e-9 {
            self.last_rollover = now;
            self.base_delays.pop_front();
            self.base_delays.push_back(delay);
        } else {
            let tail = self.base_delays.back_mut().expect("ten");
            *tail = tail.min(delay);
        }
    }

    fn update_current_delay(&mut self, now: f64, delay: f64) {
        let round_trip = self.round_trip;
        self.current_delays.retain(|(at, _)| now - at <= round_trip + 1e-9);
        self.current_delays.push_back((now, delay));
        if self.current_delays.len() > CURRENT_FILTER {
            self.current_delays.pop_front();
        }
    }

    fn queuing_delay(&self) -> Option<f64> {
        let current = self.current_delays.iter().map(|(_, delay)| *delay).reduce(f64::min)?;
        Some(current - self.base_delays.iter().copied().fold(f64::INFINITY, f64::min))
    }

    fn steer(&mut self, f: &Feedback<'_>) {
        let Some(queuing) = self.queuing_delay() else { return };
        let Parameters { target, gain, allowed_increase, .. } = self.of;
        let cwnd = self.reno.cwnd;
        let off_target = (target - queuing) / target;
        let change = gain * off_target * Reno::new_data(f) / cwnd;
        let echoed = f.echoes.ce > 0 && f.recovery != Recovery::Timeout;
        let held = f.recovery == Recovery::Fast || echoed;
        if held && change > 0.0 {
            return;
        }
        let max_allowed = f.outstanding.as_f64() / SEGMENT as f64 + allowed_increase;
        let steered = (cwnd + change).min(max_allowed).max(MIN_CWND);
        self.reno.cwnd = if held { steered.min(cwnd) } else { steered };
    }
}

impl Second for Ledbat {
    fn heard(&mut self, now: f64, f: &Feedback<'_>) {
        if let Some(rtt) = f.rtt {
            self.round_trip = rtt.smoothed.as_secs_f64();
        }
        if let Some(way) = f.one_way {
            // In whole nanoseconds: the clocks may be far apart.
            let arrived = way.arrived.as_nanos().cast_signed();
            let arrived = arrived + (arrived as f64 * self.of.clock_drift * 1e-6) as i64;
            let delay = (arrived - way.sent_at.as_nanos().cast_signed()) as f64 * 1e-9;
            self.update_base_delay(now, delay);
            self.update_current_delay(now, delay);
        }
        match f.event {
            Some(event @ (CongestionEvent::Loss | CongestionEvent::Ecn)) => {
                let half = (self.reno.cwnd / 2.0).max(MIN_CWND);
                self.reno.answer(event, half);
            }
            Some(event) => self.reno.answer(event, self.reno.cwnd / 2.0),
            None if f.advanced.get() > 0 => self.steer(f),
            None => {}
        }
    }

    fn window(&self) -> f64 {
        self.reno.cwnd
    }

    fn state(&self) -> String {
        let ago = |now: f64| self.current_delays.iter().map(move |(at, delay)| (now - at, *delay));
        let newest = self.current_delays.back().map_or(0.0, |(at, _)| *at);
        format!(
            "queuing {:?} current {:?} base {:?} rolled {:.3}",
            self.queuing_delay(),
            ago(newest).collect::<Vec<_>>(),
            self.base_delays,
            self.last_rollover
        )
    }
}

fn run_for(of: Parameters, fate: Fate, seeds: u64, steps: usize) {
    let Parameters { target, gain, allowed_increase, clock_drift } = of;
    let config = json!({
        "name": "ledbat",
        "target": format!("{} ms", target * 1e3),
        "gain": gain,
        "allowed_increase": allowed_increase,
        "clock_drift": clock_drift,
    });
    for seed in 0..seeds {
        let ours = scheme(config.clone(), &params(10, None));
        Wire::new(ours, Ledbat::new(of), fate, seed).run(steps);
    }
}

/// Around its target, where much queues.
const BUSY: Fate = Fate { queue: 300.0, ..Fate::CALM };

#[test]
fn ledbat_in_calm() {
    run_for(USUAL, BUSY, 5, 6000);
    run_for(USUAL, Fate { queue: 120.0, stretch: 3, unstamped: 0.2, ..Fate::CALM }, 5, 6000);
    run_for(USUAL, Fate { limited: 0.5, stretch: 4, ..BUSY }, 5, 6000);
}

#[test]
fn ledbat_with_losses_and_marks() {
    run_for(USUAL, Fate { loss: 0.002, ..BUSY }, 5, 6000);
    run_for(USUAL, Fate { mark: 0.01, stretch: 3, queue: 100.0, ..Fate::ROUGH }, 10, 6000);
    run_for(
        USUAL,
        Fate { loss: 0.02, timeout: 0.01, spurious: 0.002, queue: 250.0, ..Fate::ROUGH },
        10,
        6000,
    );
}

/// Ten minutes are over within a few thousand steps, and the way becomes longer and shorter meanwhile.
#[test]
fn ledbat_forgets_its_base_after_ten_minutes() {
    let fate = Fate { base: 200.0, route: (0.002, 200.0), pause: 0.02, limited: 0.05, ..Fate::CALM };
    run_for(USUAL, fate, 10, 6000);
    run_for(USUAL, Fate { base: 1200.0, queue: 50.0, pause: 0.01, ..fate }, 10, 6000);
}

#[test]
fn ledbat_with_parameters_of_every_kind() {
    let fate = Fate { loss: 0.002, stretch: 2, ..BUSY };
    for clock_drift in [-1000.0, -300.0, 300.0, 1000.0] {
        run_for(Parameters { clock_drift, ..USUAL }, Fate { pause: 0.01, ..fate }, 3, 4000);
    }
    run_for(Parameters { target: 0.025, gain: 0.3, ..USUAL }, fate, 3, 4000);
    run_for(Parameters { allowed_increase: 0.25, ..USUAL }, Fate { limited: 0.3, ..fate }, 3, 4000);
    run_for(Parameters { allowed_increase: 6.5, ..USUAL }, Fate { limited: 0.3, ..fate }, 3, 4000);
}
