//! What detection by time promises of whole transfers, whatever the path does and whatever is forged.

use super::{by_time, overtaken_by_one};
use crate::pipe;

use pipe::stream::{events, transfer};
use pipe::{FLOW, Fate, Pipe, Scripted};
use proptest::prelude::*;
use tailback_core::{AckBlocks, Annex, Bytes, Kind, Packet, SeqRange, Span};
use tailback_transport::source::AnySource;
use tailback_transport::{Receiver, ReceiverConfig, Sender, SpuriousDetection, StreamConfig};

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever is lost, all arrives, and nothing is sent without end.
    #[test]
    fn all_arrives(
        window in 1_u64..60,
        loss in 0.0..0.3,
        ack_loss in 0.0..0.3,
        late in 0.0..0.2,
        proportional: bool,
        spurious in prop_oneof![
            Just(SpuriousDetection::Off), Just(SpuriousDetection::FRto), Just(SpuriousDetection::Eifel)
        ],
        dsack: bool,
        seed: u64,
    ) {
        let config = StreamConfig {
            user_timeout: Span::MAX,
            proportional_rate_reduction: proportional,
            spurious,
            ..by_time()
        };
        let receiver = ReceiverConfig { dsack: Some(dsack), ..ReceiverConfig::default() }.matching(&config);
        let source = AnySource::finite(Bytes::new(400 * 960));
        let sender = Sender::new(FLOW, config, Scripted::halving(window), source);
        let test = Pipe::new(sender, Receiver::new(FLOW, receiver), pipe::stream::ONE_WAY)
            .seed(seed)
            .script(move |_, _, rng| {
                if rng.chance(loss) { return Fate::Drop; }
                if rng.chance(late) { Fate::Late(Span::from_millis(rng.below(80))) } else { Fate::Deliver }
            })
            .ack_script(move |_, _, rng| if rng.chance(ack_loss) { Fate::Drop } else { Fate::Deliver })
            .start()
            .run(Span::from_secs(100_000));
        prop_assert!(test.finished());
        prop_assert!(test.departures.len() < 4000, "{}", test.departures.len());
        prop_assert_eq!(test.annexes.len(), 0);
    }

    /// What arrives within a quarter of the least round trip time behind what left later is not retransmitted once reordering was
    /// seen, however much is reordered: nothing at all is, and no window is lowered.
    #[test]
    fn reordering_within_the_window_costs_nothing(window in 4_u64..60, share in 0.0..0.5, seed: u64) {
        let test = transfer(by_time(), Scripted::window(window), 600)
            .seed(seed)
            .script(move |packet, _, rng| {
                let is_late = packet.number > 60 && rng.chance(share);
                if is_late {
                    Fate::Late(Span::from_micros(rng.below(24_900)))
                } else {
                    overtaken_by_one(packet.number)
                }
            })
            .start()
            .run(Span::from_secs(1000));
        prop_assert!(test.finished());
        prop_assert_eq!(test.sender.counters().retransmitted, 0);
        prop_assert_eq!(events(&test), []);
    }

    /// Acknowledgements that nobody sent neither make it loop nor send without end, nor stop it.
    #[test]
    fn forged_acknowledgements_do_no_harm(
        forged in prop::collection::vec(
            (0_u64..40, prop::collection::vec((0_u64..60, 1_u64..20), 0..4), 0_u64..30), 1..60
        ),
    ) {
        let config = StreamConfig { user_timeout: Span::MAX, ..by_time() };
        let mut test = transfer(config, Scripted::halving(20), 40).start();
        for (number, ranges, wait) in forged {
            let mut blocks = AckBlocks { count: ranges.len() as u8, ..AckBlocks::default() };
            for (block, (start, length)) in blocks.blocks.iter_mut().zip(&ranges) {
                *block = SeqRange { start: *start, end: start + length };
            }
            test.forge(Packet::new(Kind::Ack, FLOW, number, Bytes::new(40)), Some(Annex::Blocks(blocks)));
            test = test.run(Span::from_millis(wait));
        }
        let sent = test.departures.len();
        let test = test.run(Span::from_secs(100_000));
        // An end that was falsely told acknowledged need not arrive; but all comes to rest.
        prop_assert!(test.finished());
        prop_assert!(sent < 3000 && test.departures.len() < 4000, "{sent} {}", test.departures.len());
    }
}
