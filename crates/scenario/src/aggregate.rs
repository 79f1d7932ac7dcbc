//! An aggregate: one control loop for all flows between two edge routers. Its way through the network is found in
//! `topology`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Bytes, Capacity, Checker, DataAmount, Packet};
use tailback_transport::EdgeConfig;

use crate::flow::{NAME, is_name};
use crate::link::check_buffer;
use crate::parts::{QueueConfig, SchemeConfig};
use tailback_core::Choice;

/// One control loop from one edge router to another, for every flow whose data or acknowledgements go this way
/// (Xia et al., §III-A, note 2, and §III-C). Packets wait in a queue at the near edge until the scheme lets them
/// enter; they leave unchanged and go on to their own ends. Nothing is repaired on the way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AggregateConfig {
    /// The aggregate's name in results. Its queue is the link `from->name`.
    pub name: String,
    /// The node where packets enter.
    pub from: String,
    /// The node where they leave.
    pub to: String,
    /// The nodes between the two, in order, where it is not the shortest way. Only flows that pass exactly these belong to
    /// the aggregate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<Vec<String>>,
    /// The nodes that reports pass on their way back, in order; by default those of `route` backwards where they are linked
    /// that way, the shortest way otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_route: Option<Vec<String>>,
    /// The scheme, by name or as a table with its parameters: one that hears nothing but reports (`monaco` and the
    /// `accumulation-…` schemes with its estimator, `fixed-rate`, custom schemes of datagrams).
    pub scheme: Choice<SchemeConfig>,
    /// How much may wait to enter: packets, bytes, or `"unlimited"`. Default 1000 packets.
    #[serde(default = "buffer")]
    pub buffer: Capacity,
    /// The queue discipline where packets wait to enter, by name or as a table with its parameters.
    #[serde(default)]
    pub queue: Choice<QueueConfig>,
    /// The largest packet on the wire, in which the scheme counts. Default 1000 B.
    #[serde(default = "segment_size")]
    pub segment_size: Bytes,
    /// A control packet on the wire. Default 40 B.
    #[serde(default = "header")]
    pub header: Bytes,
    /// The window before any feedback. Default 10 packets.
    #[serde(default = "initial_window")]
    pub initial_window: DataAmount,
    /// The far edge tells the near one of every so many packets that have left, in packets as large as `header`, where the
    /// scheme keeps a window. Default 1.
    #[serde(default = "ack_every")]
    pub ack_every: u32,
    /// The scheme's window never exceeds this; without limit by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_limit: Option<DataAmount>,
}

const fn buffer() -> Capacity {
    Capacity::Packets(1000)
}

const fn segment_size() -> Bytes {
    Bytes::new(1000)
}

const fn header() -> Bytes {
    Bytes::new(40)
}

const fn initial_window() -> DataAmount {
    DataAmount::Packets(10.0)
}

const fn ack_every() -> u32 {
    1
}

impl AggregateConfig {
    /// Complains about every value that makes no aggregate.
    pub fn check(&self, checker: &mut Checker) {
        checker.require(is_name(&self.name), "name", format_args!("{:?}", self.name), NAME);
        checker.within("scheme", |checker| self.scheme.check(checker));
        let ok = self.scheme.lives_on_reports();
        let allowed = "one that hears nothing but reports: monaco, accumulation-aiad, accumulation-mw or accumulation-p \
                       with the estimator monaco, fixed-rate, or a custom one that sends datagrams without stamps";
        checker.require(ok, "scheme", format_args!("{:?}", self.scheme.title()), allowed);
        checker.within("queue", |checker| self.queue.check(checker));
        let relative = matches!(self.buffer, Capacity::MilliBdp(_));
        let allowed = "packets, bytes, or \"unlimited\": an aggregate has no rate of its own to multiply by";
        checker.require(!relative, "buffer", self.buffer, allowed);
        check_buffer(checker, "buffer", self.buffer);
        let size = self.segment_size;
        let most = Packet::MAX_SIZE;
        let ok = size >= self.header && size <= most;
        checker.require(
            ok,
            "segment_size",
            size,
            format_args!("at least `header` ({}), at most {most}", self.header),
        );
        checker.require(self.header > Bytes::ZERO, "header", self.header, "at least 1 B");
        let every = self.ack_every;
        checker.require((1..=1000).contains(&every), "ack_every", every, "1 to 1000 packets");
        self.ends().check_windows(checker);
    }

    /// What its two ends have in common.
    pub(crate) fn ends(&self) -> EdgeConfig {
        EdgeConfig {
            segment_size: self.segment_size,
            header: self.header,
            initial_window: self.initial_window,
            ack_every: self.ack_every,
            window_limit: self.window_limit,
        }
    }
}
