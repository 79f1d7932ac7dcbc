//! The examples of RFC 8985 (§3.4, §3.5, §7.2 to §7.4 and §9.1), number by number, for its second writing alone (`rack.rs`).

use tailback_control::Reliability;
use tailback_core::{CongestionEvent, Recovery, SeqRange};
use tailback_transport::{RttSampling, SpuriousDetection};

use super::rack::RackTlp;
use super::{Acknowledgement, Beside, Left, Options, RackOptions, SEGMENT, Second, Told};

const MS: u64 = 1_000_000;

fn options() -> Options {
    Options {
        reliability: Reliability::Sack,
        sampling: RttSampling::EveryAck,
        dup_threshold: 3,
        limited_transmit: true,
        rescue: false,
        keep_scoreboard: true,
        impatient: false,
        careful: false,
        one_recovery: true,
        spurious: SpuriousDetection::Off,
        lost_retransmissions: false,
        proportional: false,
        restart_after_idle: true,
        receive_window: u64::MAX,
        min_rto: 1e9,
        max_rto: 60e9,
        least_variation: 0.0,
        rack: Some(RackOptions {
            reordering_window: 0.25,
            persist: 16,
            min_rtt_window: 300_000 * MS,
            probes: true,
            max_ack_delay: 25 * MS,
            dsack: true,
        }),
        beside: Beside::default(),
    }
}

fn ranges(number: u64, blocks: &[(u64, u64)]) -> Acknowledgement {
    let blocks = blocks.iter().map(|&(start, end)| SeqRange { start, end }).collect();
    Acknowledgement { number, blocks, echo: None, duplicate: None, marks: false }
}

fn numbers(left: &[Left]) -> Vec<u64> {
    left.iter().map(|one| one.number).collect()
}

/// A sender with a window of 20 segments, and a round trip of 100 ms measured by segment 0 at 100 ms.
struct Bench {
    sender: RackTlp,
    waiting: u64,
}

impl Bench {
    fn new() -> Self {
        let mut bench = Self { sender: RackTlp::new(options()), waiting: 0 };
        assert_eq!(numbers(&bench.write(0, 1)), [0]);
        bench.hear(100, &ranges(1, &[]));
        bench
    }

    fn leave(&mut self, at: u64) -> Vec<Left> {
        let mut left = Vec::new();
        while let Some(one) = self.sender.next(at * MS, 20 * SEGMENT, self.waiting.min(1) * SEGMENT) {
            self.waiting -= u64::from(!one.again);
            left.push(one);
        }
        left
    }

    fn write(&mut self, at: u64, segments: u64) -> Vec<Left> {
        self.waiting += segments;
        self.leave(at)
    }

    fn hear(&mut self, at: u64, ack: &Acknowledgement) -> (Told, Vec<u64>) {
        let told = self.sender.acknowledge(at * MS, ack).expect("it is heard");
        self.sender.heard(20 * SEGMENT);
        (told, numbers(&self.leave(at)))
    }

    /// The timer expires when it is due, in whole milliseconds.
    fn expire(&mut self, at: u64) -> (Option<Told>, Vec<u64>) {
        assert_eq!(self.sender.deadline(), Some((at * MS) as f64));
        let told = self.sender.expire(at * MS);
        self.sender.heard(20 * SEGMENT);
        (told, numbers(&self.leave(at)))
    }
}

#[test]
fn the_probe_of_figure_1_finds_two_losses_and_an_acknowledgement_one_more() {
    let mut bench = Bench::new();
    assert_eq!(numbers(&bench.write(100, 4)), [1, 2, 3, 4]);
    bench.hear(200, &ranges(2, &[]));
    // Events 3a and 3b: two round trips later, the highest.
    let (told, left) = bench.expire(400);
    assert_eq!((told, left), (None, vec![4]));
    // Events 5a to 5c.
    let (told, left) = bench.hear(500, &ranges(2, &[(4, 5)]));
    assert_eq!((told.lost, told.event), (vec![2, 3], Some(CongestionEvent::Loss)));
    assert_eq!(left, [2, 3]);
    // Events 7a and 7b: within recovery the window for reordering is zero.
    let (told, left) = bench.hear(600, &ranges(2, &[(3, 5)]));
    assert_eq!((told.lost, told.recovery), (vec![2], Recovery::Fast));
    assert_eq!(left, [2]);
    let (told, _) = bench.hear(700, &ranges(5, &[]));
    assert_eq!(told.event, Some(CongestionEvent::RecoveryEnd));
}

#[test]
fn no_second_probe_leaves_before_the_first_is_answered() {
    let mut bench = Bench::new();
    bench.write(100, 1);
    // The probe, and the time-out from then on.
    assert_eq!(bench.expire(325).1, [1]);
    // New data schedules no probe.
    assert_eq!(numbers(&bench.write(1300, 2)), [2, 3]);
    let (told, left) = bench.expire(1325);
    let told = told.expect("a time-out");
    assert_eq!((told.lost, told.recovery, left), (vec![1], Recovery::Timeout, vec![1]));
}

#[test]
fn a_time_out_takes_no_young_segment_for_lost() {
    // §3.5: two segments leave right before the first times out.
    let mut bench = Bench::new();
    bench.write(100, 2);
    bench.hear(200, &ranges(1, &[(2, 3)]));
    let (told, left) = bench.expire(225);
    assert_eq!((told.expect("a loss").lost, left), (vec![1], vec![1]));
    assert_eq!(numbers(&bench.write(1200, 2)), [3, 4]);
    let (told, left) = bench.expire(1225);
    let told = told.expect("a time-out");
    assert_eq!((told.lost, told.recovery, left), (vec![1], Recovery::Timeout, vec![1]));
}

#[test]
fn the_first_and_the_last_of_three_are_repaired_without_the_timer() {
    // §9.1 example 1, with segments 30 ms apart.
    let mut bench = Bench::new();
    for (at, number) in [(100, 1), (130, 2), (160, 3)] {
        assert_eq!(numbers(&bench.write(at, 1)), [number]);
    }
    let (told, left) = bench.hear(230, &ranges(1, &[(2, 3)]));
    assert_eq!((told.lost, left), (vec![1], vec![1]));
    let (told, left) = bench.hear(330, &ranges(3, &[]));
    assert_eq!((told.lost, left), (vec![3], vec![3]));
}

#[test]
fn a_lost_retransmission_is_found_by_the_next() {
    // §9.1 example 2.
    let mut bench = Bench::new();
    for at in [100, 130, 160] {
        bench.write(at, 1);
    }
    let (told, left) = bench.hear(260, &ranges(1, &[(3, 4)]));
    assert_eq!((told.lost, left), (vec![1, 2], vec![1, 2]));
    let (told, left) = bench.hear(360, &ranges(1, &[(2, 4)]));
    assert_eq!((told.lost, left), (vec![1], vec![1]));
}

#[test]
fn what_comes_late_within_a_quarter_of_a_round_trip_is_not_lost() {
    // §9.1 example 3.
    let mut bench = Bench::new();
    bench.write(100, 3);
    let (told, _) = bench.hear(200, &ranges(1, &[(3, 4)]));
    assert_eq!(told.lost, Vec::<u64>::new());
    let (told, _) = bench.hear(224, &ranges(4, &[]));
    assert_eq!((told.lost, told.event), (vec![], None));
    // And outside of it, where reordering was seen: three ranges do not suffice.
    bench.write(300, 5);
    let (told, _) = bench.hear(400, &ranges(4, &[(5, 9)]));
    assert_eq!(told.lost, Vec::<u64>::new());
    let (told, left) = bench.expire(425);
    assert_eq!((told.expect("a loss").lost, left), (vec![4], vec![4]));
}

#[test]
fn three_ranges_begin_recovery_where_no_reordering_was_seen() {
    let mut bench = Bench::new();
    bench.write(100, 5);
    let (told, _) = bench.hear(200, &ranges(1, &[(2, 4)]));
    assert_eq!(told.lost, Vec::<u64>::new());
    let (told, left) = bench.hear(201, &ranges(1, &[(2, 5)]));
    assert_eq!((told.lost, left), (vec![1], vec![1]));
}

/// The last of two is lost or late, and its probe leaves; numbers 1 and 2.
fn probed() -> Bench {
    let mut bench = Bench::new();
    bench.write(100, 2);
    bench.hear(200, &ranges(2, &[]));
    // One segment is outstanding: the receiver may delay its acknowledgement.
    assert_eq!(bench.expire(425).1, [2]);
    bench
}

#[test]
fn a_loss_that_the_probe_repairs_is_told_with_the_next_acknowledgement() {
    let mut bench = probed();
    let (told, _) = bench.hear(525, &ranges(3, &[]));
    assert_eq!(told.event, None);
    bench.write(600, 1);
    let (told, _) = bench.hear(700, &ranges(4, &[]));
    assert_eq!((told.event, told.recovery), (Some(CongestionEvent::Loss), Recovery::Fast));
}

#[test]
fn a_probe_for_nothing_is_no_loss() {
    let mut told_twice = ranges(3, &[]);
    told_twice.duplicate = Some(SeqRange { start: 2, end: 3 });
    for second in [told_twice, ranges(3, &[])] {
        let mut bench = probed();
        bench.hear(430, &ranges(3, &[]));
        // With nothing outstanding the law has nothing to hear.
        assert_eq!(bench.sender.acknowledge(525 * MS, &second), None);
        bench.write(600, 1);
        let (told, _) = bench.hear(700, &ranges(4, &[]));
        assert_eq!(told.event, None);
    }
}

#[test]
fn a_second_probe_awaits_a_round_trip_measured_anew() {
    let mut bench = probed();
    let (told, _) = bench.hear(525, &ranges(3, &[]));
    assert_eq!(told.rtt, None);
    bench.write(600, 1);
    let rto = bench.sender.timer().rto();
    assert_eq!(bench.sender.deadline(), Some(600e6 + rto));
}

#[test]
fn each_round_trip_with_duplicates_adds_a_quarter_until_sixteen_recoveries_have_passed() {
    let mut bench = Bench::new();
    bench.write(100, 3);
    bench.hear(200, &ranges(1, &[(3, 4)]));
    bench.hear(210, &ranges(4, &[]));
    let mut at = 300;
    let mut number = 4;
    // Two D-SACKs in one round trip count once: the window is two quarters, then three.
    for quarters in [2, 3] {
        for _ in 0..2 {
            bench.write(at, 1);
            number += 1;
            let mut ack = ranges(number, &[]);
            if number % 2 == 1 {
                ack.duplicate = Some(SeqRange { start: 0, end: 1 });
            }
            bench.hear(at + 100, &ack);
            at += 200;
        }
        bench.write(at, 2);
        let (told, _) = bench.hear(at + 100, &ranges(number, &[(number + 1, number + 2)]));
        assert_eq!(told.lost, Vec::<u64>::new());
        bench.hear(at + 101, &ranges(number + 2, &[]));
        let window = bench.sender.reo_wnd();
        assert!((window / 25e6 - f64::from(quarters)).abs() < 1e-9, "{window}");
        (at, number) = (at + 200, number + 2);
    }
    // Recoveries without a D-SACK.
    for recovery in 1..=16 {
        assert!(bench.sender.reo_wnd() > 74e6, "recovery {recovery}");
        bench.write(at, 2);
        bench.hear(at + 100, &ranges(number, &[(number + 1, number + 2)]));
        let due = bench.sender.deadline().expect("the reordering timer") as u64;
        let (told, left) = bench.expire(due / MS);
        assert_eq!((told.expect("a loss").lost, left), (vec![number], vec![number]));
        at = due / MS + 100;
        number += 2;
        bench.hear(at, &ranges(number, &[]));
        at += 100;
    }
    assert!((bench.sender.reo_wnd() / 25e6 - 1.0).abs() < 1e-9);
}
