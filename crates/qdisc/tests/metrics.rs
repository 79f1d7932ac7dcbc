//! The meters of two-dimensional queue management on synthetic arrivals (Li and Mills, Eq. 1, 2, Fig. 1): the ledger item
//! `tdqm/metrics`. The marks are tested with the discipline at the end.

use crate::common;

use common::{Job, RATE, config, run};
use tailback_core::{
    Annexes, Bytes, Capacity, Ecn, FlowId, Kind, Packet, QueueCx, QueueDiscipline, Span, Stream, Time,
};
use tailback_qdisc::meters::{Burstiness, Delay, FlowRates, Load, Utilization, Workload, service};

const PACKET: Bytes = Bytes::new(1000);
/// A packet's service time, in seconds.
const SERVICE: f64 = 1e-3;

/// The means of all samples of ρ and η over arrivals at `times`, in seconds, where the delay is what waits.
fn measure(times: impl IntoIterator<Item = f64>, window: Span, shortest: Span) -> (f64, f64) {
    measure_as(Delay::Waiting, times, window, shortest)
}

fn measure_as(
    delay: Delay,
    times: impl IntoIterator<Item = f64>,
    window: Span,
    shortest: Span,
) -> (f64, f64) {
    let mut work = Workload::new();
    let mut utilization = Utilization::new(window, Load::Busy);
    let mut burstiness = Burstiness::new(shortest, delay);
    let (mut rho, mut windows) = (0.0, 0);
    let (mut eta, mut periods) = (0.0, 0);
    let mut last = 0.0;
    let mut feed = |work: &mut Workload, burstiness: &mut Burstiness, time: f64| {
        let stretch = work.advance(Time::from_secs_f64(time));
        utilization.feed(&stretch, |sample, repeats| {
            rho += sample * repeats as f64;
            windows += repeats;
        });
        burstiness.feed(&stretch, |sample| {
            eta += sample;
            periods += 1;
        });
    };
    for time in times {
        feed(&mut work, &mut burstiness, time);
        let (wait, service) = work.add(PACKET, RATE);
        burstiness.arrive(wait, service);
        last = time;
    }
    feed(&mut work, &mut burstiness, last + 10.0);
    assert!(windows > 0 && periods > 0, "there is something to measure");
    (rho / windows as f64, eta / f64::from(periods))
}

/// Bursts of `burst` packets, Poisson, at a part `load` of the rate.
fn bursts(load: f64, burst: usize, packets: usize) -> Vec<f64> {
    let mut rng = Stream::new(3, "bursts");
    let mut clock = 0.0;
    (0..packets / burst)
        .flat_map(|_| {
            clock += rng.exponential() * SERVICE * burst as f64 / load;
            std::iter::repeat_n(clock, burst)
        })
        .collect()
}

const WINDOW: Span = Span::from_millis(120);
const SHORTEST: Span = Span::from_millis(60);

#[test]
fn all_at_once_is_one_and_evenly_spread_is_zero() {
    // 100 packets at a time, every 200 service times.
    let batches = (0..200).flat_map(|n| std::iter::repeat_n(f64::from(n) * 0.2, 100));
    let (_, batch) = measure(batches, WINDOW, SHORTEST);
    assert!(batch >= 0.95, "{batch}");
    let (_, smooth) = measure((0..20_000).map(|n| f64::from(n) * SERVICE), WINDOW, SHORTEST);
    assert!(smooth <= 0.05, "{smooth}");
    // At less than full load every packet is a busy period of its own, and the short ones are merged.
    let (_, spread) = measure((0..20_000).map(|n| f64::from(n) * SERVICE / 0.6), WINDOW, SHORTEST);
    assert!(spread <= 0.05, "{spread}");
}

#[test]
fn a_batch_of_n_is_one_less_an_nth_and_with_the_packet_in_transmission_one() {
    let batches = |n: usize| (0..200).flat_map(move |at| std::iter::repeat_n(f64::from(at) * 0.2, n));
    for n in [5, 10, 100] {
        let (_, waiting) = measure(batches(n), WINDOW, Span::from_millis(3));
        assert!((waiting - (1.0 - 1.0 / n as f64)).abs() < 1e-9, "{n}: {waiting}");
        let (_, work) = measure_as(Delay::Work, batches(n), WINDOW, Span::from_millis(3));
        assert!((work - 1.0).abs() < 1e-9, "{n}: {work}");
    }
    // Evenly spread: nothing waits, and by work each packet is a triangle of its own, four of them merged.
    let even = || (0..4000).map(|n| f64::from(n) * SERVICE / 0.6);
    let (_, waiting) = measure(even(), WINDOW, Span::from_millis(3));
    let (_, work) = measure_as(Delay::Work, even(), WINDOW, Span::from_millis(3));
    assert!(waiting < 1e-9 && (work - 0.25).abs() < 1e-6, "{waiting} {work}");
}

/// The samples of η from bursts of so many packets, the time in milliseconds before each; the shortest busy period is 3 ms.
fn samples(bursts: &[(u64, usize)]) -> Vec<f64> {
    let (mut work, mut clock) = (Workload::new(), Time::ZERO);
    let mut burstiness = Burstiness::new(Span::from_millis(3), Delay::Work);
    let mut samples = Vec::new();
    for &(gap, packets) in bursts {
        clock += Span::from_millis(gap);
        burstiness.feed(&work.advance(clock), |sample| samples.push(sample));
        for _ in 0..packets {
            let (wait, service) = work.add(PACKET, RATE);
            burstiness.arrive(wait, service);
        }
    }
    samples
}

/// Li and Mills, §II-B: "only when the length of a busy period is larger" than the least.
#[test]
fn a_busy_period_as_long_as_the_shortest_waits_for_another() {
    assert_eq!(samples(&[(0, 4), (9, 0)]), [1.0]);
    assert!(samples(&[(0, 3), (9, 0)]).is_empty());
    // Two triangles side by side, of three packets and of one, in one over all four.
    assert_eq!(samples(&[(0, 3), (9, 1), (9, 0)]), [(9.0 + 1.0) / 16.0]);
}

#[test]
fn a_packet_that_comes_as_the_server_ends_begins_a_busy_period() {
    assert_eq!(samples(&[(0, 4), (4, 4), (9, 0)]), [1.0, 1.0]);
    // A millisecond before, it is one busy period of eight packets.
    assert_eq!(samples(&[(0, 4), (3, 4), (9, 0)]), [(16.0 + 16.0 + 2.0 * 4.0) / 64.0]);
}

#[test]
fn poisson_arrivals_lie_between_the_papers_thresholds_at_any_load() {
    for load in [0.6, 0.8, 0.9, 0.95] {
        let (_, waiting) = measure(bursts(load, 1, 400_000), WINDOW, Span::from_millis(3));
        assert!((0.14..0.20).contains(&waiting), "{waiting} at {load}");
        let (_, work) = measure_as(Delay::Work, bursts(load, 1, 400_000), WINDOW, Span::from_millis(3));
        assert!(work > 0.3, "{work} at {load}: above both, whatever the load");
    }
}

/// The mean of ρ's samples.
fn utilization(kind: Load, times: &[f64]) -> f64 {
    let mut work = Workload::new();
    let mut meter = Utilization::new(WINDOW, kind);
    let (mut sum, mut count) = (0.0, 0);
    for time in times {
        let stretch = work.advance(Time::from_secs_f64(*time));
        meter.feed(&stretch, |sample, repeats| {
            sum += sample * repeats as f64;
            count += repeats;
        });
        meter.arrive(service(PACKET, RATE));
        work.add(PACKET, RATE);
    }
    sum / count as f64
}

#[test]
fn utilization_is_the_load() {
    for load in [0.3, 0.6, 0.9] {
        let times = bursts(load, 1, 400_000);
        for kind in [Load::Busy, Load::Offered] {
            let found = utilization(kind, &times);
            assert!((found / load - 1.0).abs() < 0.02, "{kind:?}: {found} at load {load}");
        }
    }
}

#[test]
fn offered_load_shows_overload_that_a_busy_server_hides() {
    let times = bursts(1.5, 1, 100_000);
    assert!((utilization(Load::Busy, &times) - 1.0).abs() < 0.001);
    assert!((utilization(Load::Offered, &times) - 1.5).abs() < 0.02);
}

#[test]
fn doubling_the_bursts_moves_eta_and_not_rho() {
    for load in [0.3, 0.6] {
        let (rho_4, eta_4) = measure(bursts(load, 4, 400_000), WINDOW, SHORTEST);
        let (rho_8, eta_8) = measure(bursts(load, 8, 400_000), WINDOW, SHORTEST);
        assert!((rho_8 / rho_4 - 1.0).abs() < 0.02, "{rho_4} {rho_8}");
        assert!(eta_8 / eta_4 > 1.3, "{eta_4} {eta_8}");
    }
}

#[test]
fn eta_hardly_moves_with_load() {
    let etas: Vec<f64> =
        [0.3, 0.6].iter().map(|load| measure(bursts(*load, 8, 400_000), WINDOW, SHORTEST).1).collect();
    // Doubling the load moves it less than doubling the bursts does.
    assert!(etas[1] / etas[0] < 1.5, "{etas:?}");
}

#[test]
fn flow_rates_follow_each_flow_and_forget() {
    let mut rates = FlowRates::new(Span::from_millis(100));
    let at = |millis: u64| Time::ZERO + Span::from_millis(millis);
    for n in 0..2000 {
        rates.pass(at(n), FlowId(1), Bytes::new(1000));
        if n % 4 == 0 {
            rates.pass(at(n), FlowId(2), Bytes::new(1000));
        }
    }
    let rate = |flow| rates.rate(at(2000), FlowId(flow)).bits_per_sec() as f64;
    assert!((rate(1) / 8e6 - 1.0).abs() < 0.02, "{}", rate(1));
    assert!((rate(2) / 2e6 - 1.0).abs() < 0.05, "{}", rate(2));
    assert_eq!(rate(3), 0.0);
    for n in 0..3000 {
        rates.pass(at(2000 + n), FlowId(9), Bytes::new(1000));
    }
    assert_eq!(rates.len(), 1);
}

#[test]
fn the_marks_follow_their_meters() {
    let marks = |written: &str, load: f64, burst: usize| {
        let jobs: Vec<Job> = bursts(load, burst, 60_000)
            .into_iter()
            .map(|time| Job { ecn: Ecn::NotEct, ..Job::new((time * 1e6) as u64, 0, 1000) })
            .collect();
        let outcome = run(&config(written), Capacity::Packets(240), &jobs, 1);
        let part = |mark: fn(&Packet) -> bool| {
            outcome.departures.iter().filter(|departure| mark(&departure.packet)).count() as f64
                / outcome.departures.len() as f64
        };
        (part(Packet::rho), part(Packet::eta))
    };
    let default = r#"{"name":"tdqm"}"#;
    assert_eq!(marks(default, 0.5, 1).0, 0.0, "half load needs no mark for utilization");
    assert!(marks(default, 0.97, 1).0 > 0.01, "high load does");
    assert!(marks(default, 0.5, 20).1 > 0.5, "bursts are marked");
    assert!(marks(default, 0.5, 20).0 < 0.001);
    // Between the thresholds marks are spaced as RED's (§II-C): never more than 1 / p of them apart. At p = 0.1:
    let full: Vec<Job> = (0..5000).map(|n| Job::new(n * 1000, 0, 1000)).collect();
    let written = r#"{"name":"tdqm","rho":{"min":0,"max":1,"max_p":0.1,"weight":1}}"#;
    let outcome = run(&config(written), Capacity::Packets(240), &full, 1);
    let marked: Vec<usize> =
        outcome.departures.iter().filter(|d| d.packet.rho()).map(|departure| departure.job).collect();
    assert!(marked.len() > 800 && marked.windows(2).all(|pair| pair[1] - pair[0] <= 11), "{}", marked.len());
    // Thresholds of [1, 1] switch a loop off (§IV-B).
    let off = r#"{"name":"tdqm","eta":{"min":1,"max":1},"rho":{"min":1,"max":1}}"#;
    assert_eq!(marks(off, 0.97, 20), (0.0, 0.0));
}

#[test]
fn what_is_told_is_of_the_present() {
    let written = r#"{"name":"tdqm","window":"10 ms","shortest_busy_period":"1 ms","rho":{"weight":1},"eta":{"weight":1}}"#;
    let mut queue = common::build(&config(written), Capacity::Unlimited);
    let mut cx = QueueCx {
        rng: &mut Stream::new(1, "queue"),
        annexes: &mut Annexes::new(),
        rate: RATE,
        idle_since: Some(Time::ZERO),
        drops: &mut Vec::new(),
        marks: 0,
    };
    for number in 0..10 {
        queue.enqueue(Time::ZERO, Packet::new(Kind::Data, FlowId(0), number, PACKET), &mut cx);
    }
    let told = |millis: u64| {
        let mut values = Vec::new();
        queue.observe(Time::ZERO + Span::from_millis(millis), &mut |name, value| values.push((name, value)));
        values
    };
    // Ten packets at once are served in 10 ms, which is the window too; nothing arrives any more.
    assert_eq!(told(9), [("rho", 0.0), ("eta", 0.0)]);
    assert_eq!(told(10), [("rho", 1.0), ("eta", 0.9)]);
    assert_eq!(told(25), [("rho", 0.0), ("eta", 0.9)]);
    assert_eq!(told(9), [("rho", 0.0), ("eta", 0.0)], "telling changes nothing");
}

/// Li and Mills, §II-A: the window is half the time in which a full buffer drains.
#[test]
fn the_window_is_half_of_the_buffers_time() {
    let written = config(r#"{"name":"tdqm","rho":{"weight":1}}"#);
    let mut queue = common::build(&written, Capacity::Packets(20));
    let (annexes, drops) = (&mut Annexes::new(), &mut Vec::new());
    let mut cx =
        QueueCx { rng: &mut Stream::new(1, "queue"), annexes, rate: RATE, idle_since: None, drops, marks: 0 };
    for number in 0..10 {
        queue.enqueue(Time::ZERO, Packet::new(Kind::Data, FlowId(0), number, PACKET), &mut cx);
    }
    for (millis, busy) in [(9, 0.0), (10, 1.0), (19, 1.0), (20, 0.0)] {
        let at = Time::ZERO + Span::from_millis(millis);
        queue.observe(at, &mut |name, value| assert!(name != "rho" || value == busy, "{value} at {at}"));
    }
}
