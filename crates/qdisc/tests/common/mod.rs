//! A server for any discipline, small enough to trust: it plays arrivals in, and writes down what came out when. What
//! must hold of the outcome is checked by the tests that use it.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of this module")]

use tailback_core::{
    Annexes, Backlog, BitRate, Bytes, Capacity, DropReason, Ecn, FlowId, Kind, Lane, Packet, QueueCx,
    QueueDiscipline, Span, Stream, Time,
};
use tailback_qdisc::{ALL, BuildCx, Config, Discipline, KnownFlows};

pub mod wild;

/// One byte per microsecond: service times are whole.
pub const RATE: BitRate = BitRate::from_bits_per_sec(8_000_000);
/// The size behind thresholds in packets.
pub const MEAN_PACKET: Bytes = Bytes::new(1000);

/// An arrival.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    pub at: Time,
    pub flow: u32,
    pub size: u64,
    pub ecn: Ecn,
    pub lane: Lane,
}

impl Job {
    pub fn new(micros: u64, flow: u32, size: u64) -> Self {
        let at = Time::ZERO + Span::from_micros(micros);
        Self { at, flow, size, ecn: Ecn::NotEct, lane: Lane::IN_BAND }
    }
}

/// A packet that was transmitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Departure {
    /// The index of its arrival.
    pub job: usize,
    pub flow: u32,
    pub size: u64,
    pub arrived: Time,
    pub started: Time,
    pub ended: Time,
    pub packet: Packet,
}

/// What came of the arrivals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    pub departures: Vec<Departure>,
    /// The index of each dropped arrival, why, and when.
    pub drops: Vec<(usize, DropReason, Time)>,
    pub marks: u64,
    /// Whether the server stood idle while packets waited.
    pub idled: bool,
    /// The most that waited at once, where more than one packet did.
    pub most: Backlog,
}

impl Outcome {
    pub fn bytes(&self) -> u64 {
        self.departures.iter().map(|departure| departure.size).sum()
    }

    pub fn drops_of(&self, jobs: &[Job], flow: u32) -> usize {
        self.drops.iter().filter(|(job, ..)| jobs[*job].flow == flow).count()
    }
}

/// The description of the tests' link.
pub fn link(capacity: Capacity) -> BuildCx {
    BuildCx { capacity, rate: RATE, mean_packet: MEAN_PACKET, flows: KnownFlows::default() }
}

/// Builds a discipline for the tests' link.
pub fn build(config: &Config, capacity: Capacity) -> Discipline {
    config.build(&link(capacity)).into_discipline()
}

/// Reads a configuration as a scenario writes it.
pub fn config(written: &str) -> Config {
    serde_json::from_str(written).expect(written)
}

/// All disciplines with their defaults, and some with more of their features switched on.
pub fn all() -> Vec<Config> {
    let mut all: Vec<Config> = ALL.iter().map(|info| (info.default)()).collect();
    all.extend(
        [
            r#"{"name":"red","min":"2 packets","max":"5 packets","weight":0.5,"ecn":true,"adaptive":true}"#,
            r#"{"name":"red","measure":"bytes","gentle":false,"wait":false,"min":"2 kB","max":"5 kB","weight":0.3}"#,
            r#"{"name":"codel","target":"1 ms","interval":"5 ms","ecn":true}"#,
            r#"{"name":"fq-codel","target":"1 ms","interval":"5 ms","quantum":"100 B","queues":3}"#,
            r#"{"name":"cake","rtt":"5 ms","tins":"diffserv8","codepoints":[{"flows":[1,2],"codepoint":"AF41"}]}"#,
            r#"{"name":"cake","rate":"6 Mbit/s","rtt":"5 ms","tins":"besteffort","isolation":"flowblind",
                "overhead":"44 B","least_frame":"84 B","framing":"atm","ack_filter":"aggressive"}"#,
            r#"{"name":"cake","rtt":"5 ms","tins":"precedence","ingress":true,"autorate_ingress":true,
                "ack_filter":"on","codepoints":[{"flows":[1,2],"codepoint":"EF"}]}"#,
            r#"{"name":"cake","rate":"6 Mbit/s","rtt":"5 ms","ingress":true}"#,
            r#"{"name":"pie","target":"1 ms","period":"1 ms","alpha":50,"beta":50,"burst":"0 ms","ecn":true}"#,
            r#"{"name":"rem","target":"1 packet","gamma":0.1,"phi":1.5,"ecn":true}"#,
            r#"{"name":"pi","target":"1 packet","a":0.02,"b":0.01,"ecn":true}"#,
            r#"{"name":"avq","virtual_buffer":"3 packets","ecn":true}"#,
            r#"{"name":"step","threshold":"2 packets","drop_others":true}"#,
            r#"{"name":"tdqm","window":"2 ms","rho":{"min":0.2,"max":0.8},"eta":{"min":0.01,"max":0.05}}"#,
            r#"{"name":"deficit-round-robin","quantum":"50 B","buffer":{"victim":"longest-head"},
                "shares":[{"flows":[0],"weight":3},{"flows":[1,2],"weight":2,"together":true}]}"#,
            r#"{"name":"weighted-fair-queueing","shares":[{"flows":[0],"weight":0.1},{"flows":[3],"weight":7}],
                "buffer":{"victim":"arriving"}}"#,
            r#"{"name":"self-clocked-fair-queueing","buffer":{"per_flow":"4 packets"}}"#,
            r#"{"name":"virtual-clock","reserve":0.5,"shares":[{"flows":[0],"weight":0.01}]}"#,
            r#"{"name":"hierarchical-round-robin","levels":[{"frame":"1 ms","part":0.3,"flows":[0]},
                {"frame":"7 ms","part":0.3,"flows":[1]},{"frame":"31 ms","part":0.4}]}"#,
            r#"{"name":"priority","lanes":[{},{"queue":{"name":"deficit-round-robin"}},
                {"queue":{"name":"codel"},"buffer":"3 packets"}],"classes":[{"flows":[2],"lane":2}]}"#,
            r#"{"name":"priority","lanes":[{"queue":{"name":"pie","target":"1 ms","burst":"0 ms"},"buffer":"0 packets"},
                {"queue":{"name":"rem","target":"1 packet","gamma":0.1,"phi":1.5}},
                {"queue":{"name":"token-bucket","rate":"2 Mbit/s","queue":{"name":"tdqm","window":"2 ms"},
                "classes":[{"flows":[1],"rate":"900 bit/s","queue":{"name":"avq","virtual_buffer":"3 packets"}}]}}]}"#,
            r#"{"name":"token-bucket","rate":"4 Mbit/s","burst":"2 kB","queue":{"name":"codel"},
                "classes":[{"flows":[1],"rate":"1 Mbit/s","burst":"500 B"}]}"#,
            r#"{"name":"token-bucket","queue":{"name":"framed-round-robin","frame":"2 ms"}}"#,
        ]
        .iter()
        .map(|written| config(written)),
    );
    all
}

/// The server's state while it plays.
struct Server<'a> {
    queue: &'a mut dyn QueueDiscipline,
    jobs: &'a [Job],
    rng: Stream,
    rate: &'a dyn Fn(Time) -> BitRate,
    annexes: Annexes,
    drops: Vec<(Packet, DropReason)>,
    serving: Option<(Packet, Time, Time)>,
    idle_since: Time,
    outcome: Outcome,
    entered: usize,
}

impl Server<'_> {
    fn call<T>(&mut self, now: Time, act: impl FnOnce(&mut dyn QueueDiscipline, &mut QueueCx<'_>) -> T) -> T {
        let idle_since = self.serving.is_none().then_some(self.idle_since);
        let mut cx = QueueCx {
            rng: &mut self.rng,
            annexes: &mut self.annexes,
            rate: (self.rate)(now),
            idle_since,
            drops: &mut self.drops,
            marks: 0,
        };
        let result = act(self.queue, &mut cx);
        self.outcome.marks += u64::from(cx.marks);
        for (packet, reason) in self.drops.drain(..) {
            self.outcome.drops.push((packet.number as usize, reason, now));
        }
        result
    }

    fn arrive(&mut self, index: usize) {
        let job = self.jobs[index];
        let mut packet = Packet::new(Kind::Data, FlowId(job.flow), index as u64, Bytes::new(job.size));
        packet.set_ecn(job.ecn);
        packet.set_lane(job.lane);
        self.entered += 1;
        self.call(job.at, |queue, cx| queue.enqueue(job.at, packet, cx));
        self.try_to_serve(job.at);
    }

    fn end(&mut self, now: Time) {
        if let Some((packet, started, ended)) = self.serving.take() {
            let job = packet.number as usize;
            let (flow, size, arrived) = (packet.flow.0, packet.size().get(), self.jobs[job].at);
            self.outcome.departures.push(Departure { job, flow, size, arrived, started, ended, packet });
        }
        self.idle_since = now;
        self.try_to_serve(now);
    }

    fn try_to_serve(&mut self, now: Time) {
        if self.serving.is_some() {
            return;
        }
        if let Some(packet) = self.call(now, |queue, cx| queue.dequeue(now, cx)) {
            // A link that stands still begins when it has a rate again.
            let mut steps = (0..).map(|n| now + Span::from_millis(n));
            let begin = steps.find(|at| (self.rate)(*at) > BitRate::ZERO).unwrap_or(now);
            self.serving = Some((packet, now, begin + (self.rate)(begin).span_of(packet.size())));
        } else if self.queue.backlog().packets > 0 {
            self.outcome.idled = true;
            let ready = self.queue.next_ready(now);
            assert!(ready.is_some_and(|ready| ready > now), "packets wait, but for when? {ready:?} at {now}");
        }
    }

    /// Packets are neither made nor lost.
    fn check_conservation(&mut self) {
        let backlog = self.queue.backlog();
        let out = self.outcome.departures.len() + self.outcome.drops.len();
        let inside = backlog.packets as usize + usize::from(self.serving.is_some());
        assert_eq!(self.entered, out + inside, "packets in = out + dropped + inside");
        assert_eq!(backlog.packets == 0, backlog.bytes == Bytes::ZERO, "{backlog:?}");
        if backlog.packets > 1 {
            let most = &mut self.outcome.most;
            *most =
                Backlog { packets: most.packets.max(backlog.packets), bytes: most.bytes.max(backlog.bytes) };
        }
    }
}

/// Plays `jobs`, in order of time, until all are out. Service ends come before arrivals, arrivals before timers.
pub fn serve(queue: &mut dyn QueueDiscipline, jobs: &[Job], seed: u64) -> Outcome {
    serve_at(queue, jobs, seed, &|_| RATE)
}

/// The same at a rate that may change; a packet is transmitted at the rate of its beginning.
pub fn serve_at(
    queue: &mut dyn QueueDiscipline,
    jobs: &[Job],
    seed: u64,
    rate: &dyn Fn(Time) -> BitRate,
) -> Outcome {
    let mut server = Server {
        queue,
        jobs,
        rate,
        rng: Stream::new(seed, "queue"),
        annexes: Annexes::new(),
        drops: Vec::new(),
        serving: None,
        idle_since: Time::ZERO,
        outcome: Outcome::default(),
        entered: 0,
    };
    let mut next_job = 0;
    let mut clock = Time::ZERO;
    loop {
        let end = server.serving.map(|(_, _, ended)| ended);
        let arrival = jobs.get(next_job).map(|job| job.at);
        let blocked = end.is_none() && server.queue.backlog().packets > 0;
        let ready = if blocked { server.queue.next_ready(clock) } else { None };
        let timer = server.queue.next_timer();
        let work = [end, arrival, ready].into_iter().flatten().min();
        // Timers alone do not keep the server going for ever.
        let Some(now) = work else { break };
        let now = timer.map_or(now, |timer| timer.min(now)).max(clock);
        clock = now;
        if end == Some(now) {
            server.end(now);
        } else if arrival == Some(now) {
            server.arrive(next_job);
            next_job += 1;
        } else if timer.is_some_and(|timer| timer <= now) {
            server.call(now, |queue, cx| queue.on_timer(now, cx));
            assert!(server.queue.next_timer().is_none_or(|next| next > now), "a timer that never ends");
        } else {
            server.try_to_serve(now);
        }
        server.check_conservation();
    }
    assert_eq!(server.queue.backlog().packets, 0, "all packets are out in the end");
    server.outcome
}

/// Plays `jobs` through the discipline that `config` names.
pub fn run(config: &Config, capacity: Capacity, jobs: &[Job], seed: u64) -> Outcome {
    serve(&mut build(config, capacity), jobs, seed)
}

/// So many random cases; failures are shrunk and printed, not written beside the sources.
pub fn cases(count: u32) -> proptest::test_runner::Config {
    proptest::test_runner::Config { cases: count, failure_persistence: None, ..Default::default() }
}

/// Random arrivals: bursts and pauses of several flows with packets of several sizes, ECN-capable or not.
pub fn arrivals(flows: u32, most: usize) -> impl proptest::strategy::Strategy<Value = Vec<Job>> {
    use proptest::prelude::*;
    let gap = prop_oneof![3 => Just(0_u64), 3 => 0_u64..1500, 1 => 0_u64..20_000];
    let size = prop_oneof![Just(40_u64), Just(53), Just(1000), Just(1500), 40_u64..1500];
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1)];
    prop::collection::vec((gap, 0..flows, size, ecn, 0_u8..3), 1..most).prop_map(|steps| {
        let mut clock = 0;
        steps
            .into_iter()
            .map(|(gap, flow, size, ecn, lane)| {
                clock += gap;
                let lane = Lane::new(lane).unwrap_or_default();
                Job { ecn, lane, ..Job::new(clock, flow, size) }
            })
            .collect()
    })
}
