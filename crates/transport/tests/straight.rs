//! The straight ways of what nearly always happens give what the general way gives: the same packets at the same times,
//! the same words to the controller, the same observations.

use crate::pipe;

use pipe::{Batch, Departure, FLOW, Fate, Pipe};
use proptest::prelude::*;
use tailback_control::schemes::{Bbr3Config, Reno, RenoConfig};
use tailback_control::{AnyController, Reliability, SCHEMES, Scheme};
use tailback_core::{
    AckFrequency, AckWish, Annexes, Arrival, BitRate, Burst, Bytes, Controller, Cx, DataAmount,
    DeliverySample, Directive, Endpoint, EndpointCx, Envelope, Event, Feedback, FeedbackPolicy, Gate, Input,
    Kind, Lane, Observation, OneWay, Outgoing, Output, Packet, ProbePlan, Report, Sent, Span, Stream, Time,
    Tokens,
};
use tailback_transport::source::AnySource;
use tailback_transport::{
    EcnMode, PacingConfig, Receiver, ReceiverConfig, RttSampling, Sender, StreamConfig,
};

/// What a controller directs for the last five of every forty steps.
#[derive(Clone, Copy, Debug)]
enum Odd {
    Timeout,
    Gate,
    Pairs,
    ControlPair,
    Cluster,
    NoRate,
}

/// What a controller directs and hears beside Reno's window and feedback.
#[derive(Clone, Copy, Debug)]
struct Habits {
    rate: Option<BitRate>,
    burst: Burst,
    watches_sent: bool,
    /// It says when feedback has changed nothing.
    says_same: bool,
    odd: Option<Odd>,
    asks: Option<Asks>,
}

/// What a controller asks of its receiver: something else after so many packets that leave.
#[derive(Clone, Copy, Debug)]
struct Asks {
    every: u64,
    wishes: [Option<AckFrequency>; 4],
    /// Every so many packets one is to be acknowledged at once.
    immediate: u64,
}

fn asks() -> impl Strategy<Value = Asks> {
    let threshold = prop_oneof![2 => Just(1_u32), 2 => 2_u32..20, 1 => Just(1000)];
    let delay = prop_oneof![1 => Just(0_u64), 4 => 1_u64..60];
    let frequency = (threshold, delay)
        .prop_map(|(threshold, delay)| AckFrequency { threshold, max_delay: Span::from_millis(delay) });
    (5_u64..80, prop::array::uniform4(prop::option::weighted(0.8, frequency)), 1_u64..60)
        .prop_map(|(every, wishes, immediate)| Asks { every, wishes, immediate })
}

impl Habits {
    const NONE: Self = Self {
        rate: None,
        burst: Burst::SINGLE,
        watches_sent: false,
        says_same: false,
        odd: None,
        asks: None,
    };
}

const FORTY: u64 = 40;

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
        Just(Odd::NoRate)
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

/// A packet that leaves, as a controller hears of it.
type Left = (Time, u64, Bytes, Bytes, bool);

/// Reno's law with habits, which notes all that it is told.
struct Noting {
    law: Reno,
    habits: Habits,
    told: Vec<(Batch, Bytes)>,
    delivered: Vec<Option<DeliverySample>>,
    one_way: Vec<Option<OneWay>>,
    left: Vec<Left>,
    said: Vec<Envelope>,
    /// How often feedback changed nothing.
    same: u64,
    /// Batches so far; the timer that ends what is odd counts for as many as are missing to forty.
    steps: u64,
    odd_until: Option<Time>,
}

impl Noting {
    fn new(config: &StreamConfig, habits: Habits) -> Self {
        Self {
            law: Reno::new(&RenoConfig::default(), &config.controller_params()),
            habits,
            told: Vec::new(),
            delivered: Vec::new(),
            one_way: Vec::new(),
            left: Vec::new(),
            said: Vec::new(),
            same: 0,
            steps: 0,
            odd_until: None,
        }
    }

    fn step(&mut self, now: Time) {
        self.steps += 1;
        let is_odd = self.habits.odd.is_some() && self.steps % FORTY >= FORTY - 5;
        self.odd_until = is_odd.then(|| self.odd_until.unwrap_or(now + Span::from_millis(50)));
    }
}

impl Controller for Noting {
    fn watches_sent(&self) -> bool {
        self.habits.watches_sent
    }

    fn on_sent(&mut self, now: Time, sent: &mut Sent, _: &mut Cx<'_>) {
        self.left.push((now, sent.number, sent.size, sent.in_flight, sent.app_limited));
        sent.tag = self.left.len() as u32;
    }

    fn on_timer(&mut self, now: Time, _: &mut Cx<'_>) {
        if self.odd_until.is_some_and(|until| until <= now) {
            self.steps = self.steps.next_multiple_of(FORTY);
            self.odd_until = None;
        }
    }

    fn next_timer(&self) -> Option<Time> {
        self.odd_until
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        let told = Batch {
            at: now,
            acked: feedback.acked.iter().map(|one| one.number).collect(),
            lost: feedback.lost.iter().map(|one| one.number).collect(),
            advanced: feedback.advanced.get(),
            outstanding: feedback.outstanding.get(),
            in_flight: feedback.in_flight.get(),
            event: feedback.event,
            recovery: feedback.recovery,
            rtt: feedback.rtt.map(|sample| sample.smoothed),
            window_limited: feedback.window_limited,
            echoes: feedback.echoes,
            report: feedback.report.is_some(),
            tags: feedback.acked.iter().map(|one| one.tag).collect(),
        };
        let sizes = feedback.acked.iter().map(|one| one.size).sum();
        self.told.push((told, sizes));
        self.delivered.push(feedback.delivery.cloned());
        self.one_way.push(feedback.one_way);
        self.said.extend(feedback.report.cloned());
        self.law.on_feedback(now, feedback, cx);
        self.step(now);
    }

    fn hear_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) -> bool {
        let before = self.orders();
        self.on_feedback(now, feedback, cx);
        let stays = self.habits.says_same && self.orders() == before;
        self.same += u64::from(stays);
        !stays
    }

    fn directive(&self) -> Directive {
        let Habits { rate, burst, odd, .. } = self.habits;
        let usual = Directive { rate, burst, ..self.law.directive() };
        let Some(odd) = odd.filter(|_| self.odd_until.is_some()) else { return usual };
        let id = self.steps / FORTY;
        match odd {
            Odd::Timeout => Directive { timeout: Some(Span::from_millis(90)), ..usual },
            Odd::Gate => Directive { gate: Gate::Closed { until: None }, ..usual },
            Odd::Pairs => {
                let singleton_timeout = Span::from_millis(5);
                Directive { probe: Some(ProbePlan::DataPairs { singleton_timeout }), ..usual }
            }
            Odd::ControlPair => Directive { probe: Some(ProbePlan::ControlPair { id }), ..usual },
            Odd::Cluster => {
                let (rate, bytes) = (BitRate::from_bits_per_sec(30_000_000), Bytes::new(6000));
                Directive { probe: Some(ProbePlan::Cluster { id, rate, bytes }), ..usual }
            }
            Odd::NoRate => Directive { rate: None, ..usual },
        }
    }

    /// By the batches so far, of which both ways tell alike.
    fn ack_wish(&self) -> AckWish {
        let Some(Asks { every, wishes, immediate }) = self.habits.asks else { return AckWish::default() };
        AckWish {
            frequency: wishes[(self.steps / every % 4) as usize],
            immediate: (self.steps / immediate) as u32,
        }
    }
}

/// What goes wrong on a path, as probabilities; mostly little, so that the straight way is taken again and again.
#[derive(Clone, Copy, Debug)]
struct Trouble {
    loss: f64,
    late: f64,
    twice: f64,
    mark: f64,
    ack_loss: f64,
    seed: u64,
}

fn trouble() -> impl Strategy<Value = Trouble> {
    let rare = || prop_oneof![2 => Just(0.0), 3 => 0.0..0.02_f64, 1 => 0.0..0.2_f64];
    (rare(), rare(), rare(), rare(), rare(), any::<u64>()).prop_map(
        |(loss, late, twice, mark, ack_loss, seed)| Trouble { loss, late, twice, mark, ack_loss, seed },
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
        flags in any::<[bool; 8]>(),
        segmentation_offload in prop::bool::weighted(0.1),
        pacing in prop_oneof![3 => Just(None), 1 => Just(Some(PacingConfig::default()))],
        jitter in prop_oneof![5 => Just(0_u64), 1 => 1_u64..2000],
        receive_window in prop::option::of(2_u64..40),
        window_limit in 4_u64..60,
        dup_threshold in 1_u32..6,
    ) -> StreamConfig {
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

/// A policy that takes data as a sum, and reports it at control packets and every so often.
#[derive(Default)]
struct Summing {
    sum: Bytes,
    /// How many packets of data it heard of by themselves.
    single: u32,
    due: bool,
    every: Option<Span>,
    timer: Option<Time>,
}

impl FeedbackPolicy for Summing {
    fn on_arrival(&mut self, _: Time, arrival: &Arrival<'_>, _: &mut Cx<'_>) {
        if arrival.is_data() {
            self.single += 1;
            self.add_data(arrival.packet.size());
        }
        self.due |= arrival.packet.kind() == Kind::Control;
    }

    fn sums_data(&self) -> bool {
        true
    }

    fn add_data(&mut self, bytes: Bytes) {
        self.sum += bytes;
    }

    fn poll_report(&mut self, now: Time, _: &mut Cx<'_>) -> Option<Outgoing> {
        let late = self.timer.is_some_and(|at| at <= now);
        if late || self.timer.is_none() {
            self.timer = self.every.map(|every| now + every);
        }
        (std::mem::take(&mut self.due) || late).then(|| Outgoing {
            report: Report::Custom(Box::new([self.sum.as_f64()])),
            lane: Lane::OUT_OF_BAND,
            size: Bytes::new(52),
        })
    }

    fn next_timer(&self) -> Option<Time> {
        self.timer
    }
}

/// The other end; where it reports, at control packets and every so often.
#[expect(clippy::option_option, reason = "no reports at all are not the same as reports without a timer")]
fn receiver(ack_every: u32, reports: Option<Option<Span>>, config: &StreamConfig) -> Receiver {
    let ack_requests = config.ack_requests;
    let receiver = Receiver::new(
        FLOW,
        ReceiverConfig { ack_every, ack_requests, ..ReceiverConfig::default() }.matching(config),
    );
    match reports {
        Some(every) => receiver.with_policy(Box::new(Summing { every, ..Summing::default() })),
        None => receiver,
    }
}

fn run<C: Controller>((sender, receiver): (Sender<C>, Receiver), trouble: Trouble) -> (Seen, C) {
    let test = Pipe::new(sender, receiver, Span::from_millis(20))
        .seed(trouble.seed)
        .script(move |_, _, rng| {
            if rng.chance(trouble.loss) {
                Fate::Drop
            } else if rng.chance(trouble.late) {
                Fate::Late(Span::from_millis(1 + rng.below(60)))
            } else if rng.chance(trouble.twice) {
                Fate::Twice
            } else if rng.chance(trouble.mark) {
                Fate::Mark
            } else {
                Fate::Deliver
            }
        })
        .ack_script(move |_, _, rng| if rng.chance(trouble.ack_loss) { Fate::Drop } else { Fate::Deliver })
        .start()
        .run(Span::from_secs(1000));
    let observed = [test.sender.observe(), test.receiver.observe()];
    let seen = Seen {
        departures: test.departures,
        acks: test.acks,
        events: test.events,
        observed,
        notes: test.notes,
    };
    (seen, test.sender.into_controller())
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
        size in prop_oneof![1_u64..5000, 1_u64..400_000],
        ack_every in prop_oneof![3 => Just(1_u32), 1 => Just(2)],
        habits in prop_oneof![
            1 => Just(Habits::NONE),
            2 => habits()
        ],
        reports in prop::option::of(prop::option::of((5_u64..60).prop_map(Span::from_millis))),
    ) {
        let config = StreamConfig { ack_requests: habits.asks.is_some(), ..config };
        let sender = || {
            let noting = Noting::new(&config, habits);
            Sender::new(FLOW, config.clone(), noting, AnySource::finite(Bytes::new(size)))
        };
        let receiver = || receiver(ack_every, reports, &config);
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

#[test]
fn the_straight_way_is_taken() {
    let config = StreamConfig { reliability: Reliability::Sack, ..StreamConfig::default() };
    let law = Reno::new(&RenoConfig::default(), &config.controller_params());
    let sender = Sender::new(FLOW, config.clone(), law, AnySource::infinite());
    let receiver = Receiver::new(FLOW, ReceiverConfig::default().matching(&config));
    let mut test = Pipe::new(sender, receiver, Span::from_millis(20)).dropping(&[(30, 1)]).start();
    while test.sender.counters().acked_packets < 10 {
        assert!(test.step(Time::from_secs_f64(10.0)));
    }
    assert!(test.sender.goes_straight(), "nothing is missing");
    while test.sender.counters().recoveries == 0 {
        assert!(test.step(Time::from_secs_f64(10.0)));
    }
    assert!(!test.sender.goes_straight(), "a segment is missing");
    while test.sender.counters().acked_packets < 200 {
        assert!(test.step(Time::from_secs_f64(10.0)));
    }
    assert!(test.sender.goes_straight(), "all is repaired");
}

#[test]
fn a_straight_way_is_taken_with_stamps() {
    let config = StreamConfig { reliability: Reliability::Sack, stamps: true, ..StreamConfig::default() };
    let sender = Sender::new(FLOW, config.clone(), Noting::new(&config, Habits::NONE), AnySource::infinite());
    let receiver = Receiver::new(FLOW, ReceiverConfig::default().matching(&config));
    let mut test = Pipe::new(sender, receiver, Span::from_millis(20)).start();
    while test.sender.counters().acked_packets < 100 {
        assert!(test.step(Time::from_secs_f64(10.0)));
        assert!(test.sender.goes_straight(), "nothing is missing");
    }
    let law = test.sender.into_controller();
    assert!(law.one_way.iter().all(Option::is_some), "the way of every segment is told");
}

/// Of the steps with something missing, how many find the sender on a straight way, and how many do not.
fn beside_holes(lost: &'static [(u64, u32)], habits: Habits) -> (u32, u32) {
    let config = StreamConfig {
        reliability: Reliability::Sack,
        delivery: true,
        lost_retransmissions: true,
        ..StreamConfig::default()
    };
    let sender = Sender::new(FLOW, config.clone(), Noting::new(&config, habits), AnySource::infinite());
    let receiver = Receiver::new(FLOW, ReceiverConfig::default().matching(&config));
    let mut test = Pipe::new(sender, receiver, Span::from_millis(20)).dropping(lost).start();
    let (mut straight, mut general) = (0, 0);
    while test.sender.counters().acked_packets < 400 {
        assert!(test.step(Time::from_secs_f64(100.0)));
        if test.sender.counters().recoveries > 0 && test.sender.counters().acked_packets <= 60 {
            let ways = if test.sender.goes_straight() { &mut straight } else { &mut general };
            *ways += 1;
        }
    }
    (straight, general)
}

#[test]
fn a_straight_way_is_taken_beside_a_hole() {
    for rate in [None, Some(BitRate::from_bits_per_sec(5_000_000))] {
        let habits = Habits { rate, watches_sent: rate.is_some(), ..Habits::NONE };
        let (straight, general) = beside_holes(&[(60, 1)], habits);
        assert!(straight > 10 && straight > 4 * general, "{straight} to {general}");
    }
}

#[test]
fn a_straight_way_is_taken_at_a_rate() {
    for watches_sent in [false, true] {
        let config = StreamConfig {
            reliability: Reliability::Sack,
            delivery: true,
            lost_retransmissions: true,
            ..StreamConfig::default()
        };
        let rate = Some(BitRate::from_bits_per_sec(5_000_000));
        let noting =
            Noting::new(&config, Habits { rate, watches_sent, odd: Some(Odd::Gate), ..Habits::NONE });
        let sender = Sender::new(FLOW, config.clone(), noting, AnySource::infinite());
        let receiver = Receiver::new(FLOW, ReceiverConfig::default().matching(&config));
        let mut test = Pipe::new(sender, receiver, Span::from_millis(20)).start();
        let (mut straight, mut general) = (0, 0);
        while test.sender.counters().acked_packets < 400 {
            assert!(test.step(Time::from_secs_f64(100.0)));
            let ways = if test.sender.goes_straight() { &mut straight } else { &mut general };
            *ways += 1;
        }
        assert!(general > 20, "a closed gate is no matter of a straight way: {general}");
        assert!(straight > 4 * general, "{straight} to {general}");
    }
}

/// A policy of data in sums that is still at hand when a receiver has it.
struct Shared(std::sync::Arc<std::sync::Mutex<Summing>>);

impl FeedbackPolicy for Shared {
    fn on_arrival(&mut self, now: Time, arrival: &Arrival<'_>, cx: &mut Cx<'_>) {
        self.0.lock().expect("nobody panics").on_arrival(now, arrival, cx);
    }

    fn sums_data(&self) -> bool {
        true
    }

    fn add_data(&mut self, bytes: Bytes) {
        self.0.lock().expect("nobody panics").add_data(bytes);
    }

    fn poll_report(&mut self, now: Time, cx: &mut Cx<'_>) -> Option<Outgoing> {
        self.0.lock().expect("nobody panics").poll_report(now, cx)
    }
}

#[test]
fn a_policy_of_sums_hears_of_data_when_it_reports() {
    let shared = std::sync::Arc::new(std::sync::Mutex::new(Summing::default()));
    let policy = Box::new(Shared(std::sync::Arc::clone(&shared)));
    let mut receiver = Receiver::new(FLOW, ReceiverConfig::default()).with_policy(policy);
    let (mut annexes, mut rng) = (Annexes::new(), Stream::new(1, "sums"));
    let mut give = |kind, number| {
        let mut cx = EndpointCx { rng: &mut rng, annexes: &mut annexes, notes: None };
        receiver.handle(
            Time::ZERO,
            Input::Packet(Packet::new(kind, FLOW, number, Bytes::new(1000))),
            &mut cx,
        );
        let mut reports = Vec::new();
        while let Output::Transmit(packet) = receiver.poll(Time::ZERO, &mut cx) {
            if packet.kind() == Kind::Report {
                reports.push(packet);
            }
        }
        reports.len()
    };
    // In order, beyond a hole, in order, and twice.
    for number in [0, 1, 2, 4, 3, 3] {
        assert_eq!(give(Kind::Data, number), 0);
    }
    assert_eq!(shared.lock().expect("nobody panics").sum, Bytes::new(1000), "only the start asked for it");
    assert_eq!(give(Kind::Control, 0), 1, "a report");
    let seen = shared.lock().expect("nobody panics");
    assert_eq!((seen.sum, seen.single), (Bytes::new(6000), 0));
}

#[test]
fn a_law_that_says_that_nothing_changed_is_not_asked() {
    let config = StreamConfig {
        reliability: Reliability::Sack,
        window_limit: Some(DataAmount::Packets(4.0)),
        ..StreamConfig::default()
    };
    let rate = Some(BitRate::from_bits_per_sec(5_000_000));
    let noting = Noting::new(&config, Habits { rate, says_same: true, ..Habits::NONE });
    let sender = Sender::new(FLOW, config.clone(), noting, AnySource::infinite());
    let receiver = Receiver::new(FLOW, ReceiverConfig::default().matching(&config));
    let mut test = Pipe::new(sender, receiver, Span::from_millis(20)).start();
    while test.sender.counters().acked_packets < 100 {
        assert!(test.step(Time::from_secs_f64(10.0)));
    }
    let same = test.sender.into_controller().same;
    assert!(same > 80, "{same} of 100");
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
    let trouble = Trouble { loss: 0.0, late: 0.2, twice: 0.0, mark: 0.0, ack_loss: 0.0, seed: 3 };
    let (straight, told) = run((sender(), receiver(1, None, &config)), trouble);
    let (general, _) = run((sender().on_general_way(), receiver(1, None, &config)), trouble);
    assert!(told.same > 20, "{} times the same", told.same);
    assert_eq!(straight, general);
}
