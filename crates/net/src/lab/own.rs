//! One end of a flow of ours in a laboratory: an endpoint over UDP on a thread of its own, in the clear, with payload of zeros.
//! What the endpoint does is decided within; looks are kept by `watch.rs`.

use std::cell::Cell;
use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver as Await;

use tailback_core::{
    AppInput, Bytes, Endpoint, EndpointCx, Event, FlowId, Input, Kind, Observation, Output, Packet, Span,
    Stream, Time,
};
use tailback_transport::wire::Frame;

use super::watch::{End, Transfer, Watch, Window};
use crate::buffer::Payload;
use crate::clock::Clock;
use crate::router::Spans;
use crate::udp::Driver;

/// The word to stop is looked for this often.
const LOOK: Span = Span::from_millis(50);

/// An endpoint with all that its driver needs.
pub(super) struct OwnEnd<E> {
    pub(super) flow: FlowId,
    pub(super) socket: UdpSocket,
    pub(super) endpoint: E,
    pub(super) rng: Stream,
    /// Header bytes of the endpoint's packets; the rest is payload.
    pub(super) header: Bytes,
    pub(super) start: Time,
    pub(super) stop: Option<Time>,
}

impl<E: Endpoint> OwnEnd<E> {
    /// Drives the endpoint until the window's end, or until there is word to stop. `clock` comes when the run begins.
    pub(super) fn run(self, window: Window, clock: &Await<Clock>, stop: &AtomicBool) -> End {
        let mut end = End::default();
        let mut watch = Watch::new(window);
        let mut last = Observation::default();
        if let Ok(clock) = clock.recv()
            && let Err(error) = self.drive(clock, stop, window, &mut watch, &mut end, &mut last)
        {
            end.error = Some(error.to_string());
        }
        end.looks = watch.finish(last);
        end
    }

    fn drive(
        self,
        clock: Clock,
        stop: &AtomicBool,
        window: Window,
        watch: &mut Watch,
        end: &mut End,
        last: &mut Observation,
    ) -> io::Result<()> {
        let until = self.stop.unwrap_or(window.end).min(window.end);
        sleep_until(self.start.min(until), clock, stop);
        let began = clock.now();
        let endpoint = Punctual { endpoint: self.endpoint, due: Cell::new(None), late: Spans::default() };
        let payload = Zeros { header: self.header, bytes: vec![0; usize::from(u16::MAX)].into(), next: 0 };
        let mut driver = Driver::new(self.socket, self.flow, endpoint, payload, self.rng, None)?;
        let outcome = loop {
            let now = clock.now();
            watch.look(now, || driver.endpoint().observe());
            if now >= until || stop.load(Ordering::Relaxed) {
                break Ok(());
            }
            let events = match driver.turn(watch.next().min(until).since(now).min(LOOK)) {
                Ok(events) => events,
                Err(error) => break Err(error),
            };
            for event in events {
                match event {
                    Event::Finished => end.finished = Some(clock.now()),
                    Event::MessageDone { size, began: offered } => {
                        let began = began + offered.since(Time::ZERO);
                        end.transfers.push(Transfer { size, began, ended: clock.now() });
                    }
                    _ => {}
                }
            }
        };
        *last = driver.endpoint().observe();
        end.timers = driver.endpoint().late.clone();
        outcome
    }
}

/// Sleeps until a time, or until there is word to stop.
pub(super) fn sleep_until(time: Time, clock: Clock, stop: &AtomicBool) {
    while let Some(left) = Some(time.since(clock.now())).filter(|left| !left.is_zero())
        && !stop.load(Ordering::Relaxed)
    {
        std::thread::sleep(std::time::Duration::from_nanos(left.min(LOOK).as_nanos()));
    }
}

/// Payload that nobody reads: places in a stream of zeros.
struct Zeros {
    header: Bytes,
    bytes: Box<[u8]>,
    /// The place of the next packet, which is no more than a number here.
    next: u64,
}

impl Payload for Zeros {
    fn outgoing(&mut self, packet: &Packet) -> Option<(u64, &[u8])> {
        let length = packet.size().get().saturating_sub(self.header.get());
        let place = self.next;
        self.next += length;
        Some((place, &self.bytes[..length as usize]))
    }

    fn incoming(&mut self, frame: &Frame<'_>) -> bool {
        let length = frame.payload.len() as u64;
        frame.packet.kind() != Kind::Data
            || frame.packet.size().get().saturating_sub(self.header.get()) == length
    }

    fn delivered(&mut self, _: Bytes) -> bool {
        true
    }
}

/// An endpoint, and how late its timers were.
struct Punctual<E> {
    endpoint: E,
    due: Cell<Option<Time>>,
    late: Spans,
}

impl<E: Endpoint> Endpoint for Punctual<E> {
    fn handle(&mut self, now: Time, input: Input, cx: &mut EndpointCx<'_>) {
        if let Some(due) = self.due.take()
            && due <= now
            && !matches!(input, Input::App(AppInput::Start))
        {
            self.late.add(now.since(due));
        }
        self.endpoint.handle(now, input, cx);
    }

    fn poll(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Output {
        let output = self.endpoint.poll(now, cx);
        if let Output::Wait(until) = output {
            // What was due when the wait began is late through what came before, which has been counted.
            self.due.set(until.filter(|until| *until > now));
        }
        output
    }

    fn observe(&self) -> Observation {
        self.endpoint.observe()
    }
}
