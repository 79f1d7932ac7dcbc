//! The laws of active queue management: spacing of drops, control of queue, delay and utilization, and who is marked.

mod common;

use common::{Job, MEAN_PACKET, Outcome, RATE, config, link, run};
use tailback_core::{
    Annex, Annexes, ArrivalPolicy, Backlog, Bytes, Capacity, ControlInfo, DropReason, Ecn, FlowId, Kind,
    Lane, Packet, QueueCx, QueueDiscipline, Span, Stream, Time, Verdict,
};
use tailback_qdisc::{Admission, Built};

/// An arrival policy that is shown whatever backlog the test likes.
struct Bench {
    policy: Admission,
    rng: Stream,
    annexes: Annexes,
    drops: Vec<(Packet, DropReason)>,
    marks: u32,
}

impl Bench {
    fn new(written: &str, capacity: Capacity) -> Self {
        let Built::Arrival(policy) = config(written).build(&link(capacity)) else { panic!("{written}") };
        Self { policy, rng: Stream::new(5, "bench"), annexes: Annexes::new(), drops: Vec::new(), marks: 0 }
    }

    fn admit(&mut self, now: Time, packet: &mut Packet, waiting: u32) -> Verdict {
        let mut cx = QueueCx {
            rng: &mut self.rng,
            annexes: &mut self.annexes,
            rate: RATE,
            idle_since: None,
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
    let outcome =
        run(&config(r#"{"name":"codel"}"#), Capacity::Unlimited, &poisson(0.7, 50_000, Ecn::NotEct), 1);
    let part = outcome.drops.len() as f64 / 50_000.0;
    assert!(part < 0.001, "{part}");
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
fn dualpi2_couples_its_two_probabilities() {
    // Both kinds of traffic, together too much; the classic drops are the square of half the L4S marks.
    let jobs: Vec<Job> = poisson(1.02, 600_000, Ecn::NotEct)
        .into_iter()
        .map(|job| Job { ecn: if job.flow < 2 { Ecn::Ect1 } else { Ecn::NotEct }, ..job })
        .collect();
    let outcome = run(&config(r#"{"name":"dualpi2"}"#), Capacity::Unlimited, &jobs, 4);
    let half = jobs.len() / 2;
    let late = outcome.departures.iter().filter(|departure| departure.job > half);
    let (mut scalable, mut marked, mut classic) = (0.0, 0.0, 0.0);
    let (mut l4s_delay, mut classic_delay) = (0.0, 0.0);
    for departure in late {
        let delay = departure.started.since(departure.arrived).as_secs_f64();
        if departure.flow < 2 {
            scalable += 1.0;
            l4s_delay += delay;
            marked += f64::from(u8::from(departure.packet.ecn() == Ecn::Ce));
        } else {
            classic += 1.0;
            classic_delay += delay;
        }
    }
    let dropped = outcome.drops.iter().filter(|(job, ..)| *job > half).count() as f64;
    let classic_p = dropped / (dropped + classic);
    // The L4S queue's own ramp adds marks when a packet waits long behind classic ones; coupling is the floor.
    let coupled = 2.0 * classic_p.sqrt();
    assert!(marked / scalable >= coupled * 0.9, "{} against {coupled}", marked / scalable);
    assert!(l4s_delay / scalable < 0.2 * classic_delay / classic, "{l4s_delay} {classic_delay}");
    assert!((classic_delay / classic / 0.015 - 1.0).abs() < 0.4, "{}", classic_delay / classic);
}

#[test]
fn dualpi2_moves_its_base_probability_as_published() {
    // One classic packet waits and grows old. By hand, with 0.15 and 3 per second and 15 ms (RFC 9332, Fig. 6):
    // 0.15 × 0 ms + 3 × 15 ms, then the same with 15 ms and 30 ms of distance.
    let mut queue = common::build(&config(r#"{"name":"dualpi2"}"#), Capacity::Unlimited);
    let mut cx = QueueCx {
        rng: &mut Stream::new(1, "queue"),
        annexes: &mut Annexes::new(),
        rate: RATE,
        idle_since: None,
        drops: &mut Vec::new(),
        marks: 0,
    };
    queue.enqueue(Time::ZERO, packet(), &mut cx);
    for expected in [0.045, 0.092_25, 0.141_75] {
        let due = queue.next_timer().expect("a packet waits");
        queue.on_timer(due, &mut cx);
        let mut base = f64::NAN;
        queue.observe(due, &mut |name, value| {
            if name == "base_probability" {
                base = value;
            }
        });
        assert!((base - expected).abs() < 1e-12, "{base}");
    }
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
        .filter(|d| d.flow == 2 && d.arrived > millis(100))
        .map(|d| d.started.since(d.arrived))
        .max();
    // Once the other flow is known to be no sparse one, it waits for the packet in transmission only.
    assert!(worst.is_some_and(|worst| worst <= Span::from_millis(1)), "{worst:?}");
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
