//! Scenarios at work: what is written is what runs.

use tailback_control::{Reliability, SCHEMES};
use tailback_scenario::{Budget, Outcome, Run, Scenario, Start};

fn run(text: &str, seed: Option<u64>) -> Outcome {
    let scenario = Scenario::from_toml(text).unwrap_or_else(|problems| panic!("{problems}"));
    Run::new(scenario, seed).and_then(Run::finish).unwrap_or_else(|problems| panic!("{problems}"))
}

/// A scenario of one flow with this scheme and more.
fn one(flow: &str, topology: &str) -> String {
    format!(
        "duration = \"10 s\"\nwarm_up = \"2 s\"\n[topology]\ntemplate = \"dumbbell\"\n{topology}\n\
         [[flows]]\nname = \"a\"\n{flow}\n"
    )
}

#[test]
fn seeds_tell_runs_apart_and_nothing_else_does() {
    let text = one("scheme = \"sack\"\ncount = 3\nstart = { from = \"0 s\", to = \"1 s\" }", "");
    assert_eq!(run(&text, None).hash, run(&text, None).hash);
    assert_eq!(run(&text, None).hash, run(&text, Some(1)).hash);
    assert_ne!(run(&text, None).hash, run(&text, Some(2)).hash);
}

#[test]
fn another_flow_changes_nobody_elses_start() {
    let text = one("scheme = \"sack\"\ncount = 3\nstart = { from = \"0 s\", to = \"1 s\" }", "");
    let more = format!(
        "{text}[[flows]]\nname = \"b\"\nscheme = \"reno\"\nstart = {{ from = \"0 s\", to = \"1 s\" }}\n"
    );
    let starts = |outcome: &Outcome| outcome.flows.quantities("start_seconds").to_vec();
    let (before, after) = (starts(&run(&text, None)), starts(&run(&more, None)));
    assert_eq!(before, after[..3]);
    assert!(before[0] != before[1], "{before:?}");
}

#[test]
fn datagrams_flow_at_their_rate() {
    let flow =
        "scheme = { name = \"fixed-rate\", rate = \"2 Mbit/s\" }\ndatagram = { segment_size = \"500 B\" }";
    let outcome = run(&one(flow, ""), None);
    // Eight seconds are measured: bytes in all are bits per second.
    let received = outcome.flows_measured.counts("received_bytes")[0] as f64;
    assert!((received / 2e6 - 1.0).abs() < 0.01, "{received} bit/s");
    let sent = outcome.flows.counts("sent_packets")[0];
    assert_eq!(outcome.flows.counts("sent_bytes")[0], sent * 500);
}

#[test]
fn measured_counters_leave_the_warm_up_out() {
    let outcome = run(&one("scheme = \"sack\"", ""), None);
    let (all, measured) =
        (outcome.links.counts("transmitted_bytes"), outcome.links_measured.counts("transmitted_bytes"));
    assert!(measured[0] < all[0]);
    // A single flow behind a buffer of one bandwidth-delay product keeps the link busy.
    let busy = outcome.links_measured.quantities("busy_seconds")[0];
    assert!(busy > 7.9 && busy <= 8.000_001, "{busy}");
}

#[test]
fn schedules_change_the_rate() {
    let schedule = "schedule = [{ at = \"5 s\", rate = \"1 Mbit/s\" }]";
    let outcome = run(&one("scheme = \"sack\"", schedule), None);
    let (_, series) = &outcome.link_series[0];
    let bytes = series.counts("transmitted_bytes");
    let rate = |bins: std::ops::Range<usize>| bytes[bins].iter().sum::<u64>() as f64 * 8.0 / 2.0;
    assert!((rate(28..48) / 10e6 - 1.0).abs() < 0.02, "{}", rate(28..48));
    assert!((rate(78..98) / 1e6 - 1.0).abs() < 0.02, "{}", rate(78..98));
}

#[test]
fn loss_is_counted_where_it_happens() {
    let loss = "loss = { name = \"periodic\", every = 50, offset = 0 }";
    let outcome = run(&one("scheme = \"sack\"\ntransport = { window_limit = \"20 packets\" }", loss), None);
    let (arrived, missing) =
        (outcome.links.counts("arrived_packets"), outcome.links.counts("dropped_loss_packets"));
    assert_eq!(missing[0], arrived[0].div_ceil(50));
    assert_eq!(missing[1], 0);
}

#[test]
fn files_are_told_one_by_one() {
    let flow = "scheme = \"sack\"\nsource = { name = \"files\", size = { name = \"constant\", value = \"20 kB\" }, \
                pause = { name = \"constant\", value = \"500 ms\" }, count = 5 }";
    let outcome = run(&one(flow, ""), None);
    assert_eq!(outcome.messages.counts("size_bytes"), [20_000; 5]);
    assert!(outcome.flows.quantities("finished_seconds")[0] < 10.0);
}

#[test]
fn every_scheme_of_datagrams_can_carry_a_stream() {
    let loss = "rate = \"4 Mbit/s\"\nloss = { name = \"periodic\", every = 20, offset = 5 }";
    let source = "reliable = true\nsource = { name = \"files\", count = 1, size = { name = \"constant\", value = \"60 kB\" } }";
    let datagrams = SCHEMES.iter().filter(|info| info.reliability == Reliability::Datagram);
    let names: Vec<_> = datagrams.map(|info| info.name).collect();
    assert!(names.contains(&"tfrc") && names.contains(&"gcc"), "{names:?}");
    for name in names {
        let outcome = run(&one(&format!("scheme = \"{name}\"\n{source}"), loss), None);
        assert_eq!(outcome.messages.counts("size_bytes"), [60_000], "{name}");
        assert!(outcome.flows.counts("retransmitted_packets")[0] >= 3, "{name}");
    }
}

#[test]
fn a_scheme_of_datagrams_sees_the_same_over_a_stream() {
    // TFRC's rate at 2 % of random loss is that of its equation; of what it may send, a stream sends a part again.
    let loss = "rate = \"100 Mbit/s\"\nloss = { name = \"independent\", probability = 0.02 }";
    let rate = |more: &str| {
        let text = one(&format!("scheme = \"tfrc\"\n{more}"), loss).replace("10 s", "60 s");
        run(&text, None).flows_measured.counts("received_bytes")[0] as f64
    };
    let ratio = rate("reliable = true") / rate("");
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
}

#[test]
fn logs_are_there_only_when_wanted() {
    let text = one("scheme = \"sack\"", "");
    let plain = run(&text, None);
    assert!(plain.packets.0.is_empty() && plain.state.0.is_empty());
    let logged = run(&(text + "[record]\npackets = true\nstate = true\nlinks = [\"r0->r1\"]\n"), None);
    assert!(!logged.packets.counts("number").is_empty());
    assert!(!logged.state.quantities("value").is_empty());
    // By their words: a table may hold numbers that are none, which equal nothing.
    assert_eq!(format!("{:?}", logged.links), format!("{:?}", plain.links), "watching changes nothing");
    assert_eq!(logged.link_series.len(), 1);
}

#[test]
fn queues_tell_their_state_only_when_asked() {
    for (queue, names) in [
        ("red", &["average_packets", "max_p"][..]),
        ("codel", &["sojourn_seconds", "dropping", "drop_count"]),
        ("drop-tail", &[]),
    ] {
        let text = one("scheme = \"sack\"\ncount = 4", &format!("queue = \"{queue}\""));
        let plain = run(&text, None);
        let told = run(&(text + "[record]\nqueue_state = true\n"), None);
        // Two directions: what is watched is the same, and the state stands beside it.
        for ((name, before), (_, after)) in plain.link_series.iter().zip(&told.link_series) {
            let count = before.0.len();
            assert_eq!(after.0[..count], before.0[..], "{name}: watching changes nothing");
            let state: Vec<&str> = after.0[count..].iter().map(|(name, _)| *name).collect();
            assert_eq!(state, names, "{queue}");
            for name in names {
                let values = after.quantities(name);
                assert_eq!(values.len(), told.times.len(), "one {name} per bin");
                assert!(values.iter().all(|value| value.is_finite() && *value >= 0.0));
            }
        }
        for name in names {
            let values = told.link_series[0].1.quantities(name);
            let moves = values.iter().any(|value| *value != values[0]);
            // Only adaptive RED moves this one.
            assert_eq!(moves, *name != "max_p", "{queue}: {name} over a busy link");
        }
    }
}

#[test]
fn building_stops_wherever_it_is_when_nobody_wants_it_any_more() {
    let text = "duration = \"1 s\"\n[topology]\ntemplate = \"dumbbell\"\n[[flows]]\nname = \"f\"\ncount = 1100\nscheme = \"reno\"\n";
    let build = |go_on: &mut dyn FnMut() -> bool| {
        let scenario = Scenario::from_toml(text).expect("a scenario");
        Run::start(scenario, Start { seed: None, budget: Budget::default(), wheel: false, go_on }).is_ok()
    };
    let mut asked = 0;
    assert!(build(&mut || {
        asked += 1;
        true
    }));
    // The layout, the making of links and flows, and three times their settling: each at least once per thousand.
    assert!(asked > 20, "{asked}");
    for last in 0..asked {
        let mut left = last;
        assert!(!build(&mut || {
            left -= 1;
            left >= 0
        }));
    }
}

#[test]
fn a_run_that_is_read_is_the_run_of_the_scenario_that_was_read() {
    // The network is laid out once, when the trace has been read: rates, and buffers in delays at that rate, follow from it.
    let file = std::env::temp_dir().join(format!("tailback-read-{}.trace", std::process::id()));
    std::fs::write(&file, "1\n2\n2\n5\n").expect("a file");
    let text = format!(
        r#"{{"duration": "2 s", "topology": {{"template": "dumbbell", "buffer": "1 BDP", "trace": {{"file": {file:?}}}}},
            "flows": [{{"name": "a", "scheme": "sack", "count": 3}}]}}"#
    );
    let go_on = &mut || true;
    let start = Start { seed: Some(7), budget: Budget::default(), wheel: false, go_on };
    let read = Run::read(&text, start);
    let apart = Scenario::from_json(&text).and_then(|scenario| Run::new(scenario, Some(7)));
    let [apart, read] = [apart, read].map(|run| run.and_then(Run::finish).expect("a run"));
    std::fs::remove_file(&file).expect("it is there");
    assert_eq!(read.hash, apart.hash);
    assert_eq!(format!("{:?}", read.links), format!("{:?}", apart.links));
    let wrong = text.replace("sack", "sock");
    let go_on = &mut || true;
    let start = Start { seed: None, budget: Budget::default(), wheel: false, go_on };
    assert!(Run::read(&wrong, start).is_err());
}
