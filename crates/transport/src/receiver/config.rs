//! How a stream's receiver is configured; each field's comment is the user's reference. Its sender's configuration is in
//! `crate::config`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_control::{EcnEcho, Needs, Reliability};
use tailback_core::{Bytes, Checker, Span};

use super::compression::SackCompression;
use crate::config::StreamConfig;
use crate::source::Drawn;

/// What acknowledgements say beyond RFC 2018.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckDetail {
    /// Nothing.
    #[default]
    Off,
    /// The number of the segment that caused them: with the cumulative number it gives packet-pair's offset
    /// (Keshav 1994, appendix).
    Trigger,
}

/// A reliable byte stream's receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReceiverConfig {
    /// Header bytes of every segment and of every acknowledgement: not configured, since the sender's hold
    /// ([`ReceiverConfig::matching`]).
    #[serde(skip)]
    pub header: Bytes,
    /// How many ranges an acknowledgement may report, 0 (no selective acknowledgements) to 4; default 3 (RFC 2018
    /// §3, where timestamps take their share of the options).
    pub max_sack_blocks: u8,
    /// What each reported range adds to an acknowledgement's size; default 8 B (RFC 2018 §3; ns-2).
    pub sack_block: Bytes,
    /// An acknowledgement for every so many segments in order; default 1, no delay. RFC 5681 §4.2 allows 2.
    /// Out of order, each segment is acknowledged at once, and so is one that bears PSH.
    pub ack_every: u32,
    /// The longest delay of an acknowledgement, with `ack_every` above 1; default 100 ms (RFC 5681 §4.2: below
    /// 500 ms).
    pub ack_delay: Span,
    /// How long the receiving program takes until it has read what has arrived, a time or a distribution of times: drawn when data
    /// comes in order and nothing is being read. Such data is acknowledged when it has been read, as by Linux, and not when it
    /// comes. What comes beside a hole or fills one is acknowledged as otherwise. No time where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reading: Option<Drawn<Span>>,
    /// How acknowledgements beside a hole wait for each other, as Linux's do (`{}` has its settings): three leave at once, and
    /// further ones together. Each leaves at once where absent, as RFC 5681 §4.2 says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sack_compression: Option<SackCompression>,
    /// Whether an acknowledgement names as its first range what arrived twice (D-SACK, RFC 2883). By default where the sender finds
    /// losses by time (`loss_detection` of `transport`), which learns of needless retransmissions so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dsack: Option<bool>,
    /// How congestion marks are echoed.
    pub ecn_echo: EcnEcho,
    /// What acknowledgements say beyond RFC 2018.
    pub ack_detail: AckDetail,
    /// Whether requests of the sender are heeded, which take the place of `ack_every` and `ack_delay`: not configured, since the
    /// scheme says whether it asks.
    #[serde(skip)]
    pub ack_requests: bool,
    /// Whether data that became readable is announced by [`Event::Delivered`](tailback_core::Event::Delivered);
    /// default false. Not configured: drivers with a real application switch it on; counters count either way.
    #[serde(skip)]
    pub delivery_events: bool,
}

impl Default for ReceiverConfig {
    fn default() -> Self {
        Self {
            header: Bytes::new(40),
            max_sack_blocks: 3,
            sack_block: Bytes::new(8),
            ack_every: 1,
            ack_delay: Span::from_millis(100),
            reading: None,
            sack_compression: None,
            dsack: None,
            ecn_echo: EcnEcho::Latched,
            ack_detail: AckDetail::Off,
            ack_requests: false,
            delivery_events: false,
        }
    }
}

impl ReceiverConfig {
    /// As a scheme with these needs wants it.
    #[must_use]
    pub fn serving(mut self, needs: &Needs) -> Self {
        self.ack_every = needs.acks.at_most(self.ack_every);
        self.ack_requests = needs.ack_requests;
        if self.ecn_echo != EcnEcho::Hidden {
            self.ecn_echo = needs.echo.unwrap_or(self.ecn_echo);
        }
        self
    }

    /// What a receiver must have in common with its sender; the rest as in `self`.
    #[must_use]
    pub fn matching(mut self, sender: &StreamConfig) -> Self {
        self.header = sender.header;
        self.dsack = self.dsack.or(sender.rack().map(|_| true));
        match sender.reliability {
            Reliability::Reno | Reliability::NewReno | Reliability::Vegas => self.max_sack_blocks = 0,
            Reliability::Offsets => self.ack_detail = AckDetail::Trigger,
            Reliability::Sack | Reliability::Datagram => {}
        }
        self
    }

    /// Complains about every value that is not allowed.
    pub fn check(&self, checker: &mut Checker) {
        let header = self.header;
        checker.require(
            header >= Bytes::new(1) && header <= Bytes::new(1000),
            "header",
            header,
            "1 B to 1000 B",
        );
        checker.require(self.max_sack_blocks <= 4, "max_sack_blocks", self.max_sack_blocks, "0 to 4");
        checker.require(self.sack_block <= Bytes::new(100), "sack_block", self.sack_block, "at most 100 B");
        checker.require((1..=1000).contains(&self.ack_every), "ack_every", self.ack_every, "1 to 1000");
        let delay = self.ack_delay;
        let allowed = !delay.is_zero() && delay <= Span::from_secs(10);
        checker.require(allowed, "ack_delay", delay, "more than 0 s, at most 10 s");
        if let Some(reading) = &self.reading {
            checker.within("reading", |checker| reading.check(checker));
        }
        if let Some(compression) = &self.sack_compression {
            checker.within("sack_compression", |checker| compression.check(checker));
        }
    }
}
