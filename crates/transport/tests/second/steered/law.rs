//! A law for both writings whose directives change at given times, and whenever it hears of an event; and as our sender has it, with a
//! list of what it hears and of what leaves.

use tailback_core::{CongestionEvent, Controller, Cx, Directive, Feedback, Sent, Time};

use super::super::{Left, Told};
use super::anew::Out;

#[derive(Clone, Debug)]
pub struct Law {
    told: Vec<Directive>,
    turns: Vec<u64>,
    at: usize,
    /// How many of the turns are over.
    over: usize,
}

impl Law {
    pub fn new(told: Vec<Directive>, turns: Vec<u64>) -> Self {
        Self { told, turns, at: 0, over: 0 }
    }

    pub fn hear(&mut self, event: Option<CongestionEvent>) {
        self.at += usize::from(event.is_some());
    }

    /// When it turns to its next directive.
    pub fn turns_at(&self) -> Option<u64> {
        self.turns.get(self.over).copied()
    }

    pub fn turn(&mut self, now: u64) {
        while self.turns_at().is_some_and(|at| at <= now) {
            self.over += 1;
            self.at += 1;
        }
    }

    pub fn directive(&self) -> Directive {
        self.told[self.at % self.told.len()]
    }
}

/// The law as our sender has it.
pub struct Ours {
    pub law: Law,
    pub told: Vec<Told>,
    pub out: Vec<Out>,
}

impl Controller for Ours {
    fn on_sent(&mut self, _: Time, sent: &mut Sent, _: &mut Cx<'_>) {
        let left = Left {
            number: sent.number,
            size: sent.size.get(),
            again: sent.retransmission,
            in_flight: sent.in_flight.get(),
        };
        self.out.push(Out::Data(left, sent.pair));
    }

    fn on_feedback(&mut self, _: Time, feedback: &Feedback<'_>, _: &mut Cx<'_>) {
        self.law.hear(feedback.event);
        self.told.push(Told {
            acked: feedback.acked.iter().map(|one| one.number).collect(),
            lost: feedback.lost.iter().map(|one| one.number).collect(),
            advanced: feedback.advanced.get(),
            outstanding: feedback.outstanding.get(),
            in_flight: feedback.in_flight.get(),
            event: feedback.event,
            recovery: feedback.recovery,
            rtt: feedback.rtt.map(|rtt| rtt.latest.as_nanos()),
        });
    }

    fn on_timer(&mut self, now: Time, _: &mut Cx<'_>) {
        self.law.turn(now.as_nanos());
    }

    fn next_timer(&self) -> Option<Time> {
        self.law.turns_at().map(Time::from_nanos)
    }

    fn directive(&self) -> Directive {
        self.law.directive()
    }
}
