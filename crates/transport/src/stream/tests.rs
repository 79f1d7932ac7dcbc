//! The machine's books against a recount from its records after every step, over random losses, reordering and
//! time-outs; and RFC 6675's definitions, taken literally and slowly, against the incremental ones.

use proptest::prelude::*;
use tailback_control::Reliability;
use tailback_core::{Bytes, Echoes, FlowId, LowRange, PairPosition, Recovery, SeqRange, Span, Time};

use super::{Ack, Choice, LossRecovery, Room};
use crate::config::StreamConfig;
use crate::receiver::reassembly::Reassembly;
use crate::teller::{Books, Next};

/// One step of a random run.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Send what the window allows, at most so many.
    Send(u8),
    /// The packet at this place of those on their way arrives; its acknowledgement arrives, too, or is lost.
    Arrive { at: u8, ack_lost: bool },
    /// The packet at this place is lost.
    Lose(u8),
    /// The timer expires.
    Expire,
    /// The window becomes so many packets.
    Window(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1_u8..6).prop_map(Step::Send),
        10 => (0_u8..4, prop::bool::weighted(0.1)).prop_map(|(at, ack_lost)| Step::Arrive { at, ack_lost }),
        2 => (0_u8..8).prop_map(Step::Lose),
        1 => Just(Step::Expire),
        1 => (1_u8..40).prop_map(Step::Window),
    ]
}

struct Run {
    machine: LossRecovery,
    config: StreamConfig,
    receiver: Reassembly,
    flying: Vec<u64>,
    now: Time,
    window: u64,
    acked: u64,
    /// Numbers below were outstanding at a time-out: lost for another reason than RFC 6675's.
    timed_out: u64,
}

impl Run {
    fn new(config: StreamConfig) -> Self {
        Self {
            machine: LossRecovery::new(FlowId(0), &config),
            config,
            receiver: Reassembly::default(),
            flying: Vec::new(),
            now: Time::ZERO,
            window: 20_000,
            acked: 0,
            timed_out: 0,
        }
    }

    fn send(&mut self, most: u8) {
        for _ in 0..most {
            self.machine.settle();
            let window = self.machine.window(self.window);
            let room = Room { window, receive_window: u64::MAX, new: 1000 };
            let choice = self.machine.choose(&room, &self.config);
            let before = self.machine.in_flight();
            match choice {
                Choice::New | Choice::Probe(None) => {
                    self.flying.push(self.machine.end());
                    self.machine.sent_new(self.now, 1000, 0, PairPosition::Single, &self.config);
                }
                Choice::Forced(number)
                | Choice::Again(number)
                | Choice::Rescue(number)
                | Choice::Probe(Some(number)) => {
                    assert!(
                        !self.machine.ring.get(number).is_sacked(),
                        "what arrived is never retransmitted"
                    );
                    self.flying.push(number);
                    self.machine.retransmitted(self.now, choice, 0, PairPosition::Single, &self.config);
                }
                Choice::WindowFull | Choice::Nothing => return,
            }
            if !matches!(choice, Choice::Forced(_) | Choice::Probe(_)) {
                let after = self.machine.in_flight();
                assert!(after <= window || before == 0, "{choice:?}: {before} -> {after}");
            }
        }
    }

    fn step(&mut self, step: Step) {
        self.now += Span::from_millis(1);
        match step {
            Step::Send(most) => self.send(most),
            Step::Window(packets) => self.window = u64::from(packets) * 1000,
            Step::Lose(at) if !self.flying.is_empty() => {
                self.flying.remove(usize::from(at) % self.flying.len());
            }
            Step::Arrive { at, ack_lost } if !self.flying.is_empty() => {
                let number = self.flying.remove(usize::from(at) % self.flying.len());
                self.receiver.arrive(number, 1000, 960);
                if !ack_lost {
                    self.acknowledge(number);
                }
            }
            Step::Expire => {
                self.now = self.now.max(self.machine.deadline().finite().unwrap_or(self.now));
                if self.machine.on_timeout(self.now, &self.config).is_some() {
                    self.timed_out = self.machine.end();
                }
            }
            Step::Lose(_) | Step::Arrive { .. } => {}
        }
    }

    fn acknowledge(&mut self, trigger: u64) {
        let mut lows = [LowRange::default(); 4];
        let count = usize::from(self.receiver.report(&mut lows, 3));
        let blocks = lows.map(|low| low.above(self.receiver.next()));
        let ack = Ack {
            number: self.receiver.next(),
            blocks: &blocks[..count],
            trigger: Some(trigger),
            echo: None,
            arrived: None,
            flags: Echoes::NONE,
            marks: None,
        };
        if let Some(outcome) = self.machine.on_ack(self.now, &ack, &self.config) {
            self.machine.portion(self.window, &outcome, 1000);
            self.acked += self.machine.acked().len() as u64;
        }
        if let Some((lost, wait)) = self.machine.detect_literally(self.now) {
            assert!(lost.is_empty(), "lost by time, and not found: {lost:?}");
            assert_eq!(wait, self.machine.reordering_left(self.now));
        }
    }

    fn recount(&self) {
        let machine = &self.machine;
        let (first, end) = (machine.first(), machine.end());
        let records: Vec<_> = (first..end).map(|number| (number, *machine.ring.get(number))).collect();
        let pipe: u64 = records.iter().map(|(_, record)| record.in_network()).sum();
        assert_eq!(pipe, machine.pipe);
        assert_eq!(
            records.iter().map(|(_, record)| u64::from(record.size)).sum::<u64>(),
            machine.outstanding
        );
        let sacked: Vec<u64> =
            records.iter().filter(|(_, record)| record.is_sacked()).map(|(number, _)| *number).collect();
        assert_eq!(sacked.len(), machine.sacked as usize);
        let above = sacked.iter().filter(|number| **number >= machine.lost_edge).count();
        assert_eq!(above, machine.sacked_above as usize);
        let is_off = machine.deadline().is_never();
        // Nor does a timer run behind its expiry, before anything has left.
        let is_held = machine.state == Recovery::Timeout && machine.pipe == 0;
        assert!(if first == end { is_off } else { !is_off || is_held });
        if machine.rack().is_some() {
            self.recount_losses_by_time(&records);
        } else if machine.mode == Reliability::Sack {
            self.recount_losses(&sacked);
        }
    }

    /// What is lost and not retransmitted is found by the next choice.
    fn recount_losses_by_time(&self, records: &[(u64, super::Record)]) {
        let machine = &self.machine;
        for (number, record) in records {
            if !record.is_sacked() && record.in_network() == 0 {
                assert_ne!(machine.state, Recovery::Open, "{number} is lost and nobody cares");
                assert!((machine.next_retransmit..machine.lost_edge).contains(number), "{number}");
            }
        }
    }

    /// `IsLost` of RFC 6675 §4 by its definition.
    fn recount_losses(&self, sacked: &[u64]) {
        let machine = &self.machine;
        for number in machine.first().max(self.timed_out)..machine.end() {
            let record = machine.ring.get(number);
            let above = sacked.iter().filter(|other| **other > number).count();
            if !record.is_sacked() && above >= 3 {
                assert!(record.is_lost(), "{number} has {above} above");
            }
            if record.is_lost() {
                assert!(number < machine.lost_edge);
            }
        }
        let first = machine.first();
        if machine.state == Recovery::Open && first < machine.end() {
            let record = machine.ring.get(first);
            let repaired = !record.is_lost() || record.in_network() > 0;
            assert!(repaired || !machine.may_begin(&self.config), "{first} is lost and nobody cares");
        }
    }

    /// Everything is sent and nothing gets lost any more: all of it arrives.
    fn finish(&mut self) {
        for _ in 0..10_000 {
            if self.machine.is_idle() {
                return;
            }
            self.now += Span::from_millis(1);
            if let Some(number) = (!self.flying.is_empty()).then(|| self.flying.remove(0)) {
                self.receiver.arrive(number, 1000, 960);
                self.acknowledge(number);
            } else if let Some(due) = self.machine.deadline().finite() {
                self.now = due;
                self.machine.on_timeout(self.now, &self.config);
            }
            self.recount();
            self.machine.settle();
            let room = Room { window: self.machine.window(self.window), receive_window: u64::MAX, new: 0 };
            while let choice @ (Choice::Forced(number)
            | Choice::Again(number)
            | Choice::Rescue(number)
            | Choice::Probe(Some(number))) = self.machine.choose(&room, &self.config)
            {
                self.flying.push(number);
                self.machine.retransmitted(self.now, choice, 0, PairPosition::Single, &self.config);
                self.machine.settle();
            }
        }
        panic!("never finished");
    }
}

fn modes() -> impl Strategy<Value = Reliability> {
    prop_oneof![
        Just(Reliability::Reno),
        Just(Reliability::NewReno),
        Just(Reliability::Vegas),
        Just(Reliability::Sack),
        Just(Reliability::Offsets)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn the_books_balance(
        reliability in modes(),
        limited_transmit: bool,
        keep_scoreboard: bool,
        rescue: bool,
        impatient: bool,
        one_recovery_per_window: bool,
        careful in prop::option::of(any::<bool>()),
        lost_retransmissions: bool,
        proportional: bool,
        by_time: bool,
        steps in prop::collection::vec(step(), 1..400),
    ) {
        let config = StreamConfig {
            reliability,
            limited_transmit,
            keep_scoreboard,
            rescue,
            impatient,
            one_recovery_per_window,
            careful,
            lost_retransmissions,
            proportional_rate_reduction: proportional && reliability == Reliability::Sack,
            loss_detection: if by_time && reliability == Reliability::Sack {
                crate::LossDetection::Rack(crate::RackConfig::default()).into()
            } else {
                crate::LossDetection::DupAcks.into()
            },
            segment_size: Bytes::new(1000),
            ..StreamConfig::default()
        };
        let mut run = Run::new(config);
        for step in steps {
            run.step(step);
            run.recount();
        }
        run.finish();
        prop_assert_eq!(run.acked, run.machine.end(), "each packet is told acknowledged once");
        prop_assert_eq!(run.machine.in_flight(), 0);
    }
}

#[test]
fn memory_is_given_back_after_a_long_window() {
    let mut run = Run::new(StreamConfig::default());
    run.window = 20_000_000;
    for _ in 0..100 {
        run.send(200);
    }
    run.step(Step::Expire);
    assert_eq!(run.machine.lost().len(), 20_000);
    // The acknowledgement of everything but the last segment, and of that.
    for number in [run.machine.end() - 1, run.machine.end()] {
        let ack = Ack {
            number,
            blocks: &[],
            trigger: None,
            echo: None,
            arrived: None,
            flags: Echoes::NONE,
            marks: None,
        };
        assert!(run.machine.on_ack(run.now, &ack, &run.config).is_some());
    }
    assert!(run.machine.acked.capacity() <= 128 && run.machine.lost.capacity() <= 128);
    assert!(run.machine.ring.capacity() <= 16);
}

/// Ten segments at 0 ms, the first of which is lost, and so is its retransmission at 40 ms; one more leaves `later` and its
/// acknowledgement comes 40 ms after it. What is lost by then.
fn lost_twice(lost_retransmissions: bool, later: Span) -> (Run, Vec<u64>) {
    let mut run = Run::new(StreamConfig { lost_retransmissions, ..StreamConfig::default() });
    run.send(10);
    run.flying.remove(0);
    run.now = Time::ZERO + Span::from_millis(40);
    for number in [1, 2, 3] {
        run.flying.retain(|flying| *flying != number);
        run.receiver.arrive(number, 1000, 960);
        run.acknowledge(number);
    }
    assert_eq!(run.machine.lost().iter().map(|lost| lost.number).collect::<Vec<_>>(), [0]);
    run.send(1);
    assert_eq!(run.flying.pop(), Some(0), "retransmitted, and lost again");
    run.now += later;
    run.send(1);
    let newest = run.flying.pop().expect("the window has room");
    run.now += Span::from_millis(40);
    run.receiver.arrive(newest, 1000, 960);
    run.acknowledge(newest);
    run.recount();
    let lost = run.machine.lost().iter().map(|lost| lost.number).collect();
    (run, lost)
}

/// RFC 8985 §6.2: what left 20 ms later has arrived, and the retransmission has not.
#[test]
fn a_retransmission_that_was_overtaken_is_lost() {
    let (mut run, lost) = lost_twice(true, Span::from_millis(20));
    assert_eq!(lost, [0]);
    run.send(1);
    assert_eq!(run.flying.last(), Some(&0), "it leaves a third time");
    run.finish();
}

/// An eighth of 40 ms is 5 ms: what left later by that may have overtaken (RFC 8985 §6.2 asks for more), by a nanosecond
/// more not.
#[test]
fn a_little_reordering_loses_no_retransmission() {
    let window = Span::from_millis(5);
    assert!(lost_twice(true, window - Span::from_nanos(1)).1.is_empty());
    assert!(lost_twice(true, window).1.is_empty());
    assert_eq!(lost_twice(true, window + Span::from_nanos(1)).1, [0]);
}

/// The same where one that was overtaken stands before: 0 leaves again at 40 ms, 1 at 41 ms, and what left at 46 ms arrives.
#[test]
fn each_retransmission_has_a_reordering_window_of_its_own() {
    let mut run = Run::new(StreamConfig { lost_retransmissions: true, ..StreamConfig::default() });
    run.send(10);
    run.now += Span::from_millis(40);
    for number in [2, 3, 4] {
        run.receiver.arrive(number, 1000, 960);
        run.acknowledge(number);
    }
    run.flying.clear();
    for wait in [1, 5, 40] {
        run.send(1);
        run.now += Span::from_millis(wait);
    }
    assert_eq!(run.flying, [0, 1, 10]);
    run.receiver.arrive(10, 1000, 960);
    run.acknowledge(10);
    assert_eq!(run.machine.lost().iter().map(|lost| lost.number).collect::<Vec<_>>(), [0]);
}

/// Two segments leave, and leave again after a time-out, 100 ms apart; then the second arrives: which copy, nobody can tell
/// who has measured no round trip. What is lost by that.
fn arrived_before_any_sample(measured: bool) -> Vec<u64> {
    let mut run = Run::new(StreamConfig { lost_retransmissions: true, ..StreamConfig::default() });
    if measured {
        run.send(1);
        run.now += Span::from_millis(10);
        run.flying.clear();
        run.receiver.arrive(0, 1000, 960);
        run.acknowledge(0);
    }
    run.send(2);
    let [first, second] = run.flying[..] else { panic!("two leave") };
    run.step(Step::Expire);
    run.window = 1000;
    run.send(1);
    run.now += Span::from_millis(100);
    run.window = 2000;
    run.send(1);
    assert_eq!(run.flying[2..], [first, second], "again, in order");
    run.now += Span::from_millis(20);
    run.receiver.arrive(second, 1000, 960);
    run.acknowledge(second);
    assert_eq!(run.machine.rtt.least().is_some(), measured);
    run.recount();
    run.machine.lost().iter().map(|lost| lost.number - first).collect()
}

/// RFC 8985 §6.2 step 2: it may be the first copy that has arrived, which overtook nothing.
#[test]
fn before_any_sample_what_was_sent_twice_proves_no_loss() {
    assert!(arrived_before_any_sample(false).is_empty());
    assert_eq!(arrived_before_any_sample(true), [0], "20 ms are more than the least round trip of 10 ms");
}

#[test]
fn by_rfc_6675_a_lost_retransmission_waits_for_the_timer() {
    assert!(lost_twice(false, Span::from_millis(20)).1.is_empty());
}

/// Nothing is ever acknowledged, and every time-out sends the whole window again.
#[test]
fn in_a_long_silence_no_more_retransmissions_are_remembered_than_matter() {
    let mut run = Run::new(StreamConfig { lost_retransmissions: true, ..StreamConfig::default() });
    run.send(20);
    for _ in 0..1000 {
        run.step(Step::Expire);
        run.send(20);
    }
    assert_eq!(run.machine.end() - run.machine.first(), 20);
    assert!(run.flying.len() > 10_000, "{} left", run.flying.len());
    assert!(run.machine.remembered() <= 2 * 20 + 64, "{} remembered", run.machine.remembered());
}

/// Which acknowledgements of ranges are read straight: those that tell of one segment more at the end of the newest range.
#[test]
fn one_segment_more_beyond_a_hole_is_read_straight() {
    let config = StreamConfig { reliability: Reliability::Sack, ..StreamConfig::default() };
    let mut machine = LossRecovery::new(FlowId(0), &config);
    for _ in 0..20 {
        machine.sent_next(Time::ZERO, 1000, 0, &config);
    }
    let now = Time::ZERO + Span::from_millis(10);
    let mut read = |number: u64, ranges: &[(u64, u64)]| {
        let ranges: Vec<_> = ranges.iter().map(|&(start, end)| SeqRange { start, end }).collect();
        let mut next = Next::EMPTY;
        let read = machine.on_beyond(now, number, &ranges[..], &config, &mut next);
        read.then_some((next.acked.number, next.event))
    };
    assert_eq!(read(0, &[]), None, "nothing is said");
    assert_eq!(read(1, &[(3, 4)]), None, "the oldest is acknowledged");
    assert_eq!(read(0, &[(3, 5)]), None, "two more");
    assert_eq!(read(0, &[(3, 4)]), Some((3, None)), "a range begins");
    assert_eq!(read(0, &[(3, 4)]), None, "that is known");
    assert_eq!(read(0, &[(3, 5)]), Some((4, None)), "it grows");
    assert_eq!(read(0, &[(2, 5)]), None, "it grows at its begin");
    assert_eq!(read(0, &[(7, 8), (3, 6)]), None, "the other range is longer than known");
    let loss = Some(tailback_core::CongestionEvent::Loss);
    assert_eq!(read(0, &[(7, 8), (3, 5)]), Some((7, loss)), "three beyond the hole");
    assert_eq!(read(0, &[(7, 9), (3, 5)]), Some((8, None)));
    assert_eq!(read(0, &[(7, 21), (3, 5)]), None, "that was never sent");
    assert_eq!(machine.outstanding(), 20_000);
    assert_eq!(machine.in_flight(), 13_000, "four have arrived, and 0, 1 and 2 are lost");
}
