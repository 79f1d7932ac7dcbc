//! Aggregates, run: what enters, what leaves, who waits where, and what is refused.

use serde_json::{Value, json};
use tailback_scenario::table::Column;
use tailback_scenario::{Outcome, Run, Scenario};

/// Seconds after the warm-up.
const MEASURED: f64 = 20.0;

fn read(scenario: &Value) -> Result<Scenario, String> {
    Scenario::from_json(&scenario.to_string()).map_err(|problems| problems.to_string())
}

fn run(scenario: &Value) -> Outcome {
    let scenario = read(scenario).unwrap_or_else(|problems| panic!("{problems}"));
    Run::new(scenario, None).and_then(Run::finish).unwrap_or_else(|problems| panic!("{problems}"))
}

fn link(from: &str, to: &str, rate: &str, delay: &str) -> Value {
    json!({ "from": from, "to": to, "rate": rate, "delay": delay, "buffer": "unlimited", "queue": "priority" })
}

fn flow(name: &str, count: u32, scheme: &str, from: &str, to: &str) -> Value {
    let start = json!({ "from": "0 s", "to": "1 s" });
    json!({ "name": name, "count": count, "scheme": scheme, "from": from, "to": to, "start": start })
}

fn aggregate(name: &str, from: &str, to: &str, scheme: &Value) -> Value {
    json!({ "name": name, "from": from, "to": to, "scheme": scheme, "buffer": "200 packets" })
}

/// A core of 20 Mbit/s between `r0` and `r1`, with so many pairs of edges `e…` and `x…`, and hosts `s…` and `d…` behind.
fn core(pairs: usize, flows: &[Value], aggregates: &[Value]) -> Value {
    let mut links = vec![link("r0", "r1", "20 Mbit/s", "10 ms")];
    for pair in 0..pairs {
        let names = ["s", "e", "x", "d"].map(|letter| format!("{letter}{pair}"));
        links.push(link(&names[0], &names[1], "1 Gbit/s", "1 ms"));
        links.push(link(&names[1], "r0", "1 Gbit/s", "1 ms"));
        links.push(link("r1", &names[2], "1 Gbit/s", "1 ms"));
        links.push(link(&names[2], &names[3], "1 Gbit/s", "1 ms"));
    }
    json!({
        "duration": "30 s",
        "warm_up": "10 s",
        "topology": { "template": "graph", "links": links },
        "flows": flows,
        "aggregates": aggregates,
        "record": { "accumulation": true, "links": "all" },
    })
}

fn monaco() -> Value {
    json!("monaco")
}

fn row(outcome: &Outcome, name: &str) -> usize {
    let Some(Column::Text(names)) = outcome.links.get("name") else { panic!("links have names") };
    names.iter().position(|known| known == name).unwrap_or_else(|| panic!("{name} among {names:?}"))
}

fn of_link(outcome: &Outcome, name: &str, count: &str) -> u64 {
    outcome.links.counts(count)[row(outcome, name)]
}

/// The mean number of packets waiting in a link after the warm-up.
fn waiting(outcome: &Outcome, name: &str) -> f64 {
    outcome.links_measured.quantities("mean_queue_packets")[row(outcome, name)]
}

/// Mbit/s after the warm-up, by flow.
fn goodputs(outcome: &Outcome) -> Vec<f64> {
    let bytes = outcome.flows_measured.counts("goodput_bytes");
    bytes.iter().map(|bytes| *bytes as f64 * 8.0 / MEASURED / 1e6).collect()
}

#[test]
fn every_packet_is_accounted_for() {
    let flows = [flow("a", 5, "sack", "s0", "d0"), flow("b", 5, "cubic", "s0", "d0")];
    let outcome = run(&core(1, &flows, &[aggregate("west", "e0", "x0", &monaco())]));
    let of = |count: &str| of_link(&outcome, "e0->west", count);
    assert!(of("dropped_packets") > 0, "the queue at the edge overflows");
    let held = of("waiting_packets") + of("in_service_packets");
    assert_eq!(of("arrived_packets"), of("delivered_packets") + of("dropped_packets") + held);
    let entered = outcome.aggregates.counts("entered_packets")[0];
    let left = outcome.aggregates.counts("left_packets")[0];
    assert_eq!(entered, of("delivered_packets"), "all that the edge lets go enters");
    let links = ["e0->r0", "r0->r1", "r1->x0"];
    let within = ["waiting_packets", "in_service_packets", "propagating_packets"];
    let on_the_way: u64 =
        links.iter().flat_map(|link| within.map(|count| of_link(&outcome, link, count))).sum();
    let control = outcome.aggregates.counts("control_packets")[0];
    assert!(entered - left <= on_the_way && on_the_way <= entered - left + control.min(4));
    // Hosts see packets as without aggregates: everything delivered was sent, in order, once.
    let arrived: u64 = outcome.flows.counts("received_packets").iter().sum();
    assert!(left - arrived <= of_link(&outcome, "x0->d0", "propagating_packets") + 1);
}

#[test]
fn the_core_holds_the_target_of_each_aggregate_whatever_is_in_it() {
    for (pairs, each) in [(1, 12), (3, 4)] {
        let flows: Vec<Value> = (0..pairs)
            .map(|pair| flow(&format!("f{pair}"), each, "sack", &format!("s{pair}"), &format!("d{pair}")))
            .collect();
        let loops: Vec<Value> = (0..pairs)
            .map(|pair| aggregate(&format!("a{pair}"), &format!("e{pair}"), &format!("x{pair}"), &monaco()))
            .collect();
        let outcome = run(&core(pairs, &flows, &loops));
        let queue = waiting(&outcome, "r0->r1") / pairs as f64;
        assert!((2.0..4.5).contains(&queue), "{queue} packets for each of {pairs}");
        assert_eq!(of_link(&outcome, "r0->r1", "dropped_packets"), 0);
        let total: f64 = goodputs(&outcome).iter().sum();
        assert!(total > 0.97 * 20.0, "{total} Mbit/s");
        for (name, series) in &outcome.aggregate_series {
            let exact = &series.quantities("mean_accumulation_bytes")[100..];
            let estimate = &series.quantities("estimated_accumulation_bytes")[100..];
            let mean = |values: &[f64]| {
                let known: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
                known.iter().sum::<f64>() / known.len() as f64
            };
            let (exact, estimate) = (mean(exact), mean(estimate));
            assert!((exact - 3000.0).abs() < 600.0, "{name}: {exact} bytes held for 3000");
            assert!((estimate - exact).abs() < 300.0, "{name}: {estimate} bytes estimated for {exact}");
        }
    }
}

#[test]
fn an_aggregate_enters_at_its_directed_rate_and_no_faster() {
    let scheme = json!({ "name": "fixed-rate", "rate": "5 Mbit/s" });
    let outcome =
        run(&core(1, &[flow("a", 4, "sack", "s0", "d0")], &[aggregate("west", "e0", "x0", &scheme)]));
    let rate = outcome.aggregates_measured.counts("entered_bytes")[0] as f64 * 8.0 / MEASURED;
    assert!((rate - 5e6).abs() < 0.001 * 5e6, "{rate} bit/s: there is always something to enter");
    let bins = outcome.aggregate_series[0].1.counts("sent_bytes");
    // 100 ms at 5 Mbit/s and one packet at either end.
    assert!(bins.iter().all(|bytes| *bytes <= 62_500 + 1000), "{:?}", bins.iter().max());
}

#[test]
fn the_edge_decides_who_enters() {
    let flows = [flow("tcp", 1, "sack", "s0", "d0"), {
        let mut flood = flow("flood", 1, "fixed-rate", "s0", "d0");
        flood["scheme"] = json!({ "name": "fixed-rate", "rate": "30 Mbit/s" });
        flood
    }];
    let mut first_come = aggregate("west", "e0", "x0", &monaco());
    let mut by_turns = first_come.clone();
    first_come["queue"] = json!("drop-tail");
    by_turns["queue"] = json!("deficit-round-robin");
    let tcp = |with: &Value| goodputs(&run(&core(1, &flows, std::slice::from_ref(with))))[0];
    let (crushed, fair) = (tcp(&first_come), tcp(&by_turns));
    assert!(crushed < 1.0, "{crushed} Mbit/s beside a flood in one queue");
    assert!((9.0..10.5).contains(&fair), "{fair} Mbit/s of half of 20");
}

#[test]
fn acknowledgements_are_data_to_an_aggregate_on_their_way() {
    let loops = [aggregate("forth", "e0", "x0", &monaco()), aggregate("back", "x0", "e0", &monaco())];
    let outcome = run(&core(1, &[flow("a", 4, "sack", "s0", "d0")], &loops));
    assert_eq!(outcome.aggregates.counts("data_flows"), [4, 0]);
    assert_eq!(outcome.aggregates.counts("return_flows"), [0, 4]);
    let entered = outcome.aggregates.counts("entered_packets");
    assert!(entered[1] > 9 * entered[0] / 10, "an acknowledgement per packet: {entered:?}");
    let total: f64 = goodputs(&outcome).iter().sum();
    assert!(total > 0.95 * 20.0, "{total} Mbit/s");
}

#[test]
fn flows_on_other_ways_are_left_alone() {
    let mut scenario = core(2, &[flow("in", 2, "sack", "s0", "d0"), flow("out", 2, "sack", "s1", "d1")], &[]);
    scenario["aggregates"] = json!([aggregate("west", "e0", "x0", &monaco())]);
    let outcome = run(&scenario);
    assert_eq!(outcome.aggregates.counts("data_flows"), [2]);
    let entered = outcome.aggregates.counts("entered_packets")[0];
    let sent = &outcome.flows.counts("sent_packets");
    assert!(entered <= sent[0] + sent[1], "{entered} of {sent:?}");
}

#[test]
fn before_the_first_report_one_window_enters() {
    // The way forth and back takes a second.
    let mut scenario =
        core(1, &[flow("a", 20, "sack", "s0", "d0")], &[aggregate("west", "e0", "x0", &monaco())]);
    scenario["topology"]["links"][0]["delay"] = json!("500 ms");
    scenario["flows"][0]["start"] = json!("0 s");
    scenario["aggregates"][0]["initial_window"] = json!("7 packets");
    let outcome = run(&scenario);
    let bins = outcome.aggregate_series[0].1.counts("goodput_bytes");
    let sent = outcome.aggregate_series[0].1.counts("sent_bytes");
    assert_eq!(bins[..10].iter().sum::<u64>(), 7 * 1000, "{bins:?}");
    assert_eq!(sent[..10].iter().sum::<u64>(), 7 * 1000 + 2 * 40, "and a pair of control packets");
    assert!(goodputs(&outcome).iter().sum::<f64>() > 0.0);
}

#[test]
fn lost_control_packets_do_not_stop_an_aggregate() {
    let mut scenario =
        core(1, &[flow("a", 4, "sack", "s0", "d0")], &[aggregate("west", "e0", "x0", &monaco())]);
    let lossy = json!({ "name": "selective", "probability": 0.2, "class": "control" });
    scenario["topology"]["links"][0]["loss"] = lossy;
    let total: f64 = goodputs(&run(&scenario)).iter().sum();
    assert!(total > 0.95 * 20.0, "{total} Mbit/s");
}

#[test]
fn whatever_happens_on_the_way_nothing_is_believed_there_for_ever() {
    let independent = json!({ "name": "independent", "probability": 0.05 });
    let cases = [
        ("loss", independent.clone()),
        ("reverse", json!({ "loss": independent })),
        ("reverse", json!({ "duplication": { "probability": 0.05 } })),
        ("duplication", json!({ "probability": 0.05 })),
        ("corruption", json!({ "probability": 0.05 })),
        ("reordering", json!({ "probability": 0.05, "hold": "5 ms" })),
        ("schedule", json!([{ "at": "5 s", "rate": "0 bit/s" }, { "at": "7 s", "rate": "20 Mbit/s" }])),
        ("queue", json!({ "name": "drop-tail" })),
        ("buffer", json!("5 packets")),
    ];
    for (field, value) in cases {
        let loops = [aggregate("west", "e0", "x0", &monaco())];
        let mut scenario = core(1, &[flow("a", 4, "sack", "s0", "d0")], &loops);
        scenario["topology"]["links"][0][field] = value.clone();
        scenario["flows"][0]["stop"] = json!("20 s");
        let outcome = run(&scenario);
        let series = &outcome.aggregate_series[0].1;
        let believed = series.counts("in_flight_bytes");
        assert!(believed[100..190].iter().all(|bytes| *bytes > 0), "{field}: {value} stops the aggregate");
        assert_eq!(believed.last(), Some(&0), "{field}: {value}");
        let left: u64 = series.counts("received_bytes")[100..190].iter().sum();
        assert!(left > 9 * 125_000, "{field}: {value}: 1 Mbit/s at the least, {left} bytes in 9 s");
    }
}

#[test]
fn other_traffic_does_not_change_because_an_aggregate_exists() {
    let flows = [flow("in", 2, "sack", "s0", "d0"), flow("out", 2, "sack", "s1", "d1")];
    let apart = |aggregates: &[Value]| {
        let mut scenario = core(2, &flows, aggregates);
        // Ways that share nothing.
        let links = scenario["topology"]["links"].as_array_mut().expect("a list");
        links.retain(|link| (&link["from"], &link["to"]) != (&json!("e1"), &json!("r0")));
        links.retain(|link| (&link["from"], &link["to"]) != (&json!("r1"), &json!("x1")));
        links.push(link("e1", "x1", "5 Mbit/s", "1 ms"));
        let outcome = run(&scenario);
        goodputs(&outcome)[2..].to_vec()
    };
    assert_eq!(apart(&[]), apart(&[aggregate("west", "e0", "x0", &monaco())]));
}

#[test]
fn equal_seeds_give_equal_runs() {
    let scenario = core(1, &[flow("a", 5, "sack", "s0", "d0")], &[aggregate("west", "e0", "x0", &monaco())]);
    assert_eq!(run(&scenario).hash, run(&scenario).hash);
}

#[test]
fn what_makes_no_sense_is_refused_by_field() {
    let flows = [flow("a", 1, "sack", "s0", "d0")];
    let refused = |change: &dyn Fn(&mut Value), field: &str, words: &str| {
        let mut scenario = core(2, &flows, &[aggregate("west", "e0", "x0", &monaco())]);
        change(&mut scenario);
        let problems = read(&scenario).expect_err(field);
        assert!(problems.contains(field) && problems.contains(words), "{problems}");
        assert!(problems.contains("1 problem"), "{problems}");
    };
    let set = |field: &'static str, value: Value| {
        move |scenario: &mut Value| scenario["aggregates"][0][field] = value.clone()
    };
    refused(&set("from", json!("e9")), "aggregates[0].from", "e9");
    refused(&set("to", json!("e0")), "aggregates[0].to", "other than");
    refused(&set("from", json!("e1")), "aggregates[0].to", "at least one flow passes");
    refused(&set("scheme", json!("cubic")), "aggregates[0].scheme", "nothing but reports");
    let estimator = json!({ "name": "accumulation-p", "estimator": "vegas" });
    refused(&set("scheme", estimator), "aggregates[0].scheme", "nothing but reports");
    refused(&set("buffer", json!("1 BDP")), "aggregates[0].buffer", "no rate of its own");
    refused(&set("buffer", json!("0 B")), "aggregates[0].buffer", "positive");
    refused(&set("name", json!("a")), "aggregates[0].name", "other aggregate has");
    refused(&set("name", json!("r0")), "aggregates[0].name", "no node has");
    refused(&set("name", json!("e0->x0")), "aggregates[0].name", "letters");
    refused(&set("segment_size", json!("30 B")), "aggregates[0].segment_size", "header");
    refused(&set("header", json!("0 B")), "aggregates[0].header", "at least 1 B");
    refused(&set("ack_every", json!(0)), "aggregates[0].ack_every", "1 to 1000");
    refused(&set("initial_window", json!("100 B")), "aggregates[0].initial_window", "one packet");
    refused(&set("route", json!(["r1"])), "aggregates[0].route", "links join");
    let nested = |scenario: &mut Value| {
        let inner = aggregate("inner", "r0", "r1", &monaco());
        scenario["aggregates"].as_array_mut().expect("a list").push(inner);
    };
    refused(&nested, "aggregates[1].to", "shares no link");
    let marking = json!({ "name": "red", "ecn": true });
    refused(&set("queue", marking), "aggregates[0].queue.ecn", "ECN-capable");
    let multicast = |scenario: &mut Value| {
        scenario["flows"][0] =
            json!({ "name": "a", "scheme": "packet-pair", "from": "s0", "receivers": ["d0", "d1"] });
    };
    refused(&multicast, "aggregates[0].to", "receivers");
}
