//! The shipped scenarios with anything done to their text: what the fuzz target `scenario_text` and the property test of
//! the same name share.

use tailback_scenario::{Run, Scenario};

use crate::choices::Choices;

/// Scenarios that need no other file.
pub(crate) const TEXTS: [&str; 8] = [
    include_str!("../../../../examples/dumbbell.toml"),
    include_str!("../../../../examples/ecn_red.toml"),
    include_str!("../../../../examples/edge_to_edge.toml"),
    include_str!("../../../../examples/graph.toml"),
    include_str!("../../../../examples/lossy_link.toml"),
    include_str!("../../../../examples/parking_lot.toml"),
    include_str!("../../../../examples/web_sessions.toml"),
    include_str!("everything.toml"),
];

/// What may stand where a value or a name stood.
const WORDS: [&str; 40] = [
    "0",
    "1",
    "2",
    "-1",
    "0.5",
    "1e-9",
    "1e9",
    "1e300",
    "nan",
    "inf",
    "true",
    "false",
    "[]",
    "{}",
    "\"\"",
    "\"0 s\"",
    "\"1 ns\"",
    "\"1 h\"",
    "\"3 ms\"",
    "\"1 bit/s\"",
    "\"10 Tbit/s\"",
    "\"5 Mbit/s\"",
    "\"1 B\"",
    "\"40 B\"",
    "\"9000 B\"",
    "\"1 packet\"",
    "\"1000000 packets\"",
    "\"unlimited\"",
    "\"1 BDP\"",
    "\"0.001 BDP\"",
    "\"none\"",
    "\"all\"",
    "\"reno\"",
    "\"monaco\"",
    "\"packet-pair\"",
    "\"fixed-rate\"",
    "\"dualpi2\"",
    "\"hierarchical-round-robin\"",
    "\"surge\"",
    "\"web\"",
];

/// A text altered in a few places: values exchanged, lines left out, doubled or taken from another scenario.
fn altered(choices: &mut Choices<'_>) -> String {
    let mut lines: Vec<String> = TEXTS[choices.below(TEXTS.len())].lines().map(str::to_owned).collect();
    while !choices.are_over() && !lines.is_empty() {
        let at = choices.below(lines.len());
        match choices.below(8) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => {
                let other: Vec<&str> = TEXTS[choices.below(TEXTS.len())].lines().collect();
                lines.insert(at, other[choices.below(other.len())].to_owned());
            }
            3 => {
                let byte = choices.below(256) as u8;
                let place = choices.below(lines[at].chars().count());
                lines[at] = lines[at]
                    .chars()
                    .enumerate()
                    .map(|(n, c)| if n == place { char::from(byte) } else { c })
                    .collect();
            }
            _ => {
                let word = WORDS[choices.below(WORDS.len())];
                if let Some((name, _)) = lines[at].split_once('=') {
                    lines[at] = format!("{name}= {word}");
                }
            }
        }
    }
    lines.join("\n")
}

/// Whether `bytes` are a scenario that was taken. One input in `every` is then written and read again, and runs for a
/// moment, which takes longer than all else.
pub(crate) fn exercise(bytes: &[u8], every: u8) -> bool {
    let text = altered(&mut Choices::new(bytes, 2));
    let scenario = match Scenario::from_toml(&text) {
        Ok(scenario) => scenario,
        Err(problems) => {
            assert!(!problems.errors.is_empty(), "{text}");
            assert!(problems.errors.iter().all(|error| !error.allowed.is_empty()), "{problems}\n{text}");
            return false;
        }
    };
    if bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)).is_multiple_of(every) {
        run(scenario, &text);
    }
    true
}

/// Writes, reads and begins to run a scenario that was made of `text`.
fn run(scenario: Scenario, text: &str) {
    let again =
        Scenario::from_toml(&scenario.to_toml()).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    assert_eq!(again, scenario, "{text}");
    let flows: u64 = scenario.flows.iter().map(|flow| u64::from(flow.count)).sum();
    if flows > 200 {
        return;
    }
    let mut run = match Run::new(scenario, None) {
        Ok(run) => run,
        Err(problems) => {
            assert_eq!(problems.source, "memory", "{problems}\n{text}");
            return;
        }
    };
    for _ in 0..8 {
        if run.now() >= run.end() || run.step().is_err() {
            break;
        }
    }
}
