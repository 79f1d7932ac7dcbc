//! The straight ways of what nearly always happens give what the general way gives: the same packets at the same times,
//! the same words to the controller, the same observations. When they are taken is tested in `straight_taken.rs`.

use crate::noting::{Asks, Habits, Noting, Odd, Summing};
use crate::pipe;

use pipe::{Departure, FLOW, Pipe, Trouble};
use proptest::prelude::*;
use tailback_control::schemes::Bbr3Config;
use tailback_control::{AnyController, Reliability, SCHEMES, Scheme};
use tailback_core::{
    AckFrequency, BitRate, Burst, Bytes, Choice, Controller, Cx, DataAmount, Directive, Distribution,
    Endpoint, Event, Feedback, Observation, Packet, Sent, Span, Time, Tokens,
};
use tailback_transport::source::{AnySource, BulkConfig, Connection, FilesConfig, OnOffConfig, SourceConfig};
use tailback_transport::{
    AckDetail, EcnMode, LossDetection, PacingConfig, RackConfig, Receiver, ReceiverConfig, RtoConfig,
    RttSampling, Sender, SpuriousDetection, StreamConfig,
};

fn asks() -> impl Strategy<Value = Asks> {
    let threshold = prop_oneof![2 => Just(1_u32), 2 => 2_u32..20, 1 => Just(1000)];
    let delay = prop_oneof![1 => Just(0_u64), 4 => 1_u64..60];
    let frequency = (threshold, delay)
        .prop_map(|(threshold, delay)| AckFrequency { threshold, max_delay: Span::from_millis(delay) });
    (5_u64..80, prop::array::uniform4(prop::option::weighted(0.8, frequency)), 1_u64..60)
        .prop_map(|(every, wishes, immediate)| Asks { every, wishes, immediate })
}

fn habits() -> impl Strategy<Value = Habits> {
    let rate = prop::option::of((300_000..20_000_000_u64).prop_map(BitRate::from_bits_per_sec));
    let tokens = prop_oneof![3 => Just(Tokens::Constant), 1 => Just(Tokens::Poisson)];
    let burst = (0..4000_u64, tokens).prop_map(|(depth, tokens)| Burst { depth: Bytes::new(depth), tokens });
    let odd = prop_oneof![
        Just(Odd::Timeout),
        Just(Odd::Gate),
        Just(Odd::Pairs),
        Just(Odd::ControlPair),
        Just(Odd::Cluster),
        Just(Odd::NoRate),
        Just(Odd::Narrow)
    ];
    (rate, burst, any::<[bool; 2]>(), prop::option::of(odd), prop::option::weighted(0.3, asks())).prop_map(
        |(rate, burst, [watches_sent, says_same], odd, asks)| Habits {
            rate,
            burst,
            watches_sent,
            says_same,
            odd,
            asks,
        },
    )
}

/// What goes wrong, with its seed: mostly little, so that the straight way is taken again and again.
fn trouble() -> impl Strategy<Value = (Trouble, u64)> {
    let rare = || prop_oneof![2 => Just(0.0), 3 => 0.0..0.02_f64, 1 => 0.0..0.2_f64];
    (rare(), rare(), rare(), rare(), rare(), any::<u64>()).prop_map(
        |(loss, late, twice, marks, ack_loss, seed)| (Trouble { loss, late, twice, marks, ack_loss }, seed),
    )
}

/// Now and then so short that it expires for nothing.
fn rto() -> impl Strategy<Value = RtoConfig> {
    let least = prop_oneof![2 => Just(200_u64), 1 => Just(1000), 1 => Just(30)];
    let rest =
        (prop_oneof![2 => Just(0_u64), 1 => 1_u64..300], prop_oneof![3 => Just(0_u64), 1 => Just(100)]);
    (least, rest).prop_map(|(min, (margin, tick))| RtoConfig {
        min: Span::from_millis(min),
        margin_min: Span::from_millis(margin),
        tick: Span::from_millis(tick),
        ..RtoConfig::default()
    })
}

/// All at once, or with pauses: on one connection for all files, or of nothing to send.
fn sources() -> impl Strategy<Value = SourceConfig> {
    let size = prop_oneof![1_u64..5000, 1_u64..400_000];
    (0_u8..4, size.prop_map(Bytes::new)).prop_map(|(kind, size)| match kind {
        0 => SourceConfig::OnOff(OnOffConfig {
            rate: BitRate::from_bits_per_sec(3_000_000),
            on: Distribution::exponential(Span::from_millis(100)).into(),
            off: Distribution::exponential(Span::from_millis(400)).into(),
            total: Some(size),
            ..OnOffConfig::default()
        }),
        1 => SourceConfig::Files(FilesConfig {
            size: Distribution::exponential(Bytes::new(12_000)).into(),
            pause: Distribution::exponential(Span::from_millis(300)).into(),
            connection: Connection::Kept,
            count: Some(size.get() / 20_000 + 1),
            ..FilesConfig::default()
        }),
        _ => SourceConfig::Bulk(BulkConfig { size: Some(size) }),
    })
}

/// A receiver that mostly acknowledges each segment by number and ranges alone.
fn receivers() -> impl Strategy<Value = ReceiverConfig> {
    let ack_every = prop_oneof![3 => Just(1_u32), 1 => Just(2)];
    let dsack = prop::option::weighted(0.3, any::<bool>());
    let trigger = prop::bool::weighted(0.1);
    (ack_every, 0_u8..=4, dsack, trigger, prop::bool::weighted(0.1)).prop_map(
        |(ack_every, max_sack_blocks, dsack, trigger, delivery_events)| ReceiverConfig {
            ack_every,
            max_sack_blocks,
            dsack,
            ack_detail: if trigger { AckDetail::Trigger } else { AckDetail::Off },
            delivery_events,
            ..ReceiverConfig::default()
        },
    )
}

prop_compose! {
    fn stream_config()(
        reliability in prop_oneof![
            1 => Just(Reliability::Reno),
            1 => Just(Reliability::NewReno),
            1 => Just(Reliability::Vegas),
            3 => Just(Reliability::Sack),
            1 => Just(Reliability::Offsets)
        ],
        rtt_sampling in prop_oneof![
            4 => Just(RttSampling::EveryAck),
            1 => Just(RttSampling::PerRoundTrip),
            1 => Just(RttSampling::Timestamps)
        ],
        ecn in prop_oneof![4 => Just(EcnMode::Off), 1 => Just(EcnMode::Ect0), 1 => Just(EcnMode::Ect1)],
        spurious in prop_oneof![
            3 => Just(SpuriousDetection::Off),
            1 => Just(SpuriousDetection::FRto),
            1 => Just(SpuriousDetection::Eifel)
        ],
        flags in any::<[bool; 13]>(),
        segmentation_offload in prop::bool::weighted(0.1),
        pacing in prop_oneof![3 => Just(None), 1 => Just(Some(PacingConfig::default()))],
        jitter in prop_oneof![5 => Just(0_u64), 1 => 1_u64..2000],
        receive_window in prop::option::of(2_u64..40),
        window_limit in 4_u64..60,
        (dup_threshold, is_by_time) in (1_u32..6, prop::bool::weighted(0.1)),
        rto in rto(),
    ) -> StreamConfig {
        let is_sack = reliability == Reliability::Sack;
        let loss_detection = if is_by_time && is_sack {
            LossDetection::Rack(RackConfig::default())
        } else {
            LossDetection::DupAcks
        };
        StreamConfig {
            reliability,
            rtt_sampling,
            ecn,
            limited_transmit: flags[0] || flags[1],
            keep_scoreboard: flags[2],
            rescue: flags[3],
            handshake: flags[4],
            delivery: flags[5],
            lost_retransmissions: flags[6],
            stamps: flags[7],
            proportional_rate_reduction: flags[8] && is_sack,
            restart_after_idle: flags[9],
            one_recovery_per_window: flags[10],
            careful: flags[11].then_some(flags[10]),
            impatient: flags[12],
            spurious,
            loss_detection: Choice(loss_detection),
            rto,
            segmentation_offload,
            pacing,
            send_jitter: Span::from_micros(jitter),
            receive_window: receive_window.map(|packets| DataAmount::Packets(packets as f64)),
            window_limit: Some(DataAmount::Packets(window_limit as f64)),
            dup_threshold,
            ..StreamConfig::default()
        }
    }
}

/// All that can be seen of a transfer.
#[derive(Debug, PartialEq)]
struct Seen {
    departures: Vec<Departure>,
    acks: Vec<(Time, Packet)>,
    events: Vec<(Time, Event)>,
    observed: [Observation; 2],
    notes: Vec<(&'static str, f64)>,
}

/// The other end; where it reports, at control packets and every so often.
#[expect(clippy::option_option, reason = "no reports at all are not the same as reports without a timer")]
fn receiver(receiver: &ReceiverConfig, reports: Option<Option<Span>>, config: &StreamConfig) -> Receiver {
    let ack_requests = config.ack_requests;
    let receiver = Receiver::new(FLOW, ReceiverConfig { ack_requests, ..receiver.clone() }.matching(config));
    match reports {
        Some(every) => receiver.with_policy(Box::new(Summing { every, ..Summing::default() })),
        None => receiver,
    }
}

fn run<C: Controller>(
    (sender, receiver): (Sender<C>, Receiver),
    (trouble, seed): (Trouble, u64),
) -> (Seen, C) {
    let test = Pipe::new(sender, receiver, Span::from_millis(20))
        .troubled(trouble, seed)
        .start()
        .run(Span::from_secs(1000));
    let observed = [test.sender.observe(), test.receiver.observe()];
    let told = Seen {
        departures: test.path.departures,
        acks: test.path.acks,
        events: test.path.events,
        observed,
        notes: test.path.notes,
    };
    (told, test.sender.into_controller())
}

fn asking_bbr() -> Scheme {
    Scheme::Bbr3(Bbr3Config { ack_frequency: true })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn both_ways_tell_and_send_the_same(
        config in stream_config(),
        trouble in trouble(),
        source in sources(),
        receivers in receivers(),
        habits in prop_oneof![
            1 => Just(Habits::NONE),
            2 => habits()
        ],
        reports in prop::option::of(prop::option::of((5_u64..60).prop_map(Span::from_millis))),
    ) {
        let config = StreamConfig { ack_requests: habits.asks.is_some(), ..config };
        let sender = || {
            let noting = Noting::new(&config, habits);
            Sender::new(FLOW, config.clone(), noting, source.build())
        };
        let receiver = || receiver(&receivers, reports, &config);
        let (straight, told) = run((sender(), receiver()), trouble);
        let (general, expected) = run((sender().on_general_way(), receiver().on_general_way()), trouble);
        prop_assert_eq!(straight, general);
        prop_assert_eq!(told.told, expected.told);
        prop_assert_eq!(told.delivered, expected.delivered);
        prop_assert_eq!(told.one_way, expected.one_way);
        prop_assert_eq!(told.left, expected.left);
        prop_assert_eq!(told.said, expected.said);
    }

    #[test]
    fn every_scheme_sends_the_same_on_both_ways(
        which in 0..=SCHEMES.len(),
        trouble in trouble(),
        size in 1_u64..200_000,
    ) {
        let scheme = SCHEMES.get(which).map_or_else(asking_bbr, |scheme| (scheme.default)());
        prop_assume!(scheme.needs().reliability != Reliability::Datagram);
        let config = StreamConfig::default().serving(&scheme.needs());
        let sender = || -> Sender<AnyController> {
            let parts = scheme.build(&config.controller_params());
            Sender::new(FLOW, config.clone(), parts.controller, AnySource::finite(Bytes::new(size)))
        };
        let receiver = || {
            let receiver =
                Receiver::new(FLOW, ReceiverConfig::default().serving(&scheme.needs()).matching(&config));
            match scheme.build(&config.controller_params()).policy {
                Some(policy) => receiver.with_policy(policy),
                None => receiver,
            }
        };
        let (straight, _) = run((sender(), receiver()), trouble);
        let (general, _) = run((sender().on_general_way(), receiver().on_general_way()), trouble);
        prop_assert_eq!(straight, general);
    }
}

/// A window of two packets, and a time-out of 90 ms: from the sending of number 20 on, or until 19 is acknowledged.
struct Hasty {
    timeout: Option<Span>,
    begins: bool,
}

impl Controller for Hasty {
    fn on_sent(&mut self, _: Time, sent: &mut Sent, _: &mut Cx<'_>) {
        if self.begins && sent.number == 20 {
            self.timeout = Some(HASTY);
        }
    }

    fn on_feedback(&mut self, _: Time, feedback: &Feedback<'_>, _: &mut Cx<'_>) {
        if !self.begins && feedback.acked.iter().any(|one| one.number == 19) {
            self.timeout = None;
        }
    }

    fn directive(&self) -> Directive {
        Directive { timeout: self.timeout, ..Directive::window(Bytes::new(2000)) }
    }
}

const HASTY: Span = Span::from_millis(90);

/// When the first of two that are lost leaves, number 20 or 22: with the straight ways, and without.
fn repaired(begins: bool) -> [Vec<u64>; 2] {
    let drops: &'static [(u64, u32)] = if begins { &[(20, 1), (21, 1)] } else { &[(22, 1), (23, 1)] };
    let config = StreamConfig { reliability: Reliability::Sack, ..StreamConfig::default() };
    [false, true].map(|general| {
        let law = Hasty { timeout: (!begins).then_some(HASTY), begins };
        let sender = Sender::new(FLOW, config.clone(), law, AnySource::finite(Bytes::new(40_000)));
        let sender = if general { sender.on_general_way() } else { sender };
        let receiver = Receiver::new(FLOW, ReceiverConfig::default().matching(&config));
        let test = Pipe::new(sender, receiver, Span::from_millis(20)).dropping(drops).start();
        let sent = test.run(Span::from_secs(10)).sent();
        sent.iter().filter(|(_, number)| *number == drops[0].0).map(|(at, _)| *at).collect()
    })
}

/// What a law directs when it hears of a packet that leaves counts for that packet.
#[test]
fn a_time_out_directed_at_a_packets_sending_is_that_packets() {
    assert_eq!(repaired(true), [[400, 490], [400, 490]]);
}

/// What a law directs no more does not count for the next packets: their time-out is RFC 6298's, of 200 ms at least.
#[test]
fn a_time_out_that_is_directed_no_more_is_none() {
    let [straight, general] = repaired(false);
    assert_eq!(straight, general);
    assert!(general[0] == 440 && general[1] >= 640, "{general:?}");
}

/// A configured pace follows the round trip time, which changes while the window stays.
#[test]
fn a_pace_follows_the_round_trip_time_though_the_law_directs_the_same() {
    let config = StreamConfig {
        reliability: Reliability::Sack,
        pacing: Some(PacingConfig::default()),
        window_limit: Some(DataAmount::Packets(8.0)),
        ..StreamConfig::default()
    };
    let sender = || {
        let noting = Noting::new(&config, Habits { says_same: true, ..Habits::NONE });
        Sender::new(FLOW, config.clone(), noting, AnySource::finite(Bytes::new(400_000)))
    };
    let trouble = (Trouble { late: 0.2, ..Trouble::default() }, 3);
    let receiver = || receiver(&ReceiverConfig::default(), None, &config);
    let (straight, told) = run((sender(), receiver()), trouble);
    let (general, _) = run((sender().on_general_way(), receiver()), trouble);
    assert!(told.same > 20, "{} times the same", told.same);
    assert_eq!(straight, general);
}
