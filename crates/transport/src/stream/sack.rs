//! The scoreboard of RFC 6675: reading selectively acknowledged ranges and marking what they show to be lost.
//!
//! Records of selectively acknowledged segments do not need their send time any more. Its place holds a number to
//! skip to: the record where a range begins remembers the range's end, so that a range that is reported again, a
//! little longer, costs a step and not a walk.

use tailback_control::Reliability;
use tailback_core::SeqRange;

use super::ack::Samples;
use super::{Ack, LossRecovery};

impl LossRecovery {
    /// Reads an acknowledgement's ranges; whether they said anything new.
    #[inline]
    pub(super) fn take_ranges(&mut self, ack: &Ack<'_>, samples: &mut Samples) -> bool {
        match self.mode {
            Reliability::Sack if !ack.blocks.is_empty() => {
                let before = self.acked.len();
                for block in ack.blocks {
                    self.take_range(*block, samples);
                }
                if !self.acked.is_sorted_by_key(|one| one.number) {
                    self.acked.sort_unstable_by_key(|one| one.number);
                }
                self.acked.len() > before
            }
            // The offset names one segment beyond the cumulative number (Keshav 1994, §6).
            Reliability::Offsets => match ack.trigger {
                Some(trigger) if trigger >= ack.number && trigger < self.ring.end() => {
                    let before = self.acked.len();
                    self.take_range(SeqRange { start: trigger, end: trigger + 1 }, samples);
                    self.acked.len() > before
                }
                _ => false,
            },
            _ => false,
        }
    }

    fn take_range(&mut self, range: SeqRange, samples: &mut Samples) {
        let start = range.start.max(self.ring.first());
        let end = range.end.min(self.ring.end());
        if start >= end {
            return;
        }
        let mut number = start;
        while number < end {
            let record = *self.ring.get(number);
            if record.is_sacked() {
                number = record.skip_to().max(number + 1);
                continue;
            }
            self.pipe -= record.in_network();
            self.tell_acked(number, &record, samples);
            self.ring.get_mut(number).sack(number + 1);
            self.sacked += 1;
            self.sacked_above += u32::from(number >= self.lost_edge);
            number += 1;
        }
        self.high_sacked = self.high_sacked.max(end);
        let head = self.ring.get_mut(start);
        head.set_skip_to(head.skip_to().max(end));
    }

    /// Marks lost what has `threshold` selectively acknowledged segments above (`IsLost` of RFC 6675 §4, counted
    /// in segments).
    #[inline(always)]
    pub(super) fn judge(&mut self, threshold: u32) {
        while self.sacked_above >= threshold && self.lost_edge < self.high_sacked {
            let number = self.lost_edge;
            let record = self.ring.get(number);
            if record.is_sacked() {
                self.sacked_above -= 1;
                // As [`LossRecovery::settle`] would: mostly this is all that it would find to do.
                self.next_retransmit += u64::from(self.next_retransmit == number);
            } else if !record.is_lost() {
                self.lose(number);
            }
            self.lost_edge += 1;
        }
    }
}
