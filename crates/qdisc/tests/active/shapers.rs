//! Queues under a token bucket, and the policer: rates, bursts and turns. Laws of the queues themselves are in `active.rs`.

use tailback_core::{Capacity, Ecn};

use super::bench::{late_delay, poisson, utilization};
use crate::common::{Job, config, run};

#[test]
fn token_bucket_keeps_its_rate_and_burst() {
    let written = r#"{"name":"token-bucket","rate":"4 Mbit/s","burst":"5 kB",
        "classes":[{"flows":[1],"rate":"1 Mbit/s","burst":"2 kB"}]}"#;
    let jobs: Vec<Job> = (0..4000).map(|n| Job::new(0, n % 2, 1000)).collect();
    let outcome = run(&config(written), Capacity::Unlimited, &jobs, 1);
    // Over any interval [s, t] of starts: at most burst + rate × (t - s), for all and for the class.
    for (class, rate, burst) in [(None, 0.5, 5000.0), (Some(1), 0.125, 2000.0)] {
        let (mut level, mut before, mut lowest) = (burst, 0.0, f64::INFINITY);
        for departure in outcome.departures.iter().filter(|d| class.is_none_or(|flow| d.flow == flow)) {
            let at = departure.started.as_nanos() as f64 / 1e3;
            level = f64::min(burst, level + (at - before) * rate) - departure.size as f64;
            before = at;
            lowest = lowest.min(level);
        }
        assert!(lowest > -0.01, "{class:?}: {lowest}");
        // And no less: the backlogged bucket is always near empty.
        assert!(lowest < 1.0);
    }
    let last = outcome.departures[2000].ended.as_secs_f64();
    assert!((2_000_000.0 / last / 500_000.0 - 1.0).abs() < 0.01, "{last}");
}

/// A class whose packet waits for tokens of the common bucket keeps its turn: small packets of the other class would take each
/// token as it comes, and it would wait until they end.
#[test]
fn a_large_packet_keeps_its_turn_under_a_shaper() {
    let written = r#"{"name":"token-bucket","rate":"1 Mbit/s","burst":"1500 B",
        "classes":[{"flows":[1],"rate":"10 Mbit/s","burst":"15 kB"}]}"#;
    let small = (0..10_000).map(|_| Job::new(0, 0, 40));
    let jobs: Vec<Job> = small.chain((0..50).map(|_| Job::new(0, 1, 1500))).collect();
    let outcome = run(&config(written), Capacity::Unlimited, &jobs, 1);
    let large: Vec<_> = outcome.departures.iter().filter(|departure| departure.flow == 1).take(40).collect();
    // In turn with 40 B, each packet of 1500 B has 12.32 ms.
    let last = large[39].started.as_secs_f64();
    assert!(last < 40.0 * 12.4e-3, "the fortieth large packet leaves after {last} s");
}

/// What a queue under a shaper takes for the line's rate is the shaper's: PIE's delay is the backlog over it, AVQ's
/// capacity a part of it, the fluid of weighted fair queueing flows at it.
#[test]
fn a_queue_under_a_shaper_knows_its_rate() {
    let shaped = |within: &str, own: bool| {
        let bucket = if own {
            format!(r#""classes":[{{"flows":[0,1],"rate":"4 Mbit/s","burst":"1500 B","queue":{within}}}]"#)
        } else {
            format!(r#""rate":"4 Mbit/s","burst":"1500 B","queue":{within}"#)
        };
        config(&format!(r#"{{"name":"token-bucket",{bucket}}}"#))
    };
    for own in [false, true] {
        // Half of the line's rate, and a little more arrives.
        let jobs: Vec<Job> = poisson(1.1 / 2.0, 60_000, Ecn::NotEct)
            .into_iter()
            .map(|job| Job { flow: job.flow % 2, ..job })
            .collect();
        let pie = run(&shaped(r#"{"name":"pie"}"#, own), Capacity::Unlimited, &jobs, 1);
        let delay = late_delay(&pie);
        assert!((delay / 0.015 - 1.0).abs() < 0.3, "PIE under a shaper settles at {delay} s");
        // At the line's rate its virtual buffer would never be overrun, and all of the shaper's be used.
        let avq = run(
            &shaped(r#"{"name":"avq","virtual_buffer":"20 packets"}"#, own),
            Capacity::Unlimited,
            &jobs,
            1,
        );
        let part = utilization(&avq) * 2.0;
        assert!((part / 0.98 - 1.0).abs() < 0.01, "AVQ under a shaper uses {part} of its rate");
        // One flow of weight 3 beside one of weight 1, each of which sends as much as both may.
        let jobs: Vec<Job> = (0..6000).map(|n| Job::new(n * 1000, n as u32 % 2, 1000)).collect();
        let fair = shaped(r#"{"name":"weighted-fair-queueing","shares":[{"flows":[1],"weight":3.0}]}"#, own);
        let outcome = run(&fair, Capacity::Unlimited, &jobs, 1);
        let early = &outcome.departures[100..1500];
        let heavy = early.iter().filter(|departure| departure.flow == 1).count() as f64 / early.len() as f64;
        assert!((heavy - 0.75).abs() < 0.01, "{heavy}");
    }
}

#[test]
fn policer_passes_its_rate() {
    let outcome = run(
        &config(r#"{"name":"policer","rate":"4 Mbit/s","burst":"5 kB"}"#),
        Capacity::Unlimited,
        &poisson(0.9, 100_000, Ecn::NotEct),
        1,
    );
    assert!((utilization(&outcome) - 0.5).abs() < 0.005, "{}", utilization(&outcome));
}
