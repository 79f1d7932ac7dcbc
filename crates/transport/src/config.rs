//! How a stream's sender is configured, with published defaults; each field's comment is the user's reference. A stream's receiver
//! and the endpoints of datagrams have their configurations beside them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_control::{ControllerParams, MarkResponse, Needs, Reliability};
use tailback_core::{Bytes, Checker, Choice, DataAmount, Packet, Span};

pub use tailback_control::EcnMode;

use crate::loss_detection::{LossDetection, RackConfig};
use crate::pacing::PacingConfig;
use crate::wire;

/// How round trip times are sampled for the retransmission timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RttSampling {
    /// Every acknowledgement of segments sent once gives a sample (Karn's rule).
    #[default]
    EveryAck,
    /// One segment per round trip is timed, none while something is retransmitted, and what is only reported beyond a
    /// hole gives no sample (RFC 6298 §3 and §4; BSD, and ns-2 without timestamps).
    PerRoundTrip,
    /// Segments carry their send time, which the receiver echoes (RFC 7323): retransmissions give samples too.
    Timestamps,
}

/// How a reduction of the window that was for nothing is found out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpuriousDetection {
    /// Not at all.
    #[default]
    Off,
    /// Time-outs, by what is acknowledged after the first retransmission (F-RTO, RFC 5682).
    FRto,
    /// Time-outs and losses, by the send times that acknowledgements echo (Eifel detection, RFC 3522).
    Eifel,
}

/// The retransmission timer (RFC 6298).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RtoConfig {
    /// Gain of the smoothed round trip time, in (0, 1]; default 1/8 (RFC 6298 §2.3).
    pub alpha: f64,
    /// Gain of the round trip time's variation, in (0, 1]; default 1/4 (RFC 6298 §2.3).
    pub beta: f64,
    /// How many variations the timer adds to the smoothed round trip time; default 4 (RFC 6298 §2.3).
    pub k: f64,
    /// What the smoothed round trip time is multiplied by; default 1 (RFC 6298 §2.3). Packet-pair takes 1.5 with
    /// `k = 0` (Keshav 1994, §6).
    pub srtt_factor: f64,
    /// The shortest time-out; default 200 ms as in common practice, while RFC 6298 §2.4 says 1 s.
    pub min: Span,
    /// The time-out exceeds the smoothed round trip time by this at least; `"0 s"`, the default, for `k` variations alone (RFC 6298
    /// §2.3, where the clock's granularity stands in its place). Linux has 200 ms here and no `min`: its `tcp_rto_min` bounds the
    /// margin, and not the time-out as a whole. At most `max`.
    pub margin_min: Span,
    /// The longest time-out, back-off included; default 60 s (RFC 6298 §2.5).
    pub max: Span,
    /// The time-out before any sample; default 1 s (RFC 6298 §2.1).
    pub initial: Span,
    /// What each expiry multiplies the time-out by, at least 1; default 2 (RFC 6298 §5.5).
    pub backoff: f64,
    /// The clock's granularity G (RFC 6298 §2); `"0 s"`, the default, for an exact clock. Otherwise samples are
    /// rounded onto ticks and the estimator runs in whole ticks, as BSD and ns-2 (`tcpTick_`) do.
    pub tick: Span,
}

impl Default for RtoConfig {
    fn default() -> Self {
        Self {
            alpha: 0.125,
            beta: 0.25,
            k: 4.0,
            srtt_factor: 1.0,
            min: Span::from_millis(200),
            margin_min: Span::ZERO,
            max: Span::from_secs(60),
            initial: Span::from_secs(1),
            backoff: 2.0,
            tick: Span::ZERO,
        }
    }
}

impl RtoConfig {
    /// Complains about every value that is not allowed.
    pub fn check(&self, checker: &mut Checker) {
        let gain = |value: f64| value > 0.0 && value <= 1.0;
        checker.require(gain(self.alpha), "alpha", self.alpha, "a gain above 0, at most 1");
        checker.require(gain(self.beta), "beta", self.beta, "a gain above 0, at most 1");
        checker.require((0.0..=100.0).contains(&self.k), "k", self.k, "0 to 100");
        let factor = self.srtt_factor;
        checker.require((1.0..=100.0).contains(&factor), "srtt_factor", factor, "1 to 100");
        checker.require(!self.min.is_zero(), "min", self.min, "more than 0 s");
        checker.require(self.max >= self.min, "max", self.max, format_args!("at least min ({})", self.min));
        let margin = self.margin_min;
        checker.require(margin <= self.max, "margin_min", margin, format_args!("at most max ({})", self.max));
        checker.require(!self.initial.is_zero(), "initial", self.initial, "more than 0 s");
        checker.require((1.0..=100.0).contains(&self.backoff), "backoff", self.backoff, "1 to 100");
        checker.require(self.tick <= Span::from_secs(1), "tick", self.tick, "at most 1 s");
    }
}

/// A reliable byte stream's sender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches, each an RFC's own")]
pub struct StreamConfig {
    /// How lost data is found and repaired: not configured, since every scheme brings its own.
    #[serde(skip)]
    pub reliability: Reliability,
    /// Who answers echoes of marks: not configured either.
    #[serde(skip)]
    pub marks: MarkResponse,
    /// Whether the controller is told of the delivery rate: not configured either.
    #[serde(skip)]
    pub delivery: bool,
    /// Whether lost retransmissions are found without the timer: not configured either.
    #[serde(skip)]
    pub lost_retransmissions: bool,
    /// Whether the controller is asked how the receiver is to acknowledge: not configured either.
    #[serde(skip)]
    pub ack_requests: bool,
    /// A full segment's bytes on the wire, header included; default 1000 B.
    pub segment_size: Bytes,
    /// Header bytes of every segment; a connection request and a control packet are a header alone. Default 40 B
    /// (IPv4 and TCP without options).
    pub header: Bytes,
    /// The window before any feedback, at most 1048576 packets; default 10 packets (RFC 6928).
    pub initial_window: DataAmount,
    /// The slow start threshold before any loss; without limit by default (RFC 5681 §3.1).
    pub initial_ssthresh: Option<DataAmount>,
    /// The congestion window never exceeds this; without limit by default. ns-2's `window_`.
    pub window_limit: Option<DataAmount>,
    /// The receiver's buffer: nothing is sent further than this beyond the last cumulative acknowledgement
    /// (RFC 9293 §3.8.6); without limit by default.
    pub receive_window: Option<DataAmount>,
    /// Duplicate acknowledgements, or segments selectively acknowledged above, that mean loss; default 3
    /// (RFC 5681 §3.2, RFC 6675 `DupThresh`). Recovery by offsets takes 1, whatever stands here.
    pub dup_threshold: u32,
    /// Whether the first duplicate acknowledgements release new segments (RFC 3042); default true.
    pub limited_transmit: bool,
    /// Whether a recovery episode must be over, every segment sent before its begin acknowledged, before the next
    /// may begin (RFC 6582 §3.2 step 1; ns-2's `bugFix_`); default true. Concerns plain Reno only, where
    /// RFC 5681 does not ask for it: NewReno and SACK always do so.
    pub one_recovery_per_window: bool,
    /// Whether the next episode may begin only when a segment sent after the last one's begin is acknowledged
    /// ("careful", RFC 6582 §3.2 step 1: the acknowledgement "covers more than recover"), or already when all
    /// segments sent before it are. By default what the RFCs say: true for NewReno and Reno, false for SACK
    /// (RFC 6675 §5).
    pub careful: Option<bool>,
    /// NewReno's "impatient" variant: in an episode only the first partial acknowledgement restarts the
    /// retransmission timer (RFC 6582 §3.2 step 3); default true. Otherwise all do ("slow but steady").
    pub impatient: bool,
    /// Whether selective acknowledgements outlive a time-out (RFC 6675 §5.1 "SHOULD"); default true. ns-2 forgets
    /// them.
    pub keep_scoreboard: bool,
    /// Whether SACK recovery may send one rescue retransmission per episode (RFC 6675 §4 rule 4); default true.
    pub rescue: bool,
    /// Whether fast recovery brings what is in the network down to the threshold over a round trip, in proportion to what
    /// arrives (RFC 9937, as Linux does); default false: by half a round trip of silence (RFC 6675). Only where losses are found
    /// by selective acknowledgements, and for windows that a loss lowers once, as Reno's and CUBIC's.
    pub proportional_rate_reduction: bool,
    /// How losses are found: `dup-acks` by default, or `rack`, by time (RACK-TLP, RFC 8985, as Linux does), which also finds lost
    /// retransmissions and losses at the tail without the retransmission timer. The latter only where losses are found by
    /// selective acknowledgements; `rescue` then does nothing.
    pub loss_detection: Choice<LossDetection>,
    /// Whether what the counts of a receiver's reports prove lost is retransmitted at once (Monaco's reports, with
    /// selective acknowledgements); default true. Otherwise it waits for duplicate acknowledgements and the timer.
    pub counted_repair: bool,
    /// Whether a window begins anew at the initial window, by slow start, when nothing was sent for longer than the
    /// retransmission time-out (RFC 5681 §4.1 "SHOULD"); default true. Otherwise it stays as large as it was. A window
    /// that is not used up does not grow in any case; it does not shrink either (RFC 7661 and its forerunner RFC 2861,
    /// both experimental, would have it so).
    pub restart_after_idle: bool,
    /// Whether and how losses and time-outs that were none are found out, so that the controller can take its
    /// reduction back; `off` by default. `eifel` stamps every segment.
    pub spurious: SpuriousDetection,
    /// Paces what a window lets go, where a scheme directs no rate of its own: a table with `factor` and `burst`, or
    /// `{}` for their defaults; not paced by default.
    pub pacing: Option<PacingConfig>,
    /// The retransmission timer.
    pub rto: RtoConfig,
    /// A sender stops, with an error where there is a real application, when its retransmission timer expires and nothing
    /// new was acknowledged for this long since it first did (RFC 9293 §3.8.3 and RFC 5482); default 5 min, the "global
    /// default" of RFC 9293 §3.9.1.1. Time for which a gate or a rate keeps the segment from leaving again does not
    /// count. It must be at least 100 s (RFC 1122 §4.2.3.5).
    pub user_timeout: Span,
    /// How round trip times are sampled.
    pub rtt_sampling: RttSampling,
    /// Whether data leaves ECN-capable.
    pub ecn: EcnMode,
    /// Whether a connection begins with a header-only segment and its acknowledgement, one round trip before data
    /// (RFC 9293 §3.5); default false.
    pub handshake: bool,
    /// Every send opportunity is delayed by a uniform random time up to this, to break phase effects; `"0 s"`, the
    /// default, for none. ns-2's `overhead_`. Fast retransmissions and limited transmit (RFC 3042) leave at once.
    pub send_jitter: Span,
    /// Whether new segments leave in trains, as by Linux with segmentation offload: of two and more, of about 1 ms at the
    /// rate of window or pacing, for which a sender waits where an acknowledgement is near. The last one bears PSH, and is
    /// acknowledged at once. Default false: each as soon as window and pacing let it. Data that leaves in pairs has none.
    pub segmentation_offload: bool,
    /// Whether every data packet carries its send time for the receiver's policy; default false.
    pub stamps: bool,
}

impl Default for StreamConfig {
    fn default() -> Self {
        Self {
            reliability: Reliability::Sack,
            marks: MarkResponse::default(),
            delivery: false,
            lost_retransmissions: false,
            ack_requests: false,
            segment_size: Bytes::new(1000),
            header: Bytes::new(40),
            initial_window: DataAmount::Packets(10.0),
            initial_ssthresh: None,
            window_limit: None,
            receive_window: None,
            dup_threshold: 3,
            limited_transmit: true,
            one_recovery_per_window: true,
            careful: None,
            impatient: true,
            keep_scoreboard: true,
            rescue: true,
            proportional_rate_reduction: false,
            loss_detection: Choice(LossDetection::DupAcks),
            counted_repair: true,
            restart_after_idle: true,
            spurious: SpuriousDetection::Off,
            pacing: None,
            rto: RtoConfig::default(),
            user_timeout: Span::from_secs(300),
            rtt_sampling: RttSampling::EveryAck,
            ecn: EcnMode::Off,
            handshake: false,
            send_jitter: Span::ZERO,
            segmentation_offload: false,
            stamps: false,
        }
    }
}

impl StreamConfig {
    /// As a scheme with these needs wants it.
    #[must_use]
    pub fn serving(mut self, needs: &Needs) -> Self {
        self.reliability = needs.reliability;
        self.marks = needs.marks;
        self.delivery = needs.delivery;
        self.lost_retransmissions = needs.lost_retransmissions;
        self.ack_requests = needs.ack_requests;
        self.ecn = needs.ecn_mode(self.ecn);
        self.stamps |= needs.stamps;
        self
    }

    /// Complains about every value that is not allowed.
    pub fn check(&self, checker: &mut Checker) {
        checker.require(
            self.reliability != Reliability::Datagram,
            "reliability",
            "datagram",
            "one of reno, new-reno, vegas, sack, offsets",
        );
        checker.require(
            self.reliability == Reliability::Sack || !self.proportional_rate_reduction,
            "proportional_rate_reduction",
            self.proportional_rate_reduction,
            "false with schemes that do not find losses by selective acknowledgements",
        );
        checker.require(
            self.reliability == Reliability::Sack || self.rack().is_none(),
            "loss_detection",
            self.loss_detection.name(),
            "dup-acks with schemes that do not find losses by selective acknowledgements",
        );
        checker.within("loss_detection", |checker| self.loss_detection.check(checker));
        check_sizes(self.segment_size, self.header, checker);
        checker.require(self.header > Bytes::ZERO, "header", self.header, "at least 1 B");
        let others = [
            ("initial_ssthresh", self.initial_ssthresh),
            ("window_limit", self.window_limit),
            ("receive_window", self.receive_window),
        ];
        check_windows(self.segment_size, self.initial_window, &others, checker);
        let threshold = self.dup_threshold;
        checker.require((1..=1000).contains(&threshold), "dup_threshold", threshold, "1 to 1000");
        checker.within("rto", |rto| self.rto.check(rto));
        if let Some(pacing) = &self.pacing {
            checker.within("pacing", |checker| pacing.check(self.segment_size, checker));
        }
        let patience = self.user_timeout;
        checker.require(patience >= Span::from_secs(100), "user_timeout", patience, "at least 100 s");
        checker.require(
            self.send_jitter <= Span::from_secs(10),
            "send_jitter",
            self.send_jitter,
            "at most 10 s",
        );
    }

    /// How losses are found by time, where they are.
    pub(crate) fn rack(&self) -> Option<&RackConfig> {
        self.loss_detection.rack()
    }

    /// How many bytes may be outstanding by the receiver's buffer.
    pub(crate) fn receive_window_bytes(&self) -> u64 {
        self.receive_window.map_or(u64::MAX, |amount| amount.in_bytes(self.segment_size).get())
    }

    /// Whether data packets carry their send time, with all that a stamp says.
    pub fn stamps_data(&self) -> bool {
        self.stamps
            || self.rtt_sampling == RttSampling::Timestamps
            || self.spurious == SpuriousDetection::Eifel
    }

    /// Bytes that a data packet's annex takes at most in a frame.
    pub fn longest_annex(&self) -> usize {
        let stamp = if self.stamps_data() { wire::LONGEST_CONTROL } else { 0 };
        stamp + if self.ack_requests { wire::REQUEST } else { 0 }
    }

    /// What a controller needs to know of this connection.
    pub fn controller_params(&self) -> ControllerParams {
        let bytes = |amount: DataAmount| amount.in_bytes(self.segment_size);
        ControllerParams {
            segment: self.segment_size,
            initial_window: bytes(self.initial_window),
            initial_ssthresh: self.initial_ssthresh.map(bytes),
            max_window: self.window_limit.map_or(Bytes::MAX, bytes),
        }
    }
}

/// An initial window leaves at once, and a sender keeps about 100 bytes for each of its packets: 0.1 GB for these.
const MOST_INITIAL: u32 = 1 << 20;

/// Windows of sender and datagram sender: each has room for a packet, and what leaves at once at the beginning must fit
/// into memory.
pub(crate) fn check_windows(
    packet: Bytes,
    initial: DataAmount,
    others: &[(&str, Option<DataAmount>)],
    checker: &mut Checker,
) {
    let given = others.iter().filter_map(|&(field, amount)| Some((field, amount?)));
    for (field, amount) in std::iter::once(("initial_window", initial)).chain(given) {
        let ok = amount.in_bytes(packet) >= packet;
        checker.require(ok, field, amount, format_args!("at least one packet ({packet})"));
    }
    let ok = packet == Bytes::ZERO || initial.in_packets(packet) <= f64::from(MOST_INITIAL);
    checker.require(ok, "initial_window", initial, format_args!("at most {MOST_INITIAL} packets"));
}

/// What a controller needs to know where nothing is repaired, so that no slow start threshold is given.
pub(crate) fn datagram_params(
    segment: Bytes,
    initial_window: DataAmount,
    window_limit: Option<DataAmount>,
) -> ControllerParams {
    let bytes = |amount: DataAmount| amount.in_bytes(segment);
    ControllerParams {
        segment,
        initial_window: bytes(initial_window),
        initial_ssthresh: None,
        max_window: window_limit.map_or(Bytes::MAX, bytes),
    }
}

/// A size as packets carry it; a configuration that was checked has no larger one.
pub(crate) fn wire_size(bytes: Bytes) -> u16 {
    u16::try_from(bytes.get()).unwrap_or(u16::MAX)
}

/// Sizes that sender and datagram sender share: a packet's and its header's.
pub(crate) fn check_sizes(packet: Bytes, header: Bytes, checker: &mut Checker) {
    checker.require(
        packet > header && packet <= Packet::MAX_SIZE,
        "segment_size",
        packet,
        format_args!("more than the header ({header}), at most {}", Packet::MAX_SIZE),
    );
}
