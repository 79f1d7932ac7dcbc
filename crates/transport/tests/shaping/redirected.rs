//! What a controller directs when it is called within a poll, because an application rested or begins a new connection: it is obeyed at
//! that instant, as what is directed in answer to any input.

use super::{MBIT, ONE_WAY, free, seconds};
use crate::pipe;

use pipe::{FLOW, Pipe};
use tailback_core::{
    AppInput, BitRate, Bytes, CongestionEvent, Controller, Cx, Directive, Event, Feedback, Gate, Kind,
    ProbePlan, Span, Stream, Time,
};
use tailback_transport::source::{AnySource, Offer, Source};
use tailback_transport::{Receiver, ReceiverConfig, Sender, StreamConfig};

/// Directs one thing until it hears of a rest, and then another.
struct Rested {
    now: Directive,
    then: Directive,
}

impl Controller for Rested {
    fn on_feedback(&mut self, _: Time, feedback: &Feedback<'_>, _: &mut Cx<'_>) {
        if feedback.event == Some(CongestionEvent::Idle) {
            self.now = self.then;
        }
    }

    fn directive(&self) -> Directive {
        self.now
    }
}

/// A closed gate, and a pair of control packets.
fn closed() -> Directive {
    let probe = Some(ProbePlan::ControlPair { id: 1 });
    Directive { gate: Gate::Closed { until: None }, probe, ..free() }
}

fn pipe<S: Source>(sender: Sender<Rested, S>) -> Pipe<Sender<Rested, S>, Receiver> {
    let receiver = Receiver::new(FLOW, ReceiverConfig::default().matching(&StreamConfig::default()));
    Pipe::new(sender, receiver, ONE_WAY).start()
}

fn pushed(then: Directive) -> Sender<Rested> {
    let rested = Rested { now: free(), then };
    Sender::new(FLOW, StreamConfig::default(), rested, AnySource::pushed())
}

/// A packet at once, and one after a rest of five seconds.
fn rest(sender: Sender<Rested>) -> Pipe<Sender<Rested>, Receiver> {
    let mut test = pipe(sender);
    test.app(AppInput::Write(Bytes::new(960)));
    while test.step(seconds(5.0)) {}
    test.now = seconds(5.0);
    test.app(AppInput::Write(Bytes::new(960)));
    test
}

/// When packets of a kind left.
fn times<A, B>(test: &Pipe<A, B>, kind: Kind) -> Vec<Time> {
    test.departures.iter().filter(|one| one.packet.kind() == kind).map(|one| one.at).collect()
}

/// When the application heard of what it may send, and whether the gate was open.
fn hints<A, B>(test: &Pipe<A, B>) -> Vec<(Time, bool)> {
    let hint = |(at, event): &(Time, Event)| match event {
        Event::Hint(hint) => Some((*at, hint.gate.is_open())),
        _ => None,
    };
    test.events.iter().filter_map(hint).collect()
}

#[test]
fn what_is_directed_after_a_rest_is_obeyed_at_once() {
    let test = rest(pushed(closed()));
    assert_eq!(times(&test, Kind::Data), [Time::ZERO]);
    assert_eq!(times(&test, Kind::Control), [seconds(5.0); 2]);
    assert_eq!(hints(&test), [(seconds(5.0), false)]);
}

/// Who listens hears of a rate, too.
#[test]
fn a_rate_that_is_directed_after_a_rest_is_told_at_once() {
    let test = rest(pushed(Directive { window: Some(Bytes::ZERO), ..Directive::rate(MBIT) }).with_hints());
    let Some((at, Event::Hint(hint))) = test.events.last() else { panic!("{:?}", test.events) };
    assert_eq!((*at, hint.rate.map(BitRate::bits_per_sec)), (seconds(5.0), Some(960_000)));
}

/// Two packets, each by a connection of its own.
#[derive(Default)]
struct Connections {
    next: Option<Time>,
}

impl Source for Connections {
    fn start(&mut self, now: Time, _: &mut Stream) {
        self.next = Some(now);
    }
    fn next_offer(&self) -> Option<Time> {
        self.next
    }
    fn take_offer(&mut self, now: Time, _: &mut Stream) -> Option<Offer> {
        self.next.take().filter(|at| *at <= now)?;
        self.next = (now == Time::ZERO).then(|| now + Span::from_millis(10));
        Some(Offer { bytes: Bytes::new(960), new_connection: true, ends_message: true })
    }
    fn on_message_done(&mut self, _: Time, _: &mut Stream) {}
    fn is_finished(&self) -> bool {
        self.next.is_none()
    }
    fn stop(&mut self, _: Time) {}
}

#[test]
fn what_a_new_connection_directs_is_obeyed_at_once() {
    let sender = Sender::new(
        FLOW,
        StreamConfig::default(),
        Rested { now: free(), then: free() },
        Connections::default(),
    )
    .with_restart(std::sync::Arc::new(|| Rested { now: closed(), then: closed() }));
    let test = pipe(sender).run(Span::from_secs(5));
    // The second begins when the first is acknowledged.
    assert_eq!(times(&test, Kind::Data), [Time::ZERO]);
    assert_eq!(times(&test, Kind::Control), [seconds(0.1); 2]);
    assert_eq!(hints(&test), [(seconds(0.1), false)]);
}
