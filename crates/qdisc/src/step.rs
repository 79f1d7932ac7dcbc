//! Step marking: the switch that DCTCP expects (RFC 8257 §3.1). An arriving packet that finds the queue at or above a
//! threshold is marked, by the queue as it is now and not by an average; one that is not ECN-capable is dropped there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{
    ArrivalPolicy, Backlog, Bytes, Checker, DataAmount, DropReason, Packet, QueueCx, Time, Verdict,
};

use crate::limit::Limit;
use crate::parts::{BuildCx, Info, QueueConfig};

/// Step marking (RFC 8257 §3.1): marks what arrives while so much waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StepConfig {
    /// K: a packet is marked where so much or more waits before it, in packets or bytes. Packets count whatever their size:
    /// where acknowledgements of flows the other way wait too, an amount in bytes (`"97.5 kB"` for 65 packets of 1500 B) keeps
    /// them from counting like full ones. Above 0; default 20 packets (Alizadeh et al. 2010, §3.1, for 1 Gbit/s; 65 for
    /// 10 Gbit/s).
    pub threshold: DataAmount,
    /// Drop what is not ECN-capable at the threshold, as RED's switches do. Default false: it waits until the buffer is
    /// full.
    pub drop_others: bool,
}

impl Default for StepConfig {
    fn default() -> Self {
        Self { threshold: DataAmount::Packets(20.0), drop_others: false }
    }
}

impl QueueConfig for StepConfig {
    type Queue = Box<dyn ArrivalPolicy + Send>;

    fn info(&self) -> &'static Info {
        &Info {
            name: "step",
            family: "active",
            summary: "Marks what arrives while more than a threshold waits, as DCTCP wants it",
            source: "RFC 8257 §3.1",
        }
    }

    fn check(&self, checker: &mut Checker) {
        let ok = self.threshold.in_bytes(Bytes::new(1000)) > Bytes::ZERO;
        checker.require(ok, "threshold", self.threshold, "an amount above zero");
    }

    fn build(&self, cx: &BuildCx) -> Self::Queue {
        Box::new(Step {
            threshold: self.threshold,
            drop_others: self.drop_others,
            limit: Limit::new(cx.capacity),
            marking: false,
        })
    }
}

/// Step marking.
#[derive(Clone, Debug)]
pub struct Step {
    threshold: DataAmount,
    drop_others: bool,
    limit: Limit,
    /// Whether the newest arrival found the queue at or above the threshold.
    marking: bool,
}

impl ArrivalPolicy for Step {
    fn admit(&mut self, _: Time, packet: &mut Packet, backlog: &Backlog, cx: &mut QueueCx<'_>) -> Verdict {
        if !self.limit.admits(packet, backlog, cx.idle_since.is_some()) {
            return Verdict::Drop(DropReason::Overflow);
        }
        self.marking = match self.threshold {
            DataAmount::Packets(packets) => f64::from(backlog.packets) >= packets,
            DataAmount::Bytes(bytes) => backlog.bytes >= bytes,
        };
        if self.marking && !cx.mark_ce(packet) && self.drop_others {
            return Verdict::Drop(DropReason::Early);
        }
        Verdict::Accept
    }

    fn observe(&self, _: Time, note: &mut dyn FnMut(&'static str, f64)) {
        note("marking", f64::from(u8::from(self.marking)));
    }
}
