//! Packet-pair flow control: all data leaves as back-to-back pairs, the spacing of their acknowledgements tells the
//! bottleneck's service time, and the rate steers the bottleneck's queue to a setpoint. The scheme `packet-pair`, for
//! networks of round-robin-like servers. Estimators and laws live in `estimators` and `laws::bottleneck`, what a pair's
//! acknowledgements mean in `probe.rs`, the same control run at the receiver in `remote.rs`; retransmission and pairing on
//! the wire in `transport`.
//!
//! Source: S. Keshav, "Packet-Pair Flow Control" (1994):
//!
//! | rule | where |
//! | --- | --- |
//! | `ŝ ←` spacing of a pair's acknowledgements, through an estimator | §3, §4.4, §4.5 |
//! | `n̂_b = S - R/ŝ`, `R` the first probe's round trip time | §4.3 |
//! | the continuous law at every pair, or the discrete one at every round trip | §4.2, §4.3 |
//! | a new rate counts from the next tick of the pairs' timer on (`rate_timer.rs`) | §8 |
//! | before the first pair's acknowledgements one pair only, or a guaranteed nominal rate | §5 |
//! | adaptive exponential rise while `n̂_b <= 2` | §5, §8 |
//! | setpoint fixed, or probed: + `increase` every so many round trips, x `decrease` at a loss | §7 |
//! | time-out `1.5 (R + S ŝ)` after the last packet sent; then the setpoint starts anew | §6, appendix |
//!
//! Deviations:
//! * the setpoint falls at most once per round trip of losses, or for each lost packet (`cut`); in the program, once per
//!   hole that comes to the head of the window, which is late and, where a retransmission is lost, never;
//! * `J` is in round trip times `R + n̂_b ŝ`, the time-out in `R + S ŝ` (§6); the program takes `J` for both;
//! * the program sends nothing more when its first probe is lost; here the probe is repeated;
//! * no rate is kept for longer than a round trip, whatever the timer says (`rate_timer.rs`);
//! * a time-out puts the rise back to rest (phase 9 of §9.2: "a new slow-start"); a second in a row begins anew;
//! * after an idle time, also one that the law itself ordered, the rise begins from rest, as §5 claims; the program keeps its
//!   smoothed rate, and after its own silence sends at the rate of its last probe for a round trip. Optional.
//!
//! Open problems: at a first-in first-out bottleneck the spacing tells the line's rate, not the conversation's share;
//! spacing on the way back is noise (§3); R is overestimated when the first probe meets a queue of its own.

mod config;
mod probe;
mod rate_timer;
mod remote;
mod scheme;

use tailback_core::{
    BitRate, Bytes, CongestionEvent, Controller, Cx, Directive, Feedback, ProbePlan, Recovery, Sent, Span,
    Time,
};

use crate::estimators::{AnyEstimator, Estimator, Sample};
use crate::laws::{AdaptiveRise, Bottleneck, ContinuousLaw, DiscreteLaw, Epoch, SetpointProbing};
use crate::parts::ControllerParams;
pub use config::{ControlledAt, Law, PacketPairConfig, Propagation, RateChange, Setpoint};
use probe::{ProbeReader, Reading};
use rate_timer::RateTimer;
pub use remote::{PacketPairPolicy, PacketPairRemote};
pub use scheme::PacketPairSender;

/// With no more packets in the queue, estimates are suspect (§5).
const CAUTION: f64 = 2.0;

/// What the discrete law keeps from one epoch to the next: `n̂_b` at the beginning, μ̂ predicted for it.
#[derive(Clone, Copy, Debug)]
struct Predicted {
    backlog: f64,
    service_rate: f64,
}

/// Packet-pair.
#[derive(Clone, Debug)]
pub struct PacketPair {
    config: PacketPairConfig,
    probing: Option<SetpointProbing>,
    /// A full packet's bytes on the wire.
    segment: f64,
    /// The cut-off of §10.3; `None` without.
    window_limit: Option<Bytes>,
    probes: ProbeReader,
    estimator: AnyEstimator,
    rise: AdaptiveRise,
    /// R in seconds, once known.
    propagation: Option<f64>,
    setpoint: f64,
    /// Round trips since the setpoint was last raised.
    round_trips: u32,
    /// λ in packets per second; `None` before the first pair's acknowledgements.
    rate: Option<f64>,
    timer: RateTimer,
    backlog: f64,
    predicted: Option<Predicted>,
    timeout: Option<Span>,
    /// The last time that anything was sent or acknowledged.
    active_at: Time,
    /// How many packets may be outstanding before the first measurement: a pair, or one after a time-out.
    opening: u64,
}

impl PacketPair {
    /// A connection's start.
    pub fn new(config: &PacketPairConfig, params: &ControllerParams) -> Self {
        let segment = params.segment.as_f64().max(1.0);
        Self {
            probing: config.setpoint.probing(),
            segment,
            window_limit: (params.max_window != Bytes::MAX).then_some(params.max_window),
            probes: ProbeReader::new(segment, config.clock),
            estimator: config.estimator.build(),
            rise: AdaptiveRise::new(config.increase_factor, config.rate_smoothing),
            propagation: None,
            setpoint: config.setpoint.initial(),
            round_trips: 0,
            rate: None,
            timer: RateTimer::new(config, params.segment),
            backlog: 0.0,
            predicted: None,
            timeout: None,
            active_at: Time::ZERO,
            opening: 2,
            config: config.clone(),
        }
    }

    /// ŝ: the bottleneck's service time in seconds per packet, once measured.
    pub fn service_time(&self) -> Option<f64> {
        self.estimator.estimate()
    }

    /// The bottleneck while so many bytes are outstanding.
    fn bottleneck(&self, in_flight: f64) -> Option<Bottleneck> {
        Some(Bottleneck {
            service_time: self.estimator.estimate()?,
            propagation: self.propagation?,
            outstanding: in_flight / self.segment,
        })
    }

    fn on_event(&mut self, event: CongestionEvent) {
        match event {
            CongestionEvent::Ecn => self.lower_setpoint(1),
            CongestionEvent::Timeout { consecutive } => {
                self.setpoint = self.config.setpoint.initial();
                self.rest();
                if consecutive > 1 || self.rate.is_none() {
                    self.begin_anew();
                }
            }
            CongestionEvent::Loss
            | CongestionEvent::RecoveryEnd
            | CongestionEvent::Spurious
            | CongestionEvent::Idle => {}
        }
    }

    /// So many packets are lost; `is_new` where they are the first of a round trip.
    fn lose(&mut self, packets: usize, is_new: bool) {
        let cut = self.probing.as_ref().map(|probing| probing.cut).unwrap_or_default();
        self.lower_setpoint(cut.count(packets, is_new));
    }

    fn lower_setpoint(&mut self, times: usize) {
        if times > 0
            && let Some(probing) = &self.probing
        {
            let times = i32::try_from(times).unwrap_or(i32::MAX);
            self.setpoint = (self.setpoint * probing.decrease.powi(times)).max(probing.least);
        }
    }

    /// What was known is aged: the rate rises from rest towards it.
    fn rest(&mut self) {
        self.probes.forget();
        self.rise.rest();
        self.backlog = 0.0;
        self.predicted = None;
        if let (Some(_), Some(service_time)) = (self.rate, self.estimator.estimate()) {
            self.rate = Some(self.rise.towards(1.0 / service_time, true));
        }
    }

    /// Nothing that was known holds: probe once more, with a single packet to find out whether anybody is there.
    fn begin_anew(&mut self) {
        self.estimator = self.config.estimator.build();
        self.propagation = None;
        self.rate = None;
        self.timeout = None;
        self.opening = 1;
    }

    fn count_round_trip(&mut self) {
        self.round_trips += 1;
        if let Some(probing) = &self.probing
            && self.round_trips >= probing.every
        {
            self.round_trips = 0;
            self.setpoint += probing.increase;
        }
    }

    fn take_round_trip(&mut self, span: Span) {
        let measured = span.as_secs_f64();
        self.propagation = match (self.propagation, self.config.propagation) {
            (None, _) => Some(measured),
            (Some(known), Propagation::Least) => Some(known.min(measured)),
            (known, Propagation::First) => known,
        };
    }

    /// A pair was measured: a new estimate, and by the continuous law a new rate.
    fn on_spacing(&mut self, spacing: f64, in_flight: f64, cx: &mut Cx<'_>) {
        let rate = self.rate.unwrap_or(0.0);
        let epoch = self.propagation.unwrap_or(0.0);
        let service_time = self.estimator.update(&Sample { observed: spacing, rate, epoch });
        cx.note("spacing", spacing);
        cx.note("service_rate", 8.0 * self.segment / service_time);
        let Some(bottleneck) = self.bottleneck(in_flight) else { return };
        self.backlog = bottleneck.backlog();
        cx.note("backlog", self.backlog * self.segment);
        cx.note("setpoint", self.setpoint * self.segment);
        if self.rate.is_none() {
            // The first measurement: the first target is the bottleneck's rate itself.
            self.rate = Some(self.rise.towards(1.0 / service_time, true));
        } else if let Law::Continuous { attack_up, attack_down } = self.config.law {
            let law = ContinuousLaw { attack_up, attack_down };
            self.aim(law.rate(&bottleneck, self.setpoint));
        }
        let expected = bottleneck.propagation + bottleneck.outstanding * service_time;
        self.timeout = Some(Span::from_secs_f64(self.config.timeout_multiplier * expected));
    }

    /// Towards a target, with caution where the queue is nearly empty.
    fn aim(&mut self, target: f64) {
        self.rate = Some(self.rise.towards(target, self.backlog <= CAUTION));
    }

    /// The end of an epoch: by the discrete law a new rate.
    fn on_epoch(&mut self, round_trip: Option<Span>, in_flight: f64) {
        let Law::Discrete { alpha } = self.config.law else { return };
        let (Some(bottleneck), Some(_)) = (self.bottleneck(in_flight), self.rate) else { return };
        let service_rate = 1.0 / bottleneck.service_time;
        let epoch = self.predicted.map(|predicted| Epoch {
            backlog_before: predicted.backlog,
            outstanding: bottleneck.outstanding,
            service_rate: predicted.service_rate,
            next_service_rate: service_rate,
            round_trip: round_trip.map_or(bottleneck.round_trip(), Span::as_secs_f64),
        });
        self.backlog = bottleneck.backlog();
        self.predicted = Some(Predicted { backlog: self.backlog, service_rate });
        if let Some(epoch) = epoch {
            self.aim(DiscreteLaw { alpha }.rate(&epoch, self.setpoint));
        }
    }

    /// Something was newly acknowledged.
    fn on_reading(&mut self, now: Time, reading: Reading, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        let Reading { round_trip, spacing, round_passed } = reading;
        self.active_at = now;
        if self.rate.is_none() && feedback.recovery != Recovery::Fast {
            self.opening = 2;
        }
        if let Some(span) = round_trip {
            self.take_round_trip(span);
        }
        if let Some(spacing) = spacing {
            self.on_spacing(spacing, feedback.in_flight.as_f64(), cx);
        }
        if round_passed {
            self.on_epoch(round_trip, feedback.in_flight.as_f64());
        }
    }

    /// The rate as of now, which the timer takes up when it is next loaded.
    fn directed(&self) -> Option<BitRate> {
        match self.rate {
            Some(rate) => Some(bit_rate(rate, self.segment)),
            None => self.config.nominal_rate.filter(|_| self.opening == 2),
        }
    }
}

/// Never still, never absurd: a pair in an hour, 10^15 bit/s.
fn bit_rate(packets_per_second: f64, segment: f64) -> BitRate {
    BitRate::from_bits_per_sec_f64((8.0 * segment * packets_per_second).clamp(1.0, 1e15))
}

impl Controller for PacketPair {
    fn on_sent(&mut self, now: Time, sent: &mut Sent, _: &mut Cx<'_>) {
        let idle = now.since(self.active_at);
        let alone = sent.in_flight <= sent.size;
        if self.config.idle_restart && alone && self.timeout.is_some_and(|limit| idle > limit) {
            self.rest();
        }
        self.active_at = now;
        sent.tag = self.probes.on_sent();
        self.timer.load(now, self.directed());
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        let reading = self.probes.read(now, feedback.acked);
        if reading.is_some_and(|reading| reading.round_passed) {
            self.count_round_trip();
        }
        let is_new = self.probes.is_new_loss(feedback.lost);
        self.lose(feedback.lost.len(), is_new);
        if let Some(event) = feedback.event {
            self.on_event(event);
        }
        if let Some(reading) = reading {
            self.on_reading(now, reading, feedback, cx);
        }
        if reading.is_some() || feedback.event.is_some() {
            let bottleneck = self.bottleneck(feedback.in_flight.as_f64());
            let round_trip = bottleneck.map(|found| Span::from_secs_f64(found.round_trip()));
            self.timer.change(now, self.directed(), round_trip);
        }
    }

    fn on_timer(&mut self, now: Time, _: &mut Cx<'_>) {
        self.timer.expire(now, self.directed());
    }

    fn next_timer(&self) -> Option<Time> {
        self.timer.next(self.directed())
    }

    fn directive(&self) -> Directive {
        let rate = self.timer.in_force();
        let opening = Bytes::new(self.opening * self.segment as u64);
        let window = match (rate, self.window_limit) {
            (None, limit) => Some(limit.map_or(opening, |limit| limit.min(opening))),
            (Some(_), limit) => limit,
        };
        let probe = Some(ProbePlan::DataPairs { singleton_timeout: self.config.singleton_timeout });
        Directive { window, probe, timeout: self.timeout, rate, ..Directive::window(Bytes::MAX) }
    }
}
