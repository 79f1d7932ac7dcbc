//! CAKE as published (Høiland-Jørgensen, Täht and Morton 2018): the shaper's pace, shares of hosts, flows and tins, hashing,
//! acknowledgements that go, and the service that it has in common with FlowQueue-CoDel. The law of each queue is tested
//! beside it.

use crate::common;

use common::{Job, RATE, config, link, run, serve};
use tailback_core::{
    Annexes, Bytes, Capacity, DropReason, FlowId, Kind, Packet, QueueCx, QueueDiscipline, Span, Stream, Time,
};
use tailback_qdisc::{BuildCx, Discipline, KnownFlows};

/// Bytes of each of `flows` among the first `count` departures.
fn bytes(outcome: &common::Outcome, count: usize, flows: u32) -> Vec<u64> {
    let mut sums = vec![0; flows as usize];
    for departure in &outcome.departures[..count] {
        sums[departure.flow as usize] += departure.size;
    }
    sums
}

/// So many packets of each flow, all there from the start.
fn all_at_once(flows: u32, packets: u32, size: impl Fn(u32) -> u64) -> Vec<Job> {
    (0..flows * packets).map(|n| Job::new(0, n % flows, size(n))).collect()
}

/// Flow and host are the same thing here unless said otherwise: the hosts of flow k.
fn with_hosts(written: &str, hosts: &[(u32, u32)]) -> Discipline {
    let cx = BuildCx { flows: hosts.iter().copied().collect(), ..link(Capacity::Unlimited) };
    config(written).build(&cx).into_discipline()
}

/// 1000 B and 40 B more are 22 cells of 53 B: 2.332 ms at 4 Mbit/s, however fast the line.
#[test]
fn the_shaper_keeps_its_pace_framing_included() {
    let written = r#"{"name":"cake","rate":"4 Mbit/s","overhead":"40 B","framing":"atm"}"#;
    let jobs = all_at_once(1, 200, |_| 1000);
    let outcome = run(&config(written), Capacity::Unlimited, &jobs, 1);
    for (n, departure) in outcome.departures.iter().take(100).enumerate() {
        assert_eq!(departure.started, Time::ZERO + Span::from_micros(2332 * n as u64), "packet {n}");
    }
}

/// There is no bucket: who was silent may not send faster.
#[test]
fn silence_earns_no_burst() {
    let written = r#"{"name":"cake","rate":"4 Mbit/s"}"#;
    let mut jobs = all_at_once(1, 10, |_| 1000);
    jobs.extend((0..10).map(|_| Job::new(1_000_000, 0, 1000)));
    let outcome = run(&config(written), Capacity::Unlimited, &jobs, 1);
    let late: Vec<Time> = outcome.departures[10..].iter().map(|departure| departure.started).collect();
    assert!(late.windows(2).all(|pair| pair[1].since(pair[0]) == Span::from_millis(2)), "{late:?}");
}

/// Without a rate, without a law that acts, with one tin and no hosts, CAKE serves as FlowQueue-CoDel does.
#[test]
fn the_order_of_service_is_that_of_fq_codel() {
    let mut sizes = Stream::new(3, "sizes");
    let sizes: Vec<u64> = (0..600).map(|_| 40 + sizes.below(1460)).collect();
    let jobs = all_at_once(6, 100, |n| sizes[n as usize]);
    let order = |written: &str| -> Vec<usize> {
        let outcome = run(&config(written), Capacity::Unlimited, &jobs, 1);
        outcome.departures.iter().map(|departure| departure.job).collect()
    };
    let ours = order(r#"{"name":"cake","rtt":"100000 s","tins":"besteffort","isolation":"flows"}"#);
    assert_eq!(ours, order(r#"{"name":"fq-codel","target":"1000 s","interval":"10000 s"}"#));
}

/// And in its delay: a sparse flow waits for the packet in transmission only, and loses nothing.
#[test]
fn a_sparse_flow_is_protected() {
    for written in [r#"{"name":"cake"}"#, r#"{"name":"cake","rate":"7900 kbit/s"}"#] {
        let mut jobs: Vec<Job> = (0..40_000).map(|n| Job::new(n * 500, 1, 1000)).collect();
        jobs.extend((0..400).map(|n| Job::new(n * 50_000 + 17, 2, 200)));
        jobs.sort_by_key(|job| job.at);
        let outcome = run(&config(written), Capacity::Packets(10_000), &jobs, 1);
        assert_eq!(outcome.drops_of(&jobs, 2), 0);
        let late = Time::ZERO + Span::from_millis(100);
        let waits = outcome.departures.iter().filter(|d| d.flow == 2 && d.arrived > late);
        let worst = waits.map(|d| d.started.since(d.arrived)).max();
        assert!(worst.is_some_and(|worst| worst <= Span::from_micros(1013)), "{worst:?}");
    }
}

/// Four flows that all have enough to send; flow 0 goes to one host, the others to another.
#[test]
fn hosts_get_equal_parts_and_their_flows_equal_parts_of_these() {
    let shares = |isolation: &str, hosts: &[(u32, u32)]| -> Vec<f64> {
        let written = format!(r#"{{"name":"cake","rtt":"100000 s","isolation":"{isolation}"}}"#);
        let jobs = all_at_once(4, 2000, |n| if n % 4 == 3 { 300 } else { 1500 });
        let outcome = serve(&mut with_hosts(&written, hosts), &jobs, 1);
        let sums = bytes(&outcome, 2000, 4);
        let all: u64 = sums.iter().sum();
        sums.iter().map(|sum| *sum as f64 / all as f64).collect()
    };
    let near = |found: &[f64], wanted: &[f64]| {
        let close = found.iter().zip(wanted).all(|(found, wanted)| (found - wanted).abs() < 0.01);
        assert!(close, "{found:?}, not {wanted:?}");
    };
    let to_two = [(9, 5), (9, 6), (9, 6), (9, 6)];
    let from_two = [(5, 9), (6, 9), (6, 9), (6, 9)];
    let (equal, halves) = ([0.25; 4], [0.5, 1.0 / 6.0, 1.0 / 6.0, 1.0 / 6.0]);
    near(&shares("flows", &to_two), &equal);
    near(&shares("dual-dsthost", &to_two), &halves);
    near(&shares("dual-srchost", &to_two), &equal);
    near(&shares("dual-srchost", &from_two), &halves);
    // All share one host on the one side, where it is the busier: no flow of it gets more than another.
    near(&shares("triple-isolate", &to_two), &equal);
    // Two pairs of hosts: both sides say the same.
    near(&shares("triple-isolate", &[(1, 5), (2, 6), (2, 6), (2, 6)]), &halves);
    let pairs = shares("dsthost", &to_two);
    assert!((pairs[0] - 0.5).abs() < 0.01, "one queue for each host: {pairs:?}");
}

/// The part of flow 1 where both flows always have something to send.
fn part_of_second(written: &str) -> f64 {
    let outcome = run(&config(written), Capacity::Unlimited, &all_at_once(2, 4000, |_| 1000), 1);
    let sums = bytes(&outcome, 3000, 2);
    sums[1] as f64 / (sums[0] + sums[1]) as f64
}

/// tc-cake: bulk has a sixteenth of the rate, voice a quarter, video a half, ahead of best effort; what is above goes by
/// whose schedule comes first, which is never theirs while best effort has less than all.
#[test]
fn tins_have_their_parts_of_a_rate() {
    let part = |tins: &str, codepoint: &str| {
        part_of_second(&format!(
            r#"{{"name":"cake","rate":"4 Mbit/s","rtt":"100000 s","tins":"{tins}",
                "codepoints":[{{"flows":[1],"codepoint":"{codepoint}"}}]}}"#
        ))
    };
    for (tins, codepoint, wanted) in [
        ("diffserv3", "EF", 0.25),
        ("diffserv3", "CS1", 0.0625),
        ("diffserv3", "AF41", 0.5),
        ("diffserv4", "AF41", 0.5),
        ("diffserv4", "LE", 0.0625),
        ("besteffort", "EF", 0.5),
        // Precedence 5 and 1: seven eighths to that power.
        ("precedence", "EF", 0.875_f64.powi(5)),
        ("precedence", "CS1", 0.875),
    ] {
        let found = part(tins, codepoint);
        assert!((found - wanted).abs() < 0.005, "{codepoint} in {tins}: {found}");
    }
}

/// Without a rate, tins take turns by their weights: voice 256 beside best effort 1024.
#[test]
fn tins_take_turns_without_a_rate() {
    let part =
        part_of_second(r#"{"name":"cake","rtt":"100000 s","codepoints":[{"flows":[1],"codepoint":"EF"}]}"#);
    assert!((part - 0.2).abs() < 0.005, "{part}");
}

/// A tin within its part is served first.
#[test]
fn voice_goes_first_while_it_is_thin() {
    let written = r#"{"name":"cake","rate":"4 Mbit/s","isolation":"flowblind",
        "codepoints":[{"flows":[1],"codepoint":"EF"}]}"#;
    let mut jobs = all_at_once(1, 2000, |_| 1000);
    jobs.extend((0..100).map(|n| Job::new(n * 20_000 + 13, 1, 200)));
    jobs.sort_by_key(|job| job.at);
    let outcome = run(&config(written), Capacity::Unlimited, &jobs, 1);
    let waits = outcome.departures.iter().filter(|d| d.flow == 1).map(|d| d.started.since(d.arrived));
    assert!(waits.max() <= Some(Span::from_millis(2)));
}

/// An acknowledgement that is filtered, and a packet that overflows: each counts, and what leaves first does so at once.
#[test]
fn every_kind_of_drop_counts_behind_the_bottleneck() {
    for (ingress, filtered) in [(false, 80), (true, 120)] {
        let written = format!(r#"{{"name":"cake","rate":"4 Mbit/s","ack_filter":"on","ingress":{ingress}}}"#);
        let mut bench = Bench::new(&written, 1);
        (1..4).for_each(|number| bench.enqueue(ack(1, number, false)));
        assert_eq!(bench.dropped(), [1]);
        assert_eq!(bench.after_one(), Some(Time::ZERO + Span::from_micros(filtered)), "{ingress}");
    }
    // One of 250 B of three goes: 0.5 ms at the rate each, by the failsafe 0.75 ms.
    for (ingress, overflowed) in [(false, 500), (true, 750)] {
        let written = format!(r#"{{"name":"cake","rate":"4 Mbit/s","ingress":{ingress}}}"#);
        let jobs = all_at_once(1, 4, |_| 250);
        let outcome = run(&config(&written), Capacity::Packets(2), &jobs, 1);
        assert_eq!(outcome.drops.len(), 1);
        let second = outcome.departures[1].started;
        assert_eq!(second, Time::ZERO + Span::from_micros(overflowed), "{ingress}");
    }
}

/// What is asked of a discipline by hand.
struct Bench {
    queue: Discipline,
    rng: Stream,
    annexes: Annexes,
    drops: Vec<(Packet, DropReason)>,
}

impl Bench {
    fn new(written: &str, seed: u64) -> Self {
        let queue = config(written).build(&link(Capacity::Unlimited)).into_discipline();
        Self { queue, rng: Stream::new(seed, "queue"), annexes: Annexes::new(), drops: Vec::new() }
    }

    fn enqueue(&mut self, packet: Packet) {
        let mut cx = QueueCx {
            rng: &mut self.rng,
            annexes: &mut self.annexes,
            rate: RATE,
            idle_since: None,
            drops: &mut self.drops,
            marks: 0,
        };
        self.queue.enqueue(Time::ZERO, packet, &mut cx);
    }

    /// When the next packet may leave after one has.
    fn after_one(&mut self) -> Option<Time> {
        let mut cx = QueueCx {
            rng: &mut self.rng,
            annexes: &mut self.annexes,
            rate: RATE,
            idle_since: None,
            drops: &mut self.drops,
            marks: 0,
        };
        self.queue.dequeue(Time::ZERO, &mut cx);
        self.queue.next_ready(Time::ZERO)
    }

    /// The numbers of the packets dropped since the last call.
    fn dropped(&mut self) -> Vec<u64> {
        self.drops.drain(..).map(|(packet, _)| packet.number).collect()
    }
}

/// In sets of eight, hardly any two flows meet that a plain table of 1024 would bring together: of 400 flows it would have
/// 331 in queues of their own or shared.
#[test]
fn sets_keep_flows_apart() {
    for seed in 0..5 {
        let mut bench = Bench::new(r#"{"name":"cake"}"#, seed);
        for flow in 0..400 {
            bench.enqueue(Packet::new(Kind::Data, FlowId(flow), 0, Bytes::new(1000)));
        }
        let mut queues = 0.0;
        bench.queue.observe(Time::ZERO, &mut |name, value| {
            if name == "sparse_queues" {
                queues = value;
            }
        });
        assert!(queues >= 396.0, "{queues}");
    }
}

fn ack(flow: u32, number: u64, echo: bool) -> Packet {
    let mut ack = Packet::new(Kind::Ack, FlowId(flow), number, Bytes::new(40));
    ack.set_ecn_echo(echo);
    ack
}

/// tc-cake: the older of two goes once a third is there; duplicates and the last before a change of the echo stay.
#[test]
fn acknowledgements_go_when_later_ones_say_the_same() {
    let mut bench = Bench::new(r#"{"name":"cake","ack_filter":"on"}"#, 1);
    let mut gone = |packet| {
        bench.enqueue(packet);
        bench.dropped()
    };
    assert!(gone(ack(1, 1, false)).is_empty());
    assert!(gone(ack(1, 2, false)).is_empty(), "one that waits stays");
    assert_eq!(gone(ack(1, 3, false)), [1]);
    assert!(gone(ack(2, 9, false)).is_empty(), "of another flow");
    assert_eq!(gone(ack(1, 4, false)), [2]);
    assert!(gone(ack(1, 4, false)).is_empty(), "a duplicate says no more than the one before");
    assert_eq!(gone(ack(1, 5, false)), [3]);
    // An echo begins: the last without one is kept, whatever comes.
    let mut bench = Bench::new(r#"{"name":"cake","ack_filter":"on"}"#, 1);
    let mut gone = |packet| {
        bench.enqueue(packet);
        bench.dropped()
    };
    assert!(gone(ack(1, 1, false)).is_empty());
    assert!(gone(ack(1, 2, true)).is_empty());
    assert!(gone(ack(1, 3, true)).is_empty());
    assert_eq!(gone(ack(1, 4, true)), [2]);
}

#[test]
fn an_aggressive_filter_leaves_the_newest_alone() {
    let mut bench = Bench::new(r#"{"name":"cake","ack_filter":"aggressive"}"#, 1);
    for (packet, gone) in [
        (ack(1, 1, false), vec![]),
        (ack(1, 2, false), vec![1]),
        (ack(1, 3, false), vec![2]),
        (ack(1, 4, true), vec![]),
        (Packet::new(Kind::Data, FlowId(1), 7, Bytes::new(1000)), vec![]),
    ] {
        bench.enqueue(packet);
        assert_eq!(bench.dropped(), gone, "after {}", packet.number);
    }
    assert_eq!(bench.queue.backlog().packets, 3);
    assert_eq!(bench.queue.backlog().bytes, Bytes::new(1080));
}

/// Behind the bottleneck, what is dropped has crossed it already: with a standing queue of which a few are dropped, drops and
/// departures together keep the rate; in front of it, departures alone do.
#[test]
fn behind_the_bottleneck_drops_count() {
    for (ingress, counted) in [(false, 0), (true, 1)] {
        let written = format!(r#"{{"name":"cake","rate":"4 Mbit/s","rtt":"50 ms","ingress":{ingress}}}"#);
        let outcome = run(&config(&written), Capacity::Unlimited, &all_at_once(1, 500, |_| 1000), 1);
        let (left, drops) = (outcome.departures.len() as u64, outcome.drops.len() as u64);
        assert!((20..150).contains(&drops), "{drops}");
        let last = outcome.departures.last().map(|departure| departure.started);
        assert_eq!(last, Some(Time::ZERO + Span::from_millis(2) * (left - 1 + counted * drops)), "{ingress}");
    }
}

/// Ahead of the last packet 19 080 B have left and 1000 B were dropped, which take 26.77 ms together. After the drop the
/// server came to a queue that had run empty, and asks the shaper again before it goes on, as Linux's does.
#[test]
fn behind_the_bottleneck_a_drop_counts_before_the_next_packet() {
    let written = r#"{"name":"cake","rate":"6 Mbit/s","rtt":"5 ms","ingress":true,"tins":"besteffort",
        "isolation":"flows"}"#;
    let sent = [(0, 9000), (1, 40), (1, 40), (4, 9000), (4, 1000), (0, 1000), (4, 40)];
    let jobs: Vec<Job> = sent.iter().map(|(flow, size)| Job::new(0, *flow, *size)).collect();
    let outcome = run(&config(written), Capacity::Unlimited, &jobs, 1);
    assert_eq!(outcome.drops.iter().map(|drop| drop.0).collect::<Vec<_>>(), [4]);
    let last = outcome.departures.last().map(|departure| (departure.job, departure.started.as_nanos()));
    assert_eq!(last, Some((6, 26_773_333)));
}

/// A flow that does not answer, of which more has to go than the rate allows for: two thirds of the rate leave.
#[test]
fn behind_the_bottleneck_two_thirds_leave_in_any_case() {
    let part = |ingress: bool| {
        let written = format!(r#"{{"name":"cake","rate":"4 Mbit/s","rtt":"20 ms","ingress":{ingress}}}"#);
        // 7.3 Mbit/s for 20 s.
        let jobs: Vec<Job> = (0..18_000).map(|n| Job::new(n * 1100, 0, 1000)).collect();
        let outcome = run(&config(&written), Capacity::Packets(100), &jobs, 1);
        let (from, to) = (Time::from_secs_f64(9.0), Time::from_secs_f64(19.0));
        let late = outcome.departures.iter().filter(|d| d.started >= from && d.started < to);
        late.map(|departure| departure.size * 8).sum::<u64>() as f64 / 4e7
    };
    assert!((part(false) - 1.0).abs() < 0.01, "{}", part(false));
    assert!((part(true) - 2.0 / 3.0).abs() < 0.01, "{}", part(true));
}

/// The shaper begins at 1 Mbit/s and finds out that 4 Mbit/s arrive.
#[test]
fn the_shaper_follows_what_arrives() {
    let left = |written: &str| {
        let mut gaps = Stream::new(1, "gaps");
        let mut at = 0;
        let mut next = || {
            at += gaps.below(4000);
            at
        };
        let jobs: Vec<Job> = (0..5000).map(|_| Job::new(next(), 0, 1000)).collect();
        let outcome = run(&config(written), Capacity::Packets(1000), &jobs, 1);
        outcome.departures.iter().filter(|departure| departure.started < Time::from_secs_f64(10.0)).count()
    };
    let fixed = left(r#"{"name":"cake","rate":"1 Mbit/s","rtt":"100000 s"}"#);
    assert!((1200..1300).contains(&fixed), "{fixed}");
    let following = left(r#"{"name":"cake","rate":"1 Mbit/s","rtt":"100000 s","autorate_ingress":true}"#);
    assert!(following > 4000, "{following}");
}

/// The buffer belongs to all: at an overflow the longest queue loses its oldest, in whatever tin it is.
#[test]
fn the_longest_queue_pays_for_an_overflow() {
    let written = r#"{"name":"cake","rtt":"100000 s","codepoints":[{"flows":[2],"codepoint":"EF"}]}"#;
    let mut jobs: Vec<Job> = (0..18).map(|_| Job::new(0, 1, 1000)).collect();
    jobs.extend((0..6).map(|_| Job::new(1, 2, 1000)));
    let outcome = run(&config(written), Capacity::Packets(20), &jobs, 1);
    let dropped: Vec<usize> = outcome.drops.iter().map(|drop| drop.0).collect();
    assert_eq!(dropped, [1, 2, 3]);
    assert!(outcome.drops.iter().all(|drop| drop.1 == DropReason::Overflow));
}

/// Hosts of flows that nobody told of are their own.
#[test]
fn flows_without_known_hosts_have_hosts_of_their_own() {
    let flows: KnownFlows = [(1, 2)].into_iter().collect();
    assert_eq!(flows.hosts_of(0), (1, 2));
    assert_ne!(flows.hosts_of(1), flows.hosts_of(2));
}
