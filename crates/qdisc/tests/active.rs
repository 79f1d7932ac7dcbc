//! The laws of active queue management: spacing of drops, control of queue, delay and utilization, and who is marked.

use crate::common;

use common::{Job, MEAN_PACKET, Outcome, RATE, config, link, run};
use tailback_core::{
    Annex, Annexes, ArrivalPolicy, Backlog, BitRate, Bytes, Capacity, ControlInfo, DropReason, Ecn, FlowId,
    Kind, Lane, Packet, QueueCx, Span, Stream, Time, Verdict,
};
use tailback_qdisc::{Admission, Built};

/// An arrival policy that is shown whatever backlog the test likes.
struct Bench {
    policy: Admission,
    rng: Stream,
    annexes: Annexes,
    drops: Vec<(Packet, DropReason)>,
    marks: u32,
    idle_since: Option<Time>,
    rate: BitRate,
}

impl Bench {
    fn new(written: &str, capacity: Capacity) -> Self {
        let Built::Arrival(policy) = config(written).build(&link(capacity)) else { panic!("{written}") };
        let (rng, annexes) = (Stream::new(5, "bench"), Annexes::new());
        Self { policy, rng, annexes, drops: Vec::new(), marks: 0, idle_since: None, rate: RATE }
    }

    /// What the policy tells of its state under this name.
    fn told(&self, wanted: &str) -> f64 {
        let mut told = f64::NAN;
        self.policy.observe(Time::ZERO, &mut |name, value| {
            if name == wanted {
                told = value;
            }
        });
        told
    }

    fn admit(&mut self, now: Time, packet: &mut Packet, waiting: u32) -> Verdict {
        let mut cx = QueueCx {
            rng: &mut self.rng,
            annexes: &mut self.annexes,
            rate: self.rate,
            idle_since: self.idle_since,
            drops: &mut self.drops,
            marks: 0,
        };
        let backlog = Backlog { packets: waiting, bytes: MEAN_PACKET * u64::from(waiting) };
        let verdict = self.policy.admit(now, packet, &backlog, &mut cx);
        self.marks += cx.marks;
        verdict
    }
}

fn packet() -> Packet {
    Packet::new(Kind::Data, FlowId(0), 0, MEAN_PACKET)
}

fn millis(count: u64) -> Time {
    Time::ZERO + Span::from_millis(count)
}

/// Poisson arrivals of 1000 B packets at a part `load` of the rate.
fn poisson(load: f64, count: usize, ecn: Ecn) -> Vec<Job> {
    bursts(load, 1, count, ecn)
}

/// Poisson arrivals of bursts of `burst` packets.
fn bursts(load: f64, burst: usize, count: usize, ecn: Ecn) -> Vec<Job> {
    let mut rng = Stream::new(11, "arrivals");
    let mut clock = 0.0;
    let mut jobs = Vec::with_capacity(count);
    while jobs.len() < count {
        clock += rng.exponential() * 1000.0 * burst as f64 / load;
        for _ in 0..burst {
            jobs.push(Job { ecn, ..Job::new(clock as u64, rng.below(8) as u32, 1000) });
        }
    }
    jobs
}

/// The part of the rate used between the first tenth of the departures and the last.
fn utilization(outcome: &Outcome) -> f64 {
    let steady = &outcome.departures[outcome.departures.len() / 10..];
    let bytes: u64 = steady.iter().map(|departure| departure.size).sum();
    let (first, last) = (steady[0].started, steady[steady.len() - 1].ended);
    bytes as f64 / (RATE.bytes_per_sec() * last.since(first).as_secs_f64())
}

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
    let standing = |waiting: u32| {
        let written = r#"{"name":"red","adaptive":true,"weight":1,"min":"20 packets","max":"60 packets"}"#;
        let mut bench = Bench::new(written, Capacity::Unlimited);
        for n in 0..=260 {
            bench.admit(millis(10 * n), &mut packet(), waiting);
        }
        bench.told("max_p")
    };
    assert!((standing(10) - 0.1 * 0.9_f64.powi(5)).abs() < 1e-12, "{}", standing(10));
    assert!((standing(50) - 0.15).abs() < 1e-12, "{}", standing(50));
    assert_eq!(standing(40), 0.1, "in the middle it rests");
}

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

/// The mean queueing delay over the second half of the departures, in seconds.
fn late_delay(outcome: &Outcome) -> f64 {
    let late = &outcome.departures[outcome.departures.len() / 2..];
    late.iter().map(|d| d.started.since(d.arrived).as_secs_f64()).sum::<f64>() / late.len() as f64
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
