//! The endpoints of a scenario are driven here by hand, over a pipe of constant delay: no simulator is needed to have them.

use std::collections::BTreeMap;

use tailback_core::{
    Annexes, AppInput, Endpoint, EndpointCx, Event, Input, Output, Packet, Span, Stream, Time,
};
use tailback_scenario::Scenario;
use tailback_scenario::endpoints::{Assembly, Ends};
use tailback_scenario::topology::Network;

const ONE_WAY: Span = Span::from_millis(10);

/// Two ends and what is between them.
struct Pipe {
    ends: [Box<dyn Endpoint>; 2],
    due: [Time; 2],
    rng: [Stream; 2],
    annexes: Annexes,
    /// By arrival and order of sending: the end that it goes to, and the packet.
    flying: BTreeMap<(Time, u64), (usize, Packet)>,
    sent: u64,
    finished: Option<Time>,
}

impl Pipe {
    fn new(ends: Ends) -> Self {
        Self {
            ends: [Box::new(ends.sender), Box::new(ends.receiver)],
            due: [Time::NEVER; 2],
            rng: [Stream::new(1, "sender"), Stream::new(1, "receiver")],
            annexes: Annexes::new(),
            flying: BTreeMap::new(),
            sent: 0,
            finished: None,
        }
    }

    fn mutate(&mut self, now: Time, end: usize, input: Input) {
        let mut cx = EndpointCx { rng: &mut self.rng[end], annexes: &mut self.annexes, notes: None };
        self.ends[end].handle(now, input, &mut cx);
        loop {
            match self.ends[end].poll(now, &mut cx) {
                Output::Transmit(packet) => {
                    self.flying.insert((now + ONE_WAY, self.sent), (1 - end, packet));
                    self.sent += 1;
                }
                Output::Event(Event::Finished) => self.finished = Some(now),
                Output::Event(_) => {}
                Output::Wait(until) => {
                    self.due[end] = until.unwrap_or(Time::NEVER);
                    break;
                }
            }
        }
    }

    /// Goes on until nothing is left to do, or `end`.
    fn run(&mut self, end: Time) {
        loop {
            let arrival = self.flying.first_key_value().map_or(Time::NEVER, |(&(time, _), _)| time);
            let timer = self.due[0].min(self.due[1]);
            let now = arrival.min(timer);
            if now >= end {
                return;
            }
            if arrival <= timer
                && let Some((_, (to, packet))) = self.flying.pop_first()
            {
                self.mutate(now, to, Input::Packet(packet));
            } else {
                self.mutate(now, usize::from(self.due[1] == now), Input::Timeout);
            }
        }
    }
}

fn ends_of(text: &str) -> Vec<Ends> {
    let scenario = Scenario::from_toml(text).unwrap_or_else(|problems| panic!("{problems}"));
    let (network, errors) = Network::new(&scenario);
    assert!(errors.is_empty(), "{errors:?}");
    let assembly = Assembly::new(&scenario, &network, scenario.seed);
    (0..network.flows.len()).map(|index| assembly.flow(index)).collect()
}

#[test]
fn a_stream_carries_its_file_without_a_simulator() {
    let ends = ends_of(
        r#"
        name = "by hand"
        duration = "10 s"
        topology = { template = "dumbbell" }
        [[flows]]
        name = "file"
        scheme = "reno"
        source = { name = "bulk", size = "100 kB" }
        start = "1 s"
        "#,
    );
    let Ok([ends]) = <[Ends; 1]>::try_from(ends) else { panic!("one flow") };
    let start = ends.start;
    assert_eq!(start, Time::ZERO + Span::from_secs(1));
    let mut pipe = Pipe::new(ends);
    pipe.mutate(start, 0, Input::App(AppInput::Start));
    pipe.run(Time::ZERO + Span::from_secs(10));
    // From ten segments (RFC 6928), 105 take four round trips in slow start, more where it grows more slowly.
    let took = pipe.finished.expect("the file arrives").since(start);
    assert!((4..=8).contains(&(took.as_nanos() / (ONE_WAY * 2).as_nanos())), "{took}");
    // Segments of 1000 B carry 960 B: 105 of them, and a header of 40 B each.
    assert_eq!(pipe.ends[1].observe().goodput_bytes.get(), 100_000 + 105 * 40);
}

#[test]
fn every_kind_of_flow_has_ends_and_a_start() {
    let ends = ends_of(
        r#"
        name = "kinds"
        duration = "10 s"
        [topology]
        template = "graph"
        links = [{ from = "a", to = "b" }, { from = "b", to = "c" }]
        [[flows]]
        name = "datagrams"
        from = "a"
        to = "b"
        scheme = "fixed-rate"
        source = "datagrams"
        [[flows]]
        name = "group"
        from = "a"
        receivers = ["b", "c"]
        scheme = "reno"
        start = { from = "1 s", to = "2 s" }
        stop = "5 s"
        "#,
    );
    assert_eq!(ends.len(), 4, "the group is its sender and two receivers");
    let start = ends[1].start;
    assert!(start > Time::ZERO + Span::from_secs(1) && start < Time::ZERO + Span::from_secs(2), "{start:?}");
    assert_eq!(ends[1].stop, Some(Time::ZERO + Span::from_secs(5)));
    let kinds: Vec<_> = ends.iter().map(|ends| format!("{:?} {:?}", ends.sender, ends.receiver)).collect();
    assert_eq!(kinds, ["Datagram Datagram", "Custom Custom", "Custom Stream", "Custom Stream"]);
}
