//! CoDel and FlowQueue-CoDel: when they drop or mark, and who is served (RFC 8289, RFC 8290). Other active queue
//! management is tested in `active`.

use crate::common;

use common::{Job, config, run};
use tailback_core::{Capacity, DropReason, Ecn, Span, Time};

/// Poisson arrivals of 1000 B packets at a part `load` of the rate.
fn poisson(load: f64, count: usize) -> Vec<Job> {
    let mut rng = tailback_core::Stream::new(11, "arrivals");
    let mut clock = 0.0;
    (0..count)
        .map(|_| {
            clock += rng.exponential() * 1000.0 / load;
            Job::new(clock as u64, 0, 1000)
        })
        .collect()
}

#[test]
fn codel_drops_by_the_inverse_square_root() {
    // A queue that never shrinks: all packets are there from the start.
    let jobs: Vec<Job> = (0..6000).map(|_| Job::new(0, 0, 1000)).collect();
    let outcome = run(&config(r#"{"name":"codel"}"#), Capacity::Unlimited, &jobs, 1);
    let drops: Vec<f64> = outcome.drops.iter().map(|(_, _, at)| at.as_secs_f64()).collect();
    // The first drop comes one interval after the delay first exceeds the target.
    assert!((drops[0] - 0.1).abs() < 0.007, "{}", drops[0]);
    let mut due = drops[0];
    for (n, drop) in drops.iter().enumerate().take(150).skip(1) {
        due += 0.1 / (n as f64).sqrt();
        // A drop happens at the first departure after it is due, and packets take a millisecond.
        assert!((0.0..0.001_001).contains(&(drop - due)), "drop {n} at {drop}, due {due}");
    }
    assert!(drops.len() > 150);
}

#[test]
fn codel_leaves_a_short_queue_alone() {
    let outcome = run(&config(r#"{"name":"codel"}"#), Capacity::Unlimited, &poisson(0.7, 50_000), 1);
    let part = outcome.drops.len() as f64 / 50_000.0;
    assert!(part < 0.001, "{part}");
}

#[test]
fn fq_codel_protects_a_sparse_flow() {
    let mut jobs: Vec<Job> = (0..40_000).map(|n| Job::new(n * 500, 1, 1000)).collect();
    jobs.extend((0..400).map(|n| Job::new(n * 50_000 + 17, 2, 200)));
    jobs.sort_by_key(|job| job.at);
    let outcome = run(&config(r#"{"name":"fq-codel"}"#), Capacity::Packets(10_000), &jobs, 1);
    assert_eq!(outcome.drops_of(&jobs, 2), 0);
    let worst = outcome
        .departures
        .iter()
        .filter(|d| d.flow == 2 && d.arrived > Time::ZERO + Span::from_millis(100))
        .map(|d| d.started.since(d.arrived))
        .max();
    // Once the other flow is known to be no sparse one, it waits for the packet in transmission only.
    assert!(worst.is_some_and(|worst| worst <= Span::from_millis(1)), "{worst:?}");
}

/// RFC 8290 §4.1.1: which flows meet in one queue is drawn, so that no two flows meet always.
#[test]
fn fq_codel_draws_which_flows_meet() {
    // With two queues: flow 1 alone has half of the line where the others meet, a quarter where it meets one of them.
    let jobs: Vec<Job> = (0..6000).map(|n| Job::new(0, 1 + n % 3, 1000)).collect();
    let written = config(r#"{"name":"fq-codel","queues":2,"quantum":"1000 B","interval":"1000 s"}"#);
    let shares: Vec<f64> = (0..40)
        .map(|seed| {
            let outcome = run(&written, Capacity::Unlimited, &jobs, seed);
            outcome.departures[..1200].iter().filter(|d| d.flow == 1).count() as f64 / 1200.0
        })
        .collect();
    let near = |share: f64| shares.iter().filter(|found| (**found - share).abs() < 0.02).count();
    // All three in one of two queues: one in four. Flow 1 alone: one in four. Flow 1 with one other: half.
    assert_eq!(near(0.5) + near(0.25) + near(1.0 / 3.0), 40, "{shares:?}");
    assert!(near(0.5) > 0 && near(0.25) > 0 && near(1.0 / 3.0) > 0, "{shares:?}");
}

/// RFC 8290 §4.1.2: at an overflow the longest queue loses half of what it holds, but at most 64 packets, the oldest first.
#[test]
fn fq_codel_relieves_the_longest_queue_by_half() {
    for (capacity, lost) in [(20, 9), (1000, 64)] {
        let written = config(r#"{"name":"fq-codel"}"#);
        let mut jobs: Vec<Job> = (0..capacity).map(|_| Job::new(0, 1, 1000)).collect();
        // One in transmission, and with three of another flow a full buffer; then one too many.
        jobs.truncate(capacity as usize - 2);
        jobs.extend((0..3).map(|_| Job::new(1, 2, 1000)));
        jobs.push(Job::new(2, 2, 1000));
        let outcome = run(&written, Capacity::Packets(capacity), &jobs, 1);
        let dropped: Vec<usize> =
            outcome.drops.iter().filter(|drop| drop.1 == DropReason::Overflow).map(|drop| drop.0).collect();
        assert_eq!(dropped.len(), lost, "of a buffer of {capacity}");
        assert!(dropped.iter().enumerate().all(|(n, job)| *job == n + 1), "the oldest: {dropped:?}");
    }
}

/// RFC 8290 §4.2: while both have packets, each queue gets a quantum in turn, whatever the sizes.
#[test]
fn fq_codel_is_fair_by_quanta() {
    let jobs: Vec<Job> = (0..4000).map(|n| Job::new(0, n % 2, if n % 2 == 0 { 1500 } else { 300 })).collect();
    let written = config(r#"{"name":"fq-codel","quantum":"600 B","interval":"1000 s"}"#);
    let outcome = run(&written, Capacity::Unlimited, &jobs, 1);
    let mut ahead = 0_i64;
    for departure in &outcome.departures[..1000] {
        let size = departure.size.cast_signed();
        ahead += if departure.flow == 0 { size } else { -size };
        // A quantum, and a largest packet of either flow.
        assert!(ahead.abs() <= 600 + 1500 + 300, "{ahead}");
    }
}

/// RFC 8289 §5.6, in a queue of RFC 8290 too: who had to be dropped from often, and comes back soon, is dropped from
/// often at once; after 16 intervals all is forgotten.
#[test]
fn codel_resumes_its_rate_after_a_short_pause() {
    for name in ["codel", "fq-codel"] {
        let drops_after = |pause: u64| {
            let mut jobs: Vec<Job> = (0..3000).map(|_| Job::new(0, 1, 1000)).collect();
            let again = 3_000_000 + pause;
            jobs.extend((0..600).map(|_| Job::new(again, 1, 1000)));
            let outcome = run(&config(&format!("{{\"name\":\"{name}\"}}")), Capacity::Unlimited, &jobs, 1);
            assert!(outcome.drops.iter().filter(|drop| drop.0 < 3000).count() > 100);
            outcome.drops.iter().filter(|drop| drop.0 >= 3000).count()
        };
        let (soon, late) = (drops_after(100_000), drops_after(5_000_000));
        // From scratch: one interval of grace, then drops 100 ms / √n apart over the rest of 0.6 s.
        assert!((4..20).contains(&late), "{name}: {late}");
        assert!(soon > 2 * late, "{name}: {soon} and {late}");
    }
}

#[test]
fn codel_marks_at_the_pace_of_its_drops() {
    // As above, of packets that can be marked.
    let jobs: Vec<Job> = (0..6000).map(|_| Job { ecn: Ecn::Ect0, ..Job::new(0, 0, 1000) }).collect();
    let outcome = run(&config(r#"{"name":"codel","ecn":true}"#), Capacity::Unlimited, &jobs, 1);
    assert!(outcome.drops.is_empty());
    let marked = outcome.departures.iter().filter(|departure| departure.packet.ecn() == Ecn::Ce);
    let marks: Vec<f64> = marked.map(|departure| departure.started.as_secs_f64()).collect();
    let mut due = marks[0];
    for (n, mark) in marks.iter().enumerate().take(150).skip(1) {
        due += 0.1 / (n as f64).sqrt();
        assert!((0.0..0.001_001).contains(&(mark - due)), "mark {n} at {mark}, due {due}");
    }
    assert!(marks.len() > 150);
}

/// RFC 8290 §4.2: a new queue that runs empty goes behind the old ones, so that new ones do not starve them.
#[test]
fn fq_codel_does_not_starve_old_flows() {
    // Twenty flows, each of which sends a packet when its last is long out, fill the line among them.
    let mut jobs: Vec<Job> = (0..3000).map(|_| Job::new(0, 100, 1000)).collect();
    jobs.extend((0..3000).map(|n| Job::new(100 + n * 1000, (n % 20) as u32, 1000)));
    let outcome = run(&config(r#"{"name":"fq-codel"}"#), Capacity::Unlimited, &jobs, 1);
    let during = &outcome.departures[500..2500];
    let old = during.iter().filter(|departure| departure.flow == 100).count();
    // One in 21 where all have equal turns.
    assert!(old >= during.len() / 25, "{old} of {}", during.len());
}
