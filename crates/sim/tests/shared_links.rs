//! Links that a sender or a receiver shares with somebody who is easily overlooked (what passes an aggregate's edge, another
//! flow's acknowledgements), and packets at the very instant of another event: what is done ahead of time changes nothing.
//! Networks at random are in `feeding.rs` and `left_out.rs`.

use crate::common::{Sampling, chat, drop_tail, link, unbounded};
use crate::feeding::stream;
use crate::feeding_apart::{add_aggregate, agree, seen};
use tailback_core::{BitRate, FlowId, LinkId, Span, Time};
use tailback_link::LinkSpec;
use tailback_qdisc::Built;
use tailback_sim::{NetworkBuilder, Series, SeriesPlan, Simulator};

/// A network with the links of an aggregate, which comes last: the one that it governs, that within, and that of its reports.
fn links_of_an_aggregate(link_by_link: bool) -> (NetworkBuilder, [LinkId; 3]) {
    let mut network = NetworkBuilder::new(7);
    if link_by_link {
        network.link_by_link();
    }
    let governed = network.link(link("governed", 20, 1, drop_tail(20)));
    let within = network.link(link("within", 20, 1, drop_tail(20)));
    let reports = network.link(link("reports", 20, 1, unbounded()));
    (network, [governed, within, reports])
}

/// A paced stream starts where an aggregate's far edge is: the aggregate's packets enter its first link, too.
fn paced_behind_an_edge(scheme: &str, link_by_link: bool) -> Simulator<Sampling> {
    let (mut network, [governed, within, reports]) = links_of_an_aggregate(link_by_link);
    let behind = network.link(link("behind", 10, 1, unbounded()));
    let back = network.link(link("back", 1, 1, drop_tail(2)));
    let own_back = network.link(link("own back", 10, 5, unbounded()));
    chat(&mut network, "over", &[governed, within, behind], &[back], Span::from_micros(1500));
    let flow = network.next_flow();
    network.flow(stream(flow, scheme, 1, &[behind], &[own_back]));
    add_aggregate(&mut network, governed, within, reports);
    network.build(Time::from_secs_f64(100.0), Sampling::new(())).expect("a sound network")
}

#[test]
fn a_paced_sender_whose_first_link_begins_at_an_edge() {
    for scheme in ["bbr1", "copa", "monaco", "vivace"] {
        agree(|by| paced_behind_an_edge(scheme, by));
    }
}

/// A receiver answers over the link that begins at an aggregate's far edge.
fn answers_behind_an_edge(link_by_link: bool) -> Simulator<Sampling> {
    let (mut network, [governed, within, reports]) = links_of_an_aggregate(link_by_link);
    let bottleneck = network.link(link("bottleneck", 5, 10, drop_tail(20)));
    let access = network.link(link("access", 10, 10, unbounded()));
    let behind = network.link(link("behind", 10, 1, unbounded()));
    let back = network.link(link("back", 1, 1, drop_tail(2)));
    let up = network.link(link("up", 10, 1, unbounded()));
    chat(&mut network, "over", &[governed, within, behind], &[back], Span::from_micros(1500));
    let flow = network.next_flow();
    network.flow(stream(flow, "sack", 1, &[up, bottleneck, access], &[behind]));
    add_aggregate(&mut network, governed, within, reports);
    network.build(Time::from_secs_f64(100.0), Sampling::new(())).expect("a sound network")
}

#[test]
fn a_receiver_whose_answers_begin_at_an_edge() {
    agree(answers_behind_an_edge);
}

/// Two paced streams with first links of their own whose acknowledgements come over one link.
fn heard_over_one_link(scheme: &str, link_by_link: bool) -> Simulator<Sampling> {
    let mut network = NetworkBuilder::new(7);
    if link_by_link {
        network.link_by_link();
    }
    let bottleneck = network.link(link("bottleneck", 10, 5, drop_tail(30)));
    let back = network.link(link("back", 10, 5, unbounded()));
    for number in 0..2 {
        let up = network.link(link(&format!("up {number}"), 100, 1 + 7 * number, unbounded()));
        let flow = network.next_flow();
        network.flow(stream(flow, scheme, 1, &[up, bottleneck], &[back]));
    }
    network.build(Time::from_secs_f64(100.0), Sampling::new(())).expect("a sound network")
}

#[test]
fn two_paced_senders_are_heard_over_one_link() {
    for scheme in ["bbr1", "copa", "monaco", "vivace"] {
        agree(|by| heard_over_one_link(scheme, by));
    }
}

/// A paced stream whose first link feeds the second, and whose acknowledgements come over a link of its own; another one crosses
/// the bottleneck.
fn behind_two_links(scheme: &str, (seed, millis): (u64, u64), link_by_link: bool) -> Simulator<Sampling> {
    let mut network = NetworkBuilder::new(seed);
    if link_by_link {
        network.link_by_link();
    }
    let mut one = |name: &str, mbit, millis, queue: Built| network.link(link(name, mbit, millis, queue));
    let [up, further] = [one("up", 11, 3, unbounded()), one("further", 9, millis, unbounded())];
    let [bottleneck, across] = [one("bottleneck", 8, 5, drop_tail(20)), one("across", 12, 2, unbounded())];
    let [back, back_across] = [one("back", 10, 5, unbounded()), one("back across", 10, 1, unbounded())];
    network.flow(stream(FlowId(0), scheme, 1, &[up, further, bottleneck], &[back]));
    chat(&mut network, "across", &[across, bottleneck], &[back_across], Span::from_micros(1900));
    network.build(Time::from_secs_f64(100.0), Sampling::new(())).expect("a sound network")
}

#[test]
fn a_paced_sender_whose_first_link_feeds_the_next() {
    for scheme in ["bbr1", "bbr3", "copa", "monaco", "vivace", "prague", "fixed-rate", "packet-pair"] {
        // A second link without delay is fed or not, by the order in which links go at equal times.
        for case in [(0, 0), (1, 0), (2, 0), (3, 0), (4, 1)] {
            let ahead = agree(|by| behind_two_links(scheme, case, by));
            let (left_out, events) = (ahead.events_left_out(), ahead.events_handled());
            // Of six events of a packet one is its arrival at the second link and one most often its departure.
            let is_paced = ["bbr1", "bbr3", "monaco", "vivace", "prague"].contains(&scheme);
            assert!(case.1 == 0 || !is_paced || 5 * left_out > events, "{scheme}: {left_out} of {events}");
        }
    }
}

/// Acknowledgements arrive at the very instants at which the next packets may leave.
fn ties(scheme: &str, tenths: u64, link_by_link: bool) -> Simulator<Sampling> {
    let mut network = NetworkBuilder::new(7);
    if link_by_link {
        network.link_by_link();
    }
    // 8 ms of pacing a packet at 1 Mbit/s; 1 ms there, 1 ms back, and the delays make up 16 ms or a part of that.
    let [there, here] = [8_000_000, 320_000].map(BitRate::from_bits_per_sec);
    let up = network.link(LinkSpec::new("up", there, Span::from_micros(100 * tenths), unbounded()));
    let back = network.link(LinkSpec::new("back", here, Span::from_millis(5), unbounded()));
    let flow = network.next_flow();
    network.flow(stream(flow, scheme, 1, &[up], &[back]));
    network.build(Time::from_secs_f64(100.0), Sampling::new(())).expect("a sound network")
}

#[test]
fn arrivals_at_the_instants_of_pacing() {
    for scheme in ["bbr1", "bbr3", "copa", "vivace", "prague", "fixed-rate", "monaco"] {
        for tenths in [10, 50, 90, 20, 170] {
            agree(|by| ties(scheme, tenths, by));
        }
    }
}

/// A run in which nothing is recorded is not cut at the ends of bins, which come in the result all the same.
#[test]
fn a_recorder_that_looks_at_nothing_does_not_cut_a_run() {
    let run = |flows: Vec<FlowId>| {
        let plan = SeriesPlan { bin: Span::from_micros(777), links: Vec::new(), flows, queue_state: false };
        let mut network = NetworkBuilder::new(7);
        let links = [("up", 100, 1), ("bottleneck", 10, 5), ("down", 100, 1), ("back", 10, 5)];
        let [up, bottleneck, down, back] = links.map(|(name, mbit, millis)| {
            let queue = if name == "bottleneck" { drop_tail(30) } else { unbounded() };
            network.link(link(name, mbit, millis, queue))
        });
        network.flow(stream(FlowId(0), "monaco", 1, &[up, bottleneck, down], &[back]));
        let mut sim = network
            .build(Time::from_secs_f64(100.0), Sampling::new(Series::new(plan)))
            .expect("a sound network");
        let mut all = Vec::new();
        for millis in [500, 1003, 1004, 1004, 3000] {
            sim.run_until(Time::ZERO + Span::from_millis(millis));
            let links = [0, 1, 2, 3].map(|index| sim.link(LinkId(index)));
            let ends = (sim.sender(FlowId(0)), sim.receiver(FlowId(0)));
            all.push((sim.now(), sim.events_handled(), ends, links));
        }
        let left_out = sim.events_left_out();
        (all, sim.into_recorder().take::<Series>().finish().times, left_out)
    };
    let (uncut, cut) = (run(Vec::new()), run(vec![FlowId(0)]));
    assert_eq!((&uncut.0, &uncut.1), (&cut.0, &cut.1));
    assert!(uncut.2 > cut.2 + 100, "{} and {} events left out", uncut.2, cut.2);
    assert_eq!(uncut.1.len(), 3_000_000 / 777);
    assert_eq!(uncut.1.last(), Some(&(Time::ZERO + Span::from_micros(3_000_000 / 777 * 777))));
}

/// Thousands of looks, also at what is past, are the same as one.
#[test]
fn where_a_run_is_cut_changes_nothing() {
    for scheme in ["bbr1", "copa", "monaco"] {
        let (mut once, mut often) = (heard_over_one_link(scheme, false), heard_over_one_link(scheme, false));
        let end = Time::from_secs_f64(0.3);
        once.run_until(end);
        let mut now = Time::ZERO;
        let mut step = 1_u64;
        while now < end {
            step = step.wrapping_mul(48_271) % 1_000_003 + 1;
            now = (now + Span::from_nanos(step % 90_000)).min(end);
            often.run_until(now);
            often.run_until(Time::ZERO);
        }
        assert_eq!(seen(&mut once), seen(&mut often), "{scheme}");
    }
}
