//! What the RFCs of loss recovery promise on every path, as properties over random losses of data and
//! acknowledgements: samples, time-outs, limited transmit, retransmissions. Traces by hand are in `stream.rs`.

use crate::pipe;

use std::collections::{BTreeMap, BTreeSet};

use pipe::{FLOW, Fate, Pipe, Scripted};
use proptest::prelude::*;
use tailback_control::Reliability;
use tailback_core::{Bytes, CongestionEvent, Recovery, Span, Time};
use tailback_transport::source::AnySource;
use tailback_transport::{Receiver, ReceiverConfig, RtoConfig, RttSampling, Sender, StreamConfig};

const ONE_WAY: Span = Span::from_millis(50);
const ROUND_TRIP: Span = Span::from_millis(100);

type Test = Pipe<Sender<Scripted>, Receiver>;

/// A transfer of 300 packets over a path of constant delay that loses at random.
fn lossy(config: StreamConfig, window: u64, loss: f64, ack_loss: f64, seed: u64) -> Test {
    let receiver = ReceiverConfig::default().matching(&config);
    let sender = Sender::new(
        FLOW,
        config,
        Scripted { on_timeout: Some(1000), ..Scripted::halving(window) },
        AnySource::finite(Bytes::new(300 * 960)),
    );
    Pipe::new(sender, Receiver::new(FLOW, receiver), ONE_WAY)
        .seed(seed)
        .script(move |_, _, rng| if rng.chance(loss) { Fate::Drop } else { Fate::Deliver })
        .ack_script(move |_, _, rng| if rng.chance(ack_loss) { Fate::Drop } else { Fate::Deliver })
        .start()
        .run(Span::from_secs(100_000))
}

fn tcp() -> impl Strategy<Value = Reliability> {
    prop_oneof![Just(Reliability::Reno), Just(Reliability::NewReno), Just(Reliability::Sack)]
}

// Nothing gives up here: at such losses nine expiries in a row, which last five minutes, do happen.
proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// "RTT samples MUST NOT be made using segments that were retransmitted (and thus for which it is ambiguous whether
    /// the reply was for the first instance of the packet or a later instance)" (RFC 6298 §3, Karn's algorithm): on a path
    /// of constant delay every sample is that delay. With timestamps even the ambiguous ones are.
    #[test]
    fn no_sample_is_ambiguous(
        reliability in tcp(),
        rtt_sampling in prop_oneof![
            Just(RttSampling::EveryAck), Just(RttSampling::PerRoundTrip), Just(RttSampling::Timestamps)
        ],
        keep_scoreboard: bool,
        window in 1_u64..40, loss in 0.0..0.3, seed: u64,
    ) {
        let config = StreamConfig { reliability, rtt_sampling, keep_scoreboard, user_timeout: Span::MAX, ..StreamConfig::default() };
        let test = lossy(config, window, loss, 0.0, seed);
        prop_assert!(test.finished());
        for told in &test.sender.controller().log.feedback {
            prop_assert!(told.rtt.is_none_or(|sample| sample == ROUND_TRIP), "{:?} at {}", told.rtt, told.at);
        }
    }

    /// RFC 6298 §5.5, "The host MUST set RTO <- RTO * 2", and §2.5, "a maximum value MAY be placed on RTO": a segment
    /// that times out again and again is retransmitted at times that stand apart twice as far each time, up to the maximum.
    #[test]
    fn timeouts_in_a_row_back_off_within_bounds(
        reliability in tcp(), max in 1_u64..20, dead in 3_u32..12, seed: u64,
    ) {
        let max = Span::from_secs(max);
        let config = StreamConfig {
            reliability,
            rto: RtoConfig { max, ..RtoConfig::default() },
            user_timeout: Span::MAX, ..StreamConfig::default()
        };
        let receiver = ReceiverConfig::default().matching(&config);
        let sender = Sender::new(FLOW, config, Scripted::window(1), AnySource::finite(Bytes::new(20 * 960)));
        let test = Pipe::new(sender, Receiver::new(FLOW, receiver), ONE_WAY)
            .seed(seed)
            .script(move |packet, count, _| {
                if packet.number == 9 && count <= dead { Fate::Drop } else { Fate::Deliver }
            })
            .start()
            .run(Span::from_secs(100_000));
        prop_assert!(test.finished());
        let sent: Vec<Time> =
            test.departures.iter().filter(|one| one.packet.number == 9).map(|one| one.at).collect();
        prop_assert_eq!(sent.len() as u32, dead + 1);
        let gaps: Vec<Span> = sent.windows(2).map(|pair| pair[1].since(pair[0])).collect();
        prop_assert!(gaps[0] >= RtoConfig::default().min);
        for pair in gaps.windows(2) {
            prop_assert_eq!(pair[1], (pair[0] * 2).min(max));
        }
    }

    /// RFC 3042 §2: the first duplicates release new segments as long as "the amount of outstanding data would remain less
    /// than or equal to the congestion window plus 2 segments". Outside recovery nothing else goes beyond the window.
    #[test]
    fn limited_transmit_is_limited(
        reliability in tcp(), window in 1_u64..40, loss in 0.0..0.2, ack_loss in 0.0..0.2, seed: u64,
    ) {
        let config = StreamConfig { reliability, user_timeout: Span::MAX, ..StreamConfig::default() };
        let receiver = ReceiverConfig::default().matching(&config);
        // A window that never changes, so that what is outstanding can be held against it at every moment.
        let sender = Sender::new(FLOW, config, Scripted::window(window), AnySource::finite(Bytes::new(300 * 960)));
        let test = Pipe::new(sender, Receiver::new(FLOW, receiver), ONE_WAY)
            .seed(seed)
            .script(move |_, _, rng| if rng.chance(loss) { Fate::Drop } else { Fate::Deliver })
            .ack_script(move |_, _, rng| if rng.chance(ack_loss) { Fate::Drop } else { Fate::Deliver })
            .start()
            .run(Span::from_secs(100_000));
        prop_assert!(test.finished());
        let log = &test.sender.controller().log;
        // Until the first sign of loss that counts, the sender is in no episode.
        let first = log.feedback.iter().find(|told| told.recovery != Recovery::Open).map_or(Time::NEVER, |told| told.at);
        for departure in test.departures.iter().filter(|departure| departure.at < first) {
            let outstanding = departure.packet.number + 1 - departure.acked;
            prop_assert!(outstanding <= window + 2, "{outstanding} with a window of {window}");
        }
    }

    /// RFC 6675 §4: `NextSeg` names a segment that is missing once per episode, by rules 1 and 3, and one more time as the
    /// episode's single rescue, by rule 4. So where no acknowledgement is lost, nothing else is sent twice within a round
    /// trip.
    #[test]
    fn sack_repeats_nothing_within_a_round_trip(window in 4_u64..40, loss in 0.0..0.15, seed: u64) {
        let config = StreamConfig { reliability: Reliability::Sack, user_timeout: Span::MAX, ..StreamConfig::default() };
        let test = lossy(config, window, loss, 0.0, seed);
        prop_assert!(test.finished());
        let mut last: BTreeMap<u64, Time> = BTreeMap::new();
        let told = &test.sender.controller().log.feedback;
        let begins: BTreeSet<Time> = told
            .iter()
            .filter(|one| matches!(one.event, Some(CongestionEvent::Loss | CongestionEvent::Timeout { .. })))
            .map(|one| one.at)
            .collect();
        let mut soon = 0;
        for departure in &test.departures {
            let number = departure.packet.number;
            if let Some(before) = last.insert(number, departure.at) {
                let gap = departure.at.since(before);
                // An episode begins with the first hole, even if the last one sent that again already (§5 step 4.3).
                if gap < ROUND_TRIP && !begins.contains(&departure.at) {
                    soon += 1;
                }
            }
        }
        let sender = test.sender.counters();
        prop_assert!(soon <= sender.recoveries, "{soon} too soon, more than one rescue in an episode");
    }

    /// "the cumulative acknowledgment field covers more than 'recover'" (RFC 6582 §3.2 step 2): duplicates of what was
    /// sent before the last episode's end begin none. No reduction for loss comes twice for one window of data.
    #[test]
    fn newreno_is_careful(window in 4_u64..40, loss in 0.0..0.15, ack_loss in 0.0..0.2, seed: u64) {
        let config = StreamConfig { reliability: Reliability::NewReno, user_timeout: Span::MAX, ..StreamConfig::default() };
        let test = lossy(config, window, loss, ack_loss, seed);
        prop_assert!(test.finished());
        let mut sent = 0;
        let mut recover = None;
        let mut departures = test.departures.iter().peekable();
        let mut acked = 0;
        for told in &test.sender.controller().log.feedback {
            // What had left before this acknowledgement; what it let go leaves at the same instant, but later.
            while let Some(departure) = departures.next_if(|departure| departure.at < told.at) {
                sent = sent.max(departure.packet.number + 1);
            }
            acked += told.advanced / 1000;
            let begins = matches!(told.event, Some(CongestionEvent::Loss));
            if begins && let Some(recover) = recover {
                prop_assert!(acked > recover, "begins at {acked}, before {recover} is covered");
            }
            if begins || matches!(told.event, Some(CongestionEvent::Timeout { .. })) {
                recover = Some(sent);
            }
        }
    }
}
