//! One end of a flow as a pure state machine, driven by the simulator or by real sockets.
//!
//! The contract is: **one mutation, then drain**. After every [`Endpoint::handle`], call [`Endpoint::poll`] until it
//! answers [`Output::Wait`]. Time is an argument and never goes back. Payload bytes do not pass through here: packets
//! name ranges of the stream, and the driver at the edge copies the bytes.

use crate::annex::Annex;
use crate::annexes::Annexes;
use crate::governor::Allowance;
use crate::packet::Packet;
use crate::rng::Stream;
use crate::time::Time;
use crate::units::Bytes;

/// What the application asks of a sending endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppInput {
    /// Begin; a source starts its own clock from here.
    Start,
    /// More data to send, for drivers that push data themselves.
    Write(Bytes),
    /// No more data will come: finish what is there.
    Close,
    /// Stop at once.
    Stop,
}

/// What a sender tells its application: what it may send, so that it can adapt, and whether it may at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppHint {
    /// Application data per time that may be sent: the directed rate, or the window per smoothed round trip time, headers
    /// taken off; `None` before either is known.
    pub rate: Option<crate::BitRate>,
    /// Application data offered and not sent yet.
    pub backlog: Bytes,
    /// Whether data may leave at all, and where not, until when.
    pub gate: crate::Gate,
}

/// A mutation.
#[derive(Clone, Debug)]
pub enum Input {
    /// An undamaged packet arrived. Its annex, if any, is still in [`EndpointCx::annexes`]; the endpoint takes it.
    Packet(Packet),
    /// The time of the last [`Output::Wait`] has come; spurious calls are harmless.
    Timeout,
    /// The application spoke.
    App(AppInput),
}

/// Something the driver or application may want to know.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// So many bytes more are readable in order (receiver of a stream).
    Delivered(Bytes),
    /// Everything written was acknowledged, or a datagram source has sent its last (sender).
    Finished,
    /// A file or message of the application was completely acknowledged; a session's next may follow.
    MessageDone {
        /// Its size.
        size: Bytes,
        /// When the application offered it.
        began: Time,
    },
    /// Nothing new was acknowledged for too long, although data was retransmitted again and again (sender): the connection is over.
    GaveUp,
    /// Whether the application may send at all has changed (sender), and what it may send now.
    Hint(AppHint),
}

/// What the endpoint wants done.
#[derive(Clone, Debug)]
pub enum Output {
    /// Send this packet now. Its annex, if any, is in [`EndpointCx::annexes`].
    Transmit(Packet),
    /// Something happened.
    Event(Event),
    /// Nothing more until this time (`None`: until the next input).
    Wait(Option<Time>),
}

/// What an endpoint can tell an observer at any moment: exact counters, and the state that everybody plots.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observation {
    /// Packets sent, of any kind.
    pub sent_packets: u64,
    /// Bytes sent, headers included.
    pub sent_bytes: Bytes,
    /// Packets received, of any kind.
    pub received_packets: u64,
    /// Bytes received, headers included.
    pub received_bytes: Bytes,
    /// Sender: wire bytes of data acknowledged in order. Receiver: wire bytes of data delivered in order, once.
    pub goodput_bytes: Bytes,
    /// Data packets of the same two kinds.
    pub goodput_packets: u64,
    /// Receiver: what of that is the application's, without headers.
    pub app_bytes: Bytes,
    /// Sender: retransmissions, that is data packets whose data had left before, each counted as it leaves, whether or not the
    /// receiver has the data already. Of the kernel's TCP, its own count of retransmitted segments. Receiver: duplicates, that
    /// is undamaged data packets whose data it has already, by a retransmission or from a link that copies packets. Tables call
    /// them `retransmitted_packets` and `duplicate_packets`.
    pub repeated_packets: u64,
    /// Sender: expiries of the retransmission timer.
    pub timeouts: u64,
    /// Sender: recovery episodes begun by duplicate or selective acknowledgements.
    pub recoveries: u64,
    /// Sender: datagrams that a closed gate discarded at the source.
    pub gated_packets: u64,
    /// Sender: messages (files, bursts) of which its application has offered something.
    pub messages: u64,
    /// Sender: when its gate was closed.
    pub gate: crate::GateTimes,
    /// The congestion window, where there is one.
    pub window: Option<Bytes>,
    /// The directed rate, where there is one.
    pub rate: Option<crate::BitRate>,
    /// Bytes believed in the network.
    pub in_flight: Bytes,
    /// How many samples of the round trip time there were; modulo 2³².
    pub rtt_samples: u32,
    /// The newest round trip time sample.
    pub latest_rtt: Option<crate::Span>,
    /// The smoothed round trip time.
    pub smoothed_rtt: Option<crate::Span>,
}

/// What an endpoint borrows for one call.
pub struct EndpointCx<'a> {
    /// The endpoint's random stream.
    pub rng: &'a mut Stream,
    /// Rare parts of packets.
    pub annexes: &'a mut Annexes,
    /// Where controllers publish named state, if anybody listens.
    pub notes: Option<&'a mut Vec<(&'static str, f64)>>,
}

impl EndpointCx<'_> {
    /// The part that controllers and feedback policies see.
    pub fn control(&mut self) -> crate::Cx<'_> {
        crate::Cx { rng: self.rng, notes: self.notes.as_deref_mut() }
    }

    /// Takes a packet's annex.
    #[inline]
    pub fn take_annex(&mut self, packet: &Packet) -> Option<Annex> {
        self.annexes.take(packet.annex)
    }
}

/// One end of a flow.
pub trait Endpoint {
    /// One mutation.
    fn handle(&mut self, now: Time, input: Input, cx: &mut EndpointCx<'_>);

    /// What to do about it; call until [`Output::Wait`].
    fn poll(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Output;

    /// What an observer may know. Reading it changes nothing.
    fn observe(&self) -> Observation {
        Observation::default()
    }
}

/// An endpoint at an edge of an aggregate, which packets of other flows pass on their way. Both calls are mutations: after
/// either, drain it like any endpoint.
pub trait EdgeEndpoint: Endpoint {
    /// A packet of another flow went by, undamaged. It is on its way already, its annex not for the edge to take.
    /// `others_wait` says whether more wait behind it in the link that the edge governs.
    fn pass(&mut self, now: Time, packet: &Packet, others_wait: bool, cx: &mut EndpointCx<'_>);

    /// What the link in front of the edge is allowed from now on, where that has changed since the last call: asked after
    /// every mutation, before the edge is drained.
    fn take_allowance(&mut self) -> Option<Allowance> {
        None
    }
}
