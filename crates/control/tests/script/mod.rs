//! A stand-in for a transport: turns random operations into the calls that a real one would make, in an order that
//! it could make them in. No assertion lives here.

use proptest::prelude::*;
use tailback_control::estimators::DeliveryRate;
use tailback_control::{AnyController, ControllerParams};
use tailback_core::{
    AckWish, Acked, ArrivalWord, BitRate, Bytes, CongestionEvent, Controller, Cx, Directive, Echoes,
    Envelope, Feedback, PairPosition, ProbePlan, Recovery, Report, RttSample, Sent, Span, Stream, Time,
};

/// What happens next.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// As many packets leave as the window allows, at most so many.
    Send(u8),
    /// So many packets are acknowledged at once, after a round trip time of so many milliseconds; perhaps the
    /// application limited the sender.
    Ack(u8, u16, bool),
    /// So many are acknowledged, after so many milliseconds, and all of them bore the marks of these bits: CE, ρ, η.
    Marked(u8, u16, u8),
    /// A recovery episode begins.
    Loss,
    /// It ends.
    Recovered,
    /// What was thought lost was not: the episode is over.
    Spurious,
    /// An ECN echo.
    Ecn,
    /// The retransmission timer expires.
    Timeout,
    /// So many milliseconds pass.
    Wait(u32),
    /// A receiver's report, whose echo is as many milliseconds old.
    Report(Report, u16),
}

/// Sequences of operations, mostly acknowledgements, as in life.
pub(crate) fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        6 => any::<u8>().prop_map(Op::Send),
        12 => (1..=3_u8, 1..500_u16, prop::bool::weighted(0.1)).prop_map(|(n, rtt, idle)| Op::Ack(n, rtt, idle)),
        3 => (1..=3_u8, 1..500_u16, 1..8_u8).prop_map(|(n, rtt, bits)| Op::Marked(n, rtt, bits)),
        1 => Just(Op::Loss),
        2 => Just(Op::Recovered),
        1 => Just(Op::Spurious),
        1 => Just(Op::Ecn),
        1 => Just(Op::Timeout),
        2 => prop_oneof![0..100_u32, 0..10_000_000_u32].prop_map(Op::Wait),
        4 => (reports(), 0..500_u16).prop_map(|(report, age)| Op::Report(report, age)),
    ];
    prop::collection::vec(op, 1..300)
}

/// In a report: of the pair of control packets that was asked for last.
pub(crate) const NEWEST_PAIR: u64 = u64::MAX;

/// Reports of every kind, sensible ones and others.
fn reports() -> impl Strategy<Value = Report> {
    let rate = || prop_oneof![0..20_000_000_u64, any::<u64>()].prop_map(BitRate::from_bits_per_sec);
    let bytes = || prop_oneof![0..100_000_u64, any::<u64>()].prop_map(Bytes::new);
    let span = || prop_oneof![0..10_000_u64, 0..10_000_000_u64].prop_map(Span::from_millis);
    let part = || prop_oneof![4 => 0.0..1.0, 1 => Just(0.0), 1 => prop::num::f64::ANY];
    prop_oneof![
        (span(), bytes(), any::<u16>(), any::<u16>()).prop_map(|(span, received, packets, lost)| {
            Report::Interval { span, received, packets: packets.into(), lost: lost.into() }
        }),
        (part(), rate()).prop_map(|(event_rate, receive_rate)| Report::Loss { event_rate, receive_rate }),
        (
            prop_oneof![0..50_u64, Just(NEWEST_PAIR)],
            prop_oneof![-1e6..1e6, prop::num::f64::ANY],
            bytes(),
            rate(),
            span()
        )
            .prop_map(|(pair, backlog, lost, egress_rate, virtual_delay)| {
                Report::Accumulation { pair, backlog, lost, egress_rate, virtual_delay }
            }),
        (any::<bool>(), span()).prop_map(|(on, off_for)| Report::Gate { on, off_for }),
        (rate(), bytes()).prop_map(|(rate, setpoint)| Report::Rate { rate, setpoint }),
        (prop_oneof![0..60_u64, any::<u64>()], any::<u64>(), prop::collection::vec(any::<u16>(), 0..40))
            .prop_map(|(first, left, words)| {
                let words = words.into_iter().map(ArrivalWord::from_bits).collect();
                Report::Arrivals { first, left: Time::from_nanos(left), words }
            }),
        prop::collection::vec(prop::num::f64::ANY, 0..4).prop_map(|all| Report::Custom(all.into())),
    ]
}

/// A connection as in most tests: segments of 1000 bytes, a window of 2 to begin with and of 100 at most.
pub(crate) fn params() -> ControllerParams {
    let max_window = Bytes::new(100_000);
    ControllerParams { max_window, ..ControllerParams::unlimited(Bytes::new(1000), 2) }
}

/// A transport in miniature.
pub(crate) struct Script {
    controller: AnyController,
    now: Time,
    rng: Stream,
    next: u64,
    acknowledged: u64,
    /// Place in a probe and note of every packet sent.
    sent: Vec<(PairPosition, u32)>,
    recovery: Recovery,
    timeouts: u32,
    smoothed: Span,
    gain: f64,
    /// What schemes that need it hear of the delivery rate.
    delivery: DeliveryRate,
}

impl Script {
    /// The start of a connection.
    pub(crate) fn new(controller: AnyController) -> Self {
        Self {
            controller,
            now: Time::ZERO,
            rng: Stream::new(1, "script"),
            next: 0,
            acknowledged: 0,
            sent: Vec::new(),
            recovery: Recovery::Open,
            timeouts: 0,
            smoothed: Span::from_millis(100),
            gain: 1.0,
            delivery: DeliveryRate::default(),
        }
    }

    /// With this gain in every batch.
    pub(crate) fn with_gain(mut self, gain: f64) -> Self {
        self.gain = gain;
        self
    }

    /// When the controller wants to be called.
    pub(crate) fn next_timer(&self) -> Option<Time> {
        self.controller.next_timer()
    }

    /// The controller's present answer.
    pub(crate) fn directive(&self) -> Directive {
        self.controller.directive()
    }

    /// What it asks of its receiver's acknowledgements.
    pub(crate) fn ack_wish(&self) -> AckWish {
        self.controller.ack_wish()
    }

    /// Whether a fast recovery is under way.
    pub(crate) fn in_fast_recovery(&self) -> bool {
        self.recovery == Recovery::Fast
    }

    fn outstanding(&self) -> Bytes {
        Bytes::new((self.next - self.acknowledged) * 1000)
    }

    /// Calls the controller's timer if it is due. Called once, a controller has done all that was due.
    pub(crate) fn fire_timers(&mut self) {
        let now = self.now;
        let is_due = |controller: &AnyController| controller.next_timer().is_some_and(|due| due <= now);
        if is_due(&self.controller) {
            let mut cx = Cx { rng: &mut self.rng, notes: None };
            self.controller.on_timer(now, &mut cx);
            assert!(!is_due(&self.controller), "due again at the same instant");
        }
    }

    fn feed(&mut self, feedback: &Feedback<'_>) {
        self.fire_timers();
        let feedback = Feedback { gain: self.gain, ..*feedback };
        let before = self.controller.orders();
        let mut cx = Cx { rng: &mut self.rng, notes: None };
        let changed = self.controller.hear_feedback(self.now, &feedback, &mut cx);
        // Whoever says that nothing has changed may not have changed anything.
        assert!(changed || before == self.controller.orders(), "orders after feedback");
    }

    fn event(&mut self, event: CongestionEvent) {
        let feedback = Feedback {
            event: Some(event),
            recovery: self.recovery,
            outstanding: self.outstanding(),
            in_flight: self.outstanding(),
            ..Feedback::empty()
        };
        self.feed(&feedback);
    }

    /// Feedback without content.
    pub(crate) fn say_nothing(&mut self) -> Directive {
        let feedback =
            Feedback { recovery: self.recovery, outstanding: self.outstanding(), ..Feedback::empty() };
        self.feed(&feedback);
        self.directive()
    }

    /// Carries out one operation and reads the directive.
    pub(crate) fn apply(&mut self, op: &Op) -> Directive {
        match *op {
            Op::Send(count) => (0..count).for_each(|_| self.send()),
            Op::Ack(count, rtt, idle) => {
                self.acknowledge(count.into(), Span::from_millis(rtt.into()), idle, 0);
            }
            Op::Marked(count, rtt, bits) => {
                self.acknowledge(count.into(), Span::from_millis(rtt.into()), false, bits);
            }
            Op::Loss => {
                self.recovery = Recovery::Fast;
                self.event(CongestionEvent::Loss);
            }
            Op::Recovered if self.recovery != Recovery::Open => {
                self.recovery = Recovery::Open;
                self.event(CongestionEvent::RecoveryEnd);
            }
            Op::Spurious if self.recovery != Recovery::Open => {
                self.recovery = Recovery::Open;
                self.event(CongestionEvent::Spurious);
            }
            Op::Recovered | Op::Spurious => {}
            Op::Ecn => self.event(CongestionEvent::Ecn),
            Op::Timeout => {
                self.recovery = Recovery::Timeout;
                self.timeouts += 1;
                self.event(CongestionEvent::Timeout { consecutive: self.timeouts });
            }
            Op::Wait(millis) => self.now += Span::from_millis(millis.into()),
            Op::Report(ref report, age) => self.report(report.clone(), Span::from_millis(age.into())),
        }
        self.directive()
    }

    fn send(&mut self) {
        let in_flight = self.outstanding() + Bytes::new(1000);
        if self.directive().window.is_some_and(|window| in_flight > window) {
            return;
        }
        let mut sent = Sent {
            number: self.next,
            size: Bytes::new(1000),
            in_flight,
            retransmission: false,
            pair: self.place(),
            app_limited: false,
            tag: 0,
        };
        self.next += 1;
        self.delivery.on_sent(self.now, &sent);
        let before = self.controller.orders();
        let mut cx = Cx { rng: &mut self.rng, notes: None };
        let heard = self.controller.hear_sent(self.now, &mut sent, &mut cx);
        // Whoever says that nothing has changed may not have changed anything.
        assert_eq!(heard.unwrap_or(before), self.controller.orders(), "orders after a packet has left");
        self.sent.push((sent.pair, sent.tag));
    }

    fn report(&mut self, mut report: Report, age: Span) {
        if let (Report::Accumulation { pair: pair @ NEWEST_PAIR, .. }, Some(ProbePlan::ControlPair { id })) =
            (&mut report, self.directive().probe)
        {
            *pair = id;
        }
        let now = self.now.as_nanos();
        let echo = Some(Time::from_nanos(now.saturating_sub(age.as_nanos())));
        let arrived_bytes = Bytes::new(self.acknowledged * 1000);
        let envelope =
            Envelope { echo, arrived_bytes, arrived_packets: self.acknowledged, ..Envelope::bare(report) };
        let feedback = Feedback {
            recovery: self.recovery,
            outstanding: self.outstanding(),
            in_flight: self.outstanding(),
            report: Some(&envelope),
            ..Feedback::empty()
        };
        self.feed(&feedback);
    }

    /// The next packet's place in a probe, where data leaves in pairs.
    fn place(&self) -> PairPosition {
        match self.directive().probe {
            Some(ProbePlan::DataPairs { .. }) if self.next.is_multiple_of(2) => PairPosition::First,
            Some(ProbePlan::DataPairs { .. }) => PairPosition::Second,
            _ => PairPosition::Single,
        }
    }

    fn acknowledge(&mut self, count: u64, rtt: Span, idle: bool, marks: u8) {
        let count = count.min(self.next - self.acknowledged);
        if count == 0 {
            return;
        }
        self.timeouts = 0;
        self.now += rtt / 10;
        self.smoothed = (self.smoothed * 7 + rtt) / 8;
        let acked: Vec<Acked> = (self.acknowledged..self.acknowledged + count)
            .map(|number| Acked {
                number,
                size: Bytes::new(1000),
                sent_at: self.now - rtt,
                retransmitted: false,
                pair: self.sent[number as usize].0,
                tag: self.sent[number as usize].1,
            })
            .collect();
        let outstanding = self.outstanding();
        let marked = |bit: u8| if marks & bit == 0 { 0 } else { count as u32 };
        self.acknowledged += count;
        let mut delivery = std::mem::take(&mut self.delivery);
        if idle {
            delivery.ran_dry(self.outstanding());
        }
        let feedback = Feedback {
            acked: &acked,
            advanced: Bytes::new(count * 1000),
            rtt: Some(RttSample { latest: rtt, smoothed: self.smoothed, min: Span::from_millis(1) }),
            recovery: self.recovery,
            echoes: Echoes { ce: marked(1), rho: marked(2), eta: marked(4) },
            outstanding,
            in_flight: self.outstanding(),
            window_limited: !idle,
            delivery: delivery.on_feedback(self.now, &acked, &[]),
            ..Feedback::empty()
        };
        self.feed(&feedback);
        self.delivery = delivery;
    }
}
