//! What the sender makes of receivers that are wrong, and the receiver of senders and clocks that are. What an honest pair does is
//! tested beside each part.

use tailback_core::{
    Annex, Arrival, Bytes, ControlInfo, Controller, Cx, Envelope, Feedback, FeedbackPolicy, FlowId, Kind,
    Packet, PairPosition, Report, Sent, Span, Stream, Time,
};

use super::{Probabilistic, ProbabilisticConfig, ProbabilisticPolicy};
use crate::laws::{AssumedTimeout, ThroughputEquation};
use crate::parts::ControllerParams;

const RTT: u64 = 100;
const PACKET: u64 = 1000;
const MINUTE: usize = 60;

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

fn params() -> ControllerParams {
    ControllerParams::unlimited(Bytes::new(PACKET), 10)
}

/// What a sender sent: packets by second, and seconds in which it said that it cannot know.
struct Sending {
    packets: Vec<u64>,
    unsure: usize,
}

impl Sending {
    /// The most in any stretch of so many seconds, per second.
    fn most(&self, seconds: usize) -> f64 {
        let most = self.packets.windows(seconds).map(|part| part.iter().sum::<u64>()).max().unwrap_or(0);
        most as f64 / seconds as f64
    }
}

/// A sender of `rate` packets per second whose packets are lost with probability `loss`, at a receiver that reports every
/// 100 ms what `say` makes of the truth, or nothing.
fn run(
    rate: u64,
    loss: f64,
    seconds: u64,
    mut say: impl FnMut(u64, Envelope) -> Option<Envelope>,
) -> Sending {
    let mut sender = Probabilistic::new(&ProbabilisticConfig::default(), &params());
    let (mut rng, mut notes, mut luck) = (Stream::new(1, "sender"), Vec::new(), Stream::new(2, "loss"));
    let mut made = Sending { packets: vec![0; seconds as usize], unsure: 0 };
    // When packets left, with how many had arrived by then.
    let mut left: std::collections::VecDeque<(u64, u64)> = std::collections::VecDeque::new();
    let (mut number, mut arrived, mut heard, mut due) = (0, 0, None, 0.0);
    for millis in 0..1000 * seconds {
        let mut cx = Cx { rng: &mut rng, notes: Some(&mut notes) };
        if sender.next_timer().is_some_and(|due| due <= at(millis)) {
            sender.on_timer(at(millis), &mut cx);
        }
        due += rate as f64 / 1000.0;
        while due >= 1.0 {
            due -= 1.0;
            if sender.directive().gate.is_open() {
                let size = Bytes::new(PACKET);
                let mut sent = Sent {
                    number,
                    size,
                    in_flight: size,
                    retransmission: false,
                    pair: PairPosition::Single,
                    app_limited: false,
                    tag: 0,
                };
                sender.on_sent(at(millis), &mut sent, &mut cx);
                number += 1;
                made.packets[(millis / 1000) as usize] += 1;
                if !luck.chance(loss) {
                    arrived += 1;
                    left.push_back((millis, arrived));
                }
            }
        }
        if millis % 100 == 0 {
            while left.front().is_some_and(|(then, _)| *then + RTT <= millis) {
                heard = left.pop_front();
            }
            if let Some((then, count)) = heard {
                let truth = Envelope {
                    echo: Some(at(then)),
                    held: Span::from_millis(millis - then - RTT),
                    arrived_packets: count,
                    arrived_bytes: Bytes::new(PACKET * count),
                    ..Envelope::bare(Report::Gate { on: true, off_for: Span::ZERO })
                };
                if let Some(envelope) = say(millis, truth) {
                    notes.clear();
                    let mut cx = Cx { rng: &mut rng, notes: Some(&mut notes) };
                    let feedback = Feedback { report: Some(&envelope), ..Feedback::empty() };
                    sender.on_feedback(at(millis), &feedback, &mut cx);
                    let unsure = notes.iter().any(|(name, value)| *name == "unsure" && *value > 0.0);
                    made.unsure += usize::from(unsure && millis % 1000 == 0);
                }
            }
        }
    }
    made
}

/// Packets per second of TCP where each loss is an event.
fn tcp(loss: f64) -> f64 {
    let equation = ThroughputEquation::new(PACKET as f64, AssumedTimeout::FourRoundTrips);
    equation.rate(loss, Span::from_millis(RTT)) / PACKET as f64
}

#[test]
fn a_receiver_that_never_asks_to_stop_gains_at_most_twice_tcp_over_hours() {
    // At 5 % TCP has 38 packets a second.
    for (times, hours) in [(4, 2), (8, 2), (30, 1)] {
        let rate = (f64::from(times) * tcp(0.05)) as u64;
        let sending = run(rate, 0.05, 3600 * hours, |_, truth| Some(truth));
        let mean = sending.packets.iter().sum::<u64>() as f64 / sending.packets.len() as f64;
        assert!(mean < 2.3 * tcp(0.05), "{times} times TCP: {:.2} times on average", mean / tcp(0.05));
        // Beyond ten times, the breaker trips long before there is anything to suspect.
        assert!(times > 10 || sending.unsure > 0, "and it says that it cannot know");
    }
}

#[test]
fn what_exceeds_tcp_by_far_is_over_within_seconds() {
    // Of 40 times TCP's rate, and of 100 times: the breaker trips after three seconds and is off for T, so a minute has
    // no more than five seconds of it.
    for times in [40.0, 100.0] {
        let rate = times * tcp(0.05);
        let sending = run(rate as u64, 0.05, 1200, |_, truth| Some(truth));
        assert!(sending.most(MINUTE) <= rate * 5.0 / 60.0, "{:.0} per second", sending.most(MINUTE));
        let last = sending.packets.iter().skip(600).sum::<u64>() as f64 / 600.0;
        assert!(
            last < tcp(0.05),
            "{last:.0} per second in the last ten minutes, where TCP has {:.0}",
            tcp(0.05)
        );
    }
}

#[test]
fn a_friendly_flow_is_never_stopped() {
    let rate = (1.5 * tcp(0.02)) as u64;
    let sending = run(rate, 0.02, 3600, |_, truth| Some(truth));
    assert_eq!(sending.packets.iter().skip(1).filter(|packets| **packets < rate - 1).count(), 0);
}

#[test]
fn silence_stops_it_for_longer_and_longer() {
    let sending = run(100, 0.0, 3600, |_, _| None);
    // 1 s on, then off for 60, 120, … s, at most 32 T.
    let on = sending.packets.iter().filter(|packets| **packets > 0).count();
    assert!(on <= 14, "{on} seconds");
    assert!(sending.most(MINUTE) <= 100.0 * 2.0 / 60.0);
}

#[test]
fn absurd_and_repeated_reports_change_nothing() {
    let rate = (0.5 * tcp(0.05)) as u64;
    let honest = run(rate, 0.05, 300, |_, truth| Some(truth));
    // Counts that cannot be, echoes of the future, and the report of a minute ago, in turn with true ones.
    let mut old = None;
    let wrong = run(rate, 0.05, 300, |millis, truth| {
        let first = old.get_or_insert_with(|| truth.clone()).clone();
        Some(match millis / 100 % 5 {
            0 => Envelope { arrived_packets: u64::MAX, ..truth },
            1 => Envelope { echo: Some(Time::ZERO + Span::from_secs(1 << 30)), ..truth },
            2 => first,
            3 => Envelope { held: Span::MAX, echo: Some(Time::from_nanos(u64::MAX / 2)), ..truth },
            _ => truth,
        })
    });
    assert_eq!(honest.packets, wrong.packets);
}

#[test]
fn repeated_stops_do_not_add_up() {
    // Asked to stop for 10 s again and again during the first second: off until ten seconds after the last.
    let sending = run(50, 0.0, 60, |millis, truth| {
        let stop = Report::Gate { on: false, off_for: Span::from_secs(10) };
        Some(if millis < 1000 { Envelope { report: stop, ..truth } } else { truth })
    });
    assert!(sending.packets[2..10].iter().all(|packets| *packets == 0), "{:?}", &sending.packets[..14]);
    assert!(sending.packets[12..].iter().all(|packets| *packets >= 49), "{:?}", &sending.packets[..14]);
    // And for ever is for ever.
    let sending = run(50, 0.0, 60, |_, truth| {
        Some(Envelope { report: Report::Gate { on: false, off_for: Span::MAX }, ..truth })
    });
    assert!(sending.packets[2..].iter().all(|packets| *packets == 0));
}

/// A receiver that gets packets, and the last that it took for `r_NA` in packets per second and for the round trip in s.
struct Receiving {
    policy: ProbabilisticPolicy,
    rng: Stream,
    notes: Vec<(&'static str, f64)>,
    on: bool,
    application: f64,
    friendly: f64,
}

impl Receiving {
    fn new(config: &ProbabilisticConfig) -> Self {
        let policy = ProbabilisticPolicy::new(config, &params());
        let (rng, notes) = (Stream::new(3, "receiver"), Vec::new());
        Self { policy, rng, notes, on: true, application: 0.0, friendly: 0.0 }
    }

    /// A packet at this time by the receiver's clock, which echoes a report that left a round trip before and was held.
    fn packet(&mut self, now: Time, number: u64, trip: Span, held: Span) {
        let info = ControlInfo { echo: Some(now - trip - held), held, ..ControlInfo::default() };
        let annex = Annex::Control(info);
        let packet = Packet::new(Kind::Data, FlowId::from(0_usize), number, Bytes::new(PACKET));
        let mut cx = Cx { rng: &mut self.rng, notes: Some(&mut self.notes) };
        self.policy.on_arrival(now, &Arrival { packet: &packet, annex: Some(&annex), is_new: true }, &mut cx);
        while let Some(said) = self.policy.poll_report(now, &mut cx) {
            if let Report::Gate { on, .. } = said.report {
                self.on = on;
            }
        }
        for (name, value) in self.notes.drain(..) {
            match name {
                "application_rate" => self.application = value / 8.0 / PACKET as f64,
                "friendly_rate" => self.friendly = value / 8.0 / PACKET as f64,
                _ => {}
            }
        }
    }
}

#[test]
fn numbers_up_to_the_last_are_numbers() {
    let mut receiving = Receiving::new(&ProbabilisticConfig::default());
    for step in 0..2000_u64 {
        let number = (u64::MAX - 1000).saturating_add(step);
        receiving.packet(at(1000 + 10 * step), number, Span::from_millis(RTT), Span::ZERO);
    }
    // And back to zero, as a peer whose numbers wrap would.
    for step in 0..2000_u64 {
        receiving.packet(at(30_000 + 10 * step), step, Span::from_millis(RTT), Span::ZERO);
    }
    assert!(receiving.application.is_finite() && receiving.application >= 0.0);
}

#[test]
fn a_rate_that_changes_a_hundredfold_is_followed_within_seconds() {
    let mut receiving = Receiving::new(&ProbabilisticConfig::default());
    let (mut number, mut now) = (0, 2_000_000_u64);
    for (gap, seconds) in [(100_000, 60), (1_000, 30), (100_000, 60)] {
        let end = now + 1_000_000 * seconds;
        while now < end {
            receiving.packet(Time::ZERO + Span::from_micros(now), number, Span::from_millis(RTT), Span::ZERO);
            (number, now) = (number + 1, now + gap);
        }
        // Six memories of 5 s: what is left of a factor of 100 is a quarter.
        let expected = 1e6 / gap as f64;
        let ratio = receiving.application / expected;
        assert!((0.9..1.3).contains(&ratio), "{} for {expected}", receiving.application);
    }
}

#[test]
fn a_clock_that_drifts_by_a_percent_moves_the_rate_by_two() {
    let friendly = |drift: f64| {
        let config = ProbabilisticConfig { period: Span::from_secs(1000), ..ProbabilisticConfig::default() };
        let mut receiving = Receiving::new(&config);
        for number in 0..4000_u64 {
            // By the receiver's clock all passes faster, but not what the sender measured.
            let now = Span::from_micros(3_000_000 + 20_000 * number).mul_f64(1.0 + drift);
            let trip = Span::from_millis(RTT).mul_f64(1.0 + drift);
            if !number.is_multiple_of(50) {
                let held = Span::from_millis(40);
                receiving.packet(Time::ZERO + now, number, trip + held.mul_f64(drift), held);
            }
        }
        receiving.friendly
    };
    let (true_clock, fast, slow) = (friendly(0.0), friendly(0.01), friendly(-0.01));
    assert!(true_clock > 0.0 && true_clock.is_finite());
    for wrong in [fast, slow] {
        assert!((wrong / true_clock - 1.0).abs() < 0.02, "{wrong} for {true_clock}");
    }
}
