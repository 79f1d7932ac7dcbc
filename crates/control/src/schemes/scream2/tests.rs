//! SCReAM's law against worked numbers, and against a path of constant delay that marks at random.

use tailback_core::{PairPosition, Stream};

use super::*;
use crate::estimators::arrivals::Arrived;

const PACKET: u64 = 1000;

fn scream(ecn: EcnMode, most: f64) -> Scream2 {
    let config = Scream2Config {
        ecn,
        max_rate: BitRate::from_bits_per_sec_f64(most),
        competitive: false,
        ..Scream2Config::default()
    };
    Scream2::new(&config, Bytes::new(PACKET))
}

/// A path: every packet arrives after half of a round trip, marked or lost by the rule, and is reported at once.
struct Path {
    law: Scream2,
    round_trip: f64,
    queueing: f64,
    now: f64,
    number: u64,
    /// When reports of which packets are due: (due, sent, number).
    under_way: std::collections::VecDeque<(f64, f64, u64)>,
    next: f64,
    ahead: u64,
}

impl Path {
    fn new(law: Scream2, round_trip: f64) -> Self {
        let under_way = std::collections::VecDeque::new();
        Self { law, round_trip, queueing: 0.0, now: 0.0, number: 0, under_way, next: 0.0, ahead: 0 }
    }

    /// Runs so many seconds at the media rate; how many packets were reported and how many of them marked.
    fn run(&mut self, seconds: f64, mut marked: impl FnMut(u64) -> bool) -> (u64, u64) {
        let mut notes = Stream::new(1, "path");
        let mut cx = Cx { rng: &mut notes, notes: None };
        let (until, mut told, mut marks) = (self.now + seconds, 0, 0);
        while self.now < until {
            let due = self.under_way.front().map_or(f64::INFINITY, |waiting| waiting.0);
            if self.next < due {
                self.now = self.next;
                let size = Bytes::new(PACKET);
                self.ahead += PACKET;
                let sent = Sent {
                    number: self.number,
                    size,
                    in_flight: size,
                    retransmission: false,
                    pair: PairPosition::Single,
                    app_limited: false,
                    tag: 0,
                };
                self.law.on_sent(Time::from_secs_f64(self.now), &sent, Bytes::new(self.ahead));
                self.under_way.push_back((self.now + self.round_trip + self.queueing, self.now, self.number));
                self.number += 1;
                self.next += 8.0 * PACKET as f64 / self.law.target;
                continue;
            }
            let Some((due, sent, number)) = self.under_way.pop_front() else { break };
            self.now = self.now.max(due);
            self.ahead -= PACKET;
            let is_marked = marked(number);
            (told, marks) = (told + 1, marks + u64::from(is_marked));
            let size = Bytes::new(PACKET);
            let at = Some(Time::from_secs_f64(sent + self.round_trip / 2.0 + self.queueing));
            let sent = Time::from_secs_f64(sent);
            let news = Batch {
                arrived: vec![Arrived { number, size, sent, at, marked: is_marked }],
                round_trip: Some(Span::from_secs_f64(self.round_trip + self.queueing)),
                advanced: size,
                ahead: Bytes::new(self.ahead),
                ..Batch::default()
            };
            self.law.on_news(Time::from_secs_f64(self.now), &news, &mut cx);
        }
        (told, marks)
    }
}

/// The draft's law: in equilibrium two packets are marked per round trip, or fewer; and not much fewer, since a window
/// without marks grows.
#[test]
fn about_two_packets_are_marked_per_round_trip() {
    for (round_trip, chance) in [(0.025, 0.02), (0.025, 0.1), (0.05, 0.02), (0.1, 0.1)] {
        let mut path = Path::new(scream(EcnMode::Ect1, 1e9), round_trip);
        let mut rng = Stream::new(7, "marks");
        let mut mark = |_: u64| rng.chance(chance);
        path.run(10.0, &mut mark);
        let (_, marks) = path.run(20.0, &mut mark);
        let per_round = marks as f64 / (20.0 / round_trip);
        assert!((0.4..=2.2).contains(&per_round), "{round_trip} s, {chance}: {per_round} per round trip");
    }
}

/// A loss leaves 0.7, a classic mark 0.8, and an L4S mark at α = 1/8, with no queue, near nothing: 1 - 1/16.
#[test]
fn reductions_by_worked_numbers() {
    for (ecn, lost, kept) in
        [(EcnMode::Off, 1, 0.7), (EcnMode::Ect0, 0, 0.8), (EcnMode::Ect1, 0, 1.0 - 1.0 / 16.0)]
    {
        let mut window = Window::new(PACKET as f64, ecn == EcnMode::Ect1);
        let signals = Signals {
            round_trip: 0.02,
            virtual_marks: 0.0,
            is_low: true,
            in_flight: (1e6, 1e6),
            may_grow: true,
        };
        let came = |count, marked| Batch {
            arrived: vec![
                Arrived { number: 0, size: Bytes::new(PACKET), sent: Time::ZERO, at: None, marked };
                count
            ],
            advanced: Bytes::new(PACKET * count as u64),
            ..Batch::default()
        };
        for step in 0..100 {
            window.update(Time::from_secs_f64(f64::from(step) * 0.02), &came(20, false), &signals);
        }
        let before = window.bytes();
        let batch = Batch { lost, advanced: Bytes::ZERO, ..came(1, lost == 0) };
        window.update(Time::from_secs_f64(3.0), &batch, &signals);
        assert!((window.bytes() / before - kept).abs() < 1e-9, "{ecn:?}: {}", window.bytes() / before);
        window.update(Time::from_secs_f64(3.01), &batch, &signals);
        assert!((window.bytes() / before - kept).abs() < 1e-9, "once in a round trip");
    }
}

/// Half of the target is no congestion; at the target the mean of the delay takes a half per round trip of 25 ms.
#[test]
fn delay_reduces_from_half_of_the_target_on() {
    let mut path = Path::new(scream(EcnMode::Off, 50e6), 0.025);
    path.run(10.0, |_| false);
    let free = path.law.window.bytes();
    path.queueing = 0.029;
    path.run(1.0, |_| false);
    assert!(path.law.window.bytes() >= free, "below half of the target");
    path.queueing = 0.060;
    path.run(1.0, |_| false);
    assert!(path.law.window.bytes() < 0.5 * free, "{} of {free}", path.law.window.bytes());
}

/// Rounds of 50 ms in which the delay is 0 at first and this much at the end, so that no clock can have drifted.
fn rounds(delay: &mut Delay, from: u64, count: u64, millis: u64) {
    for round in from..from + count {
        let now = Time::ZERO + Span::from_millis(50 * round);
        for waits in [0, millis] {
            let sent = now;
            let at = Some(now + Span::from_millis(20 + waits));
            let one = Arrived { number: 0, size: Bytes::new(PACKET), sent, at, marked: false };
            delay.take(now, &Batch { arrived: vec![one; 4], ..Batch::default() }, 0.05);
        }
        delay.end_round(now, 0.05, false);
    }
}

/// A delay that stays at 200 ms raises the target to it, and its end brings it back within some round trips.
#[test]
fn the_target_follows_others_that_fill_the_buffer() {
    let mut delay = Delay::new(true);
    rounds(&mut delay, 0, 20, 200);
    assert!((delay.target() - 0.2).abs() < 1e-9, "{}", delay.target());
    rounds(&mut delay, 20, 20, 0);
    assert!((delay.target() - 0.06).abs() < 1e-9, "{}", delay.target());
    let mut alone = Delay::new(false);
    rounds(&mut alone, 0, 20, 200);
    assert!((alone.target() - 0.06).abs() < 1e-9);
}

/// A delay that never goes away is a clock's: it is forgotten, and the media rate halved meanwhile.
#[test]
fn a_clock_that_drifts_is_forgotten() {
    let mut path = Path::new(scream(EcnMode::Off, 5e6), 0.05);
    path.run(2.0, |_| false);
    path.queueing = 0.028;
    let mut halved = false;
    for _ in 0..500 {
        path.run(0.05, |_| false);
        halved |= path.law.delay.scale(Time::from_secs_f64(path.now)) < 1.0;
    }
    assert!(halved);
    assert!(path.law.delay.queueing() < 0.001, "{}", path.law.delay.queueing());
}

/// A window that is used up leaves the least pacing rate, and a report opens it.
#[test]
fn silence_slows_the_sender_down() {
    let mut path = Path::new(scream(EcnMode::Off, 5e6), 0.05);
    path.run(5.0, |_| false);
    assert!(path.law.directive().rate > path.law.directive().media);
    let full = (REF_WND_OVERHEAD * path.law.window.bytes()) as u64 + 1;
    let sent = Sent {
        number: 0,
        size: Bytes::new(PACKET),
        in_flight: Bytes::new(full),
        retransmission: false,
        pair: PairPosition::Single,
        app_limited: false,
        tag: 0,
    };
    path.law.on_sent(Time::from_secs_f64(path.now), &sent, Bytes::new(full));
    assert_eq!(path.law.directive().rate, Some(BitRate::from_bits_per_sec(50_000)));
    assert!(
        path.law.directive().media > Some(BitRate::from_bits_per_sec(1_000_000)),
        "coders are told of the target"
    );
}
