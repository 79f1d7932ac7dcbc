//! Sketches of what the papers ask beyond the schemes that are built in: two mark bits and Poisson tokens, flows that are
//! switched on and off, rates from interval reports, routers that hold foreign bytes. Each runs through the traits as they
//! are, which is what is tested; the sketches are far from the papers' schemes.

use crate::common;

use std::sync::{Arc, Mutex, PoisonError};

use common::{Sampling, built, drop_tail, link};
use tailback_control::AnyController;
use tailback_control::Reliability;
use tailback_core::{
    Annex, Annexes, Arrival, BitRate, Burst, Bytes, Capacity, CongestionEvent, Controller, Cx, DataAmount,
    Directive, Ecn, Envelope, Feedback, FeedbackPolicy, FlowId, Gate, Kind, Lane, LinkId, Outgoing, Packet,
    QueueCx, QueueDiscipline, Recovery, Report, Sent, Span, Stream, Time, Tokens,
};
use tailback_qdisc::codel::CodelConfig;
use tailback_qdisc::tdqm::{EtaConfig, TdqmConfig};
use tailback_qdisc::{Built, Config};
use tailback_sim::{FlowSpec, NetworkBuilder, Simulator};
use tailback_transport::source::{AnySource, Bulk, Datagrams, DatagramsConfig};
use tailback_transport::{
    AnyReceiver, AnySender, DatagramConfig, DatagramReceiver, DatagramSender, Receiver, ReceiverConfig,
    Sender, StreamConfig,
};

/// One bottleneck of 10 Mbit/s and 20 ms each way, and flows over it.
fn network(queue: Built, flows: Vec<(AnySender, AnyReceiver)>) -> Simulator<Sampling> {
    let mut network = NetworkBuilder::new(7);
    let there = network.link(link("there", 10, 20, queue));
    let back = network.link(link("back", 10, 20, drop_tail(1000)));
    for (sender, receiver) in flows {
        let flow = network.next_flow();
        network.flow(FlowSpec {
            name: format!("flow {}", flow.0),
            forward: vec![there],
            reverse: vec![back],
            sender,
            receiver,
            start: Time::ZERO + Span::from_millis(u64::from(flow.0) * 370),
            stop: None,
        });
    }
    network.build(Time::from_secs_f64(10_000.0), Sampling::new(())).expect("a sound network")
}

// ── two mark bits, a virtual window and a bucket of Poisson tokens (Li and Mills, §III) ──

const T_MAX: f64 = 240.0;

#[derive(Default)]
struct Marks {
    rho: u32,
    eta: u32,
    shallowest: Option<f64>,
}

struct TwoBits {
    segment: f64,
    /// `W_p` and `T_c`, in packets.
    window: f64,
    depth: f64,
    threshold: f64,
    rtt: Option<Span>,
    /// The number behind the newest packet sent, and where the window that was last reduced ends.
    next: u64,
    reduced_until: u64,
    timed_out: bool,
    seen: Arc<Mutex<Marks>>,
}

impl TwoBits {
    fn reduce(&mut self, newest: u64) {
        if newest >= self.reduced_until {
            self.window = (self.window / 2.0).max(1.0);
            self.threshold = self.window;
            self.reduced_until = self.next;
        }
    }
}

impl Controller for TwoBits {
    fn on_sent(&mut self, _: Time, sent: &mut Sent, _: &mut Cx<'_>) {
        self.next = self.next.max(sent.number + 1);
    }

    fn on_feedback(&mut self, _: Time, feedback: &Feedback<'_>, _: &mut Cx<'_>) {
        self.rtt = feedback.rtt.map(|rtt| rtt.smoothed).or(self.rtt);
        let newest = feedback.acked.last().map_or(0, |acked| acked.number);
        let packets = feedback.advanced.as_f64() / self.segment;
        let is_timeout = matches!(feedback.event, Some(CongestionEvent::Timeout { .. }));
        self.timed_out = is_timeout || feedback.recovery == Recovery::Timeout;
        if feedback.echoes.rho > 0
            || feedback.event.is_some_and(|event| event != CongestionEvent::RecoveryEnd)
        {
            self.reduce(newest.max(if is_timeout { self.next } else { 0 }));
        } else if self.window < self.threshold {
            self.window += packets;
        } else {
            self.window = (self.window + packets / self.window).min(T_MAX);
        }
        match feedback.echoes.eta {
            0 => self.depth = (self.depth + packets / self.window).min(T_MAX),
            _ if self.depth > 1.0 => self.depth = (self.depth / 2.0).max(1.0),
            _ => self.reduce(newest),
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.rho += feedback.echoes.rho;
        seen.eta += feedback.echoes.eta;
        seen.shallowest = Some(seen.shallowest.map_or(self.depth, |least| least.min(self.depth)));
    }

    fn directive(&self) -> Directive {
        let bytes = |packets: f64| Bytes::from_f64(packets * self.segment);
        let Some(rtt) = self.rtt else { return Directive::window(bytes(2.0)) };
        Directive {
            // `W_b` is the receiver's, which the transport obeys; `W_p` makes tokens only.
            window: None,
            rate: Some(BitRate::of(bytes(self.window), rtt)),
            burst: Burst {
                depth: bytes(if self.timed_out { 1.0 } else { self.depth }),
                tokens: Tokens::Poisson,
            },
            ..Directive::window(Bytes::MAX)
        }
    }
}

fn two_bits(flow: FlowId, seen: &Arc<Mutex<Marks>>) -> (AnySender, AnyReceiver) {
    let config = StreamConfig {
        reliability: Reliability::Sack,
        receive_window: Some(DataAmount::Packets(T_MAX)),
        ..StreamConfig::default()
    };
    let controller = TwoBits {
        segment: config.segment_size.as_f64(),
        window: 2.0,
        depth: T_MAX,
        threshold: T_MAX,
        rtt: None,
        next: 0,
        reduced_until: 0,
        timed_out: false,
        seen: Arc::clone(seen),
    };
    let receiver = Receiver::new(flow, ReceiverConfig::default().matching(&config));
    let source = AnySource::Bulk(Bulk::finite(Bytes::MAX));
    let sender = Sender::new(flow, config, AnyController::Custom(Box::new(controller)), source);
    (AnySender::Stream(sender), AnyReceiver::Stream(receiver))
}

#[test]
fn two_mark_bits_steer_a_window_and_a_bucket() {
    let seen = Arc::default();
    // Poisson tokens have an η of about 0.18 at any load: some of them are to be marked.
    let eta = EtaConfig { min: 0.1, max: 0.4, max_p: 0.1, ..EtaConfig::default() };
    let queue = Config::Tdqm(TdqmConfig { eta, ..TdqmConfig::default() });
    let queue = built(&queue, Capacity::Packets(240), 10_000_000);
    let mut sim = network(queue, (0..8).map(|flow| two_bits(FlowId(flow), &seen)).collect());
    sim.run_until(Time::from_secs_f64(60.0));
    let there = sim.link(LinkId(0));
    assert!(there.is_balanced());
    let carried = there.transmitted.bytes.as_f64() * 8.0 / 60.0 / 10e6;
    assert!(carried > 0.6, "the link carries {carried}");
    let (marked, marks) = (there.marked, seen.lock().expect("nobody panicked"));
    assert!(
        marked > 0 && marks.rho > 0 && marks.eta > 0,
        "{marked} marks, echoes {} {}",
        marks.rho,
        marks.eta
    );
    assert!(u64::from(marks.rho + marks.eta) <= marked, "each mark is echoed at most once");
    assert!(marks.shallowest.is_some_and(|depth| depth < T_MAX / 4.0), "bursts became shorter");
}

// ── a flow that is switched on and off at random by its receiver (Widmer et al., §3.3, §3.4) ──

const TURN: Span = Span::from_secs(1);
/// The part of its rate that is friendly.
const FRIENDLY: f64 = 0.5;

#[derive(Default)]
struct Dice {
    turn: Option<Time>,
    /// What is still on its way when the flow is suspended must not begin a turn.
    deaf_until: Time,
}

impl FeedbackPolicy for Dice {
    fn on_arrival(&mut self, now: Time, _: &Arrival<'_>, _: &mut Cx<'_>) {
        // After a suspension the first packet begins a protected time.
        if now >= self.deaf_until {
            self.turn.get_or_insert(now + TURN);
        }
    }

    fn poll_report(&mut self, now: Time, cx: &mut Cx<'_>) -> Option<Outgoing> {
        self.turn.filter(|turn| *turn <= now)?;
        let on = cx.rng.uniform() < FRIENDLY;
        self.turn = on.then_some(now + TURN);
        self.deaf_until = if on { Time::ZERO } else { now + TURN };
        let report = Report::Gate { on, off_for: TURN };
        Some(Outgoing { report, lane: Lane::IN_BAND, size: Bytes::new(40) })
    }

    fn next_timer(&self) -> Option<Time> {
        self.turn
    }
}

#[derive(Default)]
struct Switch {
    off_until: Option<Time>,
}

impl Controller for Switch {
    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, _: &mut Cx<'_>) {
        if let Some(Envelope { report: Report::Gate { on, off_for }, .. }) = feedback.report {
            self.off_until = (!on).then_some(now + *off_for);
        }
    }

    fn on_timer(&mut self, now: Time, _: &mut Cx<'_>) {
        self.off_until = self.off_until.filter(|until| *until > now);
    }

    fn next_timer(&self) -> Option<Time> {
        self.off_until
    }

    fn directive(&self) -> Directive {
        let gate = if self.off_until.is_some() { Gate::Closed { until: self.off_until } } else { Gate::Open };
        Directive { window: None, gate, ..Directive::window(Bytes::MAX) }
    }
}

fn datagrams(
    controller: impl Controller + Send + 'static,
    policy: impl FeedbackPolicy + Send + 'static,
    rate: u64,
) -> (AnySender, AnyReceiver) {
    let (flow, config) = (FlowId(0), Arc::new(DatagramConfig { stamps: true, ..DatagramConfig::default() }));
    let rate = BitRate::from_bits_per_sec(rate);
    let source =
        AnySource::Boxed(Box::new(Datagrams::new(DatagramsConfig { rate, ..DatagramsConfig::default() })));
    let controller = AnyController::Custom(Box::new(controller));
    let sender = DatagramSender::new(flow, Arc::clone(&config), controller, source);
    let receiver = DatagramReceiver::new(flow, config).with_policy(Box::new(policy));
    (AnySender::Datagram(Box::new(sender)), AnyReceiver::Datagram(Box::new(receiver)))
}

#[test]
fn a_receiver_switches_a_flow_on_and_off() {
    let mut sim = network(drop_tail(100), vec![datagrams(Switch::default(), Dice::default(), 960_000)]);
    sim.run_until(Time::from_secs_f64(2000.0));
    let sent = sim.sender(FlowId(0));
    // 960 B at 960 kbit/s are 125 offers per second; each is sent or suspended.
    let offers = 2000.0 * 125.0;
    let on = sent.sent_packets as f64 / offers;
    let gated = sent.gated_packets as f64 / offers;
    assert!((on + gated - 1.0).abs() < 1e-3, "{on} sent, {gated} suspended");
    // A turn on, then a turn off with probability 1/2: two thirds of the time, and a round trip more in each on-time.
    // A thousand turns leave a standard error of 0.01.
    assert!((on - 2.0 / 3.0).abs() < 0.05, "{on}");
}

// ── a rate from what the receiver reports of intervals (Tuan and Park, §3.1) ──

const INTERVAL: Span = Span::from_millis(100);

#[derive(Default)]
struct Intervals {
    ends: Option<Time>,
    received: Bytes,
    packets: u32,
    next: u64,
    lost: u64,
}

impl FeedbackPolicy for Intervals {
    fn on_arrival(&mut self, now: Time, arrival: &Arrival<'_>, _: &mut Cx<'_>) {
        self.ends.get_or_insert(now + INTERVAL);
        self.received += arrival.packet.size();
        self.packets += 1;
        self.lost += arrival.packet.number.saturating_sub(self.next);
        self.next = arrival.packet.number + 1;
    }

    fn poll_report(&mut self, now: Time, _: &mut Cx<'_>) -> Option<Outgoing> {
        let ends = self.ends.filter(|ends| *ends <= now)?;
        let report = Report::Interval {
            span: INTERVAL,
            received: self.received,
            packets: self.packets,
            lost: self.lost as u32,
        };
        *self = Self { ends: Some(ends + INTERVAL), next: self.next, ..Self::default() };
        Some(Outgoing { report, lane: Lane::IN_BAND, size: Bytes::new(40) })
    }

    fn next_timer(&self) -> Option<Time> {
        self.ends
    }
}

/// Linear increase while penalised throughput grows with the rate, exponential decrease otherwise (equations 3 and 4).
struct Climber {
    rate: f64,
    before: (f64, f64),
}

impl Controller for Climber {
    fn on_feedback(&mut self, _: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        let Some(Envelope { report: Report::Interval { span, received, packets, lost }, .. }) =
            feedback.report
        else {
            return;
        };
        let loss = f64::from(*lost) / f64::from((packets + lost).max(1));
        let throughput = (1.0 - loss).powi(4) * BitRate::of(*received, *span).bits_per_sec() as f64;
        let (rate, last) = std::mem::replace(&mut self.before, (self.rate, throughput));
        let rises = (throughput - last) * (self.rate - rate) >= 0.0 && loss == 0.0;
        self.rate = if rises { self.rate + 100_000.0 } else { (self.rate * 0.8).max(100_000.0) };
        cx.note("rate", self.rate);
    }

    fn directive(&self) -> Directive {
        Directive::rate(BitRate::from_bits_per_sec_f64(self.rate))
    }
}

#[test]
fn interval_reports_steer_a_rate() {
    let climber = Climber { rate: 500_000.0, before: (0.0, 0.0) };
    let mut sim = network(drop_tail(20), vec![datagrams(climber, Intervals::default(), 100_000_000)]);
    sim.run_until(Time::from_secs_f64(100.0));
    let there = sim.link(LinkId(0));
    let carried = there.transmitted.bytes.as_f64() * 8.0 / 100.0 / 10e6;
    assert!(carried > 0.5, "the link carries {carried}");
    // The application offers ten times the link's rate: without an obeyed rate nine tenths would be dropped.
    let lost = there.dropped_total().packets as f64 / there.arrived.packets as f64;
    assert!(0.0 < lost && lost < 0.1, "{lost}");
}

// ── a router that holds the bytes of foreign packets ──

#[test]
fn a_discipline_holds_foreign_bytes() {
    let mut annexes = Annexes::new();
    let mut rng = Stream::new(1, "router");
    let mut drops = Vec::new();
    let config = Config::Codel(CodelConfig { ecn: true, ..CodelConfig::default() });
    let mut queue = built(&config, Capacity::Packets(50), 1_000_000).into_discipline();
    let rate = BitRate::from_bits_per_sec(1_000_000);
    let (mut marked, mut passed, mut lost) = (0, 0, 0);
    let mut now = Time::ZERO;
    for number in 0..4000_u64 {
        // Two arrive in the time of one transmission, half of them ECN-capable.
        let bytes: Box<[u8]> = vec![number as u8; 1000].into();
        let mut packet = Packet::new(Kind::Data, FlowId(number as u32 % 3), number, Bytes::new(1000));
        packet.set_ecn(if number.is_multiple_of(2) { Ecn::Ect0 } else { Ecn::NotEct });
        packet.annex = annexes.insert(Annex::Custom(bytes));
        let (annexes, idle_since) = (&mut annexes, None);
        let mut cx = QueueCx { rng: &mut rng, annexes, rate, idle_since, drops: &mut drops, marks: 0 };
        queue.enqueue(now, packet, &mut cx);
        if number.is_multiple_of(2) {
            now += rate.span_of(Bytes::new(1000));
            if let Some(packet) = queue.dequeue(now, &mut cx) {
                let Some(Annex::Custom(bytes)) = cx.annexes.take(packet.annex) else {
                    panic!("the bytes ride along")
                };
                assert!(bytes.iter().all(|byte| *byte == packet.number as u8), "the packet's own bytes");
                marked += u32::from(packet.ecn() == Ecn::Ce);
                passed += 1;
            }
        }
        for (packet, _) in drops.drain(..) {
            annexes.free(packet.annex);
            lost += 1;
        }
    }
    assert!(marked > 0, "marks are there to be written into the header");
    assert_eq!(passed + lost + annexes.len(), 4000, "every packet's bytes left once or are still held");
    assert_eq!(annexes.len() as u32, queue.backlog().packets);
}
