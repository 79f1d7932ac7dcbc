//! A group of flows that are alike: their scheme, application, ends, start and stop.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_control::{AnyController, ControllerParams, Needs, Parts, Reliability, over_stream};
use tailback_core::{Bytes, Checker, Span};
use tailback_transport::EcnMode;

use crate::looks::look;
use crate::parts::{DatagramConfig, ReceiverConfig, SchemeConfig, SourceConfig, StreamConfig};
use crate::spread::Draw;
use tailback_core::Choice;

/// The most flows of one group.
const MOST: u32 = 1_000_000;

/// A group of flows that are alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowConfig {
    /// The group's name in results; the scheme's where it is left out, with a number where another group has it already
    /// (`cubic`, `cubic 2`). Members of a group of several are called `name-0`, `name-1`, ….
    #[serde(default)]
    pub name: String,
    /// How many flows the group has.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub count: u32,
    /// The congestion control scheme, by name or as a table with its parameters.
    pub scheme: Choice<SchemeConfig>,
    /// Whether a scheme that sends datagrams carries a reliable stream instead: what is lost is retransmitted within the rate
    /// that the scheme allows, and the scheme sees first transmissions only. The flow then has `transport` and `receiver` in
    /// place of `datagram`. Says nothing of other schemes. Default false.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reliable: bool,
    /// The application, by name or as a table with its parameters; an endless transfer by default.
    #[serde(default)]
    pub source: Choice<SourceConfig>,
    /// The sending node. In the templates `dumbbell`, `parking-lot` and `home` the name of a router stands for a host of
    /// the flow's own behind that router; the default is the first router, `isp` in `home`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The receiving node, as `from`; the default is the last router, `home` in `home`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Several receiving nodes, in place of `to`: every packet is copied to all of them where their shortest ways part,
    /// each acknowledges for itself, and the slowest sets the rate. In results each is a flow of its own, named
    /// `name to node`. For schemes with a reliable stream, in the topologies `star` and `graph`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receivers: Option<Vec<String>>,
    /// Whether packets are carried as ATM cells of 53 bytes, cut and put together by AAL 5 at the edge of the network.
    /// Buffers and queues on the way then count cells. Default false.
    #[serde(default)]
    pub cells: bool,
    /// The nodes between the two ends that the data passes, in order, where it is not to take the shortest way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<Vec<String>>,
    /// The nodes between the two ends that acknowledgements and reports pass, in order; by default those of `route`
    /// backwards where they are linked that way, the shortest way otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_route: Option<Vec<String>>,
    /// When the flow starts: one time, or `{ from, to }` for a uniform draw from each flow's own random stream.
    #[serde(default)]
    pub start: Draw,
    /// When the flow stops; with the run where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Span>,
    /// The sending endpoint of a scheme with a reliable stream: sizes, windows, loss recovery, timers, ECN.
    #[serde(default)]
    pub transport: StreamConfig,
    /// The receiving endpoint of a scheme with a reliable stream: acknowledgements and echoes.
    #[serde(default)]
    pub receiver: ReceiverConfig,
    /// Both endpoints of a scheme that sends datagrams: sizes, buffer, acknowledgements, ECN.
    #[serde(default)]
    pub datagram: DatagramConfig,
}

const fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
const fn is_false(value: &bool) -> bool {
    !*value
}

impl FlowConfig {
    /// The name of member `index`.
    pub fn member(&self, index: u32) -> String {
        if self.count == 1 { self.name.clone() } else { format!("{}-{index}", self.name) }
    }

    /// Whether one of the group's members has this name.
    pub fn has_member(&self, name: &str) -> bool {
        look();
        if self.count == 1 {
            return name == self.name;
        }
        let number = name.strip_prefix(self.name.as_str()).and_then(|rest| rest.strip_prefix('-'));
        number
            .and_then(|text| text.parse::<u32>().ok().filter(|number| number.to_string() == text))
            .is_some_and(|number| number < self.count)
    }

    /// Whether there is always something to send.
    pub fn is_greedy(&self) -> bool {
        self.source.is_endless()
    }

    /// Whether the scheme sends datagrams instead of a reliable stream.
    pub fn sends_datagrams(&self) -> bool {
        self.needs().reliability == Reliability::Datagram
    }

    /// What the scheme wants from its endpoints here.
    pub fn needs(&self) -> Needs {
        let needs = self.scheme.needs();
        if self.reliable { needs.over_stream() } else { needs }
    }

    /// Both halves of the scheme, as the endpoints of this flow carry them.
    pub fn parts(&self) -> Parts<AnyController> {
        let parts = self.scheme.build(&self.controller_params());
        let is_carried = self.reliable && self.scheme.reliability() == Reliability::Datagram;
        if is_carried { over_stream(parts) } else { parts }
    }

    /// A full packet's bytes on the wire.
    pub fn packet_size(&self) -> Bytes {
        if self.sends_datagrams() { self.datagram.segment_size } else { self.transport.segment_size }
    }

    /// A packet's header, which is all of an acknowledgement that has nothing to report.
    pub fn header_size(&self) -> Bytes {
        if self.sends_datagrams() { self.datagram.header } else { self.transport.header }
    }

    /// What a controller needs to know of each of these flows.
    pub fn controller_params(&self) -> ControllerParams {
        if self.sends_datagrams() {
            self.datagram.controller_params()
        } else {
            self.transport.controller_params()
        }
    }

    /// Whether the flow's data asks routers to mark instead of dropping.
    pub fn is_ecn_capable(&self) -> bool {
        let asked = if self.sends_datagrams() { self.datagram.ecn } else { self.transport.ecn };
        self.scheme.needs().ecn_mode(asked) != EcnMode::Off
    }

    /// Complains about every value that makes no flow.
    pub fn check(&self, checker: &mut Checker) {
        checker.require(is_name(&self.name), "name", format_args!("{:?}", self.name), NAME);
        let count = self.count;
        checker.require((1..=MOST).contains(&count), "count", count, format_args!("1 to {MOST} flows"));
        checker.within("scheme", |checker| self.scheme.check(checker));
        checker.within("source", |checker| self.source.check(checker));
        checker.within("transport", |checker| self.transport.check(checker));
        checker.within("receiver", |checker| self.receiver.check(checker));
        checker.within("datagram", |checker| self.datagram.check(checker));
        self.check_endpoints(checker);
        self.check_receivers(checker);
        self.start.check("start", checker);
        if let Some(stop) = self.stop {
            let latest = self.start.latest();
            checker.require(stop > latest, "stop", stop, format_args!("a time after the start ({latest})"));
        }
    }
}

impl FlowConfig {
    /// Complains about multicast that the endpoints cannot do.
    fn check_receivers(&self, checker: &mut Checker) {
        let Some(receivers) = &self.receivers else { return };
        let mut distinct: Vec<_> = receivers.iter().collect();
        distinct.sort_unstable();
        distinct.dedup();
        let ok = !distinct.is_empty() && distinct.len() == receivers.len();
        checker.require(ok, "receivers", format_args!("{receivers:?}"), "one or more nodes, each once");
        let stream = !self.sends_datagrams();
        let scheme = self.scheme.name();
        checker.require(
            stream,
            "scheme",
            scheme,
            "a scheme with a reliable stream where there are `receivers`",
        );
        checker.require(!self.cells, "cells", self.cells, "false where there are `receivers`");
        let alone = self.count == 1;
        checker.require(alone, "count", self.count, "1 where there are `receivers`");
        for (field, given) in [
            ("to", self.to.is_some()),
            ("route", self.route.is_some()),
            ("return_route", self.return_route.is_some()),
        ] {
            checker.require(!given, field, "a value", "nothing where there are `receivers`");
        }
        let stamps = self.transport.stamps || self.scheme.needs().stamps;
        checker.require(!stamps, "scheme", scheme, "a scheme without stamps where there are `receivers`");
        let asks = self.scheme.needs().ack_requests;
        let allowed = "a scheme that asks for no acknowledgements where there are `receivers`";
        checker.require(!asks, "scheme", scheme, allowed);
        checker.within("transport", |transport| {
            let jitter = self.transport.send_jitter;
            transport.require(jitter.is_zero(), "send_jitter", jitter, "0 s where there are `receivers`");
            let paced = self.transport.pacing.is_some();
            transport.require(!paced, "pacing", "a table", "none where there are `receivers`");
            let handshake = self.transport.handshake;
            transport.require(!handshake, "handshake", handshake, "false where there are `receivers`");
            let spread = self.transport.proportional_rate_reduction;
            let allowed = "false where there are `receivers`";
            transport.require(!spread, "proportional_rate_reduction", spread, allowed);
            let detection = &self.transport.loss_detection;
            let ok = detection.rack().is_none();
            let allowed = "dup-acks where there are `receivers`";
            transport.require(ok, "loss_detection", detection.name(), allowed);
        });
    }

    /// Complains about endpoints that the scheme does not have: what is written there would do nothing.
    fn check_endpoints(&self, checker: &mut Checker) {
        let name = self.scheme.name();
        if self.sends_datagrams() {
            let allowed = format_args!("`datagram` instead, since {name:?} sends datagrams");
            checker.require(self.transport == StreamConfig::default(), "transport", "a table", allowed);
            checker.require(self.receiver == ReceiverConfig::default(), "receiver", "a table", allowed);
        } else {
            let allowed =
                format_args!("`transport` and `receiver` instead, since {name:?} sends a reliable stream");
            checker.require(self.datagram == DatagramConfig::default(), "datagram", "a table", allowed);
            let ok = !self.transport.proportional_rate_reduction
                || self.scheme.reliability() == Reliability::Sack
                || self.scheme.reliability() == Reliability::Datagram;
            let allowed =
                format_args!("false with {name:?}, which does not find losses by selective acknowledgements");
            checker.within("transport", |transport| {
                transport.require(ok, "proportional_rate_reduction", true, allowed);
            });
            self.check_loss_detection(checker);
        }
    }
}

impl FlowConfig {
    /// Complains about losses found by time where no ranges tell what has arrived.
    fn check_loss_detection(&self, checker: &mut Checker) {
        let detection = &self.transport.loss_detection;
        if detection.rack().is_none() {
            return;
        }
        let (name, reliability) = (self.scheme.name(), self.scheme.reliability());
        let ok = matches!(reliability, Reliability::Sack | Reliability::Datagram);
        let allowed =
            format_args!("dup-acks with {name:?}, which does not find losses by selective acknowledgements");
        checker.within("transport", |transport| {
            transport.require(ok, "loss_detection", detection.name(), allowed);
        });
        let ranges = self.receiver.max_sack_blocks;
        checker.within("receiver", |receiver| {
            let allowed = "1 to 4 where losses are found by time";
            receiver.require(ranges > 0, "max_sack_blocks", ranges, allowed);
        });
    }
}

/// What a name may be.
pub(crate) const NAME: &str = "a name of letters, digits, `-`, `_`, `.` and spaces, at most 100";

/// Whether a text can name a flow or a node.
pub(crate) fn is_name(text: &str) -> bool {
    let allowed = |c: char| c.is_alphanumeric() || "-_. ".contains(c);
    !text.trim().is_empty() && text.len() <= 100 && text.chars().all(allowed) && !text.contains("->")
}
