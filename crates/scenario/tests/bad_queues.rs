//! Bad parameters of every queue discipline, written as a user writes them: each is refused with its field named.
//! What each discipline checks is tested beside it, in `qdisc`.

use std::collections::BTreeSet;

use tailback_scenario::Scenario;

/// A dumbbell with this queue, over which no flow is ECN-capable.
fn scenario(queue: &str) -> String {
    format!(
        "duration = \"10 s\"\n[topology]\ntemplate = \"dumbbell\"\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n\
         buffer = \"50 packets\"\nqueue = {queue}\n[[flows]]\nname = \"a\"\nscheme = \"reno\"\n"
    )
}

/// Discipline, parameters, and the field that is complained about.
const BAD: &[(&str, &str, &str)] = &[
    ("drop-tail", "buffer = \"5 packets\"", "buffer"),
    ("drop-head", "limit = 5", "limit"),
    ("random-drop", "seed = 1", "seed"),
    ("priority", "lanes = [{}]", "lanes"),
    ("priority", "lanes = [{}, { queue = { name = \"codel\", ecn = true } }]", "lanes[1].queue.ecn"),
    ("priority", "classes = [{ flows = [1], lane = 2 }]", "classes[0].lane"),
    ("priority", "classes = [{ flows = [], lane = 0 }]", "classes[0].flows"),
    ("priority", "classes = [{ flows = [0, 1], lane = 0 }]", "classes[0].flows"),
    (
        "priority",
        "lanes = [{}, { queue = { name = \"virtual-clock\", shares = [{ flows = [1] }] } }]",
        "lanes[1].queue.shares[0].flows",
    ),
    ("round-robin", "buffer = { per_flow = \"1 BDP\" }", "buffer.per_flow"),
    ("weighted-round-robin", "shares = [{ flows = [1] }]", "shares[0].flows"),
    ("weighted-round-robin", "shares = [{ flows = [1], weight = 0 }]", "shares[0].weight"),
    ("cell-round-robin", "shares = [{ flows = [0] }, { flows = [4] }]", "shares[1].flows"),
    ("cell-round-robin", "shares = [{ flows = [1], weight = -1 }]", "shares[0].weight"),
    ("framed-round-robin", "frame = \"1001 ms\"", "frame"),
    ("framed-round-robin", "shares = [{ flows = [1] }]", "shares[0].flows"),
    ("framed-round-robin", "reserve = 0.5\nshares = [{ flows = [1], weight = 3 }]", "shares[0].weight"),
    ("hierarchical-round-robin", "levels = [{ frame = \"2 ms\" }, { frame = \"1 ms\" }]", "levels[1].frame"),
    ("hierarchical-round-robin", "shares = [{ flows = [1] }]", "shares[0].flows"),
    ("hierarchical-round-robin", "levels = [{ frame = \"1 ms\", flows = [1] }, {}]", "levels[0].flows"),
    ("hierarchical-round-robin", "levels = [{ frame = \"5 s\" }]", "levels[0].frame"),
    (
        "hierarchical-round-robin",
        "levels = [{ frame = \"1 ms\", flows = [1] }, { frame = \"9 ms\", flows = [1] }]",
        "levels[1].flows",
    ),
    ("deficit-round-robin", "shares = [{ flows = [4294967295] }]", "shares[0].flows"),
    ("deficit-round-robin", "quantum = \"8 B\"", "quantum"),
    ("self-clocked-fair-queueing", "shares = [{ flows = [1] }]", "shares[0].flows"),
    ("self-clocked-fair-queueing", "shares = [{ flows = [1, 1] }]", "shares[0].flows"),
    ("weighted-fair-queueing", "shares = [{ flows = [1] }]", "shares[0].flows"),
    ("weighted-fair-queueing", "shares = [{ flows = [1], weight = 0 }]", "shares[0].weight"),
    ("virtual-clock", "reserve = 1.5", "reserve"),
    ("virtual-clock", "shares = [{ flows = [1] }]", "shares[0].flows"),
    ("virtual-clock", "reserve = 0.5\nshares = [{ flows = [1], weight = 3 }]", "shares[0].weight"),
    ("cake", "rate = \"0 bit/s\"", "rate"),
    ("cake", "tins = \"diffserv5\"", "tins"),
    ("cake", "codepoints = [{ flows = [1], codepoint = \"EF\" }]", "codepoints[0].flows"),
    ("cake", "codepoints = [{ flows = [0], codepoint = \"EF1\" }]", "codepoints[0].codepoint"),
    ("red", "min = \"20 packets\"\nmax = \"10 packets\"", "max"),
    ("red", "ecn = true", "ecn"),
    ("rem", "phi = 1", "phi"),
    ("rem", "ecn = true", "ecn"),
    ("pi", "a = 1e-5\nb = 2e-5", "a"),
    ("pi", "ecn = true", "ecn"),
    ("pie", "period = \"1 us\"", "period"),
    ("pie", "ecn = true", "ecn"),
    ("codel", "target = \"100 ms\"\ninterval = \"10 ms\"", "interval"),
    ("codel", "ecn = true", "ecn"),
    ("fq-codel", "queues = 0", "queues"),
    ("dualpi2", "ramp_min = \"2 ms\"\nramp_max = \"1 ms\"", "ramp_max"),
    ("avq", "target = 1.1", "target"),
    ("avq", "virtual_buffer = \"0 packets\"", "virtual_buffer"),
    ("avq", "ecn = true", "ecn"),
    ("avd", "gain = 0", "gain"),
    ("step", "threshold = \"0 packets\"", "threshold"),
    ("tdqm", "eta = { min = 0.3, max = 0.2 }", "eta.max"),
    ("tdqm", "window = \"1 ms\"\nshortest_busy_period = \"2 ms\"", "shortest_busy_period"),
    ("token-bucket", "rate = \"0 bit/s\"", "rate"),
    ("token-bucket", "queue = { name = \"red\", ecn = true }", "queue.ecn"),
    ("token-bucket", "classes = [{ flows = [1] }]", "classes[0].flows"),
    (
        "token-bucket",
        "queue = { name = \"virtual-clock\", shares = [{ flows = [1] }] }",
        "queue.shares[0].flows",
    ),
    ("token-bucket", "classes = [{ flows = [1] }, { flows = [1] }]", "classes[1].flows"),
    ("policer", "burst = \"0 B\"", "burst"),
];

#[test]
fn every_discipline_refuses_bad_parameters_by_name() {
    for (name, parameters, field) in BAD {
        let queue = format!("{{ name = \"{name}\", {} }}", parameters.replace('\n', ", "));
        let problems = Scenario::from_toml(&scenario(&queue)).expect_err(&queue);
        let fields: Vec<&str> = problems.errors.iter().map(|error| error.field.as_str()).collect();
        assert!(fields == [format!("topology.queue.{field}")], "{queue}: {problems}");
    }
}

#[test]
fn no_discipline_is_left_out() {
    let tried: BTreeSet<&str> = BAD.iter().map(|(name, ..)| *name).collect();
    let all: BTreeSet<&str> = tailback_qdisc::ALL.iter().map(|info| info.name).collect();
    assert_eq!(tried, all);
}

#[test]
fn with_its_defaults_every_discipline_is_accepted() {
    for info in tailback_qdisc::ALL {
        let written = scenario(&format!("\"{}\"", info.name));
        assert!(Scenario::from_toml(&written).is_ok(), "{}: {:?}", info.name, Scenario::from_toml(&written));
    }
}
