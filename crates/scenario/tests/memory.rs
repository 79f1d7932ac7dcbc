//! The memory that a run may take: what ends it, and in which words.

use std::cell::Cell;

use tailback_core::Bytes;

use tailback_scenario::{Budget, Outcome, Problems, Run, Scenario, Start};

/// What a row of the log of packets takes, three times over: as it was written, as columns, and in tables made of them.
const ROW: u64 = 3 * 39;

thread_local! {
    /// What a test says is in use: more with every question.
    static GROWTH: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

fn in_use() -> u64 {
    GROWTH.with(|growth| {
        let (now, step) = growth.get();
        growth.set((now + step, step));
        now
    })
}

fn run(text: &str, most: u64, step: u64) -> Result<Outcome, Problems> {
    GROWTH.set((0, step));
    let budget = Budget { most: Bytes::new(most), in_use };
    let start = Start { seed: None, budget, wheel: false, go_on: &mut || true };
    Run::start(Scenario::from_json(text)?, start)?.finish()
}

fn complaint(text: &str, most: u64, step: u64) -> String {
    let problems = run(text, most, step).expect_err("too much");
    assert_eq!(problems.errors.len(), 1, "{problems}");
    problems.errors[0].to_string()
}

const LOGGED: &str = r#"{"duration": "1 s", "topology": {"template": "dumbbell"}, "record": {"packets": true, "state": true},
    "flows": [{"name": "a", "scheme": "reno", "count": 2}]}"#;

#[test]
fn logs_end_a_run_before_they_fill_memory() {
    let whole = run(LOGGED, u64::MAX, 0).expect("a second's packets");
    let rows = whole.packets.counts("time_nanoseconds").len() as u64;
    assert!(rows > 1000);
    assert!(run(LOGGED, 10 * ROW * rows, 0).is_ok());
    let message = complaint(LOGGED, ROW * rows / 2, 0);
    assert!(
        message.starts_with("record.packets: true is not allowed; expected less: what it records takes"),
        "{message}"
    );
}

#[test]
fn memory_ends_a_run_within_a_step_and_names_the_fullest_link() {
    // Ten thousand events are more than one look and less than one step.
    let text = r#"{"duration": "2 s", "topology": {"template": "dumbbell", "rate": "1 Mbit/s", "buffer": "unlimited"},
        "record": {"flows": "none", "links": "none"},
        "flows": [{"name": "a", "scheme": {"name": "fixed-window", "window": "100000 packets"}}]}"#;
    assert!(run(text, 1_000_000_000, 0).is_ok());
    let message = complaint(text, 1_000_000_000, 300_000_000);
    assert!(
        message.contains("access.buffer: unlimited") || message.contains("topology.buffer: unlimited"),
        "{message}"
    );
    assert!(message.contains("a run may take 1.0 GB"), "{message}");
}

#[test]
fn what_is_sure_to_be_too_much_is_refused_before_anything_is_built() {
    let with = |flows: &str, rest: &str| {
        format!(r#"{{"duration": "1 s", "topology": {{"template": "dumbbell"}}, "flows": [{flows}] {rest}}}"#)
    };
    let windows = r#"{"name": "a", "scheme": "reno", "count": 1000, "transport": {"initial_window": "1048576 packets"}}"#;
    let held =
        r#"{"name": "a", "scheme": {"name": "fixed-window", "window": "16777216 packets"}, "count": 100}"#;
    let many = r#"{"name": "a", "scheme": "reno", "count": 100000, "source": "files"}"#;
    let one = r#"{"name": "a", "scheme": "reno", "count": 10}"#;
    let fine = r#", "record": {"bin": "200 ns"}"#;
    let (giga, tenth) = ((1_000_000_000, "1.0 GB"), (100_000_000, "100.0 MB"));
    for (text, (most, told), field) in [
        (
            with(windows, ""),
            giga,
            "flows[0].transport.initial_window: 1048576 packets for each of 1000 flows",
        ),
        (with(held, ""), giga, "flows[0].scheme.window: 16777216 packets for each of 100 flows"),
        (with(many, ""), tenth, "flows[0].count: 100000"),
        (with(one, fine), giga, "record.bin: 200 ns with 10 flows and 2 links"),
    ] {
        let message = complaint(&text, most, 0);
        assert!(message.starts_with(field), "{message}");
        assert!(message.contains(&format!("a run may take {told}")), "{message}");
        let is_recorded = field.starts_with("record");
        assert_eq!(message.contains("expected a longer one: time series take"), is_recorded, "{message}");
        assert_eq!(message.contains("(`--memory`, `memory=`) would do, too"), is_recorded, "{message}");
    }
}

#[test]
fn series_that_outgrow_a_run_ask_for_a_longer_bin() {
    let text = r#"{"duration": "20 s", "topology": {"template": "dumbbell"}, "record": {"bin": "1 ms"},
        "flows": [{"name": "a", "scheme": "reno", "count": 4}]}"#;
    let message = complaint(text, 100_000_000, 10_000_000);
    let told =
        "record.bin: 1 ms with 4 flows and 2 links is not allowed; expected a longer one: time series take";
    assert!(message.starts_with(told) && message.contains("would do, too"), "{message}");
}
