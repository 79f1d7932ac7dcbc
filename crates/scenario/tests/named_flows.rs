//! Queues that name flows by name: each name means the numbers of its flows, and complaints say which names there are.

use tailback_scenario::{Run, Scenario};

/// Two groups over a queue: flows 0 to 2 are `web`, flow 3 is `film`.
fn scenario(queue: &str, reverse: &str) -> String {
    format!(
        "duration = \"3 s\"\n[topology]\ntemplate = \"dumbbell\"\nrate = \"4 Mbit/s\"\nqueue = {queue}\n{reverse}\n\
         [[flows]]\nname = \"web\"\nscheme = \"reno\"\ncount = 3\n[[flows]]\nname = \"film\"\nscheme = \"cubic\"\n"
    )
}

fn hash(text: &str) -> String {
    let scenario = Scenario::from_toml(text).unwrap_or_else(|problems| panic!("{problems}"));
    Run::new(scenario, None).and_then(Run::finish).unwrap_or_else(|problems| panic!("{problems}")).hash
}

/// The same list by names and by numbers, in every discipline that has lists of flows.
const LISTS: &[(&str, &str)] = &[
    ("weighted-fair-queueing", "shares = [{ flows = LIST, weight = 5 }]"),
    ("deficit-round-robin", "shares = [{ flows = LIST, weight = 5, together = true }]"),
    ("weighted-round-robin", "shares = [{ flows = LIST, weight = 5 }]"),
    ("self-clocked-fair-queueing", "shares = [{ flows = LIST, weight = 5 }]"),
    ("cell-round-robin", "shares = [{ flows = LIST, weight = 5 }]"),
    ("virtual-clock", "shares = [{ flows = LIST, weight = 5 }]"),
    ("framed-round-robin", "shares = [{ flows = LIST, weight = 5 }]"),
    ("hierarchical-round-robin", "levels = [{ frame = \"1 ms\", flows = LIST, part = 0.8 }, { part = 0.2 }]"),
    ("priority", "classes = [{ flows = LIST, lane = 0 }]"),
    ("token-bucket", "classes = [{ flows = LIST, rate = \"1 Mbit/s\" }]"),
    ("cake", "codepoints = [{ flows = LIST, codepoint = \"CS1\" }]"),
    (
        "priority",
        "lanes = [{}, { queue = { name = \"weighted-fair-queueing\", shares = [{ flows = LIST, weight = 9 }] } }]\n\
      classes = [{ flows = [0, 1, 2, 3], lane = 1 }]",
    ),
];

#[test]
fn a_groups_name_means_all_its_flows_and_a_flows_name_that_one() {
    for (name, parameters) in LISTS {
        let with = |list: &str| {
            let parameters = parameters.replace("LIST", list).replace('\n', ", ");
            hash(&scenario(&format!("{{ name = \"{name}\", {parameters} }}"), ""))
        };
        assert_eq!(with("[\"web\"]"), with("[0, 1, 2]"), "{name}");
        assert_eq!(with("[\"web-1\", \"film\"]"), with("[1, 3]"), "{name}");
        assert_ne!(with("[\"web\"]"), with("[\"film\"]"), "{name}: the list changes nothing");
    }
}

fn complaint(queue: &str, reverse: &str) -> String {
    let problems = Scenario::from_toml(&scenario(queue, reverse)).expect_err(queue);
    assert_eq!(problems.errors.len(), 1, "{problems}");
    problems.errors[0].to_string()
}

#[test]
fn a_name_that_no_flow_has_is_refused_with_those_there_are() {
    let said = complaint("{ name = \"virtual-clock\", shares = [{ flows = [\"wbe\"] }] }", "");
    assert!(said.starts_with("topology.queue.shares[0].flows: \"wbe\" is not allowed"), "{said}");
    assert!(said.contains("\"web\" (the nearest name); \"web\", \"film\", \"web-0\""), "{said}");
    let nobody = complaint("{ name = \"cake\", codepoints = [{ flows = [\"web-3\"] }] }", "");
    assert!(nobody.contains("the name of a group or flow"), "{nobody}");
    let reverse = "reverse = { queue = { name = \"virtual-clock\", shares = [{ flows = [\"no\"] }] } }";
    let back = complaint("\"drop-tail\"", reverse);
    assert!(back.starts_with("topology.reverse.queue.shares[0].flows: \"no\""), "{back}");
    let half = complaint("{ name = \"virtual-clock\", shares = [{ flows = [0.5] }] }", "");
    assert!(half.contains("expected a whole number from 0 up to 4294967295, or text"), "{half}");
}

#[test]
fn a_flow_named_twice_is_refused_however_it_is_named() {
    let shares = |one: &str, other: &str| {
        complaint(
            &format!(
                "{{ name = \"virtual-clock\", shares = [{{ flows = [{one}] }}, {{ flows = [{other}] }}] }}"
            ),
            "",
        )
    };
    let said = shares("\"web\"", "1");
    let expected = "topology.queue.shares[1].flows: 1 is not allowed; expected flows that are named only once: \
                    shares[0].flows has flow 1 already";
    assert_eq!(said, expected);
    assert!(shares("3, \"web-2\"", "\"web\"").contains("shares[1].flows: \"web\" is not allowed"));
    // The same words are refused before there is a network.
    assert!(shares("\"web\"", "\"web\"").contains("a flow that is named only once"));
}

#[test]
fn the_sender_of_a_multicast_and_its_receivers_are_one_group() {
    let text = |flows: &str| {
        format!(
            "duration = \"3 s\"\n[topology]\ntemplate = \"graph\"\n\
             [[topology.links]]\nfrom = \"a\"\nto = \"m\"\nrate = \"2 Mbit/s\"\n\
             queue = {{ name = \"weighted-fair-queueing\", shares = [{{ flows = {flows}, weight = 7 }}] }}\n\
             [[topology.links]]\nfrom = \"m\"\nto = \"x\"\n[[topology.links]]\nfrom = \"m\"\nto = \"y\"\n\
             [[flows]]\nname = \"film\"\nscheme = \"reno\"\nfrom = \"a\"\nreceivers = [\"x\", \"y\"]\n\
             [[flows]]\nname = \"other\"\nscheme = \"reno\"\nfrom = \"a\"\nto = \"x\"\n"
        )
    };
    assert_eq!(hash(&text("[\"film\"]")), hash(&text("[0, 1, 2]")));
    assert_eq!(hash(&text("[\"other\"]")), hash(&text("[3]")));
    assert_ne!(hash(&text("[\"film\"]")), hash(&text("[\"other\"]")));
}
