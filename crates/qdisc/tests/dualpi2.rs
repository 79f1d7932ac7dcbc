//! DualPI2: its ramp, its coupling, its overload, and who goes into which of its queues (RFC 9332). Other active queue
//! management is tested in `active`.

use crate::common;

use common::{Job, RATE, config, run};
use tailback_core::{
    Annexes, Bytes, Capacity, Ecn, FlowId, Kind, Packet, QueueCx, QueueDiscipline, Span, Stream, Time,
};

/// Poisson arrivals of 1000 B packets at a part `load` of the rate.
fn poisson(load: f64, count: usize, ecn: Ecn) -> Vec<Job> {
    let mut rng = Stream::new(11, "arrivals");
    let mut clock = 0.0;
    (0..count)
        .map(|_| {
            clock += rng.exponential() * 1000.0 / load;
            Job { ecn, ..Job::new(clock as u64, rng.below(8) as u32, 1000) }
        })
        .collect()
}

fn packet() -> Packet {
    Packet::new(Kind::Data, FlowId(0), 0, Bytes::new(1000))
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

/// RFC 9332, Fig. 5: nothing is marked up to a delay of 0.8 ms, all from 1.2 ms on, evenly more between; a packet that
/// leaves none behind is never marked.
#[test]
fn dualpi2_marks_by_its_ramp() {
    let marked_by = |written: &str, micros: u64, together: usize| {
        let mut queue = common::build(&config(written), Capacity::Unlimited);
        let mut cx = QueueCx {
            rng: &mut Stream::new(1, "queue"),
            annexes: &mut Annexes::new(),
            rate: RATE,
            idle_since: None,
            drops: &mut Vec::new(),
            marks: 0,
        };
        let mut marked = 0;
        for n in 0..100 {
            let now = Time::ZERO + Span::from_millis(10) * n;
            for _ in 0..together {
                let mut scalable = packet();
                scalable.set_ecn(Ecn::Ect1);
                queue.enqueue(now, scalable, &mut cx);
            }
            let leaves = now + Span::from_micros(micros);
            let first = queue.dequeue(leaves, &mut cx).expect("it waits");
            marked += u32::from(first.ecn() == Ecn::Ce);
            while queue.dequeue(now, &mut cx).is_some() {}
        }
        marked
    };
    let marked = |micros, together| marked_by(r#"{"name":"dualpi2"}"#, micros, together);
    assert_eq!(marked(790, 2), 0);
    assert!((49..=50).contains(&marked(1000, 2)), "{}", marked(1000, 2));
    assert!((74..=75).contains(&marked(1100, 2)), "{}", marked(1100, 2));
    assert!(marked(1200, 2) >= 99);
    assert_eq!(marked(1200, 1), 0);
    // A ramp of no width is a step (RFC 9332, Fig. 5: at `maxTh` all is marked, whatever `minTh` is).
    let step = r#"{"name":"dualpi2","ramp_min":"1 ms","ramp_max":"1 ms"}"#;
    assert_eq!(marked_by(step, 999, 2), 0);
    assert!(marked_by(step, 1000, 2) >= 99);
}

/// RFC 9332 §A.2: traffic that does not answer to marks is dropped in the end, in either queue, whatever it could bear.
#[test]
fn dualpi2_drops_what_does_not_answer() {
    for ecn in [Ecn::Ect1, Ecn::Ect0, Ecn::NotEct] {
        let outcome =
            run(&config(r#"{"name":"dualpi2"}"#), Capacity::Unlimited, &poisson(1.8, 100_000, ecn), 1);
        let late = &outcome.departures[outcome.departures.len() / 2..];
        let delay =
            late.iter().map(|d| d.started.since(d.arrived).as_secs_f64()).sum::<f64>() / late.len() as f64;
        assert!((delay / 0.015 - 1.0).abs() < 0.3, "{ecn:?}: {delay} s");
        let unmarked = late.iter().filter(|d| d.packet.ecn() == Ecn::Ect1).count();
        assert_eq!(unmarked, 0, "what is left of scalable traffic is marked, all of it");
    }
}

/// RFC 9332 §4.2.2: scalable traffic that fills the line leaves the classic queue its share.
#[test]
fn dualpi2_does_not_starve_the_classic_queue() {
    let mut jobs: Vec<Job> =
        (0..8000).map(|n| Job { ecn: Ecn::Ect1, ..Job::new(n * 1000, 1, 1000) }).collect();
    jobs.extend((0..2000).map(|n| Job::new(n, 2, 1000)));
    jobs.sort_by_key(|job| job.at);
    // So slow a controller that it plays no part.
    let written = r#"{"name":"dualpi2","alpha":1e-9,"beta":1e-9,"ramp_min":"100 s","ramp_max":"100 s"}"#;
    let outcome = run(&config(written), Capacity::Unlimited, &jobs, 1);
    let classic = outcome.departures[100..6100].iter().filter(|departure| departure.flow == 2).count();
    assert!((classic as f64 / 6000.0 * 16.0 - 1.0).abs() < 0.05, "{classic} of 6000");
}

/// RFC 9332 §2.3: ECT(1) and CE go into the L4S queue, all else into the other.
#[test]
fn dualpi2_classifies_by_the_ecn_field() {
    let mut jobs: Vec<Job> = (0..10).map(|_| Job::new(0, 0, 1000)).collect();
    for (flow, ecn) in (1..).zip([Ecn::Ect0, Ecn::Ce, Ecn::NotEct, Ecn::Ect1]) {
        jobs.push(Job { ecn, ..Job::new(1, flow, 1000) });
    }
    let outcome = run(&config(r#"{"name":"dualpi2"}"#), Capacity::Unlimited, &jobs, 1);
    let order: Vec<u32> = outcome.departures.iter().map(|departure| departure.flow).collect();
    assert_eq!(order, [0, 2, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 3]);
}
