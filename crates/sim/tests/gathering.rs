//! Links whose arrivals are listed and taken in late, much at a time, in networks drawn at random: flows that meet in one link each
//! way, or in the same one both ways, as most do. Each is compared, look by look, with the same network link by link. Networks in
//! which few links are such are in `feeding.rs` and `left_out.rs`.

use proptest::prelude::*;
use tailback_core::{FlowId, LinkId, Observation, Span, Time};
use tailback_link::{LinkCounters, LossModel};
use tailback_sim::{FlowSpec, MemoryLimit, NetworkBuilder, Simulator};
use tailback_transport::{AnyReceiver, AnySender};

use crate::common::{Chatter, Echo, Sampling, chat, drop_tail, link, unbounded};
use crate::feeding::{Looks, queue, stream};

/// How a flow gets to the link in which all meet, and on from there.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Access {
    /// By links of its own.
    Own,
    /// The same without one behind the meeting.
    Bare,
    /// By those of the flow before, in the same direction or in the other.
    Before,
    Against,
    /// By the first of those alone, which so leads elsewhere, too.
    Aside,
    /// At once, so that nothing is listed there.
    Direct,
}

#[derive(Clone, Debug)]
struct Talk {
    access: Access,
    /// A stream under a scheme whose receiver answers every so many packets, or a chatter.
    stream: Option<(&'static str, u32)>,
    /// Mbit/s and milliseconds of the links before and behind the meeting. There are few values, so that times are often equal.
    before: (u64, u64),
    behind: (u64, u64),
    gap: u64,
    /// What is lost on the wire before the meeting.
    lost: Option<f64>,
}

#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    /// Mbit/s, milliseconds, packets of buffer and which queue, where they meet.
    shared: (u64, u64, Option<u32>, u8),
    lost: Option<f64>,
    /// Whether answers go through the same link.
    ring: bool,
    talks: Vec<Talk>,
    look: u64,
    steps: Vec<u64>,
    /// Before which step a flow comes, like which one, and whether it enters where they meet.
    late: Option<(usize, usize, bool)>,
}

fn cases() -> impl Strategy<Value = Case> {
    let access = prop_oneof![
        12 => Just(Access::Own),
        2 => Just(Access::Bare),
        2 => Just(Access::Before),
        2 => Just(Access::Against),
        1 => Just(Access::Aside),
        1 => Just(Access::Direct),
    ];
    let schemes =
        vec!["reno", "sack", "cubic", "bbr1", "bbr3", "copa", "vivace", "monaco", "packet-pair", "newark"];
    let stream = prop::option::weighted(0.7, (prop::sample::select(schemes), 1_u32..3));
    let pipe =
        || (prop_oneof![Just(10_u64), Just(20), 1_u64..100], prop_oneof![9 => 1_u64..4, 1 => 0_u64..30]);
    let lost = || prop::option::weighted(0.1, 0.01..0.1_f64);
    let talk = (access, stream, pipe(), pipe(), 200_u64..4000, lost()).prop_map(
        |(access, stream, before, behind, gap, lost)| Talk { access, stream, before, behind, gap, lost },
    );
    let shared = (2_u64..30, 1_u64..16, prop::option::weighted(0.7, 0_u32..30), 0_u8..8);
    let late = prop::option::weighted(0.3, (0_usize..6, 0_usize..8, any::<bool>()));
    let lost_before = prop::option::weighted(0.2, 0.01..0.1_f64);
    let talks = prop::collection::vec(talk, 2..9);
    let steps = prop::collection::vec(prop_oneof![1_u64..100_000_000, Just(20_000_000)], 1..7);
    (any::<u64>(), shared, lost_before, prop::bool::weighted(0.2), talks, 300_u64..60_000, steps, late)
        .prop_map(|(seed, shared, lost, ring, talks, look, steps, late)| Case {
            seed,
            shared,
            lost,
            ring,
            talks,
            look,
            steps,
            late,
        })
}

/// The network, and the routes of its flows.
fn build(case: &Case, link_by_link: bool) -> (Simulator<Sampling>, Vec<[Vec<LinkId>; 2]>) {
    let mut network = NetworkBuilder::new(case.seed);
    network.gather_from(2);
    if link_by_link {
        network.link_by_link();
    }
    let (mbit, millis, buffer, kind) = case.shared;
    let mut meeting = |name: &str| {
        let mut spec = link(name, mbit, millis, queue(buffer, kind));
        spec.loss_before_queue = case.lost.map(|probability| LossModel::Independent { probability });
        network.link(spec)
    };
    let there = meeting("there");
    let back = if case.ring { there } else { meeting("back") };
    let mut routes: Vec<[Vec<LinkId>; 2]> = Vec::new();
    for (index, talk) in case.talks.iter().enumerate() {
        let mut own = |name: &str, (mbit, millis): (u64, u64)| {
            let mut spec = link(&format!("{name} {index}"), mbit, millis, unbounded());
            let lost = talk.lost.filter(|_| name == "before");
            spec.impairments.loss = lost.map(|probability| LossModel::Independent { probability });
            network.link(spec)
        };
        let joins = matches!(talk.access, Access::Before | Access::Against | Access::Aside);
        let route = match (routes.last().filter(|_| joins), talk.access) {
            (Some([forward, reverse]), Access::Against) => [reverse.clone(), forward.clone()],
            (Some([forward, reverse]), Access::Aside) => {
                [forward[..1].to_vec(), reverse[reverse.len() - 1..].to_vec()]
            }
            (Some(route), _) => route.clone(),
            (None, Access::Direct) => {
                let [behind, behind_back] = ["behind", "behind back"].map(|name| own(name, talk.behind));
                [vec![there, behind], vec![behind_back, back]]
            }
            (None, Access::Bare) => {
                let [before, before_back] = ["before", "before back"].map(|name| own(name, talk.before));
                let behind_back = own("behind back", talk.behind);
                [vec![before, there], vec![behind_back, back, before_back]]
            }
            _ => {
                let [before, before_back] = ["before", "before back"].map(|name| own(name, talk.before));
                let [behind, behind_back] = ["behind", "behind back"].map(|name| own(name, talk.behind));
                [vec![before, there, behind], vec![behind_back, back, before_back]]
            }
        };
        let [forward, reverse] = &route;
        let gap = Span::from_micros(talk.gap);
        match talk.stream {
            None => {
                chat(&mut network, &format!("flow {index}"), forward, reverse, gap);
            }
            Some((scheme, every)) => {
                let mut spec = stream(network.next_flow(), scheme, every, forward, reverse);
                spec.start = Time::ZERO + gap;
                network.flow(spec);
            }
        }
        routes.push(route);
    }
    let looks = Looks::every(Span::from_micros(case.look));
    (network.build(Time::from_secs_f64(100.0), Sampling::new(looks)).expect("a sound network"), routes)
}

/// A chatter over these links that begins now.
fn chatter(sim: &Simulator<Sampling>, [forward, reverse]: &[Vec<LinkId>; 2]) -> FlowSpec {
    let flow = FlowId::from(sim.flow_count());
    FlowSpec {
        name: format!("late {}", flow.0),
        forward: forward.clone(),
        reverse: reverse.clone(),
        sender: AnySender::Custom(Box::new(Chatter::new(flow, Span::from_micros(700)))),
        receiver: AnyReceiver::Custom(Box::new(Echo::new(flow))),
        start: sim.now(),
        stop: None,
    }
}

/// All that anybody can see now.
fn seen(sim: &mut Simulator<Sampling>) -> (Vec<LinkCounters>, Vec<Observation>, u64, usize) {
    let links = (0..sim.link_count()).map(LinkId::from).collect::<Vec<_>>();
    let flows = (0..sim.flow_count()).map(FlowId::from);
    let ends = flows.flat_map(|id| [sim.sender(id), sim.receiver(id)]).collect();
    (links.into_iter().map(|id| sim.link(id)).collect(), ends, sim.events_handled(), sim.live_annexes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn nobody_sees_that_arrivals_are_taken_in_late(case in cases()) {
        let ((mut late, routes), (mut each, _)) = (build(&case, false), build(&case, true));
        prop_assert_eq!(each.links_gathered(), 0);
        let mut now = Time::ZERO;
        for (index, &step) in case.steps.iter().enumerate() {
            if let Some((_, like, direct)) = case.late.filter(|(before, ..)| *before == index) {
                let mut route = routes[like % routes.len()].clone();
                if direct {
                    route[0].remove(0);
                }
                let (one, other) = (chatter(&late, &route), chatter(&each, &route));
                // What it refuses changes nothing that can be seen.
                if late.add_flow(one).is_ok() {
                    each.add_flow(other).expect("any way");
                    prop_assert_eq!(late.links_gathered(), 0);
                }
            }
            now += Span::from_nanos(step);
            late.run_until(now);
            each.run_until(now);
            prop_assert_eq!(seen(&mut late), seen(&mut each), "at {:?}", now);
        }
        prop_assert_eq!(late.into_recorder().take::<Looks>(), each.into_recorder().take::<Looks>());
    }
}

/// A link that has no bound, in place of the kind of its queue.
const UNBOUNDED: u8 = u8::MAX;

/// Flows with links of their own before and behind two that they share, one each way.
fn dumbbell(flows: u64, mbit: u64, millis: u64, before: (u64, u64)) -> NetworkBuilder {
    let mut network = NetworkBuilder::new(7);
    add_dumbbell(&mut network, 0, flows, (mbit, millis), before, [0, UNBOUNDED]);
    network
}

fn add_dumbbell(
    network: &mut NetworkBuilder,
    which: u64,
    flows: u64,
    shared: (u64, u64),
    before: (u64, u64),
    queues: [u8; 2],
) {
    let mut one = |name: String, (mbit, millis), queue| network.link(link(&name, mbit, millis, queue));
    let [there, back] = ["there", "back"].map(|name| format!("{name} {which}"));
    let [there, back] = [(there, queues[0]), (back, queues[1])]
        .map(|(name, kind)| one(name, shared, queue(Some(20).filter(|_| kind != UNBOUNDED), kind)));
    let routes: Vec<_> = (0..flows)
        .map(|flow| {
            let mut own = |name: &str, pipe| one(format!("{name} {which} {flow}"), pipe, unbounded());
            let forward = [own("up", before), there, own("down", (100, 1))];
            let reverse = [own("down back", (100, 1)), back, own("up back", (100, 2))];
            (forward, reverse)
        })
        .collect();
    for (forward, reverse) in routes {
        network.flow(stream(network.next_flow(), "sack", 1, &forward, &reverse));
    }
}

fn gathered(network: NetworkBuilder) -> usize {
    network.build(Time::from_secs_f64(100.0), Sampling::new(())).expect("a sound network").links_gathered()
}

#[test]
fn arrivals_are_listed_where_links_meet_and_not_too_much_is_on_its_way() {
    assert_eq!(gathered(dumbbell(16, 10, 20, (100, 2))), 2);
    assert_eq!(gathered(dumbbell(2000, 100, 20, (100, 2))), 2);
    // Too few, no time to be late in, much more on its way than is taken in at a time, and nothing that arrives later than it was
    // sent.
    assert_eq!(gathered(dumbbell(15, 10, 20, (100, 2))), 0);
    assert_eq!(gathered(dumbbell(16, 10, 2, (100, 2))), 0);
    assert_eq!(gathered(dumbbell(16, 10, 20, (100, 170))), 1);
    assert_eq!(gathered(dumbbell(16, 10, 20, (100, 0))), 1);
    // 2.75 MB are on their way: too much for a few, not for many.
    assert_eq!(gathered(dumbbell(16, 1000, 20, (100, 2))), 0);
    assert_eq!(gathered(dumbbell(335, 1000, 20, (100, 2))), 1);
    assert_eq!(gathered(dumbbell(336, 1000, 20, (100, 2))), 2);
    let mut without_limit = dumbbell(16, 10, 20, (100, 2));
    without_limit.without_limit_of_time();
    assert_eq!(gathered(without_limit), 0);
    let mut each = dumbbell(16, 10, 20, (100, 2));
    each.link_by_link();
    assert_eq!(gathered(each), 0);
}

/// What enters an access link must come from its host.
#[test]
fn arrivals_are_not_listed_behind_two_links_in_a_row() {
    let mut network = NetworkBuilder::new(7);
    let mut one = |name: String, queue| network.link(link(&name, 10, 20, queue));
    let there = one("there".into(), drop_tail(20));
    let ways: Vec<_> = (0..16)
        .map(|flow| {
            let mut own = |name: &str| one(format!("{name} {flow}"), unbounded());
            ([own("host"), own("up"), there], [own("back")])
        })
        .collect();
    for (forward, reverse) in ways {
        network.flow(stream(network.next_flow(), "sack", 1, &forward, &reverse));
    }
    assert_eq!(gathered(network), 0);
}

#[test]
fn arrivals_are_not_listed_where_an_access_link_leads_elsewhere_too() {
    for is_first in [true, false] {
        let mut network = NetworkBuilder::new(7);
        let mut one = |name: String, queue| network.link(link(&name, 10, 20, queue));
        let there = one("there".into(), drop_tail(20));
        let mut ways: Vec<_> = (0..16)
            .map(|flow| {
                let up = one(format!("up {flow}"), unbounded());
                (vec![up, there], [one(format!("back {flow}"), unbounded())])
            })
            .collect();
        let elsewhere = (ways[3].0[..1].to_vec(), [one("elsewhere back".into(), unbounded())]);
        ways.insert(if is_first { 0 } else { 16 }, elsewhere);
        for (forward, reverse) in ways {
            network.flow(stream(network.next_flow(), "sack", 1, &forward, &reverse));
        }
        assert_eq!(gathered(network), 0);
    }
}

#[test]
fn no_more_than_sixteen_links_have_lists() {
    let dumbbells = |count| {
        let mut network = NetworkBuilder::new(7);
        (0..count)
            .for_each(|index| add_dumbbell(&mut network, index, 16, (10, 20), (100, 2), [0, UNBOUNDED]));
        gathered(network)
    };
    assert_eq!(dumbbells(7), 14);
    assert_eq!(dumbbells(9), 16);
}

#[test]
fn what_has_arrived_when_memory_stops_a_run_is_taken_in() {
    let end = Time::from_secs_f64(50.0);
    for step in 10..20 {
        let mut stopped =
            dumbbell(16, 10, 20, (100, 2)).build(end, Sampling::new(())).expect("a sound network");
        stopped.run_until(Time::ZERO + Span::from_millis(200 * step));
        stopped.limit_memory(MemoryLimit { most: 1, in_use: || 2 });
        stopped.run_until(end);
        assert!(stopped.is_stopped());
        let mut each = dumbbell(16, 10, 20, (100, 2));
        each.link_by_link();
        let mut each = each.build(end, Sampling::new(())).expect("a sound network");
        each.run_until(stopped.now());
        // It stops before the next event, so that more may have arrived.
        let [stopped, each] = [stopped.link(LinkId(0)), each.link(LinkId(0))];
        assert!(stopped.arrived.packets >= each.arrived.packets, "{stopped:?} {each:?}");
        assert!(stopped.is_balanced(), "{stopped:?}");
    }
}

/// Streams through two links that have lists, each with the same network link by link.
#[test]
fn a_dumbbell_is_the_same_with_lists() {
    let run = |link_by_link, queue| {
        let mut network = NetworkBuilder::new(7);
        let (flows, mbit) = if queue == 0 { (16, 10) } else { (150, 40) };
        add_dumbbell(&mut network, 0, flows, (mbit, 20), (100, 2), [queue; 2]);
        if link_by_link {
            network.link_by_link();
        }
        let end = Time::from_secs_f64(20.0);
        let looks = Looks::every(Span::from_millis(7));
        let mut sim = network.build(end, Sampling::new(looks)).expect("a sound network");
        assert_eq!(sim.links_gathered(), if link_by_link { 0 } else { 2 });
        sim.run_until(end);
        (seen(&mut sim), sim.into_recorder().take::<Looks>())
    };
    // Drop-tail and both fair queues.
    for queue in [0, 3, 4] {
        assert_eq!(run(false, queue), run(true, queue), "queue {queue}");
    }
}
