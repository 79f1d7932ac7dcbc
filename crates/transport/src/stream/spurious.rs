//! Losses and time-outs that were none: found out by Eifel detection (RFC 3522) or by F-RTO (RFC 5682), and what was
//! thought lost counted as in the network again. What the window does about it is the controller's business.
//!
//! Eifel compares the send time that an acknowledgement echoes with the time of the first retransmission: an
//! acknowledgement that advances and was caused by something older shows that the original arrived. It needs a stamp
//! on every segment. F-RTO needs nothing of the receiver and finds time-outs only: after the first retransmission it
//! sends new data instead of further retransmissions, and sees whether the next acknowledgement covers a segment that
//! was sent once. With selective acknowledgements such a segment may also lie beyond the cumulative number (§3).
//!
//! An acknowledgement that echoes a mark besides takes back what was thought lost, and not the reduction: the sender "MUST refrain from
//! reversing congestion control state" (RFC 4015 §3.4). Not so where a scheme answers marks by itself.
//!
//! Deviations: RFC 5682 bounds the window to three segments where the second acknowledgement is a duplicate; here it
//! stays what slow start has made of one segment by then, which is two. RFC 3522 (§3.2 step 5) leaves alone what acknowledges
//! all data, since receivers by RFC 7323 echo an old stamp for what they have already; here they echo that of the segment that
//! caused the acknowledgement. A time-out behind a fast retransmission is judged by its own first retransmission, and taken back
//! by itself. After a time-out that was for nothing, the timer goes on as ever; RFC 4015 §3.1 step 11 begins the estimate anew with the
//! first sample of new data, if that is the longer one.

use tailback_core::{CongestionEvent, Recovery, Time};

use super::rack::rack_of;
use super::{Ack, LossRecovery};
use crate::config::{SpuriousDetection, StreamConfig};

/// What is looked for in the episode at hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Doubt {
    /// Nothing: detection is off, or the episode is known to be what it seems.
    #[default]
    None,
    /// The first retransmission has yet to leave.
    Unsent,
    /// It left at this time: an advance that echoes an older stamp tells.
    Eifel(Time),
    /// F-RTO waits for the first acknowledgement after the time-out (RFC 5682 §2.1 step 2).
    FirstAck,
    /// F-RTO has had it, and new data leaves before the second (step 3).
    SecondAck,
}

impl LossRecovery {
    /// A fast recovery begins.
    pub(super) fn doubt_loss(&mut self, config: &StreamConfig) {
        self.doubt = if config.spurious == SpuriousDetection::Eifel { Doubt::Unsent } else { Doubt::None };
    }

    /// The timer has expired; `again` where that repairs a time-out already (RFC 5682 §2.1 step 1). Of time-outs in a row the first
    /// is in doubt, and its retransmission's time "does not get overwritten" (RFC 3522 §3.2 step 2): what arrives of the copies
    /// after it says nothing of the original.
    pub(super) fn doubt_timeout(&mut self, again: bool, config: &StreamConfig) {
        self.doubt = match config.spurious {
            SpuriousDetection::Eifel if again && matches!(self.doubt, Doubt::Eifel(_)) => self.doubt,
            SpuriousDetection::Eifel => Doubt::Unsent,
            SpuriousDetection::FRto if !again => Doubt::FirstAck,
            SpuriousDetection::FRto | SpuriousDetection::Off => Doubt::None,
        };
    }

    /// A retransmission leaves.
    #[inline]
    pub(super) fn doubt_sent(&mut self, now: Time) {
        if self.doubt == Doubt::Unsent {
            self.doubt = Doubt::Eifel(now);
        }
    }

    /// Whether an acknowledgement, whose segments are in the list already, shows that the episode was spurious.
    pub(super) fn resolve_doubt(&mut self, ack: &Ack<'_>, advanced: u64) -> bool {
        match self.doubt {
            Doubt::Eifel(sent) if advanced > 0 => {
                self.doubt = Doubt::None;
                ack.echo.is_some_and(|echo| echo < sent)
            }
            Doubt::None | Doubt::Unsent | Doubt::Eifel(_) => false,
            Doubt::FirstAck => {
                // A duplicate, or everything that was out: an ordinary time-out.
                if advanced == 0 || self.ring.first() >= self.recover {
                    self.doubt = Doubt::None;
                } else {
                    self.doubt = Doubt::SecondAck;
                    // Nothing more is retransmitted for the moment.
                    self.retransmit_from(self.lost_edge);
                }
                false
            }
            Doubt::SecondAck => {
                let original = |one: &tailback_core::Acked| one.number < self.recover && !one.retransmitted;
                let is_spurious = self.acked.iter().any(original);
                if !is_spurious {
                    self.repair_after_all();
                }
                is_spurious
            }
        }
    }

    /// There is no new data for F-RTO to send, or the receiver has no room: the repair goes on (RFC 5682 §2.1 step 2b), for good, though
    /// its segments wait for the shaper and the application writes meanwhile. A full window, or a shaper that holds new data back, is no
    /// such reason. Whether to choose anew.
    #[cold]
    pub(crate) fn give_up_doubt(&mut self) -> bool {
        let nothing_sent = self.doubt == Doubt::SecondAck && self.ring.end() == self.recover;
        if nothing_sent {
            self.repair_after_all();
            self.settle();
        }
        nothing_sent
    }

    /// Whether F-RTO holds retransmissions back.
    #[inline]
    pub(crate) fn holds_back(&self) -> bool {
        self.doubt == Doubt::SecondAck
    }

    fn repair_after_all(&mut self) {
        self.doubt = Doubt::None;
        self.retransmit_from(self.ring.first());
    }

    /// What was thought lost, and not retransmitted since, is on its way after all. The reduction stands where the same
    /// acknowledgement echoes a mark, and is for that.
    #[cold]
    pub(super) fn take_back(&mut self, stands: bool) -> Option<CongestionEvent> {
        let was_fast = self.state == Recovery::Fast;
        let (first, end) = (self.ring.first(), self.ring.end());
        let mut again = Vec::new();
        for number in first..self.recover.min(end) {
            let record = self.ring.get_mut(number);
            if !record.is_sacked() && record.is_lost() {
                let before = record.in_network();
                record.find();
                self.pipe += record.in_network() - before;
                if record.transmissions > 1 && record.has_time() {
                    again.push((number, record.sent_at()));
                }
            }
        }
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.doubt();
        }
        if let Some(rack) = rack_of(&mut self.own) {
            rack.forget_verdicts(first, &again);
        }
        if !stands {
            self.note_answered(Time::ZERO);
            self.ecn_until = first;
        }
        self.doubt = Doubt::None;
        self.state = Recovery::Open;
        self.recover = first;
        self.lost_edge = first;
        self.retransmit_from(first);
        self.sacked_above = self.sacked;
        self.inflation = 0;
        self.forced = false;
        if stands {
            was_fast.then_some(CongestionEvent::RecoveryEnd)
        } else {
            Some(CongestionEvent::Spurious)
        }
    }
}
