//! Links, and a router's ways over them, that tests of routers share.

use std::io;

use tailback_core::{BitRate, Bytes, Capacity, Span};
use tailback_link::{LinkSpec, StandaloneLink};
use tailback_net::router::Rule;
use tailback_qdisc::{BuildCx, Config, KnownFlows};

pub(crate) const MTU: usize = 1500;

/// A link with this queue, by its name or as JSON.
pub(crate) fn spec(rate: u64, delay: Span, buffer: u32, queue: &str) -> LinkSpec {
    let config: tailback_core::Choice<Config> = serde_json::from_str(queue).expect("a queue");
    let rate = BitRate::from_bits_per_sec(rate);
    let cx = BuildCx {
        capacity: Capacity::Packets(buffer),
        rate,
        mean_packet: Bytes::new(1000),
        flows: KnownFlows::default(),
    };
    LinkSpec::new("link", rate, delay, config.build(&cx))
}

pub(crate) fn link(spec: LinkSpec) -> StandaloneLink {
    StandaloneLink::new(spec, 1)
}

/// From device 0 to device 1 over all links, and straight back.
pub(crate) fn rules(links: usize) -> Vec<Rule> {
    let there = Rule { from: 0, to: 1, route: (0..links).collect(), ..Rule::default() };
    vec![there, Rule { from: 1, to: 0, ..Rule::default() }]
}

/// Does it again where a signal came between: programs that other tests start and end send some.
pub(crate) fn patiently<T>(mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match work() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}
