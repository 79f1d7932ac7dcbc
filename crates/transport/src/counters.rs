//! What endpoints count, for recorders; always exact. Series over time are the recorder's.

use tailback_core::{Bytes, CongestionEvent, Observation};

/// What a sender counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Data packets sent, retransmissions and connection requests included.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: Bytes,
    /// Retransmitted data packets.
    pub retransmitted: u64,
    /// Packets received: acknowledgements and reports.
    pub received: u64,
    /// Their bytes on the wire.
    pub received_bytes: Bytes,
    /// Data packets acknowledged cumulatively.
    pub acked_packets: u64,
    /// Their bytes on the wire.
    pub acked: Bytes,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Fast recoveries begun, but for those of a window that an ECN echo had reduced already.
    pub recoveries: u64,
    /// Window reductions asked for by ECN echoes.
    pub ecn_reductions: u64,
    /// Losses and time-outs found to have been none.
    pub spurious: u64,
    /// Datagrams discarded at the source by a closed gate.
    pub gated: u64,
    /// Datagrams discarded at the source because its buffer was full.
    pub overflowed: u64,
}

impl SenderCounters {
    /// Counts what an acknowledgement meant for the window.
    #[inline]
    pub(crate) fn note(&mut self, event: Option<CongestionEvent>) {
        match event {
            Some(CongestionEvent::Loss) => self.recoveries += 1,
            Some(CongestionEvent::Ecn) => self.ecn_reductions += 1,
            Some(CongestionEvent::Spurious) => self.spurious += 1,
            _ => {}
        }
    }

    /// The part that every observer of an endpoint understands.
    pub fn observe(&self) -> Observation {
        Observation {
            sent_packets: self.packets,
            sent_bytes: self.bytes,
            received_packets: self.received,
            received_bytes: self.received_bytes,
            goodput_bytes: self.acked,
            goodput_packets: self.acked_packets,
            repeated_packets: self.retransmitted,
            timeouts: self.timeouts,
            recoveries: self.recoveries,
            gated_packets: self.gated,
            ..Observation::default()
        }
    }
}

/// What a receiver counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounters {
    /// Data packets that arrived undamaged, duplicates included.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: Bytes,
    /// Control packets that arrived.
    pub control_packets: u64,
    /// Their bytes on the wire.
    pub control_bytes: Bytes,
    /// Data packets that had arrived before.
    pub duplicates: u64,
    /// Data packets handed to the application: in order for a stream, each once for datagrams.
    pub delivered_packets: u64,
    /// Their bytes on the wire.
    pub delivered: Bytes,
    /// Their payload.
    pub goodput: Bytes,
    /// Data packets that arrived with the mark Congestion Experienced.
    pub ce_marked: u64,
    /// Acknowledgements sent.
    pub acks: u64,
    /// Reports sent.
    pub reports: u64,
    /// Bytes of acknowledgements and reports on the wire.
    pub sent_bytes: Bytes,
}

impl ReceiverCounters {
    /// The part that every observer of an endpoint understands.
    pub fn observe(&self) -> Observation {
        Observation {
            sent_packets: self.acks + self.reports,
            sent_bytes: self.sent_bytes,
            received_packets: self.packets + self.control_packets,
            received_bytes: self.bytes + self.control_bytes,
            goodput_bytes: self.delivered,
            app_bytes: self.goodput,
            goodput_packets: self.delivered_packets,
            repeated_packets: self.duplicates,
            ..Observation::default()
        }
    }
}
