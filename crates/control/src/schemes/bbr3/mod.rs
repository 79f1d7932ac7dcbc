//! BBR, version 3: a rate and a window bounded by what delivery, loss and the smallest round trip time say. The scheme
//! `bbr3`. What happens when is here, states in `state.rs`, the cycle of probes in `probe_bw.rs`, probes of the round trip time in
//! `probe_rtt.rs`; the path's model is in `model.rs`, round trip times in `rtt.rs`, losses in `loss.rs`, the window and the rate
//! in `control.rs`.
//!
//! Source: draft-ietf-ccwg-bbr-06 (July 2026), §5. "long-term" and "short-term" bounds are `inflight_longterm`,
//! `bw_shortterm` and `inflight_shortterm` there.
//!
//! | state | pacing, window gain | leaves |
//! | --- | --- | --- |
//! | Startup | 2.77, 2 | rate flat for 3 rounds; or in recovery a round with more than 2 % lost in 6 pieces |
//! | Drain | 0.5, 2 | in flight ≤ BDP, or 3 rounds |
//! | Down | 0.9, 2 | in flight ≤ BDP and below the long-term bound with headroom: Cruise; or time to probe: Refill |
//! | Cruise | 1, 2 | time to probe: 2 to 3 s, or as many rounds as BDP has packets, at most 63 |
//! | Refill | 1, 2 | one round |
//! | Up | 1.25, 2.25 | rate flat for 3 rounds; more than 2 % lost; see "precaution" |
//! | ProbeRTT | 1, 0.5 | 200 ms and a round; entered when the smallest round trip time is 5 s old |
//!
//! Contradictions of the draft, and what was decided:
//!
//! | the draft | here |
//! | --- | --- |
//! | `probe_rtt_min_delay`, `probe_rtt_min_stamp`, `loss_round_delivered` are not initialised | none, the first sample's time, 0 |
//! | gains are in a table only | they are set from the state, whenever it changes |
//! | ProbeRTT's window is 4 packets in the text, half a BDP in the pseudocode | half a BDP, at least 4 |
//! | Reno coexistence compares rounds with bytes | with packets: bytes over the segment size |
//! | the second term of the volume at loss may be negative | it is at least 0, as in Linux |
//! | a time-out leaves "in flight + 1" | one segment more than what is in flight |
//! | Down lasts until BDP is in flight in the text, and until a product with `max_bw` is in the pseudocode | BDP, with `bw` |
//! | aggregation is computed with the `bw` of the acknowledgement before | with that of the newest sample, as in Linux |
//! | after an idle time `extra_acked_delivered` stays, though its interval begins anew | it begins anew, too, as in Linux |
//! | what marks do is not defined | data is not ECN-capable, and marks are ignored |
//! | what a spurious loss gives back is saved when a recovery begins in the text, and with each round of loss in the pseudocode: what the recovery itself had cut would be saved, too, and its exit from a state forgotten | when a recovery begins, or a time-out, as in Linux |
//! | the state is saved with it in the appendix; §5.5.11 notes it where losses end Startup or Up | the latter |
//! | an acknowledgement may show too much loss in the text of §5.5.10, only a lost packet in the pseudocode | a lost packet |
//! | the loss rate that ends Startup is in the text only, "over a single full round trip" | since the acknowledged packet left, as in `IsInflightTooHigh` |
//! | Drain is bounded by the long-term bound in the table of §5.6.1, not in the pseudocode | not |
//! | a sample over less than the smallest round trip time has rate 0, which would be a flat round | it has none, and says nothing of a full pipe or a volume |
//! | a recovery ends "during" an acknowledgement | the window comes back after the model has heard of it, before it is bounded, as in Linux |
//! | no step says whether what states compare in flight, as at the end of a careful probe, still has what the acknowledgement acknowledges | not: by §2.2 it is no part of `C.inflight`, which §4.1.2.4 updates before the window and the rate. Linux takes what was in flight before |
//! | fast recovery: a window "by packet conservation" is a MAY | the model alone bounds the window; its end restores what it was |
//!
//! Precaution (new in -06): where the last probe lost too much, Up ends at the long-term bound; if its round of
//! feedback then is clean, the next probe begins at once.
//!
//! Departures of others: Linux v3 has Drain 0.347 and Down 0.91, answers marks, and bounds aggregation to 100 ms; quiche's
//! threshold of loss is 1.5 % and it probes round trip times every 10 s; tquic subtracts 0.85 as headroom, not 0.15.
//!
//! Deviations: packets leave one by one at the rate, though the window has room for three quanta.
//!
//! Requests for acknowledgements (§4.1.3.3) are made where `ack_frequency` says so, and are in `acks.rs`. What the draft leaves
//! open there, and what was decided:
//!
//! | the draft | here |
//! | --- | --- |
//! | "at least 4 acknowledgements per round trip" in Startup, Refill and Up | one per 2 packets, per packet where by the rate fewer than 8 arrive in a smoothed round trip time or the window has room for fewer than 16, or after a quarter of that time; app-limited or in bunches there may be fewer |
//! | Down and Cruise may ask for "up to" half a round trip time and "roughly" a quarter of the window | just that, in whole packets, at least one; with windows below 8 packets each is acknowledged |
//! | Drain is not named | as Startup |
//! | ProbeRTT: a prompt acknowledgement of each flight's last packet, and maybe a short delay | both: as Startup, and at once for the packet that fills the window |
//! | who "frequently" exhausts the window asks for more | each whole round in which it was full, in Down or Cruise, halves threshold and delay, down to those of Up; each return to Down or Cruise, after ProbeRTT too, takes one halving back |
//! | when a request is renewed is not said | when the phase asks for another kind, or at a round's end where something differs by more than a quarter; until then a delay may be 0.67 of a round trip time that has become shorter |
//! | ProbeRTT's flights: those that were under way when it began are not named | no packet of theirs can be marked any more; they end by the request before, within half a round trip time |
//! | the offload budget "can be increased" by the lesser of a threshold in packets and a delay times a rate (§5.5.8) | it is, the threshold in bytes of full segments |

mod acks;
mod control;
mod loss;
mod model;
mod probe_bw;
mod probe_rtt;
mod rtt;
mod state;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{
    AckWish, Bytes, Checker, CongestionEvent, Controller, Cx, DeliverySample, Directive, Feedback, Recovery,
    Sent, Span, Time,
};

use crate::needs::{MarkResponse, Needs, Reliability};
use crate::parts::{ControllerParams, Family, Parts, SchemeConfig, SchemeInfo};
use crate::reals::{larger, smaller};
use acks::{AckPlan, Seen};
use control::Control;
use loss::Pieces;
use model::Model;
use rtt::RoundTrips;

pub use state::State;

/// The constants are the draft's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Bbr3Config {
    /// Whether the receiver is asked how often to acknowledge, by what BBR is about (§4.1.3.3 of the draft): after 1 or 2
    /// packets where it measures, after up to a quarter of the window or half a round trip time where it sends at the rate.
    /// Default false: it acknowledges as it is configured.
    pub ack_frequency: bool,
}

/// `LossThresh`.
const LOSS: f64 = 0.02;
/// `Beta`.
const BETA: f64 = 0.7;
/// `Headroom`.
const HEADROOM: f64 = 0.15;
/// `MinPipeCwnd`, in segments.
const LEAST_WINDOW: f64 = 4.0;
/// `StartupFullLossCnt`: pieces of lost data in a round.
const PIECES: u32 = 6;
/// Rounds after which Drain ends in any case.
const DRAIN_ROUNDS: u64 = 3;
/// The most rounds between two probes.
const MOST_ROUNDS: f64 = 63.0;

impl SchemeConfig for Bbr3Config {
    type Controller = Bbr3;

    fn info(&self) -> &'static SchemeInfo {
        &SchemeInfo {
            name: "bbr3",
            summary: "A rate and a window bounded by what delivery, loss and round trip times say of the path",
            source: "draft-ietf-ccwg-bbr-06",
            reliability: Reliability::Sack,
            expects_discipline: "any",
        }
    }

    fn needs(&self) -> Needs {
        Needs {
            delivery: true,
            lost_retransmissions: true,
            marks: MarkResponse::Controller,
            ack_requests: self.ack_frequency,
            ..Needs::over(Reliability::Sack)
        }
    }

    fn family(&self) -> Family {
        Family::Rate
    }

    fn check(&self, _: &mut Checker) {}

    fn build(&self, params: &ControllerParams) -> Parts<Bbr3> {
        let acks = self.ack_frequency.then(Box::default);
        Parts::sender(Bbr3 { acks, ..Bbr3::new(params) })
    }
}

/// What a spurious recovery gives back.
#[derive(Clone, Copy, Debug)]
struct Undo {
    /// The state that its losses ended.
    left: Option<State>,
    bounds: model::Bounds,
}

/// BBR, version 3.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    segment: f64,
    state: State,
    model: Model,
    trips: RoundTrips,
    control: Control,
    drain_round: u64,
    /// When the present phase of `ProbeBW` began.
    cycle_began: Time,
    rounds_since_probe: u32,
    probe_wait: Span,
    /// Rounds and bytes of the present rise of the long-term bound, and the bytes that raise it by a segment.
    up_rounds: i32,
    up_acked: f64,
    up_every: f64,
    prev_too_high: bool,
    stopped_risky: bool,
    /// What was repaired before the present batch.
    recovery: Recovery,
    /// What was delivered when the present fast recovery began.
    recovering_from: Option<Bytes>,
    pieces: Pieces,
    idle_restart: bool,
    undo: Option<Undo>,
    /// What is asked of the receiver, where it is asked.
    acks: Option<Box<AckPlan>>,
}

impl Bbr3 {
    /// A connection's start.
    pub fn new(params: &ControllerParams) -> Self {
        let segment = params.segment.as_f64().max(1.0);
        Self {
            segment,
            state: State::Startup,
            model: Model::default(),
            trips: RoundTrips::default(),
            control: Control::new(params, State::Startup.gains().0),
            drain_round: 0,
            cycle_began: Time::ZERO,
            rounds_since_probe: 0,
            probe_wait: Span::ZERO,
            up_rounds: 0,
            up_acked: 0.0,
            up_every: f64::INFINITY,
            prev_too_high: false,
            stopped_risky: false,
            recovery: Recovery::Open,
            recovering_from: None,
            pieces: Pieces::default(),
            idle_restart: false,
            undo: None,
            acks: None,
        }
    }

    /// What BBR does now.
    pub const fn state(&self) -> State {
        self.state
    }

    /// The bandwidth-delay product, in bytes; none before both are known.
    fn product(&self) -> Option<f64> {
        let product = self.model.bandwidth() * self.trips.min_rtt();
        (product > 0.0).then_some(product)
    }

    /// `gain` products with room for quanta (`BBRInflight`).
    fn inflight(&self, gain: f64) -> f64 {
        let Some(product) = self.product() else { return self.control.initial };
        self.control.with_quanta(gain * product, self.state == State::Up)
    }

    /// The long-term bound less headroom.
    fn with_headroom(&self) -> f64 {
        let bound = self.model.bounds.inflight_long;
        if bound == f64::INFINITY {
            return bound;
        }
        larger(bound - larger(self.segment, HEADROOM * bound), LEAST_WINDOW * self.segment)
    }

    /// What a probe aims at: the product or the window, whichever is less.
    fn target(&self) -> f64 {
        smaller(self.product().unwrap_or(f64::INFINITY), self.control.window)
    }

    fn check_drain(&mut self, now: Time, sample: &DeliverySample, in_flight: f64, cx: &mut Cx<'_>) {
        if self.state == State::Startup && self.model.is_full() {
            self.state = State::Drain;
            self.drain_round = self.model.rounds.count;
        }
        let late = self.model.rounds.count > self.drain_round + DRAIN_ROUNDS;
        if self.state == State::Drain && (in_flight <= self.inflight(1.0) || late) {
            self.start_down(now, sample.delivered, cx);
        }
    }
}

impl Controller for Bbr3 {
    fn on_sent(&mut self, now: Time, sent: &mut Sent, cx: &mut Cx<'_>) {
        let fills = self.control.note_sent(sent.in_flight.as_f64());
        if let (Some(acks), State::ProbeRtt, true) = (&mut self.acks, self.state, fills) {
            acks.end_flight();
        }
        if sent.in_flight <= sent.size && sent.app_limited {
            self.idle_restart = true;
            self.model.restart_aggregation(now);
            if self.state.is_probe_bw() {
                self.control.set_rate(1.0, self.model.bandwidth(), true);
            } else if self.state == State::ProbeRtt && self.trips.has_lasted(now) {
                self.leave_probe_rtt(now, self.model.delivered(), cx);
            }
        }
    }

    /// Only the end of an idle time changes what is directed.
    fn hear_sent(
        &mut self,
        now: Time,
        sent: &mut Sent,
        cx: &mut Cx<'_>,
    ) -> Option<(Directive, Option<Time>)> {
        self.on_sent(now, sent, cx);
        sent.app_limited.then(|| self.orders())
    }

    /// A window that is where it aims to be stays there.
    fn hear_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) -> bool {
        let before = (self.control.window, self.control.pace.directed());
        self.on_feedback(now, feedback, cx);
        (self.control.window, self.control.pace.directed()) != before
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        let in_flight = feedback.in_flight.as_f64();
        if let Some(event) = feedback.event {
            self.on_event(event, feedback);
        }
        let before = std::mem::replace(&mut self.recovery, feedback.recovery);
        let is_repaired = feedback.event == Some(CongestionEvent::RecoveryEnd)
            || before != Recovery::Open && self.recovery == Recovery::Open;
        let Some(sample) = feedback.delivery else {
            if is_repaired {
                self.control.restore();
            }
            return;
        };
        self.take_losses(now, feedback.lost, sample, cx);
        if sample.newly_acked > Bytes::ZERO {
            self.model.take(now, sample, self.state.is_probing(), self.control.window);
            if self.model.rounds.begins {
                self.rounds_since_probe = self.rounds_since_probe.saturating_add(1);
                self.control.end_round();
            }
            self.model.check_full(sample);
            self.check_startup_loss(sample);
            self.check_drain(now, sample, in_flight, cx);
            self.cycle(now, sample, in_flight, cx);
            self.trips.take(now, sample.rtt);
            self.probe_rtt(now, sample, in_flight, cx);
            self.model.advance_latest(sample);
        }
        if self.acks.is_some() {
            let round_start = sample.newly_acked > Bytes::ZERO && self.model.rounds.begins;
            self.plan_acks(round_start, feedback.rtt.map(|rtt| rtt.smoothed));
        }
        let (pacing_gain, window_gain) = self.state.gains();
        self.control.first_rtt(feedback.rtt.map(|rtt| rtt.smoothed), State::Startup.gains().0);
        self.control.set_rate(pacing_gain, self.model.bandwidth(), self.model.is_full());
        // Only now: the model was about the window that recovery had cut.
        if is_repaired {
            self.control.restore();
        }
        if sample.newly_acked > Bytes::ZERO {
            self.bound_window(window_gain, sample);
        }
        if cx.notes.is_some() {
            self.publish(cx);
        }
    }

    fn directive(&self) -> Directive {
        let window = smaller(larger(self.control.window, self.segment), self.control.most);
        Directive { window: Some(Bytes::new(window as u64)), ..Directive::rate(self.control.pace.directed()) }
    }

    fn ack_wish(&self) -> AckWish {
        self.acks.as_ref().map_or_else(AckWish::default, |acks| acks.wish())
    }
}

impl Bbr3 {
    /// State and model, for recorders: bounds only where there are any.
    #[cold]
    fn publish(&self, cx: &mut Cx<'_>) {
        cx.note("state", f64::from(self.state as u8));
        cx.note("bandwidth", self.model.bandwidth());
        cx.note("largest_bandwidth", self.model.max_rate());
        cx.note("flat_rounds", f64::from(self.model.flat_rounds()));
        cx.note("extra_acked", self.model.aggregated());
        let bounds = &self.model.bounds;
        for (name, bound) in [
            ("inflight_longterm", bounds.inflight_long),
            ("inflight_shortterm", bounds.inflight_short),
            ("bandwidth_shortterm", bounds.bandwidth_short),
        ] {
            if bound.is_finite() {
                cx.note(name, bound);
            }
        }
    }

    /// What is asked of the receiver follows the state, and what the window has room for follows what is asked.
    #[cold]
    fn plan_acks(&mut self, round_start: bool, smoothed: Option<Span>) {
        let Some(acks) = &mut self.acks else { return };
        let window = self.control.window / self.segment;
        let limited = self.control.was_limited();
        let rate = self.model.bandwidth() / self.segment;
        let seen = Seen { state: self.state, round_start, limited, window, rate, smoothed };
        // The rate may have changed while the request stays.
        if (acks.follow(&seen) || round_start)
            && let Some(asked) = acks.wish().frequency
        {
            let held = asked.max_delay.as_secs_f64() * self.model.max_rate();
            self.control.allow_for_acks(smaller(f64::from(asked.threshold) * self.segment, held));
        }
    }

    /// `BBRSetCwnd` with its bounds (draft, §5.6.4).
    fn bound_window(&mut self, gain: f64, sample: &DeliverySample) {
        let most = self.inflight_with_aggregation(gain);
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.model.bounds.inflight_long,
            State::Cruise | State::ProbeRtt => self.with_headroom(),
            State::Startup | State::Drain => f64::INFINITY,
        };
        let cap = larger(smaller(cap, self.model.bounds.inflight_short), LEAST_WINDOW * self.segment);
        let cap = if self.state == State::ProbeRtt { cap.min(self.probe_rtt_window()) } else { cap };
        self.control.grow(sample, most, self.model.is_full(), cap);
    }

    fn inflight_with_aggregation(&self, gain: f64) -> f64 {
        let Some(product) = self.product() else { return f64::INFINITY };
        self.control.with_quanta(gain * product + self.model.aggregated(), self.state == State::Up)
    }
}
