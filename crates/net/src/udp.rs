//! One endpoint over one connected UDP socket: a plain loop that waits for a datagram or for the endpoint's next
//! time, whichever is first. Data leaves with the packet's own ECN field in its IP header, and a mark that routers on
//! the way put there counts like one inside the frame.

use std::io;
use std::net::UdpSocket;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tailback_core::{
    Annexes, AppInput, Bytes, Ecn, Endpoint, EndpointCx, Event, FlowId, Input, Kind, Output, Packet, Span,
    Stream, Time,
};
use tailback_transport::wire::{decode, encode};

use crate::buffer::{Payload, ReceiveBuffer, SendBuffer};
use crate::clock::Clock;
use crate::impair::Impairment;
use crate::socket::{MarkedSocket, combine};

/// Datagrams taken in a row before the endpoint's timers get their turn.
const BATCH: usize = 64;

/// What happened at the edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeCounters {
    /// Datagrams handed to the socket.
    pub sent: u64,
    /// Datagrams that the system had no room for, or whose peer was not there: lost like others on the way.
    pub unsent: u64,
    /// Datagrams received.
    pub received: u64,
    /// Of those received, datagrams whose IP header carried Congestion Experienced.
    pub marked: u64,
    /// Datagrams that were no frame, marked although not capable of it, of another flow, or refused by the payload's buffer.
    pub refused: u64,
}

/// Drives one endpoint over one connected UDP socket.
pub struct Driver<E, P> {
    endpoint: E,
    payload: P,
    flow: FlowId,
    socket: MarkedSocket,
    clock: Clock,
    now: Time,
    rng: Stream,
    annexes: Annexes,
    impairment: Option<Impairment>,
    wake: Option<Time>,
    /// When the peer was last heard.
    heard: Time,
    /// For how long the peer may say nothing.
    patience: Option<Span>,
    events: Vec<Event>,
    buffer: Box<[u8]>,
    frame: Vec<u8>,
    counters: EdgeCounters,
}

impl<E: Endpoint, P: Payload> Driver<E, P> {
    /// A driver of an endpoint that was not used yet, over a socket that is connected to its peer. `rng` is the
    /// endpoint's random stream.
    ///
    /// # Errors
    /// Where the socket is not connected, or cannot be made non-blocking.
    pub fn new(
        socket: UdpSocket,
        flow: FlowId,
        endpoint: E,
        payload: P,
        rng: Stream,
        impairment: Option<Impairment>,
    ) -> io::Result<Self> {
        let socket = MarkedSocket::new(socket)?;
        let mut driver = Self {
            endpoint,
            payload,
            flow,
            socket,
            clock: Clock::start(),
            now: Time::ZERO,
            rng,
            annexes: Annexes::new(),
            impairment,
            wake: None,
            heard: Time::ZERO,
            patience: None,
            events: Vec::new(),
            buffer: vec![0; usize::from(u16::MAX)].into(),
            frame: Vec::new(),
            counters: EdgeCounters::default(),
        };
        driver.handle(Input::App(AppInput::Start))?;
        Ok(driver)
    }

    /// Lets [`Driver::turn`] fail when the peer has said nothing for so long: for a receiver, whose sender may be gone for
    /// good. A sender has its user timeout (RFC 9293 §3.8.3).
    pub fn give_up_after(&mut self, silence: Span) {
        self.heard = self.clock.now();
        self.patience = Some(silence);
    }

    /// The endpoint, for counters.
    pub fn endpoint(&self) -> &E {
        &self.endpoint
    }

    /// What happened at the edge.
    pub fn counters(&self) -> EdgeCounters {
        self.counters
    }

    /// The impairments, for their counts.
    pub fn impairment(&self) -> Option<&Impairment> {
        self.impairment.as_ref()
    }

    /// Waits for whatever comes first, at most `longest`, and does all that follows from it. The endpoint's events
    /// since the last call.
    ///
    /// # Errors
    /// Of the socket, where payload and endpoint disagree about the stream, or where the peer is silent for too long.
    pub fn turn(&mut self, longest: Span) -> io::Result<Vec<Event>> {
        let now = self.clock.now();
        let limit = if self.events.is_empty() { now + longest } else { now };
        let held = self.impairment.as_ref().and_then(Impairment::next_release);
        let given_up = self.patience.map(|patience| self.heard + patience);
        let until = [self.wake, held, given_up].into_iter().flatten().fold(limit, Time::min);
        if self.wait(until.since(now))? {
            self.receive()?;
        }
        if let Some(patience) = self.patience
            && self.clock.now() >= self.heard + patience
        {
            let what = format!("the peer has said nothing for {patience}");
            return Err(io::Error::new(io::ErrorKind::TimedOut, what));
        }
        self.release()?;
        if self.wake.is_some_and(|wake| wake <= self.clock.now()) {
            self.handle(Input::Timeout)?;
        }
        Ok(std::mem::take(&mut self.events))
    }

    /// Waits for a datagram; whether one is there.
    fn wait(&self, span: Span) -> io::Result<bool> {
        let (seconds, nanos) = (span.as_nanos() / 1_000_000_000, span.as_nanos() % 1_000_000_000);
        let timeout = Timespec {
            tv_sec: i64::try_from(seconds).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(nanos).unwrap_or(0),
        };
        match poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&timeout)) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn receive(&mut self) -> io::Result<()> {
        for _ in 0..BATCH {
            let mut buffer = std::mem::take(&mut self.buffer);
            let arrived = self.socket.receive(&mut buffer);
            let taken = arrived.and_then(|arrived| {
                arrived.datagrams(&buffer).try_for_each(|datagram| self.on_datagram(datagram, arrived.ecn))
            });
            self.buffer = buffer;
            match taken {
                Ok(()) => {}
                Err(error) if is_momentary(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn on_datagram(&mut self, datagram: &[u8], ecn: Ecn) -> io::Result<()> {
        self.counters.received += 1;
        self.counters.marked += u64::from(ecn == Ecn::Ce);
        let frame = decode(datagram).ok().filter(|frame| frame.packet.flow == self.flow);
        let frame = frame.and_then(|mut frame| combine(&mut frame.packet, ecn).then_some(frame));
        let Some(mut frame) = frame.filter(|frame| self.payload.incoming(frame)) else {
            self.counters.refused += 1;
            return Ok(());
        };
        self.heard = self.clock.now();
        let mut packet = frame.packet;
        if let Some(annex) = frame.annex.take() {
            packet.annex = self.annexes.insert(annex);
        }
        self.handle(Input::Packet(packet))
    }

    /// One mutation, then drain.
    fn handle(&mut self, input: Input) -> io::Result<()> {
        self.now = self.clock.now();
        let mut cx = EndpointCx { rng: &mut self.rng, annexes: &mut self.annexes, notes: None };
        self.endpoint.handle(self.now, input, &mut cx);
        loop {
            let mut cx = EndpointCx { rng: &mut self.rng, annexes: &mut self.annexes, notes: None };
            match self.endpoint.poll(self.now, &mut cx) {
                Output::Transmit(packet) => self.transmit(packet)?,
                Output::Event(event) => self.on_event(event)?,
                Output::Wait(until) => {
                    self.wake = until;
                    return Ok(());
                }
            }
        }
    }

    fn on_event(&mut self, event: Event) -> io::Result<()> {
        if let Event::Delivered(bytes) = event
            && !self.payload.delivered(bytes)
        {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the peer's segments do not fit one another",
            ));
        }
        if event == Event::GaveUp {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the peer has acknowledged nothing new for longer than the user timeout",
            ));
        }
        self.events.push(event);
        Ok(())
    }

    fn transmit(&mut self, packet: Packet) -> io::Result<()> {
        let annex = self.annexes.take(packet.annex);
        let (offset, payload) = if packet.kind() == Kind::Data {
            self.payload
                .outgoing(&packet)
                .ok_or_else(|| io::Error::other(format!("no payload for packet {}", packet.number)))?
        } else {
            (0, &[][..])
        };
        let mut frame = std::mem::take(&mut self.frame);
        frame.clear();
        encode(&packet, annex.as_ref(), offset, payload, &mut frame).map_err(io::Error::other)?;
        let passes = self.impairment.as_mut().is_none_or(|impairment| impairment.pass(self.now, &frame));
        if passes {
            self.send(&frame, packet.ecn())?;
        }
        self.frame = frame;
        Ok(())
    }

    fn send(&mut self, frame: &[u8], ecn: Ecn) -> io::Result<()> {
        match self.socket.send(frame, ecn) {
            Ok(()) => self.counters.sent += 1,
            Err(error) if is_momentary(&error) => self.counters.unsent += 1,
            Err(error) if error.raw_os_error() == Some(Errno::MSGSIZE.raw_os_error()) => {
                let length = frame.len();
                let what = format!(
                    "a datagram of {length} bytes is longer than the way to the peer takes; expected a smaller segment size"
                );
                return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Sends held frames whose time has come.
    fn release(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        while let Some(frame) = self.impairment.as_mut().and_then(|impairment| impairment.release(now)) {
            let ecn = decode(&frame).map_or(Ecn::NotEct, |frame| frame.packet.ecn());
            self.send(&frame, ecn)?;
        }
        Ok(())
    }
}

impl<E: Endpoint> Driver<E, SendBuffer> {
    /// Appends to the stream.
    ///
    /// # Errors
    /// Of the socket: some of it may leave at once.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.payload.write(bytes);
        self.handle(Input::App(AppInput::Write(Bytes::new(bytes.len() as u64))))
    }

    /// Ends the stream: [`Event::Finished`] comes when all of it was acknowledged.
    ///
    /// # Errors
    /// Of the socket.
    pub fn close(&mut self) -> io::Result<()> {
        self.handle(Input::App(AppInput::Close))
    }

    /// How many bytes are written and not yet acknowledged.
    pub fn kept(&self) -> usize {
        self.payload.kept()
    }
}

impl<E: Endpoint> Driver<E, ReceiveBuffer> {
    /// Takes the bytes that can be read.
    pub fn read(&mut self) -> Vec<u8> {
        self.payload.read()
    }
}

/// Errors that mean no more than a lost datagram, or that none is there: a full buffer, a peer that does not listen yet or any
/// more, a way that is not there for the moment. Who sends gives up when nothing is acknowledged for too long; who
/// receives, by [`Driver::give_up_after`].
fn is_momentary(error: &io::Error) -> bool {
    let full = error.raw_os_error() == Some(Errno::NOBUFS.raw_os_error());
    full || matches!(
        error.kind(),
        io::ErrorKind::WouldBlock
            | io::ErrorKind::Interrupted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkDown
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_that_is_not_there_for_a_moment_is_a_lost_datagram() {
        let is_momentary = |errno: Errno| is_momentary(&errno.into());
        for errno in
            [Errno::NETUNREACH, Errno::HOSTUNREACH, Errno::NETDOWN, Errno::NOBUFS, Errno::CONNREFUSED]
        {
            assert!(is_momentary(errno), "{errno}");
        }
        for errno in [Errno::MSGSIZE, Errno::BADF, Errno::PERM] {
            assert!(!is_momentary(errno), "{errno}");
        }
    }
}
