//! The newer loss part over a path that loses as its model says, and against a search through all.

use std::collections::VecDeque;

use tailback_core::Stream;

use super::*;

const BOUNDS: (f64, f64) = (30e3, 5e6);

/// Bytes of a packet.
const PACKET: f64 = 1200.0;

/// A sender over a path that loses each packet by chance, with a report each 100 ms; the delay's part sees nothing and allows
/// the largest rate.
struct Loop {
    part: BweV2,
    path: Channel,
    now: f64,
    budget: f64,
    /// Bytes that arrived in the last intervals.
    arrived: VecDeque<f64>,
    stream: Stream,
}

impl Loop {
    fn new(bandwidth: f64, inherent: f64) -> Self {
        Self {
            part: BweV2::new(BOUNDS),
            path: Channel { bandwidth, inherent },
            now: 0.0,
            budget: 0.0,
            arrived: VecDeque::new(),
            stream: Stream::new(7, "path"),
        }
    }

    fn rate(&self) -> f64 {
        self.part.cap().min(BOUNDS.1)
    }

    /// One report: what was sent at the rate within the last 100 ms.
    fn step(&mut self) {
        let rate = self.rate();
        let beyond = ((rate - self.path.bandwidth) / rate).max(0.0);
        let chance = self.path.inherent + (1.0 - self.path.inherent) * beyond;
        self.budget += rate / 8.0 * 0.1;
        let (mut kept, mut lost) = (0.0, 0.0);
        while self.budget >= PACKET {
            self.budget -= PACKET;
            *(if self.stream.chance(chance) { &mut lost } else { &mut kept }) += PACKET;
        }
        self.arrived.truncate(4);
        self.arrived.push_front(kept);
        let arriving = self.arrived.iter().sum::<f64>() * 8.0 / (0.1 * self.arrived.len() as f64);
        let from = self.now;
        self.now += 0.1;
        self.part.take(&Heard {
            sent: (from, self.now),
            kept,
            lost,
            arriving: Some(arriving),
            ..heard(self.now)
        });
    }

    /// The mean rate of so many seconds.
    fn mean(&mut self, seconds: u32) -> f64 {
        let steps = 10 * seconds;
        (0..steps).fold(0.0, |sum, _| {
            self.step();
            sum + self.rate() / f64::from(steps)
        })
    }
}

fn heard(now: f64) -> Heard {
    Heard {
        now,
        sent: (now, now),
        kept: 0.0,
        lost: 0.0,
        packets: (0.0, 0.0),
        delay_rate: BOUNDS.1,
        target: BOUNDS.1,
        arriving: None,
        round_trip: 0.1,
        limited: false,
    }
}

/// Loss of 10 % that does not depend on the rate leaves it between half and all of 100 kbit/s/(m − 0.05), where its bound is;
/// 5 % and less do not stop it.
#[test]
fn random_loss_does_not_pull_the_rate_down_for_ever() {
    for (loss, least, most) in [(0.02, 5e6, 5e6), (0.05, 4.5e6, 5e6), (0.1, 1e6, 2e6)] {
        let mut path = Loop::new(f64::INFINITY, loss);
        path.mean(60);
        let rate = path.mean(120);
        assert!((0.999 * least..=most).contains(&rate), "{loss}: {rate}");
    }
}

/// Loss that more rate makes stops it where the path is full, with or without a part that is always lost.
#[test]
fn congestion_stops_the_rate_where_the_path_is_full() {
    for (bandwidth, inherent) in [(1e6, 0.0), (1e6, 0.03), (0.3e6, 0.0), (3e6, 0.01)] {
        let mut path = Loop::new(bandwidth, inherent);
        path.mean(60);
        let rate = path.mean(60);
        assert!((0.9..1.15).contains(&(rate / bandwidth)), "{bandwidth}, {inherent}: {rate}");
    }
}

/// A path that becomes wider is used again.
#[test]
fn it_returns_when_the_path_becomes_wider() {
    let mut path = Loop::new(0.5e6, 0.0);
    path.mean(30);
    path.path.bandwidth = f64::INFINITY;
    path.mean(30);
    assert!(path.rate() >= BOUNDS.1, "{}", path.rate());
    assert_eq!(path.part.state(), State::Delay);
}

/// After a decrease the rate does not rise for a while, after the next one for twice as long; when delay's part decides, the
/// next hold is 300 ms again.
#[test]
fn decreases_are_held() {
    let mut path = Loop::new(1e6, 0.0);
    let mut held: Vec<f64> = Vec::new();
    let mut before = State::Delay;
    for _ in 0..300 {
        path.step();
        if path.part.cap().is_infinite() {
            continue;
        }
        if path.part.state() == State::Decreasing && before != State::Decreasing {
            held.push(path.part.hold.until - path.part.window.until());
        }
        if path.part.state() == State::Decreasing && path.part.window.until() < path.part.hold.until {
            assert!(path.rate() <= path.part.hold.rate, "{} above {}", path.rate(), path.part.hold.rate);
        }
        before = path.part.state();
    }
    let doubles = |pair: &[f64]| (pair[1] / pair[0] - 2.0).abs() < 1e-9;
    assert!(held.len() > 3 && held.windows(2).all(doubles), "{held:?}");
    path.path.bandwidth = f64::INFINITY;
    path.mean(60);
    assert!((path.part.hold.lasts - 300e3).abs() < 1e-9);
}

/// Once Newton's steps have settled, the candidate taken is the one that a search through all inherent losses finds best.
#[test]
fn the_candidate_taken_is_the_best() {
    for (bandwidth, inherent) in [(1e6, 0.0), (1e6, 0.05), (2e6, 0.02), (f64::INFINITY, 0.1)] {
        let mut path = Loop::new(bandwidth, inherent);
        path.mean(3);
        let part = &path.part;
        let heard = Heard { arriving: part.arriving, ..heard(path.now) };
        let before = part.best.unwrap();
        let searched = part.candidates(before, &heard).map(|candidate| {
            let most = BweV2::feasible(Channel { inherent: 1.0, ..candidate }).inherent;
            let grid = (0..=2000_u32).map(|step| f64::from(step) / 2000.0 * (most - LEAST_INHERENT));
            let of = |more: f64| Channel { inherent: LEAST_INHERENT + more, ..candidate };
            let best = grid.map(|more| part.window.objective(&of(more))).fold(f64::MIN, f64::max);
            (candidate.bandwidth, best)
        });
        let wanted = searched.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        let mut settled = before;
        for candidate in part.candidates(before, &heard).filter(|one| one.bandwidth == wanted.0) {
            settled = (0..40).fold(candidate, |channel, _| {
                let start = BweV2::feasible(channel);
                BweV2::feasible(Channel { inherent: part.window.step(&start), ..start })
            });
        }
        let found = part.window.objective(&settled);
        assert!(found >= wanted.1 - 0.01 * wanted.1.abs(), "{bandwidth}, {inherent}: {found}, {wanted:?}");
        let chosen = part.choose(Channel { inherent: settled.inherent, ..before }, &heard);
        let allowed =
            if part.window.mean_loss() > chosen.inherent { before.bandwidth } else { f64::INFINITY };
        assert!((chosen.bandwidth - wanted.0.min(allowed)).abs() < 1.0, "{chosen:?}, not {wanted:?}");
    }
}

/// What libwebrtc's own `loss_based_bwe_v2` (June 2025, its defaults) made of these reports: a path that carries 1 and then
/// 3 Mbit/s and loses 3 % of all; one that loses 10 % of all; one that becomes wider than delay's rate; an application that
/// limits the rate on a path that becomes narrower. States: 1 increasing with padding, 2 decreasing, 3 delay's.
#[test]
fn it_decides_as_libwebrtc_does() {
    let mut parts: Vec<(&str, BweV2)> = Vec::new();
    for line in include_str!("reference.csv").lines().skip(1) {
        let (case, row) = line.split_once(',').unwrap();
        if parts.last().is_none_or(|(last, _)| *last != case) {
            parts.push((case, BweV2::new(BOUNDS)));
        }
        let (_, part) = parts.last_mut().unwrap();
        let of: Vec<f64> = row.split(',').map(|value| value.parse().unwrap()).collect();
        part.take(&Heard {
            sent: (of[0], of[1]),
            kept: of[2],
            lost: of[3],
            arriving: Some(of[4]),
            delay_rate: of[5],
            limited: of[6] > 0.0,
            ..heard(of[1])
        });
        let state = match part.state() {
            State::Increasing => 1.0,
            State::Decreasing => 2.0,
            State::Delay => 3.0,
        };
        if part.cap().is_finite() {
            let rate = part.cap().min(of[5]).clamp(BOUNDS.0, BOUNDS.1);
            assert!((rate / of[7] - 1.0).abs() < 1e-4 && state == of[8], "{line}: {rate}, {part:?}");
        }
    }
    assert_eq!(parts.len(), 4);
}

/// Before the third observation delay's part decides, however much is lost: probes may leave, and nothing is padded.
#[test]
fn two_observations_decide_nothing() {
    let mut path = Loop::new(f64::INFINITY, 0.5);
    let mut states = Vec::new();
    while path.part.window.count() < ENOUGH {
        assert_eq!((path.part.state(), path.part.cap()), (State::Delay, f64::INFINITY));
        path.step();
        states.push(path.part.state);
    }
    assert!(states.contains(&State::Decreasing), "{states:?}");
    assert_ne!(path.part.state(), State::Delay);
}

/// Nothing is decided before the third observation, and nonsense does no harm.
#[test]
fn nonsense_is_borne() {
    let mut part = BweV2::new(BOUNDS);
    assert!(part.cap().is_infinite());
    let values = [0.0, 1.0, 1e3, 1e12, f64::MAX / 1e9];
    let mut now: f64 = 0.0;
    for step in 0..2000_usize {
        let pick = |salt: usize| values[(step * 7 + step / 5 * salt + salt) % values.len()];
        now += if step % 11 == 0 { -3.0 } else { 0.4 };
        let heard = Heard {
            sent: (now - 0.2, now + if step % 3 == 0 { 0.0 } else { pick(3).min(1e6) }),
            kept: pick(1),
            lost: pick(2),
            delay_rate: pick(4).clamp(BOUNDS.0, BOUNDS.1),
            arriving: (step % 4 > 0).then(|| pick(5)),
            limited: step % 2 == 0,
            ..heard(now)
        };
        part.take(&heard);
        assert!(part.cap() >= BOUNDS.0 && part.inherent().is_finite(), "{heard:?}: {part:?}");
    }
}
