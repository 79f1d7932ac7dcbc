//! Any bytes as a discipline with any parameters and whatever may happen to it: what the fuzz target `queue_steps` and
//! the property test of the same name share. Laws of what comes out in which order are tested elsewhere.

use std::sync::LazyLock;

use serde_json::Value;
use tailback_core::{
    Annexes, BitRate, Bytes, Capacity, Checker, DropReason, Ecn, FlowId, Kind, Lane, Packet, QueueCx,
    QueueDiscipline, Span, Stream, Time,
};
use tailback_qdisc::{ALL, BuildCx, Config, Discipline, FlowHosts};

/// Bytes to decide by; zeros when they run out.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn among<T: Copy>(&mut self, values: &[T]) -> T {
        values[usize::from(self.byte()) % values.len()]
    }
}

const NUMBERS: [f64; 14] = [0.0, 1e-9, 0.001, 0.1, 0.5, 0.9, 1.0, 2.0, 10.0, 1e3, 1e6, 1e12, 1e18, -1.0];
const WHOLE: [&str; 9] = ["0", "1", "2", "3", "10", "100", "1500", "100000", "4000000000"];

/// Changes some of the parameters, each to a value of its own kind.
fn change(value: &mut Value, choices: &mut Choices<'_>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut().filter(|(name, _)| *name != "name") {
                if choices.byte() < 80 {
                    if let Some(list) = lists(name, choices) {
                        *field = serde_json::from_str(list).expect(list);
                    }
                    change(field, choices);
                }
            }
        }
        Value::Array(members) => members.iter_mut().for_each(|member| change(member, choices)),
        Value::Bool(on) => *on = !*on,
        Value::Number(number) if number.is_f64() => *value = choices.among(&NUMBERS).into(),
        Value::Number(_) => *value = choices.among(&[0_u32, 1, 2, 3, 7, 1024, u32::MAX]).into(),
        Value::String(text) => {
            if let Some((_, unit)) = text.split_once(' ') {
                *text = format!("{} {unit}", choices.among(&WHOLE));
            }
        }
        Value::Null => {
            *value = choices.among(&["1 packet", "5 packets", "2 kB", "3 ms", "1 Mbit/s"]).into();
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
        "classes" => {
            &[r#"[{"flows":[1],"lane":1}]"#, r#"[{"flows":[0,2],"rate":"1 Mbit/s","burst":"3000 B"}]"#]
        }
        "lanes" => &[r"[{},{}]", r#"[{},{"queue":{"name":"codel"},"buffer":"3 packets"},{}]"#],
        "levels" => &[r#"[{"frame":"1 ms","part":0.3,"flows":[0]},{"frame":"7 ms","part":0.3}]"#],
        "queue" => &[
            r#"{"name":"codel"}"#,
            r#"{"name":"framed-round-robin","frame":"2 ms"}"#,
            r#"{"name":"fq-codel"}"#,
        ],
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

/// A discipline with parameters that its check accepts.
fn config(choices: &mut Choices<'_>) -> Option<Config> {
    let which = usize::from(choices.byte()) % ALL.len();
    let mut written = DEFAULTS[which].clone();
    change(&mut written, choices);
    let config: Config = serde_json::from_value(written).ok()?;
    let mut checker = Checker::new();
    config.check(&mut checker);
    checker.finish().is_ok().then_some(config)
}

/// A server that keeps to what a link promises its queue, and asks after each step whether the books balance.
struct Server {
    queue: Discipline,
    name: &'static str,
    /// More than this never waits; unlimited where the discipline has buffers of its own.
    most: u64,
    rate: BitRate,
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

    fn serve(&mut self) {
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
        }
    }

    /// Lets time pass; timers run when they are due.
    fn wait(&mut self, span: Span) {
        let until = self.now + span;
        while let Some(due) = self.queue.next_timer().filter(|due| *due <= until) {
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
    let mut choices = Choices(bytes);
    let Some(config) = config(&mut choices) else { return false };
    let capacity = choices.among(&[
        Capacity::Packets(10),
        Capacity::Packets(0),
        Capacity::Packets(1),
        Capacity::Packets(100),
        Capacity::Bytes(Bytes::new(4000)),
        Capacity::Unlimited,
    ]);
    let rate = BitRate::from_bits_per_sec(choices.among(&[8_000_000, 1, 1000, 400_000_000_000]));
    let name = config.name();
    let most = match capacity {
        Capacity::Packets(most) if !["priority", "token-bucket"].contains(&name) => u64::from(most.max(1)),
        _ => u64::MAX,
    };
    let cx = BuildCx { capacity, rate, mean_packet: Bytes::new(1000), hosts: FlowHosts::default() };
    let mut server = Server {
        queue: config.build(&cx).into_discipline(),
        name,
        most,
        rate,
        rng: Stream::new(u64::from(choices.byte()), "queue"),
        annexes: Annexes::new(),
        drops: Vec::new(),
        now: Time::ZERO,
        idle_since: Some(Time::ZERO),
        entered: (0, 0),
        left: (0, 0),
    };
    let mut number = 0;
    while !choices.0.is_empty() {
        let step = choices.byte();
        match step % 8 {
            0..5 => {
                let packet = packet(&mut choices, number, high);
                for _ in 0..=step / 64 {
                    number += 1;
                    server.arrive(packet);
                }
            }
            5 | 6 => server.serve(),
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
