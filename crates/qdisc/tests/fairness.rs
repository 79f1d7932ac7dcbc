//! The published bounds of the fair servers, over random arrivals. What holds of every discipline is tested in `laws`.

use crate::common;

use std::collections::VecDeque;

use common::{Job, Outcome, RATE, arrivals, build, config, run, serve};
use proptest::prelude::*;
use tailback_core::{Capacity, Span, Time};
use tailback_qdisc::Discipline;

const FLOWS: usize = 4;
const LARGEST: f64 = 1500.0;
const WEIGHTS: [f64; FLOWS] = [1.0, 2.0, 0.5, 1.0];

fn weighted(name: &str, more: &str) -> String {
    format!(
        "{{\"name\":\"{name}\"{more},\"shares\":[{{\"flows\":[1],\"weight\":2}},{{\"flows\":[2],\"weight\":0.5}}]}}"
    )
}

/// The largest difference of normalised service that two flows see over any interval in which both are backlogged.
///
/// `worth` is the service that a packet counts for. Intervals begin and end where a packet ends, so that no packet
/// is partly served.
fn unfairness(jobs: &[Job], outcome: &Outcome, a: usize, b: usize, worth: impl Fn(usize, u64) -> f64) -> f64 {
    let mut present = [0_i64; 2];
    let mut next_job = 0;
    let mut difference = 0.0_f64;
    let mut range: Option<(f64, f64)> = None;
    let mut worst = 0.0_f64;
    for departure in &outcome.departures {
        while next_job < jobs.len() && jobs[next_job].at < departure.ended {
            let flow = jobs[next_job].flow as usize;
            present[0] += i64::from(flow == a);
            present[1] += i64::from(flow == b);
            next_job += 1;
        }
        let both = present[0] > 0 && present[1] > 0;
        let flow = departure.flow as usize;
        if flow == a {
            difference += worth(a, departure.size);
            present[0] -= 1;
        } else if flow == b {
            difference -= worth(b, departure.size);
            present[1] -= 1;
        }
        if both {
            let (low, high) = range
                .map_or((difference, difference), |(low, high)| (low.min(difference), high.max(difference)));
            range = Some((low, high));
            worst = worst.max(high - low);
        }
        if present[0] == 0 || present[1] == 0 {
            range = None;
        }
    }
    worst
}

/// Checks a bound for all pairs of flows.
fn check_pairs(
    jobs: &[Job],
    outcome: &Outcome,
    worth: impl Fn(usize, u64) -> f64 + Copy,
    bound: impl Fn(usize, usize) -> f64,
) -> Result<(), TestCaseError> {
    for a in 0..FLOWS {
        for b in 0..a {
            let worst = unfairness(jobs, outcome, a, b, worth);
            prop_assert!(
                worst <= bound(a, b) + 1e-6,
                "flows {a} and {b} differ by {worst} > {}",
                bound(a, b)
            );
        }
    }
    Ok(())
}

/// Generalised processor sharing, fluid and exact: when each job is finished, and what each flow has had by `times`.
fn fluid(jobs: &[Job], weights: &[f64; FLOWS], times: &[Time]) -> (Vec<f64>, Vec<[f64; FLOWS]>) {
    let micros = |time: Time| time.as_nanos() as f64 / 1e3;
    let mut queues: [VecDeque<(usize, f64)>; FLOWS] = Default::default();
    let mut finished = vec![f64::NAN; jobs.len()];
    let mut served = [0.0; FLOWS];
    let mut samples = Vec::new();
    let (mut clock, mut next_job) = (0.0_f64, 0);
    loop {
        let sum: f64 = (0..FLOWS).filter(|flow| !queues[*flow].is_empty()).map(|flow| weights[flow]).sum();
        let arrival = jobs.get(next_job).map_or(f64::INFINITY, |job| micros(job.at));
        let sample = times.get(samples.len()).map_or(f64::INFINITY, |time| micros(*time));
        let finish = (0..FLOWS)
            .filter_map(|flow| queues[flow].front().map(|(_, left)| clock + left * sum / weights[flow]))
            .fold(f64::INFINITY, f64::min);
        let until = arrival.min(sample).min(finish);
        if until.is_infinite() {
            return (finished, samples);
        }
        for flow in 0..FLOWS {
            let Some((job, left)) = queues[flow].front_mut() else { continue };
            // One byte takes one microsecond.
            let service = ((until - clock) * weights[flow] / sum).min(*left);
            served[flow] += service;
            *left -= service;
            if *left < 1e-9 {
                finished[*job] = until;
                queues[flow].pop_front();
            }
        }
        clock = until;
        if sample <= until {
            samples.push(served);
        }
        while next_job < jobs.len() && micros(jobs[next_job].at) <= until {
            queues[jobs[next_job].flow as usize].push_back((next_job, jobs[next_job].size as f64));
            next_job += 1;
        }
    }
}

proptest! {
    #![proptest_config(common::cases(300))]

    /// Parekh and Gallager 1993: no packet ends later than in the fluid by more than one largest packet (Theorem 1),
    /// and no flow lags behind the fluid by more than that (Theorem 2).
    #[test]
    fn weighted_fair_queueing_follows_processor_sharing(jobs in arrivals(FLOWS as u32, 250)) {
        let outcome = run(&config(&weighted("weighted-fair-queueing", "")), Capacity::Unlimited, &jobs, 1);
        let ends: Vec<Time> = outcome.departures.iter().map(|departure| departure.ended).collect();
        let (finished, samples) = fluid(&jobs, &WEIGHTS, &ends);
        let mut served = [0.0; FLOWS];
        for (departure, fluid) in outcome.departures.iter().zip(samples) {
            let late = departure.ended.as_nanos() as f64 / 1e3 - finished[departure.job];
            prop_assert!(late <= LARGEST + 1e-3, "{late} µs late");
            served[departure.flow as usize] += departure.size as f64;
            for flow in 0..FLOWS {
                prop_assert!(fluid[flow] - served[flow] <= LARGEST + 1e-3);
            }
        }
    }

    /// Golestani 1994, Theorem 1: |W_i/r_i - W_j/r_j| ≤ L_i/r_i + L_j/r_j.
    #[test]
    fn self_clocked_fair_queueing_is_fair(jobs in arrivals(FLOWS as u32, 250)) {
        let outcome = run(&config(&weighted("self-clocked-fair-queueing", "")), Capacity::Unlimited, &jobs, 1);
        check_pairs(
            &jobs,
            &outcome,
            |flow, size| size as f64 / WEIGHTS[flow],
            |a, b| LARGEST / WEIGHTS[a] + LARGEST / WEIGHTS[b],
        )?;
    }

    /// Shreedhar and Varghese 1995, Theorem 2, for quanta in proportion to weights: at most one quantum, and one
    /// largest packet of each flow.
    #[test]
    fn deficit_round_robin_is_fair(jobs in arrivals(FLOWS as u32, 250)) {
        let written = weighted("deficit-round-robin", ",\"quantum\":\"3000 B\"");
        let outcome = run(&config(&written), Capacity::Unlimited, &jobs, 1);
        check_pairs(
            &jobs,
            &outcome,
            |flow, size| size as f64 / WEIGHTS[flow],
            |a, b| 3000.0 + LARGEST / WEIGHTS[a] + LARGEST / WEIGHTS[b],
        )?;
    }

    /// Round robin serves one packet in turn, so that counts differ by at most one.
    #[test]
    fn round_robin_takes_turns(jobs in arrivals(FLOWS as u32, 250)) {
        let outcome = run(&config(r#"{"name":"round-robin"}"#), Capacity::Unlimited, &jobs, 1);
        check_pairs(&jobs, &outcome, |_, _| 1.0, |_, _| 1.0)?;
    }

    /// With cells for packets, cell-by-cell round robin takes turns likewise.
    #[test]
    fn cell_round_robin_takes_turns(jobs in arrivals(FLOWS as u32, 250)) {
        let cells: Vec<Job> = jobs.iter().map(|job| Job { size: 53, ..*job }).collect();
        let outcome = run(&config(r#"{"name":"cell-round-robin"}"#), Capacity::Unlimited, &cells, 1);
        check_pairs(&cells, &outcome, |_, _| 1.0, |_, _| 1.0)?;
    }

    /// Larger packets leave as their last cells would: counted in cells, within one packet of each flow.
    #[test]
    fn cell_round_robin_is_fair_in_cells(jobs in arrivals(FLOWS as u32, 250)) {
        let outcome = run(&config(r#"{"name":"cell-round-robin"}"#), Capacity::Unlimited, &jobs, 1);
        let cells = |_: usize, size: u64| if size <= 53 { 1.0 } else { (size + 8).div_ceil(48) as f64 };
        check_pairs(&jobs, &outcome, cells, |_, _| 2.0 * cells(0, 1500))?;
    }

    /// Weighted round robin serves a flow's weight in turn, so that counts over weights differ by at most one.
    #[test]
    fn weighted_round_robin_takes_turns_by_weight(jobs in arrivals(FLOWS as u32, 250)) {
        let written = r#"{"name":"weighted-round-robin",
            "shares":[{"flows":[1],"weight":2},{"flows":[2],"weight":5}]}"#;
        let weights = [1.0, 2.0, 5.0, 1.0];
        let outcome = run(&config(written), Capacity::Unlimited, &jobs, 1);
        check_pairs(&jobs, &outcome, |flow, _| 1.0 / weights[flow], |_, _| 1.0)?;
    }

    /// Xie and Lam 1995: while reservations add up to at most the rate, each packet ends no later than its flow's
    /// clock, plus one largest packet.
    #[test]
    fn virtual_clock_keeps_reserved_rates(jobs in arrivals(FLOWS as u32, 250)) {
        let written = weighted("virtual-clock", ",\"reserve\":0.2");
        let outcome = run(&config(&written), Capacity::Unlimited, &jobs, 1);
        let mut clocks = [0.0_f64; FLOWS];
        let deadlines: Vec<f64> = jobs
            .iter()
            .map(|job| {
                let clock = &mut clocks[job.flow as usize];
                let rate = 0.2 * WEIGHTS[job.flow as usize];
                *clock = clock.max(job.at.as_nanos() as f64 / 1e3) + job.size as f64 / rate;
                *clock
            })
            .collect();
        for departure in &outcome.departures {
            let late = departure.ended.as_nanos() as f64 / 1e3 - deadlines[departure.job];
            prop_assert!(late <= LARGEST + 1e-3, "{late} µs late");
        }
    }

    /// In any k frames, a framed flow sends at most k allotments and one packet (here counted from the frame in which
    /// a packet starts); and allotments that fit the frame are there for flows that always have packets.
    #[test]
    fn framed_round_robin_keeps_its_frame(jobs in arrivals(FLOWS as u32, 250), greedy in 0_u32..4) {
        let frame = Span::from_millis(10);
        let allotments = [2000.0, 4000.0, 1000.0, 2000.0];
        let written = weighted("framed-round-robin", ",\"frame\":\"10 ms\",\"reserve\":0.2");
        let mut jobs = jobs;
        jobs.splice(0..0, (0..200).map(|_| Job::new(0, greedy, 1000)));
        let outcome = run(&config(&written), Capacity::Unlimited, &jobs, 1);
        let frames = outcome.departures.last().map_or(0, |last| last.started.as_nanos() / frame.as_nanos()) as usize + 1;
        let mut sent = vec![[0.0; FLOWS]; frames];
        let mut left = [0_usize; FLOWS];
        for departure in &outcome.departures {
            sent[(departure.started.as_nanos() / frame.as_nanos()) as usize][departure.flow as usize] +=
                departure.size as f64;
            left[departure.flow as usize] += 1;
        }
        for flow in 0..FLOWS {
            // The largest excess over any run of frames, by the rule of the largest partial sum.
            let (mut excess, mut worst) = (0.0_f64, 0.0_f64);
            for frame in &sent {
                excess = (excess + frame[flow] - allotments[flow]).max(0.0);
                worst = worst.max(excess);
            }
            prop_assert!(worst <= LARGEST, "flow {flow} is {worst} B over its allotment");
        }
        // The greedy flow has packets for at least this many frames.
        let flow = greedy as usize;
        let whole = (200_000.0 / allotments[flow]) as usize;
        let early: f64 = sent[..whole.min(frames)].iter().map(|frame| frame[flow]).sum();
        prop_assert!(early >= allotments[flow] * whole.min(frames) as f64 - 2.0 * LARGEST);
    }

    /// A packet of a later lane never starts while one of an earlier lane waits.
    #[test]
    fn priority_never_inverts(jobs in arrivals(FLOWS as u32, 250)) {
        let outcome = run(&config(r#"{"name":"priority","lanes":[{},{},{}]}"#), Capacity::Unlimited, &jobs, 1);
        for served in &outcome.departures {
            for waiting in &outcome.departures {
                let waits = waiting.arrived < served.started && waiting.started > served.started;
                prop_assert!(!(waits && jobs[waiting.job].lane < jobs[served.job].lane));
            }
        }
    }

    /// Longest-queue drop: a flow whose queue stays below its part of the buffer loses nothing, whatever others do.
    #[test]
    fn a_flow_below_its_share_loses_nothing(
        jobs in arrivals(FLOWS as u32, 400),
        pause in 6_000_u64..30_000,
        name in prop::sample::select(vec![
            "round-robin", "deficit-round-robin", "self-clocked-fair-queueing", "weighted-fair-queueing", "cell-round-robin",
        ]),
        victim in prop::sample::select(vec!["longest", "longest-head"]),
    ) {
        // Flow 0 sends a packet of 1000 B at most every 6 ms; with four flows, its share is one in every 6 ms.
        // The others send several times what the line takes.
        let hasten = |job: Job| Job { at: Time::from_nanos(job.at.as_nanos() / 10), ..job };
        let mut jobs: Vec<Job> = jobs.into_iter().filter(|job| job.flow != 0).map(hasten).collect();
        let last = jobs.last().map_or(0, |job| job.at.as_nanos() / 1000);
        jobs.extend((0..).map(|n| Job::new(n * pause, 0, 1000)).take_while(|job| job.at.as_nanos() / 1000 <= last));
        jobs.sort_by_key(|job| job.at);
        let victim = if name == "weighted-fair-queueing" { "longest" } else { victim };
        let written = format!("{{\"name\":\"{name}\",\"buffer\":{{\"victim\":\"{victim}\"}}}}");
        let outcome = run(&config(&written), Capacity::Packets(16), &jobs, 1);
        prop_assert_eq!(outcome.drops_of(&jobs, 0), 0);
    }
}

#[test]
fn a_class_shares_one_queue() {
    let written = r#"{"name":"deficit-round-robin","quantum":"1000 B",
        "shares":[{"flows":[1,2,3],"weight":1,"together":true}]}"#;
    let jobs: Vec<Job> = (0..4000).map(|n| Job::new(0, n % 4, 1000)).collect();
    let outcome = run(&config(written), Capacity::Unlimited, &jobs, 1);
    let first: Vec<u32> = outcome.departures[..1000].iter().map(|departure| departure.flow).collect();
    let single = first.iter().filter(|flow| **flow == 0).count();
    assert!(single.abs_diff(500) <= 1, "{single}");
}

/// Beside very many heavy flows a light one's weight is lost in the sum of real numbers. When they have left, the fluid still
/// takes time for the light ones, so that one more of them need not wait for all that the others have.
#[test]
fn a_light_flow_gets_its_turn_where_very_many_heavy_ones_have_left() {
    const HEAVY: u32 = 20_000;
    let written = format!(
        r#"{{"name":"weighted-fair-queueing","shares":[{{"flows":{:?},"weight":1e6}},{{"flows":{:?},"weight":1e-6}}]}}"#,
        (0..HEAVY).collect::<Vec<_>>(),
        (HEAVY..HEAVY + 3).collect::<Vec<_>>(),
    );
    let mut jobs: Vec<Job> = (0..HEAVY).map(|flow| Job::new(0, flow, 40)).collect();
    jobs.extend((0..2000).map(|n| Job::new(0, HEAVY + n % 2, 1000)));
    // The heavy ones take 0.8 s, the two light ones 2 s more.
    jobs.extend((0..2).map(|_| Job::new(1_000_000, HEAVY + 2, 1000)));
    let outcome = run(&config(&written), Capacity::Unlimited, &jobs, 1);
    let last = outcome.departures.iter().rposition(|departure| departure.flow == HEAVY + 2).expect("it left");
    assert!(last < HEAVY as usize + 1000, "{last} of {}", jobs.len());
}

#[test]
fn state_of_idle_flows_is_given_back() {
    for name in [
        "round-robin",
        "deficit-round-robin",
        "self-clocked-fair-queueing",
        "weighted-fair-queueing",
        "virtual-clock",
        "framed-round-robin",
    ] {
        let written = config(&format!("{{\"name\":\"{name}\"}}"));
        let mut queue = build(&written, Capacity::Unlimited);
        let jobs: Vec<Job> = (0..5000).map(|n| Job::new(0, n, 1000)).collect();
        serve(&mut queue, &jobs, 1);
        // Some servers notice at the next packet that time has passed.
        let later = Job { at: Time::ZERO + Span::from_secs(1000), ..Job::new(0, 9999, 1000) };
        serve(&mut queue, &[later, Job { at: later.at + Span::from_secs(10), ..later }], 1);
        let active = match &queue {
            Discipline::RoundRobin(queue) => queue.flows().active(),
            Discipline::SelfClocked(queue) => queue.flows().active(),
            Discipline::WeightedFair(queue) => queue.flows().active(),
            Discipline::VirtualClock(queue) => queue.flows().active(),
            Discipline::Framed(queue) => queue.flows().active(),
            other => panic!("{other:?}"),
        };
        assert!(active <= 1, "{name} remembers {active} flows");
    }
}

#[test]
fn hierarchical_round_robin_gives_each_level_its_part() {
    // A fast and a slow flow, both with more than they may send: 0.3 and 0.2 of the rate, and the line idles else.
    let written = r#"{"name":"hierarchical-round-robin","reserve":0.1,
        "levels":[{"frame":"10 ms","part":0.5,"flows":[0]},{"frame":"50 ms","part":0.5}],
        "shares":[{"flows":[0],"weight":3},{"flows":[1],"weight":2}]}"#;
    let jobs: Vec<Job> = (0..4000).map(|n| Job::new(0, n % 2, 500)).collect();
    let outcome = run(&config(written), Capacity::Unlimited, &jobs, 1);
    let second = Time::ZERO + Span::from_secs(1);
    let sent = |flow| -> u64 {
        outcome.departures.iter().filter(|d| d.flow == flow && d.started < second).map(|d| d.size).sum()
    };
    let rate = RATE.bytes_per_sec();
    assert!((sent(0) as f64 / rate - 0.3).abs() < 0.01, "{}", sent(0));
    assert!((sent(1) as f64 / rate - 0.2).abs() < 0.01, "{}", sent(1));
    assert!(outcome.idled);
    // In every frame of the fast level, the slow one sends at most the part left to it, and one packet over all.
    let mut excess = 0.0_f64;
    for frame in 0..100 {
        let sent =
            outcome.departures.iter().filter(|d| d.flow == 1 && d.started.as_nanos() / 10_000_000 == frame);
        excess = (excess + sent.map(|d| d.size as f64).sum::<f64>() - 5000.0).max(0.0);
        assert!(excess <= 500.0, "{excess} B too many in frame {frame}");
    }
}

#[test]
fn a_full_buffer_costs_whom_it_says() {
    // One in transmission and four that wait, of flow 0, then one of flow 1; the buffer holds four.
    let mut jobs: Vec<Job> = (0..5).map(|_| Job::new(0, 0, 1000)).collect();
    jobs.push(Job::new(1, 1, 1000));
    for (buffer, lost) in [
        (r#"{"victim":"longest"}"#, vec![4]),
        (r#"{"victim":"longest-head"}"#, vec![1]),
        (r#"{"victim":"arriving"}"#, vec![5]),
        (r#"{"per_flow":"2 packets"}"#, vec![3, 4]),
        (r#"{"per_flow":"2500 B"}"#, vec![3, 4]),
    ] {
        for name in ["round-robin", "deficit-round-robin", "self-clocked-fair-queueing"] {
            let written = format!("{{\"name\":\"{name}\",\"buffer\":{buffer}}}");
            let outcome = run(&config(&written), Capacity::Packets(4), &jobs, 1);
            let dropped: Vec<usize> = outcome.drops.iter().map(|drop| drop.0).collect();
            assert_eq!(dropped, lost, "{written}");
        }
    }
}

/// Packets of the same size: those behind have the lost one's tag, and its place in front of another flow's that has the same.
#[test]
fn packets_behind_one_that_is_lost_take_over_its_place() {
    // One of flow 0 in transmission; of the three of flow 1 the oldest goes, since the buffer holds three.
    let jobs = [0, 1, 2, 1, 1].map(|flow| Job::new(0, flow, 1000));
    let written = r#"{"name":"self-clocked-fair-queueing","buffer":{"victim":"longest-head"}}"#;
    let outcome = run(&config(written), Capacity::Packets(3), &jobs, 1);
    assert_eq!(outcome.drops.iter().map(|drop| drop.0).collect::<Vec<_>>(), [1]);
    let order: Vec<usize> = outcome.departures.iter().map(|departure| departure.job).collect();
    assert_eq!(order, [0, 3, 2, 4]);
}

#[test]
fn lanes_have_classes_and_buffers_of_their_own() {
    let written =
        r#"{"name":"priority","lanes":[{},{"buffer":"3 packets"}],"classes":[{"flows":[2],"lane":0}]}"#;
    // All are marked for the last lane; flow 2 goes first whatever is written on its packets.
    let mut jobs: Vec<Job> = (0..20).map(|n| Job::new(0, 1 + n % 2, 1000)).collect();
    for job in &mut jobs {
        job.lane = tailback_core::Lane::IN_BAND;
    }
    let outcome = run(&config(written), Capacity::Packets(100), &jobs, 1);
    let order: Vec<u32> = outcome.departures.iter().map(|departure| departure.flow).collect();
    assert_eq!(order[0], 1, "the first found an idle line");
    assert!(order[1..11].iter().all(|flow| *flow == 2), "{order:?}");
    assert_eq!(order[11..], [1, 1, 1]);
    assert_eq!(outcome.drops_of(&jobs, 1), 6);
}

/// What was dropped is no service: a flow that filled the buffer in vain has its full share as soon as another comes.
#[test]
fn a_flow_does_not_pay_for_what_was_dropped() {
    for name in [
        "round-robin",
        "deficit-round-robin",
        "cell-round-robin",
        "self-clocked-fair-queueing",
        "weighted-fair-queueing",
    ] {
        for victim in ["longest", "longest-head"] {
            // Refused, for just this reason.
            if (name, victim) == ("weighted-fair-queueing", "longest-head") {
                continue;
            }
            // A thousand at once, of which ten wait; then both flows send at the line's rate.
            let mut jobs: Vec<Job> = (0..1000).map(|_| Job::new(0, 0, 1000)).collect();
            jobs.extend((0..400).map(|n| Job::new(5000 + n / 2 * 1000, (n % 2) as u32, 1000)));
            let written = format!("{{\"name\":\"{name}\",\"buffer\":{{\"victim\":\"{victim}\"}}}}");
            let outcome = run(&config(&written), Capacity::Packets(10), &jobs, 1);
            let late = |flow| {
                outcome
                    .departures
                    .iter()
                    .filter(|d| d.flow == flow && (50..150).contains(&(d.started.as_nanos() / 1_000_000)))
                    .count()
            };
            assert!(late(0).abs_diff(late(1)) <= 2, "{name}, {victim}: {} and {}", late(0), late(1));
        }
    }
}

/// Zhang 1990: a flow that used idle capacity runs ahead of its clock, and a pause does not make it forgotten.
#[test]
fn virtual_clock_remembers_who_ran_ahead() {
    // 100 packets at a tenth of the rate are a second ahead of time; they are out after a tenth of a second. The other
    // flow comes at 0.15 s, and by its clock 85 of its packets go before the first one's next.
    let mut jobs: Vec<Job> = (0..100).map(|_| Job::new(0, 0, 1000)).collect();
    jobs.extend((0..400).map(|n| Job::new(150_000, (n % 2) as u32, 1000)));
    let outcome = run(&config(r#"{"name":"virtual-clock","reserve":0.1}"#), Capacity::Unlimited, &jobs, 1);
    let next: Vec<u32> = outcome.departures[100..190].iter().map(|departure| departure.flow).collect();
    // The first packet finds an idle line.
    assert!(next[1..80].iter().all(|flow| *flow == 1), "{next:?}");
    assert!(next[80..].contains(&0), "{next:?}");
}
