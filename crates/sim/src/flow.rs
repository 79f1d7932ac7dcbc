//! A flow in the simulator: its two endpoints, their timers and their random streams. What endpoints do lives in
//! `transport`.

use std::mem::offset_of;

use tailback_core::fetch::LINE;
use tailback_core::{LinkId, Stream, StreamName, Time};
use tailback_transport::{AnyReceiver, AnySender};

use crate::event_queue::EventQueue;
use crate::links::Place;
use crate::routes::End;

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

/// What every call to one of a flow's endpoints needs beside the endpoint: one cache line, in front of it.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Port {
    /// Where the route of its packets begins in the table of routes.
    pub(crate) route: u32,
    /// The leaf of its timer, whose entry in the event queue is lazy: it moves earlier at once and later only when it
    /// expires, so that a retransmission timer that every acknowledgement pushes back costs nothing.
    pub(crate) leaf: u32,
    /// When that entry is due, or would be if every timer had one: a sender's may have been called ahead of its time, or be
    /// called before it (`timers.rs`).
    pub(crate) armed: Time,
    /// When a sender's entry is due: a look into the queue would be one into memory that is seldom at hand.
    pub(crate) listed: Time,
    /// When the endpoint really wants to be called.
    pub(crate) due: Time,
    pub(crate) rng: Stream,
}

/// A flow at work; what belongs to one end stands together.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Flow {
    pub(crate) receiver_port: Port,
    pub(crate) receiver: AnyReceiver,
    pub(crate) stop_at: Time,
    /// When it carried its last byte; [`Time::NEVER`] before.
    pub(crate) finished_at: Time,
    /// Damaged packets.
    pub(crate) discarded: u32,
    pub(crate) started: bool,
    /// The link over which all comes that reaches the sender, where the sender may be called ahead of its time.
    pub(crate) heard_over: Option<Place>,
    /// The application's next command: start, then stop, then never.
    pub(crate) command_at: Time,
    pub(crate) sender_port: Port,
    pub(crate) sender: AnySender,
}

impl Flow {
    /// A flow that is at rest until its ports have routes and leaves.
    pub(crate) fn new(spec: FlowSpec, name: StreamName, seed: u64) -> Self {
        let port = |what: &str| Port {
            route: 0,
            leaf: 0,
            armed: Time::NEVER,
            listed: Time::NEVER,
            due: Time::NEVER,
            rng: name.part(what).stream(seed),
        };
        Self {
            receiver_port: port("receiver"),
            sender_port: port("sender"),
            command_at: spec.start,
            heard_over: None,
            receiver: spec.receiver,
            sender: spec.sender,
            stop_at: spec.stop.unwrap_or(Time::NEVER),
            started: false,
            finished_at: Time::NEVER,
            discarded: 0,
        }
    }

    /// At which cache line of all flows an end of the flow at `index` begins.
    pub(crate) fn line_of(index: usize, end: End) -> usize {
        let at = match end {
            End::Receiver => Self::RECEIVER_AT,
            End::Sender => Self::SENDER_AT,
        };
        index * Self::LINES + at
    }

    /// How many cache lines a flow takes.
    pub(crate) const LINES: usize = size_of::<Self>() / LINE;
    /// At which of these its ends begin.
    const RECEIVER_AT: usize = offset_of!(Self, receiver_port) / LINE;
    const SENDER_AT: usize = offset_of!(Self, sender_port) / LINE;
    /// How many its ends take, from their ports on. While packets come in order, an end touches nearly all of them.
    pub(crate) const OF_RECEIVER: usize = Self::SENDER_AT - Self::RECEIVER_AT;
    pub(crate) const OF_SENDER: usize = Self::LINES - Self::SENDER_AT;

    /// Takes where its routes begin and its leaves in the event queue, which are armed for the first time: sender's first,
    /// receiver's second.
    pub(crate) fn settle(&mut self, routes: (u32, u32), leaves: (u32, u32), events: &mut EventQueue) {
        (self.sender_port.route, self.receiver_port.route) = routes;
        (self.sender_port.leaf, self.receiver_port.leaf) = leaves;
        (self.sender_port.armed, self.sender_port.listed) = (self.command_at, self.command_at);
        events.bring_forward(leaves.0, self.command_at);
    }
}

const _: () = assert!(size_of::<Port>() == LINE, "one cache line");
const _: () = assert!(align_of::<Flow>() == LINE, "lines of flows are lines of memory");
const _: () =
    assert!(Flow::RECEIVER_AT == 0, "a flow is its receiver's end, then its sender's, and nothing else");
const _: () = assert!(size_of::<Flow>() <= 18 * LINE, "ten thousand flows must stay small: 18 cache lines");
