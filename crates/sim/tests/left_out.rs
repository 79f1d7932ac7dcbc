//! Events that are left out, in networks that `feeding.rs` does not draw: trees and rings whose links carry data and
//! acknowledgements of many flows in both directions, every discipline and every scheme, links that take no time and links that
//! take seconds, flows that end, stop, or come while running, looks at odd times. Each is compared, look by look, with the same
//! network link by link. What is drawn is in
//! `left_out/drawn.rs`, what is built of it in `left_out/built.rs`.

mod built;
mod drawn;

use proptest::prelude::*;
use tailback_core::{BitRate, FlowId, LinkId, Observation, Span, Time};
use tailback_link::{LinkCounters, LinkSpec};
use tailback_sim::{Message, NetworkBuilder, Recorder, Simulator, View};

use crate::common::{OfSenders, Sampling, drop_tail, link, unbounded};
use crate::feeding::stream;
use built::{Net, build};
use drawn::cases;

/// All that is told to a recorder.
#[derive(Debug, Default, PartialEq)]
struct Told {
    every: Span,
    next: Time,
    links: Vec<LinkCounters>,
    ends: Vec<Observation>,
    queues: Vec<(&'static str, f64)>,
    messages: Vec<Message>,
    observed: Vec<(Time, FlowId, Observation)>,
}

impl Told {
    /// A recorder that looks every so often.
    fn every(every: Span) -> Self {
        Self { every, next: Time::ZERO + every, ..Self::default() }
    }
}

impl Recorder for Told {
    const OBSERVED: bool = true;

    fn next_sample(&self) -> Time {
        self.next
    }

    fn sample(&mut self, view: &mut View<'_>) {
        for link in (0..view.link_count()).map(LinkId::from) {
            self.links.push(view.link(link));
            view.queue_state(link, &mut |name, value| self.queues.push((name, value)));
        }
        for flow in (0..view.flow_count()).map(FlowId::from) {
            self.ends.extend([view.sender(flow), view.receiver(flow)]);
        }
        self.next += self.every;
    }

    fn message(&mut self, message: Message) {
        self.messages.push(message);
    }

    fn observed(&mut self, now: Time, flow: FlowId, sender: &Observation) {
        self.observed.push((now, flow, *sender));
    }
}

/// All that anybody can see now.
fn seen(sim: &mut Simulator<OfSenders>) -> impl PartialEq + std::fmt::Debug + use<> {
    let links: Vec<_> = (0..sim.link_count()).map(|index| sim.link(LinkId::from(index))).collect();
    let flows = (0..sim.flow_count()).map(FlowId::from);
    let flows: Vec<_> =
        flows.map(|id| (sim.sender(id), sim.receiver(id), sim.discarded(id), sim.finished_at(id))).collect();
    (sim.now(), links, flows, sim.events_handled(), sim.live_annexes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn nobody_sees_which_events_are_left_out(case in cases()) {
        let net = Net::new(&case);
        let told = || OfSenders::new(Told::every(Span::from_nanos(case.look)));
        let (mut ahead, mut each) = (build(&net, false, told()), build(&net, true, told()));
        let mut now = Time::ZERO;
        for (index, step) in case.steps.iter().enumerate() {
            if let Some((_, talk)) = case.late.as_ref().filter(|(before, _)| *before == index) {
                let flow = |sim: &Simulator<OfSenders>| net.flow(FlowId::from(sim.flow_count()), talk, sim.now());
                // What it refuses changes nothing.
                if ahead.add_flow(flow(&ahead)).is_ok() {
                    each.add_flow(flow(&each)).expect("any way");
                }
            }
            now += Span::from_nanos(*step);
            ahead.run_until(now);
            each.run_until(now);
            prop_assert_eq!(seen(&mut ahead), seen(&mut each), "at {:?}", now);
        }
        prop_assert_eq!(each.events_left_out(), 0);
        prop_assert_eq!(ahead.into_recorder().take::<Told>(), each.into_recorder().take::<Told>());
    }
}

/// Two paced streams, equal in all, whose first links take no time and meet in one: who goes second there has a longer round trip
/// time, by a nanosecond.
fn begin_without_time(link_by_link: bool, seed: u64) -> Simulator<Sampling> {
    let mut network = NetworkBuilder::new(seed);
    if link_by_link {
        network.link_by_link();
    }
    let shared = network.link(link("shared", 8_000_000, 1, drop_tail(1000)));
    for number in 0..2 {
        let fast = BitRate::from_bits_per_sec(10_000_000_000_000);
        let first = network.link(LinkSpec::new(format!("first {number}"), fast, Span::ZERO, unbounded()));
        let [access, back] = ["access", "back"]
            .map(|name| network.link(link(&format!("{name} {number}"), 10, 20, unbounded())));
        let flow = network.next_flow();
        network.flow(stream(flow, "monaco", 1, &[first, shared, access], &[back]));
    }
    network.build(Time::from_secs_f64(100.0), Sampling::new(())).expect("a sound network")
}

#[test]
fn who_is_first_at_equal_times_is_the_same_where_first_links_take_no_time() {
    for seed in 0..60 {
        let run = |link_by_link| {
            let mut sim = begin_without_time(link_by_link, seed);
            sim.run_until(Time::from_secs_f64(2.0));
            let ends = [0, 1].map(|id| (sim.sender(FlowId(id)), sim.receiver(FlowId(id))));
            (ends, (0..7).map(|index| sim.link(LinkId(index))).collect::<Vec<_>>(), sim.events_handled())
        };
        assert_eq!(run(false), run(true), "seed {seed}");
    }
}
