//! The ends of flows of ours at one host of a laboratory: endpoints over one UDP socket, in one loop on one thread, in the
//! clear, with payload of zeros. What an endpoint does is decided within; looks are kept by `watch.rs`.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::UdpSocket;
use std::rc::Rc;
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
use crate::host::{Happened, UdpHost, Way};
use crate::router::Spans;

/// The word to stop is looked for this often.
const LOOK: Span = Span::from_millis(50);

/// An endpoint with all that its driver needs.
pub(super) struct OwnEnd {
    pub(super) flow: FlowId,
    pub(super) way: Way,
    pub(super) endpoint: Box<dyn Endpoint + Send>,
    pub(super) rng: Stream,
    /// Header bytes of the endpoint's packets; the rest is payload.
    pub(super) header: Bytes,
    pub(super) start: Time,
    pub(super) stop: Option<Time>,
}

/// All ends at one host, which share a socket.
pub(super) struct OwnEnds {
    pub(super) socket: UdpSocket,
    pub(super) ends: Vec<OwnEnd>,
}

/// What is noted of one end while it runs.
struct Running {
    flow: FlowId,
    start: Time,
    until: Time,
    /// Until it begins.
    waiting: Option<OwnEnd>,
    began: Time,
    watch: Watch,
    end: End,
    late: Rc<RefCell<Spans>>,
    last: Observation,
    is_over: bool,
}

impl OwnEnds {
    /// Drives the endpoints until the window's end, or until there is word to stop. `clock` comes when the run begins. What
    /// became of them is in their order.
    pub(super) fn run(self, window: Window, clock: &Await<Clock>, stop: &AtomicBool) -> Vec<End> {
        let mut running: Vec<Running> = self.ends.into_iter().map(|end| Running::new(end, window)).collect();
        if let Ok(clock) = clock.recv()
            && let Err(error) = drive(self.socket, &mut running, clock, window, stop)
        {
            for one in &mut running {
                one.end.error.get_or_insert_with(|| error.to_string());
            }
        }
        running.into_iter().map(Running::finish).collect()
    }
}

/// The loop.
fn drive(
    socket: UdpSocket,
    running: &mut [Running],
    clock: Clock,
    window: Window,
    stop: &AtomicBool,
) -> io::Result<()> {
    let mut host = UdpHost::new(socket, clock)?;
    // Where ends are in order of their flows' numbers, whose news is whose is found at once.
    let place = |running: &[Running], flow: FlowId| running.binary_search_by_key(&flow, |one| one.flow).ok();
    let zeros: Rc<[u8]> = vec![0; usize::from(u16::MAX)].into();
    let mut due = Time::ZERO;
    loop {
        let now = clock.now();
        if due <= now {
            for one in running.iter_mut() {
                one.begin(now, &mut host, &zeros)?;
                one.look(now, &mut host);
            }
            due = running.iter().map(Running::next).min().unwrap_or(Time::NEVER).min(window.end);
        }
        if now >= window.end || stop.load(Ordering::Relaxed) {
            break;
        }
        for (flow, happened) in host.turn(due.since(now).min(LOOK))? {
            if let Some(place) = place(running, flow) {
                running[place].note(happened, clock.now());
            }
        }
    }
    for one in running.iter_mut().filter(|one| !one.is_over) {
        one.last = host.endpoint(one.flow).map(Endpoint::observe).unwrap_or_default();
    }
    Ok(())
}

impl Running {
    fn new(end: OwnEnd, window: Window) -> Self {
        Self {
            flow: end.flow,
            start: end.start,
            until: end.stop.unwrap_or(window.end).min(window.end),
            waiting: Some(end),
            began: Time::ZERO,
            watch: Watch::new(window),
            end: End::default(),
            late: Rc::default(),
            last: Observation::default(),
            is_over: false,
        }
    }

    /// When there is something to do or to see.
    fn next(&self) -> Time {
        match (&self.waiting, self.is_over) {
            (_, true) => Time::NEVER,
            (Some(_), _) => self.start,
            (None, _) => self.watch.next().min(self.until),
        }
    }

    /// Begins, if it is time.
    fn begin(&mut self, now: Time, host: &mut UdpHost<Punctual, Zeros>, zeros: &Rc<[u8]>) -> io::Result<()> {
        let Some(end) = self.waiting.take_if(|end| end.start <= now) else { return Ok(()) };
        self.began = now;
        let late = Rc::clone(&self.late);
        let endpoint = Punctual { endpoint: end.endpoint, due: Cell::new(None), late };
        let payload = Zeros { header: end.header, bytes: Rc::clone(zeros), next: 0 };
        host.add(end.flow, end.way, endpoint, payload, end.rng)
    }

    /// Looks, if it is time; leaves off at its end.
    fn look(&mut self, now: Time, host: &mut UdpHost<Punctual, Zeros>) {
        if self.is_over || self.waiting.is_some() {
            return;
        }
        let observe = || host.endpoint(self.flow).map(Endpoint::observe).unwrap_or_default();
        self.watch.look(now, observe);
        if now >= self.until {
            self.last = observe();
            self.is_over = true;
            host.remove(self.flow);
        }
    }

    fn note(&mut self, happened: Happened, now: Time) {
        match happened {
            Happened::Event(Event::Finished) => self.end.finished = Some(now),
            Happened::Event(Event::MessageDone { size, began }) => {
                let began = self.began + began.since(Time::ZERO);
                self.end.transfers.push(Transfer { size, began, ended: now });
            }
            Happened::Event(_) => {}
            Happened::Ended(error) => self.end.error = Some(error.to_string()),
        }
    }

    fn finish(mut self) -> End {
        self.end.timers = self.late.borrow().clone();
        self.end.looks = self.watch.finish(self.last);
        self.end
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
    /// As many zeros as fit into a datagram, which all flows share.
    bytes: Rc<[u8]>,
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
struct Punctual {
    endpoint: Box<dyn Endpoint + Send>,
    due: Cell<Option<Time>>,
    late: Rc<RefCell<Spans>>,
}

impl Endpoint for Punctual {
    fn handle(&mut self, now: Time, input: Input, cx: &mut EndpointCx<'_>) {
        if let Some(due) = self.due.take()
            && due <= now
            && !matches!(input, Input::App(AppInput::Start))
        {
            self.late.borrow_mut().add(now.since(due));
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
