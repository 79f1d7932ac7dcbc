//! Any sending and any receiving endpoint, whoever drives it: the built-in ones inline, all others behind a pointer. What
//! each of them does lives in its own file; which one a flow gets is said by whoever puts the flow together.

use tailback_control::AnyController;
use tailback_core::{EdgeEndpoint, Endpoint, EndpointCx, Input, Observation, Output, Time};

use crate::{DatagramReceiver, DatagramSender, Receiver, Sender};

macro_rules! endpoints {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident($inner:ty),)+ }) => {
        $(#[$doc])*
        #[allow(clippy::large_enum_variant, reason = "built-ins stand inline, beside the flow's other state")]
        pub enum $name {
            $($(#[$variant_doc])* $variant($inner),)+
            /// At an edge of an aggregate, where packets of other flows pass it.
            Edge(Box<dyn EdgeEndpoint + Send>),
            /// A custom one, or one that need not be quick.
            Custom(Box<dyn Endpoint + Send>),
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self {
                    $(Self::$variant(_) => stringify!($variant),)+
                    Self::Edge(_) => "Edge",
                    Self::Custom(_) => "Custom",
                })
            }
        }

        #[deny(clippy::missing_trait_methods, reason = "a new method must not stop here")]
        impl Endpoint for $name {
            #[inline]
            fn handle(&mut self, now: Time, input: Input, cx: &mut EndpointCx<'_>) {
                match self {
                    $(Self::$variant(endpoint) => endpoint.handle(now, input, cx),)+
                    Self::Edge(endpoint) => endpoint.handle(now, input, cx),
                    Self::Custom(endpoint) => endpoint.handle(now, input, cx),
                }
            }

            #[inline]
            fn poll(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Output {
                match self {
                    $(Self::$variant(endpoint) => endpoint.poll(now, cx),)+
                    Self::Edge(endpoint) => endpoint.poll(now, cx),
                    Self::Custom(endpoint) => endpoint.poll(now, cx),
                }
            }

            #[inline]
            fn observe(&self) -> Observation {
                match self {
                    $(Self::$variant(endpoint) => endpoint.observe(),)+
                    Self::Edge(endpoint) => endpoint.observe(),
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
