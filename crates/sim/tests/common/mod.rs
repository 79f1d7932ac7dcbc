//! Small endpoints and networks for the simulator's law tests: no congestion control, only packets that come and go.
#![allow(dead_code, reason = "each test binary uses its own share of these helpers")]

mod boxed;

pub(crate) use boxed::{OfPackets, OfSenders, Sampling};

use tailback_core::{
    AppInput, BitRate, Bytes, Capacity, Endpoint, EndpointCx, FlowId, Input, Kind, LinkId, Observation,
    Output, Packet, Span, Time,
};
use tailback_link::LinkSpec;
use tailback_qdisc::{BuildCx, Built, Config, KnownFlows};
use tailback_sim::{FlowSpec, NetworkBuilder};
use tailback_transport::{AnyReceiver, AnySender};

/// Sends data packets at random times with random sizes; counts what comes back.
pub(crate) struct Chatter {
    flow: FlowId,
    mean_gap: Span,
    next: Time,
    number: u64,
    due: bool,
    pub(crate) seen: Observation,
}

impl Chatter {
    pub(crate) fn new(flow: FlowId, mean_gap: Span) -> Self {
        Self { flow, mean_gap, next: Time::NEVER, number: 0, due: false, seen: Observation::default() }
    }
}

impl Endpoint for Chatter {
    fn handle(&mut self, now: Time, input: Input, cx: &mut EndpointCx<'_>) {
        match input {
            Input::App(AppInput::Start) | Input::Timeout if now >= self.next || self.next.is_never() => {
                self.due = true;
            }
            Input::Packet(packet) => {
                drop(cx.take_annex(&packet));
                self.seen.received_packets += 1;
                // It may come at the very moment at which the next one leaves: to wait for what is now is to come late.
                self.due |= now >= self.next;
            }
            _ => {}
        }
    }

    fn poll(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Output {
        if std::mem::take(&mut self.due) {
            self.next = now + self.mean_gap.mul_f64(cx.rng.exponential());
            self.number += 1;
            // Sizes in steps of 100 B make equal times, and so ties, common.
            let size = Bytes::new(100 + 100 * cx.rng.below(14));
            self.seen.sent_packets += 1;
            self.seen.sent_bytes += size;
            return Output::Transmit(Packet::new(Kind::Data, self.flow, self.number, size));
        }
        Output::Wait(self.next.finite())
    }

    fn observe(&self) -> Observation {
        self.seen
    }
}

/// Answers every packet with a 40-byte one.
pub(crate) struct Echo {
    flow: FlowId,
    pending: Vec<u64>,
    pub(crate) seen: Observation,
}

impl Echo {
    pub(crate) fn new(flow: FlowId) -> Self {
        Self { flow, pending: Vec::new(), seen: Observation::default() }
    }
}

impl Endpoint for Echo {
    fn handle(&mut self, _now: Time, input: Input, cx: &mut EndpointCx<'_>) {
        if let Input::Packet(packet) = input {
            drop(cx.take_annex(&packet));
            self.seen.received_packets += 1;
            self.seen.received_bytes += packet.size();
            self.pending.push(packet.number);
        }
    }

    fn poll(&mut self, _now: Time, _cx: &mut EndpointCx<'_>) -> Output {
        match self.pending.pop() {
            Some(number) => {
                self.seen.sent_packets += 1;
                Output::Transmit(Packet::new(Kind::Ack, self.flow, number, Bytes::new(40)))
            }
            None => Output::Wait(None),
        }
    }

    fn observe(&self) -> Observation {
        self.seen
    }
}

pub(crate) fn drop_tail(packets: u32) -> Built {
    built(&Config::default(), Capacity::Packets(packets), 10_000_000)
}

pub(crate) fn unbounded() -> Built {
    built(&Config::default(), Capacity::Unlimited, 10_000_000)
}

pub(crate) fn built(config: &Config, capacity: Capacity, bits: u64) -> Built {
    let rate = BitRate::from_bits_per_sec(bits);
    config.build(&BuildCx { capacity, rate, mean_packet: Bytes::new(1000), flows: KnownFlows::default() })
}

/// A link of the given Mbit/s and milliseconds.
pub(crate) fn link(name: &str, mbit: u64, millis: u64, queue: Built) -> LinkSpec {
    LinkSpec::new(name, BitRate::from_bits_per_sec(mbit * 1_000_000), Span::from_millis(millis), queue)
}

/// Adds a chatter that talks over `forward` and is echoed over `reverse`.
pub(crate) fn chat(
    network: &mut NetworkBuilder,
    name: &str,
    forward: &[LinkId],
    reverse: &[LinkId],
    gap: Span,
) -> FlowId {
    let flow = network.next_flow();
    network.flow(FlowSpec {
        name: name.to_owned(),
        forward: forward.to_vec(),
        reverse: reverse.to_vec(),
        sender: AnySender::Custom(Box::new(Chatter::new(flow, gap))),
        receiver: AnyReceiver::Custom(Box::new(Echo::new(flow))),
        start: Time::ZERO,
        stop: None,
    })
}
