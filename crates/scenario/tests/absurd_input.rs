//! Values beyond all reason: each is one complaint that names the field and what is allowed, or a run that can be
//! watched and stopped. Ordinary slips are in `bad_input.rs`.

use tailback_scenario::{Run, Scenario, load};

const GOOD: &str = r#"
duration = "2 s"
[topology]
template = "dumbbell"
rate = "10 Mbit/s"
buffer = "50 packets"
queue = "drop-tail"
[[flows]]
name = "a"
scheme = "reno"
source = "bulk"
"#;

/// What stands in the good scenario, what takes its place, the field complained about, and a part of the message.
const ABSURD: &[(&str, &str, &str, &str)] = &[
    ("2 s", "1e12 s", "duration", "below 9e9 s"),
    ("2 s", "1e300 s", "duration", "below 9e9 s"),
    ("\"2 s\"", "inf", "duration", "a time with its unit"),
    ("\"2 s\"", "2020-01-01", "duration", "a time with its unit"),
    ("2 s", "２ s", "duration", "a time with its unit"),
    ("2 s", "2,5 s", "duration", "a time with its unit"),
    ("[topology]", "[[topology]]", "topology", "a table with `template`"),
    ("10 Mbit/s", "1e300 bit/s", "topology.rate", "below 9e9 Gbit/s"),
    ("10 Mbit/s", "10 ms", "topology.rate", "a rate with its unit"),
    ("50 packets", "4294967295 packets", "topology.buffer", "at most 16777216 packets"),
    ("50 packets", "5000000000 packets", "topology.buffer", "a whole number of packets"),
    ("50 packets", "2.5 packets", "topology.buffer", "a whole number of packets"),
    ("50 packets", "1000000000 GB", "topology.buffer", "at most 1000 GB"),
    ("50 packets", "1e9 BDP", "topology.buffer", "at most 4e6 BDP"),
    ("\"a\"", "\"🦀\"", "flows[0].name", "a name of letters"),
    ("\"a\"", "\"../../etc\"", "flows[0].name", "a name of letters"),
    ("name = \"a\"", "name = \"a\"\ncount = 1000000000", "flows[0].count", "up to 1000000"),
    ("name = \"a\"", "name = \"a\"\ncount = 2.0", "flows[0].count", "a whole number"),
    ("\"reno\"", "[\"reno\"]", "flows[0].scheme", "alone or as the `name`"),
    ("\"reno\"", "{ name = \"cubic\", c = 1e308 }", "flows[0].scheme.c", "1e308 is not allowed"),
    ("\"reno\"", "{ name = \"cubic\", c = -inf }", "flows[0].scheme.c", "a number"),
    (
        "\"reno\"",
        "{ name = \"monaco\", target = \"1e15 packets\" }",
        "flows[0].scheme.target",
        "at most 16777216",
    ),
    (
        "\"reno\"",
        "{ name = \"fixed-window\", window = \"1e15 packets\" }",
        "flows[0].scheme.window",
        "1 to 16777216",
    ),
    (
        "\"reno\"",
        "{ name = \"fixed-window\", window = \"0.2 packets\" }",
        "flows[0].scheme.window",
        "1 to 16777216",
    ),
    (
        "source = \"bulk\"",
        "transport = { initial_window = \"1048577 packets\" }",
        "flows[0].transport.initial_window",
        "at most 1048576 packets",
    ),
    (
        "source = \"bulk\"",
        "transport = { initial_window = \"1e300 packets\" }",
        "flows[0].transport.initial_window",
        "fewer than 9e18 packets",
    ),
    ("\"bulk\"", "{ name = \"bulk\", size = \"5 packets\" }", "flows[0].source.size", "an amount of data"),
    (
        "\"drop-tail\"",
        "{ name = \"priority\", lanes = [{}, { queue = { name = \"token-bucket\", queue = { name = \"codle\" } } }] }",
        "topology.queue.lanes[1].queue.queue.name",
        "\"codel\" (the nearest name)",
    ),
    (
        "queue = \"drop-tail\"",
        "reverse = { queue = { name = \"red\", mn = \"3 packets\" } }",
        "topology.reverse.queue.mn",
        "`min` (the nearest name)",
    ),
];

#[test]
fn each_is_one_clear_complaint() {
    assert!(Scenario::from_toml(GOOD).is_ok());
    for (good, absurd, field, allowed) in ABSURD {
        assert!(GOOD.contains(good), "{good}");
        let problems = Scenario::from_toml(&GOOD.replacen(good, absurd, 1)).expect_err(absurd);
        assert_eq!(problems.errors.len(), 1, "{absurd}: {problems}");
        let message = problems.errors[0].to_string();
        assert_eq!(&problems.errors[0].field, field, "{absurd}: {message}");
        assert!(message.contains(allowed), "{absurd}: {message}");
        assert!(message.chars().count() < 700, "{message}");
    }
}

#[test]
fn a_link_from_a_node_to_itself_is_complained_of_once() {
    let text = "duration = \"1 s\"\n[topology]\ntemplate = \"graph\"\n[[topology.links]]\nfrom = \"a\"\nto = \"a\"\n\
                [[flows]]\nname = \"f\"\nscheme = \"sack\"\nfrom = \"a\"\nto = \"a\"\n";
    let problems = Scenario::from_toml(text).expect_err("no such link");
    assert_eq!(problems.errors.len(), 1, "{problems}");
    assert_eq!(problems.errors[0].field, "topology.links[0].to");
}

#[test]
fn texts_of_a_thousand_levels_are_refused() {
    let nested = format!("a = {}1{}", "[".repeat(5000), "]".repeat(5000));
    assert_eq!(Scenario::from_toml(&nested).expect_err("too deep").errors.len(), 1);
    let nested = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    assert_eq!(Scenario::from_json(&nested).expect_err("too deep").errors.len(), 1);
}

#[cfg(unix)]
#[test]
fn files_without_end_are_refused() {
    for (path, told) in [
        ("/dev/zero", "file: /dev/zero (a pipe or a device) is not allowed"),
        ("/", "file: / (a folder) is not"),
    ] {
        let problems = load(path.as_ref()).expect_err("no scenario");
        assert!(problems.to_string().contains(told), "{problems}");
    }
    let trace = GOOD.replace("rate = \"10 Mbit/s\"", "trace = { file = \"/etc/passwd\" }");
    let problems = Scenario::from_toml(&trace).expect_err("no trace").to_string();
    assert!(problems.contains("line 1: not a whole number"), "{problems}");
    assert!(!problems.contains("root:"), "{problems}");
    let replay = GOOD.replace("\"bulk\"", "{ name = \"replay\", file = \"/etc/passwd\" }");
    let problems = Scenario::from_toml(&replay).expect_err("no trace").to_string();
    assert!(problems.contains("line 1: not a time and an amount"), "{problems}");
    assert!(!problems.contains("root:"), "{problems}");
    let folder = std::env::temp_dir().join(format!("tailback-latin-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a writable folder");
    let latin = folder.join("latin.toml");
    std::fs::write(&latin, b"name = \"d\xe9bit\"\n").expect("a writable folder");
    let problems = load(&latin).expect_err("no text").to_string();
    std::fs::remove_dir_all(&folder).expect("the folder can go");
    assert!(problems.contains("latin.toml (no UTF-8 text from byte 9 on) is not allowed"), "{problems}");
}

/// A run can be watched and stopped whatever its rates are: no step takes long.
#[test]
fn a_run_without_measure_goes_on_in_small_steps() {
    let source =
        "{ name = \"datagrams\", rate = \"100 Gbit/s\", size = { name = \"constant\", value = \"1 B\" } }";
    let text = GOOD.replace("\"bulk\"", source).replace("\"reno\"", "\"fixed-rate\"").replace("2 s", "1 h");
    let scenario = Scenario::from_toml(&text).unwrap_or_else(|problems| panic!("{problems}"));
    let mut run = Run::new(scenario, None).unwrap_or_else(|problems| panic!("{problems}"));
    for _ in 0..12 {
        run.step().expect("nothing is logged");
    }
    // The source wants an event in every nanosecond, and a step is of some 2^17 events: a hundredth of the hour,
    // where steps grow to if nothing happens, would take 3.6 · 10¹⁰.
    let now = run.now().as_secs_f64();
    assert!(0.0 < now && now < 0.1, "{now}");
}

/// How a run is cut into steps changes nothing.
#[test]
fn steps_leave_no_seam() {
    let run =
        || Run::new(Scenario::from_toml(GOOD).expect("a good scenario"), None).expect("a good scenario");
    let mut stepped = run();
    while stepped.now() < stepped.end() {
        stepped.step().expect("nothing is logged");
    }
    let hash = |run: Run| run.finish().expect("nothing is logged").hash;
    assert_eq!(hash(stepped), hash(run()));
}
