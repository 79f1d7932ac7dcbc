//! Datagram endpoints: packets that are sent once, numbered so that the receiver can count what is missing, with
//! acknowledgements only where they are wanted. Reliable streams live in `sender.rs` and `receiver.rs`.

mod acks;
mod queue;
mod receiver;
mod seen;
mod sender;

pub use receiver::DatagramReceiver;
pub use sender::DatagramSender;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_control::{Acks, ControllerParams, EcnEcho, Needs};
use tailback_core::{Bytes, Capacity, Checker, DataAmount, Span};

use crate::config::{EcnMode, RtoConfig, check_sizes, check_windows, datagram_params};

/// A datagram flow: its sender, and what its receiver must have in common with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DatagramConfig {
    /// The largest datagram on the wire, header included; larger offers of the application are split. Default
    /// 1000 B.
    pub segment_size: Bytes,
    /// Header bytes of every datagram; acknowledgements and control packets are a header alone. Default 40 B, as of
    /// streams, so that full packets of both are alike; IPv4 and UDP have 28 B. Without `acks` it may be 0 B.
    pub header: Bytes,
    /// How many datagrams, or bytes, wait at the source while the rate or the window holds them back; what is
    /// offered beyond is discarded. Default 1000 packets.
    pub buffer: Capacity,
    /// Whether the receiver acknowledges every datagram; default false. Without acknowledgements the sender knows
    /// nothing but reports, and a window in a controller's directive has no meaning and is not obeyed.
    pub acks: bool,
    /// With `acks`: datagrams acknowledged above that mean loss; default 3.
    pub dup_threshold: u32,
    /// With `acks`: the timer after which everything unacknowledged counts as lost. Its estimator of round trip
    /// times also serves reports that echo send times.
    pub rto: RtoConfig,
    /// The window before any feedback; default 10 packets.
    pub initial_window: DataAmount,
    /// The window never exceeds this; without limit by default.
    pub window_limit: Option<DataAmount>,
    /// Whether datagrams leave ECN-capable.
    pub ecn: EcnMode,
    /// With `acks`: how congestion marks are echoed. Default `per-packet`, on the acknowledgement of the marked datagram;
    /// `counted` misses none where acknowledgements are lost; there is no `latched`, since nothing is acknowledged
    /// cumulatively.
    pub ecn_echo: EcnEcho,
    /// Whether every datagram carries its send time for the receiver's policy; default false.
    pub stamps: bool,
    /// Puts the flow under the circuit breaker of RFC 8083, which looks so often: a flow that sends ten times what TCP would,
    /// or of which nothing arrives, or that nobody tells anything, ceases for good after three such looks. Receivers of
    /// schemes without reports send one per look. Default none: load of an experiment stays as it is; probabilistic control
    /// has a breaker in its `guard`. For flows on a network that others use, take `1 s`.
    pub circuit_breaker: Option<Span>,
}

impl Default for DatagramConfig {
    fn default() -> Self {
        Self {
            segment_size: Bytes::new(1000),
            header: Bytes::new(40),
            buffer: Capacity::Packets(1000),
            acks: false,
            dup_threshold: 3,
            rto: RtoConfig::default(),
            initial_window: DataAmount::Packets(10.0),
            window_limit: None,
            ecn: EcnMode::Off,
            ecn_echo: EcnEcho::PerPacket,
            stamps: false,
            circuit_breaker: None,
        }
    }
}

impl DatagramConfig {
    /// As a scheme with these needs wants it. Only the controller answers marks.
    #[must_use]
    pub fn serving(mut self, needs: &Needs) -> Self {
        self.ecn = needs.ecn_mode(self.ecn);
        self.stamps |= needs.stamps || self.circuit_breaker.is_some();
        self.acks |= needs.acks != Acks::AsConfigured;
        if self.ecn_echo != EcnEcho::Hidden {
            self.ecn_echo = needs.echo.filter(|echo| *echo != EcnEcho::Latched).unwrap_or(self.ecn_echo);
        }
        self
    }

    /// Complains about every value that is not allowed.
    pub fn check(&self, checker: &mut Checker) {
        check_sizes(self.segment_size, self.header, checker);
        let header = self.header > Bytes::ZERO || !self.acks;
        checker.require(header, "header", self.header, "at least 1 B where it makes an acknowledgement");
        let buffer = match self.buffer {
            Capacity::Packets(count) => count > 0,
            Capacity::Bytes(bytes) => bytes >= self.segment_size,
            Capacity::Unlimited => true,
            Capacity::MilliBdp(_) => false,
        };
        let allowed = "at least one datagram, in packets or bytes, or \"unlimited\"";
        checker.require(buffer, "buffer", self.buffer, allowed);
        let threshold = self.dup_threshold;
        checker.require((1..=1000).contains(&threshold), "dup_threshold", threshold, "1 to 1000");
        if let Some(interval) = self.circuit_breaker {
            let ok = interval >= Span::from_millis(10) && interval <= Span::from_secs(60);
            checker.require(ok, "circuit_breaker", interval, "a time from 10 ms to 60 s");
        }
        let echo = self.ecn_echo != EcnEcho::Latched;
        checker.require(echo, "ecn_echo", "latched", "one of per-packet, counted, codepoints, hidden");
        checker.within("rto", |rto| self.rto.check(rto));
        let others = [("window_limit", self.window_limit)];
        check_windows(self.segment_size, self.initial_window, &others, checker);
    }

    /// What a controller needs to know of this flow.
    pub fn controller_params(&self) -> ControllerParams {
        datagram_params(self.segment_size, self.initial_window, self.window_limit)
    }
}
