//! TCP Newark: tokens in place of acknowledgements let packets go. A virtual window sets the rate at which they come, for
//! the utilization of the queue; a limit says how many may be kept, for its burstiness. The scheme `newark`. The queue
//! that tells both is `tdqm`; the bucket and its Poisson tokens are the transport's.
//!
//! Source: Li and Mills, "Control Architecture for Tuning Intensity and Burstiness of Traffic", §III. Windows and the limit
//! are in packets; an *echo* is a mark that an acknowledgement brought back.
//!
//! | rule | where |
//! | --- | --- |
//! | a packet leaves inside the receiver's window `W_b` and with a token | §III-B |
//! | tokens come as a Poisson process with the mean interval `g RTT / W_p` | §III-C, Fig. 4 |
//! | at most `T_c` are kept; one only while a time-out is not cleared | §III-A, Fig. 4 |
//! | `W_p` follows ρ echoes and losses "in a similar way to RED+ECN-TCP": see below | §III-B |
//! | `T_c` begins at `T_max`; η echoes halve it, acknowledgements without one raise it linearly | §III-B |
//! | with `T_c` at 1, an η echo acts on `W_p` as a ρ echo does | §III-B |
//!
//! With `w` for `W_p` (RFC 5681 §3.1; RFC 3168 §6.1.2; Floyd 1994 §3):
//!
//! | when | rule |
//! | --- | --- |
//! | ack without a ρ echo, `w < ssthresh` | `w += 1` |
//! | ack without a ρ echo, otherwise | `w += 1/w` |
//! | ρ echo, at most once per round trip | `ssthresh = max(w/2, 2)`, `w = max(w/2, 1)` |
//! | loss, at most once per round trip | `ssthresh = max(w/2, 2)`, `w = ssthresh` |
//! | first time-out | `ssthresh = max(w/2, 2)`, `w = 1` |
//! | further time-outs | `w = 1`, `ssthresh` held |
//! | the last loss or time-out was spurious | `w` and `ssthresh` as before it |
//!
//! Stated in the paper: the first table. Inferred:
//!
//! * "exponentially" is by halves, at most once per round trip: so `T_c` needs eight round trips from 240 to 1, and both loops
//!   settle within twelve, as §IV-B observes; halved by each mark it would be 1 in half a round trip, before any queue can
//!   tell. "Up linearly by un-marked ACKs" is a packet for each: with a packet per round trip (`burst_growth`) `T_c` could rest
//!   above 1 only where fewer than one packet in a hundred is marked, and the paper saw it in "a stable range";
//! * the round trip time is the smoothed one of RFC 6298;
//! * a time-out is cleared when all that was on its way is repaired;
//! * Fig. 4's timer is set again in any case, or tokens would end with the first overflow;
//! * before the first round trip time there is no rate to make tokens at, and `W_p` is a window.
//!
//! CE marks count as ρ marks, which makes RED a router that has the first loop only.
//!
//! `W_p` is halved itself, not what is in flight (RFC 5681 eq. 4): Poisson tokens let the flight swing about it. It stays
//! when a sender was idle (RFC 5681 §4.1 would reduce it): what an idle sender may let go at once is what `T_c` says. It
//! grows only where tokens, not the application, limited the sender, unless `grow_unused` says otherwise.

mod pace;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{
    BitRate, Burst, Bytes, Checker, CongestionEvent, Controller, Cx, DataAmount, Directive, Feedback,
    Recovery, Sent, Span, Time, Tokens,
};

use crate::laws::{Counting, Halve, WindowLaw};
use crate::needs::{EcnEcho, EcnMode, MarkResponse, Needs, Reliability};
use crate::parts::{BoxedController, ControllerParams, Parts, SchemeConfig, SchemeInfo};
pub use pace::AdaptiveConfig;
use pace::Pace;

/// How often η echoes reduce the limit on tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BurstReaction {
    /// At most once per round trip, as the window.
    #[default]
    RoundTrip,
    /// Each mark that was echoed counts.
    EachMark,
}

/// What the limit on tokens rises with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BurstGrowth {
    /// With each acknowledgement that echoes no η mark.
    #[default]
    Acknowledgement,
    /// With each round trip: an acknowledgement counts for its part of a window.
    RoundTrip,
}

/// How the network tells its two metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Signals {
    /// With a bit for each, as in the paper. Congestion experienced, of other routers, counts as utilization.
    #[default]
    TwoBits,
    /// In the ECN field: congestion experienced for utilization, ECT(1) in place of the ECT(0) that was sent for
    /// burstiness, as RFC 6660 §3 tells two kinds of congestion.
    Codepoints,
    /// By congestion experienced alone: every mark counts as both.
    OneBit,
}

/// Parameters of TCP Newark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NewarkConfig {
    /// g: tokens come at the rate `W_p` / (g RTT), so that above 1 the sender is slower than TCP. 0.01 to 1000; default 1
    /// (§III-C).
    pub g: f64,
    /// Finds g in place of the number, which is then where it begins; not in the paper. A table with `most`, `least` and
    /// `patience`, or `{}` for their defaults; not used by default.
    pub adaptive: Option<AdaptiveConfig>,
    /// `T_max`: so many tokens are kept at most. At least 1 packet; default 240 packets (§IV-A).
    pub max_burst: DataAmount,
    /// What an η echo multiplies the limit on tokens by, between 0 and 1. Default 0.5.
    pub burst_decrease: f64,
    /// So many packets more tokens may be kept after each acknowledgement, or round trip, without an η echo. Default 1.
    pub burst_increase: f64,
    /// What the limit on tokens rises with: `acknowledgement`, each without an η echo, or `round-trip`.
    /// Default `acknowledgement`.
    pub burst_growth: BurstGrowth,
    /// How often η echoes reduce the limit: at most once per `round-trip`, or for `each-mark`. Default `round-trip`.
    pub burst_reaction: BurstReaction,
    /// What an acknowledgement counts for: `per-ack` (RFC 5681) or `bytes` (RFC 3465).
    pub counting: Counting,
    /// With `counting = "bytes"`, at most so many packets of growth per acknowledgement in slow start (L of RFC 3465
    /// §2.2). At least 1; default 2.
    pub slow_start_limit: f64,
    /// How the network tells its two metrics: `two-bits`, `codepoints` or `one-bit`; the queue's `marks` must be the same.
    /// Default `two-bits`.
    pub signals: Signals,
    /// Whether `W_p` also grows while the application, not tokens, limits the sender. Default false.
    pub grow_unused: bool,
}

impl Default for NewarkConfig {
    fn default() -> Self {
        Self {
            g: 1.0,
            adaptive: None,
            max_burst: DataAmount::Packets(240.0),
            burst_decrease: 0.5,
            burst_increase: 1.0,
            burst_growth: BurstGrowth::Acknowledgement,
            burst_reaction: BurstReaction::RoundTrip,
            counting: Counting::PerAck,
            slow_start_limit: 2.0,
            signals: Signals::TwoBits,
            grow_unused: false,
        }
    }
}

impl SchemeConfig for NewarkConfig {
    type Controller = BoxedController;

    fn info(&self) -> &'static SchemeInfo {
        &SchemeInfo {
            name: "newark",
            summary: "Poisson tokens: a virtual window sets their rate for the queue's utilization, a limit how many are \
                      kept for its burstiness",
            source: "Li and Mills, Control Architecture for Tuning Intensity and Burstiness of Traffic, §III",
            reliability: Reliability::Sack,
            expects_discipline: "tdqm",
        }
    }

    fn heeds_gain(&self) -> bool {
        true
    }

    fn needs(&self) -> Needs {
        let (echo, ecn) = match self.signals {
            Signals::TwoBits => (EcnEcho::Counted, EcnMode::Off),
            Signals::Codepoints => (EcnEcho::Codepoints, EcnMode::Ect0),
            Signals::OneBit => (EcnEcho::Counted, EcnMode::Ect0),
        };
        Needs { echo: Some(echo), ecn, marks: MarkResponse::Controller, ..Needs::default() }
    }

    fn build(&self, params: &ControllerParams) -> Parts<BoxedController> {
        Parts::sender(Box::new(Newark::new(self, params)))
    }

    fn check(&self, checker: &mut Checker) {
        checker.require((0.01..=1000.0).contains(&self.g), "g", self.g, "0.01 to 1000");
        if let Some(adaptive) = &self.adaptive {
            checker.within("adaptive", |checker| adaptive.check(checker));
        }
        let whole = !matches!(self.max_burst, DataAmount::Packets(packets) if packets < 1.0);
        let sensible = whole && self.max_burst.is_sensible();
        checker.require(sensible, "max_burst", self.max_burst, "1 to 16777216 packets, or 1 B to 16 GB");
        let decrease = self.burst_decrease;
        let inside = decrease > 0.0 && decrease < 1.0;
        checker.require(inside, "burst_decrease", decrease, "a number between 0 and 1, both excluded");
        let increase = self.burst_increase;
        checker.require((0.0..=1e6).contains(&increase), "burst_increase", increase, "0 to 1000000 packets");
        let limit = self.slow_start_limit;
        checker.require((1.0..=1e6).contains(&limit), "slow_start_limit", limit, "1 to 1000000 segments");
    }
}

/// TCP Newark's sender.
#[derive(Clone, Debug)]
pub struct Newark {
    /// `W_p`.
    law: WindowLaw,
    max_window: f64,
    /// `T_c` and `T_max`, in packets.
    limit: f64,
    max_limit: f64,
    decrease: f64,
    increase: f64,
    growth: BurstGrowth,
    reaction: BurstReaction,
    grow_unused: bool,
    one_bit: bool,
    pace: Pace,
    round_trip: Option<Span>,
    /// A time-out is not cleared yet.
    timed_out: bool,
    /// How often the window was reduced; packets bear it, so that echoes of older ones are known.
    epoch: u32,
    /// When the limit, and when the window, was last reduced.
    limited_at: Time,
    reduced_at: Time,
}

impl Newark {
    /// A connection's start.
    pub fn new(config: &NewarkConfig, params: &ControllerParams) -> Self {
        let segment = params.segment.as_f64().max(1.0);
        let max_limit = (config.max_burst.in_bytes(params.segment).as_f64() / segment).max(1.0);
        Self {
            law: WindowLaw::new(params, config.counting, config.slow_start_limit, Halve::Window),
            max_window: (params.max_window.as_f64() / segment).max(1.0),
            limit: max_limit,
            max_limit,
            decrease: config.burst_decrease,
            increase: config.burst_increase,
            growth: config.burst_growth,
            reaction: config.burst_reaction,
            grow_unused: config.grow_unused,
            one_bit: config.signals == Signals::OneBit,
            pace: Pace::new(config.g, config.adaptive.clone()),
            round_trip: None,
            timed_out: false,
            epoch: 0,
            limited_at: Time::ZERO,
            reduced_at: Time::ZERO,
        }
    }

    /// `W_p`, in packets.
    pub fn window(&self) -> f64 {
        self.law.window
    }

    /// `T_c`, in packets.
    pub fn limit(&self) -> f64 {
        self.limit
    }

    /// Whether a round trip has passed since `then`.
    fn is_round_later(&self, now: Time, then: Time) -> bool {
        now >= then + self.round_trip.unwrap_or(Span::ZERO)
    }

    /// Whether what is told happened to packets sent since the last reduction: else it is answered already (RFC 3168
    /// §6.1.2).
    fn is_fresh(&self, now: Time, tags: impl Iterator<Item = u32>) -> bool {
        let mut tags = tags.peekable();
        if tags.peek().is_none() {
            return self.is_round_later(now, self.reduced_at);
        }
        tags.any(|tag| tag == self.epoch)
    }

    /// Halves the window, which is then at least `least`.
    fn reduce(&mut self, now: Time, least: f64) {
        let from = self.pace.hurry(now, self.round_trip, self.law.window, self.max_window);
        self.law.ssthresh = (from / 2.0).max(2.0);
        self.law.set((from / 2.0).max(least).min(from));
        self.epoch = self.epoch.wrapping_add(1);
        self.reduced_at = now;
    }

    fn on_echo(&mut self, now: Time, feedback: &Feedback<'_>) {
        if self.is_fresh(now, feedback.acked.iter().map(|acked| acked.tag)) {
            self.law.forget();
            self.reduce(now, 1.0);
        }
    }

    fn on_event(&mut self, now: Time, event: CongestionEvent, feedback: &Feedback<'_>) {
        match event {
            CongestionEvent::Loss => {
                if self.is_fresh(now, feedback.lost.iter().map(|lost| lost.tag)) {
                    self.law.remember();
                    self.reduce(now, 2.0);
                }
            }
            CongestionEvent::Ecn => self.on_echo(now, feedback),
            CongestionEvent::Timeout { consecutive } => {
                self.timed_out = true;
                if consecutive <= 1 {
                    self.law.remember();
                    self.reduce(now, 1.0);
                }
                self.law.set(1.0);
            }
            CongestionEvent::Spurious => {
                self.law.restore();
            }
            CongestionEvent::RecoveryEnd | CongestionEvent::Idle => {}
        }
    }

    /// `T_c`: down by each echo, up by acknowledgements without. Whether the echo has to act on the window instead.
    fn on_burstiness(&mut self, now: Time, echoes: u32, packets: f64) -> bool {
        if echoes == 0 {
            let part = match self.growth {
                BurstGrowth::Acknowledgement => packets,
                BurstGrowth::RoundTrip => packets / self.law.window,
            };
            self.limit = (self.limit + self.increase * part).min(self.max_limit);
            return false;
        }
        if self.limit <= 1.0 {
            return true;
        }
        let times = match self.reaction {
            BurstReaction::EachMark => f64::from(echoes),
            BurstReaction::RoundTrip if self.is_round_later(now, self.limited_at) => 1.0,
            BurstReaction::RoundTrip => return false,
        };
        self.limit = (self.limit * self.decrease.powf(times)).max(1.0);
        self.limited_at = now;
        false
    }

    fn grow(&mut self, now: Time, feedback: &Feedback<'_>) {
        let packets = self.law.counted(feedback.advanced);
        let open = !self.law.in_slow_start();
        // Where a slow g is found, it rises back before the window does.
        if !self.pace.is_slowed() || self.law.window > 1.0 {
            if open {
                self.law.set(self.law.window + feedback.gain * packets / self.law.window);
            } else {
                self.law.slow_start(feedback.advanced, feedback.recovery == Recovery::Timeout);
            }
        }
        self.pace.calm(now, self.round_trip, packets, open);
    }
}

impl Controller for Newark {
    fn on_sent(&mut self, _: Time, sent: &mut Sent, _: &mut Cx<'_>) {
        sent.tag = self.epoch;
    }

    /// A packet that leaves changes nothing. Who records notes hears of the tokens stored at every packet all the same.
    fn hear_sent(
        &mut self,
        now: Time,
        sent: &mut Sent,
        cx: &mut Cx<'_>,
    ) -> Option<(Directive, Option<Time>)> {
        self.on_sent(now, sent, cx);
        cx.notes.is_some().then(|| self.orders())
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        self.round_trip = feedback.rtt.map(|rtt| rtt.smoothed).or(self.round_trip);
        self.timed_out &= feedback.recovery == Recovery::Timeout;
        let event = feedback.event.filter(|event| *event != CongestionEvent::Ecn);
        if let Some(event) = event {
            self.on_event(now, event, feedback);
        }
        let echoes = feedback.echoes;
        let eta = echoes.eta + if self.one_bit { echoes.ce } else { 0 };
        let is_ack = feedback.advanced > Bytes::ZERO;
        let packets = self.law.counted(feedback.advanced);
        let burst = (is_ack || eta > 0) && self.on_burstiness(now, eta, packets * feedback.gain);
        let marked = burst || echoes.rho > 0 || echoes.ce > 0 || feedback.event == Some(CongestionEvent::Ecn);
        if marked {
            self.on_echo(now, feedback);
        }
        let forbidden = marked && feedback.recovery != Recovery::Timeout;
        let used = feedback.window_limited || self.grow_unused;
        if is_ack && used && event.is_none() && !forbidden && feedback.recovery != Recovery::Fast {
            self.grow(now, feedback);
        }
        let segment = self.law.segment();
        cx.note("virtual_window", self.law.window * segment);
        cx.note("token_limit", self.limit * segment);
        cx.note("ssthresh", self.law.ssthresh * segment);
        cx.note("g", self.pace.g());
    }

    fn directive(&self) -> Directive {
        let Some(round_trip) = self.round_trip else { return Directive::window(self.law.bytes()) };
        let segment = self.law.segment();
        let limit = if self.timed_out { 1.0 } else { self.limit };
        let rate = BitRate::of(self.law.bytes(), round_trip.max(SHORTEST)).mul_f64(1.0 / self.pace.g());
        Directive {
            burst: Burst { depth: Bytes::from_f64(limit * segment), tokens: Tokens::Poisson },
            ..Directive::rate(rate.max(SLOWEST))
        }
    }
}

/// A round trip time of zero would be an endless rate.
const SHORTEST: Span = Span::from_micros(1);
/// A rate of zero would never make a token.
const SLOWEST: BitRate = BitRate::from_bits_per_sec(1);
