//! Random early detection and its adaptive form: spacing of drops, the curve, marks and averages. Other laws are in `active.rs`.

use tailback_core::{Bytes, Capacity, DropReason, Ecn, FlowId, Kind, Packet, Time, Verdict};

use super::bench::{Bench, millis, packet, poisson};
use crate::common::{config, run};

/// Gaps between early drops while the average stands still.
fn gaps(written: &str, waiting: u32, count: usize) -> Vec<usize> {
    let mut bench = Bench::new(written, Capacity::Unlimited);
    let mut gaps = Vec::new();
    let mut gap = 0;
    while gaps.len() < count {
        gap += 1;
        if bench.admit(millis(1), &mut packet(), waiting) != Verdict::Accept {
            gaps.push(gap);
            gap = 0;
        }
    }
    gaps.split_off(1)
}

/// Pearson's statistic of `gaps` against the uniform distribution on `low..=high`.
fn chi_square(gaps: &[usize], low: usize, high: usize) -> f64 {
    let expected = gaps.len() as f64 / (high - low + 1) as f64;
    (low..=high)
        .map(|value| {
            let found = gaps.iter().filter(|gap| **gap == value).count() as f64;
            (found - expected).powi(2) / expected
        })
        .sum()
}

#[test]
fn red_spaces_its_drops_uniformly() {
    // Average 10 between 5 and 15 at max_p 0.1: p_b = 0.05. The counter stands at 1 at the first packet after a drop,
    // so gaps are uniform on 1..=19 (Floyd and Jacobson 1993, §7), or on 20..=39 with `wait`, where the last is rare.
    let plain = gaps(r#"{"name":"red","weight":1,"wait":false}"#, 10, 19_001);
    assert!(plain.iter().all(|gap| (1..=20).contains(gap)));
    // 18 degrees of freedom: 42.3 is exceeded with probability 0.001.
    let statistic = chi_square(&plain, 1, 19);
    assert!(statistic < 42.3, "{statistic}");

    let waiting = gaps(r#"{"name":"red","weight":1}"#, 10, 20_001);
    assert!(waiting.iter().all(|gap| (20..=40).contains(gap)));
    let statistic = chi_square(&waiting, 20, 39);
    assert!(statistic < 43.8, "{statistic}");
}

#[test]
fn red_follows_its_curve() {
    let part = |written: &str, waiting: u32| {
        let mut bench = Bench::new(written, Capacity::Unlimited);
        let accepted = |bench: &mut Bench| bench.admit(millis(1), &mut packet(), waiting) == Verdict::Accept;
        1.0 - (0..40_000).filter(|_| accepted(&mut bench)).count() as f64 / 40_000.0
    };
    // The mean gap of method 2 is half of 1/p_b, so drops are about twice p_b; with `wait`, two thirds.
    let wait = r#"{"name":"red","weight":1,"min":"10 packets","max":"30 packets"}"#;
    assert_eq!(part(wait, 9), 0.0);
    assert!((part(wait, 20) - 0.05 * 2.0 / 3.0).abs() < 0.002);
    // Gentle: from max_p at max to 1 at twice max.
    let p = 0.1 + 0.9 * 0.1;
    assert!((part(wait, 33) - p * 2.0 / 3.0).abs() < 0.02, "{}", part(wait, 33));
    assert_eq!(part(wait, 60), 1.0);
    let strict = r#"{"name":"red","weight":1,"gentle":false,"min":"10 packets","max":"30 packets"}"#;
    assert_eq!(part(strict, 30), 1.0);
}

#[test]
fn red_marks_capable_packets_below_the_ceiling_and_drops_above() {
    let written = r#"{"name":"red","weight":1,"gentle":false,"ecn":true}"#;
    let mut bench = Bench::new(written, Capacity::Unlimited);
    let mut capable = packet();
    capable.set_ecn(Ecn::Ect0);
    for _ in 0..1000 {
        assert_eq!(bench.admit(millis(1), &mut capable.clone(), 10), Verdict::Accept);
    }
    assert!(bench.marks > 20);
    assert_eq!(bench.admit(millis(1), &mut capable, 15), Verdict::Drop(DropReason::Early));
}

#[test]
fn adaptive_red_settles_between_its_thresholds() {
    // Overload of a tenth wants a drop rate of about 0.09: max_p has to move for the average to stand at 2/5..3/5.
    let written = r#"{"name":"red","adaptive":true,"min":"20 packets","max":"60 packets","max_p":0.01}"#;
    let jobs = poisson(1.1, 300_000, Ecn::NotEct);
    let outcome = run(&config(written), Capacity::Unlimited, &jobs, 3);
    let late: Vec<_> = outcome.departures[150_000..].iter().collect();
    let mean_wait: f64 =
        late.iter().map(|d| d.started.since(d.arrived).as_secs_f64()).sum::<f64>() / late.len() as f64;
    // One packet takes a millisecond.
    let mean_queue = mean_wait * 1e3;
    assert!((33.0..47.0).contains(&mean_queue), "{mean_queue}");
}

#[test]
fn red_averages_over_packets_and_idle_times() {
    let mut bench = Bench::new(r#"{"name":"red","weight":0.5}"#, Capacity::Unlimited);
    let average = |bench: &mut Bench, waiting: u32, idle_since: Option<Time>| {
        bench.idle_since = idle_since;
        bench.admit(millis(20), &mut packet(), waiting);
        bench.told("average_packets")
    };
    assert_eq!(average(&mut bench, 4, None), 2.0);
    assert_eq!(average(&mut bench, 4, None), 3.0);
    assert_eq!(average(&mut bench, 0, None), 1.5);
    // Idle for the time of three packets (1993, Fig. 2): halved for each of them, and for this arrival.
    assert_eq!(average(&mut bench, 0, Some(millis(17))), 1.5 / 16.0);
}

#[test]
fn red_drops_bytes_by_size() {
    // 1993, §4: in bytes, a packet's chance grows with its size. Small and large ones in turn, at a standing average.
    let written = r#"{"name":"red","measure":"bytes","weight":1,"wait":false,"min":"5 kB","max":"15 kB"}"#;
    let mut bench = Bench::new(written, Capacity::Unlimited);
    let mut dropped = [0.0_f64; 2];
    for n in 0..80_000_usize {
        let size = Bytes::new([1200, 300][n % 2]);
        let mut packet = Packet::new(Kind::Data, FlowId(0), 0, size);
        dropped[n % 2] += f64::from(u8::from(bench.admit(millis(1), &mut packet, 10) != Verdict::Accept));
    }
    // Not just four times: what came before a packet counts too, and that is more often a large one.
    assert!((3.5..5.0).contains(&(dropped[0] / dropped[1])), "{dropped:?}");
}

#[test]
fn adaptive_red_moves_its_parameters_as_published() {
    // 2001, §4.3: at 1000 packets/s, the weight is 1 - exp(-1/1000).
    let written = r#"{"name":"red","adaptive":true,"min":"20 packets","max":"60 packets"}"#;
    let mut bench = Bench::new(written, Capacity::Unlimited);
    bench.admit(Time::ZERO, &mut packet(), 1000);
    assert!((bench.told("average_packets") - 0.999_5).abs() < 1e-6);
    // 2001, Fig. 1: each half second, times 0.9 while the average is low, plus 0.01 or a quarter while it is high.
    let standing_from = |max_p: f64, waiting: u32| {
        let written = format!(
            r#"{{"name":"red","adaptive":true,"weight":1,"min":"20 packets","max":"60 packets","max_p":{max_p}}}"#
        );
        let mut bench = Bench::new(&written, Capacity::Unlimited);
        for n in 0..=260 {
            bench.admit(millis(10 * n), &mut packet(), waiting);
        }
        bench.told("max_p")
    };
    let standing = |waiting| standing_from(0.1, waiting);
    assert!((standing(10) - 0.1 * 0.9_f64.powi(5)).abs() < 1e-12, "{}", standing(10));
    assert!((standing(50) - 0.15).abs() < 1e-12, "{}", standing(50));
    assert_eq!(standing(40), 0.1, "in the middle it rests");
    // Up to 0.5 and down to 0.01: no step is taken beyond.
    assert!((standing_from(0.485, 50) - 0.505).abs() < 1e-12, "{}", standing_from(0.485, 50));
    assert!((standing_from(0.0105, 10) - 0.009_45).abs() < 1e-12, "{}", standing_from(0.0105, 10));
}
