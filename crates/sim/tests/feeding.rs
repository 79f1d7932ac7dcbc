//! Links that are fed by one other link alone, in networks drawn at random: packets enter them ahead of their time, and nobody can
//! tell. How much that saves, and networks made by hand, are in `feeding_by_hand.rs`.

use crate::common::{Sampling, built, chat, drop_tail, link, unbounded};
use std::sync::Arc;

use proptest::prelude::*;
use tailback_control::SCHEMES;
use tailback_core::{
    Arrival, BitRate, Bytes, Capacity, Cx, FeedbackPolicy, FlowId, Lane, LinkId, Observation, Outgoing,
    Report, Span, Time,
};
use tailback_link::{Chance, Change, Impairments, LinkCounters, LossModel, Reordering};
use tailback_qdisc::{Built, Config};
use tailback_sim::{FlowSpec, NetworkBuilder, Recorder, Simulator, View};
use tailback_transport::source::{AnySource, Bulk};
use tailback_transport::{AnyReceiver, AnySender, Receiver, ReceiverConfig, Sender, StreamConfig};

/// A link: Mbit/s, milliseconds, and packets of buffer where it is bounded.
type Pipe = (u64, u64, Option<u32>);

/// A line of links in both directions; flows over stretches of it, each behind access links of its own.
#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    line: Vec<Pipe>,
    flows: Vec<Talk>,
    /// When the first link's rate and delay change, in microseconds, if they do, and to how many Mbit/s and milliseconds.
    change: Option<(u64, u64, u64)>,
    /// What happens to packets on the last access links.
    wear: Impairments,
    /// Which queue bounded links have, and whether packets are lost before them.
    queue: u8,
    lost: Option<f64>,
    /// Microseconds between looks at all links.
    look: u64,
    /// How many milliseconds after its start the first stream is stopped.
    stop: u64,
}

/// Who talks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Who {
    Chatter,
    /// A stream under a scheme, whose receiver answers each packet or every second one. The receiver of [`TIMED`] reports
    /// when a timer expires, too.
    Stream(&'static str, u32),
}

/// A scheme whose receiver gets a [`Late`] here.
const TIMED: &str = "reno";

/// Reports some time after the last packet arrived.
#[derive(Debug, Default)]
struct Late {
    timer: Option<Time>,
}

impl FeedbackPolicy for Late {
    fn on_arrival(&mut self, now: Time, _: &Arrival<'_>, _: &mut Cx<'_>) {
        self.timer = Some(now + Span::from_micros(700));
    }

    fn poll_report(&mut self, now: Time, _: &mut Cx<'_>) -> Option<Outgoing> {
        let _ = self.timer.take_if(|at| *at <= now)?;
        Some(Outgoing { report: Report::Custom(Box::new([1.0])), lane: Lane::IN_BAND, size: Bytes::new(52) })
    }

    fn next_timer(&self) -> Option<Time> {
        self.timer
    }
}

/// A flow: from and to where, how often it sends, and its access links, of which there may be none.
#[derive(Clone, Debug)]
struct Talk {
    who: Who,
    /// Whether it shares access links with the flow before, and goes the other way.
    shares: bool,
    turns: bool,
    from: usize,
    to: usize,
    gap: u64,
    up: Vec<Pipe>,
    down: Vec<Pipe>,
}

fn cases() -> impl Strategy<Value = Case> {
    let pipe = || (1_u64..20, 0_u64..8, prop::option::weighted(0.4, 0_u32..12));
    let access = || prop::collection::vec(pipe(), 0..3);
    let who = prop_oneof![
        1 => Just(Who::Chatter),
        3 => (prop::sample::select(vec![
            "reno", "sack", "newreno", "cubic", "bbr1", "bbr3", "copa", "vivace", "monaco", "ledbat", "accumulation-p",
            "packet-pair", "newark",
        ]), 1_u32..3)
            .prop_map(|(scheme, every)| Who::Stream(scheme, every)),
    ];
    let way = (prop::bool::weighted(0.3), any::<bool>());
    let talk = (who, way, 0_usize..3, 0_usize..3, 200_u64..4000, access(), access()).prop_map(
        |(who, (shares, turns), from, to, gap, up, down)| Talk {
            who,
            shares,
            turns,
            from,
            to,
            gap,
            up,
            down,
        },
    );
    let wear = prop_oneof![
        2 => Just(Impairments::default()),
        1 => (0.0..0.2_f64, 0.0..0.3_f64).prop_map(|(copy, late)| Impairments {
            duplication: Some(Chance { probability: copy }),
            reordering: Some(Reordering {
                probability: late, min: Span::from_millis(1), max: Span::from_millis(9) }),
            ..Impairments::default()
        }),
    ];
    let line = prop::collection::vec(pipe(), 1..4);
    let change = prop::option::weighted(0.2, (0_u64..300_000, 1_u64..20, 0_u64..8));
    let queues = (0_u8..8, prop::option::weighted(0.3, 0.01..0.2_f64), change);
    let times = (300_u64..20_000, 1_u64..1000);
    (any::<u64>(), line, prop::collection::vec(talk, 1..6), wear, queues, times).prop_map(
        |(seed, line, flows, wear, (queue, lost, change), (look, stop))| Case {
            seed,
            line,
            flows,
            change,
            wear,
            queue,
            lost,
            look,
            stop,
        },
    )
}

/// The counters of all links, now and then.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Looks {
    every: Span,
    next: Time,
    seen: Vec<LinkCounters>,
}

impl Looks {
    /// The first look is as late as each behind the one before.
    pub(crate) fn every(every: Span) -> Self {
        Self { every, next: Time::ZERO + every, seen: Vec::new() }
    }
}

impl Recorder for Looks {
    fn next_sample(&self) -> Time {
        self.next
    }

    fn sample(&mut self, view: &mut View<'_>) {
        for index in 0..view.link_count() {
            self.seen.push(view.link(LinkId::from(index)));
        }
        self.next += self.every;
    }
}

/// Bounds by packets and by bytes: some of the latter have room for less than one packet.
#[expect(clippy::default_trait_access, reason = "the variants name what is configured")]
pub(crate) fn queue(buffer: Option<u32>, kind: u8) -> Built {
    let Some(packets) = buffer else { return unbounded() };
    let config = match kind {
        0 | 1 if packets % 2 == 0 => return drop_tail(packets),
        0 | 1 => {
            let bound = Capacity::Bytes(Bytes::new(300 * u64::from(packets)));
            return built(&Config::default(), bound, 10_000_000);
        }
        2 => Config::Red(Default::default()),
        3 => Config::DeficitRoundRobin(Default::default()),
        4 => Config::WeightedFairQueueing(Default::default()),
        5 => Config::Codel(Default::default()),
        6 => Config::FqCodel(Default::default()),
        _ => Config::DropHead(Default::default()),
    };
    built(&config, Capacity::Packets(1 + packets), 10_000_000)
}

/// Adds a row of links, all of one name.
fn row(
    network: &mut NetworkBuilder,
    name: &str,
    pipes: &[Pipe],
    case: &Case,
    wear: &Impairments,
) -> Vec<LinkId> {
    let mut row = Vec::new();
    for (index, &(mbit, millis, buffer)) in pipes.iter().enumerate() {
        let mut spec = link(&format!("{name} {index}"), mbit, millis, queue(buffer, case.queue));
        spec.impairments = wear.clone();
        if let Some((at, mbit, millis)) = case.change.filter(|_| name == "there" && index == 0) {
            spec.schedule = vec![Change {
                at: Time::ZERO + Span::from_micros(at),
                rate: Some(BitRate::from_bits_per_sec(mbit * 1_000_000)),
                delay: Some(Span::from_millis(millis)),
            }];
        }
        spec.loss_before_queue = case.lost.map(|probability| LossModel::Independent { probability });
        row.push(network.link(spec));
    }
    row
}

/// A stream without end.
pub(crate) fn stream(
    flow: FlowId,
    scheme: &str,
    ack_every: u32,
    forward: &[LinkId],
    reverse: &[LinkId],
) -> FlowSpec {
    let info = SCHEMES.iter().find(|info| info.name == scheme).expect("a registered scheme");
    let scheme = (info.default)();
    let config = StreamConfig::default().serving(&scheme.needs());
    let mut parts = scheme.build(&config.controller_params());
    if info.name == TIMED {
        parts.policy = Some(Box::new(Late::default()));
    }
    let receiver = ReceiverConfig { ack_every, ..ReceiverConfig::default() };
    let receiver = receiver.serving(&scheme.needs()).matching(&config);
    let source = AnySource::Bulk(Bulk::infinite());
    let receiver = Receiver::new(flow, Arc::new(receiver));
    FlowSpec {
        name: format!("flow {}", flow.0),
        forward: forward.to_vec(),
        reverse: reverse.to_vec(),
        sender: AnySender::Stream(Sender::new(flow, Arc::new(config), parts.controller, source)),
        receiver: AnyReceiver::Stream(match parts.policy {
            Some(policy) => receiver.with_policy(policy),
            None => receiver,
        }),
        start: Time::ZERO,
        stop: None,
    }
}

fn build(case: &Case, link_by_link: bool) -> Simulator<Sampling> {
    let mut network = NetworkBuilder::new(case.seed);
    if link_by_link {
        network.link_by_link();
    }
    let sound = Impairments::default();
    let there = row(&mut network, "there", &case.line, case, &sound);
    let back = row(&mut network, "back", &case.line, case, &sound);
    let mut access: [Vec<LinkId>; 4] = Default::default();
    for (index, talk) in case.flows.iter().enumerate() {
        let (from, to) = (talk.from % case.line.len(), talk.to % case.line.len());
        let (from, to) = (from.min(to), from.max(to));
        if index == 0 || !talk.shares {
            let mut row =
                |name: &str, pipes, wear| row(&mut network, &format!("{index} {name}"), pipes, case, wear);
            access = [
                row("up", &talk.up, &sound),
                row("down", &talk.down, &case.wear),
                row("down back", &talk.down, &sound),
                row("up back", &talk.up, &case.wear),
            ];
        }
        let [up, down, down_back, up_back] = &access;
        let forward = [up, &there[from..=to], down].concat();
        let back: Vec<LinkId> = back[from..=to].iter().rev().copied().collect();
        let reverse = [down_back, &back[..], up_back].concat();
        let (forward, reverse) = if talk.turns { (reverse, forward) } else { (forward, reverse) };
        let gap = Span::from_micros(talk.gap);
        match talk.who {
            Who::Chatter => {
                chat(&mut network, &format!("flow {index}"), &forward, &reverse, gap);
            }
            Who::Stream(scheme, every) => {
                let flow = network.next_flow();
                let mut spec = stream(flow, scheme, every, &forward, &reverse);
                spec.start = Time::ZERO + gap;
                spec.stop = (index == 0).then(|| spec.start + Span::from_millis(case.stop));
                network.flow(spec);
            }
        }
    }
    let looks = Looks::every(Span::from_micros(case.look));
    network.build(Time::from_secs_f64(1000.0), Sampling::new(looks)).expect("a sound network")
}

/// What anybody can see of a run.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Seen {
    links: Vec<LinkCounters>,
    ends: Vec<Observation>,
    events: Vec<u64>,
    discarded: Vec<u64>,
    looks: Looks,
    annexes: usize,
}

pub(crate) fn seen(mut sim: Simulator<Sampling>) -> (Seen, u64) {
    let mut seen = Seen::default();
    for step in 1..=7 {
        sim.run_until(Time::from_nanos(57_142_857 * step));
        seen.links.extend((0..sim.link_count()).map(|index| sim.link(LinkId::from(index))));
        let flows = || (0..sim.flow_count()).map(FlowId::from);
        seen.ends.extend(flows().flat_map(|id| [sim.sender(id), sim.receiver(id)]));
        seen.discarded.extend(flows().map(|id| sim.discarded(id)));
        seen.events.push(sim.events_handled());
        seen.annexes += sim.live_annexes();
    }
    let left_out = sim.events_left_out();
    (Seen { looks: sim.into_recorder().take(), ..seen }, left_out)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn nobody_sees_that_packets_enter_ahead_of_their_time(case in cases()) {
        let (ahead, _) = seen(build(&case, false));
        let (each, left_out) = seen(build(&case, true));
        prop_assert_eq!(left_out, 0);
        prop_assert_eq!(ahead, each);
    }
}
