//! How much may leave in fast recovery by proportional rate reduction: what is in the network shrinks to the threshold over a whole
//! round trip, in proportion to what arrives, and not by half a window of silence. Which segments leave is chosen in `choice.rs`.
//!
//! Source: RFC 9937 §6, in bytes as there, with RFC 6675's `pipe` for `inflight`. The threshold is the window that the controller
//! directs once it has heard of the loss.
//!
//! Where the text leaves a choice, or is not followed to the letter:
//!
//! * The share that may leave is rounded up to whole segments, as in the examples of §8 and in Linux, which count in segments.
//!   Rounded up to bytes, every segment would wait for half of what it needs.
//! * An acknowledgement "indicates further loss" if a segment is believed lost because of it. One that lets the rescue of RFC 6675
//!   go does not (§6.2: it "may").
//! * `pipe` is `inflight` also where lost retransmissions are found. There §6.2 asks for a sum that counts a segment once which
//!   rule 3 or the rescue has sent again; `pipe` counts both of its copies, so less leaves.
//! * Bytes that are newly acknowledged count in `RecoverFS` unless they were selectively acknowledged before.
//! * `DeliveredData` is what is acknowledged for the first time, in order or not; a receiver that takes back what it said of ranges
//!   does not make it smaller, and what is told again that a time-out has had the sender forget (RFC 2018 §8) not larger.
//! * A `SndCnt` below zero is none, as in Linux. So what a reordering timer declares lost may leave in its own place.
//! * An episode that a report begins, and no acknowledgement, keeps to the window until the next acknowledgement.
//! * The reduction for an ECN echo is not spread (§4 allows it; Linux does so).

use tailback_core::Recovery;

use super::{LossRecovery, Own};
use crate::teller::{Books, Outcome};

/// An episode's account, in bytes.
#[derive(Debug, Default)]
pub(super) struct Proportional {
    /// `prr_delivered`.
    delivered: u64,
    /// `prr_out`.
    out: u64,
    /// `RecoverFS`; none before the first acknowledgement of an episode.
    recover_flight: Option<u64>,
    /// `cwnd` since the last acknowledgement.
    window: Option<u64>,
}

/// What an acknowledgement means for the account.
#[derive(Clone, Copy, Debug)]
struct Progress {
    /// `DeliveredData`.
    delivered: u64,
    /// `inflight`, now.
    in_flight: u64,
    /// `ssthresh`.
    threshold: u64,
    /// `SafeACK`.
    is_safe: bool,
    /// `SMSS`.
    segment: u64,
}

impl Proportional {
    /// The steps of §6.2, for an episode of `recover_flight` bytes.
    fn hear(&mut self, recover_flight: u64, now: Progress) {
        let Progress { delivered, in_flight, threshold, is_safe, segment } = now;
        if delivered == 0 {
            return;
        }
        self.delivered += delivered;
        let room = if in_flight > threshold {
            let share = u128::from(self.delivered) * u128::from(threshold);
            let out =
                share.div_ceil(u128::from(recover_flight.max(1)) * u128::from(segment)) * u128::from(segment);
            u64::try_from(out).unwrap_or(u64::MAX).saturating_sub(self.out)
        } else {
            let conserved = self.delivered.saturating_sub(self.out).max(delivered);
            let more = if is_safe { segment } else { 0 };
            (conserved + more).min(threshold - in_flight)
        };
        let is_first = self.out == 0 && room == 0;
        self.window = Some(in_flight + if is_first { segment } else { room });
    }
}

fn proportional_of(own: &mut Option<Box<Own>>) -> Option<&mut Proportional> {
    own.as_deref_mut()?.ranges_mut()?.proportional.as_mut()
}

impl LossRecovery {
    /// The account, where there is one.
    #[inline]
    pub(super) fn proportional(&self) -> Option<&Proportional> {
        self.own.as_deref()?.ranges()?.proportional.as_ref()
    }

    /// An episode begins.
    pub(super) fn begin_proportional(&mut self) {
        if let Some(account) = proportional_of(&mut self.own) {
            *account = Proportional::default();
        }
    }

    /// An acknowledgement was heard, of which the controller has made this window.
    pub(crate) fn portion(&mut self, window: u64, outcome: &Outcome, segment: u64) {
        if self.state != Recovery::Fast || self.proportional().is_none() {
            return;
        }
        let delivered = self.acked.iter().map(|one| one.size.get()).sum();
        let now = Progress {
            delivered,
            in_flight: self.in_flight(),
            threshold: window,
            is_safe: outcome.advanced > 0 && self.lost.is_empty(),
            segment,
        };
        let told = self.proportional().and_then(|account| account.recover_flight);
        let recover_flight = told.unwrap_or_else(|| self.not_sacked() + delivered);
        let Some(account) = proportional_of(&mut self.own) else { return };
        account.recover_flight = Some(recover_flight);
        account.hear(recover_flight, now);
    }

    /// An episode has begun without an acknowledgement: one segment leaves until there is one.
    pub(crate) fn portion_of_one(&mut self, segment: u64) {
        let in_flight = self.in_flight();
        if self.state == Recovery::Fast
            && let Some(account) = proportional_of(&mut self.own).filter(|one| one.window.is_none())
        {
            account.window = Some(in_flight + segment);
        }
    }

    /// Bytes that are outstanding and not selectively acknowledged.
    fn not_sacked(&self) -> u64 {
        let records = (self.ring.first()..self.ring.end()).map(|number| self.ring.get(number));
        records.filter(|record| !record.is_sacked()).map(|record| u64::from(record.size)).sum()
    }

    /// So many bytes leave.
    #[inline]
    pub(super) fn note_out(&mut self, size: u16) {
        if self.state == Recovery::Fast
            && let Some(account) = proportional_of(&mut self.own)
        {
            account.out += u64::from(size);
        }
    }

    /// The window in force where the controller directs one of `directed` bytes.
    #[inline]
    pub(crate) fn window(&self, directed: u64) -> u64 {
        if self.state != Recovery::Fast || directed == u64::MAX {
            return directed;
        }
        self.proportional().and_then(|account| account.window).unwrap_or(directed)
    }
}
