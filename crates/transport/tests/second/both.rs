//! Both ends of ours over a path, beside which the second writings see what these see; and the first difference, in words. What the
//! second writings decide stands in files of their own.

use std::fmt::Debug;

use tailback_core::{
    Annex, Annexes, AppInput, Bytes, Ecn, Endpoint, EndpointCx, Input, Output, Packet, SeqRange, Stream, Time,
};
use tailback_transport::{Receiver, Sender};

use super::anew::Anew;
use super::asking::Request;
use super::law::Ours;
use super::path::{Path, Step};
use super::receiver::{self, Data};
use super::{Acknowledgement, HEADER, Left, Second, Seen, Told};

/// Both writings side by side.
pub struct Both<S> {
    pub path: Path,
    pub sender: Sender<Ours>,
    pub receiver: Receiver,
    pub annexes: Annexes,
    pub anew: Anew<S>,
    pub second_receiver: receiver::Receiver,
    /// Of ours: the sender's and the receiver's.
    pub timers: [Option<u64>; 2],
    /// What left ours since the last step, as the path sees it.
    pub seen: Vec<Seen>,
    pub compares_acks: bool,
    /// Whether differences are told with what the second writing was like before and after: to write that down takes longer than
    /// all else that a step does.
    pub tells_states: bool,
}

/// Nanoseconds. Timers are computed with real numbers, ours cut to whole nanoseconds before the back-off.
pub const NEAR: f64 = 200.0;

/// Both times, or both none, and nearly the same.
pub fn near(ours: Option<u64>, anew: Option<f64>) -> bool {
    match (ours, anew) {
        (Some(ours), Some(anew)) => (ours as f64 - anew).abs() <= NEAR,
        (ours, anew) => ours.is_none() && anew.is_none(),
    }
}

/// How a comparison goes on behind a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    On,
    /// Nothing is due any more.
    Over,
    /// A token and a timer are due, so near each other that what is known of the timer does not say which is first.
    Undecided,
}

fn same<T: PartialEq + Debug>(what: &str, ours: &T, anew: &T) -> Result<(), String> {
    if ours == anew { Ok(()) } else { Err(format!("{what}: ours {ours:?}, anew {anew:?}")) }
}

fn time(at: u64) -> Time {
    Time::from_nanos(at)
}

impl<S: Second + Clone> Both<S> {
    pub fn give_sender(&mut self, input: Input) {
        let mut rng = Stream::new(1, "sender");
        let mut cx = EndpointCx { rng: &mut rng, annexes: &mut self.annexes, notes: None };
        let (packets, timer) = answered(&mut self.sender, time(self.path.now), input, &mut cx);
        self.timers[0] = timer;
        self.seen = packets
            .iter()
            .map(|(packet, annex)| Seen {
                number: packet.number,
                ecn_capable: packet.is_ecn_capable(),
                cwr: packet.window_reduced(),
                pushed: packet.is_pushed(),
                request: annex.as_ref().and_then(request),
            })
            .collect();
        for (packet, annex) in packets {
            self.path.launch(packet, annex.as_ref());
        }
    }

    fn give_receiver(&mut self, input: Input) -> Vec<receiver::Ack> {
        let mut rng = Stream::new(1, "receiver");
        let mut cx = EndpointCx { rng: &mut rng, annexes: &mut self.annexes, notes: None };
        let (packets, timer) = answered(&mut self.receiver, time(self.path.now), input, &mut cx);
        self.timers[1] = timer;
        let acks = packets.iter().map(|(packet, annex)| read(packet, annex.as_ref())).collect();
        for (packet, annex) in packets {
            self.path.launch(packet, annex.as_ref());
        }
        acks
    }

    /// What left and what was told since the last step, of ours.
    fn ours(&self, left: usize, told: usize) -> (Vec<Left>, Vec<Told>) {
        let controller = self.sender.controller();
        (controller.left[left..].to_vec(), controller.told[told..].to_vec())
    }

    /// What the second writing is like, where that is told.
    fn state(&self) -> String {
        if self.tells_states { self.anew.second.state() } else { String::new() }
    }

    fn step_sender(&mut self, input: Input, anew: impl FnOnce(&mut S) -> Option<Told>) -> Result<(), String> {
        let controller = self.sender.controller();
        let (left, told) = (controller.left.len(), controller.told.len());
        let before = self.state();
        let told_anew = anew(&mut self.anew.second);
        let told_state = self.state();
        self.give_sender(input);
        // It is compared below. Both compute it in real numbers, and a rate follows from it to the bit.
        if let Some((smoothed, _)) = self.sender.controller().smoothed {
            self.anew.smoothed = smoothed as u64;
        }
        let anew = self.anew.answer(told_anew);
        let ours = self.ours(left, told);
        let compare = || {
            same("told", &ours.1, &anew.1)?;
            same("left", &ours.0, &anew.0.iter().map(|one| one.0).collect())?;
            same("seen", &self.seen, &anew.0.iter().map(|one| one.1).collect())?;
            same("window", &self.sender.controller().law.window, &self.anew.law.window)?;
            same("in flight", &self.sender.in_flight().get(), &self.anew.second.in_flight())?;
            if self.timers[0].is_some_and(|due| due < self.path.now) {
                return Err(format!("timer: ours {:?} lies in the past", self.timers[0]));
            }
            // What has expired while another timer was armed is due now.
            let deadline = self.anew.second.deadline().map(|due| due.max(self.path.now as f64));
            let wake = self.anew.wake.map(|wake| wake as f64);
            let deadline = [deadline, wake].into_iter().flatten().reduce(f64::min);
            if !near(self.timers[0], deadline) {
                return Err(format!("timer: ours {:?}, anew {deadline:?}", self.timers[0]));
            }
            let timer = self.anew.second.timer();
            if let Some((smoothed, least)) = self.sender.controller().smoothed
                && ((smoothed - timer.srtt().unwrap_or(0.0)).abs() > NEAR || least != timer.least)
            {
                return Err(format!("round trip: ours {smoothed}, {least}, anew {timer:?}"));
            }
            Ok(())
        };
        compare().map_err(|said| {
            format!("{said}\n  before: {before}\n  told: {told_state}\n  after: {}\n  all told: ours {:?}, anew {:?}; left: ours {:?}, anew {:?}", self.state(), ours.1, anew.1, ours.0, anew.0)
        })
    }

    /// What a receiver that compresses says is compared with Linux's (`linux.rs`).
    fn same_acks(&self, ours: &Vec<receiver::Ack>, anew: &Vec<receiver::Ack>) -> Result<(), String> {
        if self.compares_acks { same("acknowledgement", ours, anew) } else { Ok(()) }
    }

    pub fn step(&mut self) -> Result<Course, String> {
        let next = self.path.next_at();
        let Some(at) = [next, self.timers[0], self.timers[1]].into_iter().flatten().min() else {
            return Ok(Course::Over);
        };
        (self.path.now, self.anew.now) = (at, at);
        if next != Some(at) {
            if self.timers[1] == Some(at) {
                let ours = self.give_receiver(Input::Timeout);
                let anew: Vec<_> = self.second_receiver.expire(at).into_iter().collect();
                self.same_acks(&ours, &anew)?;
            } else {
                let later = self.anew.second.deadline().map(|due| due - at as f64);
                if self.anew.wake == Some(at) && later.is_some_and(|later| later.abs() <= NEAR) {
                    return Ok(Course::Undecided);
                }
                // The silence is over, where its timer has expired.
                let is_due = later.is_some_and(|later| later <= NEAR);
                self.anew.is_silent &= !is_due;
                self.step_sender(Input::Timeout, |second| {
                    second.deadline().filter(|due| *due <= at as f64 + NEAR).and_then(|_| second.expire(at))
                })?;
            }
            return Ok(Course::On);
        }
        match self.path.take() {
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
                    request: annex.as_ref().and_then(request),
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
                self.anew.acknowledged(ack.number);
                self.step_sender(Input::Packet(packet), |second| second.acknowledge(at, &ack))
                    .map_err(|said| format!("{ack:?}: {said}"))?;
            }
            Some(Step::Write(bytes)) => {
                self.anew.waiting += bytes;
                self.step_sender(Input::App(AppInput::Write(Bytes::new(bytes))), |_| None)?;
            }
            None => {}
        }
        Ok(Course::On)
    }
}

/// An acknowledgement that leaves the receiver.
pub fn read(packet: &Packet, annex: Option<&Annex>) -> receiver::Ack {
    let (blocks, echo) = match annex {
        Some(Annex::Blocks(said)) => (said.as_slice().to_vec(), said.echo.map(Time::as_nanos)),
        _ => (Vec::new(), None),
    };
    receiver::Ack { number: packet.number, size: packet.size().get(), blocks, echo, marks: packet.ecn_echo() }
}

/// The request in a packet's annex.
fn request(annex: &Annex) -> Option<Request> {
    let request = annex.request()?;
    let asked = request.frequency().map(|asked| (asked.threshold, asked.max_delay.as_nanos()));
    Some((request.sequence().get().into(), asked))
}

/// RFC 2883 §4.1 and §4.2: the first block names what arrived twice if it is acknowledged, or part of the second.
pub fn named_twice(number: u64, blocks: &[SeqRange]) -> Option<SeqRange> {
    let first = blocks.first()?;
    let is_part = blocks.get(1).is_some_and(|second| second.start <= first.start && first.end <= second.end);
    (first.end <= number || is_part).then_some(*first)
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
