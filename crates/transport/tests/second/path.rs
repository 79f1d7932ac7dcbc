//! A path with troubles between the two ends of ours, beside which the second writings see what these see; and the first
//! difference, in words. What the second writings decide stands in files of their own.

use std::collections::BTreeMap;
use std::fmt::Debug;

use tailback_core::{
    Annex, Annexes, AppInput, Bytes, Choice, CongestionEvent, DataAmount, Ecn, Endpoint, EndpointCx, Input,
    Kind, Output, Packet, SeqRange, Span, Stream, Time,
};
use tailback_transport::source::AnySource;
use tailback_transport::{
    EcnMode, LossDetection, RackConfig, Receiver, ReceiverConfig, RtoConfig, SackCompression, Sender,
    StreamConfig,
};

use super::bucket::Bucket;
use super::law::{Law, Ours};
use super::receiver::{self, Data};
use super::{Acknowledgement, HEADER, Left, Options, PAYLOAD, RackOptions, SEGMENT, Second, Told};
use crate::pipe::FLOW;

/// What goes wrong, as probabilities.
#[derive(Clone, Copy, Debug)]
pub struct Trouble {
    pub loss: f64,
    pub late: f64,
    pub twice: f64,
    pub ack_loss: f64,
    pub ack_late: f64,
    /// With each packet: that everything after it is lost for a while.
    pub blackouts: f64,
    /// Whether the application writes little at a time, with pauses.
    pub pauses: bool,
    /// Marks on packets that may bear them.
    pub marks: f64,
}

/// What happens next on the path.
#[derive(Clone, Debug)]
enum Step {
    Data(Packet, Option<Annex>),
    Ack(Packet, Option<Annex>),
    Write(u64),
}

struct Path<S> {
    now: u64,
    sender: Sender<Ours>,
    receiver: Receiver,
    annexes: Annexes,
    second: S,
    law: Law,
    second_receiver: receiver::Receiver,
    /// Bytes of the application, without headers, that wait in the second writing.
    waiting: u64,
    /// When anything last left it; none before, and where windows do not begin anew after a rest.
    rests_since: Option<u64>,
    restarts: bool,
    steps: BTreeMap<(u64, u64), Step>,
    serial: u64,
    rng: Stream,
    trouble: Trouble,
    dark_until: u64,
    timers: [Option<u64>; 2],
    /// Of the second writing: the connection's request, the rate, and an echo that keeps it silent.
    opening: Opening,
    bucket: Option<Bucket>,
    wake: Option<u64>,
    is_silent: bool,
    /// What left ours since the last step, as the path sees it: its number, ECN-capable or not, and CWR.
    seen: Vec<(u64, bool, bool)>,
    marking: bool,
    compares_acks: bool,
}

/// Where the second writing's connection stands (RFC 9293 §3.5): a request that bears no data, and its acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    Due,
    Requested,
    Done,
}

/// Nanoseconds. Timers are computed with real numbers, ours cut to whole nanoseconds before the back-off.
const NEAR: f64 = 200.0;

/// Both times, or both none, and nearly the same.
fn near(ours: Option<u64>, anew: Option<f64>) -> bool {
    match (ours, anew) {
        (Some(ours), Some(anew)) => (ours as f64 - anew).abs() <= NEAR,
        (ours, anew) => ours.is_none() && anew.is_none(),
    }
}

fn same<T: PartialEq + Debug>(what: &str, ours: &T, anew: &T) -> Result<(), String> {
    if ours == anew { Ok(()) } else { Err(format!("{what}: ours {ours:?}, anew {anew:?}")) }
}

fn time(at: u64) -> Time {
    Time::from_nanos(at)
}

impl<S: Second + Clone> Path<S> {
    fn later(&mut self, after: u64, step: Step) {
        self.serial += 1;
        self.steps.insert((self.now + after, self.serial), step);
    }

    /// A packet sets out: it is lost, delayed or copied.
    fn launch(&mut self, packet: Packet, annex: Option<&Annex>) {
        let trouble = self.trouble;
        let (loss, late, twice) = if packet.kind() == Kind::Data {
            if self.now >= self.dark_until && self.rng.chance(trouble.blackouts) {
                self.dark_until = self.now + self.rng.below(500_000_000);
            }
            (trouble.loss, trouble.late, trouble.twice)
        } else {
            (trouble.ack_loss, trouble.ack_late, 0.0)
        };
        if self.now < self.dark_until || self.rng.chance(loss) {
            return;
        }
        let copies = 1 + u32::from(self.rng.chance(twice));
        let mut packet = packet;
        if packet.is_ecn_capable() && self.rng.chance(trouble.marks) {
            packet.set_ecn(Ecn::Ce);
        }
        for _ in 0..copies {
            let mut delay = 20_000_000 + self.rng.below(1000);
            if self.rng.chance(late) {
                let most = if self.rng.chance(0.2) { 600_000_000 } else { 40_000_000 };
                delay += self.rng.below(most);
            }
            let step = if packet.kind() == Kind::Data {
                Step::Data(packet, annex.cloned())
            } else {
                Step::Ack(packet, annex.cloned())
            };
            self.later(delay, step);
        }
    }

    fn give_sender(&mut self, input: Input) {
        let mut rng = Stream::new(1, "sender");
        let mut cx = EndpointCx { rng: &mut rng, annexes: &mut self.annexes, notes: None };
        let (packets, timer) = answered(&mut self.sender, time(self.now), input, &mut cx);
        self.timers[0] = timer;
        self.seen = packets
            .iter()
            .map(|(packet, _)| (packet.number, packet.is_ecn_capable(), packet.window_reduced()))
            .collect();
        for (packet, annex) in packets {
            self.launch(packet, annex.as_ref());
        }
    }

    fn give_receiver(&mut self, input: Input) -> Vec<receiver::Ack> {
        let mut rng = Stream::new(1, "receiver");
        let mut cx = EndpointCx { rng: &mut rng, annexes: &mut self.annexes, notes: None };
        let (packets, timer) = answered(&mut self.receiver, time(self.now), input, &mut cx);
        self.timers[1] = timer;
        let acks = packets.iter().map(|(packet, annex)| read(packet, annex.as_ref())).collect();
        for (packet, annex) in packets {
            self.launch(packet, annex.as_ref());
        }
        acks
    }

    /// What left and what was told since the last step, of ours.
    fn ours(&self, left: usize, told: usize) -> (Vec<Left>, Vec<Told>) {
        let controller = self.sender.controller();
        (controller.left[left..].to_vec(), controller.told[told..].to_vec())
    }

    /// The second writing answers the same input.
    fn anew(&mut self, told: Option<Told>) -> (Vec<Left>, Vec<Told>) {
        let mut told = told;
        let echoes_at_one = self.law.window <= SEGMENT
            && told.as_ref().is_some_and(|told| told.event == Some(CongestionEvent::Ecn));
        if let Some(told) = told.as_mut().filter(|told| told.advanced > 0)
            && self.opening == Opening::Requested
        {
            // RFC 5681 §3.1: the request's acknowledgement does not open the window.
            (self.opening, told.advanced) = (Opening::Done, 0);
        }
        let mut all: Vec<Told> = told.into_iter().chain(self.second.behind()).collect();
        for told in &all {
            self.law_hears(told);
        }
        if echoes_at_one {
            self.is_silent = self.second.fall_silent(self.now);
        }
        if let Some(rested) = self.rest() {
            self.law_hears(&rested);
            all.push(rested);
        }
        self.second.heard(self.law.window);
        let mut left = Vec::new();
        self.wake = None;
        while let Some(packet) = self.next() {
            self.rests_since = self.restarts.then_some(self.now);
            left.push(packet);
        }
        (left, all)
    }

    fn law_hears(&mut self, told: &Told) {
        self.law.hear(told.event, told.advanced, told.outstanding, told.recovery);
        if let (Some(bucket), Some(rate)) = (&mut self.bucket, self.law.rate()) {
            if matches!(told.event, Some(CongestionEvent::Timeout { .. })) {
                bucket.time_out(self.now);
            }
            bucket.direct(self.now, rate);
        }
    }

    /// The next packet of the second writing, if one may leave now.
    fn next(&mut self) -> Option<Left> {
        if self.is_silent {
            return None;
        }
        let waiting = match (self.opening, self.waiting.min(PAYLOAD)) {
            (_, 0) | (Opening::Requested, _) => 0,
            (Opening::Due, _) => HEADER,
            (Opening::Done, payload) => payload + HEADER,
        };
        let window = self.law.window;
        let packet = match &mut self.bucket {
            None => self.second.next(self.now, window, waiting)?,
            Some(bucket) => {
                let mut tried = self.second.clone();
                let packet = tried.next(self.now, window, waiting)?;
                if let Err(later) = bucket.take(self.now, packet.size) {
                    self.wake = Some(later);
                    return None;
                }
                self.second = tried;
                packet
            }
        };
        if !packet.again {
            self.waiting -= packet.size - HEADER;
            if self.opening == Opening::Due {
                self.opening = Opening::Requested;
                return Some(packet);
            }
            return Some(Left { cwr: self.marking && self.second.take_cwr(), ..packet });
        }
        Some(packet)
    }

    /// RFC 5681 §4.1: data is about to leave, and none has "in an interval exceeding the retransmission timeout".
    fn rest(&mut self) -> Option<Told> {
        let rested = (self.now - self.rests_since?) as f64 > self.second.timer().rto;
        if !rested || self.waiting == 0 || !self.second.is_idle() {
            return None;
        }
        self.rests_since = Some(self.now);
        Some(Told {
            acked: Vec::new(),
            lost: Vec::new(),
            advanced: 0,
            outstanding: 0,
            in_flight: 0,
            event: Some(CongestionEvent::Idle),
            recovery: self.second.recovery(),
            rtt: None,
        })
    }

    fn step_sender(&mut self, input: Input, anew: impl FnOnce(&mut S) -> Option<Told>) -> Result<(), String> {
        let controller = self.sender.controller();
        let (left, told) = (controller.left.len(), controller.told.len());
        let before = self.second.state();
        let told_anew = anew(&mut self.second);
        let told_state = self.second.state();
        let anew = self.anew(told_anew);
        self.give_sender(input);
        let ours = self.ours(left, told);
        let compare = || {
            same("told", &ours.1, &anew.1)?;
            let without_cwr = anew.0.iter().map(|one| Left { cwr: false, ..*one }).collect();
            same("left", &ours.0, &without_cwr)?;
            let is_request = |one: &Left| one.size == HEADER;
            let seen = anew
                .0
                .iter()
                .map(|one| (one.number, self.marking && !one.again && !is_request(one), one.cwr));
            same("seen", &self.seen, &seen.collect())?;
            same("window", &self.sender.controller().law.window, &self.law.window)?;
            same("in flight", &self.sender.in_flight().get(), &self.second.in_flight())?;
            if self.timers[0].is_some_and(|due| due < self.now) {
                return Err(format!("timer: ours {:?} lies in the past", self.timers[0]));
            }
            // What has expired while another timer was armed is due now.
            let deadline = self.second.deadline().map(|due| due.max(self.now as f64));
            let wake = self.wake.map(|wake| wake as f64);
            let deadline = [deadline, wake].into_iter().flatten().reduce(f64::min);
            if !near(self.timers[0], deadline) {
                return Err(format!("timer: ours {:?}, anew {deadline:?}", self.timers[0]));
            }
            let timer = self.second.timer();
            if let Some((smoothed, least)) = self.sender.controller().smoothed
                && ((smoothed - timer.srtt().unwrap_or(0.0)).abs() > NEAR || least != timer.least)
            {
                return Err(format!("round trip: ours {smoothed}, {least}, anew {timer:?}"));
            }
            Ok(())
        };
        compare().map_err(|said| {
            format!("{said}\n  before: {before}\n  told: {told_state}\n  after: {}\n  all told: ours {:?}, anew {:?}; left: ours {:?}, anew {:?}", self.second.state(), ours.1, anew.1, ours.0, anew.0)
        })
    }

    /// What a receiver that compresses says is compared with Linux's (`linux.rs`).
    fn same_acks(&self, ours: &Vec<receiver::Ack>, anew: &Vec<receiver::Ack>) -> Result<(), String> {
        if self.compares_acks { same("acknowledgement", ours, anew) } else { Ok(()) }
    }

    fn step(&mut self) -> Result<bool, String> {
        let next = self.steps.first_key_value().map(|(key, _)| key.0);
        let Some(at) = [next, self.timers[0], self.timers[1]].into_iter().flatten().min() else {
            return Ok(false);
        };
        self.now = at;
        if next != Some(at) {
            if self.timers[1] == Some(at) {
                let ours = self.give_receiver(Input::Timeout);
                let anew: Vec<_> = self.second_receiver.expire(at).into_iter().collect();
                self.same_acks(&ours, &anew)?;
            } else {
                // The silence is over, where its timer has expired.
                let is_due = self.second.deadline().is_some_and(|due| due <= at as f64 + NEAR);
                self.is_silent &= !is_due;
                self.step_sender(Input::Timeout, |second| {
                    second.deadline().filter(|due| *due <= at as f64 + NEAR).and_then(|_| second.expire(at))
                })?;
            }
            return Ok(true);
        }
        match self.steps.pop_first().map(|(_, step)| step) {
            Some(Step::Data(mut packet, annex)) => {
                let stamp = match &annex {
                    Some(Annex::Control(info)) => Some(info.sent_at.as_nanos()),
                    _ => None,
                };
                let data = Data {
                    number: packet.number,
                    at_once: packet.is_pushed() || packet.size().get() == HEADER,
                    stamp,
                    marked: packet.ecn() == Ecn::Ce,
                    cwr: packet.window_reduced(),
                };
                if let Some(annex) = annex {
                    packet.annex = self.annexes.insert(annex);
                }
                let ours = self.give_receiver(Input::Packet(packet));
                let anew: Vec<_> = self.second_receiver.data(at, data).into_iter().collect();
                self.same_acks(&ours, &anew)?;
                if self.compares_acks {
                    same("receiver's timer", &self.timers[1], &self.second_receiver.deadline())?;
                }
            }
            Some(Step::Ack(mut packet, annex)) => {
                let ack = read(&packet, annex.as_ref());
                let ack = Acknowledgement {
                    number: ack.number,
                    duplicate: named_twice(ack.number, &ack.blocks),
                    blocks: ack.blocks,
                    echo: ack.echo,
                    marks: ack.marks,
                };
                if let Some(annex) = annex {
                    packet.annex = self.annexes.insert(annex);
                }
                self.step_sender(Input::Packet(packet), |second| second.acknowledge(at, &ack))
                    .map_err(|said| format!("{ack:?}: {said}"))?;
            }
            Some(Step::Write(bytes)) => {
                self.waiting += bytes;
                self.step_sender(Input::App(AppInput::Write(Bytes::new(bytes))), |_| None)?;
            }
            None => {}
        }
        Ok(true)
    }
}

/// An acknowledgement that leaves the receiver.
fn read(packet: &Packet, annex: Option<&Annex>) -> receiver::Ack {
    let (blocks, echo) = match annex {
        Some(Annex::Blocks(said)) => (said.as_slice().to_vec(), said.echo.map(Time::as_nanos)),
        _ => (Vec::new(), None),
    };
    receiver::Ack { number: packet.number, size: packet.size().get(), blocks, echo, marks: packet.ecn_echo() }
}

/// RFC 2883 §4.1 and §4.2: the first block names what arrived twice if it is acknowledged, or part of the second.
fn named_twice(number: u64, blocks: &[SeqRange]) -> Option<SeqRange> {
    let first = blocks.first()?;
    let is_part = blocks.get(1).is_some_and(|second| second.start <= first.start && first.end <= second.end);
    (first.end <= number || is_part).then_some(*first)
}

/// Writes of the application: much at once, or little at a time.
fn writes<S: Second + Clone>(path: &mut Path<S>) {
    let mut at = 0;
    for _ in 0..if path.trouble.pauses { 40 } else { 4 } {
        let full = path.rng.below(if path.trouble.pauses { 20 } else { 150 }) * PAYLOAD;
        let bytes = full + if path.rng.chance(0.3) { path.rng.below(PAYLOAD) } else { 0 };
        path.later(at, Step::Write(bytes.max(1)));
        at += if path.rng.chance(0.1) { path.rng.below(3_000_000_000) } else { path.rng.below(100_000_000) };
    }
}

fn loss_detection(rack: Option<RackOptions>) -> LossDetection {
    rack.map_or(LossDetection::DupAcks, |rack| {
        LossDetection::Rack(RackConfig {
            reordering_window: rack.reordering_window,
            persist: rack.persist,
            min_rtt_window: Span::from_nanos(rack.min_rtt_window),
            tail_loss_probe: rack.probes,
            max_ack_delay: Span::from_nanos(rack.max_ack_delay),
        })
    })
}

/// Where both writings part first, in words.
pub fn difference<S: Second + Clone>(
    options: &Options,
    second: S,
    trouble: &Trouble,
    seed: u64,
    (limit, every, blocks): (u64, u32, u8),
) -> Option<String> {
    let beside = options.beside;
    let config = StreamConfig {
        reliability: options.reliability,
        rtt_sampling: options.sampling,
        dup_threshold: options.dup_threshold,
        limited_transmit: options.limited_transmit,
        rescue: options.rescue,
        keep_scoreboard: options.keep_scoreboard,
        impatient: options.impatient,
        careful: Some(options.careful),
        one_recovery_per_window: options.one_recovery,
        restart_after_idle: options.restart_after_idle,
        spurious: options.spurious,
        lost_retransmissions: options.lost_retransmissions,
        proportional_rate_reduction: options.proportional,
        loss_detection: Choice(loss_detection(options.rack)),
        receive_window: (options.receive_window < u64::MAX)
            .then_some(DataAmount::Packets((options.receive_window / SEGMENT) as f64)),
        rto: RtoConfig {
            min: Span::from_nanos(options.min_rto as u64),
            max: Span::from_nanos(options.max_rto as u64),
            ..RtoConfig::default()
        },
        user_timeout: Span::from_secs(1_000_000),
        handshake: beside.handshake,
        ecn: if beside.ecn { EcnMode::Ect0 } else { EcnMode::Off },
        ..StreamConfig::default()
    };
    let receiver = ReceiverConfig {
        ack_every: every,
        max_sack_blocks: blocks,
        dsack: options.rack.map(|rack| rack.dsack),
        sack_compression: beside.compresses.then(SackCompression::default),
        ..ReceiverConfig::default()
    };
    let receiver = receiver.matching(&config);
    let law = Law::new(limit, beside.pace);
    let ours = Ours::new(law.clone());
    let second_receiver = receiver::Receiver::new(
        every,
        100_000_000,
        receiver.max_sack_blocks.into(),
        options.rack.is_some_and(|rack| rack.dsack),
    );
    let mut path = Path {
        now: 0,
        sender: Sender::new(FLOW, config, ours, AnySource::pushed()),
        receiver: Receiver::new(FLOW, receiver),
        annexes: Annexes::new(),
        second,
        bucket: law.rate().map(Bucket::new),
        law,
        second_receiver,
        waiting: 0,
        rests_since: None,
        restarts: options.restart_after_idle,
        steps: BTreeMap::new(),
        serial: 0,
        rng: Stream::new(seed, "path"),
        trouble: *trouble,
        dark_until: 0,
        timers: [None; 2],
        opening: if beside.handshake { Opening::Due } else { Opening::Done },
        wake: None,
        is_silent: false,
        seen: Vec::new(),
        marking: beside.ecn,
        compares_acks: !beside.compresses,
    };
    writes(&mut path);
    path.give_sender(Input::App(AppInput::Start));
    for count in 0..3000 {
        match path.step() {
            Ok(true) => {}
            Ok(false) => {
                let all = path.waiting == 0 && path.second.in_flight() == 0;
                return (!all).then(|| format!("not all arrives: {}", path.second.state()));
            }
            Err(said) => return Some(format!("step {count}, at {} ms: {said}", path.now as f64 / 1e6)),
        }
    }
    None
}

/// What an endpoint sends after an input, and when it wants to be asked again.
fn answered(
    endpoint: &mut impl Endpoint,
    now: Time,
    input: Input,
    cx: &mut EndpointCx<'_>,
) -> (Vec<(Packet, Option<Annex>)>, Option<u64>) {
    endpoint.handle(now, input, cx);
    let mut packets = Vec::new();
    loop {
        match endpoint.poll(now, cx) {
            Output::Transmit(packet) => packets.push((packet, cx.annexes.take(packet.annex))),
            Output::Event(_) => {}
            Output::Wait(until) => return (packets, until.map(Time::as_nanos)),
        }
    }
}
