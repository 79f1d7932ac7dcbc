//! Both writings on one path until they differ: what each sees, and what comes out of it.

use std::fmt::Debug;

use tailback_core::{
    Annex, Annexes, AppInput, Bytes, Endpoint, EndpointCx, Event, Input, Kind, Lane, Output, Packet,
    PairPosition, Stream, Time,
};
use tailback_transport::source::AnySource;
use tailback_transport::{Receiver, ReceiverConfig, Sender, StreamConfig};

use super::super::both::{NEAR, named_twice, near, read};
use super::super::configured;
use super::super::path::{Path, Step, Trouble};
use super::super::{Acknowledgement, Left, Options, Second, Told};
use super::anew::{Anew, Out};
use super::law::{Law, Ours};
use crate::pipe::FLOW;

struct Run<S> {
    path: Path,
    sender: Sender<Ours>,
    receiver: Receiver,
    annexes: Annexes,
    rng: (Stream, Stream),
    anew: Anew<S>,
    /// The sender's and the receiver's.
    timers: [Option<u64>; 2],
}

fn same<T: PartialEq + Debug>(what: &str, ours: &T, anew: &T) -> Result<(), String> {
    if ours == anew { Ok(()) } else { Err(format!("{what}: ours {ours:?}, anew {anew:?}")) }
}

impl<S: Second + Clone> Run<S> {
    /// Our sender's answer to an input.
    fn give_sender(&mut self, input: Input) -> Vec<Out> {
        let now = Time::from_nanos(self.path.now);
        let mut cx = EndpointCx { rng: &mut self.rng.0, annexes: &mut self.annexes, notes: None };
        self.sender.handle(now, input, &mut cx);
        let mut out = Vec::new();
        loop {
            let mut cx = EndpointCx { rng: &mut self.rng.0, annexes: &mut self.annexes, notes: None };
            match self.sender.poll(now, &mut cx) {
                Output::Transmit(packet) => {
                    let annex = cx.annexes.take(packet.annex);
                    out.push(self.launch(packet, annex.as_ref()));
                }
                Output::Event(Event::Hint(hint)) => out.push(Out::Gate(hint.gate.is_open())),
                Output::Event(_) => {}
                Output::Wait(until) => {
                    self.timers[0] = until.map(Time::as_nanos);
                    return out;
                }
            }
        }
    }

    /// A packet of ours sets out; control packets are only seen.
    fn launch(&mut self, packet: Packet, annex: Option<&Annex>) -> Out {
        if packet.kind() == Kind::Control {
            return Out::Control(packet.number, packet.lane() == Lane::OUT_OF_BAND);
        }
        self.path.launch(packet, annex);
        let told = self.sender.controller().out.last().copied();
        let place = packet.pair();
        match told {
            Some(Out::Data(left, pair)) if left.number == packet.number && pair == place => {
                told.unwrap_or(Out::Gate(false))
            }
            _ => Out::Data(
                Left { number: packet.number, size: 0, again: false, in_flight: 0 },
                PairPosition::Single,
            ),
        }
    }

    fn give_receiver(&mut self, input: Input) {
        let now = Time::from_nanos(self.path.now);
        let mut cx = EndpointCx { rng: &mut self.rng.1, annexes: &mut self.annexes, notes: None };
        self.receiver.handle(now, input, &mut cx);
        loop {
            let mut cx = EndpointCx { rng: &mut self.rng.1, annexes: &mut self.annexes, notes: None };
            match self.receiver.poll(now, &mut cx) {
                Output::Transmit(packet) => {
                    let annex = cx.annexes.take(packet.annex);
                    self.path.launch(packet, annex.as_ref());
                }
                Output::Event(_) => {}
                Output::Wait(until) => {
                    self.timers[1] = until.map(Time::as_nanos);
                    return;
                }
            }
        }
    }

    /// An input to both senders; what it means to the second writing comes with it.
    fn step_sender(
        &mut self,
        input: Input,
        anew: impl FnOnce(&mut Anew<S>, &mut Vec<Told>),
    ) -> Result<(), String> {
        let now = self.path.now;
        let before = self.anew.second.state();
        let known = self.sender.controller().told.len();
        let out = self.give_sender(input);
        let mut told = Vec::new();
        anew(&mut self.anew, &mut told);
        let out_anew = self.anew.out(now, &mut told);
        let compare = || {
            same("told", &self.sender.controller().told[known..].to_vec(), &told)?;
            same("out", &out, &out_anew)?;
            same("in flight", &self.sender.in_flight().get(), &self.anew.second.in_flight())?;
            let window = self.sender.window().map_or(u64::MAX, Bytes::get);
            same("window", &window, &self.anew.window())?;
            // What has expired while another timer was armed is due now.
            let waits = self.anew.waits_for().into_iter().map(|at| at.max(now as f64)).reduce(f64::min);
            if !near(self.timers[0], waits) {
                return Err(format!("waits: ours for {:?}, anew for {waits:?}", self.timers[0]));
            }
            Ok(())
        };
        compare().map_err(|said| {
            format!(
                "{said}\n  before: {before}\n  after: {}\n  {:?}\n  shaper: {:?}\n  told: {told:?}, out: {out:?}",
                self.anew.second.state(), self.anew.law.directive(), self.anew.shaper
            )
        })
    }

    /// One step; whether there was one whose order is known.
    fn step(&mut self) -> Result<bool, String> {
        let next = self.path.next_at();
        let Some(now) = [next, self.timers[0], self.timers[1]].into_iter().flatten().min() else {
            return Ok(false);
        };
        self.path.now = now;
        if next == Some(now) {
            self.step_path(now)?;
        } else if self.timers[1] == Some(now) {
            self.give_receiver(Input::Timeout);
        } else {
            let due = |at: &f64| (*at - now as f64).abs() <= NEAR;
            if self.anew.waits_for().iter().filter(|at| due(at)).count() > 1 {
                // Which comes first, what is known of the timer does not say.
                return Ok(false);
            }
            self.step_sender(Input::Timeout, |anew, told| {
                if anew.second.deadline().is_some_and(|at| at <= now as f64 + NEAR) {
                    let said = anew.second.expire(now);
                    anew.hear(now, said, told);
                }
                if anew.law.turns_at().is_some_and(|at| at <= now) {
                    anew.law.turn(now);
                    anew.obey(now);
                }
            })?;
        }
        Ok(true)
    }

    /// The path's next step.
    fn step_path(&mut self, now: u64) -> Result<(), String> {
        match self.path.take() {
            Some(Step::Data(mut packet, annex)) => {
                packet.annex = annex.map_or(packet.annex, |annex| self.annexes.insert(annex));
                self.give_receiver(Input::Packet(packet));
            }
            Some(Step::Ack(mut packet, annex)) => {
                let said = read(&packet, annex.as_ref());
                let ack = Acknowledgement {
                    number: said.number,
                    duplicate: named_twice(said.number, &said.blocks),
                    blocks: said.blocks,
                    echo: said.echo,
                    marks: false,
                };
                packet.annex = annex.map_or(packet.annex, |annex| self.annexes.insert(annex));
                self.step_sender(Input::Packet(packet), |anew, told| {
                    if let Some(said) = anew.second.acknowledge(now, &ack) {
                        anew.hear(now, Some(said), told);
                    }
                })
                .map_err(|said| format!("{ack:?}: {said}"))?;
            }
            Some(Step::Write(bytes)) => {
                let input = Input::App(AppInput::Write(Bytes::new(bytes)));
                self.step_sender(input, |anew, _| anew.write(now, bytes))?;
            }
            None => {}
        }
        Ok(())
    }
}

/// Where both writings part first, in words.
pub fn difference<S: Second + Clone>(
    options: &Options,
    second: S,
    law: &Law,
    trouble: &Trouble,
    seed: u64,
) -> Option<String> {
    // Control packets would tell how much has arrived: that is for itself.
    let config = StreamConfig { counted_repair: false, ..configured::sender_config(options) };
    let receiver = ReceiverConfig { dsack: options.rack.map(|rack| rack.dsack), ..ReceiverConfig::default() };
    let receiver = receiver.matching(&config);
    let ours = Ours { law: law.clone(), told: Vec::new(), out: Vec::new() };
    let mut run = Run {
        path: Path::new(*trouble, seed),
        sender: Sender::new(FLOW, config, ours, AnySource::pushed()),
        receiver: Receiver::new(FLOW, receiver),
        annexes: Annexes::new(),
        rng: (Stream::new(1, "sender"), Stream::new(1, "receiver")),
        anew: Anew::new(options, second, law.clone()),
        timers: [None; 2],
    };
    let mut said = run.step_sender(Input::App(AppInput::Start), |anew, _| anew.obey(0));
    for count in 0..3000 {
        match said.and_then(|()| run.step()) {
            Ok(true) => said = Ok(()),
            Ok(false) => return None,
            Err(said) => return Some(format!("step {count}, at {} ms: {said}", run.path.now as f64 / 1e6)),
        }
    }
    None
}
