//! Links that are fed ahead of time, in networks that `feeding.rs` does not draw: aggregates on the way, and links that take
//! no time. Each is compared with the same network link by link.

use crate::common::{Chatter, Echo, Sampling, chat, drop_tail, link, unbounded};
use crate::feeding::stream;

use tailback_core::{
    AppInput, BitRate, Bytes, EdgeEndpoint, Endpoint, EndpointCx, FlowId, Input, Kind, LinkId, Observation,
    Output, Packet, Span, Time,
};
use tailback_link::{LinkCounters, LinkSpec};
use tailback_qdisc::Built;
use tailback_sim::{FlowSpec, NetworkBuilder, NetworkError, Simulator};
use tailback_transport::{AnyReceiver, AnySender};

/// An aggregate's edge that lets all pass, and counts it; it sends nothing.
#[derive(Default)]
struct Edge(Observation);

impl Endpoint for Edge {
    fn handle(&mut self, _now: Time, _input: Input, _cx: &mut EndpointCx<'_>) {}

    fn poll(&mut self, _now: Time, _cx: &mut EndpointCx<'_>) -> Output {
        Output::Wait(None)
    }

    fn observe(&self) -> Observation {
        self.0
    }
}

impl EdgeEndpoint for Edge {
    fn pass(&mut self, _now: Time, packet: &Packet, _others_wait: bool, _cx: &mut EndpointCx<'_>) {
        self.0.received_packets += 1;
        self.0.received_bytes += packet.size();
    }
}

/// All that can be seen of a network that has run so far.
pub(crate) fn seen(sim: &mut Simulator<Sampling>) -> (Vec<LinkCounters>, Vec<Observation>, u64) {
    let links = (0..sim.link_count()).map(|index| sim.link(LinkId::from(index))).collect();
    let flows = (0..sim.flow_count()).map(FlowId::from);
    (links, flows.flat_map(|id| [sim.sender(id), sim.receiver(id)]).collect(), sim.events_handled())
}

/// An aggregate over the link `within` that governs another, and answers by `reports`; it lets all pass.
pub(crate) fn add_aggregate(network: &mut NetworkBuilder, governed: LinkId, within: LinkId, reports: LinkId) {
    let aggregate = network.flow(FlowSpec {
        name: "aggregate".to_owned(),
        forward: vec![within],
        reverse: vec![reports],
        sender: AnySender::Edge(Box::new(Edge::default())),
        receiver: AnyReceiver::Edge(Box::new(Edge::default())),
        start: Time::ZERO,
        stop: None,
    });
    network.aggregate(aggregate, governed);
}

/// Both ways of the same network look the same forty times, at odd times; the one that is fed ahead.
pub(crate) fn agree(build: impl Fn(bool) -> Simulator<Sampling>) -> Simulator<Sampling> {
    let (mut ahead, mut each) = (build(false), build(true));
    for step in 1..=40 {
        let until = Time::ZERO + Span::from_micros(50_001 * step);
        ahead.run_until(until);
        each.run_until(until);
        assert_eq!(seen(&mut ahead), seen(&mut each), "at {until:?}");
    }
    ahead
}

/// Two flows over an aggregate's link and two links more, each behind an access link of its own; both receivers answer over
/// the same link.
fn behind_an_aggregate(link_by_link: bool) -> Simulator<Sampling> {
    let mut network = NetworkBuilder::new(7);
    if link_by_link {
        network.link_by_link();
    }
    let mut one = |name: &str, mbit, millis, queue: Built| network.link(link(name, mbit, millis, queue));
    let [governed, within] = ["governed", "within"].map(|name| one(name, 20, 1, drop_tail(20)));
    let reports = one("reports", 20, 1, unbounded());
    let [behind, bottleneck] = ["behind", "bottleneck"].map(|name| one(name, 10, 1, drop_tail(10)));
    let access = [3, 40].map(|millis| one(&format!("access {millis}"), 10, millis, unbounded()));
    let back = one("back", 1, 1, drop_tail(2));
    for access in access {
        let forward = [governed, within, behind, bottleneck, access];
        chat(&mut network, &format!("over {}", access.0), &forward, &[back], Span::from_micros(1500));
    }
    add_aggregate(&mut network, governed, within, reports);
    network.build(Time::from_secs_f64(100.0), Sampling::new(())).expect("a sound network")
}

#[test]
fn receivers_behind_an_aggregate_are_called_when_it_is_time() {
    let ahead = agree(behind_an_aggregate);
    assert!(ahead.events_left_out() > 500, "{}", ahead.events_left_out());
}

/// Flows that go round an aggregate over the link within it, and a stream elsewhere. The links behind each are fed.
fn around_an_aggregate(link_by_link: bool) -> Simulator<Sampling> {
    let mut network = NetworkBuilder::new(7);
    if link_by_link {
        network.link_by_link();
    }
    let mut one = |name: &str, queue: Built| network.link(link(name, 10, 2, queue));
    let [governed, within] = ["governed", "within"].map(|name| one(name, drop_tail(20)));
    let [reports, around, behind] = ["reports", "around", "behind"].map(|name| one(name, unbounded()));
    let [bottleneck, back] = ["bottleneck", "back"].map(|name| one(name, drop_tail(10)));
    let [up, down] = ["up", "down"].map(|name| one(name, unbounded()));
    chat(&mut network, "around", &[around, within, behind], &[back], Span::from_micros(1500));
    let flow = network.next_flow();
    network.flow(stream(flow, "bbr1", 1, &[up, bottleneck, down], &[back]));
    add_aggregate(&mut network, governed, within, reports);
    network.build(Time::from_secs_f64(100.0), Sampling::new(())).expect("a sound network")
}

/// The links of that network, in order.
const GOVERNED: LinkId = LinkId(0);
const WITHIN: LinkId = LinkId(1);
const BEHIND: LinkId = LinkId(4);
const BOTTLENECK: LinkId = LinkId(5);
const BACK: LinkId = LinkId(6);
const DOWN: LinkId = LinkId(8);
/// Its flow of the aggregate.
const AGGREGATE: FlowId = FlowId(2);

/// A flow that comes later.
fn late(sim: &Simulator<Sampling>, forward: &[LinkId]) -> FlowSpec {
    let id = FlowId::from(sim.flow_count());
    FlowSpec {
        name: format!("late {}", id.0),
        forward: forward.to_vec(),
        reverse: vec![BACK],
        sender: AnySender::Custom(Box::new(Chatter::new(id, Span::from_micros(2900)))),
        receiver: AnyReceiver::Custom(Box::new(Echo::new(id))),
        start: sim.now(),
        stop: None,
    }
}

#[test]
fn a_flow_that_comes_later_passes_an_aggregate() {
    let run = |link_by_link| {
        let mut sim = around_an_aggregate(link_by_link);
        sim.run_until(Time::from_secs_f64(0.5));
        assert_eq!(sim.sender(AGGREGATE).received_packets, 0);
        let flow = late(&sim, &[GOVERNED, WITHIN, BOTTLENECK, DOWN]);
        let id = sim.add_flow(flow).expect("ways that are known");
        let mut seen_then = Vec::new();
        for step in 1..=40 {
            sim.run_until(Time::from_secs_f64(0.5) + Span::from_micros(40_001 * step));
            seen_then.push(seen(&mut sim));
        }
        let passed = sim.sender(AGGREGATE).received_packets;
        let sent = sim.sender(id).sent_packets;
        assert!(passed > 300 && passed <= sent, "{passed} of {sent}");
        (seen_then, sim.events_left_out())
    };
    let ((ahead, left_out), (each, none)) = (run(false), run(true));
    assert!(ahead == each, "a flow that comes later changes what is simulated");
    assert!(left_out > 500 && none == 0, "{left_out}");
}

/// What passes an aggregate's far edge comes from there, and from no link, also where the link within feeds the next.
#[test]
fn a_flow_that_comes_later_may_not_leave_an_aggregate_for_a_link_that_the_link_within_feeds() {
    let way = [GOVERNED, WITHIN, BEHIND];
    let mut sim = around_an_aggregate(false);
    sim.run_until(Time::from_secs_f64(0.5));
    let flow = late(&sim, &way);
    let refused = sim.add_flow(flow);
    assert_eq!(refused, Err(NetworkError::EnteredElsewhere { flow: "late 3".to_owned(), link: BEHIND }));
    // Nothing is left of it.
    let mut untouched = around_an_aggregate(true);
    untouched.run_until(Time::from_secs_f64(2.0));
    sim.run_until(Time::from_secs_f64(2.0));
    assert_eq!(seen(&mut sim), seen(&mut untouched));
    let mut each = around_an_aggregate(true);
    each.run_until(Time::from_secs_f64(0.5));
    let flow = late(&each, &way);
    assert_eq!(each.add_flow(flow), Ok(FlowId(3)));
}

/// Sends a packet of one size at every beat.
struct Drum {
    flow: FlowId,
    size: Bytes,
    next: Time,
    seen: Observation,
}

const BEAT: Span = Span::from_millis(1);

impl Endpoint for Drum {
    fn handle(&mut self, now: Time, input: Input, _cx: &mut EndpointCx<'_>) {
        if matches!(input, Input::App(AppInput::Start)) {
            self.next = now;
        }
    }

    fn poll(&mut self, now: Time, _cx: &mut EndpointCx<'_>) -> Output {
        if now < self.next {
            return Output::Wait(self.next.finite());
        }
        self.next = now + BEAT;
        self.seen.sent_packets += 1;
        Output::Transmit(Packet::new(Kind::Data, self.flow, self.seen.sent_packets, self.size))
    }

    fn observe(&self) -> Observation {
        self.seen
    }
}

/// Two links of the same speed, one of them with a link behind it that takes no time, meet in one that has room for one packet.
fn without_time(link_by_link: bool, seed: u64, size: u64, rate: BitRate) -> Simulator<Sampling> {
    let mut network = NetworkBuilder::new(seed);
    if link_by_link {
        network.link_by_link();
    }
    let [one, other] = ["one", "other"].map(|name| network.link(link(name, 10, 1, unbounded())));
    let at_once = network.link(LinkSpec::new("at once", rate, Span::ZERO, unbounded()));
    let shared = network.link(link("shared", 1, 1, drop_tail(1)));
    let back = network.link(link("back", 1, 1, unbounded()));
    for (name, forward) in [("first", vec![one, at_once, shared]), ("second", vec![other, shared])] {
        let flow = network.next_flow();
        network.flow(FlowSpec {
            name: name.to_owned(),
            forward,
            reverse: vec![back],
            sender: AnySender::Custom(Box::new(Drum {
                flow,
                size: Bytes::new(size),
                next: Time::NEVER,
                seen: Observation::default(),
            })),
            receiver: AnyReceiver::Custom(Box::new(Echo::new(flow))),
            start: Time::ZERO,
            stop: None,
        });
    }
    network.build(Time::from_secs_f64(100.0), Sampling::new(())).expect("a sound network")
}

#[test]
fn who_is_first_at_equal_times_is_the_same_behind_a_link_that_takes_no_time() {
    for seed in 0..60 {
        let run = |link_by_link| {
            let mut sim =
                without_time(link_by_link, seed, 200, BitRate::from_bits_per_sec(10_000_000_000_000));
            sim.run_until(Time::from_secs_f64(0.1));
            seen(&mut sim)
        };
        assert_eq!(run(false), run(true), "seed {seed}");
    }
}

/// Two streams over bottlenecks of their own, equal in all; their receivers answer over links that take no time, which meet in
/// one that has room for one packet.
fn answers_without_time(link_by_link: bool, seed: u64) -> Simulator<Sampling> {
    let mut network = NetworkBuilder::new(seed);
    if link_by_link {
        network.link_by_link();
    }
    let back = network.link(LinkSpec::new(
        "back",
        BitRate::from_bits_per_sec(350_000),
        Span::from_millis(1),
        drop_tail(1),
    ));
    for number in 0..2 {
        let mut one =
            |name: &str, mbit, queue: Built| network.link(link(&format!("{name} {number}"), mbit, 1, queue));
        let forward = [one("bottleneck", 10, drop_tail(10)), one("access", 10, unbounded())];
        let fast = BitRate::from_bits_per_sec(10_000_000_000_000);
        let answers = network.link(LinkSpec::new(format!("answers {number}"), fast, Span::ZERO, unbounded()));
        let home = network.link(link(&format!("home {number}"), 10, 1, unbounded()));
        let up = network.link(link(&format!("up {number}"), 10, 1, unbounded()));
        let flow = network.next_flow();
        network.flow(stream(flow, "sack", 1, &[up, forward[0], forward[1]], &[answers, back, home]));
    }
    network.build(Time::from_secs_f64(100.0), Sampling::new(())).expect("a sound network")
}

#[test]
fn who_answers_first_at_equal_times_is_the_same_over_links_that_take_no_time() {
    for seed in 0..60 {
        let run = |link_by_link| {
            let mut sim = answers_without_time(link_by_link, seed);
            sim.run_until(Time::from_secs_f64(0.5));
            seen(&mut sim)
        };
        assert_eq!(run(false), run(true), "seed {seed}");
    }
}
