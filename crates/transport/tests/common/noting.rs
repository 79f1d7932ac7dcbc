//! A controller that notes all that it is told, with habits that take it off the straight way now and then, and a feedback
//! policy that takes data as a sum: what tests of the straight ways share. What they hold these ways to stands there.

use tailback_control::schemes::{Reno, RenoConfig};
use tailback_core::{
    AckFrequency, AckWish, Arrival, BitRate, Burst, Bytes, Controller, Cx, DeliverySample, Directive,
    Envelope, Feedback, FeedbackPolicy, Gate, Kind, Lane, OneWay, Outgoing, ProbePlan, Report, Sent, Span,
    Time,
};
use tailback_transport::StreamConfig;

use crate::pipe::Batch;

/// What a controller directs for the last five of every forty steps.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Odd {
    Timeout,
    Gate,
    Pairs,
    ControlPair,
    Cluster,
    NoRate,
    /// A window of less than a segment.
    Narrow,
}

/// What a controller directs and hears beside Reno's window and feedback.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habits {
    pub(crate) rate: Option<BitRate>,
    pub(crate) burst: Burst,
    pub(crate) watches_sent: bool,
    /// It says when feedback has changed nothing.
    pub(crate) says_same: bool,
    pub(crate) odd: Option<Odd>,
    pub(crate) asks: Option<Asks>,
}

/// What a controller asks of its receiver: something else after so many packets that leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asks {
    pub(crate) every: u64,
    pub(crate) wishes: [Option<AckFrequency>; 4],
    /// Every so many packets one is to be acknowledged at once.
    pub(crate) immediate: u64,
}

impl Habits {
    pub(crate) const NONE: Self = Self {
        rate: None,
        burst: Burst::SINGLE,
        watches_sent: false,
        says_same: false,
        odd: None,
        asks: None,
    };
}

const FORTY: u64 = 40;

/// A packet that leaves, as a controller hears of it.
pub(crate) type Left = (Time, u64, Bytes, Bytes, bool);

/// Reno's law with habits, which notes all that it is told.
pub(crate) struct Noting {
    law: Reno,
    habits: Habits,
    pub(crate) told: Vec<(Batch, Bytes)>,
    pub(crate) delivered: Vec<Option<DeliverySample>>,
    pub(crate) one_way: Vec<Option<OneWay>>,
    pub(crate) left: Vec<Left>,
    pub(crate) said: Vec<Envelope>,
    /// How often feedback changed nothing.
    pub(crate) same: u64,
    /// Batches so far; the timer that ends what is odd counts for as many as are missing to forty.
    steps: u64,
    odd_until: Option<Time>,
}

impl Noting {
    pub(crate) fn new(config: &StreamConfig, habits: Habits) -> Self {
        Self {
            law: Reno::new(&RenoConfig::default(), &config.controller_params()),
            habits,
            told: Vec::new(),
            delivered: Vec::new(),
            one_way: Vec::new(),
            left: Vec::new(),
            said: Vec::new(),
            same: 0,
            steps: 0,
            odd_until: None,
        }
    }

    fn step(&mut self, now: Time) {
        self.steps += 1;
        let is_odd = self.habits.odd.is_some() && self.steps % FORTY >= FORTY - 5;
        self.odd_until = is_odd.then(|| self.odd_until.unwrap_or(now + Span::from_millis(50)));
    }
}

impl Controller for Noting {
    fn watches_sent(&self) -> bool {
        self.habits.watches_sent
    }

    fn on_sent(&mut self, now: Time, sent: &mut Sent, _: &mut Cx<'_>) {
        self.left.push((now, sent.number, sent.size, sent.in_flight, sent.app_limited));
        sent.tag = self.left.len() as u32;
    }

    fn on_timer(&mut self, now: Time, _: &mut Cx<'_>) {
        if self.odd_until.is_some_and(|until| until <= now) {
            self.steps = self.steps.next_multiple_of(FORTY);
            self.odd_until = None;
        }
    }

    fn next_timer(&self) -> Option<Time> {
        self.odd_until
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        let told = Batch { rtt: feedback.rtt.map(|sample| sample.smoothed), ..Batch::of(now, feedback) };
        let sizes = feedback.acked.iter().map(|one| one.size).sum();
        self.told.push((told, sizes));
        self.delivered.push(feedback.delivery.cloned());
        self.one_way.push(feedback.one_way);
        self.said.extend(feedback.report.cloned());
        self.law.on_feedback(now, feedback, cx);
        self.step(now);
    }

    fn hear_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) -> bool {
        let before = self.orders();
        self.on_feedback(now, feedback, cx);
        let stays = self.habits.says_same && self.orders() == before;
        self.same += u64::from(stays);
        !stays
    }

    fn directive(&self) -> Directive {
        let Habits { rate, burst, odd, .. } = self.habits;
        let usual = Directive { rate, burst, ..self.law.directive() };
        let Some(odd) = odd.filter(|_| self.odd_until.is_some()) else { return usual };
        let id = self.steps / FORTY;
        match odd {
            Odd::Timeout => Directive { timeout: Some(Span::from_millis(90)), ..usual },
            Odd::Gate => Directive { gate: Gate::Closed { until: None }, ..usual },
            Odd::Pairs => {
                let singleton_timeout = Span::from_millis(5);
                Directive { probe: Some(ProbePlan::DataPairs { singleton_timeout }), ..usual }
            }
            Odd::ControlPair => Directive { probe: Some(ProbePlan::ControlPair { id }), ..usual },
            Odd::Cluster => {
                let (rate, bytes) = (BitRate::from_bits_per_sec(30_000_000), Bytes::new(6000));
                Directive { probe: Some(ProbePlan::Cluster { id, rate, bytes }), ..usual }
            }
            Odd::NoRate => Directive { rate: None, ..usual },
            Odd::Narrow => Directive { window: Directive::window(Bytes::new(400)).window, ..usual },
        }
    }

    /// By the batches so far, of which both ways tell alike.
    fn ack_wish(&self) -> AckWish {
        let Some(Asks { every, wishes, immediate }) = self.habits.asks else { return AckWish::default() };
        AckWish {
            frequency: wishes[(self.steps / every % 4) as usize],
            immediate: (self.steps / immediate) as u32,
        }
    }
}

/// A policy that takes data as a sum, and reports it at control packets and every so often.
#[derive(Default)]
pub(crate) struct Summing {
    pub(crate) sum: Bytes,
    /// How many packets of data it heard of by themselves.
    pub(crate) single: u32,
    pub(crate) due: bool,
    pub(crate) every: Option<Span>,
    pub(crate) timer: Option<Time>,
}

impl FeedbackPolicy for Summing {
    fn on_arrival(&mut self, _: Time, arrival: &Arrival<'_>, _: &mut Cx<'_>) {
        if arrival.is_data() {
            self.single += 1;
            self.add_data(arrival.packet.size());
        }
        self.due |= arrival.packet.kind() == Kind::Control;
    }

    fn sums_data(&self) -> bool {
        true
    }

    fn add_data(&mut self, bytes: Bytes) {
        self.sum += bytes;
    }

    fn poll_report(&mut self, now: Time, _: &mut Cx<'_>) -> Option<Outgoing> {
        let late = self.timer.is_some_and(|at| at <= now);
        if late || self.timer.is_none() {
            self.timer = self.every.map(|every| now + every);
        }
        (std::mem::take(&mut self.due) || late).then(|| Outgoing {
            report: Report::Custom(Box::new([self.sum.as_f64()])),
            lane: Lane::OUT_OF_BAND,
            size: Bytes::new(52),
        })
    }

    fn next_timer(&self) -> Option<Time> {
        self.timer
    }
}
