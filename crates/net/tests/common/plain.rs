//! Frames in the clear between two connected sockets, for tests of drivers: some lost and some held back, where that is wanted.
//! Seeded, so that the same frames meet the same fate; their timing is real.

use std::collections::VecDeque;
use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};

use tailback_core::{Ecn, Endpoint, FlowId, Packet, Span, Stream, Time};
use tailback_net::batch::Batch;
use tailback_net::channel::{Channel, Opened};
use tailback_net::secure::Visible;
use tailback_net::socket::{Arrived, Way};
use tailback_net::{Clock, Driver, MarkedSocket, Payload};

/// What happens to frames on their way out.
pub(crate) struct Rough {
    /// The probability that a frame is lost, and that it is held back while later ones pass.
    pub(crate) loss: f64,
    pub(crate) reorder: f64,
    /// How long it is held back, at least.
    pub(crate) hold: Span,
    pub(crate) rng: Stream,
}

/// Carries frames in the clear.
pub(crate) struct Plain {
    socket: MarkedSocket,
    batch: Batch,
    clock: Clock,
    rough: Option<Rough>,
    held: VecDeque<(Time, Ecn, Vec<u8>)>,
    pub(crate) lost: u64,
}

/// Drives an endpoint over a socket that is connected to its peer.
pub(crate) fn driver<E: Endpoint, P: Payload>(
    socket: UdpSocket,
    flow: FlowId,
    endpoint: E,
    payload: P,
    rng: Stream,
    rough: Option<Rough>,
) -> io::Result<Driver<E, P, Plain>> {
    let batch = Batch::new(Way { to: socket.peer_addr()?, from: None });
    let (socket, clock) = (MarkedSocket::new(socket)?, Clock::start());
    let channel = Plain { socket, batch, clock, rough, held: VecDeque::new(), lost: 0 };
    Driver::over(channel, clock, flow, endpoint, payload, rng)
}

impl Channel for Plain {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Arrived> {
        self.socket.receive(buffer)
    }

    fn open<'a>(&mut self, _: Time, _: &Arrived, datagram: &'a mut [u8]) -> Opened<'a> {
        Opened::Frame(datagram, Visible::default())
    }

    fn send(&mut self, now: Time, frame: &[u8], packet: &Packet) -> io::Result<()> {
        if let Some(rough) = &mut self.rough {
            if rough.rng.chance(rough.loss) {
                self.lost += 1;
                return Ok(());
            }
            if rough.rng.chance(rough.reorder) {
                self.held.push_back((now + rough.hold, packet.ecn(), frame.to_vec()));
                return Ok(());
            }
        }
        self.batch.add(&self.socket, 0, packet.ecn(), |out, _| out.extend_from_slice(frame));
        self.batch.outcome()
    }

    fn flush(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        while let Some((_, ecn, frame)) = self.held.pop_front_if(|(at, ..)| *at <= now) {
            self.batch.add(&self.socket, 0, ecn, |out, _| out.extend_from_slice(&frame));
        }
        self.batch.flush(&self.socket);
        self.batch.outcome()
    }

    fn counts(&self) -> (u64, u64) {
        self.batch.counts()
    }
}

impl AsFd for Plain {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
