//! A sender's side of a connection in miniature, with a fate drawn for each step: acknowledgements of one to many packets,
//! losses, marks, time-outs, some of them spurious, idle times, an application that has little, and a round trip time that
//! wanders. What is asked of two writings of one scheme lives here; no scheme does. What may happen to it is
//! in `fate`, what is lost in `losses`.

mod fate;
mod losses;

use tailback_control::estimators::DeliveryRate;
use tailback_control::{AnyController, ControllerParams, Scheme};
use tailback_core::{
    Acked, Bytes, CongestionEvent, Controller, Cx, DeliverySample, Echoes, Feedback, Lost, OneWay,
    PairPosition, Recovery, RttSample, Sent, Span, Stream, Time,
};

use super::trace::{self, words};
use super::{Second, agree, seconds};
pub(crate) use fate::Fate;

pub(crate) const SEGMENT: u64 = 1000;

pub(crate) struct Wire<S> {
    pub(crate) ours: AnyController,
    pub(crate) second: S,
    pub(crate) now: Time,
    fate: Fate,
    rng: Stream,
    draws: Stream,
    next: u64,
    una: u64,
    /// When each packet was sent last, whether more than once, and its tag.
    sent: Vec<(Time, bool, u32)>,
    lost: u64,
    /// Packets that were acknowledged selectively; below `found` all are known to have arrived or not.
    sacked: Vec<u64>,
    found: u64,
    dry: bool,
    recovery: Recovery,
    recover: u64,
    timeouts: u32,
    marked_until: u64,
    smoothed: Option<Span>,
    least: Span,
    queue: f64,
    /// By how much the route is longer than the shortest, in milliseconds.
    longer: f64,
    /// How far the receiver's clock is ahead, in nanoseconds.
    ahead: u64,
    /// What a packet takes at the link, in milliseconds.
    service: f64,
    sampler: DeliveryRate,
    trace: Vec<String>,
}

pub(crate) fn params(initial: u64, ssthresh: Option<u64>) -> ControllerParams {
    ControllerParams {
        initial_ssthresh: ssthresh.map(|segments| Bytes::new(segments * SEGMENT)),
        ..ControllerParams::unlimited(Bytes::new(SEGMENT), initial)
    }
}

pub(crate) fn scheme(config: serde_json::Value, params: &ControllerParams) -> AnyController {
    serde_json::from_value::<Scheme>(config).expect("registered").build(params).controller
}

impl<S: Second> Wire<S> {
    pub(crate) fn new(ours: AnyController, second: S, fate: Fate, seed: u64) -> Self {
        Self {
            ours,
            second,
            now: Time::from_nanos(1_000_000_000),
            fate,
            rng: Stream::new(seed, "wire"),
            draws: Stream::new(seed, "controller"),
            next: 0,
            una: 0,
            sent: Vec::new(),
            lost: 0,
            sacked: Vec::new(),
            found: 0,
            dry: false,
            recovery: Recovery::Open,
            recover: 0,
            timeouts: 0,
            marked_until: 0,
            smoothed: None,
            least: Span::MAX,
            queue: 0.0,
            longer: 0.0,
            ahead: seed * 7_777_777_777,
            service: fate.service.1,
            sampler: DeliveryRate::default(),
            trace: Vec::new(),
        }
    }

    fn chance(&mut self, of: f64) -> bool {
        of > 0.0 && self.rng.uniform() < of
    }

    fn flight(&self) -> u64 {
        self.next - self.una
    }

    fn in_flight(&self) -> Bytes {
        Bytes::new(self.flight().saturating_sub(self.lost) * SEGMENT)
    }

    /// So many steps; both agree after each, or the test fails with what went before.
    pub(crate) fn run(&mut self, steps: usize) {
        for _ in 0..steps {
            self.step();
        }
    }

    /// How long the link is busy with so many packets; at least a microsecond passes.
    fn busy(&self, packets: u64) -> Span {
        Span::from_secs_f64(packets as f64 * self.service * 1e-3).max(Span::from_nanos(1000))
    }

    /// The round trip of what leaves now.
    fn trip(&self) -> Span {
        Span::from_secs_f64((self.fate.base + self.longer + self.queue) * 1e-3)
    }

    /// A segment's way to the receiver, where the queue is, too; by clocks that differ.
    fn way(&mut self, sent_at: Time) -> Option<OneWay> {
        if self.chance(self.fate.unstamped) {
            return None;
        }
        let takes = Span::from_secs_f64((self.fate.base / 2.0 + self.longer + self.queue) * 1e-3);
        let arrived = Time::from_nanos((sent_at + takes).as_nanos() + self.ahead);
        Some(OneWay { sent_at, arrived })
    }

    fn step(&mut self) {
        if self.chance(self.fate.route.0) {
            self.longer = self.fate.route.1 * self.rng.uniform();
        }
        let (least, most) = self.fate.service;
        if most > least && self.chance(0.005) {
            self.service = least * (most / least).powf(self.rng.uniform());
        }
        if self.chance(self.fate.pause) && self.recovery == Recovery::Open {
            self.pause();
        }
        let limited = self.chance(self.fate.limited);
        if limited {
            self.run_dry();
        }
        if !limited || self.flight() == 0 {
            self.send();
        }
        let open = self.recovery == Recovery::Open;
        if self.chance(self.fate.timeout) {
            self.timeout();
        } else if open
            && self.sacked.is_empty()
            && self.flight() > self.fate.burst + 1
            && self.chance(self.fate.loss)
        {
            self.lose();
        } else if !open && self.chance(self.fate.spurious * 50.0) {
            self.spurious();
        } else if self.recovery == Recovery::Fast && self.lost > 0 && self.chance(self.fate.again) {
            self.lose_again();
        } else if !open && self.chance(self.fate.more) && self.lose_more() {
            // In pieces, and what is between them is acknowledged.
        } else {
            self.acknowledge(limited);
        }
    }

    fn run_dry(&mut self) {
        self.sampler.ran_dry(self.in_flight());
        self.dry = true;
    }

    fn pause(&mut self) {
        self.run_dry();
        while self.flight() > 0 {
            self.acknowledge(true);
        }
        self.run_dry();
        self.now += Span::from_secs_f64(0.1 + 30.0 * self.rng.uniform());
        self.tell("idle", &Feedback { event: Some(CongestionEvent::Idle), ..Feedback::empty() });
    }

    fn send(&mut self) {
        loop {
            let window = self.ours.directive().window.expect("a window");
            let in_flight = Bytes::new((self.flight() + 1 - self.lost) * SEGMENT);
            if in_flight > window.max(Bytes::new(SEGMENT)) || self.flight() > 100_000 {
                return;
            }
            let (number, pair) = (self.next, PairPosition::Single);
            let size = Bytes::new(SEGMENT);
            let mut sent = Sent {
                number,
                size,
                in_flight,
                retransmission: false,
                pair,
                app_limited: std::mem::take(&mut self.dry),
                tag: 0,
            };
            self.sampler.on_sent(self.now, &sent);
            self.second.sent(seconds(self.now), &sent);
            self.ours.on_sent(self.now, &mut sent, &mut Cx { rng: &mut self.draws, notes: None });
            self.sent.push((self.now, false, sent.tag));
            self.next += 1;
            if sent.app_limited {
                // What was idle may be told another rate.
                self.check();
            }
        }
    }

    fn acked_one(&self, number: u64) -> Acked {
        let (sent_at, retransmitted, tag) = self.sent[number as usize];
        let size = Bytes::new(SEGMENT);
        Acked { number, size, sent_at, retransmitted, pair: PairPosition::Single, tag }
    }

    fn sample(&mut self, acked: &[Acked], lost: &[Lost]) -> Option<DeliverySample> {
        let mut sample = self.sampler.on_feedback(self.now, acked, lost).cloned();
        if self.chance(self.fate.unrated)
            && let Some(sample) = &mut sample
        {
            sample.rate = None;
        }
        sample
    }

    fn acknowledge(&mut self, limited: bool) {
        if self.flight() == 0 {
            return;
        }
        let most = 1 + (self.rng.uniform() * self.fate.stretch as f64) as u64;
        let count = most.min(self.flight());
        let outstanding = Bytes::new(self.flight() * SEGMENT);
        // The queue wanders; what is acknowledged last arrived a round trip after it left.
        self.queue =
            (self.queue + (self.rng.uniform() - 0.5) * 0.2 * self.fate.queue).clamp(0.0, self.fate.queue);
        let trip = self.trip();
        let last = self.sent[(self.una + count - 1) as usize].0;
        self.now = self.now.max(last + trip) + self.busy(count);
        let acked: Vec<Acked> = (self.una..self.una + count)
            .filter(|number| !self.sacked.contains(number))
            .map(|number| self.acked_one(number))
            .collect();
        let advanced = self.advance(count);
        self.timeouts = 0;
        self.lost = self.lost.saturating_sub(count);
        let rtt = acked.last().filter(|newest| !newest.retransmitted).map(|newest| self.measure(newest));
        let mut event = self.end_recovery();
        let marked = self.chance(self.fate.mark);
        if marked
            && self.fate.echo_event
            && self.recovery == Recovery::Open
            && self.una >= self.marked_until
            && event.is_none()
        {
            self.marked_until = self.next;
            event = Some(CongestionEvent::Ecn);
        }
        let delivery = self.sample(&acked, &[]);
        let one_way = self.way(last);
        let label = format!(
            "ack {count}{}{}",
            if marked { " marked" } else { "" },
            if limited { " limited" } else { "" }
        );
        let feedback = Feedback {
            acked: &acked,
            advanced: Bytes::new(advanced * SEGMENT),
            rtt,
            event,
            recovery: self.recovery,
            echoes: Echoes { ce: u32::from(marked) * count as u32, rho: 0, eta: 0 },
            outstanding,
            in_flight: self.in_flight(),
            window_limited: !limited,
            delivery: delivery.as_ref(),
            one_way,
            ..Feedback::empty()
        };
        self.tell(&label, &feedback);
    }

    /// The cumulative acknowledgement moves on by so many; by how many it really does.
    fn advance(&mut self, count: u64) -> u64 {
        let before = self.una;
        self.una += count;
        // It passes over what has arrived already, where that may be much.
        while self.fate.more > 0.0 && self.sacked.contains(&self.una) {
            self.una += 1;
        }
        let una = self.una;
        self.sacked.retain(|number| *number >= una);
        una - before
    }

    fn measure(&mut self, newest: &Acked) -> RttSample {
        let latest = self.now.since(newest.sent_at);
        self.least = self.least.min(latest);
        let smoothed = self.smoothed.map_or(latest, |old| (old * 7 + latest) / 8);
        self.smoothed = Some(smoothed);
        RttSample { latest, smoothed, min: self.least }
    }

    /// Recovery ends where all is acknowledged that had left when it began; how that is told.
    fn end_recovery(&mut self) -> Option<CongestionEvent> {
        if self.recovery == Recovery::Open || self.una < self.recover {
            return None;
        }
        self.lost = 0;
        let before = std::mem::replace(&mut self.recovery, Recovery::Open);
        (before == Recovery::Fast).then_some(CongestionEvent::RecoveryEnd)
    }

    fn tell(&mut self, what: &str, feedback: &Feedback<'_>) {
        if self.ours.next_timer().is_some_and(|due| due <= self.now) {
            self.ours.on_timer(self.now, &mut Cx { rng: &mut self.draws, notes: None });
        }
        self.ours.on_feedback(self.now, feedback, &mut Cx { rng: &mut self.draws, notes: None });
        self.second.heard(seconds(self.now), feedback);
        let window = self.ours.directive().window.expect("a window").as_f64() / SEGMENT as f64;
        self.trace.push(words!(
            "{:.6} {what} {:?} {:?} flight {} | ours {window:.5} second {:.5} | {}",
            seconds(self.now),
            feedback.event,
            self.recovery,
            self.flight(),
            self.second.window(),
            self.second.state(),
        ));
        self.check();
    }

    fn check(&self) {
        let directive = self.ours.directive();
        if !agree(&directive, &self.second, SEGMENT as f64) {
            let window = directive.window.expect("a window").as_f64() / SEGMENT as f64;
            let from = self.trace.len().saturating_sub(14);
            panic!(
                "{} rate {:?}, second {:?}\nafter {} steps:\n{}",
                window,
                directive.rate,
                self.second.rate(),
                self.trace.len(),
                trace::last(&self.trace[from..])
            );
        }
    }
}
