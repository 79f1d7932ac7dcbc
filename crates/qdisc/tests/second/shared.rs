//! What flows share, in both writings: queues where their hashes meet, buffers whose fullest queue loses, and RED's average
//! in bytes. What the second writings say of it stands in `codel`, `fair`, `room` and `arrivals`.
//!
//! Of ours the settings and heads were read before, and the hash and the batches of FlowQueue-CoDel. That ns-2 counts bytes in
//! whole packets came after the first difference. How tags move when packets are pushed out no text says: the newest is taken
//! back, and behind the oldest all move up. That what comes later moves up with them, and that the clock does not go back, came
//! from ours after a difference.

use proptest::prelude::*;
use tailback_core::{Bytes, Capacity, DropReason, Span, Time};
use tailback_qdisc::{Fifo, Limit};

use super::room::{Loses, Room};
use super::{arrivals, codel, difference, fair, framed, ours};
use crate::common::wild::{Rates, capacities, rates, wild};
use crate::common::{self, Job, serve_at};

/// Buffers that are full often.
fn tight() -> impl Strategy<Value = Capacity> {
    prop_oneof![
        4 => (1_u32..25).prop_map(Capacity::Packets),
        4 => (1000_u64..40_000).prop_map(|bytes| Capacity::Bytes(Bytes::new(bytes))),
        1 => Just(Capacity::Unlimited),
    ]
}

fn per_flow() -> impl Strategy<Value = (String, Capacity)> {
    let bytes = |bytes: u64| (format!(r#","per_flow":"{bytes} B""#), Capacity::Bytes(Bytes::new(bytes)));
    let packets = |count: u32| (format!(r#","per_flow":"{count} packets""#), Capacity::Packets(count));
    prop_oneof![
        3 => Just((String::new(), Capacity::Unlimited)),
        1 => (1_u32..10).prop_map(packets),
        1 => (1000_u64..20_000).prop_map(bytes),
    ]
}

/// One byte per microsecond.
const STEADY: Rates = Rates { first: 8_000_000, second: 8_000_000, period: u64::MAX };

/// Flows 2 and 3 in one queue.
fn class(flow: u32) -> u32 {
    if flow == 3 { 2 } else { flow }
}

const WEIGHTS: fair::Weight = |queue| [1.0, 2.1, 0.317, f64::NAN, 0.93, 0.71][queue as usize];
const SHARES: &str = r#""shares":[{"flows":[1],"weight":2.1},{"flows":[2,3],"weight":0.317,"together":true},
    {"flows":[4],"weight":0.93},{"flows":[5],"weight":0.71}]"#;

/// The first difference of a server by tags and its second writing, and whether two were equal.
fn tagged(
    which: usize,
    loses: Loses,
    capacity: Capacity,
    (written_bound, per_flow): (&str, Capacity),
    jobs: &[Job],
) -> (Option<String>, bool) {
    let (name, more, by) = [
        ("self-clocked-fair-queueing", "", fair::By::Itself),
        ("weighted-fair-queueing", "", fair::By::Fluid),
        ("virtual-clock", r#""reserve":0.1,"#, fair::By::Reserved(0.1)),
        ("cell-round-robin", "", fair::By::Itself),
    ][which];
    let victim = match loses {
        Loses::Arriving => "arriving",
        Loses::Newest => "longest",
        Loses::Oldest => "longest-head",
    };
    let written =
        format!(r#"{{"name":"{name}",{more}"buffer":{{"victim":"{victim}"{written_bound}}},{SHARES}}}"#);
    let ours = ours(&written, capacity, jobs, STEADY);
    let mut second = fair::Tagged::new(by, WEIGHTS, capacity);
    second.cells = name == "cell-round-robin";
    second.class = class;
    second.room = Room::new(loses, capacity, per_flow);
    let anew = serve_at(&mut second, jobs, 1, &|now| STEADY.at(now));
    (difference(&ours, &anew), second.tied || second.room.tied)
}

proptest! {
    #![proptest_config(common::cases(400))]

    /// RFC 8290 §4.1.1 and §5.3: few queues and many flows.
    #[test]
    fn fq_codel_where_flows_meet(
        jobs in wild(40, 200), capacity in tight(), rates in rates(), ecn: bool, queues in 2_u32..12,
        quantum in prop_oneof![Just(1514_i64), Just(300), Just(9000)],
    ) {
        prop_assert_eq!(super::fq_codel_differs(&jobs, capacity, rates, ecn, quantum, queues), None);
    }

    /// RFC 8290 §4.1.2: at most 64 packets go at once, where half of a queue is more.
    #[test]
    fn fq_codel_in_batches(
        trains in prop::collection::vec((0_u64..30_000, 0_u32..4, 40_u64..60, 1_usize..200), 1..12),
        capacity in prop_oneof![
            (150_u32..400).prop_map(Capacity::Packets),
            (6000_u64..20_000).prop_map(|bytes| Capacity::Bytes(Bytes::new(bytes))),
        ],
        queues in prop_oneof![Just(1_u32), Just(3), Just(4_000_000_000)],
    ) {
        let mut clock = 0;
        let mut jobs = Vec::new();
        for (gap, flow, size, count) in trains {
            clock += gap;
            // Sizes that differ: hardly two queues have as many bytes.
            jobs.extend((0..count).map(|n| Job::new(clock, flow, size + n as u64 % 7 + u64::from(flow))));
        }
        let written = format!(r#"{{"name":"fq-codel","queues":{queues}}}"#);
        let ours = ours(&written, capacity, &jobs, STEADY);
        let law = codel::Law::new(Span::from_millis(5), Span::from_millis(100), true);
        let mut second = codel::FqCodel::new(law, 1514, queues, capacity);
        let anew = serve_at(&mut second, &jobs, 1, &|now| STEADY.at(now));
        prop_assert_eq!(difference(&ours, &anew).filter(|_| !second.tied), None);
    }

    /// Floyd and Jacobson 1993, §4.
    #[test]
    fn red_in_bytes(
        jobs in wild(3, 300), capacity in capacities(), rates in rates(), ecn: bool, gentle: bool, wait: bool,
        weight in prop_oneof![Just(0.5), Just(0.1), Just(0.002)], max_p in prop_oneof![Just(0.1), Just(0.5)],
    ) {
        let written = format!(r#"{{"name":"red","measure":"bytes","min":"3 kB","max":"12 kB","max_p":{max_p},"weight":{weight},
            "gentle":{gentle},"wait":{wait},"ecn":{ecn}}}"#);
        let ours = ours(&written, capacity, &jobs, rates);
        let anew = arrivals::Red {
            min: 3000.0, max: 12_000.0, max_p, weight, gentle, wait, ecn, bytes: true, limit: Limit::new(capacity),
            average: 0.0, count: 0.0, above: false, adapted: None,
        };
        let anew = serve_at(&mut Fifo::new(anew), &jobs, 1, &|now| rates.at(now));
        prop_assert_eq!(difference(&ours, &anew), None);
    }

    #[test]
    fn rounds_that_share_a_buffer(
        jobs in wild(6, 200), capacity in tight(), rates in rates(), which in 0..2_usize, oldest: bool,
        (written_bound, per_flow) in per_flow(),
    ) {
        let victim = if oldest { "longest-head" } else { "longest" };
        let buffer = format!(r#""buffer":{{"victim":"{victim}"{written_bound}}},{SHARES}"#);
        let bytes: fn(u64) -> f64 = |size| size as f64;
        let (written, mut anew) = match which {
            0 => (format!(r#"{{"name":"deficit-round-robin","quantum":"700 B",{buffer}}}"#),
                fair::Rounds::new(700.0, WEIGHTS, bytes, capacity)),
            _ => (format!(r#"{{"name":"weighted-round-robin",{buffer}}}"#),
                fair::Rounds::new(1.0, WEIGHTS, |_| 1.0, capacity)),
        };
        anew.class = class;
        anew.room = Room::new(if oldest { Loses::Oldest } else { Loses::Newest }, capacity, per_flow);
        let ours = ours(&written, capacity, &jobs, rates);
        let outcome = serve_at(&mut anew, &jobs, 1, &|now| rates.at(now));
        prop_assert_eq!(difference(&ours, &outcome).filter(|_| !anew.room.tied), None);
    }

    #[test]
    fn frames_that_share_a_buffer(
        jobs in wild(6, 150), capacity in tight(), rates in rates(), levels in 1..4_usize, oldest: bool,
        (written_bound, per_flow) in per_flow(),
    ) {
        // A packet at a thousand bits per second waits for a million frames.
        let rates = Rates { first: rates.first.max(1_000_000), ..rates };
        let victim = if oldest { "longest-head" } else { "longest" };
        let buffer = format!(r#""buffer":{{"victim":"{victim}"{written_bound}}},{SHARES}"#);
        let (written, all) = framed(levels, &buffer);
        let ours = ours(&written, capacity, &jobs, rates);
        let mut anew = fair::Frames::new(all, rates.at(Time::ZERO).bytes_per_sec(), 0.1, WEIGHTS, capacity);
        anew.class = class;
        anew.room = Room::new(if oldest { Loses::Oldest } else { Loses::Newest }, capacity, per_flow);
        let outcome = serve_at(&mut anew, &jobs, 1, &|now| rates.at(now));
        prop_assert_eq!(difference(&ours, &outcome).filter(|_| !anew.room.tied), None);
    }

    #[test]
    fn tags_that_share_a_buffer(
        jobs in wild(6, 200), capacity in tight(), which in 0..4_usize, (written_bound, per_flow) in per_flow(),
        loses in prop_oneof![3 => Just(Loses::Newest), 1 => Just(Loses::Arriving), 1 => Just(Loses::Oldest)],
    ) {
        // Where tags belong to packets, the oldest is not for choice.
        let loses = if (1..3).contains(&which) && loses == Loses::Oldest { Loses::Newest } else { loses };
        let (difference, is_tied) = tagged(which, loses, capacity, (&written_bound, per_flow), &jobs);
        prop_assert_eq!(difference.filter(|_| !is_tied), None);
    }
}

/// Half of 201 packets of 50 B are more than 64, and 64 go.
#[test]
fn sixty_four_go_at_once() {
    let jobs: Vec<Job> = (0..202).map(|_| Job::new(0, 0, 50)).collect();
    let outcome = ours(r#"{"name":"fq-codel"}"#, Capacity::Packets(200), &jobs, STEADY);
    // The first packet is in transmission; 201 wait when the last one comes.
    let oldest: Vec<_> = (1..=64).map(|job| (job, DropReason::Overflow, Time::ZERO)).collect();
    assert_eq!(outcome.drops, oldest);
}

/// The order in which packets of these flows and sizes leave, with a buffer of so many bytes.
fn order(written: &str, bytes: u64, jobs: &[(u64, u32, u64)]) -> Vec<usize> {
    let jobs: Vec<Job> = jobs.iter().map(|&(at, flow, size)| Job::new(at, flow, size)).collect();
    let outcome = ours(written, Capacity::Bytes(Bytes::new(bytes)), &jobs, STEADY);
    outcome.departures.iter().map(|departure| departure.job).collect()
}

/// In a frame of 20 ms flow 0 may send 2000 B. While it sends 500 B, the other packet that waits is pushed out, and the server
/// finds it without one at 800 µs. Of its next two packets, together 2000 B, one has to wait for the next frame all the same.
#[test]
fn who_lost_all_it_had_gets_no_second_allotment() {
    let jobs = [(0, 1, 300), (0, 0, 500), (0, 0, 1000), (310, 1, 600), (2000, 0, 1000), (2000, 0, 1000)];
    let jobs: Vec<Job> = jobs.iter().map(|&(at, flow, size)| Job::new(at, flow, size)).collect();
    let written = r#"{"name":"framed-round-robin","frame":"20 ms","reserve":0.1}"#;
    let outcome = ours(written, Capacity::Bytes(Bytes::new(1500)), &jobs, STEADY);
    let left: Vec<_> = outcome.departures.iter().map(|left| (left.job, left.started)).collect();
    let at = |job, micros| (job, Time::ZERO + Span::from_micros(micros));
    assert_eq!(left, [at(0, 0), at(1, 300), at(3, 800), at(4, 2000), at(5, 20_000)]);
}

/// Flow 1 loses its only packet, of tag 5000. Its next has tag 40, and flow 0's has 80.
#[test]
fn who_lost_all_it_had_does_not_wait_for_what_it_lost() {
    let jobs = [(0, 0, 40), (0, 1, 5000), (0, 1, 40), (0, 0, 40)];
    for name in ["weighted-fair-queueing", "virtual-clock"] {
        assert_eq!(order(&format!(r#"{{"name":"{name}"}}"#), 1000, &jobs), [0, 2, 3], "{name}");
    }
}

/// Flow 1 loses its oldest packet, of tag 3500. The next moves up to 1040, before flow 0's 1500.
#[test]
fn who_lost_its_oldest_does_not_wait_for_what_it_lost() {
    let jobs = [(0, 0, 1000), (0, 1, 2500), (0, 1, 40), (0, 0, 500)];
    let written = r#"{"name":"self-clocked-fair-queueing","buffer":{"victim":"longest-head"}}"#;
    assert_eq!(order(written, 3000, &jobs), [0, 2, 3]);
}

/// At 0.16 ms, with the clock at 1100, flow 1 loses its oldest packet, of tag 2600. Its next, behind that, moves up to 250.
const OVERTAKEN: [(u64, u32, u64); 6] =
    [(0, 0, 100), (0, 1, 2500), (0, 0, 1000), (0, 0, 1000), (150, 2, 900), (160, 1, 150)];

/// What comes after the loss has tag 1200: it goes before flow 2's 2000. Held to the clock, it would have 2050.
#[test]
fn who_lost_its_oldest_keeps_its_place_for_what_comes_later() {
    let jobs: Vec<_> = OVERTAKEN.into_iter().chain([(170, 1, 950)]).collect();
    let written = r#"{"name":"self-clocked-fair-queueing","buffer":{"victim":"longest-head"}}"#;
    assert_eq!(order(written, 4500, &jobs), [0, 2, 5, 6, 4, 3]);
}

/// While the packet of tag 250 is sent, flow 3's first comes and has tag 2050, behind flow 2's 2000.
#[test]
fn the_clock_does_not_go_back_to_a_tag_that_it_has_passed() {
    let jobs: Vec<_> = OVERTAKEN.into_iter().chain([(1200, 3, 950)]).collect();
    let written = r#"{"name":"self-clocked-fair-queueing","buffer":{"victim":"longest-head"}}"#;
    assert_eq!(order(written, 4500, &jobs), [0, 2, 5, 4, 6, 3]);
}

/// Flow 5's second packet is lost when the fluid has passed its first, which still waits: from then on the fluid is without it.
#[test]
fn the_fluid_forgets_what_was_pushed_out() {
    let job = |nanos, flow, size| Job { at: Time::from_nanos(nanos), ..Job::new(0, flow, size) };
    let jobs = [
        job(0, 4, 65_535),
        job(0, 2, 1500),
        job(763_781, 0, 40),
        job(763_781, 0, 40),
        job(763_781, 5, 40),
        job(930_373, 5, 65_535),
        job(1_711_949, 2, 40),
        job(3_533_319, 2, 40),
        job(5_426_822, 0, 40),
        job(5_426_822, 0, 1000),
    ];
    let capacity = Capacity::Bytes(Bytes::new(2660));
    assert_eq!(tagged(1, Loses::Newest, capacity, ("", Capacity::Unlimited), &jobs), (None, false));
}

/// Flow 0 has used a reserve of a tenth of the line until 1 ms when its second packet, all that waits of it, is pushed out. At
/// 0.66 ms its next has tag 2.0 ms and not 1.66 ms, so that flow 3's with 1.86 ms goes before.
#[test]
fn a_clock_ahead_of_time_outlives_a_packet_that_is_pushed_out() {
    let jobs = [
        (0, 4, 100),
        (0, 0, 100),
        (0, 0, 1900),
        (0, 1, 120),
        (250, 2, 300),
        (650, 5, 400),
        (660, 0, 100),
        (660, 3, 120),
    ];
    assert_eq!(order(r#"{"name":"virtual-clock","reserve":0.1}"#, 2130, &jobs), [0, 1, 3, 4, 5, 7, 6]);
}
