//! Estimates of accumulation against the truth, which the simulator knows: Monaco's is unbiased where traffic on the way
//! back or a longer route mislead Vegas (Xia et al., §IV-C).

use std::fmt::Write;

use tailback_scenario::table::Table;
use tailback_scenario::{Outcome, Run, Scenario};

/// Bytes: Table I's three packets.
const TARGET: f64 = 3000.0;

fn run(text: &str) -> Outcome {
    let scenario = Scenario::from_toml(text).unwrap_or_else(|problems| panic!("{problems}"));
    Run::new(scenario, None).and_then(Run::finish).unwrap_or_else(|problems| panic!("{problems}"))
}

fn flow(scheme: &str, name: &str, from: &str, to: &str) -> String {
    format!(
        "[[flows]]\nname = \"{name}\"\nscheme = \"{scheme}\"\nfrom = \"{from}\"\nto = \"{to}\"\n\
         transport = {{ segment_size = \"1000 B\", initial_window = \"2 packets\" }}\n"
    )
}

const RECORD: &str = "[record]\naccumulation = true\nbin = \"2 ms\"\n";

/// Figure 4's network: flows of one scheme in both directions, less bandwidth on the way back.
fn reverse_congestion(scheme: &str, back: u32) -> String {
    let mut text = format!(
        "duration = \"40 s\"\n{RECORD}[topology]\ntemplate = \"graph\"\n[[topology.links]]\nfrom = \"r0\"\nto = \"r1\"\n\
         rate = \"45 Mbit/s\"\ndelay = \"10 ms\"\nbuffer = \"unlimited\"\nqueue = \"priority\"\n\
         reverse = {{ rate = \"{back} Mbit/s\" }}\n"
    );
    let mut flows = String::new();
    for index in 0..7 {
        for (name, left, right) in [("forth", "s", "d"), ("back", "t", "u")] {
            for (from, to) in
                [(format!("{left}{index}"), "r0".to_owned()), ("r1".to_owned(), format!("{right}{index}"))]
            {
                write!(text,
                    "[[topology.links]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"100 Mbit/s\"\ndelay = \"1 ms\"\n\
                     buffer = \"unlimited\"\nqueue = \"priority\"\n"
                ).expect("a string");
            }
            let (mut near, mut far) = (format!("{left}{index}"), format!("{right}{index}"));
            if name == "back" {
                std::mem::swap(&mut near, &mut far);
            }
            flows += &flow(scheme, &format!("{name}-{index}"), &near, &far);
        }
    }
    text + &flows
}

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
        write!(text,
            "[[topology.links]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate} Mbit/s\"\nbuffer = \"unlimited\"\n\
             queue = \"priority\"\n{more}\n"
        ).expect("a string");
    }
    text + &flow(scheme, "flow", "s", "d")
}

/// What a flow keeps in the network on average between two times, in seconds, and the mean error of its estimates, both
/// in bytes.
///
/// An estimate is compared with what there was when it was taken. It becomes known when a packet has waited through the
/// queues, and so a queueing time, by Little's law the estimate over the flow's rate, later. The plain means of both do
/// not compare: one estimate is made per round trip, and round trips are long when queues are.
fn means(outcome: &Outcome, table: &Table, begin: f64, end: f64) -> (f64, f64) {
    let wanted = |bin: &usize| outcome.times[*bin] > begin && outcome.times[*bin] <= end;
    let bins: Vec<usize> = (0..outcome.times.len()).filter(wanted).collect();
    let (exact, estimate) =
        (table.quantities("mean_accumulation_bytes"), table.quantities("estimated_accumulation_bytes"));
    let mean = |values: &[f64]| {
        assert!(!values.is_empty(), "nothing between {begin} and {end} s");
        values.iter().sum::<f64>() / values.len() as f64
    };
    let kept: Vec<f64> = bins.iter().map(|bin| exact[*bin]).collect();
    let received: u64 = bins.iter().map(|bin| table.counts("received_bytes")[*bin]).sum();
    let per_bin = received as f64 / bins.len() as f64;
    let error = |bin: usize| {
        let ago = (estimate[bin] / per_bin).round().max(0.0) as usize;
        estimate[bin] - exact[bin.saturating_sub(ago)]
    };
    let known = bins.into_iter().filter(|bin| !estimate[*bin].is_nan());
    (mean(&kept), mean(&known.map(error).collect::<Vec<f64>>()))
}

/// The same on average over the flows whose names begin so.
fn seen(outcome: &Outcome, prefix: &str, begin: f64, end: f64) -> (f64, f64) {
    let flows = outcome.flow_series.iter().filter(|(name, _)| name.starts_with(prefix));
    let each: Vec<(f64, f64)> = flows.map(|(_, table)| means(outcome, table, begin, end)).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| each.iter().map(of).sum::<f64>() / each.len() as f64;
    (mean(|(exact, _)| *exact), mean(|(_, error)| *error))
}

#[test]
fn monaco_is_unbiased_whatever_is_on_the_way_back() {
    for back in [5, 15, 45] {
        let (exact, error) = seen(&run(&reverse_congestion("monaco", back)), "forth", 20.0, 40.0);
        assert!(error.abs() < 0.05 * TARGET, "{back} Mbit/s back: errs by {error} B");
        assert!((exact - TARGET).abs() < 0.1 * TARGET, "{back} Mbit/s back: {exact} B are kept");
    }
}

#[test]
fn vegas_takes_the_way_back_for_its_own() {
    for (back, least) in [(5, 0.3), (15, 0.0)] {
        // Vegas's estimate is an average over the last round trip; how it relates to an instant is not asked.
        let outcome = run(&reverse_congestion("vegas", back));
        for (name, table) in outcome.flow_series.iter().filter(|(name, _)| name.starts_with("forth")) {
            let made = |bin: &usize| outcome.times[*bin] > 20.0;
            let mean = |column: &str| {
                let values = (0..outcome.times.len()).filter(made).map(|bin| table.quantities(column)[bin]);
                let values: Vec<f64> = values.filter(|value| !value.is_nan()).collect();
                values.iter().sum::<f64>() / values.len() as f64
            };
            let (exact, estimate) = (mean("mean_accumulation_bytes"), mean("estimated_accumulation_bytes"));
            assert!(
                estimate - exact > least * TARGET,
                "{back} Mbit/s back, {name}: {estimate} B for {exact} B"
            );
        }
    }
}

#[test]
fn a_longer_route_misleads_vegas_and_not_monaco() {
    let monaco = run(&longer_route("monaco"));
    for (begin, end) in [(3.0, 10.0), (15.0, 60.0)] {
        let (exact, error) = seen(&monaco, "flow", begin, end);
        assert!(error.abs() < 0.05 * TARGET, "from {begin} s: errs by {error} B");
        assert!((exact - TARGET).abs() < 0.1 * TARGET, "from {begin} s: {exact} B are kept");
    }
    let vegas = run(&longer_route("vegas"));
    let (exact, error) = seen(&vegas, "flow", 15.0, 60.0);
    assert!(exact < 0.05 * TARGET && error > 0.3 * TARGET, "errs by {error} B around {exact} B");
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
