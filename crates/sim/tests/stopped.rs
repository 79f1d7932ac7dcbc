//! Runs that are stopped as memory is used up: they go no further, and what links count is as of then.

use crate::common::{Sampling, built, chat, link, unbounded};
use tailback_core::{Capacity, FlowId, LinkId, Span, Time};
use tailback_qdisc::Config;
use tailback_sim::{MemoryLimit, NetworkBuilder, Simulator};

use crate::feeding::stream;

/// Always exceeded.
const NOTHING: MemoryLimit = MemoryLimit { most: 1, in_use: || 2 };

#[test]
fn a_run_that_memory_has_stopped_goes_no_further() {
    let mut network = NetworkBuilder::new(7);
    let [there, back] = ["there", "back"].map(|name| network.link(link(name, 100, 5, unbounded())));
    network.flow(stream(FlowId(0), "sack", 1, &[there], &[back]));
    let mut sim = network.build(Time::from_secs_f64(100.0), Sampling::new(())).expect("a sound network");
    sim.run_until(Time::from_secs_f64(5.0));
    assert!(!sim.is_stopped());
    sim.limit_memory(NOTHING);
    sim.run_until(Time::from_secs_f64(10.0));
    assert!(sim.is_stopped());
    let (now, work) = (sim.now(), sim.work_done());
    assert!(now < Time::from_secs_f64(10.0), "{now:?}");
    for later in [20.0, 30.0] {
        sim.run_until(Time::from_secs_f64(later));
        assert_eq!((sim.now(), sim.work_done()), (now, work));
    }
}

/// A stream through a fair queue with a long delay, whose departures are found out late: nothing arrives there while a window
/// is under way. Elsewhere somebody sends all the time.
#[expect(clippy::default_trait_access, reason = "the variant names what is configured")]
fn fair(link_by_link: bool) -> Simulator<Sampling> {
    let mut network = NetworkBuilder::new(7);
    if link_by_link {
        network.link_by_link();
    }
    let queue = built(&Config::DeficitRoundRobin(Default::default()), Capacity::Packets(300), 10_000_000);
    let there = network.link(link("there", 10, 200, queue));
    let mut one = |name: &str| network.link(link(name, 100, 2, unbounded()));
    let forward = [one("up"), there, one("down")];
    let reverse = [one("back")];
    let elsewhere = [one("elsewhere"), one("elsewhere back")];
    network.flow(stream(FlowId(0), "sack", 1, &forward, &reverse));
    chat(&mut network, "elsewhere", &elsewhere[..1], &elsewhere[1..], Span::from_micros(100));
    network.build(Time::from_secs_f64(100.0), Sampling::new(())).expect("a sound network")
}

#[test]
fn what_has_left_a_fair_queue_when_memory_stops_a_run_has_left_it() {
    let there = LinkId(0);
    for step in 3..20 {
        let mut stopped = fair(false);
        stopped.run_until(Time::ZERO + Span::from_millis(200 * step));
        stopped.limit_memory(NOTHING);
        stopped.run_until(Time::from_secs_f64(50.0));
        assert!(stopped.is_stopped());
        let mut each = fair(true);
        each.run_until(stopped.now() + Span::from_nanos(1));
        let (stopped, each) = (stopped.link(there), each.link(there));
        assert_eq!((stopped.arrived, stopped.dropped_total()), (each.arrived, each.dropped_total()));
        // It stops before the next event, and one transmission may end until then: events elsewhere are closer than two ends.
        let further = stopped.transmitted.packets.checked_sub(each.transmitted.packets);
        assert!(further.is_some_and(|further| further <= 1), "{stopped:?} {each:?}");
        assert_eq!(stopped.waiting.packets + further.unwrap_or(0), each.waiting.packets);
        assert!(stopped.is_balanced(), "{stopped:?}");
    }
}
