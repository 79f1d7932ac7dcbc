//! One endpoint at its edge to the network: packets become frames with bytes in them, frames become packets, and after each
//! input all that the endpoint has to say is taken. Whoever waits for sockets and clocks is in `udp.rs` and `host.rs`.

use std::io;

use tailback_core::{
    Annex, Annexes, Ecn, Endpoint, EndpointCx, Event, Input, Kind, Output, Packet, Stream, Time,
};
use tailback_transport::wire::{Frame, encode};

use crate::buffer::Payload;
use crate::secure::Visible;
use crate::socket::combine;

/// An endpoint, its payload, and what it has said.
pub(crate) struct Edge<E, P> {
    pub(crate) endpoint: E,
    pub(crate) payload: P,
    /// When the endpoint wants to be called.
    pub(crate) wake: Option<Time>,
    pub(crate) events: Vec<Event>,
    /// Time never goes back for an endpoint.
    now: Time,
    rng: Stream,
    annexes: Annexes,
    frame: Vec<u8>,
}

impl<E: Endpoint, P: Payload> Edge<E, P> {
    /// Of an endpoint that was not used yet; `rng` is its random stream.
    pub(crate) fn new(endpoint: E, payload: P, rng: Stream) -> Self {
        Self {
            endpoint,
            payload,
            wake: None,
            events: Vec::new(),
            now: Time::ZERO,
            rng,
            annexes: Annexes::new(),
            frame: Vec::new(),
        }
    }

    /// The packet of a frame, its payload taken and marks of the way put on; `None` where it is refused.
    pub(crate) fn packet(&mut self, mut frame: Frame<'_>, ecn: Ecn, visible: Visible) -> Option<Packet> {
        if !combine(&mut frame.packet, ecn) || !self.payload.incoming(&frame) {
            return None;
        }
        let mut packet = frame.packet;
        visible.mark(&mut packet);
        if let Some(mut annex) = frame.annex.take() {
            if let Annex::Control(info) = &mut annex {
                info.virtual_delay = info.virtual_delay.max(visible.virtual_delay);
            }
            packet.annex = self.annexes.insert(annex);
        }
        Some(packet)
    }

    /// One mutation, then drain. What came is taken for the time at which it came, even if it is read later: an endpoint reads
    /// the spacing of packets, and must not read the reader's pauses.
    ///
    /// # Errors
    /// Of `send`; where payload and endpoint disagree about the stream; where the endpoint gives its peer up.
    pub(crate) fn handle(
        &mut self,
        at: Time,
        input: Input,
        mut send: impl FnMut(Time, &[u8], &Packet) -> io::Result<()>,
    ) -> io::Result<()> {
        self.now = self.now.max(at);
        let mut cx = EndpointCx { rng: &mut self.rng, annexes: &mut self.annexes, notes: None };
        self.endpoint.handle(self.now, input, &mut cx);
        loop {
            let mut cx = EndpointCx { rng: &mut self.rng, annexes: &mut self.annexes, notes: None };
            match self.endpoint.poll(self.now, &mut cx) {
                Output::Transmit(packet) => self.transmit(packet, &mut send)?,
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

    fn transmit(
        &mut self,
        packet: Packet,
        send: &mut impl FnMut(Time, &[u8], &Packet) -> io::Result<()>,
    ) -> io::Result<()> {
        let annex = self.annexes.take(packet.annex);
        let (offset, payload) = if packet.kind() == Kind::Data {
            self.payload
                .outgoing(&packet)
                .ok_or_else(|| io::Error::other(format!("no payload for packet {}", packet.number)))?
        } else {
            (0, &[][..])
        };
        self.frame.clear();
        encode(&packet, annex.as_ref(), offset, payload, &mut self.frame).map_err(io::Error::other)?;
        send(self.now, &self.frame, &packet)
    }
}
