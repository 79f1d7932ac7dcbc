//! Links that are fed by one other link alone, in networks made by hand: how many events are left out, and that nobody can tell where
//! queues are fair, packets paced, or flows late. Networks drawn at random are in `feeding.rs`.

use crate::common::{Chatter, Echo, Sampling, built, chat, drop_tail, link, unbounded};
use crate::feeding::{Looks, seen, stream};

use tailback_core::{BitRate, Capacity, FlowId, LinkId, Span, Time};
use tailback_qdisc::Config;
use tailback_sim::{FlowSpec, NetworkBuilder, NetworkError, Simulator};
use tailback_transport::{AnyReceiver, AnySender};

/// Two flows through one bottleneck, each behind access links of its own: chatters, or streams under a scheme.
fn dumbbell(link_by_link: bool, scheme: Option<&str>) -> (Simulator<Sampling>, [[Vec<LinkId>; 2]; 2]) {
    let mut network = NetworkBuilder::new(7);
    if link_by_link {
        network.link_by_link();
    }
    let mut one = |name: &str, mbit, millis, buffer: Option<u32>| {
        network.link(link(name, mbit, millis, buffer.map_or_else(unbounded, drop_tail)))
    };
    let (there, back) = (one("there", 10, 20, Some(10)), one("back", 10, 20, None));
    let routes = [0, 1].map(|index| {
        let mut access = |name: &str| one(&format!("{name} {index}"), 100, 2, None);
        let (up, down, down_back, up_back) =
            (access("up"), access("down"), access("down back"), access("up back"));
        [vec![up, there, down], vec![down_back, back, up_back]]
    });
    for (index, [forward, reverse]) in routes.iter().enumerate() {
        if let Some(scheme) = scheme {
            let flow = network.next_flow();
            network.flow(stream(flow, scheme, 1, forward, reverse));
        } else {
            chat(&mut network, &format!("flow {index}"), forward, reverse, Span::from_micros(1500));
        }
    }
    (network.build(Time::from_secs_f64(100.0), Sampling::new(())).expect("a sound network"), routes)
}

/// A stream whose receiver answers over a link with a fair queue, or over one into which another flow sends.
#[expect(clippy::default_trait_access, reason = "the variant names what is configured")]
fn crossed(link_by_link: bool, fair: bool) -> Simulator<Sampling> {
    let mut network = NetworkBuilder::new(7);
    if link_by_link {
        network.link_by_link();
    }
    let mut one = |name: &str, mbit, millis, buffer: Option<u32>| {
        network.link(link(name, mbit, millis, buffer.map_or_else(unbounded, drop_tail)))
    };
    let (there, back) = (one("there", 10, 20, Some(10)), one("back", 10, 20, None));
    let [up, down, up_back] = ["up", "down", "up back"].map(|name| one(name, 12, 2, None));
    let [third, third_back] = ["third", "third back"].map(|name| one(name, 100, 1, None));
    let mut answers = link("down back", 12, 2, unbounded());
    if fair {
        // So slow that acknowledgements wait.
        answers.rate = BitRate::from_bits_per_sec(200_000);
        answers.queue = built(&Config::DeficitRoundRobin(Default::default()), Capacity::Packets(9), 200_000);
    }
    let down_back = network.link(answers);
    let first = stream(FlowId(0), "sack", 1, &[up, there, down], &[down_back, back, up_back]);
    network.flow(first);
    if !fair {
        chat(&mut network, "third", &[down_back, back, third], &[third_back], Span::from_micros(900));
    }
    let looks = Looks::every(Span::from_millis(100));
    network.build(Time::from_secs_f64(100.0), Sampling::new(looks)).expect("a sound network")
}

#[test]
fn a_receiver_waits_for_its_packets_where_its_link_is_fair_or_others_send_into_it() {
    for fair in [false, true] {
        let ((ahead, left_out), (each, _)) = (seen(crossed(false, fair)), seen(crossed(true, fair)));
        assert!(left_out > 300, "{left_out}");
        assert_eq!(ahead, each);
    }
}

#[test]
fn of_six_arrivals_in_a_dumbbell_two_are_left_out_and_a_third_where_receivers_act_on_packets_alone() {
    for (scheme, arrivals) in [(None, 2), (Some("sack"), 3)] {
        let (mut sim, _) = dumbbell(false, scheme);
        sim.run_until(Time::from_secs_f64(10.0));
        let delivered: u64 = [FlowId(0), FlowId(1)].map(|id| sim.receiver(id).received_packets).iter().sum();
        let left_out = sim.events_left_out();
        assert!(delivered > 5_000, "{delivered}");
        assert!(
            left_out.abs_diff(arrivals * delivered) < 500,
            "{left_out} of {delivered} delivered both ways"
        );
    }
}

/// Two streams through one bottleneck with a fair queue, each behind access links of its own.
#[expect(clippy::default_trait_access, reason = "the variants name what is configured")]
fn fair_dumbbell(link_by_link: bool, weighted: bool) -> Simulator<Sampling> {
    let mut network = NetworkBuilder::new(7);
    if link_by_link {
        network.link_by_link();
    }
    let queue = if weighted {
        Config::WeightedFairQueueing(Default::default())
    } else {
        Config::DeficitRoundRobin(Default::default())
    };
    let there = network.link(link("there", 10, 20, built(&queue, Capacity::Packets(30), 10_000_000)));
    let back = network.link(link("back", 10, 20, unbounded()));
    for index in [0, 1] {
        let mut access = |name: &str| network.link(link(&format!("{name} {index}"), 100, 2, unbounded()));
        let forward = [access("up"), there, access("down")];
        let reverse = [access("down back"), back, access("up back")];
        network.flow(stream(FlowId(index), "sack", 1, &forward, &reverse));
    }
    let looks = Looks::every(Span::from_millis(70));
    network.build(Time::from_secs_f64(100.0), Sampling::new(looks)).expect("a sound network")
}

#[test]
fn what_leaves_a_fair_queue_takes_no_event_and_nobody_can_tell() {
    for weighted in [false, true] {
        let ((late, _), (each, _)) =
            (seen(fair_dumbbell(false, weighted)), seen(fair_dumbbell(true, weighted)));
        assert_eq!(late, each);
        let mut sim = fair_dumbbell(false, weighted);
        sim.run_until(Time::from_secs_f64(10.0));
        let delivered: u64 = [FlowId(0), FlowId(1)].map(|id| sim.receiver(id).received_packets).iter().sum();
        let handled = sim.events_handled() - sim.events_left_out();
        assert!(delivered > 10_000, "{delivered}");
        // Into the bottleneck, into the way back, and to the sender; now and then a timer.
        assert!(handled < 3 * delivered + delivered / 20, "{handled} handled for {delivered}");
    }
}

/// Who talks so fast through a fair queue that thousands of packets arrive in one delay of its link.
#[expect(clippy::default_trait_access, reason = "the variant names what is configured")]
fn fast_and_fair(link_by_link: bool) -> Simulator<Sampling> {
    let mut network = NetworkBuilder::new(7);
    if link_by_link {
        network.link_by_link();
    }
    let queue = Config::DeficitRoundRobin(Default::default());
    let there = network.link(link("there", 500, 20, built(&queue, Capacity::Packets(30), 500_000_000)));
    let back = network.link(link("back", 10, 20, unbounded()));
    for index in [0, 1] {
        let mut access = |name: &str| network.link(link(&format!("{name} {index}"), 900, 2, unbounded()));
        let forward = [access("up"), there, access("down")];
        let reverse = [access("down back"), back, access("up back")];
        chat(&mut network, &format!("flow {index}"), &forward, &reverse, Span::from_micros(14 + index));
    }
    let looks = Looks::every(Span::from_millis(70));
    network.build(Time::from_secs_f64(100.0), Sampling::new(looks)).expect("a sound network")
}

#[test]
fn thousands_of_arrivals_may_be_taken_in_late() {
    let ((late, left_out), (each, _)) = (seen(fast_and_fair(false)), seen(fast_and_fair(true)));
    assert!(left_out > 40_000, "{left_out}");
    assert_eq!(late, each);
}

#[test]
fn a_flow_that_is_to_stop_before_it_starts_stops_as_it_starts() {
    let mut network = NetworkBuilder::new(7);
    let [there, back] = ["there", "back"].map(|name| network.link(link(name, 10, 5, unbounded())));
    let flow = stream(FlowId(0), "sack", 1, &[there], &[back]);
    let at = |millis| Time::ZERO + Span::from_millis(millis);
    network.flow(FlowSpec { start: at(20), stop: Some(at(10)), ..flow });
    let mut sim = network.build(Time::from_secs_f64(1.0), Sampling::new(())).expect("a sound network");
    sim.run_until(at(500));
    let sent = sim.sender(FlowId(0)).sent_packets;
    assert!((1..=100).contains(&sent), "what left as it started: {sent}");
    assert_eq!(sent, sim.receiver(FlowId(0)).received_packets);
}

#[test]
fn a_paced_packet_leaves_without_an_event_where_that_is_before_the_next_acknowledgement() {
    let (mut sim, _) = dumbbell(false, Some("monaco"));
    sim.run_until(Time::from_secs_f64(10.0));
    let delivered: u64 = [FlowId(0), FlowId(1)].map(|id| sim.receiver(id).received_packets).iter().sum();
    assert!(delivered > 5_000, "{delivered}");
    // Three arrivals, and most departures: some fall on an acknowledgement.
    let departures = sim.events_left_out() - 3 * delivered;
    let handled = sim.events_handled() - sim.events_left_out();
    assert!(departures > delivered / 2, "{departures} of {delivered}");
    assert!(handled < 3 * delivered + delivered / 20, "{handled} handled for {delivered}");
}

/// Paced streams that share their first link, and hear over links of their own.
fn behind_one_link(link_by_link: bool) -> Simulator<Sampling> {
    let mut network = NetworkBuilder::new(7);
    if link_by_link {
        network.link_by_link();
    }
    let mut one = |name: &str, mbit, millis, buffer: Option<u32>| {
        network.link(link(name, mbit, millis, buffer.map_or_else(unbounded, drop_tail)))
    };
    let (up, there, back) =
        (one("up", 11, 2, None), one("there", 10, 20, Some(30)), one("back", 10, 20, None));
    let routes = [0, 1].map(|index| {
        let [down, down_back, up_back] =
            ["down", "down back", "up back"].map(|name| one(&format!("{name} {index}"), 100, 2, None));
        [vec![up, there, down], vec![down_back, back, up_back]]
    });
    for [forward, reverse] in &routes {
        let flow = network.next_flow();
        network.flow(stream(flow, "monaco", 1, forward, reverse));
    }
    let looks = Looks::every(Span::from_millis(100));
    network.build(Time::from_secs_f64(100.0), Sampling::new(looks)).expect("a sound network")
}

#[test]
fn paced_senders_wait_for_their_time_where_others_send_into_their_first_link() {
    let ((ahead, left_out), (each, _)) = (seen(behind_one_link(false)), seen(behind_one_link(true)));
    assert!(left_out > 300, "{left_out}");
    assert_eq!(ahead, each);
}

/// A flow that comes while running.
fn late(sim: &Simulator<Sampling>, forward: &[LinkId], reverse: &[LinkId]) -> FlowSpec {
    let id = FlowId::from(sim.flow_count());
    FlowSpec {
        name: format!("late {}", id.0),
        forward: forward.to_vec(),
        reverse: reverse.to_vec(),
        sender: AnySender::Custom(Box::new(Chatter::new(id, Span::from_micros(900)))),
        receiver: AnyReceiver::Custom(Box::new(Echo::new(id))),
        start: sim.now(),
        stop: None,
    }
}

#[test]
fn a_flow_that_comes_later_takes_ways_that_are_known_or_is_refused() {
    let run = |link_by_link| {
        let (mut sim, routes) = dumbbell(link_by_link, None);
        sim.run_until(Time::from_secs_f64(1.0));
        let [forward, reverse] = &routes[1];
        // Over the bottleneck without an access link in front of it, the other way as the others.
        let flow = late(&sim, &forward[1..], reverse);
        sim.add_flow(flow).expect("ways that are known");
        sim.run_until(Time::from_secs_f64(2.0));
        // Straight into an access link behind the bottleneck.
        let flow = late(&sim, &forward[2..], reverse);
        let refused = sim.add_flow(flow);
        let flow = late(&sim, forward, reverse);
        sim.add_flow(flow).expect("ways that are known");
        sim.run_until(Time::from_secs_f64(3.0));
        let links: Vec<_> = (0..sim.link_count()).map(|index| sim.link(LinkId::from(index))).collect();
        (refused, links, sim.flow_count(), sim.events_left_out())
    };
    let (refused, _, flows, left_out) = run(false);
    let link = dumbbell(false, None).1[1][0][2];
    assert_eq!(refused, Err(NetworkError::EnteredElsewhere { flow: "late 3".to_owned(), link }));
    assert!(flows == 4 && left_out > 1000, "{flows} flows, {left_out} left out");
    let (refused, _, flows, left_out) = run(true);
    assert_eq!((refused, flows, left_out), (Ok(FlowId(3)), 5, 0));
}

#[test]
fn a_flow_that_comes_later_is_the_same_link_by_link() {
    let run = |link_by_link, scheme| {
        let (mut sim, routes) = dumbbell(link_by_link, scheme);
        for (at, from) in [(0.5, 0), (0.7, 1)] {
            sim.run_until(Time::from_secs_f64(at));
            let [forward, reverse] = &routes[from];
            let flow = late(&sim, &forward[from..], reverse);
            sim.add_flow(flow).expect("ways that are known");
        }
        sim.run_until(Time::from_secs_f64(1.5));
        let links: Vec<_> = (0..sim.link_count()).map(|index| sim.link(LinkId::from(index))).collect();
        (links, sim.events_handled())
    };
    for scheme in [None, Some("sack"), Some("monaco")] {
        assert_eq!(run(false, scheme), run(true, scheme));
    }
}
