//! A sender of datagrams written a second time around the second shaper (`shaper.rs`), from `docs/packet-walk.md`, what
//! `DatagramConfig` says of its fields and `Directive` of its own, and both under a law that directs something else at any packet
//! that leaves, any acknowledgement and any call of its timer. Every packet, and every time at which they want to be called,
//! must be the same.

use std::collections::VecDeque;

use proptest::prelude::*;
use tailback_core::{
    Annexes, AppInput, BitRate, Bytes, Controller, Cx, Directive, Endpoint, EndpointCx, Feedback, FlowId,
    Gate, Input, Kind, Lane, Output, Packet, PairPosition, Sent, Stream, Time,
};
use tailback_transport::source::Pushed;
use tailback_transport::{DatagramConfig, DatagramSender};

use super::shaped::directives;
use super::shaper::{NEVER, Shaper};

const FLOW: FlowId = FlowId(0);
const PACKET: u64 = 1000;
const HEADER: u64 = 40;
/// Later than any packet waits for its partner.
const BEGIN: u64 = 10_000_000;

/// Directs another of its directives, or goes on, whenever it hears of anything.
#[derive(Clone, Debug)]
struct Law {
    said: Vec<Directive>,
    turns: Vec<Option<usize>>,
    heard: usize,
    current: usize,
    period: u64,
    timer: u64,
}

impl Law {
    fn turn(&mut self) {
        if let Some(which) = self.turns[self.heard % self.turns.len()] {
            self.current = which % self.said.len();
        }
        self.heard += 1;
    }

    fn directed(&self) -> Directive {
        self.said[self.current]
    }

    fn timer(&mut self, now: u64) {
        self.timer = now + self.period;
        self.turn();
    }
}

impl Controller for Law {
    fn on_sent(&mut self, _: Time, _: &mut Sent, _: &mut Cx<'_>) {
        self.turn();
    }

    fn on_feedback(&mut self, _: Time, _: &Feedback<'_>, _: &mut Cx<'_>) {
        self.turn();
    }

    fn on_timer(&mut self, now: Time, _: &mut Cx<'_>) {
        self.timer(now.as_nanos());
    }

    fn next_timer(&self) -> Option<Time> {
        Some(Time::from_nanos(self.timer))
    }

    fn directive(&self) -> Directive {
        self.directed()
    }
}

/// What is to be seen of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Data { number: u64, size: u64, place: PairPosition },
    Padding { number: u64, size: u64 },
    Control { pair: u64, out_of_band: bool },
}

/// The second writing.
struct Post {
    law: Law,
    shaper: Option<Shaper>,
    acks: bool,
    /// What is left of each offer.
    queue: VecDeque<u64>,
    endless: bool,
    number: u64,
    in_flight: VecDeque<u64>,
    wake: u64,
}

impl Post {
    fn new(law: Law, acks: bool) -> Self {
        Self {
            law,
            shaper: None,
            acks,
            queue: VecDeque::new(),
            endless: false,
            number: 0,
            in_flight: VecDeque::new(),
            wake: NEVER,
        }
    }

    fn obey(&mut self, now: u64, rng: &mut Stream) {
        let directive = self.law.directed();
        let Directive { rate, gate, probe, media, .. } = directive;
        let more_than_a_window = rate.is_some() || probe.is_some() || media.is_some() || gate != Gate::Open;
        if self.shaper.is_none() && more_than_a_window {
            self.shaper = Some(Shaper::new(now, PACKET));
        }
        if let Some(shaper) = &mut self.shaper {
            if self.endless {
                shaper.never_ends();
            }
            shaper.direct(now, &directive, rng);
        }
    }

    fn is_open(&self) -> bool {
        self.law.directed().gate == Gate::Open
    }

    fn write(&mut self, now: u64, bytes: u64, rng: &mut Stream) {
        if bytes == u64::MAX {
            self.endless = true;
            self.obey(now, rng);
        } else if self.is_open() {
            self.queue.push_back(bytes);
        }
    }

    fn acknowledge(&mut self, now: u64, rng: &mut Stream) {
        self.in_flight.pop_front();
        self.law.turn();
        self.obey(now, rng);
    }

    fn expire(&mut self, now: u64, rng: &mut Stream) {
        if now >= self.law.timer {
            self.law.timer(now);
            self.obey(now, rng);
        }
    }

    fn called(&mut self, now: u64) {
        if let Some(shaper) = self.shaper.as_mut().filter(|_| self.wake < now) {
            shaper.called_late(self.wake, now);
        }
    }

    /// The sizes of the datagrams that wait, as far as two.
    fn waiting(&self) -> Vec<u64> {
        let whole = PACKET - HEADER;
        let mut sizes = Vec::new();
        for offer in &self.queue {
            let mut left = *offer;
            while left > 0 && sizes.len() < 2 {
                sizes.push(HEADER + left.min(whole));
                left -= left.min(whole);
            }
        }
        sizes.resize(if self.endless { 2 } else { sizes.len() }, PACKET);
        sizes
    }

    fn fits(&self, size: u64) -> bool {
        let window = self.law.directed().window.map_or(u64::MAX, Bytes::get);
        let in_flight: u64 = self.in_flight.iter().sum();
        !self.acks || in_flight + size <= window || in_flight == 0 && window > 0
    }

    /// What leaves now.
    fn next(&mut self, now: u64, rng: &mut Stream) -> Option<Left> {
        if !self.is_open() {
            self.queue.clear();
        }
        if let Some((pair, out_of_band)) = self.shaper.as_mut().and_then(Shaper::take_control) {
            return Some(Left::Control { pair, out_of_band });
        }
        self.wake = NEVER;
        let waiting = self.waiting();
        let Some(size) = waiting.first().copied().filter(|size| self.fits(*size)) else {
            let shaper = self.shaper.as_mut()?;
            shaper.pass();
            if self.acks || !waiting.is_empty() || !shaper.pads() {
                return None;
            }
            if let Err(at) = shaper.ask(now, PACKET, None, Some(0), rng) {
                self.wake = at;
                return None;
            }
            let number = self.leaves(now, rng);
            return Some(Left::Padding { number, size: PACKET });
        };
        let behind = waiting.get(1).copied().filter(|behind| self.fits(size + behind));
        let place = match &mut self.shaper {
            None => PairPosition::Single,
            Some(shaper) => {
                let behind = behind.filter(|_| shaper.wants_pairs());
                match shaper.ask(now, size, behind, None, rng) {
                    Ok(place) => place,
                    Err(at) => {
                        self.wake = at;
                        return None;
                    }
                }
            }
        };
        let number = self.leaves(now, rng);
        if self.acks {
            self.in_flight.push_back(size);
        }
        if let Some(front) = self.queue.front_mut() {
            *front -= size - HEADER;
            if *front == 0 {
                self.queue.pop_front();
            }
        }
        Some(Left::Data { number, size, place })
    }

    /// The law hears of a packet.
    fn leaves(&mut self, now: u64, rng: &mut Stream) -> u64 {
        self.law.turn();
        self.obey(now, rng);
        self.number += 1;
        self.number - 1
    }
}

/// What happens after a pause.
#[derive(Clone, Copy, Debug)]
enum Happens {
    Nothing,
    Writes(u64),
    WritesForEver,
    Acknowledged,
}

/// Both senders; all times are asked of ours, and are the second's.
struct Both {
    ours: DatagramSender<Law, Pushed>,
    post: Post,
    rng: (Stream, Stream),
    annexes: Annexes,
    acknowledged: u64,
    /// When both want to be called.
    due: u64,
    /// What left, and when.
    left: Vec<(u64, Left)>,
}

impl Both {
    fn new(law: &Law, acks: bool) -> Self {
        let config = DatagramConfig { acks, ..DatagramConfig::default() };
        let mut both = Self {
            ours: DatagramSender::new(FLOW, config, law.clone(), Pushed::default()),
            post: Post::new(law.clone(), acks),
            rng: (Stream::new(1, "tokens"), Stream::new(1, "tokens")),
            annexes: Annexes::new(),
            acknowledged: 0,
            due: NEVER,
            left: Vec::new(),
        };
        both.hear(BEGIN, Input::App(AppInput::Start), |post, rng| post.obey(BEGIN, rng));
        both
    }

    fn hear(&mut self, now: u64, input: Input, second: impl FnOnce(&mut Post, &mut Stream)) {
        let time = Time::from_nanos(now);
        let mut cx = EndpointCx { rng: &mut self.rng.0, annexes: &mut self.annexes, notes: None };
        self.ours.handle(time, input, &mut cx);
        self.post.called(now);
        second(&mut self.post, &mut self.rng.1);
        loop {
            let (found, due) = match self.ours.poll(time, &mut cx) {
                Output::Event(_) => continue,
                Output::Wait(at) => (None, at.map_or(NEVER, Time::as_nanos)),
                Output::Transmit(packet) => {
                    let (number, size) = (packet.number, packet.size().get());
                    let _ = cx.take_annex(&packet);
                    let left = match packet.kind() {
                        Kind::Data => Left::Data { number, size, place: packet.pair() },
                        Kind::Control if size == HEADER => {
                            Left::Control { pair: number, out_of_band: packet.lane() == Lane::OUT_OF_BAND }
                        }
                        _ => Left::Padding { number, size },
                    };
                    (Some(left), NEVER)
                }
            };
            let expected = self.post.next(now, &mut self.rng.1);
            assert_eq!(found, expected, "at {now}, ours and the second writing, after {:?}", self.left);
            let Some(left) = found else {
                self.due = due;
                assert_eq!(due, self.post.wake.min(self.post.law.timer), "when both want to be called");
                break;
            };
            self.left.push((now, left));
            if self.left.len() > 3000 {
                break;
            }
        }
        let (closings, closed, since) = self.post.shaper.as_ref().map_or((0, 0, None), Shaper::gate);
        let gate = self.ours.observe().gate;
        let found = (gate.closings, gate.closed.as_nanos(), gate.closed_since.map(Time::as_nanos));
        assert_eq!(found, (closings, closed, since));
    }

    /// Calls both when they want to be, or so much later, until then.
    fn wait(&mut self, mut now: u64, until: u64, late: u64) {
        for _ in 0..300 {
            let at = self.due.saturating_add(late).max(now);
            if at > until {
                break;
            }
            now = at;
            self.hear(now, Input::Timeout, |post, rng| post.expire(now, rng));
        }
    }

    fn happens(&mut self, now: u64, what: Happens) {
        match what {
            Happens::Nothing => {}
            Happens::Writes(bytes) => {
                let input = Input::App(AppInput::Write(Bytes::new(bytes)));
                self.hear(now, input, |post, rng| post.write(now, bytes, rng));
            }
            Happens::WritesForEver => {
                let input = Input::App(AppInput::Write(Bytes::MAX));
                self.hear(now, input, |post, rng| post.write(now, u64::MAX, rng));
            }
            Happens::Acknowledged if self.post.in_flight.is_empty() => {}
            Happens::Acknowledged => {
                let mut numbers = self.left.iter().filter_map(|(_, left)| match left {
                    Left::Data { number, .. } => Some(*number),
                    _ => None,
                });
                let number = numbers.nth(self.acknowledged as usize).expect("one is in flight");
                self.acknowledged += 1;
                let packet = Packet::new(Kind::Ack, FLOW, number + 1, Bytes::new(HEADER));
                self.hear(now, Input::Packet(packet), |post, rng| post.acknowledge(now, rng));
            }
        }
    }
}

fn compare(law: &Law, acks: bool, steps: &[(u64, u64, Happens)]) {
    let (mut both, mut now) = (Both::new(law, acks), BEGIN);
    for &(pause, late, what) in steps {
        both.wait(now, now + pause, late);
        now += pause;
        both.happens(now, what);
        // Sources without end and without a rate send without end.
        if both.left.len() > 3000 {
            return;
        }
    }
    assert_eq!(both.rng.0.uniform(), both.rng.1.uniform(), "as many random numbers were drawn");
}

fn happens() -> impl Strategy<Value = Happens> {
    let bytes = prop_oneof![1_u64..960, Just(960_u64), 1_u64..6000];
    prop_oneof![
        2 => Just(Happens::Nothing),
        4 => bytes.prop_map(Happens::Writes),
        4 => Just(Happens::Acknowledged),
    ]
}

/// Directives as a shaper's, with windows and media beside.
fn all_directives() -> impl Strategy<Value = Directive> {
    let window = prop_oneof![1 => Just(None), 4 => (0_u64..12_000).prop_map(|bytes| Some(Bytes::new(bytes)))];
    let media = prop::option::weighted(0.2, (0_u64..20_000_000).prop_map(BitRate::from_bits_per_sec));
    (directives(), window, media).prop_map(|(directive, window, media)| Directive {
        window,
        media,
        ..directive
    })
}

prop_compose! {
    fn law()(
        said in prop::collection::vec(all_directives(), 1..5),
        turns in prop::collection::vec(prop::option::weighted(0.3, 0_usize..5), 1..40),
        period in prop_oneof![10_000_u64..5_000_000, Just(1_000_000_u64)],
    ) -> Law {
        Law { said, turns, heard: 0, current: 0, period, timer: BEGIN + period }
    }
}

proptest! {
    #[test]
    fn both_senders_of_datagrams_send_the_same_under_whatever_is_directed(
        law in law(),
        acks: bool,
        endless in prop::option::weighted(0.2, 0_usize..10),
        mut steps in prop::collection::vec(
            (0_u64..2_000_000, prop_oneof![3 => Just(0_u64), 1 => 0_u64..1_500_000], happens()), 1..50),
    ) {
        // Without end only where a rate or a window holds it back at every moment.
        let held = law.said.iter().all(|said| {
            let rate = said.rate.or(said.media);
            rate.is_some_and(|rate| rate.bits_per_sec() < 1_000_000_000) || acks && said.window.is_some()
        });
        if let Some(at) = endless.filter(|_| held) {
            steps.insert(at.min(steps.len()), (0, 0, Happens::WritesForEver));
        }
        compare(&law, acks, &steps);
    }
}
