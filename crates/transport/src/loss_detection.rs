//! How a stream's sender is configured to find losses: by what is acknowledged above a segment, or by time. How it does so is in
//! `stream`: `sack.rs` has the one, `stream/rack.rs` and `stream/tail_probe.rs` the other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Checker, Span};

/// How lost segments are found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LossDetection {
    /// As the scheme's kind of recovery has it: by `dup_threshold` duplicate acknowledgements (RFC 5681, RFC 6582), or as many
    /// segments selectively acknowledged above (RFC 6675).
    #[default]
    DupAcks,
    /// By time: what was sent later has arrived, and it has not after a round trip and a reordering window; a probe asks after the
    /// tail (RACK-TLP, RFC 8985).
    Rack(RackConfig),
}

/// Loss detection by time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RackConfig {
    /// The least reordering window, and what each round trip with news of a needless retransmission adds to it, as a part of the
    /// least round trip time, in (0, 1]; default 0.25 (RFC 8985 §6.2 step 4). It never exceeds the smoothed round trip time.
    pub reordering_window: f64,
    /// For so many recoveries a reordering window that has grown is kept, 1 to 1000; default 16 (RFC 8985 §6.2 step 4).
    #[schemars(range(min = 1, max = 1000))]
    pub persist: u32,
    /// The least round trip time is that of the last so long; default 5 min, as Linux has it (RFC 8985 §6.2 step 1: "windowed").
    pub min_rtt_window: Span,
    /// Whether a segment probes for losses at the tail when acknowledgements are overdue (RFC 8985 §7); default true.
    pub tail_loss_probe: bool,
    /// How much longer a probe waits where one segment alone is outstanding, whose acknowledgement a receiver may delay; default
    /// 200 ms, as Linux has it (RFC 8985 §7.2 leaves it open). A probe leaves no later than the retransmission timer expires.
    pub max_ack_delay: Span,
}

tailback_core::choosable!(LossDetection);

impl Default for RackConfig {
    fn default() -> Self {
        Self {
            reordering_window: 0.25,
            persist: 16,
            min_rtt_window: Span::from_secs(300),
            tail_loss_probe: true,
            max_ack_delay: Span::from_millis(200),
        }
    }
}

impl LossDetection {
    /// What it is called.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::DupAcks => "dup-acks",
            Self::Rack(_) => "rack",
        }
    }

    /// How losses are found by time, where they are.
    pub const fn rack(&self) -> Option<&RackConfig> {
        match self {
            Self::DupAcks => None,
            Self::Rack(rack) => Some(rack),
        }
    }

    /// Complains about every value that is not allowed.
    pub(crate) fn check(&self, checker: &mut Checker) {
        let Self::Rack(rack) = self else { return };
        let part = rack.reordering_window;
        checker.require(part > 0.0 && part <= 1.0, "reordering_window", part, "more than 0, at most 1");
        checker.require((1..=1000).contains(&rack.persist), "persist", rack.persist, "1 to 1000");
        let window = rack.min_rtt_window;
        checker.require(!window.is_zero(), "min_rtt_window", window, "more than 0 s");
        let delay = rack.max_ack_delay;
        checker.require(delay <= Span::from_secs(10), "max_ack_delay", delay, "at most 10 s");
    }
}
