//! What earlier sessions of a transfer came to, where it took more than one: figures go on, and are not counted anew.

use tailback_core::{Bytes, Observation};

use super::error::TransferError;
use crate::udp::EdgeCounters;

/// The sum of all sessions that are over.
#[derive(Clone, Debug, Default)]
pub(super) struct Past {
    /// How much the receiver had before the first.
    pub(super) resumed: Option<u64>,
    /// How much of the file was acknowledged, and how much was read to be sent: no receiver can have more.
    pub(super) done: u64,
    pub(super) read: u64,
    pub(super) observation: Observation,
    pub(super) edge: EdgeCounters,
    pub(super) moves: u64,
}

impl Past {
    /// Where to go on: the receiver says how much it has of so many bytes.
    ///
    /// # Errors
    /// Where it has what cannot be.
    pub(super) fn admit(&mut self, have: u64, size: u64) -> Result<u64, TransferError> {
        if have > size {
            return Err(TransferError::Refused("it has more bytes than there are".to_owned()));
        }
        if self.resumed.is_some() && have > self.read {
            return Err(TransferError::Early);
        }
        self.resumed.get_or_insert(have);
        self.done = have;
        Ok(have)
    }

    /// Why no session follows: who has answered once is not one that never did.
    pub(super) fn explained(&self, error: TransferError, size: u64) -> TransferError {
        let (kept, total) = (Bytes::new(self.done), Bytes::new(size));
        match error {
            TransferError::NoAnswer { patience, .. } if self.resumed.is_some() => {
                TransferError::Silent { who: "receiver", what: "said", patience, hint: None, kept, total }
            }
            other => other,
        }
    }

    /// What happened at the edge, with what happens now.
    pub(super) fn edge_with(&self, now: EdgeCounters) -> EdgeCounters {
        EdgeCounters {
            sent: self.edge.sent + now.sent,
            unsent: self.edge.unsent + now.unsent,
            received: self.edge.received + now.received,
            marked: self.edge.marked + now.marked,
            refused: self.edge.refused + now.refused,
        }
    }

    /// What there is to see of the sender, with what there was. What is true of a moment is what it is now.
    pub(super) fn with(&self, now: Observation) -> Observation {
        let before = &self.observation;
        let mut gate = now.gate;
        gate.closings += before.gate.closings;
        gate.closed += before.gate.closed;
        Observation {
            sent_packets: before.sent_packets + now.sent_packets,
            sent_bytes: before.sent_bytes + now.sent_bytes,
            received_packets: before.received_packets + now.received_packets,
            received_bytes: before.received_bytes + now.received_bytes,
            goodput_bytes: before.goodput_bytes + now.goodput_bytes,
            goodput_packets: before.goodput_packets + now.goodput_packets,
            app_bytes: before.app_bytes + now.app_bytes,
            repeated_packets: before.repeated_packets + now.repeated_packets,
            timeouts: before.timeouts + now.timeouts,
            recoveries: before.recoveries + now.recoveries,
            gated_packets: before.gated_packets + now.gated_packets,
            messages: before.messages + now.messages,
            rtt_samples: before.rtt_samples.wrapping_add(now.rtt_samples),
            gate,
            ..now
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_core::Span;

    /// Of a file of 100 bytes, of which 60 were read to be sent and 30 acknowledged.
    fn second() -> Past {
        let mut past = Past::default();
        assert_eq!(past.admit(10, 100).expect("from earlier attempts"), 10);
        Past { read: 60, done: 30, ..past }
    }

    #[test]
    fn a_receiver_has_what_was_sent_at_most() {
        for have in [0, 30, 60] {
            let mut past = second();
            assert_eq!(past.admit(have, 100).expect("it may be"), have);
            assert_eq!((past.done, past.resumed), (have, Some(10)), "what was there before is what it was");
        }
        assert!(matches!(second().admit(61, 100), Err(TransferError::Early)));
        assert!(matches!(second().admit(101, 100), Err(TransferError::Refused(_))));
        // What was there before anything was sent can be any part of it.
        assert!(Past::default().admit(100, 100).is_ok());
    }

    #[test]
    fn who_has_answered_once_has_gone_silent() {
        let silent = || TransferError::NoAnswer { tried: Vec::new(), patience: Span::from_secs(10) };
        let said = second().explained(silent(), 100).to_string();
        let expected = "the receiver has said nothing for 10 s; 30 B of 100 B are there: the same commands go on from there";
        assert_eq!(said, expected);
        // All is there, and how it ended is not known.
        let said = Past { done: 100, ..second() }.explained(silent(), 100).to_string();
        let expected = "the receiver has said nothing for 10 s; it has all 100 B, and may have ended well: the same commands say \
                        whether it has, or go on";
        assert_eq!(said, expected);
        assert!(matches!(Past::default().explained(silent(), 100), TransferError::NoAnswer { .. }));
        assert!(matches!(second().explained(TransferError::Stopped, 100), TransferError::Stopped));
    }

    #[test]
    fn figures_go_on_and_what_is_of_a_moment_does_not() {
        let one = Observation {
            sent_packets: 3,
            goodput_bytes: Bytes::new(4000),
            rtt_samples: u32::MAX,
            in_flight: Bytes::new(1500),
            ..Observation::default()
        };
        let past = Past {
            observation: one,
            edge: EdgeCounters { sent: 9, ..EdgeCounters::default() },
            ..Past::default()
        };
        let both = past.with(Observation { in_flight: Bytes::new(1260), ..one });
        assert_eq!((both.sent_packets, both.goodput_bytes), (6, Bytes::new(8000)));
        assert_eq!((both.in_flight, both.rtt_samples), (Bytes::new(1260), u32::MAX - 1));
        assert_eq!(past.edge_with(past.edge).sent, 18);
    }
}
