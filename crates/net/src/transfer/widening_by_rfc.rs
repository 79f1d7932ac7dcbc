//! RFC 8899's states and timers, written anew from its sections 5.1 to 5.3 alone, beside `widening.rs`: what both make of the
//! same lost and answered probes. No part of a transfer.
//!
//! Of the RFC's states these are the two that a session lives in. What `BASE` and `ERROR` are for is done by the handshake and by
//! `narrowing.rs`. The search goes up by the lengths that are known, one after another (§5.3.2).

use std::collections::BTreeMap;

use proptest::prelude::*;
use tailback_core::{Span, Time};

use super::lengths::{Carried, lengths};
use super::narrowing::{Flow, Turn};
use super::widening::Widening;

/// `PROBE_TIMER`: no shorter than this (§5.1.1).
const PROBE_TIMER: Span = Span::from_secs(1);
/// `MAX_PROBES` (§5.1.2).
const MAX_PROBES: u32 = 3;
/// How often a session looks.
const TURN: Span = Span::from_millis(20);
/// `PMTU_RAISE_TIMER`: short, so that a case is.
const RAISE: Span = Span::from_secs(30);
const LONGEST: usize = 1472;
const BELOW: usize = 28;
/// So many times the timer expires in a case.
const SEARCHES: usize = 5;

enum State {
    /// Until the raise timer expires.
    SearchComplete { raise: Time },
    /// One probe is on its way, so many before it failed in a row.
    Searching { probed: u16, count: u32, timer: Time },
}

/// A sender after the RFC.
struct Sender {
    /// All lengths, the shortest first; the last is `MAX_PLPMTU`.
    lengths: Vec<u16>,
    plpmtu: u16,
    state: State,
}

impl Sender {
    fn new(plpmtu: u16, now: Time) -> Self {
        let mut lengths = lengths(LONGEST, BELOW);
        lengths.reverse();
        Self { lengths, plpmtu, state: State::SearchComplete { raise: now + RAISE } }
    }

    fn next(&self) -> Option<u16> {
        self.lengths.iter().copied().find(|length| *length > self.plpmtu)
    }

    fn complete(&mut self, now: Time) {
        self.state = State::SearchComplete { raise: now + RAISE };
    }

    /// The probe that leaves now, if one does.
    fn turn(&mut self, now: Time) -> Option<u16> {
        let (probed, count) = match self.state {
            State::SearchComplete { raise } => {
                let next = self.next().filter(|_| now >= raise)?;
                (next, 0)
            }
            State::Searching { timer, .. } if now < timer => return None,
            State::Searching { probed, count, .. } => (probed, count + 1),
        };
        if count == MAX_PROBES {
            self.complete(now);
            return None;
        }
        self.state = State::Searching { probed, count, timer: now + PROBE_TIMER };
        Some(probed)
    }

    fn acknowledged(&mut self, now: Time, length: u16) {
        if !matches!(self.state, State::Searching { probed, .. } if probed == length) {
            return;
        }
        self.plpmtu = length;
        match self.next() {
            // The timer of what is probed next has expired: it leaves at the next turn, as the first of its length.
            Some(next) => self.state = State::Searching { probed: next, count: 0, timer: now },
            None => self.complete(now),
        }
    }
}

/// What the way does to a search, by its number.
#[derive(Clone, Debug)]
struct Way {
    /// The longest that passes.
    carries: u16,
    /// How long an answer takes.
    delay: Span,
    /// Whether the probe of this length is lost for the n-th time.
    lost: BTreeMap<(usize, u32), bool>,
}

impl Way {
    fn answers(&self, length: u16, attempt: u32) -> bool {
        let place = lengths(LONGEST, BELOW).iter().position(|known| *known == length).expect("known");
        length <= self.carries && !self.lost.get(&(place, attempt)).copied().unwrap_or(false)
    }

    /// Whether any probe of this length passes.
    fn passes(&self, length: u16) -> bool {
        (0..MAX_PROBES).any(|attempt| self.answers(length, attempt))
    }
}

/// One search: when it began and ended, what was asked when, and the length in use behind it.
#[derive(Clone, Debug)]
struct Search {
    began: Time,
    ended: Time,
    asked: Vec<(Time, u16)>,
    plpmtu: u16,
}

/// What both have in common.
trait Machine {
    /// What leaves now.
    fn turn(&mut self, now: Time) -> Option<u16>;
    fn acknowledged(&mut self, now: Time, length: u16);
    fn is_searching(&self) -> bool;
    fn plpmtu(&self) -> u16;
    /// Learns the round trip time, where it can.
    fn measure(&mut self, _: Span) {}
}

impl Machine for Sender {
    fn turn(&mut self, now: Time) -> Option<u16> {
        Self::turn(self, now)
    }
    fn acknowledged(&mut self, now: Time, length: u16) {
        Self::acknowledged(self, now, length);
    }
    fn is_searching(&self) -> bool {
        matches!(self.state, State::Searching { .. })
    }
    fn plpmtu(&self) -> u16 {
        self.plpmtu
    }
}

/// A session under `widening.rs`, which has as much to send as there can be.
struct Ours {
    widening: Widening,
    carried: Carried,
    rtt: Option<Span>,
    is_measured: bool,
}

impl Ours {
    fn new(plpmtu: u16, is_measured: bool) -> Self {
        let mut widening = Widening::new(RAISE, Span::from_secs(10));
        let carried = Carried::new(lengths(LONGEST, BELOW), plpmtu);
        widening.begin(Time::ZERO, 0, plpmtu);
        Self { widening, carried, rtt: None, is_measured }
    }

    fn done(now: Time) -> u64 {
        now.since(Time::ZERO).as_nanos() / 1000
    }
}

impl Machine for Ours {
    fn turn(&mut self, now: Time) -> Option<u16> {
        let done = Self::done(now);
        let rtt = self.rtt;
        let flow = Flow { now, done, sent_packets: done / 1000, sent_bytes: done, rtt, is_told: false };
        match self.widening.turn(&flow, 1 << 50, &self.carried) {
            Turn::Nothing | Turn::Begin => None,
            Turn::Ask(length) => Some(length),
            Turn::Change(longest) => {
                self.carried = self.carried.with(longest);
                self.widening.begin(now, done, longest);
                None
            }
        }
    }
    fn acknowledged(&mut self, now: Time, length: u16) {
        self.widening.answered(now, length);
    }
    fn is_searching(&self) -> bool {
        self.widening.is_asking()
    }
    fn plpmtu(&self) -> u16 {
        self.carried.longest()
    }
    fn measure(&mut self, rtt: Span) {
        self.rtt = self.is_measured.then_some(rtt);
    }
}

/// All searches of a machine over these ways.
fn searches(mut machine: impl Machine, ways: &[Way]) -> Vec<Search> {
    let (mut found, mut now) = (Vec::new(), Time::ZERO);
    let mut under: Option<Search> = None;
    let (mut answers, mut attempts): (Vec<(Time, u16)>, BTreeMap<u16, u32>) = (Vec::new(), BTreeMap::new());
    // Nothing is left to ask for where the longest is in use.
    let end = Time::ZERO + (RAISE + Span::from_secs(60)) * (SEARCHES as u64);
    while found.len() < ways.len() && now < end {
        let way = &ways[found.len()];
        machine.measure(way.delay);
        let (due, later) = answers.iter().partition(|(at, _)| *at <= now);
        answers = later;
        let due: Vec<(Time, u16)> = due;
        for (_, length) in due {
            machine.acknowledged(now, length);
        }
        let probe = machine.turn(now);
        if machine.is_searching() || probe.is_some() {
            let plpmtu = machine.plpmtu();
            let search =
                under.get_or_insert_with(|| Search { began: now, ended: now, asked: Vec::new(), plpmtu });
            if let Some(length) = probe {
                search.asked.push((now, length));
                let attempt = attempts.entry(length).or_default();
                if way.answers(length, *attempt) {
                    answers.push((now + way.delay, length));
                }
                *attempt += 1;
            }
        } else if let Some(search) = under.take() {
            found.push(Search { ended: now, plpmtu: machine.plpmtu(), ..search });
            (answers, attempts) = (Vec::new(), BTreeMap::new());
        }
        now += TURN;
    }
    found
}

fn way() -> impl Strategy<Value = Way> {
    let lost = prop::collection::btree_map((0_usize..10, 0_u32..3), any::<bool>(), 0..30);
    (1232_u16..1500, 1_u64..950, lost).prop_map(|(carries, delay, lost)| Way {
        carries,
        delay: Span::from_millis(delay),
        lost,
    })
}

/// What ours and the RFC's make of these ways.
fn both(plpmtu: u16, ways: &[Way], is_measured: bool) -> (Vec<Search>, Vec<Search>) {
    (searches(Ours::new(plpmtu, is_measured), ways), searches(Sender::new(plpmtu, Time::ZERO), ways))
}

/// When a search is due: the period after the one before, or after the beginning.
fn is_on_time(found: &[Search]) -> bool {
    let ends = std::iter::once(Time::ZERO).chain(found.iter().map(|search| search.ended));
    ends.zip(found).all(|(before, search)| {
        let waited = search.began.since(before);
        waited >= RAISE && waited <= RAISE + TURN * 2
    })
}

/// The one difference that was found, and is meant: ours asks for the length in use first, and for nothing between it and the
/// longest where neither is answered. Where chance loses all three, the next search finds what this one did not.
#[test]
fn where_nothing_is_answered_longer_ones_are_not_tried_one_by_one() {
    let lost = (0..MAX_PROBES).map(|attempt| ((9, attempt), true)).collect();
    let unlucky = Way { carries: 1420, delay: Span::from_millis(40), lost };
    let lucky = Way { lost: BTreeMap::new(), ..unlucky.clone() };
    let (ours, theirs) = both(1232, &[unlucky, lucky], true);
    assert_eq!((ours[0].plpmtu, theirs[0].plpmtu), (1232, 1412));
    assert_eq!((ours[0].asked.len(), ours[1].plpmtu), (6, 1412));
}

proptest! {
    /// One search over any way: the same begins at the same time, and leads to the same length or a longer one that passes.
    #[test]
    fn a_search_finds_what_the_rfc_finds(way in way(), from in 1_usize..10, is_measured in any::<bool>()) {
        let plpmtu = lengths(LONGEST, BELOW)[from];
        let (ours, theirs) = both(plpmtu, std::slice::from_ref(&way), is_measured);
        let (ours, theirs) = (&ours[0], &theirs[0]);
        prop_assert_eq!(ours.began, theirs.began);
        let longest = lengths(LONGEST, BELOW).into_iter().find(|length| way.passes(*length) && *length > plpmtu);
        let is_any_answered = way.passes(plpmtu) || way.passes(1472);
        let expected = longest.filter(|_| is_any_answered).unwrap_or(plpmtu);
        prop_assert_eq!(ours.plpmtu, expected, "asked {:?}, the RFC: {:?}", ours.asked, theirs);
        prop_assert!(ours.plpmtu >= theirs.plpmtu || !is_any_answered);
    }

    /// Many searches one after another.
    #[test]
    fn searches_come_and_end_as_the_rfcs(ways in prop::collection::vec(way(), SEARCHES), is_measured in any::<bool>()) {
        let (ours, theirs) = both(1232, &ways, is_measured);
        prop_assert!(is_on_time(&theirs), "{:?}", theirs);
        prop_assert!(is_on_time(&ours), "{:?}", ours);
        for search in &ours {
            // At most `MAX_PROBES` of a length, and no probe is taken for lost before `PROBE_TIMER`.
            let mut of = BTreeMap::new();
            for (_, length) in &search.asked {
                *of.entry(*length).or_insert(0) += 1;
            }
            prop_assert!(of.values().all(|count| *count <= MAX_PROBES), "{:?}", search);
            let last = search.asked.last().expect("asked").0;
            prop_assert!(search.plpmtu == 1472 || search.ended.since(last) >= PROBE_TIMER, "{:?}", search);
        }
    }
}
