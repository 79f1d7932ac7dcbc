//! A path for one controller, driven by hand: a bottleneck with a queue, a constant delay, and an application, each of which
//! may change at any moment. For tests of what a controller does when; endpoints and networks are tested elsewhere.

use std::collections::{HashMap, VecDeque};

use tailback_control::estimators::DeliveryRate;
use tailback_core::{
    Acked, Bytes, CongestionEvent, Controller, Cx, Directive, Feedback, Lost, PairPosition, Recovery,
    RttSample, Sent, Span, Stream, Time,
};

pub(crate) const PACKET: u64 = 1000;

/// A packet on its way, and when that is known at the sender.
#[derive(Clone, Copy, Debug)]
struct Flying {
    number: u64,
    sent_at: Time,
    known: Time,
    lost: bool,
}

/// A path with a controller at its end. Everything that is public may change between two steps.
pub(crate) struct Path<C> {
    pub(crate) controller: C,
    pub(crate) now: Time,
    /// Of the bottleneck, in bits per second; [`Path::change_rate`] changes it.
    rate: f64,
    /// Without queue.
    pub(crate) round_trip: Span,
    /// Packets that may wait.
    pub(crate) buffer: f64,
    /// The rate of the application, in bits per second: infinite for as much as may leave, 0 for a pause.
    pub(crate) offered: f64,
    /// One packet of so many is lost.
    pub(crate) loses: Option<u64>,
    /// Tokens of a policer in the place of the queue: rate in bits per second, depth in packets.
    pub(crate) policer: Option<(f64, f64)>,
    /// Acknowledgements come at multiples of this only.
    pub(crate) bunches: Option<Span>,
    /// The controller's newest notes.
    pub(crate) notes: HashMap<&'static str, f64>,
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    sampler: DeliveryRate,
    rng: Stream,
    number: u64,
    flying: VecDeque<Flying>,
    in_flight: u64,
    /// When the bottleneck is idle again, and when tokens allow the next packet.
    idle: Time,
    tokens: (f64, Time),
    paced: Time,
    made: Time,
    dry: bool,
    smoothed: Option<Span>,
    least: Span,
    /// The number that was next when this recovery began, and when the last loss before that was found: recovery ends when that
    /// loss is repaired.
    recovery: Option<(u64, u64)>,
    pending: Option<CongestionEvent>,
    /// A time-out's losses are being repaired, until that proves to have been for nothing.
    timed_out: bool,
}

impl<C: Controller> Path<C> {
    pub(crate) fn new(controller: C, megabits: f64, round_trip: Span) -> Self {
        Self {
            controller,
            now: Time::ZERO,
            rate: megabits * 1e6,
            round_trip,
            buffer: f64::INFINITY,
            offered: f64::INFINITY,
            loses: None,
            policer: None,
            bunches: None,
            notes: HashMap::new(),
            delivered: 0,
            lost: 0,
            sampler: DeliveryRate::default(),
            rng: Stream::new(5, "path"),
            number: 0,
            flying: VecDeque::new(),
            in_flight: 0,
            idle: Time::ZERO,
            tokens: (f64::NAN, Time::ZERO),
            paced: Time::ZERO,
            made: Time::ZERO,
            dry: false,
            smoothed: None,
            least: Span::MAX,
            recovery: None,
            pending: None,
            timed_out: false,
        }
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.now.as_secs_f64()
    }

    pub(crate) fn directive(&self) -> Directive {
        self.controller.directive()
    }

    pub(crate) fn window(&self) -> f64 {
        self.directive().window.map_or(f64::INFINITY, Bytes::as_f64)
    }

    /// Bytes in the network.
    pub(crate) fn in_flight(&self) -> f64 {
        self.in_flight as f64
    }

    /// The bandwidth-delay product, in bytes.
    pub(crate) fn product(&self) -> f64 {
        self.rate / 8.0 * self.round_trip.as_secs_f64()
    }

    /// A named piece of the controller's state; infinite where it has not said any.
    pub(crate) fn note(&self, name: &str) -> f64 {
        self.notes.get(name).copied().unwrap_or(f64::INFINITY)
    }

    /// The bottleneck's rate is multiplied by this, for what waits there too.
    pub(crate) fn change_rate(&mut self, factor: f64) {
        self.rate *= factor;
        let (now, trip) = (self.now, self.round_trip);
        let later = |left: Time| now + left.since(now).mul_f64(1.0 / factor);
        for packet in &mut self.flying {
            let left = Time::from_nanos(packet.known.as_nanos() - trip.as_nanos());
            if left > now {
                packet.known = later(left) + trip;
            }
        }
        self.idle = self.idle.max(now);
        self.idle = later(self.idle);
    }

    /// The next batch of feedback bears this event, whatever else it says.
    pub(crate) fn tell(&mut self, event: CongestionEvent) {
        self.pending = Some(event);
    }

    /// When the next packet leaves, if the window lets it: when the application has it and pacing allows.
    fn departure(&mut self) -> Option<Time> {
        let window = self.directive().window.map_or(u64::MAX, Bytes::get);
        if self.in_flight + PACKET > window {
            return None;
        }
        let due = self.paced.max(self.now);
        if self.offered.is_infinite() {
            return Some(due);
        }
        let waits = self.offered == 0.0 || self.made > due;
        if waits && !self.dry {
            self.sampler.ran_dry(Bytes::new(self.in_flight));
            self.dry = true;
        }
        (self.offered > 0.0).then(|| due.max(self.made))
    }

    /// One event: a packet leaves, or what became of packets is known. Time goes on by at most 10 ms.
    pub(crate) fn step(&mut self) {
        let patience = self.now + Span::from_millis(10);
        let known = self.flying.front().map_or(Time::NEVER, |packet| self.told(packet.known));
        match self.departure() {
            Some(at) if at < known && at <= patience => self.send(at),
            _ if known <= patience => self.hear(known),
            _ => self.now = patience,
        }
    }

    /// When the sender hears of what could be known at this time.
    fn told(&self, known: Time) -> Time {
        self.bunches.map_or(known, |bunch| {
            let bunch = bunch.as_nanos();
            Time::from_nanos(known.as_nanos().div_ceil(bunch) * bunch)
        })
    }

    fn send(&mut self, at: Time) {
        self.now = at;
        let (number, size) = (self.number, Bytes::new(PACKET));
        self.number += 1;
        self.in_flight += PACKET;
        let in_flight = Bytes::new(self.in_flight);
        let app_limited = std::mem::take(&mut self.dry);
        let pair = PairPosition::Single;
        let mut sent = Sent { number, size, in_flight, retransmission: false, pair, app_limited, tag: 0 };
        self.sampler.on_sent(at, &sent);
        self.controller.on_sent(at, &mut sent, &mut Cx { rng: &mut self.rng, notes: None });
        let bits = 8.0 * PACKET as f64;
        let rate = self.directive().rate.map_or(1e12, |rate| rate.bits_per_sec() as f64);
        self.paced = at + Span::from_secs_f64(bits / rate);
        if self.offered.is_finite() && self.offered > 0.0 {
            self.made = self.made.max(at) + Span::from_secs_f64(bits / self.offered);
        }
        self.pass(number, bits);
    }

    /// A packet reaches the bottleneck.
    fn pass(&mut self, number: u64, bits: f64) {
        let waiting = self.idle.since(self.now).as_secs_f64() * self.rate / bits;
        let mut lost = self.loses.is_some_and(|every| number.is_multiple_of(every)) || waiting > self.buffer;
        if let Some((rate, depth)) = self.policer {
            let (held, since) = self.tokens;
            let full = if held.is_nan() { depth } else { held };
            let held = (full + self.now.since(since).as_secs_f64() * rate / bits).min(depth);
            lost |= held < 1.0;
            self.tokens = (if lost { held } else { held - 1.0 }, self.now);
        }
        if !lost {
            self.idle = self.idle.max(self.now) + Span::from_secs_f64(bits / self.rate);
        }
        let known = self.idle.max(self.now) + self.round_trip;
        let known = self.flying.back().map_or(known, |last| known.max(last.known));
        self.flying.push_back(Flying { number, sent_at: self.now, known, lost });
    }

    /// What became of the packets of which it is known by now.
    fn hear(&mut self, known: Time) {
        self.now = known;
        let (mut acked, mut lost) = (Vec::new(), Vec::new());
        while let Some(packet) = self.flying.front().copied().filter(|packet| packet.known <= self.now) {
            self.flying.pop_front();
            self.in_flight -= PACKET;
            let (number, size, sent_at) = (packet.number, Bytes::new(PACKET), packet.sent_at);
            if packet.lost {
                lost.push(Lost { number, size, sent_at, tag: 0 });
            } else {
                let (retransmitted, pair) = (false, PairPosition::Single);
                acked.push(Acked { number, size, sent_at, retransmitted, pair, tag: 0 });
            }
        }
        self.delivered += acked.len() as u64;
        self.lost += lost.len() as u64;
        let event =
            self.event(acked.last().map(|packet| packet.number), lost.first().map(|packet| packet.number));
        let rtt = acked.last().map(|packet| self.sample(packet.sent_at));
        let advanced = Bytes::new(PACKET * (acked.len() + lost.len()) as u64);
        let mut notes = Vec::new();
        let feedback = Feedback {
            acked: &acked,
            advanced,
            lost: &lost,
            rtt,
            event,
            recovery: match self.recovery {
                _ if self.timed_out => Recovery::Timeout,
                Some(_) => Recovery::Fast,
                None => Recovery::Open,
            },
            outstanding: Bytes::new(self.in_flight) + advanced,
            in_flight: Bytes::new(self.in_flight),
            delivery: self.sampler.on_feedback(self.now, &acked, &lost),
            ..Feedback::empty()
        };
        let mut cx = Cx { rng: &mut self.rng, notes: Some(&mut notes) };
        self.controller.on_feedback(self.now, &feedback, &mut cx);
        self.notes = notes.into_iter().collect();
    }

    fn event(&mut self, newest: Option<u64>, oldest_lost: Option<u64>) -> Option<CongestionEvent> {
        if let Some(event) = self.pending.take() {
            self.timed_out = matches!(event, CongestionEvent::Timeout { .. });
            if event == CongestionEvent::Spurious {
                self.recovery = None;
            }
            return Some(event);
        }
        match &mut self.recovery {
            None if oldest_lost.is_some() => {
                self.recovery = Some((self.number, self.number));
                Some(CongestionEvent::Loss)
            }
            Some((point, repaired)) => {
                if oldest_lost.is_some_and(|oldest| oldest < *point) {
                    *repaired = self.number;
                }
                newest.filter(|newest| newest >= repaired).map(|_| {
                    self.recovery = None;
                    CongestionEvent::RecoveryEnd
                })
            }
            None => None,
        }
    }

    fn sample(&mut self, sent_at: Time) -> RttSample {
        let latest = self.now.since(sent_at);
        self.least = self.least.min(latest);
        let smoothed = self.smoothed.map_or(latest, |old| (old * 7 + latest) / 8);
        self.smoothed = Some(smoothed);
        RttSample { latest, smoothed, min: self.least }
    }
}
