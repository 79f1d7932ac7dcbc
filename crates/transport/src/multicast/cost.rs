//! What an acknowledgement of one receiver costs, and a timer of one: as much among a thousand receivers as among ten. It is counted
//! in receivers that are looked at, not in time. What is remembered of them is what would be found anew.

use std::collections::VecDeque;

use tailback_core::{Annexes, Span, Stream};

use super::*;
use crate::multicast::standing::LOOKS;
use crate::source::Bulk;

/// A sender to receivers that acknowledge what reaches them in any order, but for what is lost.
struct Group {
    sender: MulticastSender,
    now: Time,
    rng: Stream,
    annexes: Annexes,
    /// By receiver, what it has and what comes next.
    received: Vec<(u64, Vec<u64>)>,
    /// What is on its way: to which receiver, and the number.
    on_way: VecDeque<(usize, u64)>,
    acks: u64,
}

impl Group {
    fn new(scheme: &str, receivers: usize) -> Self {
        let info = tailback_control::SCHEMES.iter().find(|info| info.name == scheme).expect(scheme);
        let scheme = (info.default)();
        let config = Arc::new(StreamConfig::default().serving(&scheme.needs()));
        let build = || scheme.build(&config.controller_params()).controller;
        let members = (0..receivers).map(|place| (FlowId::from(place + 1), build())).collect::<Vec<_>>();
        let source = AnySource::Bulk(Bulk::infinite());
        let sender = MulticastSender::new(FlowId(0), Arc::clone(&config), members, source);
        Self {
            sender,
            now: Time::ZERO,
            rng: Stream::new(1, "group"),
            annexes: Annexes::new(),
            received: vec![(0, Vec::new()); receivers],
            on_way: VecDeque::new(),
            acks: 0,
        }
    }

    fn give(&mut self, input: Input) {
        let mut cx = EndpointCx { rng: &mut self.rng, annexes: &mut self.annexes, notes: None };
        self.sender.handle(self.now, input, &mut cx);
    }

    /// Sends what may leave; when it wants to be called again.
    fn drain(&mut self, loss: f64) -> Option<Time> {
        loop {
            let mut cx = EndpointCx { rng: &mut self.rng, annexes: &mut self.annexes, notes: None };
            match self.sender.poll(self.now, &mut cx) {
                Output::Wait(at) => return at,
                Output::Event(_) => {}
                Output::Transmit(packet) => {
                    let receivers = self.received.len();
                    let all = if packet.flow == FlowId(0) {
                        0..receivers
                    } else {
                        packet.flow.index() - 1..packet.flow.index()
                    };
                    for place in all {
                        if !self.rng.chance(loss) {
                            self.on_way.push_back((place, packet.number));
                        }
                    }
                }
            }
        }
    }

    /// One packet arrives, and its acknowledgement.
    fn arrive(&mut self) -> bool {
        let Some((place, number)) = self.on_way.pop_front() else { return false };
        let (next, beyond) = &mut self.received[place];
        beyond.push(number);
        while let Some(at) = beyond.iter().position(|number| number == next) {
            beyond.swap_remove(at);
            *next += 1;
        }
        let ack = Packet::new(Kind::Ack, FlowId::from(place + 1), *next, Bytes::new(40));
        self.now += Span::from_micros(100);
        self.acks += 1;
        self.give(Input::Packet(ack));
        true
    }

    fn run(&mut self, acks: u64, loss: f64, mut look: impl FnMut(&mut Self)) {
        self.give(Input::App(AppInput::Start));
        let mut wait = self.drain(loss);
        while self.acks < acks {
            if !self.arrive() {
                self.now = self.now.max(wait.expect("a timer")) + Span::from_nanos(1);
                self.give(Input::Timeout);
            }
            wait = self.drain(loss);
            look(self);
        }
    }
}

#[test]
fn an_acknowledgement_costs_as_much_among_a_thousand_receivers() {
    for scheme in ["sack", "reno", "packet-pair", "bbr3"] {
        let looks = [10, 100, 1000].map(|receivers| {
            let mut group = Group::new(scheme, receivers);
            let before = LOOKS.get();
            group.run(30 * receivers as u64, 0.001, |_| {});
            (LOOKS.get() - before) / group.acks
        });
        assert!(looks.iter().all(|looks| *looks <= 80), "{scheme}: {looks:?}");
    }
}

#[test]
fn what_is_remembered_of_receivers_is_what_would_be_found_anew() {
    for scheme in ["sack", "reno", "packet-pair", "bbr3", "cubic"] {
        for receivers in [1, 3, 7] {
            let mut group = Group::new(scheme, receivers);
            group.run(4000, 0.02, |group| {
                let sender = &group.sender;
                for place in 0..receivers {
                    assert_eq!(*sender.standings.get(place), sender.standing(place), "{scheme}");
                }
                let firsts = sender.branches.iter().map(|branch| branch.recovery.first());
                assert_eq!(Some(sender.first()), firsts.min(), "{scheme}");
                let rates = sender.branches.iter().filter_map(|branch| branch.directive.rate);
                assert_eq!(sender.rate(), rates.min(), "{scheme}");
            });
            assert!(group.sender.counters().retransmitted > 0, "{scheme}");
        }
    }
}
