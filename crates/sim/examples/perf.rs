//! The benchmark scenarios P1 to P4 and a growth series, as one process to be timed from outside: prints one line of
//! JSON with what was simulated. What is compared with what, and how, is `benches/`'s business.
//!
//! Usage: `perf P1|P2|P3|P4|S4|FLOWS [--off] [--seconds S] [--scheme NAME]`. A number of flows stands for the growth
//! series: 1 Mbit/s and two packets of buffer per flow. S4 is the network on which schemes are compared: four flows over
//! 100 Mbit/s. All flows are of the scheme, `sack` by default. Recording (bins of 100 ms for the bottleneck and every flow)
//! is on unless `--off`.

use std::fmt::{Arguments, Write};
use std::sync::Arc;

use tailback_control::Scheme;
use tailback_core::{BitRate, Bytes, Capacity, DataAmount, FlowId, LinkId, Span, Stream, Time};
use tailback_link::LinkSpec;
use tailback_qdisc::{BuildCx, Config, KnownFlows};
use tailback_sim::{FlowSpec, NetworkBuilder, Recorder, Series, SeriesPlan, Simulator};
use tailback_transport::source::{AnySource, Bulk};
use tailback_transport::{AnyReceiver, AnySender, Receiver, ReceiverConfig, Sender, StreamConfig};

/// The same as in the compiled core.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What sets the scenarios apart.
struct Plan {
    flows: usize,
    /// Of the bottleneck, in bit/s.
    rate: u64,
    /// In packets.
    buffer: u32,
    /// Rate of the access links, in bit/s.
    access: u64,
    /// The window's limit, in packets.
    window: f64,
    seconds: f64,
}

impl Plan {
    /// The scenario of this name, or the growth series with so many flows.
    fn of(name: &str) -> Self {
        let mega = 1_000_000;
        match name {
            "P1" => Self {
                flows: 64,
                rate: 32 * mega,
                buffer: 50,
                access: 100 * mega,
                window: 1000.0,
                seconds: 200.0,
            },
            "P2" => Self {
                flows: 1000,
                rate: 1000 * mega,
                buffer: 2000,
                access: 100 * mega,
                window: 1000.0,
                seconds: 20.0,
            },
            "P3" => Self {
                flows: 10,
                rate: 10_000 * mega,
                buffer: 66_250,
                access: 10_000 * mega,
                window: 20_000.0,
                seconds: 10.0,
            },
            "P4" => Self {
                flows: 18,
                rate: 100 * mega,
                buffer: 100,
                access: 1000 * mega,
                window: 1000.0,
                seconds: 50.0,
            },
            "S4" => Self {
                flows: 4,
                rate: 100 * mega,
                buffer: 500,
                access: 1000 * mega,
                window: 10_000.0,
                seconds: 60.0,
            },
            flows => {
                let flows: usize = flows
                    .parse()
                    .unwrap_or_else(|_| panic!("{flows:?} is neither P1 to P4, S4 nor a number"));
                let buffer = 2 * flows as u32;
                Self {
                    flows,
                    rate: flows as u64 * mega,
                    buffer,
                    access: 100 * mega,
                    window: 1000.0,
                    seconds: 20.0,
                }
            }
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let name = args.first().map_or("P1", String::as_str);
    let mut plan = Plan::of(name);
    if let Some(at) = args.iter().position(|arg| arg == "--seconds") {
        plan.seconds = args.get(at + 1).and_then(|text| text.parse().ok()).expect("--seconds takes a number");
    }
    let scheme = args.iter().position(|arg| arg == "--scheme");
    let scheme = scheme.map_or("sack", |at| args.get(at + 1).expect("--scheme takes a name"));
    let group = Group::new(&plan, &named(scheme));
    let (network, bottlenecks) =
        if name == "P4" { parking_lot(&plan, &group) } else { dumbbell(&plan, &group) };
    let end = Time::from_secs_f64(plan.seconds);
    if args.iter().any(|arg| arg == "--off") {
        report(name, network.build(end, ()).expect("a sound network"), &bottlenecks, end);
    } else {
        let flows = (0..plan.flows).map(FlowId::from).collect();
        let series = Series::new(SeriesPlan {
            bin: Span::from_millis(100),
            links: bottlenecks.clone(),
            flows,
            queue_state: false,
        });
        report(name, network.build(end, series).expect("a sound network"), &bottlenecks, end);
    }
}

fn report<R: Recorder>(name: &str, mut sim: Simulator<R>, bottlenecks: &[LinkId], end: Time) {
    sim.run_until(end);
    let (mut delivered, mut acked, mut timeouts) = (0, 0, 0);
    for flow in (0..sim.flow_count()).map(FlowId::from) {
        let sender = sim.sender(flow);
        delivered += sim.receiver(flow).received_packets;
        acked += sender.goodput_packets;
        timeouts += sender.timeouts;
    }
    let (mut dropped, mut transmitted) = (0, 0);
    for &link in bottlenecks {
        dropped += sim.link(link).dropped_total().packets;
        transmitted += sim.link(link).transmitted.packets;
    }
    println!(
        "{{\"scenario\":\"{name}\",\"delivered\":{delivered},\"acked\":{acked},\"transmitted\":{transmitted},\
         \"dropped\":{dropped},\"timeouts\":{timeouts},\"flows\":{},\"events\":{}}}",
        sim.flow_count(),
        sim.events_handled()
    );
}

fn drop_tail(name: &str, rate: u64, delay: Span, capacity: Capacity) -> LinkSpec {
    let rate = BitRate::from_bits_per_sec(rate);
    let queue = Config::default().build(&BuildCx {
        capacity,
        rate,
        mean_packet: Bytes::new(1000),
        flows: KnownFlows::default(),
    });
    LinkSpec::new(name, rate, delay, queue)
}

/// `forward` and back, with the buffer only on the way forward, and names that begin with this one.
fn both_ways(
    network: &mut NetworkBuilder,
    name: Arguments<'_>,
    rate: u64,
    delay: Span,
    buffer: Capacity,
) -> [LinkId; 2] {
    let mut text = String::with_capacity(32);
    text.write_fmt(name).expect("a text takes whatever is written");
    let length = text.len();
    [(" forward", buffer), (" reverse", Capacity::Unlimited)].map(|(direction, buffer)| {
        text.truncate(length);
        text.push_str(direction);
        match buffer {
            Capacity::Unlimited => network.open_link(&text, BitRate::from_bits_per_sec(rate), delay),
            buffer => network.link(drop_tail(&text, rate, delay, buffer)),
        }
    })
}

/// What all flows of a run share.
struct Group {
    stream: Arc<StreamConfig>,
    receiver: Arc<ReceiverConfig>,
    scheme: Scheme,
}

impl Group {
    fn new(plan: &Plan, scheme: &Scheme) -> Self {
        let stream = StreamConfig {
            initial_window: DataAmount::Packets(2.0),
            window_limit: Some(DataAmount::Packets(plan.window)),
            ..StreamConfig::default()
        };
        let stream = stream.serving(&scheme.needs());
        let receiver = Arc::new(ReceiverConfig::default().serving(&scheme.needs()).matching(&stream));
        Self { stream: Arc::new(stream), receiver, scheme: scheme.clone() }
    }

    fn add(&self, network: &mut NetworkBuilder, forward: Vec<LinkId>, reverse: Vec<LinkId>) {
        let flow = network.next_flow();
        let name = format!("flow {}", flow.0);
        let start = Stream::new(1, &name).uniform() * 5.0;
        let controller = self.scheme.build(&self.stream.controller_params()).controller;
        let source = AnySource::Bulk(Bulk::infinite());
        network.flow(FlowSpec {
            sender: AnySender::Stream(Sender::new(flow, Arc::clone(&self.stream), controller, source)),
            receiver: AnyReceiver::Stream(Receiver::new(flow, Arc::clone(&self.receiver))),
            name,
            forward,
            reverse,
            start: Time::from_secs_f64(start),
            stop: None,
        });
    }
}

fn named(name: &str) -> Scheme {
    let info = tailback_control::SCHEMES.iter().find(|info| info.name == name);
    (info.unwrap_or_else(|| panic!("{name:?} is no built-in scheme")).default)()
}

fn dumbbell(plan: &Plan, group: &Group) -> (NetworkBuilder, Vec<LinkId>) {
    let mut network = NetworkBuilder::new(1);
    network.reserve(2 + 4 * plan.flows, plan.flows);
    let [forward, reverse] = both_ways(
        &mut network,
        format_args!("bottleneck"),
        plan.rate,
        Span::from_millis(20),
        Capacity::Packets(plan.buffer),
    );
    for index in 0..plan.flows {
        let spread = index as f64 / (plan.flows.max(2) - 1) as f64;
        let delay = Span::from_secs_f64(0.001 + 0.009 * spread);
        let unlimited = Capacity::Unlimited;
        let [up, up_back] =
            both_ways(&mut network, format_args!("sender {index}"), plan.access, delay, unlimited);
        let [down, down_back] = both_ways(
            &mut network,
            format_args!("receiver {index}"),
            plan.access,
            Span::from_millis(1),
            unlimited,
        );
        group.add(&mut network, vec![up, forward, down], vec![down_back, reverse, up_back]);
    }
    (network, vec![forward])
}

fn parking_lot(plan: &Plan, group: &Group) -> (NetworkBuilder, Vec<LinkId>) {
    let mut network = NetworkBuilder::new(1);
    let hops: Vec<[LinkId; 2]> = (0..5)
        .map(|hop| {
            let buffer = Capacity::Packets(plan.buffer);
            both_ways(&mut network, format_args!("hop {hop}"), plan.rate, Span::from_millis(4), buffer)
        })
        .collect();
    let stretches = (0..3).map(|_| 0..5).chain((0..5).flat_map(|hop| (0..3).map(move |_| hop..hop + 1)));
    for (index, stretch) in stretches.enumerate() {
        let (delay, unlimited) = (Span::from_millis(1), Capacity::Unlimited);
        let [up, up_back] =
            both_ways(&mut network, format_args!("sender {index}"), plan.access, delay, unlimited);
        let [down, down_back] =
            both_ways(&mut network, format_args!("receiver {index}"), plan.access, delay, unlimited);
        let middle = &hops[stretch];
        let forward = [up].into_iter().chain(middle.iter().map(|hop| hop[0])).chain([down]).collect();
        let reverse =
            [down_back].into_iter().chain(middle.iter().rev().map(|hop| hop[1])).chain([up_back]).collect();
        group.add(&mut network, forward, reverse);
    }
    (network, hops.iter().map(|hop| hop[0]).collect())
}
