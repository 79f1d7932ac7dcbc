//! Estimates of accumulation against the truth, which the simulator knows: Monaco's is unbiased where a longer route
//! misleads Vegas (`accumulation.txt` §IV-C).

use tailback_scenario::table::Table;
use tailback_scenario::{Outcome, Run, Scenario};

/// Bytes: Table I's three packets.
const TARGET: f64 = 3000.0;

fn run(text: &str) -> Outcome {
    let scenario = Scenario::from_toml(text).unwrap_or_else(|problems| panic!("{problems}"));
    Run::new(scenario, None).unwrap_or_else(|problems| panic!("{problems}")).finish()
}

fn flow(scheme: &str, name: &str, from: &str, to: &str) -> String {
    format!(
        "[[flows]]\nname = \"{name}\"\nscheme = \"{scheme}\"\nfrom = \"{from}\"\nto = \"{to}\"\n\
         transport = {{ segment_size = \"1000 B\", initial_window = \"2 packets\" }}\n"
    )
}

const RECORD: &str = "[record]\naccumulation = true\nbin = \"100 ms\"\n";

/// Figure 5's network: one flow whose way becomes 40 ms longer at 10 s.
fn longer_route(scheme: &str) -> String {
    let mut text = format!("duration = \"60 s\"\n{RECORD}[topology]\ntemplate = \"graph\"\n");
    for (from, to, rate, more) in [
        ("s", "r0", 100, "delay = \"1 ms\""),
        (
            "r0",
            "r1",
            10,
            "delay = \"12 ms\"\nschedule = [{ at = \"10 s\", delay = \"52 ms\" }]\nreverse = {}",
        ),
        ("r1", "d", 100, "delay = \"1 ms\""),
    ] {
        text += &format!(
            "[[topology.links]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate} Mbit/s\"\nbuffer = \"unlimited\"\n\
             queue = \"priority\"\n{more}\n"
        );
    }
    text + &flow(scheme, "flow", "s", "d")
}

/// A flow's mean accumulation and the mean of its estimates between two times, in seconds.
fn means(outcome: &Outcome, table: &Table, begin: f64, end: f64) -> (f64, f64) {
    let wanted: Vec<usize> = (0..outcome.times.len())
        .filter(|bin| outcome.times[*bin] > begin + 1e-9 && outcome.times[*bin] < end + 1e-9)
        .collect();
    let mean = |name: &str| {
        let column = table.quantities(name);
        let values: Vec<f64> =
            wanted.iter().map(|bin| column[*bin]).filter(|value| !value.is_nan()).collect();
        assert!(!values.is_empty(), "no {name} between {begin} and {end} s");
        values.iter().sum::<f64>() / values.len() as f64
    };
    (mean("mean_accumulation_bytes"), mean("estimated_accumulation_bytes"))
}

/// Per flow whose name begins so, accumulation and estimate.
fn seen(outcome: &Outcome, prefix: &str, begin: f64, end: f64) -> Vec<(f64, f64)> {
    let flows = outcome.flow_series.iter().filter(|(name, _)| name.starts_with(prefix));
    flows.map(|(_, table)| means(outcome, table, begin, end)).collect()
}

#[test]
fn a_longer_route_misleads_vegas_and_not_monaco() {
    let monaco = run(&longer_route("monaco"));
    for (begin, end) in [(3.0, 10.0), (15.0, 60.0)] {
        let (exact, estimate) = seen(&monaco, "flow", begin, end)[0];
        assert!((estimate - exact).abs() < 0.05 * TARGET, "from {begin} s: {estimate} for {exact} B");
        assert!((exact - TARGET).abs() < 0.1 * TARGET, "from {begin} s: {exact} B are kept");
    }
    let vegas = run(&longer_route("vegas"));
    let (exact, estimate) = seen(&vegas, "flow", 15.0, 60.0)[0];
    assert!(exact < 0.05 * TARGET && estimate > 0.3 * TARGET, "{estimate} for {exact} B");
}

#[test]
fn accumulation_is_recorded_only_when_asked() {
    let text = longer_route("monaco");
    let asked = run(&text);
    let plain = run(&text.replace("accumulation = true\n", ""));
    let (_, before) = &plain.flow_series[0];
    let (_, after) = &asked.flow_series[0];
    let names: Vec<&str> = after.0[before.0.len()..].iter().map(|(name, _)| *name).collect();
    assert_eq!(
        names,
        [
            "accumulation_bytes",
            "mean_accumulation_bytes",
            "transmitting_bytes",
            "mean_transmitting_bytes",
            "estimated_accumulation_bytes"
        ]
    );
    assert_eq!(
        format!("{:?}", before.0),
        format!("{:?}", &after.0[..before.0.len()]),
        "watching changes nothing"
    );
}
