//! Every example loads, says the same after a round trip, and runs to a balanced end.

use std::path::PathBuf;

use tailback_core::Span;
use tailback_scenario::{Run, Scenario, load};

fn examples() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let entries = std::fs::read_dir(folder).expect("the folder of examples");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    assert!(paths.len() >= 7, "{paths:?}");
    paths
}

#[test]
fn load_and_round_trip() {
    for path in examples() {
        let scenario = load(&path).unwrap_or_else(|problems| panic!("{problems}"));
        let again = Scenario::from_toml(&scenario.to_toml()).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(again, scenario, "{}", path.display());
        let once_more = Scenario::from_json(&again.to_json()).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(once_more, scenario, "{}", path.display());
        assert_eq!(once_more.hash(), scenario.hash());
        assert_eq!(once_more.to_toml(), scenario.to_toml());
    }
}

#[test]
fn run_and_balance() {
    for path in examples() {
        let mut scenario = load(&path).unwrap_or_else(|problems| panic!("{problems}"));
        scenario.duration = Span::from_secs(12);
        scenario.warm_up = Span::from_secs(2);
        let outcome = |step: Span| {
            let mut run = Run::new(scenario.clone(), None).unwrap_or_else(|problems| panic!("{problems}"));
            while run.now() < run.end() {
                run.advance(step);
            }
            run.finish().unwrap_or_else(|problems| panic!("{problems}"))
        };
        let once = outcome(Span::from_secs(12));
        let cut = outcome(Span::from_millis(37));
        assert_eq!(once.hash, cut.hash, "{}: a run does not depend on where it is cut", path.display());
        let links = &once.links;
        let counts = |name: &str| links.counts(name).to_vec();
        let held = [
            "delivered_packets",
            "dropped_packets",
            "waiting_packets",
            "in_service_packets",
            "propagating_packets",
        ];
        for link in 0..links.counts("arrived_packets").len() {
            let arrived = counts("arrived_packets")[link] + counts("duplicated_packets")[link];
            let sum: u64 = held.iter().map(|name| counts(name)[link]).sum();
            assert_eq!(arrived, sum, "{}: link {link}", path.display());
        }
        let goodput = once.flows.counts("goodput_bytes");
        assert!(goodput.iter().sum::<u64>() > 1_000_000, "{}: {goodput:?}", path.display());
    }
}

#[test]
fn toml_leaves_out_what_goes_without_saying() {
    let text = "duration = \"5 s\"\n[topology]\ntemplate = \"dumbbell\"\nrate = \"10 Mbit/s\"\nqueue = { name = \"drop-tail\" }\n\
                [[flows]]\nname = \"a\"\nscheme = { name = \"reno\" }\ncount = 1\ntransport = { rto = { min = \"1 s\" } }\n";
    let scenario = Scenario::from_toml(text).unwrap_or_else(|problems| panic!("{problems}"));
    let expected = "duration = \"5 s\"\n\n[topology]\ntemplate = \"dumbbell\"\n\n[[flows]]\nname = \"a\"\n\
                    scheme = \"reno\"\n\n[flows.transport.rto]\nmin = \"1 s\"\n";
    assert_eq!(scenario.to_toml(), expected);
}
