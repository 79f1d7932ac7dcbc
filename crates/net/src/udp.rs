//! One endpoint over a channel to its peer: a plain loop that waits for a datagram or for the endpoint's next
//! time, whichever is first. Data leaves with the packet's own ECN field in its IP header, and a mark that routers on
//! the way put there counts like one inside the frame. What carries frames is said in `channel`, what an endpoint's packets
//! become in `edge.rs`; many endpoints over one socket are in `host.rs`.

use std::io;

use rustix::io::Errno;
use tailback_core::{AppInput, Bytes, Ecn, Endpoint, Event, FlowId, Input, Kind, Span, Stream, Time};
use tailback_transport::wire::decode;

use crate::buffer::{Payload, ReceiveBuffer, SendBuffer};
use crate::channel::{Channel, Opened};
use crate::clock::Clock;
use crate::edge::Edge;
use crate::refused::{is_momentary, is_too_long};
use crate::socket::Arrived;
use crate::wait::wait_until;

/// Datagrams taken in a row before the endpoint's timers get their turn.
pub(crate) const BATCH: usize = 64;

/// What happened at the edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeCounters {
    /// Datagrams to the peer that were handed to the system.
    pub sent: u64,
    /// Datagrams to the peer that the system had no room for or refused, or whose peer was not there: lost like others on the
    /// way.
    pub unsent: u64,
    /// Datagrams received.
    pub received: u64,
    /// Of those received, datagrams whose IP header carried Congestion Experienced.
    pub marked: u64,
    /// Datagrams that were no frame, forged, repeated, marked although not capable of it, of another flow, or refused by the
    /// payload's buffer.
    pub refused: u64,
}

/// Data that has left and that no frame has come after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unanswered {
    /// How many packets.
    pub packets: u64,
    /// When the first of them left.
    pub since: Time,
}

impl Unanswered {
    fn note(&mut self, now: Time) {
        if self.packets == 0 {
            self.since = now;
        }
        self.packets += 1;
    }
}

/// Drives one endpoint over a channel.
pub struct Driver<E, P, C> {
    edge: Edge<E, P>,
    flow: FlowId,
    channel: C,
    clock: Clock,
    unanswered: Unanswered,
    margin: Span,
    trouble: Option<(Errno, Time)>,
    buffer: Box<[u8]>,
    counters: EdgeCounters,
}

impl<E: Endpoint, P: Payload, C: Channel> Driver<E, P, C> {
    /// A driver of an endpoint that was not used yet, over a channel, with the clock that the channel knows. `rng` is the
    /// endpoint's random stream.
    ///
    /// # Errors
    /// Of the channel.
    pub fn over(
        channel: C,
        clock: Clock,
        flow: FlowId,
        endpoint: E,
        payload: P,
        rng: Stream,
    ) -> io::Result<Self> {
        let mut driver = Self {
            edge: Edge::new(endpoint, payload, rng),
            flow,
            channel,
            clock,
            unanswered: Unanswered::default(),
            margin: Span::ZERO,
            trouble: None,
            buffer: vec![0; usize::from(u16::MAX)].into(),
            counters: EdgeCounters::default(),
        };
        driver.handle(clock.now(), Input::App(AppInput::Start))?;
        driver.channel.flush()?;
        Ok(driver)
    }

    /// The channel.
    pub fn channel(&self) -> &C {
        &self.channel
    }

    /// The channel, to say and hear what is not the endpoints'.
    pub fn channel_mut(&mut self) -> &mut C {
        &mut self.channel
    }

    /// The channel, when the endpoint has done its work.
    pub fn into_channel(self) -> C {
        self.channel
    }

    /// Gets up so much earlier than a time that the endpoint waits for, and spends the rest awake: the system wakes sleepers
    /// late, and packets that are paced would leave late with it.
    pub fn wake_early(&mut self, margin: Span) {
        self.margin = margin;
    }

    /// The data that has left since the endpoint's peer was last heard, by a frame and not by what channels say to each other.
    pub fn unanswered(&self) -> Unanswered {
        self.unanswered
    }

    /// What the network last said of datagrams since the peer was last heard, if anything, and when: that nobody listens there, for
    /// example.
    pub fn trouble(&self) -> Option<(Errno, Time)> {
        self.trouble
    }

    /// The endpoint, for counters.
    pub fn endpoint(&self) -> &E {
        &self.edge.endpoint
    }

    /// What happened at the edge.
    pub fn counters(&self) -> EdgeCounters {
        let (sent, unsent) = self.channel.counts();
        EdgeCounters { sent, unsent, ..self.counters }
    }

    /// Waits for whatever comes first, at most `longest`, and does all that follows from it. The endpoint's events
    /// since the last call.
    ///
    /// # Errors
    /// Of the socket, and where payload and endpoint disagree about the stream or the endpoint gives its peer up.
    pub fn turn(&mut self, longest: Span) -> io::Result<Vec<Event>> {
        let now = self.clock.now();
        let limit = if self.edge.events.is_empty() { now + longest } else { now };
        let until = self.edge.wake.map_or(limit, |wake| wake.min(limit));
        // Only what is to leave on the dot is worth being awake for.
        let margin = if self.edge.wake == Some(until) { self.margin } else { Span::ZERO };
        if wait_until(&self.channel, self.clock, until, margin)? {
            self.receive()?;
        }
        let now = self.clock.now();
        if self.edge.wake.is_some_and(|wake| wake <= now) {
            self.handle(now, Input::Timeout)?;
        }
        self.channel.flush()?;
        Ok(std::mem::take(&mut self.edge.events))
    }

    fn receive(&mut self) -> io::Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let taken = self.receive_into(&mut buffer);
        self.buffer = buffer;
        taken
    }

    fn receive_into(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        let mut taken = 0;
        while taken < BATCH {
            let arrived = match self.channel.receive(buffer) {
                Ok(arrived) => arrived,
                Err(error) if is_momentary(&error) || is_too_long(&error) => {
                    if error.kind() != io::ErrorKind::WouldBlock {
                        self.trouble = Errno::from_io_error(&error).map(|errno| (errno, self.clock.now()));
                    }
                    return Ok(());
                }
                Err(error) => return Err(error),
            };
            if arrived.length == 0 {
                self.on_datagram(&arrived, &mut [])?;
                taken += 1;
            }
            for datagram in arrived.datagrams_mut(buffer) {
                self.on_datagram(&arrived, datagram)?;
                taken += 1;
            }
        }
        Ok(())
    }

    fn on_datagram(&mut self, arrived: &Arrived, datagram: &mut [u8]) -> io::Result<()> {
        self.counters.received += 1;
        self.counters.marked += u64::from(arrived.ecn == Ecn::Ce);
        let now = self.clock.now();
        let Self { edge, channel, flow, .. } = self;
        let packet = match channel.open(now, arrived, datagram) {
            Opened::Frame(frame, visible) => decode(frame)
                .ok()
                .filter(|frame| frame.packet.flow == *flow)
                .and_then(|frame| edge.packet(frame, arrived.ecn, visible)),
            Opened::Message => return Ok(()),
            Opened::Refused => None,
        };
        let Some(packet) = packet else {
            self.counters.refused += 1;
            return Ok(());
        };
        self.unanswered = Unanswered::default();
        self.trouble = None;
        self.handle(now - arrived.ago, Input::Packet(packet))
    }

    fn handle(&mut self, at: Time, input: Input) -> io::Result<()> {
        let Self { edge, channel, unanswered, .. } = self;
        edge.handle(at, input, |now, frame, packet| {
            if packet.kind() == Kind::Data {
                unanswered.note(now);
            }
            channel.send(now, frame, packet)
        })
    }
}

impl<E: Endpoint, C: Channel> Driver<E, SendBuffer, C> {
    /// Appends to the stream.
    ///
    /// # Errors
    /// Of the socket: some of it may leave at once.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.edge.payload.write(bytes);
        self.handle(self.clock.now(), Input::App(AppInput::Write(Bytes::new(bytes.len() as u64))))?;
        self.channel.flush()
    }

    /// Ends the stream: [`Event::Finished`] comes when all of it was acknowledged.
    ///
    /// # Errors
    /// Of the socket.
    pub fn close(&mut self) -> io::Result<()> {
        self.handle(self.clock.now(), Input::App(AppInput::Close))?;
        self.channel.flush()
    }

    /// Whether all that was written has left once at least.
    pub fn is_sent(&self) -> bool {
        self.edge.payload.is_sent()
    }

    /// How many bytes are written and not yet acknowledged.
    pub fn kept(&self) -> usize {
        self.edge.payload.kept()
    }
}

impl<E: Endpoint, C: Channel> Driver<E, ReceiveBuffer, C> {
    /// Takes the bytes that can be read.
    pub fn read(&mut self) -> Vec<u8> {
        self.edge.payload.read()
    }
}
