//! What holds of every discipline, whatever arrives: conservation, order within a flow, work conservation where it is
//! promised, marks only where they may be, and the same outcome for the same seed. Bounds of single disciplines are
//! tested in files of their own.

use crate::common;

use common::{all, arrivals, build, config, run, serve};
use proptest::prelude::*;
use tailback_core::{Bytes, Capacity, DropReason, Ecn, Span, Time};
use tailback_qdisc::{ALL, Config};

/// Disciplines that may leave the line idle although packets wait.
fn may_idle(config: &Config) -> bool {
    match config {
        Config::FramedRoundRobin(_) | Config::HierarchicalRoundRobin(_) | Config::TokenBucket(_) => true,
        Config::Cake(cake) => cake.rate.is_some() || cake.autorate_ingress,
        _ => false,
    }
}

/// Disciplines that may send a flow's packets out of order: by lane, or by ECN field.
fn may_reorder(config: &Config) -> bool {
    matches!(config, Config::Priority(_) | Config::Cake(_) | Config::DualPi2(_))
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

    /// The server checks conservation at every step; here is the rest.
    #[test]
    fn hold_for_every_discipline(jobs in arrivals(5, 250), capacity in capacities(), seed in 0_u64..1000) {
        for config in all() {
            let outcome = run(&config, capacity, &jobs, seed);
            prop_assert_eq!(outcome.departures.len() + outcome.drops.len(), jobs.len(), "{}", config.name());
            prop_assert!(!outcome.idled || may_idle(&config), "{} idles while packets wait", config.name());

            let mut newest = [None; 5];
            let mut marks = 0;
            let mut clock = Time::ZERO;
            for departure in &outcome.departures {
                let job = jobs[departure.job];
                prop_assert!(departure.started >= clock && departure.started >= job.at);
                clock = departure.ended;
                let last = newest[departure.flow as usize].replace(departure.job);
                let in_order = last < Some(departure.job) || may_reorder(&config);
                prop_assert!(in_order, "{} reorders a flow", config.name());
                let marked = departure.packet.ecn() != job.ecn;
                prop_assert!(!marked || (job.ecn != Ecn::NotEct && departure.packet.ecn() == Ecn::Ce));
                marks += u64::from(marked)
                    + u64::from(departure.packet.rho())
                    + u64::from(departure.packet.eta());
            }
            // A packet that is marked and then pushed out counts too.
            prop_assert!(marks <= outcome.marks, "{} marks more than it says", config.name());
            // With all defaults there is no buffer but the link's.
            let own_buffer = ALL.iter().all(|info| (info.default)() != config);
            let overflows = outcome.drops.iter().any(|(_, reason, _)| *reason == DropReason::Overflow);
            prop_assert!(!overflows || own_buffer || capacity != Capacity::Unlimited, "{}", config.name());
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
            let order = |outcome: &common::Outcome| -> Vec<usize> {
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
