//! Templates, graphs, routes and resolved buffers: what a scenario's words become.

use tailback_core::{Bytes, Capacity, Span};
use tailback_scenario::Scenario;
use tailback_scenario::topology::Network;

fn network(topology: &str, flows: &str) -> Network {
    let text = format!("duration = \"10 s\"\n[topology]\n{topology}\n{flows}");
    let scenario = Scenario::from_toml(&text).unwrap_or_else(|problems| panic!("{problems}"));
    let (network, errors) = Network::new(&scenario);
    assert_eq!(errors, []);
    network
}

/// The names of the links along a flow's routes, there and back.
fn routes(network: &Network, flow: usize) -> (Vec<&'static str>, Vec<&'static str>) {
    // Leaked, so that they compare with what is written below.
    let name = |&link: &usize| -> &'static str { network.link_name(&network.links[link]).leak() };
    let names = |links: &[usize]| links.iter().map(name).collect();
    let flow = &network.flows[flow];
    (names(&flow.forward), names(&flow.reverse))
}

fn buffer(network: &Network, name: &str) -> Capacity {
    network.links.iter().find(|link| network.link_name(link) == name).expect("a link of this name").buffer
}

const PAIR: &str = "[[flows]]\nname = \"a\"\ncount = 2\nscheme = \"reno\"\n";

#[test]
fn a_dumbbell_has_hosts_for_every_flow() {
    let spread = "template = \"dumbbell\"\ndelay = \"20 ms\"\naccess = { delay = { from = \"1 ms\", to = \"9 ms\" } }\n\
                  receiver_access = { delay = \"1 ms\" }";
    let network = network(spread, PAIR);
    assert_eq!(routes(&network, 1), (vec!["s1->r0", "r0->r1", "r1->d1"], vec!["d1->r1", "r1->r0", "r0->s1"]));
    assert_eq!(network.round_trip(&network.flows[0]), Span::from_millis(44));
    assert_eq!(network.round_trip(&network.flows[1]), Span::from_millis(60));
    // 10 Mbit/s times the mean of 44 and 60 ms; on the way back, where only acknowledgements pass, the same.
    assert_eq!(buffer(&network, "r0->r1"), Capacity::Bytes(Bytes::new(65_000)));
    assert_eq!(buffer(&network, "r1->r0"), Capacity::Bytes(Bytes::new(65_000)));
    assert_eq!(buffer(&network, "s0->r0"), Capacity::Unlimited);
}

/// Which of the links with such an end take packets in batches, and the mean time of a batch in microseconds.
fn batches(network: &Network, towards_hosts: bool) -> Vec<(String, Option<u64>)> {
    let is_host = |name: &str| !name.starts_with('r');
    let mut found: Vec<_> = network
        .links
        .iter()
        .map(|link| (network.link_name(link), link.config().coalescing.as_ref()))
        .filter(|(name, _)| name.split("->").nth(1).is_some_and(is_host) == towards_hosts)
        .map(|(name, coalescing)| (name, coalescing.map(|one| (one.time.mean() / 1e3).round() as u64)))
        .collect();
    found.sort();
    found
}

#[test]
fn hosts_take_packets_in_batches_at_their_end_of_a_cable_only() {
    let dumbbell = "template = \"dumbbell\"\naccess = { coalescing = { time = \"70 us\" } }\n\
                    receiver_access = { coalescing = [{ time = \"80 us\" }, { time = { name = \"exponential\", mean = \"90 us\" } }] }";
    let flows = "[[flows]]\nname = \"a\"\ncount = 3\nscheme = \"reno\"\n";
    let network = network(dumbbell, flows);
    let towards = batches(&network, true);
    let expected =
        [("r0->s0", 70), ("r0->s1", 70), ("r0->s2", 70), ("r1->d0", 80), ("r1->d1", 90), ("r1->d2", 80)];
    assert_eq!(towards, expected.map(|(name, micros)| (name.to_owned(), Some(micros))));
    assert!(batches(&network, false).iter().all(|(_, micros)| micros.is_none()));
}

#[test]
fn hosts_of_a_home_take_packets_in_batches_at_their_end_of_a_cable_only() {
    let home = "template = \"home\"\nservers = { coalescing = { time = \"70 us\" } }\n\
                lan = { coalescing = [{ time = \"80 us\" }, { time = \"90 us\" }] }";
    let network = network(home, PAIR);
    for (name, coalescing) in
        network.links.iter().map(|link| (network.link_name(link), &link.config().coalescing))
    {
        let micros = coalescing.as_ref().map(|one| one.time.mean() / 1e3);
        let expected = match name.split_once("->").expect("two ends").1 {
            "s0" | "s1" => Some(70.0),
            "d0" => Some(80.0),
            "d1" => Some(90.0),
            _ => None,
        };
        assert_eq!(micros, expected, "{name}");
    }
}

#[test]
fn flows_can_share_hosts_and_run_backwards() {
    let flows = format!(
        "{PAIR}[[flows]]\nname = \"b\"\nscheme = \"sack\"\nfrom = \"s1\"\nto = \"d0\"\n\
         [[flows]]\nname = \"c\"\nscheme = \"sack\"\nfrom = \"r1\"\nto = \"r0\"\n"
    );
    let network = network("template = \"dumbbell\"", &flows);
    assert_eq!(routes(&network, 2).0, ["s1->r0", "r0->r1", "r1->d0"]);
    assert_eq!(routes(&network, 3).0, ["s3->r1", "r1->r0", "r0->d3"]);
}

#[test]
fn a_parking_lot_has_crossing_traffic() {
    let flows = format!("{PAIR}[[flows]]\nname = \"b\"\nscheme = \"sack\"\nfrom = \"r1\"\nto = \"r2\"\n");
    let network = network("template = \"parking-lot\"\nhops = 3", &flows);
    assert_eq!(routes(&network, 0).0, ["s0->r0", "r0->r1", "r1->r2", "r2->r3", "r3->d0"]);
    assert_eq!(routes(&network, 2).0, ["s2->r1", "r1->r2", "r2->d2"]);
}

#[test]
fn a_star_sends_to_its_first_host() {
    let network =
        network("template = \"star\"\nhosts = 3", "[[flows]]\nname = \"a\"\ncount = 4\nscheme = \"reno\"\n");
    let first: Vec<_> = (0..4).map(|flow| routes(&network, flow).0[0]).collect();
    assert_eq!(first, ["h1->hub", "h2->hub", "h1->hub", "h2->hub"]);
    assert_eq!(routes(&network, 0).0[1], "hub->h0");
}

#[test]
fn a_home_has_servers_at_distances_and_devices() {
    let topology = "template = \"home\"\nrate = \"100 Mbit/s\"\ndelay = \"5 ms\"\nreverse = { rate = \"20 Mbit/s\" }\n\
                    devices = [\"phone\"]";
    let flows = format!(
        "{PAIR}[[flows]]\nname = \"up\"\nscheme = \"sack\"\nfrom = \"home\"\nto = \"isp\"\n\
         [[flows]]\nname = \"call\"\nscheme = \"sack\"\nto = \"phone\"\n\
         [[flows]]\nname = \"back\"\nscheme = \"sack\"\nfrom = \"phone\"\nto = \"s3\"\n"
    );
    let network = network(topology, &flows);
    assert_eq!(
        routes(&network, 0),
        (vec!["s0->isp", "isp->home", "home->d0"], vec!["d0->home", "home->isp", "isp->s0"])
    );
    assert_eq!(routes(&network, 2).0, ["s2->home", "home->isp", "isp->d2"]);
    assert_eq!(routes(&network, 3).0, ["s3->isp", "isp->home", "home->phone"]);
    assert_eq!(routes(&network, 4).0, ["phone->home", "home->isp", "isp->s3"]);
    // Servers are 4, 14 and 44 ms away in turn, devices 1 ms; the line takes 5 ms each way.
    let round_trips: Vec<_> = network.flows.iter().map(|flow| network.round_trip(flow)).collect();
    assert_eq!(round_trips, [20, 40, 100, 20, 20].map(Span::from_millis));
    let [down, up] = &network.links[..2] else { panic!("two directions") };
    let rates = [down, up].map(|link| link.config().rate.bits_per_sec());
    assert_eq!(rates, [100_000_000, 20_000_000]);
}

#[test]
fn devices_have_names_of_their_own() {
    for (device, told) in [("isp", "isp"), ("s12", "s12"), ("a->b", "a->b")] {
        let text = format!(
            "duration = \"1 s\"\n[topology]\ntemplate = \"home\"\ndevices = [\"tv\", \"{device}\"]\n{PAIR}"
        );
        let problems = Scenario::from_toml(&text).unwrap_err().to_string();
        assert!(problems.contains("topology.devices[1]") && problems.contains(told), "{problems}");
    }
}

#[test]
fn a_graph_takes_the_shortest_or_the_given_way() {
    let link = |from: &str, to: &str, delay: &str| {
        format!("[[topology.links]]\nfrom = \"{from}\"\nto = \"{to}\"\ndelay = \"{delay}\"\n")
    };
    let links =
        [link("a", "b", "1 ms"), link("b", "d", "5 ms"), link("a", "c", "2 ms"), link("c", "d", "2 ms")]
            .concat();
    let flow = |more: &str| {
        format!(
            "[[flows]]\nname = \"f{}\"\nscheme = \"reno\"\nfrom = \"a\"\nto = \"d\"\n{more}\n",
            more.len()
        )
    };
    let flows = [flow(""), flow("route = [\"b\"]"), flow("route = [\"b\"]\nreturn_route = [\"c\"]")].concat();
    let network = network(&format!("template = \"graph\"\n{links}"), &flows);
    assert_eq!(routes(&network, 0), (vec!["a->c", "c->d"], vec!["d->c", "c->a"]));
    assert_eq!(routes(&network, 1), (vec!["a->b", "b->d"], vec!["d->b", "b->a"]));
    assert_eq!(routes(&network, 2), (vec!["a->b", "b->d"], vec!["d->c", "c->a"]));
}

#[test]
fn reverse_directions_repeat_or_differ() {
    let topology = "template = \"dumbbell\"\nbuffer = \"30 packets\"\nloss = \"independent\"\n\
                    queue = { name = \"red\", min = \"7 packets\" }\nreverse = { delay = \"1 ms\" }";
    let network = network(topology, PAIR);
    let [there, back] = &network.links[..2] else { panic!("two directions") };
    assert_eq!((there.delay, back.delay), (Span::from_millis(20), Span::from_millis(1)));
    assert_eq!(there.buffer, back.buffer);
    let (there, back) = (there.config(), back.config());
    assert_eq!((there.rate, &there.queue), (back.rate, &back.queue));
    assert!(there.loss.is_some() && back.loss.is_none(), "loss is for the forward direction only");
}

#[test]
fn thousands_of_flows_are_routed_at_once() {
    let network = network(
        "template = \"dumbbell\"",
        "[[flows]]\nname = \"a\"\ncount = 20000\nscheme = \"reno\"\n[record]\nbin = \"1 s\"\n",
    );
    assert_eq!(network.links.len(), 80_002);
    assert_eq!(routes(&network, 19_999).0, ["s19999->r0", "r0->r1", "r1->d19999"]);
}
