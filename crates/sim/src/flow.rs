//! A flow in the simulator: its two endpoints, their timers and their random streams. What endpoints do lives in
//! `transport`.

use tailback_control::AnyController;
use tailback_core::{Endpoint, EndpointCx, Input, LinkId, Observation, Output, Stream, Time};
use tailback_transport::{DatagramReceiver, DatagramSender, Receiver, Sender};

macro_rules! endpoints {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident($inner:ty),)+ }) => {
        $(#[$doc])*
        #[expect(clippy::large_enum_variant, reason = "built-ins stand inline, beside the flow's other state")]
        pub enum $name {
            $($(#[$variant_doc])* $variant($inner),)+
            /// The user's own, or one that need not be quick.
            Custom(Box<dyn Endpoint + Send>),
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self {
                    $(Self::$variant(_) => stringify!($variant),)+
                    Self::Custom(_) => "Custom",
                })
            }
        }

        impl Endpoint for $name {
            #[inline]
            fn handle(&mut self, now: Time, input: Input, cx: &mut EndpointCx<'_>) {
                match self {
                    $(Self::$variant(endpoint) => endpoint.handle(now, input, cx),)+
                    Self::Custom(endpoint) => endpoint.handle(now, input, cx),
                }
            }

            #[inline]
            fn poll(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Output {
                match self {
                    $(Self::$variant(endpoint) => endpoint.poll(now, cx),)+
                    Self::Custom(endpoint) => endpoint.poll(now, cx),
                }
            }

            fn observe(&self) -> Observation {
                match self {
                    $(Self::$variant(endpoint) => endpoint.observe(),)+
                    Self::Custom(endpoint) => endpoint.observe(),
                }
            }
        }
    };
}

endpoints! {
    /// Any sending endpoint.
    AnySender {
        /// A reliable byte stream.
        Stream(Sender<AnyController>),
        /// Datagrams; boxed, so that streams do not pay for its size.
        Datagram(Box<DatagramSender<AnyController>>),
    }
}

endpoints! {
    /// Any receiving endpoint.
    AnyReceiver {
        /// The other end of a reliable byte stream.
        Stream(Receiver),
        /// The other end of datagrams.
        Datagram(Box<DatagramReceiver>),
    }
}

/// What a flow is made of.
#[derive(Debug)]
pub struct FlowSpec {
    /// Its name: seeds its random streams and labels its results.
    pub name: String,
    /// The links from sender to receiver, at least one.
    pub forward: Vec<LinkId>,
    /// The links from receiver to sender, at least one.
    pub reverse: Vec<LinkId>,
    /// The sending endpoint.
    pub sender: AnySender,
    /// The receiving endpoint.
    pub receiver: AnyReceiver,
    /// When the application begins.
    pub start: Time,
    /// When the application is stopped, if it is.
    pub stop: Option<Time>,
}

/// One of a flow's ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Sender,
    Receiver,
}

/// The timer of one endpoint. Its entry in the event queue is lazy: it moves earlier at once and later only when it
/// expires, so that a retransmission timer that every acknowledgement pushes back costs nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    pub(crate) leaf: u32,
    /// When the endpoint really wants to be called.
    pub(crate) due: Time,
}

/// A flow at work. Its first cache line is what every packet touches beside the endpoint itself.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Flow {
    /// Where its routes begin in the table of routes.
    pub(crate) forward: u32,
    pub(crate) reverse: u32,
    pub(crate) sender_timer: Timer,
    pub(crate) receiver_timer: Timer,
    pub(crate) discarded: u64,
    /// The application's next command: start, then stop, then never.
    pub(crate) command_at: Time,
    pub(crate) receiver: AnyReceiver,
    pub(crate) sender: AnySender,
    pub(crate) sender_rng: Stream,
    pub(crate) receiver_rng: Stream,
    pub(crate) stop_at: Time,
    pub(crate) finished_at: Option<Time>,
    pub(crate) started: bool,
}

impl Flow {
    pub(crate) fn new(spec: FlowSpec, seed: u64, forward: u32, reverse: u32, leaves: (u32, u32)) -> Self {
        let stream = |what: &str| Stream::new(seed, &format!("{} {what}", spec.name));
        Self {
            sender_rng: stream("sender"),
            receiver_rng: stream("receiver"),
            sender: spec.sender,
            receiver: spec.receiver,
            forward,
            reverse,
            sender_timer: Timer { leaf: leaves.0, due: spec.start },
            receiver_timer: Timer { leaf: leaves.1, due: Time::NEVER },
            command_at: spec.start,
            stop_at: spec.stop.unwrap_or(Time::NEVER),
            started: false,
            discarded: 0,
            finished_at: None,
        }
    }
}
