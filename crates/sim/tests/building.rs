//! Building a network: what is refused and in which order, and that the short way to add a link is the same as the long one.

use tailback_core::{BitRate, FlowId, LinkId, Span, Time};
use tailback_sim::{NetworkBuilder, NetworkError, Simulator};

use crate::common::{Sampling, chat, link, unbounded};
use crate::feeding::stream;

/// Why this network is refused.
fn refused(network: NetworkBuilder) -> NetworkError {
    network.build(Time::from_secs_f64(1.0), ()).err().expect("an unsound network")
}

/// A network of these links and of flows of these names over the first two.
fn network(links: &[String], flows: &[String]) -> NetworkBuilder {
    let mut network = NetworkBuilder::new(7);
    for name in links {
        network.open_link(name, BitRate::from_bits_per_sec(10_000_000), Span::from_millis(1));
    }
    for name in flows {
        chat(&mut network, name, &[LinkId(0)], &[LinkId(1)], Span::from_millis(10));
    }
    network
}

fn numbered(letter: char, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{letter}{number}")).collect()
}

#[test]
fn no_two_links_or_flows_have_one_name() {
    let (links, flows) = (numbered('n', 200), numbered('n', 100));
    assert!(network(&links, &flows).build(Time::from_secs_f64(1.0), ()).is_ok(), "links and flows are apart");
    let twice = |names: &[String], which: usize| [names, &names[which..=which]].concat();
    let duplicate = |name: &str| NetworkError::DuplicateName(name.to_owned());
    assert_eq!(refused(network(&twice(&links, 17), &flows)), duplicate("n17"));
    assert_eq!(refused(network(&links, &twice(&flows, 99))), duplicate("n99"));
    assert_eq!(refused(network(&twice(&links, 3), &twice(&flows, 99))), duplicate("n3"), "links come first");
    assert_eq!(refused(network(&twice(&links[..3], 1), &[])), duplicate("n1"));
}

#[test]
fn names_go_before_rates_and_rates_before_routes() {
    let broken = |names: &[&str], rate: u64| {
        let mut network = NetworkBuilder::new(7);
        for name in names {
            network.open_link(name, BitRate::from_bits_per_sec(rate), Span::from_millis(1));
        }
        chat(&mut network, "sound", &[LinkId(0)], &[LinkId(1)], Span::from_millis(10));
        chat(&mut network, "lost", &[LinkId(0)], &[LinkId(1), LinkId(2)], Span::from_millis(10));
        chat(&mut network, "nowhere", &[], &[LinkId(1)], Span::from_millis(10));
        refused(network)
    };
    assert_eq!(broken(&["a", "a"], 0), NetworkError::DuplicateName("a".to_owned()));
    assert_eq!(broken(&["a", "b"], 0), NetworkError::ZeroRate("a".to_owned()));
    let bad = |flow: &str, direction, problem: &str| NetworkError::BadRoute {
        flow: flow.to_owned(),
        direction,
        problem: problem.to_owned(),
    };
    assert_eq!(broken(&["a", "b"], 1), bad("lost", "reverse", "names link 2 of 2"));
    assert_eq!(broken(&["a", "b", "c"], 1), bad("nowhere", "forward", "has no links"));
}

#[test]
fn an_open_link_is_a_link_without_a_bound() {
    let run = |is_short: bool| -> Simulator<Sampling> {
        let mut network = NetworkBuilder::new(3);
        let mut links = Vec::new();
        for (name, mbit, millis) in [("up", 50, 3), ("there", 10, 20), ("down", 20, 0), ("back", 30, 7)] {
            links.push(if is_short {
                let rate = BitRate::from_bits_per_sec(mbit * 1_000_000);
                network.open_link(name, rate, Span::from_millis(millis))
            } else {
                network.link(link(name, mbit, millis, unbounded()))
            });
        }
        network.flow(stream(FlowId(0), "sack", 1, &links[..3], &links[3..]));
        chat(&mut network, "chat", &links[..2], &links[3..], Span::from_millis(2));
        let mut sim = network.build(Time::from_secs_f64(5.0), Sampling::new(())).expect("a sound network");
        sim.run_until(Time::from_secs_f64(5.0));
        sim
    };
    let (mut short, mut long) = (run(true), run(false));
    assert_eq!(short.events_handled(), long.events_handled());
    assert!(short.events_handled() > 1000);
    for link in (0..4).map(LinkId) {
        assert_eq!(format!("{:?}", short.link(link)), format!("{:?}", long.link(link)));
    }
    for flow in [FlowId(0), FlowId(1)] {
        assert_eq!(format!("{:?}", short.receiver(flow)), format!("{:?}", long.receiver(flow)));
    }
}
