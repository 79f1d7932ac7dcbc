//! Which lengths a way carries: they are asked for one after another, until the longest that comes through is known
//! (RFC 8899). Times are arguments. Who sends what is asked for, and hears the answers, is in `reach.rs` and `sending.rs`.

use tailback_core::{Span, Time};

/// Datagrams of this length pass everywhere (RFC 8200 §5).
pub(super) const SAFE: usize = 1232;
/// Lengths of IP packets that ways are known to carry: of large frames, Ethernet, `PPPoE` (RFC 2516 §7), and of tunnels and
/// virtual networks with what these put around a packet.
const KNOWN: [usize; 10] = [9000, 1500, 1492, 1480, 1460, 1440, 1420, 1400, 1360, 1320];
/// So often a length is asked for before it counts as one that does not come through (`MAX_PROBES`, RFC 8899 §5.1.2).
const TRIES: u32 = 3;
/// The pace of waiting, as a part of the patience, and the longest (`PROBE_TIMER` is a second at least, RFC 8899 §5.1.1).
const PART: u64 = 10;
const LONGEST_PACE: Span = Span::from_secs(1);

/// How long one answer is waited for, by somebody with so much patience.
pub(super) fn pace(patience: Span) -> Span {
    (patience / PART).min(LONGEST_PACE)
}

/// The datagrams to ask for, the longest first and the one that passes everywhere last; `below` bytes are IP's and UDP's.
pub(super) fn lengths(longest: usize, below: usize) -> Vec<u16> {
    let known = KNOWN.iter().map(|packet| packet - below);
    let between = known.filter(|length| (SAFE + 1..longest).contains(length));
    let all = std::iter::once(longest).chain(between).chain((longest > SAFE).then_some(SAFE));
    all.map(|length| u16::try_from(length).unwrap_or(u16::MAX)).collect()
}

/// The datagrams that a sender would use, and which of them the way carries.
#[derive(Clone, Debug)]
pub(super) struct Carried {
    /// The longest first.
    all: Vec<u16>,
    /// Which is the longest that is carried.
    at: usize,
}

impl Carried {
    /// Those of these lengths, the longest first, that are no longer than what came through.
    pub(super) fn new(all: Vec<u16>, longest: u16) -> Self {
        let at = all.iter().position(|length| *length <= longest).unwrap_or(all.len().saturating_sub(1));
        Self { all, at }
    }

    /// The same, where something else came through.
    pub(super) fn with(&self, longest: u16) -> Self {
        Self::new(self.all.clone(), longest)
    }

    /// The longest that is carried.
    pub(super) fn longest(&self) -> u16 {
        self.all.get(self.at).copied().unwrap_or(SAFE as u16)
    }

    /// Those that are longer than that.
    pub(super) fn longer(&self) -> &[u16] {
        &self.all[..self.at]
    }

    /// Those, and the longest that is carried as the last.
    pub(super) fn up_to_longest(&self) -> &[u16] {
        &self.all[..=self.at]
    }

    /// The longest that is carried, and those that are shorter.
    pub(super) fn passing(&self) -> &[u16] {
        &self.all[self.at..]
    }
}

/// What to do next in a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Send something of this length.
    Ask(u16),
    /// Wait for answers until then.
    Wait(Time),
    /// It is over: the longest that comes through, if any does.
    Found(Option<u16>),
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    length: u16,
    tries: u32,
    first: Option<Time>,
}

/// A search for the longest length that comes through.
#[derive(Clone, Debug)]
pub(super) struct Search {
    /// The longest first.
    asked: Vec<Asked>,
    /// The longest that was answered.
    best: Option<usize>,
    /// When something last left, and when the next may.
    last: Option<Time>,
    next: Time,
    rtt: Option<Span>,
    pace: Span,
}

impl Search {
    /// Among these lengths, the longest first; `rtt` is the round trip time, where it is known.
    pub(super) fn new(lengths: &[u16], now: Time, rtt: Option<Span>, pace: Span) -> Self {
        let asked = lengths.iter().map(|length| Asked { length: *length, tries: 0, first: None }).collect();
        Self { asked, best: None, last: None, next: now, rtt, pace }
    }

    /// What to do now. A length that is to be asked for counts as asked for.
    pub(super) fn step(&mut self, now: Time) -> Step {
        let Some(index) = self.open() else {
            let until = self.last.map_or(now, |last| last + self.wait());
            let is_over = self.best == Some(0) || now >= until;
            let found = self.best.map(|best| self.asked[best].length);
            return if is_over { Step::Found(found) } else { Step::Wait(until) };
        };
        if now < self.next {
            return Step::Wait(self.next);
        }
        // What no window bounds leaves once in a round trip at most (RFC 8899 §3, point 7).
        self.next = now + self.rtt.unwrap_or_default().clamp(self.pace / PART, self.pace);
        self.last = Some(now);
        let asked = &mut self.asked[index];
        (asked.tries, asked.first) = (asked.tries + 1, asked.first.or(Some(now)));
        Step::Ask(asked.length)
    }

    /// An answer to what had this length.
    pub(super) fn answered(&mut self, now: Time, length: u16) {
        // What was not asked for was not answered, whoever says so.
        let known = self.asked.iter().position(|asked| asked.length == length);
        let Some((index, first)) = known.and_then(|index| Some((index, self.asked[index].first.take()?)))
        else {
            return;
        };
        // Which try was answered is not known: rather too slow than too quick.
        self.rtt = self.rtt.max(Some(now.since(first)));
        self.best = Some(self.best.map_or(index, |best| best.min(index)));
    }

    /// What has this length cannot leave this host.
    pub(super) fn refused(&mut self, length: u16) {
        for asked in self.asked.iter_mut().filter(|asked| asked.length == length) {
            asked.tries = TRIES;
        }
    }

    /// Whether anything was answered.
    pub(super) fn is_answered(&self) -> bool {
        self.best.is_some()
    }

    /// The length to ask for next: of those that are longer than what came through, the one that was asked for least. Before
    /// anything came through, the longest and the shortest alone: they tell whether there is anything to look for.
    fn open(&self) -> Option<usize> {
        let end = self.best.unwrap_or(self.asked.len());
        let is_open = |index: &usize| *index < end && self.asked[*index].tries < TRIES;
        let between = if self.best.is_some() { 1..end } else { 0..0 };
        let shortest = self.asked.len().checked_sub(1);
        std::iter::once(0)
            .chain(shortest)
            .chain(between)
            .filter(is_open)
            .min_by_key(|index| self.asked[*index].tries)
    }

    /// How long the last answer is waited for.
    fn wait(&self) -> Span {
        (self.rtt.unwrap_or_default() * 3).clamp(self.pace, self.pace * 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PACE: Span = Span::from_secs(1);
    const STEP: Span = Span::from_millis(10);
    const BELOW: usize = 28;

    /// A search over a way that answers what `passes` after `rtt`: what it finds, what it asked for and when, and how long it
    /// took.
    fn searched(
        asked: &[u16],
        rtt: Span,
        mut passes: impl FnMut(u16) -> bool,
    ) -> (Option<u16>, Vec<(Time, u16)>, Span) {
        let mut search = Search::new(asked, Time::ZERO, None, PACE);
        let (mut now, mut answers, mut log) = (Time::ZERO, Vec::new(), Vec::new());
        loop {
            answers.retain(|(at, length)| {
                let is_here = *at <= now;
                if is_here {
                    search.answered(now, *length);
                }
                !is_here
            });
            match search.step(now) {
                Step::Found(found) => return (found, log, now.since(Time::ZERO)),
                Step::Ask(length) => {
                    log.push((now, length));
                    if passes(length) {
                        answers.push((now + rtt, length));
                    }
                }
                Step::Wait(until) => assert!(until > now, "it waits for what is over"),
            }
            now += STEP;
            assert!(now < Time::ZERO + Span::from_secs(100), "it does not end");
        }
    }

    #[test]
    fn lengths_are_those_of_known_ways_between_the_longest_and_the_safe_one() {
        let four = [1472, 1464, 1452, 1432, 1412, 1392, 1372, 1332, 1292, 1232];
        assert_eq!(lengths(1472, BELOW), four);
        assert_eq!(lengths(1452, 48), [1452, 1444, 1432, 1412, 1392, 1372, 1352, 1312, 1272, 1232]);
        assert_eq!(lengths(1300, BELOW), [1300, 1292, 1232]);
        assert_eq!(lengths(SAFE, BELOW), [1232]);
        assert_eq!(&lengths(65_535, BELOW)[..3], [65_535, 8972, 1472]);
    }

    #[test]
    fn a_way_that_carries_all_is_asked_once() {
        let (found, asked, span) = searched(&lengths(1472, BELOW), Span::from_millis(40), |_| true);
        assert_eq!(found, Some(1472));
        assert!(asked.len() == 1 && span <= Span::from_millis(50), "{asked:?}");
    }

    /// Where not even the shortest comes through, nothing between is asked for.
    #[test]
    fn a_way_that_carries_nothing_is_asked_for_both_ends_alone() {
        let (found, asked, span) = searched(&lengths(1472, BELOW), Span::from_millis(40), |_| false);
        assert_eq!(found, None);
        let lengths: Vec<u16> = asked.iter().map(|(_, length)| *length).collect();
        assert_eq!(lengths, [1472, 1232, 1472, 1232, 1472, 1232]);
        assert!(span <= PACE * 2, "{span}");
    }

    #[test]
    fn what_cannot_leave_is_not_asked_for_again() {
        let mut search = Search::new(&[1472, 1232], Time::ZERO, None, PACE);
        assert_eq!(search.step(Time::ZERO), Step::Ask(1472));
        search.refused(1472);
        let mut now = Time::ZERO;
        for _ in 0..TRIES {
            now += PACE;
            assert_eq!(search.step(now), Step::Ask(1232));
        }
        search.answered(now, 1232);
        search.answered(now, 1400);
        assert_eq!(search.step(now + PACE * 3), Step::Found(Some(1232)));
    }

    proptest! {
        /// The longest of the known lengths that the way carries is found, in a time that is known.
        #[test]
        fn the_longest_that_passes_is_found(carries in 1232_u16..=9000, rtt in 0_u64..1000, longest in 1232_usize..=9000) {
            let (all, rtt) = (lengths(longest, BELOW), Span::from_millis(rtt));
            let (found, asked, span) = searched(&all, rtt, |length| length <= carries);
            prop_assert_eq!(found, all.iter().copied().find(|length| *length <= carries));
            prop_assert!(asked.len() <= all.len() * TRIES as usize);
            prop_assert!(span <= (rtt.max(PACE / PART) + STEP) * asked.len() as u64 + PACE * 3, "{} {}", span, asked.len());
            // As soon as a round trip time is known.
            let known = asked.iter().position(|(at, _)| *at >= Time::ZERO + rtt * 2).unwrap_or(asked.len());
            for pair in asked[known.min(asked.len())..].windows(2) {
                prop_assert!(pair[1].0.since(pair[0].0) >= rtt.min(PACE).max(PACE / PART), "{:?}", pair);
            }
        }

        /// Where datagrams get lost, it is a length that came through, and never more is asked for than is allowed.
        #[test]
        fn loss_makes_it_no_longer_than_the_way(carries in 1000_u16..=1500, lost in prop::collection::vec(any::<bool>(), 1..60)) {
            let (all, mut lost) = (lengths(1472, BELOW), lost.into_iter().cycle());
            let (found, asked, _) = searched(&all, Span::from_millis(40), |length| length <= carries && lost.next() == Some(false));
            prop_assert!(found.is_none_or(|found| found <= carries && all.contains(&found)));
            for length in &all {
                let tries = asked.iter().filter(|(_, other)| other == length).count();
                prop_assert!(tries <= TRIES as usize);
            }
        }

        /// Whatever is said to it, it ends, and finds only what it asked for and was told.
        #[test]
        fn nothing_that_is_said_makes_it_go_on(said in prop::collection::vec((0_u8..3, 1200_u16..1500, 0_u64..3000), 0..200)) {
            let all = lengths(1472, BELOW);
            let mut search = Search::new(&all, Time::ZERO, None, PACE);
            let (mut now, mut asked, mut told) = (Time::ZERO, Vec::new(), Vec::new());
            for (what, length, wait) in said {
                now += Span::from_millis(wait);
                match what {
                    0 => {
                        search.answered(now, length);
                        told.push(length);
                    }
                    1 => search.refused(length),
                    _ => {}
                }
                match search.step(now) {
                    Step::Ask(length) => asked.push(length),
                    Step::Wait(until) => prop_assert!(until <= now + PACE * 2),
                    Step::Found(found) => prop_assert!(found.is_none_or(|found| asked.contains(&found) && told.contains(&found))),
                }
            }
            prop_assert!(asked.len() <= all.len() * TRIES as usize);
        }
    }
}
