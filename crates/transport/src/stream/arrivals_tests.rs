//! What a count of arrivals proves lost, against what did arrive: over random losses both ways, with acknowledgements that
//! reports overtake and with time-outs. The machine's own books are recounted in `tests.rs`.

use std::collections::{BTreeSet, VecDeque};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use tailback_core::{
    Bytes, CongestionEvent, Echoes, FlowId, LowRange, PairPosition, Recovery, SeqRange, Span, Time,
};

use super::{Ack, LossRecovery, Room};
use crate::config::StreamConfig;
use crate::receiver::reassembly::Reassembly;

const SIZE: u64 = 1000;

/// What is on its way to the receiver, in order.
#[derive(Clone, Copy, Debug)]
enum Forth {
    /// A number, and which transmission of it.
    Data(u64, u8),
    Mark(Time),
}

/// An acknowledgement on its way back.
#[derive(Clone, Debug)]
struct Back {
    number: u64,
    blocks: Vec<SeqRange>,
    trigger: u64,
}

/// A sender's machine and its receiver, with queues between them that keep their order.
struct Path {
    machine: LossRecovery,
    config: StreamConfig,
    receiver: Reassembly,
    forth: VecDeque<Forth>,
    acks: VecDeque<Back>,
    reports: VecDeque<(Time, u64)>,
    now: Time,
    window: u64,
    sent: u64,
    arrived: u64,
    /// Transmissions that arrived.
    there: BTreeSet<(u64, u8)>,
    proven: usize,
    /// There is no new data.
    closed: bool,
}

impl Path {
    fn new(config: StreamConfig) -> Self {
        Self {
            machine: LossRecovery::new(FlowId(0), &config),
            config,
            receiver: Reassembly::default(),
            forth: VecDeque::new(),
            acks: VecDeque::new(),
            reports: VecDeque::new(),
            now: Time::ZERO,
            window: 4 * SIZE,
            sent: 0,
            arrived: 0,
            there: BTreeSet::new(),
            proven: 0,
            closed: false,
        }
    }

    fn after(&mut self, millis: u64) {
        self.now += Span::from_millis(millis);
    }

    /// Sends what the window allows, at most so many; their numbers.
    fn send(&mut self, most: usize) -> Vec<u64> {
        let mut numbers = Vec::new();
        while numbers.len() < most {
            self.machine.settle();
            let new = if self.closed { 0 } else { SIZE as u16 };
            let room = Room { window: self.window, receive_window: u64::MAX, new };
            let choice = self.machine.choose(&room, &self.config);
            let number = match choice.again() {
                Some(number) => {
                    assert!(
                        !self.machine.ring.get(number).is_sacked(),
                        "what arrived is never retransmitted"
                    );
                    self.machine.retransmitted(self.now, choice, 0, PairPosition::Single, &self.config);
                    number
                }
                None if choice == super::Choice::New => {
                    let number = self.machine.end();
                    let size = SIZE as u16;
                    self.machine.sent_new(self.now, size, 0, PairPosition::Single, &self.config);
                    number
                }
                None => break,
            };
            self.sent += SIZE;
            self.forth.push_back(Forth::Data(number, self.machine.ring.get(number).transmissions));
            numbers.push(number);
        }
        numbers
    }

    fn mark(&mut self) {
        self.machine.mark(self.now, self.sent);
        self.forth.push_back(Forth::Mark(self.now));
    }

    /// Whether neither a mark nor a report is on its way.
    fn is_unmarked(&self) -> bool {
        self.reports.is_empty() && !self.forth.iter().any(|next| matches!(next, Forth::Mark(_)))
    }

    /// What is next on the way forth is lost.
    fn lose(&mut self) {
        self.forth.pop_front();
    }

    /// What is next on the way forth arrives; `times` is 2 where the network makes a copy.
    fn arrive(&mut self, times: u32) {
        match self.forth.pop_front() {
            Some(Forth::Data(number, transmission)) => {
                for _ in 0..times {
                    self.arrived += SIZE;
                    self.there.insert((number, transmission));
                    self.receiver.arrive(number, SIZE, SIZE - 40);
                    let mut lows = [LowRange::default(); 4];
                    let count = usize::from(self.receiver.report(&mut lows, 3));
                    let number = self.receiver.next();
                    let blocks = lows[..count].iter().map(|low| low.above(number)).collect();
                    self.acks.push_back(Back { number, blocks, trigger: number });
                }
            }
            Some(Forth::Mark(at)) => self.reports.push_back((at, self.arrived)),
            None => {}
        }
    }

    fn ack(&mut self, lost: bool) {
        if let Some(back) = self.acks.pop_front().filter(|_| !lost) {
            let Back { number, blocks, trigger } = back;
            let ack = Ack {
                number,
                blocks: &blocks,
                trigger: Some(trigger),
                echo: None,
                arrived: None,
                flags: Echoes::NONE,
                marks: None,
            };
            self.machine.on_ack(self.now, &ack, &self.config);
        }
    }

    /// The next report; what it proves lost, and the event.
    fn report(&mut self) -> (Vec<u64>, Option<CongestionEvent>) {
        let Some((echo, arrived)) = self.reports.pop_front() else { return (Vec::new(), None) };
        let Some(outcome) = self.machine.on_count(self.now, echo, arrived, &self.config) else {
            return (Vec::new(), None);
        };
        let lost: Vec<u64> = self.machine.lost().iter().map(|lost| lost.number).collect();
        self.proven += lost.len();
        (lost, outcome.event)
    }

    /// Everything on its way arrives, acknowledgements before reports.
    fn settle(&mut self) {
        while !self.forth.is_empty() {
            self.arrive(1);
        }
        while !self.acks.is_empty() {
            self.ack(false);
        }
    }

    /// A first count, so that the books are known, and a round trip later.
    fn opened(mut self) -> Self {
        self.window = SIZE;
        self.send(1);
        self.mark();
        self.after(40);
        self.settle();
        assert_eq!(self.report().0, [0; 0]);
        self
    }
}

#[test]
fn a_window_of_one_is_repaired_by_the_next_count() {
    let mut path = Path::new(StreamConfig::default()).opened();
    assert_eq!(path.send(1), [1]);
    path.lose();
    path.after(10);
    path.mark();
    path.after(40);
    path.settle();
    assert_eq!(path.report(), (vec![1], Some(CongestionEvent::Loss)));
    assert_eq!(path.machine.state, Recovery::Fast);
    assert_eq!(path.send(2), [1], "at once, and nothing beyond the window");
    // The repair is lost as well, which SACK does not notice: a second indication of congestion.
    path.lose();
    path.after(10);
    path.mark();
    path.after(40);
    path.settle();
    assert_eq!(path.report(), (vec![1], Some(CongestionEvent::Loss)));
    assert_eq!(path.send(2), [1]);
    path.after(40);
    path.settle();
    assert!(path.machine.is_idle());
}

#[test]
fn a_repair_after_the_timer_is_found_lost_too() {
    let mut path = Path::new(StreamConfig::default()).opened();
    path.send(1);
    path.lose();
    path.now = path.machine.deadline();
    path.machine.on_timeout(path.now, &path.config);
    assert_eq!(path.send(1), [1]);
    path.lose();
    path.after(10);
    path.mark();
    path.after(40);
    path.settle();
    assert_eq!(path.report(), (vec![1], Some(CongestionEvent::Loss)));
    assert_eq!(path.send(1), [1]);
}

#[test]
fn acknowledgements_on_their_way_are_waited_for() {
    let mut path = Path::new(StreamConfig::default()).opened();
    path.window = 3 * SIZE;
    assert_eq!(path.send(3), [1, 2, 3]);
    path.after(10);
    path.mark();
    path.after(40);
    path.arrive(1);
    path.lose();
    path.arrive(1);
    path.arrive(1);
    // The report overtakes both acknowledgements: one segment of three is missing, and it is not known which.
    assert_eq!(path.report().0, [0; 0]);
    path.ack(false);
    path.ack(false);
    path.mark();
    path.after(40);
    path.arrive(1);
    assert_eq!(path.report().0, [2]);
}

#[test]
fn lost_marks_and_reports_do_no_harm() {
    let mut path = Path::new(StreamConfig::default()).opened();
    path.send(1);
    path.lose();
    for lost in ["mark", "report"] {
        path.after(10);
        path.mark();
        path.after(40);
        if lost == "mark" {
            path.lose();
        } else {
            path.settle();
            path.reports.clear();
        }
    }
    path.mark();
    path.after(40);
    path.settle();
    assert_eq!(path.report().0, [1]);
}

#[test]
fn what_may_have_been_overtaken_is_not_retransmitted_yet() {
    let mut path = Path::new(StreamConfig::default()).opened();
    path.send(1);
    // The mark leaves 4 ms behind the data and overtakes it: a tenth of the round trip.
    path.after(4);
    path.mark();
    path.forth.swap(0, 1);
    path.after(40);
    path.arrive(1);
    assert_eq!(path.report().0, [0; 0]);
    path.settle();
    assert!(path.machine.is_idle());
    // So it is known lost only with the second mark, if it is.
    path.send(1);
    path.lose();
    for (proven, apart) in [(vec![], 4), (vec![2], 1)] {
        path.after(apart);
        path.mark();
        path.after(40);
        path.settle();
        assert_eq!(path.report().0, proven);
    }
}

#[test]
fn of_marks_at_one_time_none_says_anything() {
    for marks in 1..4 {
        let mut path = Path::new(StreamConfig::default()).opened();
        path.window = 3 * SIZE;
        path.after(10);
        path.mark();
        assert_eq!(path.send(1), [1]);
        (0..marks).for_each(|_| path.mark());
        assert_eq!(path.send(2), [2, 3]);
        // The first report is of the mark before all data; what it does not count arrives meanwhile, in no time.
        while !path.forth.is_empty() {
            path.arrive(1);
        }
        path.ack(false);
        path.ack(false);
        assert_eq!(path.report().0, [0; 0], "{marks} marks behind the data");
    }
}

#[test]
fn a_count_that_lies_moves_nothing_but_what_is_unacknowledged() {
    for arrived in [0, 1, SIZE, 10 * SIZE, u64::MAX] {
        let mut path = Path::new(StreamConfig::default()).opened();
        path.send(1);
        path.after(10);
        path.mark();
        path.after(40);
        path.settle();
        path.reports[0].1 = arrived;
        assert_eq!(path.report().0, [0; 0], "everything is acknowledged");
        // The lie is in the books now, and true counts are compared with it.
        path.send(1);
        path.after(10);
        path.mark();
        path.after(40);
        path.settle();
        path.report();
        assert!(path.machine.is_idle());
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Wait(u64),
    Send(usize),
    Mark {
        anyway: bool,
    },
    Arrive(u32),
    Lose,
    Ack {
        lost: bool,
    },
    Report {
        lost: bool,
    },
    /// What is on its way arrives, and all acknowledgements of it.
    Calm,
    Expire,
    Window(u64),
}

fn step(copies: bool) -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1_u64..20).prop_map(Step::Wait),
        4 => (1_usize..3).prop_map(Step::Send),
        3 => prop::bool::weighted(0.1).prop_map(|anyway| Step::Mark { anyway }),
        12 => (1..=1 + u32::from(copies)).prop_map(Step::Arrive),
        2 => Just(Step::Lose),
        16 => prop::bool::weighted(0.05).prop_map(|lost| Step::Ack { lost }),
        3 => prop::bool::weighted(0.1).prop_map(|lost| Step::Report { lost }),
        2 => Just(Step::Calm),
        1 => Just(Step::Expire),
        1 => (1_u64..5).prop_map(Step::Window),
    ]
}

/// Takes the steps; how many transmissions that had arrived were proven lost.
fn walk(path: &mut Path, steps: &[Step]) -> usize {
    let mut wrong = 0;
    for step in steps {
        match *step {
            Step::Wait(millis) => path.after(millis),
            Step::Send(most) => drop(path.send(most)),
            // Most of the time one at a time, as schemes have it.
            Step::Mark { anyway } if anyway || path.is_unmarked() => path.mark(),
            Step::Mark { .. } => {}
            Step::Arrive(times) => path.arrive(times),
            Step::Lose => path.lose(),
            Step::Ack { lost } => path.ack(lost),
            Step::Report { lost: true } => drop(path.reports.pop_front()),
            Step::Report { lost: false } => {
                let (lost, _) = path.report();
                let newest = |number: u64| (number, path.machine.ring.get(number).transmissions);
                wrong += lost.iter().filter(|number| path.there.contains(&newest(**number))).count();
            }
            Step::Calm => path.settle(),
            Step::Expire => {
                path.now = path.now.max(path.machine.deadline().finite().unwrap_or(path.now));
                path.machine.on_timeout(path.now, &path.config);
            }
            Step::Window(packets) => path.window = packets * SIZE,
        }
    }
    wrong
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// Where nothing overtakes on the way forth and nothing is duplicated there, no transmission that arrived is ever proven
    /// lost, whatever else is lost, late or repeated by the sender.
    #[test]
    fn nothing_that_arrived_is_proven_lost(
        rescue: bool,
        steps in prop::collection::vec(step(false), 1..600),
    ) {
        let config = StreamConfig { rescue, segment_size: Bytes::new(SIZE), ..StreamConfig::default() };
        let mut path = Path::new(config);
        prop_assert_eq!(walk(&mut path, &steps), 0);
    }

    /// However the network duplicates, the books are right again once everything is settled.
    #[test]
    fn copies_made_by_the_network_are_forgotten(steps in prop::collection::vec(step(true), 1..300)) {
        let mut path = Path::new(StreamConfig { segment_size: Bytes::new(SIZE), ..StreamConfig::default() });
        walk(&mut path, &steps);
        path.reports.clear();
        path.closed = true;
        for _ in 0..1000 {
            path.settle();
            if path.machine.is_idle() {
                break;
            }
            if path.send(1).is_empty() {
                path.now = path.machine.deadline();
                path.machine.on_timeout(path.now, &path.config);
            }
        }
        prop_assert!(path.machine.is_idle());
        path.reports.clear();
        // Of two marks at one time, neither says anything.
        path.after(1);
        path.mark();
        path.settle();
        path.report();
        path.window = SIZE;
        path.closed = false;
        path.send(1);
        path.lose();
        path.after(10);
        path.mark();
        path.after(40);
        path.settle();
        prop_assert_eq!(path.report().0.len(), 1);
    }
}

#[test]
fn random_paths_do_prove_losses() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let steps = prop::collection::vec(step(false), 600..601);
    let proven: usize = (0..50)
        .map(|_| {
            let mut path =
                Path::new(StreamConfig { segment_size: Bytes::new(SIZE), ..StreamConfig::default() });
            let steps = steps.new_tree(&mut runner).expect("a strategy without filters").current();
            walk(&mut path, &steps);
            path.proven
        })
        .sum();
    assert!(proven > 20, "{proven}");
}
