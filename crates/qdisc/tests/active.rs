//! The laws of active queue management: control of queue, delay and utilization, and who is marked. Random early detection is in
//! `active/red.rs`, token buckets are in `active/shapers.rs`.

mod bench;
mod red;
mod shapers;

use tailback_core::{
    Annex, BitRate, Bytes, Capacity, ControlInfo, DropReason, Ecn, FlowId, Kind, Lane, Packet, Span, Stream,
    Time, Verdict,
};

use crate::common::{Job, RATE, config, run};
use bench::{Bench, bursts, late_delay, millis, packet, poisson, utilization};

#[test]
fn pie_lets_a_burst_pass_and_no_standing_queue() {
    // Twice the line's rate for so long, from an empty queue (RFC 8033 §4.4).
    let burst = |from: u64, millis: u64| (0..2 * millis).map(move |n| Job::new(from + n * 500, 0, 1000));
    let written = config(r#"{"name":"pie"}"#);
    let short: Vec<Job> = burst(0, 140).collect();
    assert!(run(&written, Capacity::Unlimited, &short, 1).drops.is_empty());
    let eager = config(r#"{"name":"pie","burst":"0 ms"}"#);
    assert!(!run(&eager, Capacity::Unlimited, &short, 1).drops.is_empty());
    let twice: Vec<Job> = burst(0, 2000).chain(burst(60_000_000, 140)).collect();
    let outcome = run(&written, Capacity::Unlimited, &twice, 1);
    assert!(outcome.drops.len() > 100);
    assert!(outcome.drops.iter().all(|drop| drop.0 < 4000), "after quiet the allowance is there again");
}

#[test]
fn pie_marks_up_to_its_limit_and_drops_beyond() {
    // Three times the line's rate of capable packets that do not answer: the probability goes far beyond 0.1.
    let jobs: Vec<Job> = (0..20_000).map(|n| Job { ecn: Ecn::Ect0, ..Job::new(n * 333, 0, 1000) }).collect();
    let drops = |more: &str| {
        let written = format!("{{\"name\":\"pie\",\"ecn\":true{more}}}");
        let outcome = run(&config(&written), Capacity::Unlimited, &jobs, 1);
        (outcome.drops.len(), outcome.marks)
    };
    let (dropped, _) = drops("");
    assert!(dropped > 5000, "{dropped}");
    let (dropped, marked) = drops(",\"mark_limit\":1");
    assert!(dropped == 0 && marked > 5000, "{dropped} {marked}");
}

#[test]
fn avq_holds_its_target_utilization_over_poisson_and_bursty_input() {
    for (burst, buffer) in [(1, 30), (5, 60), (20, 200)] {
        let jobs = bursts(1.25, burst, 400_000, Ecn::NotEct);
        let outcome = run(&config(r#"{"name":"avq"}"#), Capacity::Packets(buffer), &jobs, 1);
        let found = utilization(&outcome);
        assert!((found - 0.98).abs() < 0.0098, "bursts of {burst}: {found}");
    }
}

#[test]
fn avq_marks_senders_towards_its_target() {
    // A Poisson source that probes upward, and backs off when a packet of its is marked: the closed loop of the paper.
    // It is content with one mark in about 22, more than a queue of the full capacity would give at this rate.
    let mut bench = Bench::new(r#"{"name":"avq","ecn":true,"target":0.9}"#, Capacity::Packets(20));
    let mut rng = Stream::new(2, "source");
    let (mut rate, mut clock, mut sent, mut start) = (0.5_f64, 0.0_f64, 0_u32, 0.0);
    for n in 0..600_000 {
        clock += rng.exponential() * 1e-3 / rate;
        let mut capable = packet();
        capable.set_ecn(Ecn::Ect0);
        let verdict = bench.admit(Time::from_secs_f64(clock), &mut capable, 1);
        assert_eq!(verdict, Verdict::Accept);
        rate = if capable.ecn() == Ecn::Ce { rate * 0.995 } else { rate + 2e-4 };
        if n == 100_000 {
            start = clock;
        }
        sent += u32::from(n >= 100_000);
    }
    let found = f64::from(sent) * 1e-3 / (clock - start);
    assert!((found - 0.9).abs() < 0.009, "{found}");
}

#[test]
fn avd_tells_the_delay_of_its_virtual_queue_to_in_band_control_packets() {
    let mut bench = Bench::new(r#"{"name":"avd"}"#, Capacity::Unlimited);
    // Arrivals at the full rate, above the target: the virtual queue grows while the real one stays empty.
    for n in 0..20_000 {
        bench.admit(millis(n), &mut packet(), 0);
    }
    let mut control = |lane: Lane| {
        let mut packet = Packet::new(Kind::Control, FlowId(0), 0, Bytes::new(40));
        packet.set_lane(lane);
        packet.annex = bench.annexes.insert(Annex::Control(ControlInfo::default()));
        bench.admit(millis(20_000), &mut packet, 0);
        match bench.annexes.take(packet.annex) {
            Some(Annex::Control(info)) => info.virtual_delay,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(control(Lane::OUT_OF_BAND), Span::ZERO);
    let delay = control(Lane::IN_BAND);
    assert!(delay > Span::from_millis(100), "{delay}");
}

/// A link that stands still for a while, by a step of its schedule to 0 bit/s, leaves nothing infinite behind.
#[test]
fn an_outage_leaves_no_trace() {
    let after_outage = |written: &str| {
        let mut bench = Bench::new(written, Capacity::Unlimited);
        bench.rate = BitRate::ZERO;
        for n in 0..10 {
            bench.admit(millis(20 * n), &mut packet(), n as u32);
        }
        bench
    };
    let mut pie = after_outage(r#"{"name":"pie"}"#);
    pie.rate = RATE;
    let mut late = |from: u64, waiting: u32| {
        let drops = (from..from + 5000).filter(|n| {
            matches!(pie.admit(millis(*n), &mut packet(), waiting), Verdict::Drop(DropReason::Early))
        });
        (drops.count(), pie.told("probability"))
    };
    late(1000, 0);
    assert_eq!(late(6000, 0), (0, 0.0));
    // Four times the target.
    assert!(late(11_000, 60).0 > 1000);

    // A capacity of nothing would take seconds to come back; ten packets cost α = 0.15 of their bytes.
    let avq = after_outage(r#"{"name":"avq"}"#);
    assert!(avq.told("virtual_capacity_bits") > 0.99 * 8e6, "{}", avq.told("virtual_capacity_bits"));

    let mut tdqm = after_outage(r#"{"name":"tdqm"}"#);
    tdqm.rate = RATE;
    for n in 0..5000 {
        tdqm.admit(millis(1000 + 10 * n), &mut packet(), 0);
    }
    assert!((tdqm.told("rho") - 0.1).abs() < 0.01, "{}", tdqm.told("rho"));

    let mut avd = after_outage(r#"{"name":"avd"}"#);
    let mut control = Packet::new(Kind::Control, FlowId(0), 0, Bytes::new(40));
    control.set_lane(Lane::IN_BAND);
    control.annex = avd.annexes.insert(Annex::Control(ControlInfo::default()));
    avd.admit(millis(200), &mut control, 10);
    let Some(Annex::Control(info)) = avd.annexes.take(control.annex) else { panic!("it is there") };
    assert!(info.virtual_delay < Span::from_secs(1), "{}", info.virtual_delay);
}

#[test]
fn pie_and_pi_and_rem_settle_at_their_targets() {
    let jobs = poisson(1.15, 400_000, Ecn::NotEct);
    // One packet takes a millisecond: 20 packets are 20 ms.
    for (written, target) in [
        (r#"{"name":"pie","target":"20 ms"}"#, 0.020),
        (r#"{"name":"pi","target":"20 packets","a":0.002,"b":0.0019}"#, 0.020),
        (r#"{"name":"rem","target":"20 packets","phi":1.1,"period":"10 ms"}"#, 0.020),
    ] {
        let outcome = run(&config(written), Capacity::Unlimited, &jobs, 4);
        let delay = late_delay(&outcome);
        assert!((delay / target - 1.0).abs() < 0.15, "{written}: {delay} s");
        assert!(utilization(&outcome) > 0.97, "{written}");
    }
}

#[test]
fn avq_never_takes_more_than_the_link_for_granted() {
    let mut bench = Bench::new(r#"{"name":"avq"}"#, Capacity::Packets(20));
    bench.admit(millis(100_000), &mut packet(), 1);
    // What a packet costs comes off: α = 0.15 of its bytes (2001, Fig. 1).
    assert!((bench.told("virtual_capacity_bits") - (8e6 - 8.0 * 150.0)).abs() < 1.0);
}

#[test]
fn avd_adds_up_along_a_path() {
    let mut bench = Bench::new(r#"{"name":"avd"}"#, Capacity::Unlimited);
    for _ in 0..10 {
        bench.admit(Time::ZERO, &mut packet(), 0);
    }
    let before = Span::from_millis(7);
    let mut control = Packet::new(Kind::Control, FlowId(0), 0, Bytes::new(40));
    control.set_lane(Lane::IN_BAND);
    let info = ControlInfo { virtual_delay: before, ..ControlInfo::default() };
    control.annex = bench.annexes.insert(Annex::Control(info));
    bench.admit(Time::ZERO, &mut control, 0);
    let Some(Annex::Control(info)) = bench.annexes.take(control.annex) else { panic!("it is there") };
    // Ten packets of a millisecond each wait in the virtual queue, whose capacity they have lowered a little.
    let added = (info.virtual_delay - before).as_secs_f64();
    assert!((added - 0.01 / (1.0 - 0.15 * 10_000.0 / 1e6)).abs() < 1e-6, "{added}");
}

#[test]
fn rem_moves_its_price_as_published() {
    // 2001, Eq. 1-2, by hand: 1000 packets/s and 2 ms make c = 2; of b - b* = 10 the tenth, of x - c all, both times γ.
    for (per_millisecond, step) in [(1, 0.001), (2, 0.003)] {
        let written = r#"{"name":"rem","phi":1.5,"ecn":true}"#;
        let mut bench = Bench::new(written, Capacity::Unlimited);
        for n in 0..=200 {
            for _ in 0..per_millisecond {
                let mut capable = packet();
                capable.set_ecn(Ecn::Ect0);
                bench.admit(millis(n), &mut capable, 30);
            }
        }
        // The first sample comes before anything is known of x but what came at 0 and 1 ms.
        let price = 100.0 * step;
        assert!((bench.told("price") / price - 1.0).abs() < 0.02, "{} {price}", bench.told("price"));
        let probability = 1.0 - 1.5_f64.powf(-bench.told("price"));
        assert!((bench.told("probability") - probability).abs() < 1e-12);
    }
}

#[test]
fn pi_moves_its_probability_as_published() {
    // 2001, §IV: the first step from an empty queue, then one of a - b times the distance at each sample.
    let mut bench = Bench::new(r#"{"name":"pi"}"#, Capacity::Unlimited);
    for n in 1..=11 {
        bench.admit(Time::from_nanos(6_250_000 * n), &mut packet(), 100);
        let expected = 50.0 * (1.822e-5 + 1.816e-5) + (n - 1) as f64 * 50.0 * (1.822e-5 - 1.816e-5);
        assert!((bench.told("probability") - expected).abs() < 1e-12, "{n}: {}", bench.told("probability"));
    }
}
