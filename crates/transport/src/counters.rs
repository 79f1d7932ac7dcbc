//! What endpoints count, for recorders; always exact. Series over time are the recorder's.

use tailback_core::Bytes;

/// What a sender counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Data packets sent, retransmissions included.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: Bytes,
    /// Retransmitted data packets.
    pub retransmitted: u64,
    /// Wire bytes of segments acknowledged cumulatively.
    pub acked: Bytes,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Fast recoveries begun.
    pub recoveries: u64,
    /// Window reductions asked for by ECN echoes.
    pub ecn_reductions: u64,
    /// Data discarded at the source because the gate was closed or the source's buffer was full.
    pub discarded: Bytes,
}

/// What a receiver counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounters {
    /// Data packets that arrived undamaged, duplicates included.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: Bytes,
    /// Data packets that had arrived before.
    pub duplicates: u64,
    /// Payload bytes handed to the application: in order for a stream, each once for datagrams.
    pub goodput: Bytes,
    /// Data packets that arrived with the mark Congestion Experienced.
    pub ce_marked: u64,
    /// Acknowledgements sent.
    pub acks: u64,
    /// Reports sent.
    pub reports: u64,
}
