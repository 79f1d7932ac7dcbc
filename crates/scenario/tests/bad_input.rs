//! Bad scenarios, each with the one clear complaint that it must give. Those whose complaint says what was meant are in
//! `hinted.rs`, and bad files in `bad_files.rs`.

use tailback_scenario::{Run, Scenario, load};

/// A good scenario with some text replaced.
pub(crate) fn with(old: &str, new: &str) -> String {
    let good = r#"
duration = "10 s"
warm_up = "1 s"
[topology]
template = "dumbbell"
rate = "10 Mbit/s"
delay = "20 ms"
buffer = "50 packets"
queue = "drop-tail"
[[flows]]
name = "a"
scheme = "reno"
start = "0 s"
"#;
    assert!(Scenario::from_toml(good).is_ok(), "{:?}", Scenario::from_toml(good));
    assert!(good.contains(old), "{old}");
    good.replacen(old, new, 1)
}

const GRAPH: &str = r#"
duration = "10 s"
[topology]
template = "graph"
[[topology.links]]
from = "a"
to = "b"
[[topology.links]]
from = "b"
to = "c"
one_way = true
[[topology.links]]
from = "c"
to = "a"
one_way = true
[[flows]]
name = "f"
scheme = "sack"
from = "a"
to = "c"
"#;

/// Asserts a single complaint about `field` that contains all of `words`.
#[track_caller]
pub(crate) fn complains(text: &str, field: &str, words: &[&str]) {
    let problems = Scenario::from_toml(text).expect_err("a bad scenario");
    assert_eq!(problems.errors.len(), 1, "{problems}");
    assert_eq!(problems.errors[0].field, field, "{problems}");
    let message = problems.errors[0].to_string();
    for word in words {
        assert!(message.contains(word), "{word:?} in {message}");
    }
}

#[test]
fn rates() {
    complains(
        &with("10 Mbit/s", "-10 Mbit/s"),
        "topology.rate",
        &["\"-10 Mbit/s\"", "a rate that is not negative"],
    );
    complains(&with("10 Mbit/s", "0 Mbit/s"), "topology.rate", &["0 bit/s", "1 bit/s to 100 Tbit/s"]);
    complains(&with("10 Mbit/s", "900 Tbit/s"), "topology.rate", &["100 Tbit/s"]);
    complains(&with("\"10 Mbit/s\"", "10"), "topology.rate", &["10 is not allowed", "a rate with its unit"]);
    complains(&with("10 Mbit/s", "10 Mb"), "topology.rate", &["Mbit/s"]);
}

#[test]
fn delays_and_durations() {
    complains(&with("20 ms", "-20 ms"), "topology.delay", &["a time that is not negative"]);
    complains(&with("20 ms", "2 h"), "topology.delay", &["a delay of at most"]);
    complains(&with("warm_up = \"1 s\"\n", "").replace("10 s", "0 s"), "duration", &["longer than zero"]);
    complains(&with("10 s", "9000 h"), "duration", &["a year"]);
    complains(&with("1 s", "10 s"), "warm_up", &["shorter than `duration` (10 s)"]);
    complains(&with("duration = \"10 s\"", ""), "duration", &["missing", "a time with its unit"]);
}

#[test]
fn buffers() {
    complains(&with("50 packets", "-5 packets"), "topology.buffer", &["a buffer that is not negative"]);
    complains(&with("50 packets", "0 B"), "topology.buffer", &["a positive number of bytes"]);
    complains(&with("50 packets", "5000 BDP"), "topology.buffer", &["0.001 to 1000 BDP"]);
    complains(&with("\"50 packets\"", "50"), "topology.buffer", &["a buffer in packets"]);
}

#[test]
fn schemes_of_the_kernel_and_of_ones_own() {
    let named = |name: &str| with("\"reno\"", &format!("{name:?}"));
    complains(
        &named("kernel-cubic"),
        "flows[0].scheme",
        &["files that `tailback lab` runs", "\"kernel-reno\""],
    );
    complains(
        &with("\"drop-tail\"", "\"my-queue-of-mine\""),
        "topology.queue",
        &["\"red\"", "--custom FILE.py"],
    );
}

#[test]
fn settings_of_a_custom_part_beside_its_name() {
    let scheme = r#"{ name = "custom", part = "mine", gain = 2 }"#;
    complains(
        &with("\"reno\"", scheme),
        "flows[0].scheme.gain",
        &["expected `settings.gain`, if it is a setting", "name, part, settings"],
    );
}

#[test]
fn whole_numbers_too_large_for_toml() {
    let large = with("duration", "seed = 1000000000000000000000000000000\nduration");
    complains(&large, "line 2, column 8", &["9223372036854775807"]);
    let message = Scenario::from_toml(&large).unwrap_err().to_string();
    assert!(!message.contains("i128"), "{message}");
}

#[test]
fn names() {
    complains(
        &with("\"reno\"", "\"cubik\""),
        "flows[0].scheme",
        &["\"cubic\" (the nearest name)", "\"reno\""],
    );
    complains(
        &with("\"drop-tail\"", "\"droptail\""),
        "topology.queue",
        &["\"drop-tail\" (the nearest name)"],
    );
    complains(
        &with("\"drop-tail\"", "{ name = \"redd\" }"),
        "topology.queue.name",
        &["\"red\" (the nearest name)"],
    );
    complains(&with("dumbbell", "dumbell"), "topology.template", &["\"dumbbell\" (the nearest name)"]);
    complains(
        &with("scheme = ", "shceme = \"reno\"\nscheme = "),
        "flows[0].shceme",
        &["`scheme` (the nearest"],
    );
    complains(&with("rate = ", "warp = 9\nrate = "), "topology.warp", &["the fields here are", "access"]);
    complains(&with("name = \"a\"", "name = \"\""), "flows[0].name", &["a name of letters"]);
    complains(&with("\"reno\"", "{ name = \"cubic\", bta = 0.7 }"), "flows[0].scheme.bta", &["`beta`"]);
    complains(&with("\"reno\"", "{ beta = 0.7 }"), "flows[0].scheme.name", &["missing", "\"cubic\""]);
    complains(&with("\"reno\"", "3"), "flows[0].scheme", &["3 is not allowed", "alone or as the `name`"]);
    complains(
        &with("[[flows]]", "[[flows]]\nname = \"a\"\nscheme = \"sack\"\n[[flows]]"),
        "flows[1].name",
        &["no other"],
    );
    let members = with("[[flows]]", "[[flows]]\nname = \"a-1\"\nscheme = \"sack\"\n[[flows]]\ncount = 2");
    complains(&members, "flows[1].name", &["\"a-1\""]);
}

#[test]
fn starts_and_stops() {
    complains(&with("\"0 s\"", "\"5 s\"\nstop = \"2 s\""), "flows[0].stop", &["after the start (5 s)"]);
    complains(&with("\"0 s\"", "\"5 s\"\nstop = \"5 s\""), "flows[0].stop", &["after the start"]);
    complains(&with("\"0 s\"", "\"11 s\""), "flows[0].start", &["before the end of the run (10 s)"]);
    complains(
        &with("\"0 s\"", "{ from = \"3 s\", to = \"1 s\" }"),
        "flows[0].start.to",
        &["at least `from`, 3 s"],
    );
    complains(&with("\"0 s\"", "{ from = \"3 s\" }"), "flows[0].start.to", &["missing", "a time"]);
}

#[test]
fn nodes_and_routes() {
    assert!(Scenario::from_toml(GRAPH).is_ok());
    complains(
        &GRAPH.replace("to = \"c\"\n\"", "").replace("from = \"a\"\nto = \"c\"", "from = \"a\"\nto = \"z\""),
        "flows[0].to",
        &["\"z\"", "\"a\", \"b\", \"c\""],
    );
    complains(
        &GRAPH.replace("from = \"a\"\nto = \"c\"", "from = \"a\"\nto = \"a\""),
        "flows[0].to",
        &["other than"],
    );
    complains(
        &GRAPH.replace("from = \"a\"\nto = \"c\"", "to = \"c\""),
        "flows[0].from",
        &["missing", "a node"],
    );
    let cut =
        GRAPH.replace("from = \"c\"\nto = \"a\"\none_way = true", "from = \"d\"\nto = \"c\"\none_way = true");
    complains(&cut, "flows[0].from", &["acknowledgements can reach"]);
    complains(
        &cut.replace("from = \"a\"\nto = \"c\"", "from = \"c\"\nto = \"a\""),
        "flows[0].to",
        &["links lead to"],
    );
    let route = |nodes: &str| format!("{GRAPH}route = {nodes}\n");
    assert!(Scenario::from_toml(&route("[\"b\"]")).is_ok());
    complains(&route("[\"b\", \"a\", \"b\"]"), "flows[0].route", &["\"a\" twice", "without loops"]);
    complains(&route("[]"), "flows[0].route", &["\"a\" to \"c\"", "links join"]);
    complains(&route("[\"x\"]"), "flows[0].route", &["\"x\""]);
}

#[test]
fn links() {
    let link = |text: &str| with("queue = \"drop-tail\"", text);
    complains(
        &link("loss = { name = \"independent\", probability = 1.5 }"),
        "topology.loss.probability",
        &["0 to 1"],
    );
    complains(&link("loss = 1.5"), "topology.loss", &["1.5 is not allowed", "a number from 0 up to 1"]);
    complains(&link("loss = true"), "topology.loss", &["a number from 0 up to 1, or one of"]);
    complains(
        &link("loss = { name = \"periodic\", every = 1, offset = 0 }"),
        "topology.loss.every",
        &["from 2"],
    );
    complains(
        &link("schedule = [{ at = \"2 s\", rate = \"1 Mbit/s\" }, { at = \"1 s\", rate = \"2 Mbit/s\" }]"),
        "topology.schedule[1].at",
        &["later than the step before, at 2 s"],
    );
    complains(&link("schedule = [{ at = \"2 s\" }]"), "topology.schedule[0]", &["a new `rate`"]);
    complains(
        &link("reordering = { probability = 0.1, hold = { from = \"2 ms\", to = \"1 ms\" } }"),
        "topology.reordering.hold.to",
        &["at least `from`"],
    );
    complains(
        &link("coalescing = { time = \"0 s\" }"),
        "topology.coalescing.time.value",
        &["more than zero"],
    );
    complains(&link("coalescing = {}"), "topology.coalescing.time", &[]);
    complains(
        &link(
            "access = { coalescing = [{ time = \"1 us\" }, { time = { name = \"uniform\", from = \"2 ms\", to = \"1 ms\" } }] }",
        ),
        "topology.access.coalescing[1].time.from",
        &["at most `to`"],
    );
    complains(&link("access = { coalescing = [] }"), "topology.access.coalescing", &["at least one table"]);
    complains(&link("reverse = { rate = \"0 bit/s\" }"), "topology.reverse.rate", &["1 bit/s"]);
    complains(&link("access = { delay = [] }"), "topology.access.delay", &["at least one time"]);
    complains(&link("queue = { name = \"red\", ecn = true }"), "topology.queue.ecn", &["ECN-capable"]);
    complains(
        &link("queue = { name = \"red\", min = \"20 packets\", max = \"10 packets\" }"),
        "topology.queue.max",
        &[],
    );
    let twice = GRAPH.replace("from = \"c\"\nto = \"a\"", "from = \"b\"\nto = \"a\"");
    complains(&twice, "topology.links[2]", &["at most one link per direction"]);
}

#[test]
fn loss_that_changes_has_steps() {
    for loss in ["\"scheduled\"", "{ name = \"scheduled\" }", "{ name = \"scheduled\", steps = [] }"] {
        let text = with("delay = \"20 ms\"", &format!("delay = \"20 ms\"\nloss = {loss}"));
        complains(&text, "topology.loss.steps", &["an empty list", "at least one step"]);
    }
}

#[test]
fn records() {
    complains(&(with("", "") + "[record]\nbin = \"0 s\"\n"), "record.bin", &["longer than zero"]);
    complains(&(with("", "") + "[record]\nflows = [\"b\"]\n"), "record.flows[0]", &["\"b\"", "\"a\""]);
    complains(
        &(with("", "") + "[record]\nlinks = [\"r0->r2\"]\n"),
        "record.links[0]",
        &["\"r0->r1\" (the nearest"],
    );
    complains(&(with("", "") + "[record]\nbin = \"1 ns\"\n"), "record.bin", &["10 million"]);
}

#[test]
fn numbers() {
    let threshold =
        |value: &str| with("\"0 s\"", &format!("\"0 s\"\ntransport = {{ dup_threshold = {value} }}"));
    complains(
        &threshold("5000000000"),
        "flows[0].transport.dup_threshold",
        &["a whole number from 0 up to 4294967295"],
    );
    complains(&threshold("3.5"), "flows[0].transport.dup_threshold", &["3.5", "a whole number"]);
    complains(&threshold("0"), "flows[0].transport.dup_threshold", &["1 to 1000"]);
    let spread = |scheme: &str| {
        let transport = "\"0 s\"\ntransport = { proportional_rate_reduction = true }";
        with("\"0 s\"", transport).replace("\"reno\"", &format!("\"{scheme}\""))
    };
    let field = "flows[0].transport.proportional_rate_reduction";
    complains(&spread("newreno"), field, &["true", "false with \"newreno\"", "selective acknowledgements"]);
    let by_time = |scheme: &str, more: &str| {
        let transport = format!("\"0 s\"\ntransport = {{ loss_detection = \"rack\" }}\n{more}");
        with("\"0 s\"", &transport).replace("\"reno\"", &format!("\"{scheme}\""))
    };
    let field = "flows[0].transport.loss_detection";
    complains(
        &by_time("newreno", ""),
        field,
        &["rack", "dup-acks with \"newreno\"", "selective acknowledgements"],
    );
    let blind = by_time("sack", "receiver = { max_sack_blocks = 0 }");
    complains(&blind, "flows[0].receiver.max_sack_blocks", &["0", "1 to 4 where losses are found by time"]);
    complains(&with("start = ", "count = 0\nstart = "), "flows[0].count", &["from 1 up to 1000000"]);
    complains(&with("start = ", "count = -1\nstart = "), "flows[0].count", &["from 1 up to 1000000"]);
    complains(&with("warm_up", "seed = -1\nwarm_up"), "seed", &["a whole number from 0"]);
    complains(&with("\"reno\"", "{ name = \"cubic\", beta = nan }"), "flows[0].scheme.beta", &["a number"]);
    complains(&with("\"reno\"", "{ name = \"cubic\", beta = \"x\" }"), "flows[0].scheme.beta", &["a number"]);
}

/// A scenario that makes sense and that no run of it would fit into the budget of memory.
fn too_much(text: &str, words: &str) {
    let scenario = Scenario::from_toml(text).unwrap_or_else(|problems| panic!("{problems}"));
    let problems = Run::new(scenario, None).err().expect("too much");
    assert_eq!(problems.errors.len(), 1, "{problems}");
    let message = problems.errors[0].to_string();
    assert!(message.starts_with(words) && message.contains("a run may take 4.0 GB"), "{message}");
}

#[test]
fn series_that_fill_memory() {
    let text = with("scheme = ", "count = 10000\nscheme = ").replace("\"10 s\"", "\"1 h\"");
    too_much(&text, "record.bin: 100 ms with 10000 flows");
    assert!(Scenario::from_toml(&(text + "[record]\nflows = \"none\"\n")).is_ok());
    // 50 million bins; then 10 million of 30 columns, which without those of the links are 10.
    let bins = |record: &str| with("[topology]", &format!("record = {{ {record} }}\n[topology]"));
    complains(&bins("bin = \"201 ns\""), "record.bin", &["10 million"]);
    too_much(&bins("bin = \"1 us\""), "record.bin: 1 µs with 1 flows and 2 links");
    assert!(Scenario::from_toml(&bins("bin = \"1 us\", links = \"none\"")).is_ok());
    too_much(&bins("bin = \"1 us\", links = \"none\", accumulation = true"), "record.bin: 1 µs");
}

#[test]
fn syntax_errors_have_a_place() {
    complains("duration = \"10 s\"\nseed = = 3\n", "line 2, column 8", &["`seed = = 3`", "valid TOML"]);
    complains("duration = \"10 s\"\nduration = \"1 s\"\n", "line 2, column 1", &["duplicate key"]);
    let problems = Scenario::from_json("{\"duration\": \"10 s\",\n }").expect_err("bad JSON");
    assert!(problems.errors[0].field.starts_with("line 2"), "{problems}");
    assert!(
        load("nowhere/at-all.toml".as_ref())
            .expect_err("no file")
            .to_string()
            .contains("nowhere/at-all.toml")
    );
}

#[test]
fn all_problems_come_at_once() {
    let text = with("10 Mbit/s", "ten")
        .replace("20 ms", "2 h")
        .replace("\"reno\"", "\"cubik\"\ncolour = \"red\"")
        .replace("warm_up = \"1 s\"", "warm_up = 1");
    let problems = Scenario::from_toml(&text).expect_err("a bad scenario");
    let fields: Vec<_> = problems.errors.iter().map(|error| error.field.as_str()).collect();
    assert_eq!(fields, ["warm_up", "topology.rate", "flows[0].scheme", "flows[0].colour"], "{problems}");
}

#[test]
fn rates_that_no_network_guarantees() {
    let nominal = |rate| {
        let scheme = format!("{{ name = \"packet-pair\", nominal_rate = \"{rate}\" }}");
        with("\"reno\"", &scheme).replace("\"drop-tail\"", "\"round-robin\"")
    };
    let field = "flows[0].scheme.nominal_rate";
    for absurd in ["10001 kbit/s", "100 Gbit/s", "1000000000 Gbit/s"] {
        complains(&nominal(absurd), field, &["at most 10 Mbit/s"]);
    }
    assert!(Scenario::from_toml(&nominal("10 Mbit/s")).is_ok());
    let faster = nominal("20 Mbit/s").replace(
        "rate = \"10 Mbit/s\"",
        "rate = \"10 Mbit/s\"\nschedule = [{ at = \"1 s\", rate = \"20 Mbit/s\" }]",
    );
    assert!(Scenario::from_toml(&faster).is_ok(), "{:?}", Scenario::from_toml(&faster));
}

#[test]
fn a_source_without_end_needs_a_limit() {
    let text = with("\"reno\"", "\"probabilistic\"");
    complains(
        &text,
        "flows[0].source",
        &["\"bulk\" is not allowed", "ends or has a rate, since \"probabilistic\""],
    );
}

#[test]
fn what_both_directions_have_is_complained_of_once() {
    complains(
        &with("rate = \"10 Mbit/s\"", "rate = \"0 bit/s\"\nreverse = { delay = \"1 ms\" }"),
        "topology.rate",
        &[],
    );
    let shares =
        "queue = { name = \"virtual-clock\", shares = [{ flows = [7] }] }\nreverse = { delay = \"1 ms\" }";
    complains(&with("queue = \"drop-tail\"", shares), "topology.queue.shares[0].flows", &["0 alone"]);
}

#[test]
fn one_reason_is_enough() {
    let files =
        "\"reno\"\nsource = { name = \"files\", size = { name = \"pareto\", mean = \"12 kB\", shape = 0 } }";
    complains(&with("\"reno\"", files), "flows[0].source.size.shape", &["above 0"]);
    let levels = |level| {
        let queue = format!("{{ name = \"hierarchical-round-robin\", levels = [{{ {level} }}] }}");
        with("\"drop-tail\"", &queue)
    };
    complains(&levels("frame = \"0 s\""), "topology.queue.levels[0].frame", &["from 10 µs"]);
    complains(&levels("part = 1e300"), "topology.queue.levels[0].part", &["at most 1"]);
    let step = "queue = \"drop-tail\"\nschedule = [{ at = \"1 s\", rate = \"-1 bit/s\" }]";
    complains(&with("queue = \"drop-tail\"", step), "topology.schedule[0].rate", &["-1 bit/s"]);
}
