//! Recorded trajectories: what every scheme that steers by acknowledgements directs under one fixed sequence of feedback, as
//! recorded in `trajectories/`. They hold nobody to any law (that is `conformance.rs`); they show what a change of code
//! changes. Where a change is meant, `RECORD_TRAJECTORIES=1 cargo test -p tailback-control --test trajectories` records
//! them anew, and the difference is read before it is committed.

#[expect(dead_code, reason = "shared with the conformance suite, which uses all of it")]
use crate::script;

use std::fmt::Write as _;
use std::path::PathBuf;

use script::{Op, Script, params};
use tailback_control::{SCHEMES, Scheme};
use tailback_core::{BitRate, Bytes};

/// What happens: slow start, a loss, growth under longer round trips, an echo of a mark, a standing queue, a time-out, a
/// pause, a loss that was none.
fn happenings() -> Vec<Op> {
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

/// The directives, a line for every event and every fifth acknowledgement: what happened, window in bytes, rate in bit/s.
fn trajectory(scheme: &Scheme) -> String {
    let mut runner = Script::new(scheme.build(&params()).controller);
    let mut text = String::from("what,window_bytes,rate_bits\n");
    let mut acks = 0;
    for op in happenings() {
        let directive = runner.apply(&op);
        let what = match op {
            Op::Send(_) => continue,
            Op::Ack(..) => {
                acks += 1;
                if acks % 5 != 0 {
                    continue;
                }
                "ack"
            }
            Op::Marked(..) => "marked",
            Op::Loss => "loss",
            Op::Recovered => "recovered",
            Op::Spurious => "spurious",
            Op::Ecn => "ecn",
            Op::Timeout => "timeout",
            Op::Wait(_) => "wait",
            Op::Report(..) => "report",
        };
        let window = directive.window.map(Bytes::get).map(|window| window.to_string()).unwrap_or_default();
        let rate = directive.rate.map(BitRate::bits_per_sec).map(|rate| rate.to_string()).unwrap_or_default();
        writeln!(text, "{what},{window},{rate}").expect("text can be written");
    }
    text
}

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/trajectories").join(format!("{name}.csv"))
}

/// Whether two fields agree: to a part in a million, and to a unit, since a platform's `cbrt` may differ in the last digit.
fn agree(found: &str, recorded: &str) -> bool {
    match (found.parse::<f64>(), recorded.parse::<f64>()) {
        (Ok(found), Ok(recorded)) => (found - recorded).abs() <= 1.0 + 1e-6 * recorded.abs(),
        _ => found == recorded,
    }
}

/// Whether a trajectory goes anywhere.
fn moves(trajectory: &str) -> bool {
    let mut said: Vec<&str> =
        trajectory.lines().skip(1).filter_map(|line| line.split_once(',')).map(|line| line.1).collect();
    said.dedup();
    said.len() > 3
}

/// Whoever hears of nothing in this sequence, because it lives on reports or stays as it is, needs no record.
fn recorded() -> impl Iterator<Item = Scheme> {
    SCHEMES.iter().map(|info| (info.default)()).filter(|scheme| moves(&trajectory(scheme)))
}

#[test]
fn every_scheme_directs_what_it_did() {
    let anew = std::env::var_os("RECORD_TRAJECTORIES").is_some();
    for scheme in recorded() {
        let (name, found) = (scheme.name(), trajectory(&scheme));
        if anew {
            std::fs::write(file(name), &found).expect("a record can be written");
        }
        // A scheme that has just joined has no record yet; the test below counts those that have.
        let Ok(before) = std::fs::read_to_string(file(name)) else { continue };
        assert_eq!(found.lines().count(), before.lines().count(), "{name}");
        for (number, (line, old)) in found.lines().zip(before.lines()).enumerate() {
            let same = line.split(',').zip(old.split(',')).all(|(found, old)| agree(found, old));
            assert!(same, "{name}, line {}: {line}, and was {old}", number + 1);
        }
    }
}

#[test]
fn records_are_of_schemes_that_move() {
    let names: Vec<&str> = recorded().map(|scheme| scheme.name()).collect();
    let folder = file("none").parent().expect("a folder").to_owned();
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("the records") {
        let path = entry.expect("a record").path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
        assert!(names.contains(&name), "{name} is recorded, and no such scheme moves");
        count += 1;
    }
    assert!(count >= 7, "{count} schemes are recorded");
}
