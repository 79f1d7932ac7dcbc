//! What tests of active queue management put policies on, and the traffic that they send to them. No law lives here.

use tailback_core::{
    Annexes, ArrivalPolicy, Backlog, BitRate, Capacity, DropReason, Ecn, FlowId, Kind, Packet, QueueCx, Span,
    Stream, Time, Verdict,
};
use tailback_qdisc::{Admission, Built};

use crate::common::{Job, MEAN_PACKET, Outcome, RATE, config, link};

/// An arrival policy that is shown whatever backlog the test likes.
pub(super) struct Bench {
    pub(super) policy: Admission,
    pub(super) rng: Stream,
    pub(super) annexes: Annexes,
    pub(super) drops: Vec<(Packet, DropReason)>,
    pub(super) marks: u32,
    pub(super) idle_since: Option<Time>,
    pub(super) rate: BitRate,
}

impl Bench {
    pub(super) fn new(written: &str, capacity: Capacity) -> Self {
        let Built::Arrival(policy) = config(written).build(&link(capacity)) else { panic!("{written}") };
        let (rng, annexes) = (Stream::new(5, "bench"), Annexes::new());
        Self { policy, rng, annexes, drops: Vec::new(), marks: 0, idle_since: None, rate: RATE }
    }

    /// What the policy tells of its state under this name.
    pub(super) fn told(&self, wanted: &str) -> f64 {
        let mut told = f64::NAN;
        self.policy.observe(Time::ZERO, &mut |name, value| {
            if name == wanted {
                told = value;
            }
        });
        told
    }

    pub(super) fn admit(&mut self, now: Time, packet: &mut Packet, waiting: u32) -> Verdict {
        let mut cx = QueueCx {
            rng: &mut self.rng,
            annexes: &mut self.annexes,
            rate: self.rate,
            idle_since: self.idle_since,
            drops: &mut self.drops,
            marks: 0,
        };
        let backlog = Backlog { packets: waiting, bytes: MEAN_PACKET * u64::from(waiting) };
        let verdict = self.policy.admit(now, packet, &backlog, &mut cx);
        self.marks += cx.marks;
        verdict
    }
}

pub(super) fn packet() -> Packet {
    Packet::new(Kind::Data, FlowId(0), 0, MEAN_PACKET)
}

pub(super) fn millis(count: u64) -> Time {
    Time::ZERO + Span::from_millis(count)
}

/// Poisson arrivals of 1000 B packets at a part `load` of the rate.
pub(super) fn poisson(load: f64, count: usize, ecn: Ecn) -> Vec<Job> {
    bursts(load, 1, count, ecn)
}

/// Poisson arrivals of bursts of `burst` packets.
pub(super) fn bursts(load: f64, burst: usize, count: usize, ecn: Ecn) -> Vec<Job> {
    let mut rng = Stream::new(11, "arrivals");
    let mut clock = 0.0;
    let mut jobs = Vec::with_capacity(count);
    while jobs.len() < count {
        clock += rng.exponential() * 1000.0 * burst as f64 / load;
        for _ in 0..burst {
            jobs.push(Job { ecn, ..Job::new(clock as u64, rng.below(8) as u32, 1000) });
        }
    }
    jobs
}

/// The part of the rate used between the first tenth of the departures and the last.
pub(super) fn utilization(outcome: &Outcome) -> f64 {
    let steady = &outcome.departures[outcome.departures.len() / 10..];
    let bytes: u64 = steady.iter().map(|departure| departure.size).sum();
    let (first, last) = (steady[0].started, steady[steady.len() - 1].ended);
    bytes as f64 / (RATE.bytes_per_sec() * last.since(first).as_secs_f64())
}

/// The mean queueing delay over the second half of the departures, in seconds.
pub(super) fn late_delay(outcome: &Outcome) -> f64 {
    let late = &outcome.departures[outcome.departures.len() / 2..];
    late.iter().map(|d| d.started.since(d.arrived).as_secs_f64()).sum::<f64>() / late.len() as f64
}
