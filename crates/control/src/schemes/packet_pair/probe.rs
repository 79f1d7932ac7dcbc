//! What acknowledgements of pairs mean: spacings, round trip times, and when a round trip has passed. What is made of
//! them is the scheme's business.
//!
//! Every transmission has an identity of its own, counted on: a retransmission that leaves with a new packet makes a
//! pair as good as any (`transmission_id` of the appendix of Keshav 1994). It rides in the controller's note.

use tailback_core::{Acked, Lost, PairPosition, Span, Time};

use crate::clock::Clock;

/// What a batch of acknowledgements said.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Reading {
    /// The round trip time of a packet that was the first of its pair, or alone, and was sent once.
    pub(super) round_trip: Option<Span>,
    /// The time between the acknowledgements of a pair, in seconds per full packet.
    pub(super) spacing: Option<f64>,
    /// Whether a packet sent after the last such batch was acknowledged: a round trip has passed.
    pub(super) round_passed: bool,
}

/// The acknowledgement of the first of a pair.
#[derive(Clone, Copy, Debug)]
struct First {
    id: u64,
    at: Time,
}

/// Reads pairs.
#[derive(Clone, Debug)]
pub(super) struct ProbeReader {
    /// The next transmission's identity.
    pub(super) next: u64,
    first: Option<First>,
    /// A round trip has passed when this transmission or a later one is acknowledged.
    round_end: u64,
    /// Losses of earlier transmissions belong to a loss that was already told.
    loss_end: u64,
    /// A full packet's bytes on the wire.
    segment: f64,
    clock: Clock,
    /// Pairs since the last spacing of a tick or more, whose spacings a coarse clock saw as none, in full packets.
    unseen: f64,
    /// The last spacing told; infinite before the first.
    told: f64,
}

impl ProbeReader {
    pub(super) fn new(segment: f64, clock: Span) -> Self {
        Self {
            next: 0,
            first: None,
            round_end: 0,
            loss_end: 0,
            segment,
            clock: Clock::new(clock),
            unseen: 0.0,
            told: f64::INFINITY,
        }
    }

    /// A packet leaves; its identity.
    pub(super) fn on_sent(&mut self) -> u32 {
        let id = self.next;
        self.next += 1;
        id as u32
    }

    /// No pair is half read any more.
    pub(super) fn forget(&mut self) {
        self.first = None;
    }

    /// Whether among these losses is one of a packet that was sent after the last loss was told: at most one such
    /// loss in a round trip, however many packets it takes.
    pub(super) fn is_new_loss(&mut self, lost: &[Lost]) -> bool {
        let newest = lost.iter().map(|packet| self.id(packet.tag)).max();
        let new = newest.is_some_and(|id| id >= self.loss_end);
        if new {
            self.loss_end = self.next;
        }
        new
    }

    /// The identity behind a note, which holds its low bits.
    fn id(&self, tag: u32) -> u64 {
        let age = (self.next as u32).wrapping_sub(tag);
        self.next.wrapping_sub(u64::from(age))
    }

    /// Reads a batch; `None` if nothing was newly acknowledged. Of several packets the one sent last is taken to have
    /// caused the acknowledgement: of the others, whose own acknowledgements were lost, no time is known.
    pub(super) fn read(&mut self, now: Time, acked: &[Acked]) -> Option<Reading> {
        let newest = acked.iter().max_by_key(|packet| self.id(packet.tag))?;
        let id = self.id(newest.tag);
        let now = self.clock.read(now);
        let round_passed = id >= self.round_end;
        if round_passed {
            self.round_end = self.next;
        }
        let sent_at = self.clock.read(newest.sent_at);
        let round_trip = (newest.pair != PairPosition::Second && !newest.retransmitted)
            .then(|| now.since(sent_at))
            .filter(|span| !span.is_zero());
        let spacing = match newest.pair {
            PairPosition::Second => self.spacing(id, now, newest.size.as_f64()),
            PairPosition::First | PairPosition::Single => None,
        };
        self.first = (newest.pair == PairPosition::First).then_some(First { id, at: now });
        Some(Reading { round_trip, spacing, round_passed })
    }

    /// The spacing since the acknowledgement of the first of the same pair, for a second of `size` bytes.
    ///
    /// A clock coarser than the spacing sees none in most pairs and a tick in some: a tick is shared among the pairs
    /// since the last one, which gives the right mean. Where pairs keep step with the clock no tick may ever come: so
    /// many pairs without one that the last spacing told is twice too long are told themselves.
    fn spacing(&mut self, id: u64, now: Time, size: f64) -> Option<f64> {
        let first = self.first.filter(|first| first.id + 1 == id)?;
        let span = now.since(first.at);
        self.unseen += size.max(1.0) / self.segment;
        if !span.is_zero() {
            self.told = span.as_secs_f64() / std::mem::take(&mut self.unseen);
            return Some(self.told);
        }
        let most = self.clock.tick().as_secs_f64() / (self.unseen + 1.0);
        let news = most > 0.0 && most < 0.5 * self.told;
        if news {
            self.told = most;
        }
        news.then_some(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_core::Bytes;

    fn acked(tag: u32, pair: PairPosition) -> Acked {
        Acked { number: 0, size: Bytes::new(500), sent_at: at(0), retransmitted: false, pair, tag }
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn reader(sent: u64) -> ProbeReader {
        let mut reader = ProbeReader::new(1000.0, Span::ZERO);
        (0..sent).for_each(|_| {
            reader.on_sent();
        });
        reader
    }

    #[test]
    fn a_pair_gives_round_trip_and_spacing() {
        let mut reader = reader(2);
        let first = reader.read(at(40), &[acked(0, PairPosition::First)]).unwrap();
        assert_eq!((first.round_trip, first.spacing), (Some(Span::from_millis(40)), None));
        let second = reader.read(at(45), &[acked(1, PairPosition::Second)]).unwrap();
        // 5 ms for 500 bytes are 10 ms for a full packet.
        assert_eq!((second.round_trip, second.spacing), (None, Some(0.01)));
    }

    #[test]
    fn halves_of_different_pairs_are_no_pair() {
        let mut reader = reader(6);
        reader.read(at(40), &[acked(0, PairPosition::First)]);
        assert_eq!(reader.read(at(45), &[acked(3, PairPosition::Second)]).unwrap().spacing, None);
        // The first's own acknowledgement was lost: both come at once.
        let both = [acked(4, PairPosition::First), acked(5, PairPosition::Second)];
        assert_eq!(reader.read(at(50), &both).unwrap().spacing, None);
        assert_eq!(reader.read(at(50), &[]), None);
    }

    #[test]
    fn a_singleton_between_breaks_the_pair() {
        let mut reader = reader(3);
        reader.read(at(40), &[acked(0, PairPosition::First)]);
        reader.read(at(41), &[acked(2, PairPosition::Single)]);
        assert_eq!(reader.read(at(45), &[acked(1, PairPosition::Second)]).unwrap().spacing, None);
    }

    #[test]
    fn round_trips_are_counted_by_what_was_sent_meanwhile() {
        let mut reader = reader(4);
        let mut passed = |tag| reader.read(at(40), &[acked(tag, PairPosition::Single)]).unwrap().round_passed;
        assert_eq!([passed(0), passed(1), passed(3)], [true, false, false]);
        reader.on_sent();
        assert!(reader.read(at(80), &[acked(4, PairPosition::Single)]).unwrap().round_passed);
    }

    #[test]
    fn a_burst_of_losses_is_one_loss() {
        let lost = |tag| Lost { number: 0, size: Bytes::new(500), sent_at: at(0), tag };
        let mut reader = reader(8);
        assert!(!reader.is_new_loss(&[]));
        assert!(reader.is_new_loss(&[lost(2), lost(3)]));
        assert!(!reader.is_new_loss(&[lost(7)]), "sent before the sender knew of the first loss");
        reader.on_sent();
        assert!(reader.is_new_loss(&[lost(8)]));
    }

    #[test]
    fn identities_outlive_their_notes_bits() {
        let mut reader = reader(0);
        reader.next = (1 << 32) - 1;
        let (a, b) = (reader.on_sent(), reader.on_sent());
        reader.read(at(40), &[acked(a, PairPosition::First)]);
        assert!(reader.read(at(45), &[acked(b, PairPosition::Second)]).unwrap().spacing.is_some());
    }

    #[test]
    fn a_coarse_clock_sees_whole_ticks() {
        let mut reader = ProbeReader::new(500.0, Span::from_millis(10));
        (0..4).for_each(|_| {
            reader.on_sent();
        });
        reader.read(at(49), &[acked(0, PairPosition::First)]);
        assert_eq!(reader.read(at(51), &[acked(1, PairPosition::Second)]).unwrap().spacing, Some(0.01));
        reader.read(at(51), &[acked(2, PairPosition::First)]);
        assert_eq!(reader.read(at(58), &[acked(3, PairPosition::Second)]).unwrap().spacing, None);
    }

    #[test]
    fn a_clock_coarser_than_the_spacing_finds_its_mean() {
        // 3 ms between acknowledgements, a tick of 10 ms, pairs every 7 ms.
        let mut reader = ProbeReader::new(500.0, Span::from_millis(10));
        let mut found = Vec::new();
        for pair in 0..1000 {
            let (a, b) = (reader.on_sent(), reader.on_sent());
            reader.read(at(40 + 7 * pair), &[acked(a, PairPosition::First)]);
            let spacing = reader.read(at(43 + 7 * pair), &[acked(b, PairPosition::Second)]).unwrap().spacing;
            found.extend(spacing.map(|value| (value, pair)));
        }
        let weighted: f64 = found.windows(2).map(|two| two[1].0 * (two[1].1 - two[0].1) as f64).sum();
        let mean = weighted / (found[found.len() - 1].1 - found[0].1) as f64;
        assert!((mean - 0.003).abs() < 1e-4, "{mean}");
    }

    #[test]
    fn pairs_in_step_with_a_coarse_clock_are_not_believed_for_ever() {
        let mut reader = ProbeReader::new(500.0, Span::from_millis(10));
        let mut told = Vec::new();
        for pair in 0..100 {
            let (a, b) = (reader.on_sent(), reader.on_sent());
            reader.read(at(42 + 10 * pair), &[acked(a, PairPosition::First)]);
            told.extend(reader.read(at(43 + 10 * pair), &[acked(b, PairPosition::Second)]).unwrap().spacing);
        }
        // Half a tick, then ever less, until the true millisecond cannot be excluded any more.
        assert_eq!(told[0], 0.005);
        assert!(told.windows(2).all(|two| two[1] < 0.5 * two[0]));
        assert!(*told.last().unwrap() < 0.001, "{told:?}");
    }
}
