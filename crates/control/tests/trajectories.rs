//! Recorded trajectories: what every scheme directs under fixed sequences of acknowledgements, marks and reports, and what its
//! receiver's half reports of a fixed sequence of arrivals, as recorded in `trajectories/`. They hold nobody to any law (that
//! is `conformance.rs` and `receivers.rs`); they show what a change of code changes. Where a change is meant,
//! `RECORD_TRAJECTORIES=1 cargo test -p tailback-control trajectories` records them anew, and the difference is read
//! before it is committed.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::bench::{self, Stamp, What, schemes, told, with_policy};
use crate::script::{NEWEST_PAIR, Op, Script, params};
use tailback_control::Scheme;
use tailback_core::{BitRate, Bytes, Controller as _, ProbePlan, Report, Span};

// ── what happens to senders ──

/// Acknowledgements: slow start, a loss, growth under longer round trips, an echo of a mark, a standing queue, a time-out, a
/// pause, a loss that was none.
fn acknowledgements() -> Vec<Op> {
    let mut all = Vec::new();
    let acks = |all: &mut Vec<Op>, count: u16, rtt: fn(u16) -> u16, idle| {
        for step in 0..count {
            all.extend([Op::Send(8), Op::Ack(2, rtt(step), idle)]);
        }
    };
    acks(&mut all, 20, |_| 100, false);
    all.push(Op::Loss);
    acks(&mut all, 5, |_| 110, false);
    all.push(Op::Recovered);
    acks(&mut all, 60, |step| 100 + step / 2, false);
    all.push(Op::Ecn);
    acks(&mut all, 60, |_| 100, false);
    acks(&mut all, 60, |step| 200 + step, false);
    all.push(Op::Timeout);
    acks(&mut all, 5, |_| 120, false);
    all.push(Op::Recovered);
    acks(&mut all, 60, |_| 110, false);
    all.push(Op::Wait(5_000));
    acks(&mut all, 20, |_| 110, true);
    all.push(Op::Loss);
    all.push(Op::Spurious);
    acks(&mut all, 40, |_| 105, false);
    all
}

/// Marks: none, then ρ on every fourth acknowledgement, η on bursts of four, CE now and then, all of them, and none again.
fn marks() -> Vec<Op> {
    let marked = |step: u16| match step {
        40..100 if step.is_multiple_of(4) => 2,
        100..160 if step % 16 < 4 => 4,
        160..220 if step.is_multiple_of(20) => 1,
        220..240 => 7,
        _ => 0,
    };
    let step = |step: u16| match marked(step) {
        0 => Op::Ack(2, 100, false),
        bits => Op::Marked(2, 100, bits),
    };
    (0..300).flat_map(|number| [Op::Send(8), step(number)]).collect()
}

/// Back-to-back pairs whose acknowledgements come 10 ms apart, then 30 ms, 5 ms, and 10 ms with a loss between them.
fn pairs() -> Vec<Op> {
    let rtt = |step: u16| match step {
        60..120 => 300,
        120..180 => 50,
        _ => 100,
    };
    let mut all: Vec<Op> = (0..240)
        .flat_map(|step| [Op::Send(2), Op::Ack(1, rtt(step), false), Op::Ack(1, rtt(step), false)])
        .collect();
    all.insert(630, Op::Loss);
    all.insert(640, Op::Recovered);
    all
}

/// A path, as receivers see it during a step.
struct Path {
    /// Packets that arrive and that are lost.
    packets: u32,
    lost: u32,
    /// Queued packets of the flow.
    backlog: f64,
    /// How long the gate is to be closed.
    off_for: Span,
}

impl Path {
    /// Free, then loaded, with a standing queue, congested, and free again.
    fn at(step: u32) -> Self {
        let off_for = if step % 40 == 20 { Span::from_millis(500) } else { Span::ZERO };
        match step {
            0..80 => Self { packets: 8, lost: 0, backlog: 0.0, off_for: Span::ZERO },
            80..160 => Self { packets: 8, lost: u32::from(step % 8 == 3), backlog: 4.0, off_for: Span::ZERO },
            160..240 => Self { packets: 8, lost: 0, backlog: 20.0, off_for },
            240..300 => Self { packets: 6, lost: 2, backlog: 40.0, off_for },
            _ => Self { packets: 8, lost: 0, backlog: f64::from(step % 3), off_for: Span::ZERO },
        }
    }

    /// What the receiver of each family says of it.
    fn reports(&self, step: u32) -> [Report; 5] {
        let rate = BitRate::from_bits_per_sec(160_000 * u64::from(self.packets));
        let all = f64::from(self.packets + self.lost);
        [
            Report::Interval {
                span: Span::from_millis(50),
                received: Bytes::new(u64::from(self.packets) * 1000),
                packets: self.packets,
                lost: self.lost,
            },
            Report::Loss { event_rate: f64::from(self.lost) / all / 4.0, receive_rate: rate },
            Report::Accumulation {
                pair: NEWEST_PAIR,
                backlog: self.backlog * 1000.0,
                lost: Bytes::new(u64::from(self.lost) * 1000),
                egress_rate: rate,
                virtual_delay: Span::ZERO,
            },
            Report::Gate { on: self.off_for.is_zero(), off_for: self.off_for },
            Report::Rate {
                rate: rate.mul_f64(0.5 + f64::from(step % 50) / 100.0),
                setpoint: Bytes::new(6000),
            },
        ]
    }
}

/// Reports every 50 ms, with acknowledgements between them, a silence of three seconds, and a report of nonsense.
fn reports() -> Vec<Op> {
    let mut all = Vec::new();
    for step in 0..400_u32 {
        all.extend([Op::Send(8), Op::Wait(30), Op::Ack(8, 200, false)]);
        if step == 320 {
            (0..60).for_each(|_| all.push(Op::Wait(50)));
        }
        all.extend(Path::at(step).reports(step).map(|report| Op::Report(report, 80)));
        if step == 350 {
            let (event_rate, receive_rate) = (f64::NAN, BitRate::ZERO);
            all.push(Op::Report(Report::Loss { event_rate, receive_rate }, 80));
            all.push(Op::Report(Report::Gate { on: false, off_for: Span::from_secs(10) }, 80));
        }
    }
    all
}

// ── what senders direct ──

/// The directives: a line for every event and every fifth of the frequent ones, and for every change of a gate: what
/// happened, window in bytes, rate in bit/s.
fn trajectory(scheme: &Scheme, happenings: &[Op]) -> String {
    let mut runner = Script::new(scheme.build(&params()).controller);
    let mut text = String::from("what,window_bytes,rate_bits\n");
    let (mut acks, mut reports) = (0, 0);
    let mut open = true;
    for op in happenings {
        runner.fire_timers();
        let directive = runner.apply(op);
        let gate = (directive.gate.is_open() != open).then_some(if open { "closes" } else { "opens" });
        open = directive.gate.is_open();
        let what = match op {
            Op::Ack(..) => Some("ack"),
            Op::Marked(..) => Some("marked"),
            Op::Loss => Some("loss"),
            Op::Recovered => Some("recovered"),
            Op::Spurious => Some("spurious"),
            Op::Ecn => Some("ecn"),
            Op::Timeout => Some("timeout"),
            Op::Send(_) | Op::Wait(..=100) => None,
            Op::Wait(_) => Some("wait"),
            Op::Report(report, _) => matches!(report, Report::Rate { .. }).then_some("reports"),
        };
        let is_fifth = |count: &mut u32| {
            *count += 1;
            count.is_multiple_of(5)
        };
        let what = what.filter(|what| match *what {
            "ack" | "marked" => is_fifth(&mut acks),
            "reports" => is_fifth(&mut reports),
            _ => true,
        });
        let window = directive.window.map(Bytes::get).map(|window| window.to_string()).unwrap_or_default();
        let rate = directive.rate.map(BitRate::bits_per_sec).map(|rate| rate.to_string()).unwrap_or_default();
        for what in gate.into_iter().chain(what) {
            writeln!(text, "{what},{window},{rate}").expect("text can be written");
        }
    }
    text
}

/// A sequence by its folder's name, and what is left of it without what it is about.
type Sequence = (&'static str, fn() -> Vec<Op>, fn(&Op) -> Option<Op>);

const SEQUENCES: [Sequence; 4] = [
    ("acknowledgements", acknowledgements, |_| None),
    ("marks", marks, |op| match op {
        Op::Marked(count, rtt, _) => Some(Op::Ack(*count, *rtt, false)),
        other => Some(other.clone()),
    }),
    ("pairs", pairs, |_| None),
    ("reports", reports, |op| if matches!(op, Op::Report(..)) { None } else { Some(op.clone()) }),
];

/// The schemes that a sequence moves otherwise than the rest of it would alone: a record of any other would say nothing.
fn moved(sequence: &Sequence) -> Vec<(&'static str, String)> {
    let (folder, all, without) = sequence;
    let all = all();
    let rest: Vec<Op> = all.iter().filter_map(without).collect();
    let trajectories = schemes().into_iter().map(|(name, scheme)| {
        let told = trajectory(&scheme, &all);
        let directive = scheme.build(&params()).controller.directive();
        let is_paired = matches!(directive.probe, Some(ProbePlan::DataPairs { .. }));
        let concerns = is_paired || *folder != "pairs";
        let found = directed(&told);
        (concerns && found.len() > 3 && found != directed(&trajectory(&scheme, &rest)))
            .then_some((name, told))
    });
    trajectories.flatten().collect()
}

/// What is directed, each once where it stays so.
fn directed(trajectory: &str) -> Vec<&str> {
    let lines = trajectory.lines().skip(1).filter(|line| !line.starts_with("reports"));
    let is_gate = |line: &str| line.starts_with("closes") || line.starts_with("opens");
    let said =
        lines.filter_map(|line| if is_gate(line) { Some(line) } else { Some(line.split_once(',')?.1) });
    let mut said: Vec<&str> = said.collect();
    said.dedup();
    said
}

// ── what receivers report ──

/// Pairs of data, with control packets between them: without loss, every twentieth missing, a burst missing, marks,
/// reordering, half the rate, a pause, absurd stamps, every third missing, and none again.
fn arrivals() -> Vec<bench::Op> {
    let mut all = Vec::new();
    for number in 0..1500_u32 {
        let first = number.is_multiple_of(2);
        let marked = if (700..800).contains(&number) && number % 10 < 2 { 64 } else { 0 };
        let apart = match number {
            900..1000 if first => 36_000,
            1000 => 2_000_000,
            _ if first => 16_000,
            _ => 4_000,
        };
        let step = match number {
            200..600 if number.is_multiple_of(20) => 2,
            620 => 6,
            800..900 if number % 10 == 5 => 3,
            800..900 if number % 10 == 6 => -1,
            1100..1300 if number.is_multiple_of(3) => 2,
            _ => 1,
        };
        let stamp = match number {
            1020 => Stamp::Forged(u64::MAX, 7),
            1021 => Stamp::Forged(3, u64::MAX / 2),
            1030..1040 => Stamp::None,
            _ => Stamp::Honest,
        };
        // A pair's place is the remainder of 3: 64 makes it a first, 65 a second.
        let marks = if first { marked.max(1) } else { marked.max(1) + 1 };
        all.push(bench::Op { after: apart, kind: What::Data, step, marks, stamp });
        if number % 10 == 9 {
            // How long the second is queued tells of the flow's accumulation.
            let queued = if (300..500).contains(&number) { 9_000 } else { 1_500 };
            let control =
                |after, first| bench::Op { after, kind: What::Control(first), step: 0, marks: 0, stamp };
            all.extend([control(500, true), control(queued, false)]);
        }
    }
    all
}

/// The reports, of more than 400 every tenth and all that close or open a gate: when in milliseconds, and what.
fn reported(scheme: &Scheme) -> String {
    let mut text = String::from("at_ms,report\n");
    let all = told(scheme, &arrivals());
    let every = if all.len() > 400 { 10 } else { 1 };
    let mut open = true;
    for (number, (at, outgoing)) in all.into_iter().enumerate() {
        let rate = |rate: BitRate| rate.bits_per_sec();
        let said = match &outgoing.report {
            Report::Interval { span, received, packets, lost } => {
                format!("interval,{:.6},{},{packets},{lost}", span.as_secs_f64(), received.get())
            }
            Report::Loss { event_rate, receive_rate } => {
                format!("loss,{event_rate:.9},{}", rate(*receive_rate))
            }
            Report::Accumulation { backlog, lost, egress_rate, .. } => {
                format!("accumulation,{backlog:.6},{},{}", lost.get(), rate(*egress_rate))
            }
            Report::Gate { on, off_for } => format!("gate,{on},{:.6}", off_for.as_secs_f64()),
            Report::Rate { rate: of, setpoint } => format!("rate,{},{}", rate(*of), setpoint.get()),
            Report::Arrivals { first, words, .. } => {
                let came = words.iter().filter(|word| word.is_received()).count();
                format!("arrivals,{first},{},{came}", words.len())
            }
            Report::Custom(values) => format!("custom,{values:?}"),
        };
        let before = open;
        if let Report::Gate { on, .. } = outgoing.report {
            open = on;
        }
        if open != before || number % every == 0 {
            writeln!(text, "{:.3},{said}", at.as_nanos() as f64 / 1e6).expect("text can be written");
        }
    }
    text
}

// ── records ──

/// All trajectories, each with its folder and its name.
fn found() -> Vec<(&'static str, &'static str, String)> {
    let moved = |sequence: &Sequence| {
        let folder = sequence.0;
        moved(sequence).into_iter().map(move |(name, found)| (folder, name, found))
    };
    let senders = SEQUENCES.iter().flat_map(moved);
    let receivers = with_policy().into_iter().map(|(name, scheme)| ("arrivals", name, reported(&scheme)));
    senders.chain(receivers).collect()
}

fn file(folder: &str, name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/trajectories")
        .join(folder)
        .join(format!("{name}.csv"))
}

/// Whether two fields agree: to a part in a million, whole numbers to a unit, since a platform's `cbrt` may differ in the
/// last digit.
fn agree(found: &str, recorded: &str) -> bool {
    match (found.parse::<f64>(), recorded.parse::<f64>()) {
        (Ok(value), Ok(old)) if recorded.contains('.') => (value - old).abs() <= 1e-6 * old.abs().max(1.0),
        (Ok(value), Ok(old)) => (value - old).abs() <= 1.0 + 1e-6 * old.abs(),
        _ => found == recorded,
    }
}

#[test]
fn every_scheme_does_what_it_did() {
    let anew = std::env::var_os("RECORD_TRAJECTORIES").is_some();
    for (folder, name, found) in found() {
        let file = file(folder, name);
        if anew {
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder can be made");
            std::fs::write(&file, &found).expect("a record can be written");
        }
        // A scheme that has just joined has no record yet; the test below counts those that have.
        let Ok(before) = std::fs::read_to_string(&file) else { continue };
        assert_eq!(found.lines().count(), before.lines().count(), "{folder}/{name}");
        for (number, (line, old)) in found.lines().zip(before.lines()).enumerate() {
            let same = line.matches(',').count() == old.matches(',').count()
                && line.split(',').zip(old.split(',')).all(|(found, old)| agree(found, old));
            assert!(same, "{folder}/{name}, line {}: {line}, and was {old}", number + 1);
        }
    }
}

#[test]
fn records_are_of_schemes_that_move() {
    let found = found();
    for (folder, least) in
        [("acknowledgements", 13), ("marks", 1), ("pairs", 1), ("reports", 12), ("arrivals", 12)]
    {
        let path = file(folder, "none").parent().expect("a folder").to_owned();
        let mut count = 0;
        for entry in std::fs::read_dir(path).expect("the records") {
            let path = entry.expect("a record").path();
            let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
            let is_found = found.iter().any(|(of, scheme, _)| *of == folder && *scheme == name);
            assert!(is_found, "{folder}/{name} is recorded, and no such scheme moves");
            count += 1;
        }
        assert!(count >= least, "{count} schemes are recorded in {folder}");
    }
}
