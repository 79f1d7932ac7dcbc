//! What leaves next: `NextSeg` of RFC 6675 §4 and its like for the other kinds of recovery. What is lost is decided
//! elsewhere, in `ack.rs`, `sack.rs` and `recovery.rs`.

use tailback_control::Reliability;
use tailback_core::Recovery;

use super::{LossRecovery, Own, Ranges};
use crate::config::StreamConfig;

/// What to send next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Retransmit this number, whatever the window says: the first retransmission of an episode.
    Forced(u64),
    /// Retransmit this number.
    Again(u64),
    /// Retransmit this number as the episode's rescue (RFC 6675 §4 rule 4).
    Rescue(u64),
    /// Probe for losses at the tail, whatever the window says (RFC 8985 §7.3): retransmit this number, or send new data.
    Probe(Option<u64>),
    /// Send new data.
    New,
    /// The congestion window is full.
    WindowFull,
    /// There is nothing to send, or the receiver's window is full.
    Nothing,
}

impl Choice {
    /// The number that leaves again, if one does.
    #[inline]
    pub(crate) fn again(self) -> Option<u64> {
        match self {
            Self::Forced(number) | Self::Again(number) | Self::Rescue(number) => Some(number),
            Self::Probe(number) => number,
            Self::New | Self::WindowFull | Self::Nothing => None,
        }
    }
}

/// What limits a choice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// The congestion window.
    pub(crate) window: u64,
    /// The receiver's window.
    pub(crate) receive_window: u64,
    /// The next new segment's size; 0 without new data.
    pub(crate) new: u16,
}

/// What a choice begins from: things as they are, or as they will be behind a packet.
#[derive(Clone, Copy, Debug)]
struct Start {
    /// Bytes that count against the window.
    pipe: u64,
    /// Where retransmissions begin.
    from: u64,
    outstanding: u64,
    /// The size of a new segment that is no record yet; 0 without one.
    newest: u16,
    /// The choice where rules 3 or 4 have a segment for which the window has no room.
    unfit: Choice,
}

impl LossRecovery {
    /// What to send next. [`LossRecovery::settle`] must have been called since the last input.
    pub(crate) fn choose(&self, room: &Room, config: &StreamConfig) -> Choice {
        if self.forced
            && let Some(choice) = self.choose_forced(room)
        {
            return choice;
        }
        let (outstanding, from) = (self.outstanding, self.next_retransmit);
        let pipe = self.pipe_for_window(self.pipe, outstanding, config);
        self.pick(Start { pipe, from, outstanding, newest: 0, unfit: Choice::Nothing }, room, config)
    }

    /// What leaves whatever the window says. Where losses are found by time, the oldest need not be the one that is lost.
    #[cold]
    fn choose_forced(&self, room: &Room) -> Option<Choice> {
        match self.rack() {
            Some(rack) if rack.probe.is_due() => Some(self.choose_probe(room)),
            Some(_) => {
                let number = self.next_retransmit;
                (number < self.lost_edge).then_some(Choice::Forced(number))
            }
            None => Some(Choice::Forced(self.ring.first())),
        }
    }

    /// What to send right behind `first`, if that were sent now; `new` is the size of the new segment after it. The number of
    /// `first` itself, where that is new, is [`LossRecovery::end`].
    pub(crate) fn choose_after(&self, first: Choice, room: &Room, new: u16, config: &StreamConfig) -> Choice {
        let mut pipe = self.pipe;
        let mut from = self.next_retransmit;
        let mut outstanding = self.outstanding;
        let mut newest = 0;
        let mut room = *room;
        match first {
            Choice::Forced(number)
            | Choice::Again(number)
            | Choice::Rescue(number)
            | Choice::Probe(Some(number)) => {
                let record = self.ring.get(number);
                let size = u64::from(record.size);
                // Two copies of it at most are counted.
                pipe += if record.in_network() < 2 * size { size } else { 0 };
                from = self.settled(from.max(number + 1));
            }
            Choice::New | Choice::Probe(None) => {
                pipe += u64::from(room.new);
                outstanding += u64::from(room.new);
                newest = std::mem::replace(&mut room.new, new);
            }
            Choice::WindowFull | Choice::Nothing => return first,
        }
        let pipe = self.pipe_for_window(pipe, outstanding, config);
        // What only lacks room is there all the same: a partner to wait for.
        let start = Start { pipe, from, outstanding, newest, unfit: Choice::WindowFull };
        let then = self.pick(start, &room, config);
        // Rule 4 comes last, and an episode has one rescue.
        if matches!(first, Choice::Rescue(_)) { Choice::Nothing } else { then }
    }

    /// From a number on, the first that has not arrived and, where that is known, is not on its way again.
    fn settled(&self, from: u64) -> u64 {
        let found = self.finds_lost_retransmissions();
        let end = self.high_sacked.max(self.lost_edge).min(self.ring.end());
        let mut number = from;
        while number < end {
            let record = self.ring.get(number);
            if record.is_sacked() {
                number = record.skip_to().max(number + 1);
            } else if found && number < self.lost_edge && record.in_network() > 0 {
                number += 1;
            } else {
                break;
            }
        }
        number
    }

    /// Whether losses among retransmissions are found without the timer.
    #[inline]
    fn finds_lost_retransmissions(&self) -> bool {
        let ranges = self.own.as_deref().and_then(Own::ranges);
        self.arrivals.is_some() || ranges.is_some_and(Ranges::finds_lost_retransmissions)
    }

    /// What counts against the window, of so many bytes in the network by the records and so many outstanding. Before recovery
    /// begins, segments that left the network release new ones only by limited transmit.
    #[inline]
    fn pipe_for_window(&self, pipe: u64, outstanding: u64, config: &StreamConfig) -> u64 {
        let pipe = pipe.saturating_sub(self.inflation);
        // Copies of a segment that recovery retransmitted may still fly beside it, so that more is in the network than
        // is outstanding.
        if self.state == Recovery::Open && !config.limited_transmit { outstanding.max(pipe) } else { pipe }
    }

    /// `NextSeg` of RFC 6675 §4.
    #[inline]
    fn pick(&self, start: Start, room: &Room, config: &StreamConfig) -> Choice {
        let Start { pipe, from, outstanding, newest, unfit } = start;
        let fits = |size: u16| pipe == 0 && room.window > 0 || pipe + u64::from(size) <= room.window;
        // Rule 1: the lowest that is lost and not yet retransmitted.
        if self.state != Recovery::Open && from < self.lost_edge {
            return if fits(self.size_of(from)) { Choice::Again(from) } else { Choice::WindowFull };
        }
        // Rule 2: new data.
        if room.new > 0 && outstanding + u64::from(room.new) <= room.receive_window {
            return if fits(room.new) { Choice::New } else { Choice::WindowFull };
        }
        if self.state != Recovery::Fast || self.mode != Reliability::Sack || self.rack().is_some() {
            return Choice::Nothing;
        }
        // Rule 3: the lowest below a selectively acknowledged one, lost or not.
        if from < self.high_sacked {
            return if fits(self.size_of(from)) { Choice::Again(from) } else { unfit };
        }
        // Rule 4: once per episode, the highest; not before the episode's first retransmission has arrived (§5 step 4.3).
        if config.rescue && self.rescue_after == 0 && !self.ring.is_empty() {
            let (first, end) = (self.ring.first(), self.ring.end());
            let highest = match newest {
                0 => (first..end).rev().find(|n| !self.ring.get(*n).is_sacked()),
                _ => Some(end),
            };
            return match highest {
                Some(number) if fits(if number < end { self.size_of(number) } else { newest }) => {
                    Choice::Rescue(number)
                }
                Some(_) => unfit,
                None => Choice::Nothing,
            };
        }
        Choice::Nothing
    }

    /// Moves the start of retransmissions over what is selectively acknowledged and, where losses among retransmissions are
    /// found without the timer, over those that are on their way.
    #[inline]
    pub(crate) fn settle(&mut self) {
        let found = self.finds_lost_retransmissions();
        if self.sacked == 0 && !found {
            return;
        }
        let end = self.high_sacked.max(self.lost_edge).min(self.ring.end());
        while self.next_retransmit < end {
            let record = self.ring.get(self.next_retransmit);
            if record.is_sacked() {
                self.next_retransmit = record.skip_to().max(self.next_retransmit + 1);
            } else if found && self.next_retransmit < self.lost_edge && record.in_network() > 0 {
                self.next_retransmit = self.behind_under_way(self.next_retransmit);
            } else {
                break;
            }
        }
    }
}
