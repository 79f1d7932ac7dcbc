//! Loss events by worked numbers, and as laws over random arrivals and rows of losses.

use proptest::prelude::*;

use super::*;

const RTT: Span = Span::from_millis(100);

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// One packet every 10 ms, except those lost.
fn feed(events: &mut LossEvents, numbers: std::ops::Range<u64>, lost: &[u64]) -> Judged {
    let mut all = Judged::default();
    for number in numbers.filter(|number| !lost.contains(number)) {
        let judged = events.on_arrival(at(10 * number), number, false, true, RTT);
        all.losses += judged.losses;
        all.events += judged.events;
    }
    all
}

fn fresh() -> LossEvents {
    LossEvents::new(&LossIntervalsConfig::default(), Counting::Events)
}

#[test]
fn losses_within_a_round_trip_are_one_event() {
    let mut events = fresh();
    // 20, 25 and 29 lie within 100 ms of 20; 30 does not.
    let judged = feed(&mut events, 0..40, &[20, 25, 29, 30]);
    assert_eq!(judged, Judged { losses: 4, events: 2 });
    assert_eq!(events.history().len(), 1, "one interval, from 20 to 30");
    assert_eq!(events.mean_interval(), Some(10.0));
    assert_eq!(events.event_rate(), 0.1);
    assert_eq!(events.open(), 10.0, "30 to 39");
}

#[test]
fn a_loss_is_one_after_three_later_arrivals() {
    let mut events = fresh();
    feed(&mut events, 0..11, &[10]);
    for (number, expected) in [(11, 0), (12, 0), (13, 1)] {
        let judged = events.on_arrival(at(10 * number), number, false, true, RTT);
        assert_eq!(judged.losses, expected, "at {number}");
    }
    // What comes late but in time is none, and the other half of its hole still is.
    let mut events = fresh();
    feed(&mut events, 0..13, &[10, 11]);
    events.on_arrival(at(125), 10, false, true, RTT);
    let judged = feed(&mut events, 13..20, &[]);
    assert_eq!(judged, Judged { losses: 1, events: 1 });
}

#[test]
fn copies_are_no_later_arrivals() {
    let mut events = fresh();
    feed(&mut events, 0..12, &[10]);
    for _ in 0..5 {
        assert_eq!(events.on_arrival(at(115), 11, false, false, RTT), Judged::default());
    }
}

#[test]
fn a_long_hole_holds_an_event_per_round_trip() {
    let mut events = fresh();
    // 450 ms are missing: events at its start and every 100 ms after.
    let lost: Vec<u64> = (20..65).collect();
    let judged = feed(&mut events, 0..70, &lost);
    assert_eq!(judged, Judged { losses: 45, events: 5 });
    assert_eq!(events.mean_interval(), Some(10.0));
}

/// Losses of 1 to `end` word for word by §5.2 and §5.3, packet by packet and without rounding: packet 0 came at 0 and `end` at
/// `nanos`, after an event that 0 began at `began`. The intervals that close, and the number that the last event begins with.
fn by_the_rules(began: Option<u64>, end: u64, nanos: u64, rtt: u64) -> (Vec<u64>, u64) {
    // Times in parts of a nanosecond, `end` to one.
    let mut last = began.map(|at| (0, at * end));
    let mut lengths = Vec::new();
    for number in 1..end {
        let at = number * nanos;
        if last.is_none_or(|(_, before)| at >= before + rtt * end) {
            lengths.extend(last.map(|(first, _)| number - first));
            last = Some((number, at));
        }
    }
    (lengths, last.map_or(0, |(first, _)| first))
}

#[test]
fn an_outage_of_many_round_trips_counts_to_its_end() {
    let lost: Vec<u64> = std::iter::once(50).chain(100..4100).collect();
    let mut events = fresh();
    // 40 s without anything: 400 events, of which the last interval is as short as the first.
    let judged = feed(&mut events, 0..4103, &lost);
    assert_eq!(judged, Judged { losses: 4001, events: 401 });
    assert_eq!(events.history().mean(0.0), Some(10.0), "{:?}", events.history());
    assert_eq!(events.open(), 13.0, "4090 to 4102");
    // By their losses they are one packet long, the open one included: 13 with 10 losses.
    let mut events = LossEvents::new(&LossIntervalsConfig::default(), Counting::ShortIntervalsByLosses);
    feed(&mut events, 0..4103, &lost);
    assert_eq!(events.history().mean(0.0), Some(1.0), "{:?}", events.history());
    assert_eq!(events.open(), 1.3);
}

#[test]
fn marks_count_at_once() {
    let mut events = fresh();
    feed(&mut events, 0..10, &[]);
    let judged = events.on_arrival(at(100), 10, true, true, RTT);
    assert_eq!(judged, Judged { losses: 1, events: 1 });
    let judged = events.on_arrival(at(110), 11, true, true, RTT);
    assert_eq!(judged, Judged { losses: 1, events: 0 });
}

#[test]
fn short_intervals_may_be_counted_by_their_losses() {
    let counting = Counting::ShortIntervalsByLosses;
    let mut events = LossEvents::new(&LossIntervalsConfig::default(), counting);
    // Events at 20 and 35, 150 ms apart: a short interval of 15 packets with 3 losses. RFC 4828 §4.4.
    feed(&mut events, 0..120, &[20, 22, 24, 35]);
    assert_eq!(events.history().mean(0.0), Some(5.0));
    // Events 400 ms apart are counted as ever.
    let mut events = LossEvents::new(&LossIntervalsConfig::default(), counting);
    feed(&mut events, 0..120, &[20, 22, 24, 60]);
    assert_eq!(events.history().mean(0.0), Some(40.0));
}

#[test]
fn a_seed_stands_before_the_first_event() {
    let mut events = fresh();
    feed(&mut events, 0..30, &[20]);
    assert_eq!(events.mean_interval(), None);
    events.seed(50.0);
    assert_eq!(events.event_rate(), 0.02);
    feed(&mut events, 30..60, &[50]);
    assert_eq!(events.mean_interval(), Some(40.0), "50 and 30");
}

#[test]
fn absurd_numbers_end_soon() {
    let mut events = fresh();
    feed(&mut events, 0..10, &[]);
    for (step, number) in
        [1 << 40, u64::MAX - 5, 3, u64::MAX, u64::MAX - 1, u64::MAX - 2].into_iter().enumerate()
    {
        events.on_arrival(at(200 + step as u64), number, true, true, RTT);
    }
    let rate = events.event_rate();
    assert!((0.0..=1.0).contains(&rate), "{rate}");
}

proptest! {
    /// Of any length, at any spacing, after a history of any kind.
    #[test]
    fn a_row_of_losses_holds_what_its_packets_tell_one_by_one(
        before in prop::collection::vec(1..100_u32, 0..12),
        began in prop::option::of(0..5_000_000_u64),
        end in 2..3000_u64,
        nanos in 1..3_000_000_000_u64,
        rounds in 1..60_u64,
    ) {
        let rtt = (nanos / rounds).max(1);
        let mut events = fresh();
        for packets in &before {
            events.history.close(f64::from(*packets));
        }
        let mut expected = events.history.clone();
        events.event = began.map(|at| Event { first: 0, at: Time::from_nanos(at), losses: 1 });
        events.round_trip = Span::from_nanos(rtt);
        let after = (end, Time::from_nanos(nanos));
        let hole = Hole { start: 1, end, before: (0, Time::ZERO), after, later: 3 };
        let mut judged = Judged::default();
        events.judge(&hole, &mut judged);
        let (lengths, last) = by_the_rules(began, end, nanos, rtt);
        for length in &lengths {
            expected.close(*length as f64);
        }
        prop_assert_eq!(judged.losses, end - 1);
        prop_assert_eq!(u64::from(judged.events), lengths.len() as u64 + u64::from(began.is_none()));
        prop_assert_eq!(events.event.map(|event| event.first), Some(last));
        for open in [0.0, 1.0, 1e6] {
            let (ours, theirs) = (events.history.event_rate(open), expected.event_rate(open));
            prop_assert!((ours - theirs).abs() <= 1e-9 * theirs, "{} {}", ours, theirs);
        }
    }

    /// In any order and with any marks: a rate from 0 to 1, and no loss counted that came.
    #[test]
    fn rates_are_rates(arrivals in prop::collection::vec((0..300_u64, 0..50_u64, prop::bool::weighted(0.05)), 1..400)) {
        let mut events = fresh();
        let (mut now, mut seen) = (0, std::collections::BTreeSet::new());
        for (number, pause, marked) in arrivals {
            now += pause;
            events.on_arrival(at(now), number, marked, seen.insert(number), RTT);
            let rate = events.event_rate();
            prop_assert!((0.0..=1.0).contains(&rate));
            let highest = seen.last().copied().unwrap_or(0);
            prop_assert!(events.lost() <= highest);
        }
    }

    /// Under independent loss at even spacing the mean interval is that of the events: losses 1/p apart on average, of which
    /// those within a round trip merge, so 1/p plus what a round trip holds beyond the first.
    #[test]
    fn independent_loss_gives_its_event_rate(seed in 0..20_u64) {
        let mut rng = tailback_core::Stream::new(seed, "loss");
        let config = LossIntervalsConfig { intervals: 64, discounting: false };
        let mut events = LossEvents::new(&config, Counting::Events);
        let (p, mut sum) = (0.05, 0.0);
        for number in 0..40_000 {
            if !rng.chance(p) {
                events.on_arrival(at(10 * number), number, false, true, RTT);
                sum += events.event_rate();
            }
        }
        // After an event, 9 more packets belong to it; then a geometric wait of 1/p.
        let expected = 1.0 / (9.0 + 1.0 / p);
        let measured = sum / (40_000.0 * (1.0 - p));
        prop_assert!((measured / expected - 1.0).abs() < 0.1, "{measured} for {expected}");
    }
}
