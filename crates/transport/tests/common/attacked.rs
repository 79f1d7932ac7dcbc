//! Any bytes as a pair of endpoints of any scheme on a path that loses, duplicates and delays, with an attacker on it who
//! forges what he likes: what the fuzz target `endpoint_pairs` and the property test `attack` share. What a scheme does on
//! an honest path is tested elsewhere.
//!
//! Held to: the transfer ends, or the sender gives up after the stated time; nobody asks to be called without end; what is
//! in the network stays below the window, and what leaves below the rate that the controller directs; nothing overflows.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::num::NonZeroU16;
use std::rc::Rc;

use tailback_control::{AnyController, ControllerParams, Needs, Parts, Reliability, SCHEMES, Scheme};
use tailback_core::{
    AckBlocks, AckFrequency, AckRequest, AckWish, Annex, Annexes, AppInput, ArrivalWord, BitRate, Bytes,
    ControlInfo, Controller, Cx, Directive, Echoes, Endpoint, EndpointCx, Envelope, Event, Feedback, FlowId,
    Input, Kind, Output, Packet, ProbePlan, Report, Sent, SeqRange, Span, Stream, Time, Tokens,
};
use tailback_transport::source::AnySource;
use tailback_transport::{
    DatagramConfig, DatagramReceiver, DatagramSender, Receiver, ReceiverConfig, RttSampling, Sender,
    SpuriousDetection, StreamConfig,
};

use crate::choices::Choices;

const FLOW: FlowId = FlowId(0);
/// Longer than any scheme takes for a small transfer from its worst state, and the time of giving up.
const LONGEST: Span = Span::from_secs(100_000);
/// More than any of these transfers takes.
const MOST_STEPS: u32 = 400_000;
/// More than leaves at one instant.
const MOST_AT_ONCE: u32 = 5_000;

/// What an attacker may say.
trait Made {
    fn number(&mut self, truth: u64) -> u64;
    fn real(&mut self) -> f64;
}

impl Made for Choices<'_> {
    /// A number near the beginning, near what is true, near the end of all numbers.
    fn number(&mut self, truth: u64) -> u64 {
        let small = u64::from(self.byte() % 24);
        match self.byte() % 5 {
            0 => small,
            1 => truth.saturating_add(small),
            2 => truth.saturating_sub(small),
            3 => u64::MAX - small,
            _ => small << (self.byte() % 64),
        }
    }

    /// What the codec lets through is finite.
    fn real(&mut self) -> f64 {
        self.among(&[0.0, 1e-300, 1e-9, 0.5, 1.0, 1e3, 1e9, 1e300, f64::MAX, -0.0, -1.0, -1e300])
    }
}

/// What the controller directs, as somebody sees who looks over its shoulder.
struct Watched {
    inner: AnyController,
    directed: Rc<RefCell<Directive>>,
    /// Whether it asks for acknowledgements in its own way, and what it has heard of so far.
    asks: bool,
    heard: u32,
}

impl Watched {
    fn look(&mut self) {
        self.heard += 1;
        *self.directed.borrow_mut() = self.inner.directive();
    }
}

impl Controller for Watched {
    fn on_sent(&mut self, now: Time, sent: &mut Sent, cx: &mut Cx<'_>) {
        self.inner.on_sent(now, sent, cx);
        self.look();
    }
    fn watches_sent(&self) -> bool {
        self.inner.watches_sent()
    }
    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        self.inner.on_feedback(now, feedback, cx);
        self.look();
    }
    fn on_timer(&mut self, now: Time, cx: &mut Cx<'_>) {
        self.inner.on_timer(now, cx);
        self.look();
    }
    fn next_timer(&self) -> Option<Time> {
        self.inner.next_timer()
    }
    fn directive(&self) -> Directive {
        self.inner.directive()
    }
    fn ack_wish(&self) -> AckWish {
        if !self.asks {
            return self.inner.ack_wish();
        }
        let wishes =
            [None, Some((1, 0)), Some((4, 25)), Some((1000, 300)), Some((u32::MAX, u64::MAX / 1_000_000))];
        let wish = wishes[self.heard as usize / 16 % wishes.len()];
        let frequency =
            |(threshold, millis)| AckFrequency { threshold, max_delay: Span::from_millis(millis) };
        AckWish { frequency: wish.map(frequency), immediate: self.heard / 10 }
    }
}

/// Whether more leaves than a directed rate lets go: the integral of the rate against the bytes, in bits times
/// nanoseconds per second.
#[derive(Default)]
struct Meter {
    sent: u128,
    earned: u128,
    depth: u64,
    is_poisson: bool,
    at: Time,
    /// The newest cluster.
    cluster: Option<u64>,
}

impl Meter {
    const BYTE: u128 = 8_000_000_000;
    /// What a Poisson token is worth at most here.
    const TOKEN: u128 = 1500 * Self::BYTE;

    fn pass(&mut self, now: Time, directive: &Directive) {
        let span = u128::from(now.since(self.at).as_nanos());
        self.at = now;
        match directive.rate {
            // What leaves before a rate is directed, or after, is none of its business.
            None => *self = Self { at: now, ..Self::default() },
            Some(rate) => self.earned = self.earned.saturating_add(span * u128::from(rate.bits_per_sec())),
        }
        // A cluster may leave faster, with a packet more than was asked for.
        if let Some(ProbePlan::Cluster { id, bytes, .. }) = directive.probe
            && self.cluster != Some(id)
        {
            self.cluster = Some(id);
            self.earned = self.earned.saturating_add(u128::from(bytes.get() + 1500) * Self::BYTE);
        }
        self.depth = self.depth.max(directive.burst.depth.get());
        self.is_poisson |= directive.burst.tokens == Tokens::Poisson;
    }

    fn spend(&mut self, size: u64, rate: BitRate, name: &str) {
        self.sent += u128::from(size) * Self::BYTE;
        // Full when it begins, and once more behind it; a pair at least; a nanosecond's rounding.
        let most =
            u128::from(self.depth.max(2000)).saturating_mul(2 * Self::BYTE).saturating_add(self.earned);
        let most = most.saturating_add(u128::from(rate.bits_per_sec()));
        // Of Poisson tokens, the rate is the mean only: eight standard deviations more, as no run will ever see.
        let tokens = if self.is_poisson { self.earned / Self::TOKEN + 1 } else { 0 };
        let most = most.saturating_add((8 * tokens.isqrt()).saturating_mul(Self::TOKEN));
        assert!(
            self.sent <= most,
            "{name}: {} bytes at a rate that lets {} go",
            self.sent / Self::BYTE,
            most / Self::BYTE
        );
    }
}

/// The two ends and what is between them.
struct World<'a> {
    choices: Choices<'a>,
    name: &'static str,
    now: Time,
    ends: [Box<dyn Endpoint>; 2],
    wake: [Option<Time>; 2],
    rngs: [Stream; 2],
    annexes: Annexes,
    flying: BTreeMap<(Time, u64), (usize, Packet)>,
    serial: u64,
    directed: Rc<RefCell<Directive>>,
    meter: Meter,
    /// Whether a window is obeyed at all.
    keeps_window: bool,
    finished: bool,
    gave_up: bool,
}

const SENDER: usize = 0;
const RECEIVER: usize = 1;

impl World<'_> {
    fn give(&mut self, end: usize, input: Input) {
        let now = self.now;
        let called = matches!(input, Input::Timeout);
        let before = *self.directed.borrow();
        self.meter.pass(now, &before);
        let mut cx = EndpointCx { rng: &mut self.rngs[end], annexes: &mut self.annexes, notes: None };
        self.ends[end].handle(now, input, &mut cx);
        for count in 0.. {
            assert!(count < MOST_AT_ONCE, "{}: never silent", self.name);
            let before = *self.directed.borrow();
            let mut cx = EndpointCx { rng: &mut self.rngs[end], annexes: &mut self.annexes, notes: None };
            match self.ends[end].poll(now, &mut cx) {
                Output::Transmit(packet) => {
                    if end == SENDER && packet.kind() == Kind::Data {
                        self.judge(&packet, &before);
                    }
                    self.launch(end, packet);
                }
                Output::Event(Event::Finished) => self.finished = true,
                Output::Event(Event::GaveUp) => self.gave_up = true,
                Output::Event(_) => {}
                Output::Wait(until) => {
                    let over = until.is_some_and(|at| at < now || called && at == now);
                    assert!(!over, "{}: a wait that is over: {until:?} at {now}", self.name);
                    self.wake[end] = until;
                    return;
                }
            }
        }
    }

    /// Whether a data packet may leave by the directive in force before it.
    fn judge(&mut self, packet: &Packet, directive: &Directive) {
        let size = packet.size();
        self.meter.pass(self.now, directive);
        if let Some(rate) = directive.rate {
            self.meter.spend(size.get(), rate, self.name);
        }
        let in_flight = self.ends[SENDER].observe().in_flight;
        // The first retransmission of an episode leaves whatever the window says (RFC 5681 §3.2, step 3).
        if let Some(window) = directive.window
            && self.keeps_window
            && !packet.is_retransmitted()
        {
            assert!(in_flight <= window.max(size), "{}: {in_flight} in a window of {window}", self.name);
        }
    }

    fn launch(&mut self, from: usize, packet: Packet) {
        let mut arrival = self.now + Span::from_millis(10);
        match self.choices.byte() {
            // What is decided by zeros, when bytes have run out, arrives.
            0..=180 => {}
            181..=205 => return self.annexes.free(packet.annex),
            206..=230 => arrival += Span::from_millis(1 + u64::from(self.choices.byte())),
            _ => {
                let mut copy = packet;
                copy.annex = self.annexes.copy(packet.annex);
                self.fly(arrival, 1 - from, copy);
            }
        }
        self.fly(arrival, 1 - from, packet);
    }

    fn fly(&mut self, at: Time, to: usize, packet: Packet) {
        self.serial += 1;
        self.flying.insert((at, self.serial), (to, packet));
    }

    /// A packet that nobody sent.
    fn forge(&mut self) {
        let truth = self.ends[SENDER].observe().goodput_packets;
        let choices = &mut self.choices;
        let to = choices.among(&[SENDER, SENDER, SENDER, RECEIVER]);
        let kinds = if to == SENDER {
            [Kind::Ack, Kind::Ack, Kind::Report]
        } else {
            [Kind::Data, Kind::Data, Kind::Control]
        };
        let kind = choices.among(&kinds);
        // A false cumulative number makes data vanish, after which all that is left is to give up: rarely.
        let number = if kind == Kind::Ack && choices.byte() < 200 { truth } else { choices.number(truth) };
        let mut packet = Packet::new(kind, FLOW, number, Bytes::new(choices.among(&[40, 1000, 0, 65_535])));
        packet = packet.with_bits(packet.bits() | u16::from(choices.byte()) << 7 & 0xE980);
        let annex = match (kind, choices.byte() % 4) {
            (_, 0) => None,
            (Kind::Ack, _) => Some(blocks(choices, truth)),
            (Kind::Report, _) => Some(report(choices, self.now)),
            (Kind::Data, 1) => Some(request(choices)),
            _ => Some(stamp(choices, self.now)),
        };
        if let Some(annex) = annex {
            packet.annex = self.annexes.insert(annex);
        }
        self.give(to, Input::Packet(packet));
    }

    /// The next thing that happens; whether anything does.
    fn step(&mut self) -> bool {
        let packet = self.flying.first_key_value().map(|((at, _), _)| *at);
        let Some(next) = [packet, self.wake[SENDER], self.wake[RECEIVER]].into_iter().flatten().min() else {
            return false;
        };
        assert!(next >= self.now, "{}: the clock goes back", self.name);
        self.now = next;
        if packet == Some(next) {
            let (_, (to, packet)) = self.flying.pop_first().expect("a packet");
            self.give(to, Input::Packet(packet));
        } else {
            let end = if self.wake[SENDER] == Some(next) { SENDER } else { RECEIVER };
            self.give(end, Input::Timeout);
        }
        true
    }
}

fn blocks(choices: &mut Choices<'_>, truth: u64) -> Annex {
    let mut told =
        AckBlocks { count: choices.byte() % 5, trigger: choices.number(truth), ..AckBlocks::default() };
    for block in &mut told.blocks {
        let start = choices.number(truth);
        *block = SeqRange { start, end: start.saturating_add(choices.number(1)) };
    }
    told.echo = choices.flag().then(|| Time::from_nanos(choices.number(1 << 30)));
    told.marks =
        Echoes { ce: choices.number(3) as u32, rho: choices.number(3) as u32, eta: choices.number(3) as u32 };
    Annex::Blocks(told)
}

fn stamp(choices: &mut Choices<'_>, now: Time) -> Annex {
    let near = now.as_nanos();
    Annex::Control(ControlInfo {
        pair: choices.number(1),
        packets_sent: choices.number(10),
        bytes_sent: Bytes::new(choices.number(10_000)),
        in_flight: Bytes::new(choices.number(10_000)),
        virtual_delay: Span::from_nanos(choices.number(0)),
        sent_at: Time::from_nanos(choices.number(near)),
        echo: choices.flag().then(|| Time::from_nanos(choices.number(near))),
        held: Span::from_nanos(choices.number(0)),
        rtt: choices.flag().then(|| Span::from_nanos(choices.number(20_000_000))),
        app_rate: choices.flag().then(|| BitRate::from_bits_per_sec(choices.number(1_000_000))),
        request: None,
    })
}

fn request(choices: &mut Choices<'_>) -> Annex {
    let number = NonZeroU16::new(choices.number(1) as u16).unwrap_or(NonZeroU16::MIN);
    let (threshold, max_delay) = (choices.number(4) as u32, Span::from_nanos(choices.number(25_000_000)));
    Annex::Request(AckRequest::new(number, choices.flag().then_some(AckFrequency { threshold, max_delay })))
}

fn report(choices: &mut Choices<'_>, now: Time) -> Annex {
    let report = match choices.byte() % 7 {
        0 => Report::Interval {
            span: Span::from_nanos(choices.number(0)),
            received: Bytes::new(choices.number(1000)),
            packets: choices.number(1) as u32,
            lost: choices.number(0) as u32,
        },
        1 => Report::Loss {
            event_rate: choices.real(),
            receive_rate: BitRate::from_bits_per_sec(choices.number(1_000_000)),
        },
        2 => Report::Accumulation {
            pair: choices.number(1),
            backlog: choices.real(),
            lost: Bytes::new(choices.number(0)),
            egress_rate: BitRate::from_bits_per_sec(choices.number(1_000_000)),
            virtual_delay: Span::from_nanos(choices.number(0)),
        },
        3 => Report::Gate { on: choices.flag(), off_for: Span::from_nanos(choices.number(1_000_000_000)) },
        4 => Report::Rate {
            rate: BitRate::from_bits_per_sec(choices.number(1_000_000)),
            setpoint: Bytes::new(choices.number(1000)),
        },
        5 => Report::Arrivals {
            first: choices.number(10),
            left: Time::from_nanos(choices.number(now.as_nanos())),
            words: (0..choices.byte())
                .map(|_| ArrivalWord::from_bits(choices.number(40_000) as u16))
                .collect(),
        },
        _ => Report::Custom((0..choices.byte() % 4).map(|_| choices.real()).collect()),
    };
    Annex::Report(Box::new(Envelope {
        echo: choices.flag().then(|| Time::from_nanos(choices.number(now.as_nanos()))),
        held: Span::from_nanos(choices.number(0)),
        arrived_bytes: Bytes::new(choices.number(10_000)),
        arrived_packets: choices.number(10),
        report,
    }))
}

/// The two ends of a scheme's flow, the transfer's size, and whether a window is obeyed.
fn ends(
    scheme: &Scheme,
    choices: &mut Choices<'_>,
    watch: impl Fn(AnyController, bool) -> Watched,
) -> ([Box<dyn Endpoint>; 2], bool) {
    let byte = choices.byte();
    let size = Bytes::new(960 * (1 + u64::from(byte % 64)));
    let needs = scheme.needs();
    // Of streams, every fourth asks its receiver how to acknowledge.
    let asks = byte >= 192 && needs.reliability != Reliability::Datagram;
    let needs = Needs { ack_requests: asks || needs.ack_requests, ..needs };
    let parts = |params: &ControllerParams| {
        let Parts { controller, policy } = scheme.build(params);
        (watch(controller, asks), policy)
    };
    if needs.reliability == Reliability::Datagram {
        let config = DatagramConfig::default().serving(&needs);
        let (controller, policy) = parts(&config.controller_params());
        let receiver = DatagramReceiver::new(FLOW, config.clone());
        let receiver = if let Some(policy) = policy { receiver.with_policy(policy) } else { receiver };
        let keeps = config.acks;
        let sender = DatagramSender::new(FLOW, config, controller, AnySource::finite(size));
        return ([Box::new(sender), Box::new(receiver)], keeps);
    }
    let config = StreamConfig {
        keep_scoreboard: !choices.flag(),
        limited_transmit: choices.flag(),
        handshake: choices.flag(),
        rtt_sampling: choices.among(&[
            RttSampling::EveryAck,
            RttSampling::PerRoundTrip,
            RttSampling::Timestamps,
        ]),
        spurious: choices.among(&[SpuriousDetection::Off, SpuriousDetection::Eifel, SpuriousDetection::FRto]),
        ..StreamConfig::default()
    };
    let config = config.serving(&needs);
    let (controller, policy) = parts(&config.controller_params());
    let receiver = ReceiverConfig::default().serving(&needs).matching(&config);
    let receiver = Receiver::new(FLOW, receiver);
    let receiver = if let Some(policy) = policy { receiver.with_policy(policy) } else { receiver };
    let sender = Sender::new(FLOW, config, controller, AnySource::finite(size));
    ([Box::new(sender), Box::new(receiver)], true)
}

/// Makes of the bytes a scheme, a path and an attack, and holds the endpoints to the laws. The scheme's name, and whether
/// the sender gave up.
pub(crate) fn exercise(bytes: &[u8]) -> (&'static str, bool) {
    let mut choices = Choices::new(bytes, 1);
    let scheme = (SCHEMES[usize::from(choices.byte()) % SCHEMES.len()].default)();
    let name = scheme.info().name;
    let directed = Rc::new(RefCell::new(Directive::window(Bytes::ZERO)));
    let (ends, keeps_window) = ends(&scheme, &mut choices, |inner, asks| {
        let mut watched = Watched { inner, directed: Rc::clone(&directed), asks, heard: 0 };
        watched.look();
        watched
    });
    let mut world = World {
        choices,
        name,
        now: Time::ZERO,
        ends,
        wake: [None; 2],
        rngs: [Stream::new(1, "sender"), Stream::new(1, "receiver")],
        annexes: Annexes::new(),
        flying: BTreeMap::new(),
        serial: 0,
        directed,
        meter: Meter::default(),
        keeps_window,
        finished: false,
        gave_up: false,
    };
    world.give(SENDER, Input::App(AppInput::Start));
    world.give(SENDER, Input::App(AppInput::Close));
    for _ in 0..MOST_STEPS {
        if world.finished || world.gave_up {
            return (name, world.gave_up);
        }
        if world.choices.byte() % 4 == 3 {
            world.forge();
        } else if !world.step() {
            panic!("{name}: nothing is left to happen at {}, {:?}", world.now, world.ends[SENDER].observe());
        }
        assert!(
            world.now < Time::ZERO + LONGEST,
            "{name}: no end by {}, {:?}",
            world.now,
            world.ends[SENDER].observe()
        );
    }
    panic!("{name}: no end after {MOST_STEPS} steps, at {}, {:?}", world.now, world.ends[SENDER].observe());
}
