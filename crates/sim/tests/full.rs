//! Tests of networks in which a link holds as much as no network does: packets for which there is no room are dropped, and every
//! link's counters balance. That such a link takes nothing more is tested in the crate `link`.

use std::sync::Arc;

use tailback_core::{
    AppInput, Bytes, Capacity, DropReason, Endpoint, EndpointCx, FlowId, Input, Kind, LinkId, Observation,
    Output, Packet, Span, Time,
};
use tailback_link::Link;
use tailback_sim::{FlowSpec, NetworkBuilder, Simulator};
use tailback_transport::{AnyReceiver, AnySender, Receiver, ReceiverConfig};

use crate::common::{Sampling, drop_tail, link, unbounded};

const BEAT: Span = Span::from_millis(20);

/// Sends a packet at every beat, whatever it hears.
struct Beat {
    next: Time,
    seen: Observation,
}

impl Endpoint for Beat {
    fn handle(&mut self, now: Time, input: Input, cx: &mut EndpointCx<'_>) {
        match input {
            Input::App(AppInput::Start) => self.next = now,
            Input::Packet(packet) => drop(cx.take_annex(&packet)),
            _ => {}
        }
    }

    fn poll(&mut self, now: Time, _cx: &mut EndpointCx<'_>) -> Output {
        if now < self.next {
            return Output::Wait(self.next.finite());
        }
        self.next = now + BEAT;
        self.seen.sent_packets += 1;
        Output::Transmit(Packet::new(Kind::Data, FlowId(0), self.seen.sent_packets - 1, Bytes::new(1000)))
    }

    fn observe(&self) -> Observation {
        self.seen
    }
}

/// The last link, which is fed where packets do not go link by link.
const DOWN: LinkId = LinkId(2);

/// A packet reaches the second link 2 ms after its beat, the last one 9 ms after it, and its end 12 ms after it. Where
/// acknowledgements are sent at once, packets are handed over ahead of their time.
fn network(link_by_link: bool, ack_every: u32) -> Simulator<Sampling> {
    let mut network = NetworkBuilder::new(1);
    if link_by_link {
        network.link_by_link();
    }
    // What has a bound is not fed, and feeds.
    let queue = |name| if name == "through" { drop_tail(9) } else { unbounded() };
    let [up, through, down, back] = [("up", 1), ("through", 6), ("down", 2), ("back", 1)]
        .map(|(name, millis)| network.link(link(name, 8, millis, queue(name))));
    assert_eq!(down, DOWN);
    let config = ReceiverConfig { ack_every, ..ReceiverConfig::default() };
    network.flow(FlowSpec {
        name: "beat".to_owned(),
        forward: vec![up, through, down],
        reverse: vec![back],
        sender: AnySender::Custom(Box::new(Beat { next: Time::NEVER, seen: Observation::default() })),
        receiver: AnyReceiver::Stream(Receiver::new(FlowId(0), Arc::new(config))),
        start: Time::ZERO,
        stop: None,
    });
    network.build(Time::from_secs_f64(10.0), Sampling::new(())).expect("a sound network")
}

fn down(sim: &mut Simulator<Sampling>) -> &mut Link {
    sim.link_itself(DOWN)
}

/// All links' counters balance. What has left one has arrived at the next, unless a packet is `dropped_ahead`: that counts at
/// once, as nothing of it is left that could be counted later.
fn balance(sim: &mut Simulator<Sampling>, dropped_ahead: bool) {
    let counters = [0, 1, 2].map(|link| sim.link(LinkId(link)));
    for (link, pair) in counters.windows(2).enumerate() {
        let ahead = u64::from(dropped_ahead && link == 1);
        assert_eq!(pair[0].delivered.packets + ahead, pair[1].arrived.packets, "{counters:?}");
    }
    for counters in counters {
        assert!(counters.is_balanced(), "{counters:?}");
    }
}

#[test]
fn packets_for_which_a_link_has_no_room_are_dropped_and_counted() {
    for (link_by_link, ack_every) in [(false, 1), (false, 2), (true, 1)] {
        let mut sim = network(link_by_link, ack_every);
        let feeds_ahead = !link_by_link;
        assert_eq!(down(&mut sim).is_fed(), feeds_ahead);
        assert_eq!(down(&mut sim).hands_over(), feeds_ahead && ack_every == 1);
        let mut dropped = 0;
        for beat in 0..10 {
            let begin = Time::ZERO + Span::from_nanos(BEAT.as_nanos() * beat);
            let is_full = beat % 3 == 1;
            let enters = begin + Span::from_millis(if feeds_ahead { 2 } else { 9 });
            sim.run_until(enters - Span::from_micros(1));
            assert_eq!(down(&mut sim).count_on_wire(if is_full { Capacity::MOST_PACKETS } else { 0 }), 0);
            sim.run_until(enters + Span::from_micros(1));
            if is_full {
                assert_eq!(down(&mut sim).count_on_wire(0), Capacity::MOST_PACKETS);
                dropped += 1;
            }
            for millis in [0, 3, 8, 10] {
                sim.run_until(enters + Span::from_millis(millis) + Span::from_micros(2));
                balance(&mut sim, is_full && feeds_ahead && millis < 7);
                assert_eq!(sim.link(DOWN).dropped_for(DropReason::Overflow).packets, dropped);
            }
            assert_eq!(sim.receiver(FlowId(0)).received_packets, beat + 1 - dropped);
        }
        assert_eq!(dropped, 3);
        // Until the last acknowledgement is there, and before the next packet.
        sim.run_until(Time::ZERO + Span::from_millis(199));
        assert_eq!(sim.live_annexes(), 0);
    }
}
