//! Laws over random paths: whatever is lost, reordered, duplicated or delayed, a transfer completes, every byte is
//! delivered once and in order, and no window is overrun. With the real window laws, not scripted ones.

use crate::pipe;

use pipe::{FLOW, Fate, Pipe, Trouble};
use proptest::prelude::*;
use tailback_control::Reliability;
use tailback_control::schemes::{Reno, RenoConfig};
use tailback_core::{Bytes, DataAmount, Span};
use tailback_transport::source::AnySource;
use tailback_transport::{EcnMode, Receiver, ReceiverConfig, RtoConfig, RttSampling, Sender, StreamConfig};

fn trouble() -> impl Strategy<Value = Trouble> {
    (0.0..0.25, 0.0..0.2, 0.0..0.1, 0.0..0.2, 0.0..0.3)
        .prop_map(|(loss, late, twice, marks, ack_loss)| Trouble { loss, late, twice, marks, ack_loss })
}

prop_compose! {
    fn stream_config()(
        reliability in prop_oneof![
            Just(Reliability::Reno),
            Just(Reliability::NewReno),
            Just(Reliability::Vegas),
            Just(Reliability::Sack),
            Just(Reliability::Offsets)
        ],
        rtt_sampling in prop_oneof![
            Just(RttSampling::EveryAck),
            Just(RttSampling::PerRoundTrip),
            Just(RttSampling::Timestamps)
        ],
        ecn in prop_oneof![Just(EcnMode::Off), Just(EcnMode::Ect0)],
        flags in any::<[bool; 8]>(),
        jitter in prop_oneof![Just(0_u64), 1_u64..2000],
        tick in prop_oneof![Just(0_u64), Just(10_u64)],
        receive_window in prop::option::of(2_u64..40),
        dup_threshold in 1_u32..6,
    ) -> StreamConfig {
        StreamConfig {
            reliability,
            rtt_sampling,
            ecn,
            limited_transmit: flags[0],
            one_recovery_per_window: flags[1],
            impatient: flags[2],
            keep_scoreboard: flags[3],
            rescue: flags[4],
            handshake: flags[5],
            careful: flags[6].then_some(true),
            segmentation_offload: flags[7],
            send_jitter: Span::from_micros(jitter),
            rto: RtoConfig { tick: Span::from_millis(tick), max: Span::from_secs(5), ..RtoConfig::default() },
            receive_window: receive_window.map(|packets| DataAmount::Packets(packets as f64)),
            dup_threshold,
            ..StreamConfig::default()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_transfer_completes_whatever_the_path_does(
        config in stream_config(),
        trouble in trouble(),
        size in 1_u64..300_000,
        ack_every in 1_u32..4,
        seed: u64,
    ) {
        let receiver = ReceiverConfig { ack_every, delivery_events: true, ..ReceiverConfig::default() };
        let receiver = receiver.matching(&config);
        let law = Reno::new(&RenoConfig::default(), &config.controller_params());
        let receive_window = config.receive_window.map(|amount| amount.in_bytes(config.segment_size).get());
        let handshake = config.handshake;
        let sender = Sender::new(FLOW, config, law, AnySource::finite(Bytes::new(size)));
        let test = Pipe::new(sender, Receiver::new(FLOW, receiver), Span::from_millis(20))
            .troubled(trouble, seed)
            .start()
            .run(Span::from_secs(100_000));
        prop_assert!(test.finished(), "at {}", test.now);
        let packets = size.div_ceil(960);
        let counters = test.receiver.counters();
        prop_assert_eq!(counters.goodput, Bytes::new(size));
        prop_assert_eq!(counters.delivered_packets, packets + u64::from(handshake));
        let delivered: u64 = test.events.iter().map(|(_, event)| match event {
            tailback_core::Event::Delivered(bytes) => bytes.get(),
            _ => 0,
        }).sum();
        prop_assert_eq!(delivered, size);
        prop_assert!(test.annexes.is_empty(), "{} annexes left", test.annexes.len());
        prop_assert_eq!(test.sender.in_flight(), Bytes::ZERO);
        let sender = test.sender.counters();
        prop_assert_eq!(sender.packets, packets + u64::from(handshake) + sender.retransmitted);
        prop_assert_eq!(sender.acked_packets, packets + u64::from(handshake));
        for departure in &test.departures {
            if let Some(limit) = receive_window {
                let outstanding = departure.packet.number + 1 - departure.acked;
                prop_assert!(outstanding * 1000 <= limit + 960, "{outstanding} beyond {limit}");
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_packets(config in stream_config(), seed: u64) {
        let run = || {
            let law = Reno::new(&RenoConfig::default(), &config.controller_params());
            let receiver = ReceiverConfig::default().matching(&config);
            let sender = Sender::new(FLOW, config.clone(), law, AnySource::finite(Bytes::new(100_000)));
            Pipe::new(sender, Receiver::new(FLOW, receiver), Span::from_millis(20))
                .seed(seed)
                .script(|_, _, rng| if rng.chance(0.1) { Fate::Drop } else { Fate::Deliver })
                .start()
                .run(Span::from_secs(10_000))
                .path
                .departures
        };
        prop_assert_eq!(run(), run());
    }
}
