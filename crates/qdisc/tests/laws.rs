//! What holds of every discipline, whatever arrives: conservation, order within a flow, work conservation where it is
//! promised, marks only where they may be, and the same outcome for the same seed. Bounds of single disciplines are
//! tested in files of their own.

use crate::common;

use std::collections::HashMap;

use common::wild::{capacities as wild_capacities, rates, wild};
use common::{Outcome, all, arrivals, build, config, run, serve, serve_at};
use proptest::prelude::*;
use tailback_core::{Bytes, Capacity, DropReason, Ecn, Span, Time};
use tailback_qdisc::{ALL, Config, Limit};

/// Disciplines that may leave the line idle although packets wait.
fn may_idle(config: &Config) -> bool {
    match config {
        Config::FramedRoundRobin(_) | Config::HierarchicalRoundRobin(_) | Config::TokenBucket(_) => true,
        Config::Cake(cake) => cake.rate.is_some() || cake.autorate_ingress,
        Config::Priority(lanes) => lanes.lanes.iter().any(|lane| may_idle(&lane.queue)),
        _ => false,
    }
}

/// Among which of a flow's packets the order is kept: all, but for disciplines that go by lane or by ECN field.
fn kept_in_order(config: &Config, job: &common::Job) -> (u32, u8, bool) {
    match config {
        Config::Priority(_) | Config::Cake(_) => (job.flow, job.lane.number(), false),
        Config::DualPi2(_) => (job.flow, 0, matches!(job.ecn, Ecn::Ect1 | Ecn::Ce)),
        _ => (job.flow, 0, false),
    }
}

/// What must hold of every outcome; the server has checked conservation at every step.
fn check(
    config: &Config,
    capacity: Capacity,
    jobs: &[common::Job],
    outcome: &Outcome,
) -> Result<(), TestCaseError> {
    let name = config.name();
    prop_assert_eq!(outcome.departures.len() + outcome.drops.len(), jobs.len(), "{}", name);
    prop_assert!(!outcome.idled || may_idle(config), "{name} idles while packets wait");

    let mut newest = HashMap::new();
    let mut marks = 0;
    let mut clock = Time::ZERO;
    for departure in &outcome.departures {
        let job = jobs[departure.job];
        prop_assert!(departure.started >= clock && departure.started >= job.at);
        clock = departure.ended;
        let last = newest.insert(kept_in_order(config, &job), departure.job);
        prop_assert!(last < Some(departure.job), "{name} reorders a flow");
        let marked = departure.packet.ecn() != job.ecn;
        let capable = matches!(job.ecn, Ecn::Ect0 | Ecn::Ect1);
        prop_assert!(!marked || (capable && departure.packet.ecn() == Ecn::Ce), "{name} marks {job:?}");
        marks += u64::from(marked) + u64::from(departure.packet.rho()) + u64::from(departure.packet.eta());
    }
    // A packet that is marked and then pushed out counts too.
    prop_assert!(marks <= outcome.marks, "{name} marks more than it says");
    // With all defaults there is no buffer but the link's.
    let own_buffer = ALL.iter().all(|info| (info.default)() != *config);
    let overflows = outcome.drops.iter().any(|(_, reason, _)| *reason == DropReason::Overflow);
    prop_assert!(!overflows || own_buffer || capacity != Capacity::Unlimited, "{name}");
    // At an idle server with nothing waiting, a packet needs no room; with one that shapes it waits there all the same.
    let limit = Limit::new(capacity);
    let held = !limit.exceeded_by(&outcome.most);
    let shares = !matches!(config, Config::Priority(_) | Config::TokenBucket(_));
    prop_assert!(held || !shares, "{name} holds {:?} in {capacity}", outcome.most);
    Ok(())
}

fn capacities() -> impl Strategy<Value = Capacity> {
    prop_oneof![
        Just(Capacity::Unlimited),
        Just(Capacity::Packets(0)),
        Just(Capacity::Packets(1)),
        (2_u32..30).prop_map(Capacity::Packets),
        (100_u64..20_000).prop_map(|bytes| Capacity::Bytes(Bytes::new(bytes))),
    ]
}

proptest! {
    #![proptest_config(common::cases(200))]

    #[test]
    fn hold_for_every_discipline(jobs in arrivals(5, 250), capacity in capacities(), seed in 0_u64..1000) {
        for config in all() {
            check(&config, capacity, &jobs, &run(&config, capacity, &jobs, seed))?;
        }
    }

    /// And of arrivals that no text thought of, at rates that change.
    #[test]
    fn hold_whatever_arrives(
        jobs in wild(5, 60), capacity in wild_capacities(), rates in rates(), seed in 0_u64..1000
    ) {
        for config in all() {
            let outcome = serve_at(&mut build(&config, capacity), &jobs, seed, &|now| rates.at(now));
            check(&config, capacity, &jobs, &outcome)?;
        }
    }

    #[test]
    fn one_seed_gives_one_outcome(jobs in arrivals(5, 120), seed in 0_u64..1000) {
        for config in all() {
            let first = run(&config, Capacity::Packets(8), &jobs, seed);
            let second = run(&config, Capacity::Packets(8), &jobs, seed);
            prop_assert_eq!(first, second, "{}", config.name());
        }
    }

    /// A queue that has been used and has emptied behaves as a new one; but for what the random stream, averages and
    /// virtual queues remember, which the fair servers have none of. (Which of two equally long queues loses a packet
    /// is left open, so here none does.)
    #[test]
    fn fair_servers_start_over_when_empty(first in arrivals(5, 120), second in arrivals(5, 120)) {
        for name in ["round-robin", "cell-round-robin", "deficit-round-robin", "self-clocked-fair-queueing",
            "weighted-fair-queueing"]
        {
            let config = config(&format!("{{\"name\":\"{name}\"}}"));
            let mut used = build(&config, Capacity::Unlimited);
            serve(&mut used, &first, 1);
            let later = Span::from_secs(100);
            let shifted: Vec<_> = second.iter().map(|job| common::Job { at: job.at + later, ..*job }).collect();
            let again = serve(&mut used, &shifted, 1);
            let fresh = run(&config, Capacity::Unlimited, &second, 1);
            let order = |outcome: &Outcome| -> Vec<usize> {
                outcome.departures.iter().map(|departure| departure.job).collect()
            };
            prop_assert_eq!(order(&again), order(&fresh), "{}", name);
        }
    }
}

#[test]
fn drop_tail_holds_its_capacity_and_one_in_transmission() {
    let jobs: Vec<_> = (0..10).map(|_| common::Job::new(0, 0, 1000)).collect();
    for (capacity, kept) in [
        (Capacity::Packets(0), 1),
        (Capacity::Packets(3), 4),
        (Capacity::Bytes(Bytes::new(2999)), 3),
        (Capacity::Unlimited, 10),
    ] {
        let outcome = run(&Config::default(), capacity, &jobs, 1);
        assert_eq!(outcome.departures.len(), kept, "{capacity}");
    }
}

#[test]
fn drop_head_keeps_the_newest() {
    let jobs: Vec<_> = (0..10).map(|_| common::Job::new(0, 0, 1000)).collect();
    let outcome = run(&config(r#"{"name":"drop-head"}"#), Capacity::Packets(3), &jobs, 1);
    let kept: Vec<_> = outcome.departures.iter().map(|departure| departure.job).collect();
    assert_eq!(kept, [0, 7, 8, 9]);
}

/// A packet that the buffer could not hold alone: it goes, and what waits stays.
#[test]
fn what_does_not_fit_pushes_nobody_out() {
    for name in ["drop-head", "random-drop"] {
        let sizes = [1000, 300, 300, 1200, 300];
        let jobs: Vec<_> = sizes.iter().map(|size| common::Job::new(0, 0, *size)).collect();
        let written = config(&format!(r#"{{"name":"{name}"}}"#));
        let outcome = run(&written, Capacity::Bytes(Bytes::new(1000)), &jobs, 1);
        let kept: Vec<_> = outcome.departures.iter().map(|departure| departure.job).collect();
        let dropped: Vec<_> = outcome.drops.iter().map(|drop| drop.0).collect();
        assert_eq!((kept, dropped), (vec![0, 1, 2, 4], vec![3]), "{name}");
    }
}

#[test]
fn random_drop_hits_flows_in_proportion() {
    // Flow 0 sends three times as much as flow 1, into a buffer that holds a fraction of it.
    let jobs: Vec<_> = (0..20_000).map(|n| common::Job::new(n * 500, u32::from(n % 4 == 0), 1000)).collect();
    let outcome = run(&config(r#"{"name":"random-drop"}"#), Capacity::Packets(50), &jobs, 7);
    let share = outcome.drops_of(&jobs, 0) as f64 / outcome.drops.len() as f64;
    assert!((share - 0.75).abs() < 0.02, "{share}");
    // One of four that wait must go, the newest as likely as the oldest.
    let jobs: Vec<_> = (0..5).map(|_| common::Job::new(0, 0, 1000)).collect();
    let mut lost = [0; 5];
    for seed in 0..4000 {
        let outcome = run(&config(r#"{"name":"random-drop"}"#), Capacity::Packets(3), &jobs, seed);
        lost[outcome.drops[0].0] += 1;
    }
    assert!(lost[0] == 0 && lost[1..].iter().all(|count| (880..1120).contains(count)), "{lost:?}");
}
