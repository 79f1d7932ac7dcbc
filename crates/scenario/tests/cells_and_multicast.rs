//! Packets carried otherwise than from one end to one other: copied to many receivers, cut into cells.

use tailback_scenario::{Outcome, Run, Scenario};

fn run(text: &str) -> Outcome {
    let scenario = Scenario::from_toml(text).unwrap_or_else(|problems| panic!("{problems}"));
    Run::new(scenario, None).and_then(Run::finish).unwrap_or_else(|problems| panic!("{problems}"))
}

/// A sender behind a fast link, and three receivers behind slower ones; `c`'s loses what `loss` says.
fn tree(scheme: &str, loss: &str, flow: &str) -> String {
    let leaf = |name: &str, rate: u32, more: &str| {
        format!(
            "[[topology.links]]\nfrom = \"m\"\nto = \"{name}\"\nrate = \"{rate} Mbit/s\"\ndelay = \"20 ms\"\n\
             buffer = \"100 packets\"\nqueue = \"weighted-fair-queueing\"\n{more}\nreverse = {{ rate = \"50 Mbit/s\" }}\n"
        )
    };
    format!(
        "duration = \"20 s\"\n[topology]\ntemplate = \"graph\"\n\
         [[topology.links]]\nfrom = \"s\"\nto = \"m\"\nrate = \"50 Mbit/s\"\ndelay = \"5 ms\"\nbuffer = \"unlimited\"\n\
         {}{}{}[[flows]]\nname = \"g\"\nscheme = {scheme}\nfrom = \"s\"\nreceivers = [\"a\", \"b\", \"c\"]\n{flow}\n",
        leaf("a", 2, ""),
        leaf("b", 5, ""),
        leaf("c", 4, loss)
    )
}

const PAIRS: &str = "{ name = \"packet-pair\", setpoint = { name = \"fixed\", packets = 10.0 } }";
const LOSSY: &str = "loss = { name = \"independent\", probability = 0.03 }";

#[test]
fn every_receiver_gets_everything_at_the_slowest_ones_rate() {
    let outcome = run(&tree(PAIRS, "", ""));
    let names = format!("{:?}", outcome.flows.get("name"));
    assert!(names.contains(r#"["g", "g to a", "g to b", "g to c"]"#), "{names}");
    let received = outcome.flows.counts("received_bytes");
    for bytes in &received[1..] {
        let rate = *bytes as f64 * 8.0 / 20.0;
        // Two Mbit/s except at the start.
        assert!((1.85e6..2.0e6).contains(&rate), "{rate}");
    }
    assert_eq!(outcome.links.counts("dropped_packets").iter().sum::<u64>(), 0);
}

#[test]
fn what_one_receiver_misses_goes_to_it_alone() {
    for scheme in [PAIRS, "\"sack\"", "\"newreno\""] {
        let outcome = run(&tree(scheme, LOSSY, "source = { name = \"bulk\", size = \"1 MB\" }"));
        let flows = &outcome.flows;
        let repeated = flows.counts("retransmitted_packets")[0];
        let lost: u64 = outcome.links.counts("dropped_loss_packets").iter().sum();
        assert!(lost > 10 && repeated >= lost, "{scheme}: {lost} lost, {repeated} retransmitted");
        let goodput = flows.counts("goodput_packets");
        assert!(
            goodput[1] > 1000 && goodput[1..].iter().all(|packets| *packets == goodput[1]),
            "{goodput:?}"
        );
        let received = flows.counts("received_packets");
        assert_eq!(
            (received[1], received[2]),
            (goodput[1], goodput[2]),
            "{scheme}: nothing twice, nothing more"
        );
        assert!(flows.quantities("finished_seconds")[0].is_finite(), "{scheme}");
    }
}

/// A receiver that takes packets in batches, behind a link on which copies are made as well.
#[test]
fn one_receiver_that_takes_packets_in_batches_misses_nothing_and_holds_the_others_up() {
    let bulk = "source = { name = \"bulk\", size = \"1 MB\" }";
    let finished = |more: &str| {
        let outcome = run(&tree("\"sack\"", more, bulk));
        let goodput = outcome.flows.counts("goodput_packets");
        assert!(
            goodput[1] > 1000 && goodput[1..].iter().all(|packets| *packets == goodput[1]),
            "{goodput:?}"
        );
        outcome.flows.quantities("finished_seconds")[0]
    };
    let batches = finished("coalescing = { time = \"80 ms\" }\nduplication = { probability = 0.1 }");
    assert!(batches > finished("") + 0.1, "{batches}");
}

#[test]
fn groups_that_cannot_be_are_refused() {
    let refused = |text: &str, field: &str| {
        let problems = Scenario::from_toml(text).expect_err("refused").to_string();
        assert!(problems.contains(field), "{problems}");
    };
    refused(&tree("\"fixed-rate\"", "", ""), "flows[0].scheme");
    refused(&tree(PAIRS, "", "count = 2"), "flows[0].count");
    refused(&tree(PAIRS, "", "to = \"a\""), "flows[0].to");
    refused(&tree(PAIRS, "", "cells = true"), "flows[0].cells");
    refused(&tree(PAIRS, "", "transport = { handshake = true }"), "flows[0].transport.handshake");
    let spread = "flows[0].transport.proportional_rate_reduction";
    refused(&tree(PAIRS, "", "transport = { proportional_rate_reduction = true }"), spread);
    let by_time = "transport = { loss_detection = \"rack\" }";
    refused(&tree(PAIRS, "", by_time), "flows[0].transport.loss_detection");
    refused(&tree(PAIRS, "", "").replace("\"b\", \"c\"]", "\"b\", \"b\"]"), "flows[0].receivers");
    refused(&tree(PAIRS, "", "").replace("\"b\", \"c\"]", "\"b\", \"nowhere\"]"), "flows[0].receivers");
    let dumbbell = "duration = \"1 s\"\n[topology]\ntemplate = \"dumbbell\"\n[[flows]]\nname = \"a\"\nscheme = \"sack\"\n\
                    receivers = [\"r1\"]\n";
    refused(dumbbell, "flows[0].receivers");
}

fn dumbbell(flow: &str) -> String {
    format!(
        "duration = \"20 s\"\nwarm_up = \"5 s\"\n[topology]\ntemplate = \"dumbbell\"\nrate = \"4 Mbit/s\"\n\
         delay = \"10 ms\"\nbuffer = \"2000 packets\"\nqueue = \"round-robin\"\n\
         [[flows]]\nname = \"a\"\ncells = true\nscheme = {PAIRS}\ntransport = {{ segment_size = \"500 B\" }}\n{flow}\n"
    )
}

#[test]
fn cells_cost_their_headers_and_padding_and_nothing_else() {
    let outcome = run(&dumbbell(""));
    // 500 B and 8 B of trailer are 11 cells of 53 B.
    let rate = outcome.flows_measured.counts("received_bytes")[0] as f64 * 8.0 / 15.0;
    assert!((rate / (4e6 * 500.0 / 583.0) - 1.0).abs() < 0.005, "{rate}");
    assert_eq!(outcome.flows.counts("discarded_packets")[0], 0);
    let sizes =
        outcome.links.counts("transmitted_bytes").iter().zip(outcome.links.counts("transmitted_packets"));
    assert!(sizes.clone().all(|(bytes, packets)| *bytes == 53 * packets));
}

#[test]
fn a_lost_cell_costs_its_packet_which_is_retransmitted() {
    let text = dumbbell("source = { name = \"bulk\", size = \"1 MB\" }")
        .replace("queue =", "loss = { name = \"independent\", probability = 0.001 }\nqueue =");
    let outcome = run(&text);
    let torn = outcome.flows.counts("discarded_packets")[0];
    assert!(torn > 5, "{torn}");
    assert!(outcome.flows.quantities("finished_seconds")[0].is_finite());
    assert_eq!(outcome.flows.counts("goodput_packets")[0], 1_000_000_u64.div_ceil(460));
}

#[test]
fn cells_that_are_taken_in_batches_stay_in_order() {
    // Packet pairs of one batch would pass for a link without limit, and fill the buffer.
    let text = dumbbell("source = { name = \"bulk\", size = \"1 MB\" }")
        .replace(PAIRS, "{ name = \"fixed-window\", window = \"20 packets\" }")
        .replace("queue =", "coalescing = { time = { name = \"exponential\", mean = \"3 ms\" } }\nqueue =");
    let outcome = run(&text);
    assert_eq!(outcome.flows.counts("discarded_packets")[0], 0, "no packet is torn");
    assert_eq!(outcome.flows.counts("retransmitted_packets")[0], 0);
    assert_eq!(outcome.flows.counts("goodput_packets")[0], 1_000_000_u64.div_ceil(460));
}
