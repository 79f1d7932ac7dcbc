//! A way that carries shorter packets than it did: when that is suspected, and what is then found out (RFC 8899 §4.3). It is a
//! machine without sockets and clocks; `sending.rs` drives it. Ways that become wide again are the business of `widening.rs`.
//!
//! What the network says of lengths (ICMP) is a reason to look, and no more: anybody can make it up.

use tailback_core::{Span, Time};

use super::lengths::{Search, Step, pace};
use crate::secure::envelope::SHORTEST_HELLO;

/// So many packets at least have left before it means something that they are not acknowledged.
const ENOUGH: u64 = 3;
/// Less than this part of what left was acknowledged: what is lost by congestion is less.
const PART: u64 = 8;
/// The time until the next look doubles so often at most, as long as looking is of no use.
const DOUBLINGS: u32 = 5;

/// How the transfer stands now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub(super) now: Time,
    /// How much of the file is acknowledged.
    pub(super) done: u64,
    /// What has left in this session.
    pub(super) sent_packets: u64,
    pub(super) sent_bytes: u64,
    pub(super) rtt: Option<Span>,
    /// Whether anybody says that packets are too long.
    pub(super) is_told: bool,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Nothing, for now.
    Nothing,
    /// Begin to ask for lengths.
    Begin,
    /// Ask for this one.
    Ask(u16),
    /// Go on with datagrams of this length, in a session anew.
    Change(u16),
}

/// What came through when it was last asked and no session anew came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passage {
    /// It was not asked since all was well.
    Unknown,
    /// Packets as long as those in use, and answers to them.
    Long,
    /// Only such as are too short for a transfer: since their answers are as long as others, longer ones are lost on the way there.
    Short,
    /// None, or no answer to any.
    Nothing,
}

/// What is known of the lengths that the way of a session carries.
#[derive(Clone, Debug)]
pub(super) struct Narrowing {
    /// The one in use, and all shorter ones.
    lengths: Vec<u16>,
    pace: Span,
    /// How it stood at the last look.
    last: Flow,
    search: Option<Search>,
    /// Searches in a row of which nothing came.
    fruitless: u32,
    /// Whether it is the shortest of all that is asked for, which only tells why nothing longer is answered.
    is_last_question: bool,
    passage: Passage,
}

impl Narrowing {
    /// Of a session that begins now, in which the first of these lengths is used.
    pub(super) fn new(lengths: Vec<u16>, patience: Span, now: Time, done: u64) -> Self {
        let last = Flow { now, done, sent_packets: 0, sent_bytes: 0, rtt: None, is_told: false };
        let pace = pace(patience);
        let (is_last_question, passage) = (false, Passage::Unknown);
        Self { lengths, pace, last, search: None, fruitless: 0, is_last_question, passage }
    }

    /// What to do now.
    pub(super) fn turn(&mut self, flow: &Flow) -> Turn {
        let Some(search) = &mut self.search else { return self.look(flow) };
        match search.step(flow.now) {
            Step::Ask(length) => Turn::Ask(length),
            Step::Wait(_) => Turn::Nothing,
            Step::Found(None) if !self.is_last_question => {
                self.is_last_question = true;
                self.search = Some(Search::new(&[SHORTEST_HELLO as u16], flow.now, flow.rtt, self.pace));
                Turn::Nothing
            }
            Step::Found(Some(length)) if !self.is_last_question && length < self.lengths[0] => {
                Turn::Change(length)
            }
            Step::Found(found) => {
                self.passage = match found {
                    Some(_) if self.is_last_question => Passage::Short,
                    Some(_) => Passage::Long,
                    None => Passage::Nothing,
                };
                self.fruitless = (self.fruitless + 1).min(DOUBLINGS);
                (self.search, self.last, self.is_last_question) = (None, *flow, false);
                Turn::Nothing
            }
        }
    }

    /// An answer to what had this length.
    pub(super) fn answered(&mut self, now: Time, length: u16) {
        if let Some(search) = &mut self.search {
            search.answered(now, length);
        }
    }

    /// What has this length cannot leave this host.
    pub(super) fn refused(&mut self, length: u16) {
        if let Some(search) = &mut self.search {
            search.refused(length);
        }
    }

    /// Whether it is being found out what comes through.
    pub(super) fn is_searching(&self) -> bool {
        self.search.is_some()
    }

    /// Nothing is left to be sent: what a search would find is of no use any more.
    pub(super) fn forget(&mut self) {
        (self.search, self.is_last_question) = (None, false);
    }

    /// Whether something comes through that a transfer can use, and it is being found out what: an end in sight, so nobody gives
    /// up now.
    pub(super) fn is_promising(&self) -> bool {
        !self.is_last_question && self.search.as_ref().is_some_and(Search::is_answered)
    }

    /// What came through when it was last asked.
    pub(super) fn passage(&self) -> Passage {
        self.passage
    }

    fn look(&mut self, flow: &Flow) -> Turn {
        let Flow { now, done, sent_packets, sent_bytes, rtt, is_told } = *flow;
        let span = (rtt.unwrap_or_default() * 2).clamp(self.pace, self.pace * 3);
        let is_due = now.since(self.last.now) >= span * (1 << self.fruitless);
        let is_enough = sent_packets.saturating_sub(self.last.sent_packets) >= ENOUGH;
        let left = sent_bytes.saturating_sub(self.last.sent_bytes);
        let is_lost = done.saturating_sub(self.last.done).saturating_mul(PART) < left;
        // What somebody says is looked into at once, though not again and again.
        let is_urgent = is_told && self.fruitless == 0;
        if is_urgent || (is_due && ((is_enough && is_lost) || is_told)) {
            self.search = Some(Search::new(&self.lengths, now, rtt, self.pace));
            return Turn::Begin;
        }
        if is_due && is_enough {
            (self.last, self.fruitless, self.passage) = (*flow, 0, Passage::Unknown);
        }
        Turn::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfer::lengths::lengths;
    use proptest::prelude::*;

    const PATIENCE: Span = Span::from_secs(10);
    const STEP: Span = Span::from_millis(20);
    const RTT: Span = Span::from_millis(40);

    /// What a way does to a datagram of a length at a time, in seconds.
    type Way<'a> = &'a mut dyn FnMut(f64, u16) -> bool;

    /// What was done in a session.
    #[derive(Debug, Default)]
    struct Told {
        /// When what was asked for, in seconds.
        asked: Vec<(f64, u16)>,
        shortened: Option<(f64, u16)>,
        passage: Option<Passage>,
        done: u64,
    }

    /// A session of so many seconds, that sends two packets in each step; `is_told` says when somebody speaks of lengths.
    fn session(asked: &[u16], seconds: u64, way: Way<'_>, is_told: impl Fn(f64) -> bool) -> Told {
        let mut narrowing = Narrowing::new(asked.to_vec(), PATIENCE, Time::ZERO, 0);
        let (mut told, mut now, mut answers, mut acks) =
            (Told::default(), Time::ZERO, Vec::new(), Vec::new());
        let (mut sent_packets, mut sent_bytes) = (0, 0);
        while now < Time::ZERO + Span::from_secs(seconds) {
            let at = now.since(Time::ZERO).as_secs_f64();
            for _ in 0..2 {
                sent_packets += 1;
                sent_bytes += u64::from(asked[0]);
                if way(at, asked[0]) {
                    acks.push(now + RTT);
                }
            }
            let before = acks.len();
            acks.retain(|ack| *ack > now);
            told.done += (before - acks.len()) as u64 * u64::from(asked[0] - 60);
            answers.retain(|(ack, length)| {
                if *ack <= now {
                    narrowing.answered(now, *length);
                }
                *ack > now
            });
            let rtt = (told.done > 0).then_some(RTT);
            let is_told = is_told(at);
            match narrowing.turn(&Flow { now, done: told.done, sent_packets, sent_bytes, rtt, is_told }) {
                Turn::Nothing | Turn::Begin => {}
                Turn::Ask(length) => {
                    told.asked.push((at, length));
                    if way(at, length) {
                        answers.push((now + RTT, length));
                    }
                }
                Turn::Change(length) => {
                    told.shortened = Some((at, length));
                    return told;
                }
            }
            told.passage = Some(narrowing.passage());
            now += STEP;
        }
        told
    }

    fn all() -> Vec<u16> {
        lengths(1472, 28)
    }

    #[test]
    fn a_way_that_carries_all_is_never_asked() {
        let told = session(&all(), 60, &mut |_, _| true, |_| false);
        assert_eq!((told.asked, told.shortened), (vec![], None));
    }

    /// Within half of the patience: looks that find nothing acknowledged take two seconds at most, the search three.
    #[test]
    fn a_way_that_becomes_narrow_is_gone_on_with() {
        let told = session(&all(), 60, &mut |at, length| at < 10.0 || length <= 1392, |_| false);
        let (at, length) = told.shortened.expect("it is found out");
        assert!(length == 1392 && at < 15.1, "{at}: {length}");
        let bytes: u64 = told.asked.iter().map(|(_, length)| u64::from(*length)).sum();
        assert!(bytes < 3 * 10 * 1472, "{bytes} bytes of hellos");
    }

    /// Where the network says so, nobody waits to see it.
    #[test]
    fn what_the_network_says_is_looked_into_at_once() {
        let told = session(&all(), 60, &mut |at, length| at < 10.0 || length <= 1392, |at| at >= 10.0);
        let (at, length) = told.shortened.expect("it is found out");
        assert!(length == 1392 && at < 13.1, "{at}: {length}");
    }

    /// Anybody can say that packets are too long, at any moment: as long as they are not, nothing becomes shorter, and next to
    /// nothing is sent for it.
    #[test]
    fn forged_words_of_the_network_shorten_nothing() {
        let told = session(&all(), 600, &mut |_, _| true, |_| true);
        assert_eq!(told.shortened, None);
        assert!(told.asked.len() < 60, "{} hellos", told.asked.len());
    }

    /// Congestion loses most of what is sent, of whatever length.
    #[test]
    fn loss_alone_shortens_nothing() {
        let mut count = 0_u32;
        let mut lossy = |_: f64, _: u16| {
            count += 1;
            count.is_multiple_of(3)
        };
        assert_eq!(session(&all(), 600, &mut lossy, |_| false).shortened, None);
    }

    #[test]
    fn a_way_on_which_nothing_passes_is_said_to_be_closed() {
        let told = session(&all(), 30, &mut |at, _| at < 10.0, |_| false);
        assert_eq!((told.passage, told.shortened), (Some(Passage::Nothing), None));
        let after = told.asked.len();
        assert!(after <= 9 * 5, "{after} hellos into nothing");
        // It is not, if something passes again.
        let told = session(&all(), 60, &mut |at, _| !(10.0..20.0).contains(&at), |_| false);
        assert_eq!((told.passage, told.shortened), (Some(Passage::Unknown), None));
        // There may be nothing shorter.
        let told = session(&lengths(1232, 28), 30, &mut |at, _| at < 10.0, |_| false);
        assert_eq!((told.passage, told.shortened), (Some(Passage::Nothing), None));
    }

    /// What comes through tells what is lost: long packets on the way there, or what comes back.
    #[test]
    fn it_is_known_what_comes_through() {
        for lengths in [all(), lengths(1232, 28)] {
            let told = session(&lengths, 30, &mut |at, length| at < 10.0 || length <= 500, |_| false);
            assert_eq!((told.passage, told.shortened), (Some(Passage::Short), None));
        }
        // Questions are answered, and data is not acknowledged.
        let mut narrowing = Narrowing::new(all(), PATIENCE, Time::ZERO, 0);
        let mut flow =
            Flow { now: Time::ZERO, done: 0, sent_packets: 9, sent_bytes: 9000, rtt: None, is_told: false };
        while narrowing.passage() == Passage::Unknown && flow.now < Time::ZERO + PATIENCE {
            flow.now += STEP;
            if let Turn::Ask(length) = narrowing.turn(&flow) {
                narrowing.answered(flow.now, length);
            }
        }
        assert_eq!(narrowing.passage(), Passage::Long);
    }

    /// An answer to what no transfer can use is no reason to wait.
    #[test]
    fn what_is_too_short_promises_nothing() {
        let mut narrowing = Narrowing::new(all(), PATIENCE, Time::ZERO, 0);
        let mut flow =
            Flow { now: Time::ZERO, done: 0, sent_packets: 9, sent_bytes: 9000, rtt: None, is_told: false };
        while narrowing.passage() == Passage::Unknown && flow.now < Time::ZERO + PATIENCE {
            flow.now += STEP;
            if let Turn::Ask(length) = narrowing.turn(&flow)
                && usize::from(length) == SHORTEST_HELLO
            {
                narrowing.answered(flow.now, length);
            }
            assert!(!narrowing.is_promising());
        }
        assert_eq!(narrowing.passage(), Passage::Short);
    }

    /// Somebody on the way who drops what is long for a while has the transfer go on with less, and no more than that.
    #[test]
    fn each_session_is_shorter_than_the_one_before() {
        let (mut known, mut sessions) = (all(), 0);
        while known.len() > 1 {
            let longest = known[0];
            let told = session(&known, 60, &mut |at, length| at < 3.0 || length < longest, |_| false);
            let (_, length) = told.shortened.expect("it is found out");
            assert!(length < longest);
            known.retain(|other| *other <= length);
            sessions += 1;
        }
        assert!(sessions < all().len());
    }

    /// Else somebody who acknowledges all in the middle of a search, and then says nothing of it, would be waited for.
    #[test]
    fn nothing_is_promising_when_all_is_acknowledged() {
        let mut narrowing = Narrowing::new(all(), PATIENCE, Time::ZERO, 0);
        let now = Time::ZERO + Span::from_secs(5);
        let flow = Flow { now, done: 0, sent_packets: 9, sent_bytes: 9000, rtt: None, is_told: false };
        assert_eq!(narrowing.turn(&flow), Turn::Begin);
        assert_eq!(narrowing.turn(&flow), Turn::Ask(1472));
        assert!(!narrowing.is_promising());
        let next = now + Span::from_secs(1);
        assert_eq!(narrowing.turn(&Flow { now: next, ..flow }), Turn::Ask(1232));
        narrowing.answered(next, 1232);
        assert!(narrowing.is_promising());
        narrowing.forget();
        assert!(!narrowing.is_promising());
    }

    proptest! {
        /// Whatever comes at whatever time, it is never shortened to what was not asked for and answered, what is asked for in
        /// a minute is bounded, and so is the time that somebody waits for it.
        #[test]
        fn no_words_make_it_ask_without_end(words in prop::collection::vec((0_u8..6, 1200_u16..1500, 0_u64..500), 1..300)) {
            let mut narrowing = Narrowing::new(all(), PATIENCE, Time::ZERO, 0);
            let (mut now, mut asked, mut answered) = (Time::ZERO, 0_u64, Vec::new());
            let (mut done, mut sent, mut promising) = (0, 0, Time::ZERO);
            for (what, length, wait) in words {
                now += Span::from_millis(wait);
                match what {
                    0 => { narrowing.answered(now, length); answered.push(length); }
                    1 => { narrowing.answered(now, 1232); answered.push(1232); }
                    2 => narrowing.refused(length),
                    3 => done += u64::from(length),
                    _ => sent += u64::from(length),
                }
                let flow = Flow { now, done, sent_packets: sent / 1200, sent_bytes: sent, rtt: None, is_told: what == 5 };
                match narrowing.turn(&flow) {
                    Turn::Ask(_) => asked += 1,
                    Turn::Change(length) => {
                        prop_assert!(length < 1472 && answered.contains(&length));
                        break;
                    }
                    _ => {}
                }
                if !narrowing.is_promising() {
                    promising = now;
                }
                prop_assert!(now.since(promising) <= Span::from_secs(40), "it is waited for without end");
            }
            let seconds = now.since(Time::ZERO).as_nanos() / 1_000_000_000;
            prop_assert!(asked <= 30 + seconds * 10, "{} in {} s", asked, seconds);
        }
    }
}
