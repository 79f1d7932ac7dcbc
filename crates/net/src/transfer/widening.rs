//! A way that carries longer packets than are used: when it is asked whether it does, and when that is worth a session anew
//! (`PMTU_RAISE_TIMER`, RFC 8899 §5.1.1). It is a machine without sockets and clocks; `sending.rs` drives it. Ways that carry
//! shorter packets than are used are the business of `narrowing.rs`.
//!
//! It asks by hellos, of which no scheme hears: a lost one is no sign of congestion (RFC 8899 §3, point 7).

use tailback_core::{Span, Time};

use super::lengths::{Carried, Search, Step, pace};
use super::narrowing::{Flow, Turn};

/// The time until the next question doubles so often at most, where ways become wide and narrow again.
const DOUBLINGS: u32 = 5;

/// What is known of longer lengths, over all sessions of a transfer.
#[derive(Clone, Debug)]
pub(super) struct Widening {
    /// How often it is asked.
    every: Span,
    pace: Span,
    /// The length in use.
    longest: u16,
    /// When it last became longer, and how often in a row it was made shorter again soon after.
    widened: Option<Time>,
    undone: u32,
    /// When it is asked next, and how much was done when that was decided.
    due: Time,
    done: u64,
    search: Option<Search>,
}

impl Widening {
    /// Before the first session, by somebody who asks so often.
    pub(super) fn new(every: Span, patience: Span) -> Self {
        Self {
            every,
            pace: pace(patience),
            longest: 0,
            widened: None,
            undone: 0,
            due: Time::ZERO,
            done: 0,
            search: None,
        }
    }

    /// A session begins now, in which the longest datagram has this length; so much of the file is there.
    pub(super) fn begin(&mut self, now: Time, done: u64, longest: u16) {
        if self.longest > longest {
            // A way that is soon narrow again, such as one of two that are used in turn, is asked less often.
            let is_soon = self.widened.is_some_and(|widened| now.since(widened) < self.wait());
            self.undone = if is_soon { (self.undone + 1).min(DOUBLINGS) } else { 0 };
        }
        if self.longest != 0 && longest > self.longest {
            self.widened = Some(now);
        }
        self.longest = longest;
        self.rest(now, done);
    }

    /// What to do now, of a file of this size.
    pub(super) fn turn(&mut self, flow: &Flow, size: u64, carried: &Carried) -> Turn {
        let Flow { now, done, rtt, .. } = *flow;
        let Some(search) = &mut self.search else {
            if carried.longer().is_empty() || now < self.due {
                return Turn::Nothing;
            }
            // Who is through before it would be asked again wins less than the session anew costs.
            let grown = done.saturating_sub(self.done);
            let is_worth_it = grown > 0 && size.saturating_sub(done) >= grown;
            self.rest(now, done);
            if !is_worth_it {
                return Turn::Nothing;
            }
            self.search = Some(Search::new(carried.up_to_longest(), now, rtt, self.pace));
            return Turn::Begin;
        };
        match search.step(now) {
            Step::Ask(length) => Turn::Ask(length),
            Step::Wait(_) => Turn::Nothing,
            Step::Found(found) => {
                self.rest(now, done);
                found.filter(|length| *length > self.longest).map_or(Turn::Nothing, Turn::Change)
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

    /// Whether it is being asked: then somebody may well say that packets are too long, and it is no news.
    pub(super) fn is_asking(&self) -> bool {
        self.search.is_some()
    }

    /// Another question is more urgent, or there is nothing left to be sent.
    pub(super) fn forget(&mut self) {
        self.search = None;
    }

    fn rest(&mut self, now: Time, done: u64) {
        (self.search, self.due, self.done) = (None, now + self.wait(), done);
    }

    fn wait(&self) -> Span {
        self.every * (1 << self.undone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfer::lengths::lengths;
    use proptest::prelude::*;

    const PATIENCE: Span = Span::from_secs(10);
    const EVERY: Span = Span::from_secs(600);
    const STEP: Span = Span::from_millis(20);
    const RTT: Span = Span::from_millis(40);
    /// Bytes that are done in a second.
    const RATE: u64 = 1_000_000;

    /// A transfer of a day at most, in which nobody looks whether the way is narrow.
    struct Transfer {
        widening: Widening,
        carried: Carried,
        now: Time,
        size: u64,
        /// When what was asked for, in seconds.
        asked: Vec<(f64, u16)>,
    }

    impl Transfer {
        fn new(seconds: u64, longest: u16) -> Self {
            let carried = Carried::new(lengths(1472, 28), longest);
            let mut widening = Widening::new(EVERY, PATIENCE);
            widening.begin(Time::ZERO, 0, longest);
            Self { widening, carried, now: Time::ZERO, size: seconds * RATE, asked: Vec::new() }
        }

        fn seconds(&self) -> f64 {
            self.now.since(Time::ZERO).as_secs_f64()
        }

        fn done(&self) -> u64 {
            (self.seconds() * RATE as f64) as u64
        }

        /// Goes on until packets become longer or the file is there: the length, and when.
        fn widened(&mut self, mut way: impl FnMut(f64, u16) -> bool) -> Option<(f64, u16)> {
            let mut answers: Vec<(Time, u16)> = Vec::new();
            while self.done() < self.size {
                let now = self.now;
                answers.retain(|(at, length)| {
                    if *at <= now {
                        self.widening.answered(now, *length);
                    }
                    *at > now
                });
                let flow = Flow {
                    now,
                    done: self.done(),
                    sent_packets: 0,
                    sent_bytes: 0,
                    rtt: Some(RTT),
                    is_told: false,
                };
                match self.widening.turn(&flow, self.size, &self.carried) {
                    Turn::Ask(length) => {
                        self.asked.push((self.seconds(), length));
                        if way(self.seconds(), length) {
                            answers.push((now + RTT, length));
                        }
                    }
                    Turn::Change(length) => return Some((self.seconds(), length)),
                    Turn::Begin | Turn::Nothing => {}
                }
                self.now += STEP;
            }
            None
        }

        /// Another session follows, with this length.
        fn begin(&mut self, longest: u16) {
            self.carried = self.carried.with(longest);
            self.widening.begin(self.now, self.done(), longest);
        }
    }

    /// A way that was narrow for a while is used again as far as it carries, after the time that was named.
    #[test]
    fn a_way_that_has_become_wide_is_used() {
        let mut transfer = Transfer::new(3600, 1232);
        let (at, length) = transfer.widened(|_, _| true).expect("it is found out");
        assert!(length == 1472 && (600.0..601.0).contains(&at), "{at}: {length}");
        // Not wholly: to a tunnel of 1420 bytes.
        let mut transfer = Transfer::new(3600, 1232);
        let (at, length) = transfer.widened(|_, length| length <= 1392).expect("it is found out");
        assert!(length == 1392 && (600.0..605.0).contains(&at), "{at}: {length}");
        // Only some time later.
        let mut transfer = Transfer::new(7200, 1232);
        let (at, _) = transfer.widened(|at, length| at > 700.0 || length <= 1232).expect("it is found out");
        assert!((1200.0..1215.0).contains(&at), "{at}");
    }

    /// Nothing is sent where nothing longer is wanted, and little where the way stays as it is.
    #[test]
    fn a_way_that_stays_as_it_is_is_asked_every_now_and_then() {
        let mut transfer = Transfer::new(7200, 1472);
        assert_eq!((transfer.widened(|_, _| true), transfer.asked.len()), (None, 0));
        let mut transfer = Transfer::new(7200, 1392);
        assert_eq!(transfer.widened(|_, length| length <= 1392), None);
        let bytes: u64 = transfer.asked.iter().map(|(_, length)| u64::from(*length)).sum();
        assert!(bytes < 10 * 25_000, "{bytes} bytes of hellos in two hours");
        let times = transfer.asked.windows(2).filter(|pair| pair[1].0 - pair[0].0 > 60.0).count() + 1;
        assert_eq!(times, 10, "no more where the rest takes less than the time until the next question");
        // Where nothing at all is answered, longer ones are not tried one by one.
        let mut transfer = Transfer::new(1300, 1232);
        assert_eq!((transfer.widened(|_, _| false), transfer.asked.len()), (None, 6));
    }

    #[test]
    fn who_is_through_soon_or_does_not_move_is_not_asked() {
        let mut transfer = Transfer::new(1100, 1232);
        assert_eq!((transfer.widened(|_, _| true), transfer.asked.len()), (None, 0));
        let mut transfer = Transfer::new(3600, 1232);
        let mut flow =
            Flow { now: Time::ZERO, done: 7, sent_packets: 0, sent_bytes: 0, rtt: None, is_told: false };
        transfer.widening.begin(Time::ZERO, 7, 1232);
        for _ in 0..10 {
            flow.now += EVERY;
            assert_eq!(transfer.widening.turn(&flow, u64::MAX, &transfer.carried), Turn::Nothing);
        }
    }

    /// Two ways that are used in turn, or somebody who drops what is long: the session begins anew less and less often.
    #[test]
    fn a_way_that_becomes_narrow_again_is_asked_less_often() {
        let mut transfer = Transfer::new(86_400, 1232);
        let mut times = Vec::new();
        while let Some((at, length)) = transfer.widened(|_, _| true) {
            times.push(at);
            transfer.begin(length);
            transfer.now += Span::from_secs(5);
            transfer.begin(1232);
        }
        let between: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) / 600.0).collect();
        for (index, (span, expected)) in between.iter().zip([2.0, 4.0, 8.0, 16.0, 32.0, 32.0]).enumerate() {
            assert!((*span - expected).abs() < 0.1, "{index}: {between:?}");
        }
        assert!(between.len() >= 5);
        // One that stayed wide for long is trusted again.
        let undone = transfer.widening.undone;
        transfer.begin(1472);
        transfer.now += EVERY * (1 << undone);
        transfer.begin(1232);
        assert_eq!((undone, transfer.widening.undone), (5, 0));
    }

    #[test]
    fn what_is_more_urgent_ends_a_search() {
        let mut transfer = Transfer::new(3600, 1232);
        let flow = Flow {
            now: Time::ZERO + EVERY,
            done: 1,
            sent_packets: 0,
            sent_bytes: 0,
            rtt: Some(RTT),
            is_told: false,
        };
        assert_eq!(transfer.widening.turn(&flow, 10, &transfer.carried), Turn::Begin);
        assert_eq!(transfer.widening.turn(&flow, 10, &transfer.carried), Turn::Ask(1472));
        assert!(transfer.widening.is_asking());
        transfer.widening.forget();
        assert!(!transfer.widening.is_asking());
        let soon = Flow { now: flow.now + PATIENCE, ..flow };
        assert_eq!(transfer.widening.turn(&soon, 10, &transfer.carried), Turn::Nothing);
    }

    proptest! {
        /// Whatever is lost, packets become longer only to what was asked for and answered, and what is sent for it is bounded.
        #[test]
        fn only_what_came_through_is_used(
            carries in 1000_u16..=1500,
            used in 0_usize..10,
            lost in prop::collection::vec(any::<bool>(), 1..60),
        ) {
            let longest = lengths(1472, 28)[used];
            let mut transfer = Transfer::new(3600, longest);
            let mut lost = lost.into_iter().cycle();
            let mut through = Vec::new();
            let found = transfer.widened(|_, length| {
                let passes = length <= carries && lost.next() == Some(false);
                if passes {
                    through.push(length);
                }
                passes
            });
            if let Some((_, length)) = found {
                prop_assert!(length > longest && through.contains(&length), "{}", length);
            }
            // Once in ten minutes, as long as the rest takes no less.
            prop_assert!(transfer.asked.len() <= 5 * 30, "{} hellos", transfer.asked.len());
        }
    }
}
