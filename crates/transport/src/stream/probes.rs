//! What a connection remembers of its probes for losses at the tail (RFC 8985 §7), and what an acknowledgement says of the last
//! one. When they leave is in `tail_probe.rs`.

use tailback_core::SeqRange;

/// A connection's probes.
#[derive(Debug, Default)]
pub(super) struct TailProbe {
    /// `TLP.end_seq`, while a probe is under way.
    pub(super) end: Option<u64>,
    /// `TLP.is_retrans`.
    pub(super) is_repeated: bool,
    /// How many round trips had been measured when the last probe left.
    pub(super) samples: u32,
    /// A probe must leave now.
    pub(super) is_due: bool,
    /// How many have left.
    pub(super) count: u64,
}

impl TailProbe {
    /// `TLP_init`.
    pub(super) fn forget(&mut self) {
        self.end = None;
        self.is_due = false;
    }

    pub(super) fn is_due(&self) -> bool {
        self.is_due
    }

    /// Whether one may leave: none is under way, and a round trip was measured since the last one.
    pub(super) fn may_leave(&self, samples: u32) -> bool {
        self.end.is_none() && self.samples != samples
    }

    /// `TLP_process_ack`: everything below `number` is acknowledged. `is_bare` says that it was before, and that no ranges are
    /// told. Whether the probe has repaired a loss.
    pub(super) fn hear(&mut self, number: u64, twice: Option<SeqRange>, is_bare: bool) -> bool {
        let Some(end) = self.end.filter(|end| number >= *end) else { return false };
        let arrived_twice = twice.is_some_and(|range| range.end == end);
        let has_repaired = self.is_repeated && !arrived_twice && number > end;
        if !self.is_repeated || arrived_twice || has_repaired || is_bare {
            self.end = None;
        }
        has_repaired
    }
}
