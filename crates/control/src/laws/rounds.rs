//! Rounds: the time in which one window of data is sent and acknowledged. What happens once per round is each scheme's
//! own; rounds by delivered data, which loss cannot stretch, are in `estimators/delivery_rate.rs`.

use tailback_core::{Bytes, Feedback};

/// Counts windows of data: a round ends when more is acknowledged than was sent at its beginning, as for
/// `DCTCP.WindowEnd` (RFC 8257 §3.3).
#[derive(Clone, Copy, Debug, Default)]
pub struct Rounds {
    /// Bytes acknowledged cumulatively so far.
    acked: u64,
    /// The same, when the round ends.
    end: u64,
}

impl Rounds {
    /// Takes a batch in; whether a round ends with it. The first acknowledgement ends a round of nothing.
    #[inline]
    pub fn end(&mut self, feedback: &Feedback<'_>) -> bool {
        if feedback.advanced == Bytes::ZERO {
            return false;
        }
        self.acked += feedback.advanced.get();
        let over = self.acked > self.end;
        if over {
            self.end = self.acked + feedback.outstanding.saturating_sub(feedback.advanced).get();
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_ends_beyond_what_was_outstanding_at_its_beginning() {
        let mut rounds = Rounds::default();
        let mut ack = |advanced: u64, outstanding: u64| {
            rounds.end(&Feedback {
                advanced: Bytes::new(advanced),
                outstanding: Bytes::new(outstanding),
                ..Feedback::empty()
            })
        };
        // Ten packets are outstanding, and each acknowledgement lets another leave.
        let ends: Vec<bool> = (0..21).map(|_| ack(1000, 10_000)).collect();
        let at: Vec<usize> = (0..21).filter(|step| ends[*step]).collect();
        assert_eq!(at, [0, 10, 20]);
        assert!(!ack(0, 10_000), "an acknowledgement of nothing ends nothing");
    }
}
