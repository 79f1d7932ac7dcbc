//! Any bytes as a discipline with any parameters and whatever may happen to it: what the fuzz target `queue_steps` and
//! the property test of the same name share. Laws of what comes out in which order are tested elsewhere.

use std::sync::LazyLock;

use serde_json::Value;
use tailback_core::{
    Annexes, BitRate, Bytes, Capacity, Checker, DropReason, Ecn, FlowId, Kind, Lane, Packet, QueueCx,
    QueueDiscipline, Span, Stream, Time,
};
use tailback_qdisc::{ALL, BuildCx, Config, Discipline, KnownFlows};

use crate::choices::Choices;

const NUMBERS: [f64; 18] = [
    0.0,
    5e-324,
    1e-300,
    1e-9,
    0.001,
    0.1,
    0.5,
    0.9,
    1.0,
    2.0,
    10.0,
    1e3,
    1e6,
    1e12,
    1e18,
    1e300,
    f64::MAX,
    -1.0,
];
const WHOLE: [&str; 9] = ["0", "1", "2", "3", "10", "100", "1500", "100000", "4000000000"];
const TIMES: [&str; 4] = ["ns", "us", "ms", "s"];
/// Queues within queues are no deeper.
const DEPTH: usize = 3;

/// Changes some of the parameters, each to a value of its own kind.
fn change(value: &mut Value, depth: usize, choices: &mut Choices<'_>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut().filter(|(name, _)| *name != "name") {
                if name == "queue" && depth < DEPTH {
                    if choices.byte() % 2 == 1 {
                        *field = any(choices);
                    }
                    change(field, depth + 1, choices);
                } else if choices.byte() < 80 {
                    if let Some(list) = lists(name, choices) {
                        *field = serde_json::from_str(list).expect(list);
                    }
                    change(field, depth, choices);
                }
            }
        }
        Value::Array(members) => members.iter_mut().for_each(|member| change(member, depth, choices)),
        Value::Bool(on) => *on = !*on,
        Value::Number(number) if number.is_f64() => *value = choices.among(&NUMBERS).into(),
        Value::Number(_) => *value = choices.among(&[0_u32, 1, 2, 3, 7, 1024, u32::MAX]).into(),
        Value::String(text) => {
            if let Some((_, unit)) = text.split_once(' ') {
                let unit = if TIMES.contains(&unit) { choices.among(&TIMES) } else { unit };
                *text = format!("{} {unit}", choices.among(&WHOLE));
            }
        }
        Value::Null => {
            *value = choices
                .among(&["1 packet", "5 packets", "2 kB", "3 ms", "1 ns", "1 Mbit/s", "1 bit/s"])
                .into();
        }
    }
}

/// Lists that are empty by default, and such of which each member has parameters.
fn lists(name: &str, choices: &mut Choices<'_>) -> Option<&'static str> {
    let known: &[&str] = match name {
        "shares" => &[
            r#"[{"flows":[0],"weight":3.0}]"#,
            r#"[{"flows":[0,1,4294967295],"weight":0.5,"together":true},{"flows":[2],"weight":2.5}]"#,
        ],
        "classes" => &[
            r#"[{"flows":[1],"lane":1}]"#,
            r#"[{"flows":[0,2],"rate":"1 Mbit/s","burst":"3000 B","queue":{"name":"pie"}}]"#,
            r#"[{"flows":[0],"rate":"1 bit/s","burst":"1 B"},{"flows":[2],"queue":{"name":"codel"}}]"#,
        ],
        "lanes" => &[
            r"[{},{}]",
            r#"[{},{"queue":{"name":"pie"},"buffer":"3 packets"},{}]"#,
            r#"[{"queue":{"name":"token-bucket","rate":"1 Mbit/s"}},{"queue":{"name":"rem"},"buffer":"0 packets"}]"#,
        ],
        "levels" => &[r#"[{"frame":"1 ms","part":0.3,"flows":[0]},{"frame":"7 ms","part":0.3}]"#],
        "codepoints" => &[r#"[{"flows":[0,3],"codepoint":"EF"},{"flows":[70000],"codepoint":"CS1"}]"#],
        "isolation" => &[r#""flowblind""#, r#""dual-dsthost""#, r#""hosts""#],
        "tins" => &[r#""diffserv8""#, r#""diffserv4""#, r#""besteffort""#],
        "framing" => &[r#""atm""#, r#""ptm""#],
        "ack_filter" => &[r#""on""#, r#""aggressive""#],
        "victim" => &[r#""longest-head""#, r#""arriving""#],
        _ => return None,
    };
    Some(choices.among(known))
}

/// Every discipline's defaults, written once: that takes as long as many an input.
static DEFAULTS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    ALL.iter().map(|one| serde_json::to_value((one.default)()).expect("defaults can be written")).collect()
});

/// Any discipline's defaults.
fn any(choices: &mut Choices<'_>) -> Value {
    DEFAULTS[usize::from(choices.byte()) % ALL.len()].clone()
}

/// A discipline with parameters that its check accepts. One that it does not accept is refused by the names of fields.
fn config(choices: &mut Choices<'_>) -> Option<Config> {
    let mut written = any(choices);
    change(&mut written, 0, choices);
    let config: Config = serde_json::from_value(written.clone()).ok()?;
    let mut checker = Checker::new();
    config.check(&mut checker);
    let complaints: Vec<_> = checker.finish().err().into_iter().flatten().collect();
    for complaint in &complaints {
        let known = names_a_field(&complaint.field, &written);
        assert!(known, "{}: no field {:?}", config.name(), complaint.field);
    }
    complaints.is_empty().then_some(config)
}

/// Whether this path leads somewhere. What is not written has its default, and so have its members.
fn names_a_field(path: &str, written: &Value) -> bool {
    let mut parts = path.split(['.', '[']).map(|part| part.trim_end_matches(']'));
    let Some(mut place) = parts.next().and_then(|first| written.get(first)) else { return false };
    for part in parts {
        let next = part.parse().map_or_else(|_| place.get(part), |at: usize| place.get(at));
        let Some(next) = next else { return place.is_object() };
        place = next;
    }
    true
}

/// A server that keeps to what a link promises its queue, and asks after each step whether the books balance.
struct Server {
    queue: Discipline,
    name: &'static str,
    /// More than this never waits; unlimited where the discipline has buffers of its own.
    most: u64,
    rate: BitRate,
    /// Whether the rate may change, and the line may stand still.
    attended: bool,
    rng: Stream,
    annexes: Annexes,
    drops: Vec<(Packet, DropReason)>,
    now: Time,
    idle_since: Option<Time>,
    entered: (u64, u64),
    left: (u64, u64),
}

impl Server {
    fn call<T>(&mut self, act: impl FnOnce(&mut Discipline, Time, &mut QueueCx<'_>) -> T) -> T {
        let mut cx = QueueCx {
            rng: &mut self.rng,
            annexes: &mut self.annexes,
            rate: self.rate,
            idle_since: self.idle_since,
            drops: &mut self.drops,
            marks: 0,
        };
        let result = act(&mut self.queue, self.now, &mut cx);
        for (packet, _) in self.drops.drain(..) {
            self.left = (self.left.0 + 1, self.left.1 + packet.size().get());
        }
        result
    }

    /// The discipline tells what it knows, and each value is a number.
    fn observe(&self) {
        self.queue.observe(self.now, &mut |name, value| {
            assert!(value.is_finite(), "{}: {name} is {value} at {}", self.name, self.now);
        });
    }

    fn serve(&mut self) {
        if self.rate == BitRate::ZERO {
            // A link that stands still asks for nothing.
            self.check_books();
            return;
        }
        if let Some(packet) = self.call(QueueDiscipline::dequeue) {
            self.left = (self.left.0 + 1, self.left.1 + packet.size().get());
            self.idle_since = None;
        } else {
            self.idle_since.get_or_insert(self.now);
            if self.queue.backlog().packets > 0 {
                let ready = self.queue.next_ready(self.now);
                assert!(
                    ready.is_some_and(|ready| ready > self.now),
                    "{}: {ready:?} at {}",
                    self.name,
                    self.now
                );
            }
        }
        self.check_books();
    }

    fn check_books(&self) {
        self.observe();
        let backlog = self.queue.backlog();
        assert_eq!(self.entered.0, self.left.0 + u64::from(backlog.packets), "{}: packets", self.name);
        assert_eq!(self.entered.1, self.left.1 + backlog.bytes.get(), "{}: bytes", self.name);
        assert!(u64::from(backlog.packets) <= self.most, "{}: {backlog:?}", self.name);
    }

    fn arrive(&mut self, packet: Packet) {
        self.entered = (self.entered.0 + 1, self.entered.1 + packet.size().get());
        self.call(|queue, now, cx| queue.enqueue(now, packet, cx));
        if self.idle_since.is_some() {
            self.serve();
        } else {
            self.check_books();
        }
    }

    /// Serves until nothing comes any more, and lets time pass for which no test has the patience.
    fn fall_silent(&mut self, span: Span) {
        for _ in 0..1000 {
            if self.idle_since.is_some() || self.rate == BitRate::ZERO {
                break;
            }
            self.serve();
        }
        // Where the line is not idle, a law may have to draw what it was meanwhile look by look.
        if self.idle_since.is_some() || self.attended {
            self.wait(span);
        }
    }

    /// Lets time pass; timers run when they are due. Those that never end, as packets wait, end the pause.
    fn wait(&mut self, span: Span) {
        let until = self.now + span;
        let mut timers = 0;
        while let Some(due) = self.queue.next_timer().filter(|due| *due <= until) {
            timers += 1;
            if timers > 10_000 {
                return;
            }
            self.now = due.max(self.now);
            self.call(QueueDiscipline::on_timer);
            let next = self.queue.next_timer();
            assert!(next.is_none_or(|next| next > self.now), "{}: a timer that never ends", self.name);
        }
        self.now = until;
        if self.idle_since.is_some() && self.queue.backlog().packets > 0 {
            self.serve();
        }
    }
}

fn packet(choices: &mut Choices<'_>, number: u64, high: &[u32]) -> Packet {
    let flow = match choices.byte() {
        173 if !high.is_empty() => choices.among(high),
        byte => [0, 1, 2, 3, 64][usize::from(byte) % 5],
    };
    let kind = choices.among(&[Kind::Data, Kind::Data, Kind::Ack, Kind::Control]);
    let size = choices.among(&[1, 40, 53, 1000, 1500, 65_535]);
    let mut packet = Packet::new(kind, FlowId(flow), number, Bytes::new(size));
    packet.set_ecn(choices.among(&[Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]));
    packet.set_lane(Lane::new(choices.byte() % Lane::COUNT as u8).unwrap_or_default());
    packet
}

/// Whether `bytes` are a discipline that was put to the test: some are parameters that are refused. Some packets are of flows
/// with `high` numbers, which make tables of millions and take a thousand times as long as all the rest.
pub(crate) fn exercise(bytes: &[u8], high: &[u32]) -> bool {
    let mut choices = Choices::new(bytes, 1);
    let Some(config) = config(&mut choices) else { return false };
    let capacity = choices.among(&[
        Capacity::Packets(10),
        Capacity::Packets(0),
        Capacity::Packets(1),
        Capacity::Packets(100),
        Capacity::Bytes(Bytes::new(4000)),
        Capacity::Bytes(Bytes::ZERO),
        Capacity::Bytes(Bytes::new(1)),
        Capacity::Unlimited,
    ]);
    let rate = BitRate::from_bits_per_sec(choices.among(&[8_000_000, 1, 1000, 400_000_000_000]));
    let name = config.name();
    let most = match capacity {
        Capacity::Packets(most) if !["priority", "token-bucket"].contains(&name) => u64::from(most.max(1)),
        _ => u64::MAX,
    };
    let mean_packet = Bytes::new(choices.among(&[1000, 1000, 1, 65_535]));
    let cx = BuildCx { capacity, rate, mean_packet, flows: KnownFlows::default() };
    let attended = choices.byte() % 2 == 1;
    let built = config.build(&cx);
    let mut server = Server {
        queue: if attended { built.into_attended() } else { built.into_discipline() },
        name,
        most,
        rate,
        attended,
        rng: Stream::new(u64::from(choices.byte()), "queue"),
        annexes: Annexes::new(),
        drops: Vec::new(),
        now: Time::ZERO,
        idle_since: Some(Time::ZERO),
        entered: (0, 0),
        left: (0, 0),
    };
    let mut number = 0;
    while !choices.are_over() {
        let step = choices.byte();
        match step % 8 {
            0..5 => {
                let packet = packet(&mut choices, number, high);
                for _ in 0..=step / 64 {
                    number += 1;
                    server.arrive(packet);
                }
            }
            5 | 6 if step < 200 || !attended => server.serve(),
            5 | 6 => {
                let rates = [0, 1, 1000, 8_000_000, 400_000_000_000, u64::MAX];
                server.rate = BitRate::from_bits_per_sec(choices.among(&rates));
                if server.idle_since.is_some() {
                    server.serve();
                }
            }
            _ if step > 250 => {
                let days = choices.among(&[1_u64, 365, 3650]);
                server.fall_silent(Span::from_secs(86_400 * days));
            }
            _ => {
                let nanos = match choices.byte() {
                    // What samples every few nanoseconds has much to do then.
                    173 => 400_000_000,
                    byte => [0_u64, 1, 1000, 100_000, 1_000_000, 30_000_000][usize::from(byte) % 6],
                };
                server.wait(Span::from_nanos(nanos));
            }
        }
    }
    server.rate = server.rate.max(BitRate::from_bits_per_sec(1));
    // What waits comes out, unless the server is one of those that let it wait for a very long time.
    for _ in 0..400 {
        if server.queue.backlog().packets == 0 {
            break;
        }
        server.serve();
        if let (Some(_), Some(ready)) = (server.idle_since, server.queue.next_ready(server.now)) {
            server.now = ready.max(server.now);
        }
    }
    true
}
