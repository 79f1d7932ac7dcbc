//! Proportional rate reduction in bad company: small windows, receivers' windows, pauses of the application, time-outs within
//! recovery, marks, trains, pacing, and ranges that were never received. Everything arrives, whatever happens. What leaves when is
//! held to RFC 9937 in `second/`.

use crate::pipe;

use pipe::{FLOW, Fate, Pipe, Scripted};
use proptest::prelude::*;
use tailback_core::{
    AckBlocks, Annex, AppInput, Bytes, DataAmount, Kind, Packet, SeqRange, Span, Stream, Time,
};
use tailback_transport::source::AnySource;
use tailback_transport::{
    EcnMode, PacingConfig, Receiver, ReceiverConfig, Sender, SpuriousDetection, StreamConfig,
};

proptest! {
    #[test]
    fn everything_arrives(
        window in prop_oneof![1_u64..4, 4_u64..60],
        halves: bool,
        flags: [bool; 6],
        spurious in prop_oneof![
            Just(SpuriousDetection::Off), Just(SpuriousDetection::Eifel), Just(SpuriousDetection::FRto)
        ],
        receive_window in prop::option::of(1_u64..40),
        (loss, marked, ack_loss) in (0.0..0.3, 0.0..0.1, 0.0..0.3),
        writes in prop::collection::vec((1_u64..60_000, 0_u64..1500), 1..8),
        lies in prop::collection::vec((0_u64..6, 1_u64..4), 0..6),
        seed: u64,
    ) {
        let config = StreamConfig {
            proportional_rate_reduction: true,
            lost_retransmissions: flags[0],
            segmentation_offload: flags[1],
            pacing: flags[2].then(PacingConfig::default),
            ecn: if flags[3] { EcnMode::Ect0 } else { EcnMode::Off },
            keep_scoreboard: flags[4],
            rescue: flags[5],
            spurious,
            receive_window: receive_window.map(|packets| DataAmount::Packets(packets as f64)),
            user_timeout: Span::from_secs(1_000_000),
            ..StreamConfig::default()
        };
        let receiver = Receiver::new(FLOW, ReceiverConfig::default().matching(&config));
        let law = if halves { Scripted::halving(window) } else { Scripted::window(window) };
        let script = move |_: &Packet, _, rng: &mut Stream| match rng.uniform() {
            chance if chance < loss => Fate::Drop,
            chance if chance < loss + marked => Fate::Mark,
            _ => Fate::Deliver,
        };
        let ack_script = move |_: &Packet, _, rng: &mut Stream| {
            if rng.chance(ack_loss) { Fate::Drop } else { Fate::Deliver }
        };
        let sender = Sender::new(FLOW, config, law, AnySource::pushed());
        let mut test = Pipe::new(sender, receiver, Span::from_millis(20))
            .seed(seed).script(script).ack_script(ack_script).start();
        let mut lies = lies.into_iter();
        for &(bytes, pause) in &writes {
            test.app(AppInput::Write(Bytes::new(bytes)));
            let end = test.now + Span::from_millis(pause);
            while test.step(end) {}
            if let Some((after, length)) = lies.next() {
                let number = test.departures.last().map_or(0, |one| one.acked);
                let mut blocks = AckBlocks { count: 1, trigger: number, ..AckBlocks::default() };
                blocks.blocks[0] = SeqRange { start: number + after, end: number + after + length };
                let ack = Packet::new(Kind::Ack, FLOW, number, Bytes::new(40));
                test.forge(ack, Some(Annex::Blocks(blocks)));
            }
        }
        test.app(AppInput::Close);
        let test = test.run(Span::from_secs(200_000));
        let all = writes.iter().map(|(bytes, _)| Bytes::new(*bytes)).fold(Bytes::ZERO, |sum, one| sum + one);
        prop_assert_eq!(test.receiver.counters().goodput, all);
        prop_assert!(test.finished(), "at {}", test.now.since(Time::ZERO));
    }
}
