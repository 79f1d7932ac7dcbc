//! Files that a scenario names, traces of links and replays of traffic: what is wrong in them is told with the line, and what was
//! read needs no file any more.

use tailback_scenario::template::TopologyConfig;
use tailback_scenario::{Run, Scenario, load};

use crate::bad_input::{complains, with};

#[test]
fn traces() {
    let folder = std::env::temp_dir().join(format!("tailback-bad-traces-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a writable temporary folder");
    let scenario = folder.join("scenario.toml");
    let problem = |trace: Option<&str>| {
        let _ = std::fs::remove_file(folder.join("link.trace"));
        if let Some(trace) = trace {
            std::fs::write(folder.join("link.trace"), trace).expect("a writable folder");
        }
        std::fs::write(&scenario, with("queue = \"drop-tail\"", "trace = { file = \"link.trace\" }"))
            .expect("a writable folder");
        load(&scenario)
    };
    let good = problem(Some("1\n2\n2\n5\n")).expect("a good trace");
    let moved = problem(Some("1\n2\n2\n5\n")).expect("a good trace");
    assert_eq!(good.hash(), moved.hash());
    assert_ne!(good.hash(), problem(Some("1\n2\n2\n6\n")).expect("a good trace").hash());
    // What was loaded needs no file any more; what was not loaded does not run.
    let ends = |scenario| Run::new(scenario, None).and_then(Run::finish).map(|outcome| outcome.hash);
    let before = ends(good.clone()).expect("a good trace");
    std::fs::remove_file(folder.join("link.trace")).expect("a file to remove");
    assert_eq!(ends(good.clone()).expect("the trace as loaded"), before);
    let mut unread = good;
    if let TopologyConfig::Dumbbell(dumbbell) = &mut unread.topology {
        dumbbell.bottleneck.trace.as_mut().expect("a trace").times = None;
    }
    assert_eq!(ends(unread).expect_err("a trace that was not read").errors[0].field, "topology.trace");
    for (trace, word) in [
        (None, "No such file"),
        (Some("1\nfast\n"), "line 2"),
        (Some("5\n3\n"), "line 2"),
        (Some(""), "empty"),
        (Some("-1\n"), "line 1"),
    ] {
        let problems = problem(trace).expect_err("a bad trace");
        assert_eq!(problems.errors.len(), 1, "{problems}");
        assert_eq!(problems.errors[0].field, "topology.trace.file");
        assert!(problems.to_string().contains(word), "{word:?} in {problems}");
    }
    std::fs::remove_dir_all(&folder).expect("the folder can go");
}

#[test]
fn replays() {
    let folder = std::env::temp_dir().join(format!("tailback-bad-replays-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a writable temporary folder");
    let file = folder.join("replay.csv");
    let text = with("\"0 s\"", &format!("\"0 s\"\nsource = {{ name = \"replay\", file = {file:?} }}"));
    complains(&text, "flows[0].source.file", &["No such file"]);
    std::fs::write(&file, "1 ms, 100 B\n2 ms, 1 cow\n").expect("a writable folder");
    complains(&text, "flows[0].source.file", &["line 2"]);
    std::fs::write(&file, "1 ms, 100 B\n2 ms, 200 B\n").expect("a writable folder");
    let scenario = Scenario::from_toml(&text).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(scenario.to_json().contains("200 B"), "the entries now stand in the scenario");
    std::fs::remove_dir_all(&folder).expect("the folder can go");
    assert!(Scenario::from_json(&scenario.to_json()).is_ok());
}
