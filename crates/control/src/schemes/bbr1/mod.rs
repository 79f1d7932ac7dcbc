//! BBR, version 1: a rate that follows the largest delivery rate seen and a window that follows it times the smallest
//! round trip time. The scheme `bbr1`. What happens when is here; the states are in `states.rs`, the path's model in
//! `model.rs`, the policer's in `policer.rs`, rate and window in `window.rs`.
//!
//! Source: Cardwell et al., "BBR: Congestion-Based Congestion Control", 2016, as Linux has it (`net/ipv4/tcp_bbr.c`); where
//! the paper and Linux differ, Linux counts. Windows in packets, `BDP = bw · min_rtt`:
//!
//! | state | pacing gain | window gain | leaves |
//! | --- | --- | --- | --- |
//! | Startup | 2.885 | 2.885 | when the rate has not grown by a quarter for 3 rounds, to Drain |
//! | Drain | 1/2.885 | 2.885 | at `in flight ≤ BDP`, to ProbeBW |
//! | ProbeBW | 1.25, 0.75, then six of 1, a round trip each | 2 | see below |
//! | ProbeRTT | 1 | 1, at most 4 packets | 200 ms and a round later |
//!
//! 1.25 lasts until a round trip has passed and 1.25 BDP are in flight, or something was lost; 0.75 ends early at BDP. A cycle
//! begins in a phase drawn at random, never 0.75. ProbeRTT comes when the smallest round trip time is 10 s old.
//!
//! Loss moves only the window: in the first round of recovery it is what is in flight and was acknowledged; afterwards it is as
//! before. A time-out leaves one packet. A policer is taken for one where two intervals lose 20 % at one rate, unless
//! `policer` is off. A loss that proves spurious makes it forget the policer, and that the rate had stopped growing.
//!
//! Laws: of random loss it bears what a probe at 1.25 makes up for, 20 %, except for its detection of policers. Beside N loss-based
//! flows its part of all in flight is `1/2 + 4/(q + BDP)`, `q` the buffer in packets, whatever N: it keeps twice its rate times
//! the round trip time of ProbeRTT, in which the others keep theirs in flight and nothing else is.
//!
//! Departures of others: ns-3's follows draft-cardwell-iccrg-bbr-congestion-control-00, has no policer detection and
//! overstates aggregated acknowledgements; picoquic's has a window gain of 1.125 in ProbeBW.
//!
//! Deviations: packets leave one by one at the rate, not in trains of a millisecond, though the window has room for
//! three trains, as in Linux; no train that is about to leave counts as in flight. A time-out counts as a loss of the next
//! sample, and begins no round of a policer's interval. A lone packet's round trip time counts though its acknowledgement may
//! have been delayed. Without any round trip time the window grows as far as it is used. What bunches is counted in bytes, and
//! in whole packets by `whole_packets` only. Marks are ignored, as in Linux; data is not ECN-capable.
//!
//! Open problems: unfair to loss-based flows in shallow buffers, and to short round trips (Hock, Bless and Zitterbart
//! 2017). Where a full buffer delays by a second and more, ProbeRTT, which also lasts for a round trip, takes much of every 10 s.

mod model;
mod policer;
mod states;
mod window;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{
    Bytes, Checker, CongestionEvent, Controller, Cx, DeliverySample, Directive, Feedback, Recovery, Sent,
    Time,
};

use super::bbr_shared::{MARGIN, Pace};
use crate::needs::{MarkResponse, Needs, Reliability};
use crate::parts::{ControllerParams, Family, Parts, SchemeConfig, SchemeInfo};
use crate::reals::{larger, smaller};
use model::{FullPipe, Model};
use policer::Policer;
use states::Mode;
use window::Aim;

/// Parameters of BBR, version 1. The constants are Linux's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Bbr1Config {
    /// Whether it looks for a policer, as Linux does: two intervals that lose 50/256 of what they deliver at about one rate. It
    /// takes random loss of 13 % and more for one. Without, it bears almost 20 %, as in Cardwell et al. 2016. Default true.
    pub policer: bool,
    /// Whether acknowledgements that bunch are counted in whole packets, as in Linux: those expected by now are rounded down, and
    /// the window has room for one packet more. Default false.
    pub whole_packets: bool,
}

impl Default for Bbr1Config {
    fn default() -> Self {
        Self { policer: true, whole_packets: false }
    }
}

/// 2/ln 2, rounded as in Linux.
const HIGH_GAIN: f64 = 2.885;
/// The least window, and that of ProbeRTT, in packets.
const LEAST_WINDOW: f64 = 4.0;
/// The largest train, in bytes.
const MOST_TRAIN: f64 = 65_536.0;

impl SchemeConfig for Bbr1Config {
    type Controller = Bbr1;

    fn info(&self) -> &'static SchemeInfo {
        &SchemeInfo {
            name: "bbr1",
            summary: "A rate that follows the largest delivery rate, and a window of two bandwidth-delay products",
            source: "Cardwell et al. 2016, as in Linux (version 1)",
            reliability: Reliability::Sack,
            expects_discipline: "any",
        }
    }

    fn needs(&self) -> Needs {
        Needs {
            delivery: true,
            lost_retransmissions: true,
            marks: MarkResponse::Controller,
            ..Needs::over(Reliability::Sack)
        }
    }

    fn family(&self) -> Family {
        Family::Rate
    }

    fn check(&self, _: &mut Checker) {}

    fn build(&self, params: &ControllerParams) -> Parts<Bbr1> {
        Parts::sender(Bbr1::new(self, params))
    }
}

/// BBR, version 1.
#[derive(Clone, Debug)]
pub struct Bbr1 {
    segment: f64,
    most: f64,
    initial: f64,
    mode: Mode,
    model: Model,
    full: FullPipe,
    /// Looks for a policer, if asked to.
    policer: Option<Policer>,
    /// The phase of ProbeBW, and when it began.
    phase: usize,
    phase_began: Time,
    pacing_gain: f64,
    window_gain: f64,
    /// In packets.
    window: f64,
    prior_window: f64,
    pace: Pace,
    aim: Aim,
    recovery: Recovery,
    conserving: bool,
    probe_rtt_done: Option<Time>,
    probe_rtt_round: bool,
    /// Data leaves after the pipe had run empty because there was no data.
    idle_restart: bool,
}

impl Bbr1 {
    /// A connection's start.
    pub fn new(config: &Bbr1Config, params: &ControllerParams) -> Self {
        let segment = params.segment.as_f64().max(1.0);
        let most = (params.max_window.as_f64() / segment).max(1.0);
        let initial = (params.initial_window.as_f64() / segment).clamp(1.0, most);
        Self {
            segment,
            most,
            initial,
            mode: Mode::Startup,
            model: if config.whole_packets { Model::of_whole(segment) } else { Model::default() },
            full: FullPipe::default(),
            policer: config.policer.then(Policer::default),
            phase: 0,
            phase_began: Time::ZERO,
            pacing_gain: HIGH_GAIN,
            window_gain: HIGH_GAIN,
            window: initial,
            prior_window: 0.0,
            pace: Pace::before_any_rtt(MARGIN * HIGH_GAIN * initial * segment),
            aim: Aim::default(),
            recovery: Recovery::Open,
            conserving: false,
            probe_rtt_done: None,
            probe_rtt_round: false,
            idle_restart: false,
        }
    }

    /// The policer's rate, where one was found.
    fn policed(&self) -> Option<f64> {
        self.policer.as_ref().and_then(Policer::rate)
    }

    /// The bandwidth in force, in bytes per second: the policer's, where one was found.
    fn bandwidth(&self) -> f64 {
        self.policed().unwrap_or_else(|| self.model.bandwidth())
    }

    /// Packets that leave in 1/1024 of a second at the rate, at most 64 KiB and 127: at least 2, or 1 below 1.2 Mbit/s.
    fn train(&self) -> f64 {
        let rate = self.pace.rate();
        let least = if rate < 150_000.0 { 1.0 } else { 2.0 };
        (smaller(rate / 1024.0, MOST_TRAIN) / self.segment).floor().clamp(least, 127.0)
    }

    /// Bytes in packets. A division is made where its result is needed only: a processor takes long for one.
    #[inline]
    fn packets(&self, bytes: Bytes) -> f64 {
        bytes.as_f64() / self.segment
    }

    /// `gain` bandwidth-delay products, with room for trains, in packets.
    fn target(&self, bandwidth: f64, gain: f64) -> f64 {
        let Some(rtt) = self.model.min_rtt() else { return self.initial };
        self.with_trains((gain * bandwidth * rtt.as_secs_f64() / self.segment).ceil())
    }

    fn with_trains(&self, packets: f64) -> f64 {
        let even = (0.5 * (packets + 3.0 * self.train())).ceil() * 2.0;
        if self.is_rising() { even + 2.0 } else { even }
    }

    /// Whether a policer's rate has been kept for long enough, so that ProbeBW begins anew. A sample without a rate is none
    /// (`bbr_update_bw`).
    #[inline]
    fn look_for_policer(&mut self, now: Time, sample: &DeliverySample) -> bool {
        let (rounds, probing) = (&self.model.rounds, self.mode == Mode::ProbeBw);
        let Some(policer) = self.policer.as_mut().filter(|_| sample.rate.is_some()) else { return false };
        policer.take(now, sample, rounds, probing)
    }

    fn on_event(&mut self, event: CongestionEvent, cx: &mut Cx<'_>) {
        match event {
            CongestionEvent::Loss => self.save_window(),
            CongestionEvent::Timeout { consecutive } => {
                if consecutive <= 1 {
                    self.save_window();
                }
                self.recovery = Recovery::Timeout;
                self.conserving = false;
                self.full.forget_level();
                if let Some(policer) = &mut self.policer {
                    policer.on_timeout();
                }
                self.window = 1.0;
            }
            // What was held lost was not: the window as before, once, as leaving recovery would do; what was concluded from
            // that loss is forgotten (`bbr_undo_cwnd`).
            CongestionEvent::Spurious => {
                self.window = self.window.max(self.prior_window).min(self.most);
                self.full.forget_growth();
                if let Some(policer) = &mut self.policer {
                    *policer = Policer::default();
                }
            }
            CongestionEvent::RecoveryEnd | CongestionEvent::Ecn | CongestionEvent::Idle => {}
        }
        cx.note("mode", f64::from(self.mode as u8));
    }
}

impl Controller for Bbr1 {
    fn on_sent(&mut self, now: Time, sent: &mut Sent, cx: &mut Cx<'_>) {
        // Only this packet is in flight, and the application kept it waiting: after idleness ProbeBW sends at the rate
        // as it is.
        if sent.in_flight <= sent.size && sent.app_limited {
            self.idle_restart = true;
            self.model.restart_aggregation(now);
            if self.mode == Mode::ProbeBw {
                self.pace.follow(1.0, self.bandwidth(), true);
            } else if self.mode == Mode::ProbeRtt && self.probe_rtt_done.is_some_and(|done| now > done) {
                // Nothing was in flight: that emptied the pipe as well as a round of 4 packets.
                self.leave_probe_rtt(now, cx);
            }
        }
    }

    fn watches_pauses_only(&self) -> bool {
        true
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
        let before = (self.window, self.pace.directed());
        self.on_feedback(now, feedback, cx);
        (self.window, self.pace.directed()) != before
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        if let Some(event) = feedback.event {
            self.on_event(event, cx);
        }
        let Some(sample) = feedback.delivery.filter(|sample| sample.newly_acked > Bytes::ZERO) else {
            return;
        };
        let in_flight = feedback.in_flight;
        self.model.start_round(sample);
        if self.model.rounds.begins {
            self.conserving = false;
        }
        if self.look_for_policer(now, sample) {
            self.enter_probe_bw(now, cx);
        }
        self.model.take_rate(sample);
        let bandwidth = self.bandwidth();
        self.model.take_aggregation(now, sample, bandwidth, self.window * self.segment);
        self.cycle(now, sample, in_flight);
        if self.model.rounds.begins && !self.model.rounds.limited {
            self.full.look(self.model.bandwidth());
        }
        self.drain(now, in_flight, cx);
        let expired = self.model.take_rtt(now, sample.rtt);
        self.probe_rtt(now, sample, in_flight, expired, cx);
        self.set_gains();
        self.set_rate(bandwidth, feedback.rtt.map(|rtt| rtt.smoothed));
        self.set_window(sample, bandwidth, feedback.recovery, in_flight);
        if cx.notes.is_some() {
            cx.note("mode", f64::from(self.mode as u8));
            cx.note("bandwidth", bandwidth);
        }
    }

    fn directive(&self) -> Directive {
        let window = Bytes::new((larger(self.window, 1.0) * self.segment) as u64);
        Directive { window: Some(window), ..Directive::rate(self.pace.directed()) }
    }
}
