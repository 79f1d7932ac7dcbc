//! How a sender's requests of acknowledgements come through a network that loses, doubles and reorders, and what both ends make of
//! them. What a receiver does about each is in `asked.rs`.

use crate::asked::every;
use crate::pipe;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use pipe::{FLOW, Fate, Pipe, Scripted};
use proptest::prelude::*;
use tailback_core::{
    AckFrequency, AckWish, Bytes, Controller, Cx, Directive, Feedback, Sent, Span, Stream, Time,
};
use tailback_transport::source::AnySource;
use tailback_transport::{
    EcnMode, Receiver, ReceiverConfig, RttSampling, Sender, SpuriousDetection, StreamConfig,
};

/// A window that stays, and wishes that come into force one after another, by the number of packets acknowledged.
struct Wishing {
    inner: Scripted,
    acked: u64,
    wishes: Vec<(u64, AckWish)>,
}

impl Wishing {
    fn new(window: u64, wishes: &[(u64, AckWish)]) -> Self {
        Self { inner: Scripted::window(window), acked: 0, wishes: wishes.to_vec() }
    }
}

impl Controller for Wishing {
    fn on_sent(&mut self, now: Time, sent: &mut Sent, cx: &mut Cx<'_>) {
        self.inner.on_sent(now, sent, cx);
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        self.acked += feedback.acked.len() as u64;
        self.inner.on_feedback(now, feedback, cx);
    }

    fn on_timer(&mut self, now: Time, cx: &mut Cx<'_>) {
        self.inner.on_timer(now, cx);
    }

    fn next_timer(&self) -> Option<Time> {
        self.inner.next_timer()
    }

    fn directive(&self) -> Directive {
        self.inner.directive()
    }

    fn ack_wish(&self) -> AckWish {
        let due = self.wishes.iter().rev().find(|(at, _)| *at <= self.acked);
        due.map_or_else(AckWish::default, |(_, wish)| *wish)
    }
}

fn wish(frequency: Option<AckFrequency>) -> AckWish {
    AckWish { frequency, immediate: 0 }
}

fn config() -> StreamConfig {
    StreamConfig { ack_requests: true, ..StreamConfig::default() }
}

fn pipe(
    config: &StreamConfig,
    law: Wishing,
    source: AnySource,
    delay: u64,
) -> Pipe<Sender<Wishing, AnySource>, Receiver> {
    let receiver = ReceiverConfig { ack_requests: config.ack_requests, ..ReceiverConfig::default() };
    let receiver = Receiver::new(FLOW, receiver.matching(config));
    Pipe::new(Sender::new(FLOW, config.clone(), law, source), receiver, Span::from_millis(delay))
}

/// Data packets per acknowledgement among the last `count` acknowledgements.
fn steps<A, B>(test: &Pipe<A, B>, count: usize) -> Vec<u64> {
    let numbers: Vec<_> = test.acks.iter().map(|(_, packet)| packet.number).collect();
    let pairs: Vec<_> = numbers.windows(2).map(|pair| pair[1] - pair[0]).collect();
    pairs[pairs.len() - count..].to_vec()
}

#[test]
fn a_request_arrives_with_data_and_is_not_repeated_for_ever() {
    let law = Wishing::new(20, &[(0, wish(every(4, 30)))]);
    let mut test = pipe(&config(), law, AnySource::infinite(), 20).start();
    let mut asking = Vec::new();
    let mut seen = 0;
    while test.sender.counters().acked_packets < 200 {
        for departure in &test.departures[seen..] {
            let request = test.annexes.request(departure.packet.annex);
            asking.extend(request.map(|_| departure.packet.number));
        }
        seen = test.departures.len();
        assert!(test.step(Time::from_secs_f64(10.0)));
    }
    // The first window asks; the first acknowledgement that comes back answers for it.
    assert_eq!(asking, (0..20).collect::<Vec<_>>());
    assert_eq!(steps(&test, 40), [4; 40]);
}

#[test]
fn nobody_who_does_not_ask_carries_anything() {
    let config = StreamConfig::default();
    let law = Wishing::new(20, &[(0, AckWish { frequency: every(4, 30), immediate: 1 })]);
    let test = pipe(&config, law, AnySource::finite(Bytes::new(100_000)), 20).start().run(Span::from_secs(5));
    assert!(test.finished());
    for departure in &test.departures {
        assert!(!departure.packet.annex.is_some() && !departure.packet.is_pushed());
    }
    assert_eq!(steps(&test, 80), [1; 80]);
}

#[test]
fn the_last_packet_of_the_data_and_any_that_the_controller_names_are_acknowledged_at_once() {
    let asked = AckWish { frequency: every(1000, 400), immediate: 0 };
    let named = AckWish { immediate: 1, ..asked };
    let law = Wishing::new(20, &[(0, asked), (20, named)]);
    let test =
        pipe(&config(), law, AnySource::finite(Bytes::new(960 * 50)), 20).start().run(Span::from_secs(5));
    assert!(test.finished());
    let pushed: Vec<_> =
        test.departures.iter().filter(|one| one.packet.is_pushed()).map(|one| one.packet.number).collect();
    assert_eq!(pushed, [20, 49]);
    // 400 ms for the first window, and from then on nothing waits so long but what neither flag ends.
    let acks: Vec<_> = test.acks.iter().map(|(at, ack)| (at.as_nanos() / 1_000_000, ack.number)).collect();
    assert_eq!(acks, [(420, 20), (460, 21), (860, 41), (900, 50)]);
}

#[test]
fn the_timer_waits_for_an_acknowledgement_that_was_asked_to_wait() {
    // A round trip of 40 ms and a least time-out of 200 ms. With 8 packets on their way, acknowledgements come by fours, and
    // round trips are short; with 3, each waits for 500 ms.
    let run = |wishes: &[(u64, AckWish)], seconds: f64| {
        let mut law = Wishing::new(8, wishes);
        law.inner = law.inner.at(Time::from_secs_f64(1.0), Directive::window(Bytes::new(3000)));
        let mut config = config();
        config.rto.initial = Span::from_millis(300);
        pipe(&config, law, AnySource::infinite(), 20).start().run(Span::from_secs_f64(seconds))
    };
    let asked = wish(every(4, 500));
    let test = run(&[(0, asked)], 20.0);
    assert_eq!(test.sender.counters().timeouts, 0);
    assert!(
        test.acks.windows(2).any(|pair| pair[1].0.since(pair[0].0) > Span::from_millis(500)),
        "some waited"
    );
    // Of the first packets, which are on their way when the first timer begins, all wait.
    let test = run(&[(0, wish(every(1000, 500)))], 0.9);
    assert_eq!(test.sender.counters().timeouts, 0);
    // With the request, the allowance goes.
    let test = run(&[(0, asked), (50, wish(None))], 1.0);
    assert_eq!(test.sender.timeout(), Span::from_millis(200));
}

/// After a time-out one packet leaves again, and all waits for its acknowledgement.
#[test]
fn what_a_time_out_sends_again_is_acknowledged_at_once() {
    let mut law = Wishing::new(20, &[(0, wish(every(10, 400)))]);
    // As controllers do after a time-out, until more is known.
    law.inner = law.inner.at(Time::from_secs_f64(0.7), Directive::window(Bytes::new(1000)));
    law.inner = law.inner.at(Time::from_secs_f64(5.0), Directive::window(Bytes::new(3000)));
    let config = StreamConfig { spurious: SpuriousDetection::Off, ..config() };
    let test = pipe(&config, law, AnySource::infinite(), 20)
        .script(|packet, count, _| {
            // A whole window is lost, and the first retransmission.
            let gone =
                (200..220).contains(&packet.number) && count == 1 || (packet.number, count) == (200, 2);
            if gone { Fate::Drop } else { Fate::Deliver }
        })
        .start()
        .run(Span::from_secs(8));
    assert_eq!(test.sender.counters().timeouts, 2);
    let again: Vec<_> = test.departures.iter().filter(|one| one.packet.is_retransmitted()).collect();
    let lone: Vec<_> = again.iter().filter(|one| one.at < Time::from_secs_f64(5.0)).collect();
    assert_eq!(lone[..3].iter().map(|one| one.packet.number).collect::<Vec<_>>(), [200, 200, 201]);
    assert_eq!(lone.len(), 21, "each alone, and none waits");
    for one in &lone[1..] {
        assert!(one.packet.is_pushed());
        assert!(test.acks.iter().any(|(at, ack)| {
            ack.number == one.packet.number + 1 && *at == one.at + Span::from_millis(20)
        }));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever is lost, doubled and late on both ways meanwhile: what was asked last is in force in the end.
    #[test]
    fn the_newest_request_comes_into_force(
        wishes in prop::collection::vec((prop::option::weighted(0.8, (1_u32..12, 1_u64..200)), 1_u64..60), 1..8),
        loss in 0.0..0.5_f64,
        late in 0.0..0.5_f64,
        twice in 0.0..0.2_f64,
        timestamps in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let mut at = 0;
        let wishes: Vec<_> = wishes
            .iter()
            .map(|(asked, after)| {
                let frequency = asked.and_then(|(threshold, delay)| every(threshold, delay));
                let begins = (at, wish(frequency));
                at += after;
                begins
            })
            .collect();
        let last = wishes.last().expect("one at least").1.frequency;
        let rtt_sampling = if timestamps { RttSampling::Timestamps } else { RttSampling::EveryAck };
        let config = StreamConfig { rtt_sampling, spurious: SpuriousDetection::Off, ecn: EcnMode::Off, ..config() };
        let quiet = at + 200;
        // Of both ways, after so many packets of data.
        let sent = Rc::new(Cell::new(0_u64));
        let told = Rc::clone(&sent);
        let fate = move |calm: bool, rng: &mut Stream| {
            if calm {
                Fate::Deliver
            } else if rng.chance(loss) {
                Fate::Drop
            } else if rng.chance(late) {
                Fate::Late(Span::from_millis(1 + rng.below(90)))
            } else if rng.chance(twice) {
                Fate::Twice
            } else {
                Fate::Deliver
            }
        };
        let test = pipe(&config, Wishing::new(24, &wishes), AnySource::finite(Bytes::new(960 * (quiet + 1000))), 20)
            .seed(seed)
            .script(move |_, _, rng| {
                sent.set(sent.get() + 1);
                fate(sent.get() > quiet, rng)
            })
            .ack_script(move |_, _, rng| fate(told.get() > quiet, rng))
            .start()
            .run(Span::from_secs(100_000));
        prop_assert!(test.finished());
        // At the end nothing was in the way, and each acknowledgement has its reason: as many packets as were asked for, or as
        // much time since the first of them. The very last packet bears PSH.
        let arrival: BTreeMap<_, _> =
            test.departures.iter().map(|one| (one.packet.number, one.at + Span::from_millis(20))).collect();
        // What a time-out retransmitted for nothing is a duplicate, and acknowledged at once.
        let again: Vec<_> = test
            .departures
            .iter()
            .filter_map(|one| one.packet.is_retransmitted().then_some(one.at + Span::from_millis(20)))
            .collect();
        let tail = &test.acks[test.acks.len() - 22..test.acks.len() - 1];
        let mut reasons = 0;
        for pair in tail.windows(2) {
            let (known, (at, told)) = (pair[0].1.number, (pair[1].0, pair[1].1.number));
            let asked = last.unwrap_or(AckFrequency { threshold: 1, max_delay: Span::ZERO });
            let (packets, waited) = (told - known, at.since(arrival[&known]));
            let by_count = packets == u64::from(asked.threshold) && waited <= asked.max_delay;
            let by_time = packets < u64::from(asked.threshold) && waited == asked.max_delay;
            reasons += u32::from(by_count || by_time);
            prop_assert!(
                by_count || by_time || again.contains(&at),
                "{} packets, {:?}, of {:?}",
                packets,
                waited,
                last
            );
        }
        prop_assert!(reasons >= 10, "{} of 20", reasons);
        prop_assert!(test.annexes.is_empty());
    }
}
