//! Two endpoints joined by a pipe in memory, with scripted losses, for the tests of this crate. Not a simulator:
//! the pipe has a fixed delay and, if wanted, a rate; it has no queue to speak of.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part of the harness")]

pub mod stream;

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use tailback_core::{
    Annex, Annexes, AppInput, Bytes, Controller, Cx, Directive, Endpoint, EndpointCx, Event, Feedback,
    FlowId, Input, Kind, Output, Packet, Sent, Span, Stream, Time,
};

/// What happens to a packet on its way forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Deliver,
    Drop,
    /// Delivered after an additional delay.
    Late(Span),
    /// Delivered twice.
    Twice,
    /// Delivered with the mark Congestion Experienced.
    Mark,
}

/// What goes wrong on a path, as probabilities.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trouble {
    pub loss: f64,
    /// By up to 60 ms.
    pub late: f64,
    pub twice: f64,
    pub marks: f64,
    pub ack_loss: f64,
}

/// A packet on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flying {
    pub packet: Packet,
    forward: bool,
}

/// Data packets sent, as the script and the tests see them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    pub at: Time,
    pub packet: Packet,
    /// Packets acknowledged in order by then.
    pub acked: u64,
}

type Lateness = Box<dyn FnMut(&mut Stream) -> Span>;
type Script = Box<dyn FnMut(&Packet, u32, &mut Stream) -> Fate>;

/// The pipe and its two ends.
pub struct Pipe<A, B> {
    pub sender: A,
    pub receiver: B,
    pub path: Path,
}

/// All of a pipe but its ends: one code for ends of all types, since each type would be compiled anew.
pub struct Path {
    pub now: Time,
    pub delay: Span,
    pub departures: Vec<Departure>,
    pub acks: Vec<(Time, Packet)>,
    pub events: Vec<(Time, Event)>,
    pub annexes: Annexes,
    /// Annexes of the packets recorded, copied at departure.
    pub notes: Vec<(&'static str, f64)>,
    script: Script,
    ack_script: Script,
    lateness: Lateness,
    flying: BTreeMap<(Time, u64), Flying>,
    serial: u64,
    sent_counts: BTreeMap<u64, u32>,
    sender_timer: Option<Time>,
    receiver_timer: Option<Time>,
    rng: Stream,
    receiver_rng: Stream,
    fates: Stream,
}

impl<A, B> Deref for Pipe<A, B> {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl<A, B> DerefMut for Pipe<A, B> {
    fn deref_mut(&mut self) -> &mut Path {
        &mut self.path
    }
}

impl Path {
    fn new(delay: Span) -> Self {
        Self {
            now: Time::ZERO,
            delay,
            departures: Vec::new(),
            acks: Vec::new(),
            events: Vec::new(),
            annexes: Annexes::new(),
            notes: Vec::new(),
            script: Box::new(|_, _, _| Fate::Deliver),
            ack_script: Box::new(|_, _, _| Fate::Deliver),
            lateness: Box::new(|_| Span::ZERO),
            flying: BTreeMap::new(),
            serial: 0,
            sent_counts: BTreeMap::new(),
            sender_timer: None,
            receiver_timer: None,
            rng: Stream::new(1, "sender"),
            receiver_rng: Stream::new(1, "receiver"),
            fates: Stream::new(1, "path"),
        }
    }

    fn give_sender(&mut self, sender: &mut dyn Endpoint, input: Input) {
        let timeout = matches!(input, Input::Timeout);
        let mut cx =
            EndpointCx { rng: &mut self.rng, annexes: &mut self.annexes, notes: Some(&mut self.notes) };
        sender.handle(self.now, input, &mut cx);
        loop {
            let mut cx = EndpointCx { rng: &mut self.rng, annexes: &mut self.annexes, notes: None };
            match sender.poll(self.now, &mut cx) {
                Output::Transmit(packet) => {
                    let acked = sender.observe().goodput_packets;
                    self.launch(packet, Some(acked));
                }
                Output::Event(event) => self.events.push((self.now, event)),
                Output::Wait(until) => {
                    // A timer may fall on the instant of a packet; but once called, it must be over.
                    let over = until.is_some_and(|at| at < self.now || timeout && at == self.now);
                    assert!(!over, "a wait that is over: {until:?}");
                    self.sender_timer = until.map(|at| at + (self.lateness)(&mut self.fates));
                    return;
                }
            }
        }
    }

    fn give_receiver(&mut self, receiver: &mut dyn Endpoint, input: Input) {
        let timeout = matches!(input, Input::Timeout);
        let mut cx = EndpointCx { rng: &mut self.receiver_rng, annexes: &mut self.annexes, notes: None };
        receiver.handle(self.now, input, &mut cx);
        loop {
            let mut cx = EndpointCx { rng: &mut self.receiver_rng, annexes: &mut self.annexes, notes: None };
            match receiver.poll(self.now, &mut cx) {
                Output::Transmit(packet) => self.launch(packet, None),
                Output::Event(event) => self.events.push((self.now, event)),
                Output::Wait(until) => {
                    // A timer may fall on the instant of a packet; but once called, it must be over.
                    let over = until.is_some_and(|at| at < self.now || timeout && at == self.now);
                    assert!(!over, "a wait that is over: {until:?}");
                    self.receiver_timer = until;
                    return;
                }
            }
        }
    }

    /// Forward, with how many packets are acknowledged by then; or back.
    fn launch(&mut self, mut packet: Packet, acked: Option<u64>) {
        let forward = acked.is_some();
        let fate = if let Some(acked) = acked {
            let count = self.sent_counts.entry(packet.number).or_default();
            *count += 1;
            self.departures.push(Departure { at: self.now, packet, acked });
            (self.script)(&packet, *count, &mut self.fates)
        } else {
            self.acks.push((self.now, packet));
            (self.ack_script)(&packet, 0, &mut self.fates)
        };
        let mut arrival = self.now + self.delay;
        match fate {
            Fate::Drop => return self.annexes.free(packet.annex),
            Fate::Late(span) => arrival += span,
            Fate::Twice => {
                let mut copy = packet;
                copy.annex = self.annexes.copy(packet.annex);
                self.fly(arrival, copy, forward);
            }
            Fate::Mark if packet.is_ecn_capable() => packet.set_ecn(tailback_core::Ecn::Ce),
            Fate::Deliver | Fate::Mark => {}
        }
        self.fly(arrival, packet, forward);
    }

    fn fly(&mut self, at: Time, packet: Packet, forward: bool) {
        self.serial += 1;
        self.flying.insert((at, self.serial), Flying { packet, forward });
    }

    fn step(&mut self, sender: &mut dyn Endpoint, receiver: &mut dyn Endpoint, end: Time) -> bool {
        let packet = self.flying.first_key_value().map(|(key, _)| key.0);
        let Some(next) = [packet, self.sender_timer, self.receiver_timer].into_iter().flatten().min() else {
            return false;
        };
        if next > end {
            self.now = end;
            return false;
        }
        assert!(next >= self.now, "the clock goes back");
        self.now = next;
        if packet == Some(next) {
            let Some((_, flying)) = self.flying.pop_first() else { return false };
            let input = Input::Packet(flying.packet);
            if flying.forward { self.give_receiver(receiver, input) } else { self.give_sender(sender, input) }
        } else if self.sender_timer == Some(next) {
            self.give_sender(sender, Input::Timeout);
        } else {
            self.give_receiver(receiver, Input::Timeout);
        }
        true
    }

    /// Numbers of the data packets sent, with the milliseconds at which they left.
    pub fn sent(&self) -> Vec<(u64, u64)> {
        self.departures
            .iter()
            .filter(|departure| departure.packet.kind() == Kind::Data)
            .map(|departure| (departure.at.as_nanos() / 1_000_000, departure.packet.number))
            .collect()
    }

    pub fn sent_at(&self, millis: u64) -> Vec<u64> {
        self.sent().into_iter().filter(|(at, _)| *at == millis).map(|(_, number)| number).collect()
    }

    pub fn transmissions(&self, number: u64) -> u32 {
        self.sent_counts.get(&number).copied().unwrap_or(0)
    }

    pub fn finished(&self) -> bool {
        self.events.iter().any(|(_, event)| *event == Event::Finished)
    }
}

impl<A: Endpoint, B: Endpoint> Pipe<A, B> {
    pub fn new(sender: A, receiver: B, delay: Span) -> Self {
        Self { sender, receiver, path: Path::new(delay) }
    }

    pub fn seed(mut self, seed: u64) -> Self {
        self.path.rng = Stream::new(seed, "sender");
        self.path.fates = Stream::new(seed, "path");
        self
    }

    /// What goes wrong on the way, drawn from this seed.
    pub fn troubled(self, trouble: Trouble, seed: u64) -> Self {
        self.seed(seed)
            .script(move |_, _, rng| {
                if rng.chance(trouble.loss) {
                    Fate::Drop
                } else if rng.chance(trouble.late) {
                    Fate::Late(Span::from_millis(1 + rng.below(60)))
                } else if rng.chance(trouble.twice) {
                    Fate::Twice
                } else if rng.chance(trouble.marks) {
                    Fate::Mark
                } else {
                    Fate::Deliver
                }
            })
            .ack_script(
                move |_, _, rng| {
                    if rng.chance(trouble.ack_loss) { Fate::Drop } else { Fate::Deliver }
                },
            )
    }

    /// Decides on each data packet; the number counts its transmissions from 1.
    pub fn script(mut self, script: impl FnMut(&Packet, u32, &mut Stream) -> Fate + 'static) -> Self {
        self.path.script = Box::new(script);
        self
    }

    pub fn ack_script(mut self, script: impl FnMut(&Packet, u32, &mut Stream) -> Fate + 'static) -> Self {
        self.path.ack_script = Box::new(script);
        self
    }

    /// Calls the sender so much later than it wanted to be called, unless a packet comes before.
    pub fn calling_late(mut self, lateness: impl FnMut(&mut Stream) -> Span + 'static) -> Self {
        self.path.lateness = Box::new(lateness);
        self
    }

    /// Drops the given transmissions of the given numbers.
    pub fn dropping(self, drops: &'static [(u64, u32)]) -> Self {
        self.script(move |packet, count, _| {
            if packet.kind() == Kind::Data && drops.contains(&(packet.number, count)) {
                Fate::Drop
            } else {
                Fate::Deliver
            }
        })
    }

    pub fn app(&mut self, input: AppInput) {
        self.path.give_sender(&mut self.sender, Input::App(input));
    }

    pub fn start(mut self) -> Self {
        self.app(AppInput::Start);
        self
    }

    /// Hands the receiver a packet now, past the script.
    pub fn deliver(&mut self, packet: Packet) {
        self.path.give_receiver(&mut self.receiver, Input::Packet(packet));
    }

    /// Hands the sender a packet now that nobody sent.
    pub fn forge(&mut self, mut packet: Packet, annex: Option<Annex>) {
        if let Some(annex) = annex {
            packet.annex = self.path.annexes.insert(annex);
        }
        self.path.give_sender(&mut self.sender, Input::Packet(packet));
    }

    /// One event; false when nothing is left to happen by `end`.
    pub fn step(&mut self, end: Time) -> bool {
        self.path.step(&mut self.sender, &mut self.receiver, end)
    }

    pub fn run(mut self, span: Span) -> Self {
        let end = self.now + span;
        while self.step(end) {}
        self
    }
}

/// What a controller was told, in plain words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    pub feedback: Vec<Batch>,
    pub sent: Vec<Sent2>,
    /// How many of these had left when each feedback came.
    pub sent_before: Vec<usize>,
    /// Places in probes of acknowledged packets.
    pub pairs: Vec<u8>,
}

/// One batch of feedback, owned.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    pub at: Time,
    pub acked: Vec<u64>,
    pub lost: Vec<u64>,
    pub advanced: u64,
    pub outstanding: u64,
    pub in_flight: u64,
    pub event: Option<tailback_core::CongestionEvent>,
    pub recovery: tailback_core::Recovery,
    pub rtt: Option<Span>,
    pub window_limited: bool,
    pub echoes: tailback_core::Echoes,
    pub report: bool,
    pub tags: Vec<u32>,
}

impl Batch {
    /// With the latest sample of the round trip time.
    pub fn of(now: Time, feedback: &Feedback<'_>) -> Self {
        Self {
            at: now,
            acked: feedback.acked.iter().map(|one| one.number).collect(),
            lost: feedback.lost.iter().map(|one| one.number).collect(),
            advanced: feedback.advanced.get(),
            outstanding: feedback.outstanding.get(),
            in_flight: feedback.in_flight.get(),
            event: feedback.event,
            recovery: feedback.recovery,
            rtt: feedback.rtt.map(|sample| sample.latest),
            window_limited: feedback.window_limited,
            echoes: feedback.echoes,
            report: feedback.report.is_some(),
            tags: feedback.acked.iter().map(|one| one.tag).collect(),
        }
    }
}

/// One packet sent, as the controller saw it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sent2 {
    pub number: u64,
    pub in_flight: u64,
    pub again: bool,
}

/// A controller that follows a script: a directive for every moment, a window cut on loss if wanted.
pub struct Scripted {
    pub directive: Directive,
    pub log: Log,
    /// The window after a loss event, in bytes.
    pub on_loss: Option<u64>,
    /// The window after a time-out, in bytes.
    pub on_timeout: Option<u64>,
    /// Directives that come into force at their times.
    pub schedule: Vec<(Time, Directive)>,
}

impl Scripted {
    pub fn new(directive: Directive) -> Self {
        Self { directive, log: Log::default(), on_loss: None, on_timeout: None, schedule: Vec::new() }
    }

    pub fn window(packets: u64) -> Self {
        Self::new(Directive::window(Bytes::new(packets * 1000)))
    }

    pub fn halving(packets: u64) -> Self {
        Self { on_loss: Some(packets * 500), on_timeout: Some(1000), ..Self::window(packets) }
    }

    pub fn at(mut self, time: Time, directive: Directive) -> Self {
        self.schedule.push((time, directive));
        self
    }
}

impl Controller for Scripted {
    fn on_sent(&mut self, _: Time, sent: &mut Sent, _: &mut Cx<'_>) {
        sent.tag = sent.number as u32 + 7;
        let in_flight = sent.in_flight.get();
        self.log.sent.push(Sent2 { number: sent.number, in_flight, again: sent.retransmission });
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, _: &mut Cx<'_>) {
        use tailback_core::CongestionEvent as E;
        let window = match feedback.event {
            Some(E::Loss) => self.on_loss,
            Some(E::Timeout { .. }) => self.on_timeout,
            _ => None,
        };
        if let Some(window) = window {
            self.directive.window = Some(Bytes::new(window));
        }
        self.log.pairs.extend(feedback.acked.iter().map(|one| one.pair as u8));
        self.log.sent_before.push(self.log.sent.len());
        self.log.feedback.push(Batch::of(now, feedback));
    }

    fn on_timer(&mut self, now: Time, _: &mut Cx<'_>) {
        self.schedule.sort_by_key(|(at, _)| *at);
        while self.schedule.first().is_some_and(|(at, _)| *at <= now) {
            self.directive = self.schedule.remove(0).1;
        }
    }

    fn next_timer(&self) -> Option<Time> {
        self.schedule.iter().map(|(at, _)| *at).min()
    }

    fn directive(&self) -> Directive {
        self.directive
    }
}

pub const FLOW: FlowId = FlowId(3);
