//! Many endpoints over one socket, in one loop and on one thread, in the clear: a host of a laboratory. One endpoint over a
//! channel to its peer is in `udp.rs`, what an endpoint's packets become in `edge.rs`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io;
use std::net::UdpSocket;

use tailback_core::{AppInput, Ecn, Endpoint, Event, FlowId, Input, Packet, Span, Stream, Time};
use tailback_transport::wire::decode;

use crate::batch::Batch;
use crate::buffer::Payload;
use crate::clock::Clock;
use crate::edge::Edge;
use crate::refused::{is_momentary, is_too_long};
use crate::secure::Visible;
use crate::socket::{Arrived, MarkedSocket};
use crate::udp::{BATCH, EdgeCounters};
use crate::wait::wait_until;
pub use crate::way::Way;

/// What a turn tells of a flow.
#[derive(Debug)]
pub enum Happened {
    /// The endpoint says so.
    Event(Event),
    /// The endpoint can go no further, and has been taken out of the loop. What it was can still be read.
    Ended(io::Error),
}

/// An endpoint of the loop.
struct Member<E, P> {
    edge: Edge<E, P>,
    flow: FlowId,
    way: Way,
    has_ended: bool,
    /// The earliest entry in the timers that is this member's.
    queued: Time,
}

/// Drives many endpoints over one socket. The cost of a datagram grows with the logarithm of the number of flows.
pub struct UdpHost<E, P> {
    socket: MarkedSocket,
    batch: Option<Batch>,
    clock: Clock,
    members: Vec<Member<E, P>>,
    places: BTreeMap<FlowId, usize>,
    /// When whom to look at: at the latest when it wants to be called.
    timers: BinaryHeap<Reverse<(Time, usize)>>,
    margin: Span,
    told: Vec<(FlowId, Happened)>,
    buffer: Box<[u8]>,
    counters: EdgeCounters,
}

impl<E: Endpoint, P: Payload> UdpHost<E, P> {
    /// A host without flows, over a socket that is bound and not connected.
    ///
    /// # Errors
    /// Where the socket cannot be set up.
    pub fn new(socket: UdpSocket, clock: Clock) -> io::Result<Self> {
        Ok(Self {
            socket: MarkedSocket::hearing_all(socket)?,
            batch: None,
            clock,
            members: Vec::new(),
            places: BTreeMap::new(),
            timers: BinaryHeap::new(),
            margin: Span::ZERO,
            told: Vec::new(),
            buffer: vec![0; usize::from(u16::MAX)].into(),
            counters: EdgeCounters::default(),
        })
    }

    /// Gets up so much earlier than an endpoint's time, as [`crate::Driver::wake_early`].
    pub fn wake_early(&mut self, margin: Span) {
        self.margin = margin;
    }

    /// Adds an endpoint that was not used yet, which begins at once. Its datagrams go `way`, and those that come from anywhere
    /// else are refused. `rng` is its random stream.
    ///
    /// # Errors
    /// Where there is an endpoint of this flow already. What goes wrong with its datagrams the next turn tells.
    pub fn add(&mut self, flow: FlowId, way: Way, endpoint: E, payload: P, rng: Stream) -> io::Result<()> {
        if self.places.contains_key(&flow) {
            let what = format!("flow {}: is there already; expected one endpoint of a flow", flow.0);
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, what));
        }
        let place = self.members.len();
        let edge = Edge::new(endpoint, payload, rng);
        self.members.push(Member { edge, flow, way, has_ended: false, queued: Time::NEVER });
        self.places.insert(flow, place);
        self.handle(place, self.clock.now(), Input::App(AppInput::Start));
        self.flush();
        Ok(())
    }

    /// The endpoint of a flow, for counters.
    pub fn endpoint(&self, flow: FlowId) -> Option<&E> {
        self.places.get(&flow).map(|place| &self.members[*place].edge.endpoint)
    }

    /// Takes a flow's endpoint out of the loop; what still comes for it is refused.
    pub fn remove(&mut self, flow: FlowId) {
        if let Some(place) = self.places.remove(&flow) {
            self.members[place].has_ended = true;
        }
    }

    /// What happened at the edge, of all flows together.
    pub fn counters(&self) -> EdgeCounters {
        let (sent, unsent) = self.batch.as_ref().map_or((0, 0), Batch::counts);
        EdgeCounters { sent, unsent, ..self.counters }
    }

    /// Waits for whatever comes first, at most `longest`, and does all that follows from it. What flows tell since the last
    /// call.
    ///
    /// # Errors
    /// Of the socket. What goes wrong with one flow is told of that flow, and the others go on.
    pub fn turn(&mut self, longest: Span) -> io::Result<Vec<(FlowId, Happened)>> {
        let now = self.clock.now();
        let limit = if self.told.is_empty() { now + longest } else { now };
        let first = self.timers.peek().map_or(Time::NEVER, |Reverse((at, _))| *at);
        let margin = if first <= limit { self.margin } else { Span::ZERO };
        if wait_until(&self.socket, self.clock, first.min(limit), margin)? {
            let mut buffer = std::mem::take(&mut self.buffer);
            let taken = self.receive(&mut buffer);
            self.buffer = buffer;
            taken?;
        }
        self.time_out();
        self.flush();
        Ok(std::mem::take(&mut self.told))
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        let mut taken = 0;
        while taken < BATCH {
            let arrived = match self.socket.receive(buffer) {
                Ok(arrived) => arrived,
                Err(error) if is_momentary(&error) || is_too_long(&error) => return Ok(()),
                Err(error) => return Err(error),
            };
            let now = self.clock.now() - arrived.ago;
            for datagram in arrived.datagrams(buffer) {
                taken += 1;
                self.counters.received += 1;
                self.counters.marked += u64::from(arrived.ecn == Ecn::Ce);
                match self.packet(&arrived, datagram) {
                    Some((place, packet)) => self.handle(place, now, Input::Packet(packet)),
                    None => self.counters.refused += 1,
                }
            }
        }
        Ok(())
    }

    /// The packet of a datagram, and whose it is.
    fn packet(&mut self, arrived: &Arrived, datagram: &[u8]) -> Option<(usize, Packet)> {
        let frame = decode(datagram).ok()?;
        let place = *self.places.get(&frame.packet.flow)?;
        let member = &mut self.members[place];
        if member.has_ended || member.way.to != arrived.from {
            return None;
        }
        Some((place, member.edge.packet(frame, arrived.ecn, Visible::default())?))
    }

    /// Calls the endpoints whose time has come.
    fn time_out(&mut self) {
        let now = self.clock.now();
        while let Some(Reverse((at, place))) = self.timers.peek().copied()
            && at <= now
        {
            self.timers.pop();
            let member = &mut self.members[place];
            if member.queued != at {
                continue; // There is an earlier one, or there was.
            }
            member.queued = Time::NEVER;
            if member.edge.wake.is_some_and(|wake| wake <= now) && !member.has_ended {
                self.handle(place, now, Input::Timeout);
            } else {
                self.queue(place);
            }
        }
    }

    /// Puts a member among the timers, unless it is looked at early enough. It is put there once for many changes, most of which
    /// move its time further away.
    fn queue(&mut self, place: usize) {
        let member = &mut self.members[place];
        let wake = member.edge.wake.filter(|_| !member.has_ended).unwrap_or(Time::NEVER);
        if wake < member.queued {
            member.queued = wake;
            self.timers.push(Reverse((wake, place)));
        }
    }

    fn handle(&mut self, place: usize, at: Time, input: Input) {
        let Self { members, batch, socket, told, .. } = self;
        let member = &mut members[place];
        if member.has_ended {
            return;
        }
        let way = member.way;
        let batch = batch.get_or_insert_with(|| Batch::new(way));
        let outcome = member.edge.handle(at, input, |_, frame, packet| {
            batch.address(socket, way);
            batch.add(socket, place, packet.ecn(), |out, _| out.extend_from_slice(frame));
            Ok(())
        });
        told.extend(member.edge.events.drain(..).map(|event| (member.flow, Happened::Event(event))));
        if let Err(error) = outcome {
            self.end(place, error);
        }
        self.end_refused();
        self.queue(place);
    }

    fn flush(&mut self) {
        let Self { batch, socket, .. } = self;
        if let Some(batch) = batch {
            batch.flush(socket);
        }
        self.end_refused();
    }

    /// Ends the flows whose datagrams the system refuses, whoever's turn it was when they left.
    fn end_refused(&mut self) {
        let refused = self.batch.as_mut().map(Batch::take_refused).unwrap_or_default();
        for (place, error) in refused {
            self.end(place, error);
        }
    }

    fn end(&mut self, place: usize, error: io::Error) {
        let member = &mut self.members[place];
        if !member.has_ended {
            member.has_ended = true;
            self.told.push((member.flow, Happened::Ended(error)));
        }
    }
}
