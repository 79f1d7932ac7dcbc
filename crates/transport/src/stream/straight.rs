//! The straight way through loss recovery: the next number is acknowledged while nothing is missing, and new data leaves.
//! It does what `ack.rs`, `choice.rs` and `mod.rs` do with the same input, without asking what they ask; a property test
//! holds them equal (`crates/transport/tests/straight.rs`). When it may be taken is decided in `sender/straight.rs`.

use tailback_core::{Acked, Bytes, Echoes, PairPosition, Recovery, Time};

use super::ring::Record;
use super::spurious::Doubt;
use super::{LossRecovery, NONE, Own};
use crate::config::{RttSampling, StreamConfig};
use crate::teller::Next;

impl LossRecovery {
    /// Whether nothing is missing, in doubt or under repair, and nothing unusual is asked for. This stays so as long as
    /// [`LossRecovery::on_next`] and [`LossRecovery::sent_next`] are all that happens.
    pub(crate) fn is_calm(&self, config: &StreamConfig) -> bool {
        let first = self.ring.first();
        let nothing_missing = self.state == Recovery::Open
            && self.sacked == 0
            && self.high_sacked <= first
            && self.lost_edge <= first
            && self.next_retransmit <= first;
        let nothing_counted = self.dup_acks == 0
            && self.limited == 0
            && self.inflation == 0
            && self.consecutive == 0
            && !self.forced
            && self.doubt == Doubt::None;
        let nothing_unusual = config.rtt_sampling == RttSampling::EveryAck
            && self.timed == NONE
            && !matches!(self.own.as_deref(), Some(Own::Soft(_)))
            && self.vegas_timer.is_none()
            && !self.rtt.is_directed();
        nothing_missing && nothing_counted && nothing_unusual
    }

    /// Everything below `number` is acknowledged; nothing happens and `None` is given unless that is the oldest segment
    /// alone, and that was sent once.
    #[inline(always)]
    pub(crate) fn on_next(&mut self, now: Time, number: u64, config: &StreamConfig) -> Option<Next> {
        let first = self.ring.first();
        if number.wrapping_sub(1) != first {
            return None;
        }
        let record = self.ring.pop_if(Record::is_plain)?;
        let size = u64::from(record.size);
        let outstanding = self.outstanding;
        self.outstanding -= size;
        self.pipe -= size;
        self.lost_edge = number;
        self.next_retransmit = number;
        self.high_sacked = number;
        let sent_at = record.sent_at();
        let rtt = self.rtt.sample(now, sent_at, &config.rto);
        if self.ring.is_empty() {
            self.deadline = Time::NEVER;
        } else {
            self.restart_timer(now, config);
        }
        self.ring.tidy();
        let acked = Acked {
            number: first,
            size: Bytes::new(size),
            sent_at,
            retransmitted: false,
            pair: record.pair(),
            tag: record.tag,
        };
        Some(Next { acked, outstanding, rtt })
    }

    /// New data of `size` leaves, with the controller's note; its number.
    #[inline(always)]
    pub(crate) fn sent_next(&mut self, now: Time, size: u16, tag: u32, config: &StreamConfig) -> u64 {
        let number = self.ring.end();
        self.last_sent = now;
        self.ring.push(Record::new(now, size, tag, PairPosition::Single));
        self.outstanding += u64::from(size);
        self.pipe += u64::from(size);
        if self.deadline.is_never() {
            self.restart_timer(now, config);
        }
        number
    }

    /// Whether a receiver's count of marks is no news.
    pub(crate) fn knows_of(&self, marks: Echoes) -> bool {
        marks == Echoes::NONE || self.marks.as_deref() == Some(&marks)
    }

    /// Bytes in the network by the records.
    #[inline(always)]
    pub(crate) fn pipe(&self) -> u64 {
        self.pipe
    }
}
