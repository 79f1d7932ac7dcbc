//! Which packet goes where a buffer is full: one short sequence for each of drop-tail, drop-head and random drop, that no two
//! of them answer alike. The same over random arrivals is in `second`.

use tailback_core::{Capacity, DropReason};

use crate::common::{Job, config, run};

/// One packet is in transmission, three wait, and a fifth finds no room for a fourth: which goes, and what leaves in order.
fn of_four(name: &str, seed: u64) -> (usize, Vec<usize>) {
    let jobs = [0, 1, 2, 3, 4].map(|flow| Job::new(0, flow, 1000));
    let config = config(&format!(r#"{{"name":"{name}"}}"#));
    let outcome = run(&config, Capacity::Packets(3), &jobs, seed);
    let [(gone, DropReason::Overflow, at)] = outcome.drops[..] else { panic!("{name}: {:?}", outcome.drops) };
    assert_eq!(at, jobs[4].at);
    (gone, outcome.departures.iter().map(|departure| departure.job).collect())
}

#[test]
fn drop_tail_turns_the_newest_away() {
    for seed in 0..20 {
        assert_eq!(of_four("drop-tail", seed), (4, vec![0, 1, 2, 3]));
    }
}

#[test]
fn drop_head_pushes_the_oldest_out() {
    for seed in 0..20 {
        assert_eq!(of_four("drop-head", seed), (1, vec![0, 2, 3, 4]));
    }
}

/// Mankin 1990: each of the four with the same chance, and the others stay in order. Of 4000 each goes 1000 times, and 27 is a
/// standard deviation; five of them are allowed.
#[test]
fn random_drop_pushes_any_out() {
    let mut gone = [0_u32; 5];
    for seed in 0..4000 {
        let (which, left) = of_four("random-drop", seed);
        gone[which] += 1;
        let others: Vec<usize> = (0..5).filter(|job| *job != which).collect();
        assert_eq!(left, others);
    }
    assert_eq!(gone[0], 0, "what is in transmission");
    assert!(gone[1..].iter().all(|count| count.abs_diff(1000) <= 137), "{gone:?}");
}

/// In bytes a large arrival takes the place of several, and where even they are too little it alone goes.
#[test]
fn a_large_packet_takes_the_place_of_several() {
    let sizes = [1000, 400, 400, 400, 900];
    for (name, expected) in [("drop-tail", vec![4]), ("drop-head", vec![1, 2, 3])] {
        let jobs: Vec<Job> = sizes.iter().map(|size| Job::new(0, 0, *size)).collect();
        let capacity = Capacity::Bytes(tailback_core::Bytes::new(1200));
        let outcome = run(&config(&format!(r#"{{"name":"{name}"}}"#)), capacity, &jobs, 1);
        assert_eq!(outcome.drops.iter().map(|drop| drop.0).collect::<Vec<_>>(), expected, "{name}");
        let mut jobs = jobs;
        jobs[4].size = 1201;
        let outcome = run(&config(&format!(r#"{{"name":"{name}"}}"#)), capacity, &jobs, 1);
        assert_eq!(outcome.drops.iter().map(|drop| drop.0).collect::<Vec<_>>(), [4], "{name}");
    }
}
