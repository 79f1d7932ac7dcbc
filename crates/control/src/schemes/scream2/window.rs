//! The reference window of SCReAM version 2: how marks, loss and delay reduce it, and how it grows. What the delay is stands
//! in `delay.rs`.
//!
//! Source: draft-ietf-ccwg-rfc8298bis-screamv2, "Receiving ECN-CE for L4S", "Reference Window Reduction", "Reference Window
//! Increase". Bytes and seconds.

use tailback_core::Time;

use crate::estimators::arrivals::Batch;

/// Flows with shorter round trips behave as if theirs were this long, as Prague's do.
pub(super) const VIRTUAL_RTT: f64 = 0.025;
/// `L4S_AVG_G_UP`, `L4S_AVG_G_DOWN`.
const GAINS: (f64, f64) = (1.0 / 8.0, 1.0 / 128.0);
/// α is updated after so long, or a round trip.
const ALPHA_EVERY: f64 = 0.010;
const MIN_REF_WND: f64 = 3000.0;
const BYTES_IN_FLIGHT_HEAD_ROOM: f64 = 1.5;
const BETA_LOSS: f64 = 0.7;
const BETA_ECN: f64 = 0.8;
const POST_CONGESTION_DELAY_RTTS: f64 = 100.0;
const MUL_INCREASE_FACTOR: f64 = 0.02;

/// What the window is told beside a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signals {
    pub(super) round_trip: f64,
    /// What delay says in the place of marks, 0 to 1.
    pub(super) virtual_marks: f64,
    /// Whether the queueing delay is below a quarter of its target.
    pub(super) is_low: bool,
    /// The most bytes in flight of this round trip and the one before.
    pub(super) in_flight: (f64, f64),
    /// Whether the media rate is below its largest.
    pub(super) may_grow: bool,
}

/// Signs of congestion.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    loss: bool,
    marks: bool,
}

/// The reference window.
#[derive(Clone, Debug)]
pub(super) struct Window {
    packet: f64,
    is_l4s: bool,
    size: f64,
    /// Where it last turned: `ref_wnd_i`; and whether it grew since.
    turned: f64,
    grew: bool,
    alpha: f64,
    alpha_updated: Time,
    delivered: f64,
    marked: f64,
    /// What was seen since the last reduction.
    seen: Seen,
    congested: Option<Time>,
    reduced: Option<Time>,
}

impl Window {
    pub(super) fn new(packet: f64, is_l4s: bool) -> Self {
        Self {
            packet,
            is_l4s,
            size: MIN_REF_WND.max(packet),
            turned: 1.0,
            grew: true,
            alpha: 0.0,
            alpha_updated: Time::ZERO,
            delivered: 0.0,
            marked: 0.0,
            seen: Seen::default(),
            congested: None,
            reduced: None,
        }
    }

    pub(super) const fn bytes(&self) -> f64 {
        self.size
    }

    pub(super) const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Takes a batch in: reduces, and grows.
    pub(super) fn update(&mut self, now: Time, news: &Batch, signals: &Signals) {
        let marked = news.arrived.iter().filter(|arrived| arrived.marked);
        let (packets, bytes) = marked
            .fold((0.0, 0.0), |(packets, bytes), arrived| (packets + 1.0, bytes + arrived.size.as_f64()));
        self.delivered += news.arrived.len() as f64;
        self.marked += packets;
        self.update_alpha(now, signals.round_trip);
        self.seen.loss |= news.lost > 0;
        self.seen.marks |= packets > 0.0;
        let nearness = self.nearness();
        if self.seen.loss || self.seen.marks {
            self.congested = Some(now);
        }
        self.reduce(now, signals, nearness);
        self.grow(now, signals, nearness, (news.advanced.as_f64() - bytes).max(0.0));
    }

    fn update_alpha(&mut self, now: Time, round_trip: f64) {
        if now.since(self.alpha_updated).as_secs_f64() < ALPHA_EVERY.min(round_trip) || self.delivered == 0.0
        {
            return;
        }
        let fraction = self.marked / self.delivered;
        if fraction >= self.alpha {
            self.alpha += GAINS.0 * (fraction - self.alpha);
        } else {
            self.alpha *= 1.0 - GAINS.1;
        }
        (self.alpha_updated, self.delivered, self.marked) = (now, 0.0, 0.0);
    }

    /// How far the window is from where it last turned: 0.1 near it, 1 from an eighth on.
    fn nearness(&self) -> f64 {
        (8.0 * (self.size - self.turned) / self.turned).powi(2).clamp(0.1, 1.0)
    }

    fn reduce(&mut self, now: Time, signals: &Signals, nearness: f64) {
        let since = self.reduced.map_or(f64::INFINITY, |reduced| now.since(reduced).as_secs_f64());
        let delayed = signals.virtual_marks > 0.0;
        if since < VIRTUAL_RTT.min(signals.round_trip) || !(self.seen.loss || self.seen.marks || delayed) {
            return;
        }
        if std::mem::take(&mut self.grew) {
            self.turned = self.size;
        }
        // Reductions come every 25 ms; over a longer round trip each is a part of what one would be.
        let parts = (signals.round_trip / VIRTUAL_RTT).max(1.0);
        let kept = if self.seen.loss {
            BETA_LOSS
        } else if self.seen.marks && self.is_l4s {
            if since > 100.0 * signals.round_trip.max(VIRTUAL_RTT) {
                // Unused, it may have grown far beyond what is in flight.
                self.size = self.size.min(signals.in_flight.1);
            }
            let scale = if signals.is_low { nearness.max(0.25) } else { 1.0 };
            1.0 - self.alpha / 2.0 / parts * scale
        } else if self.seen.marks {
            BETA_ECN
        } else {
            1.0 - signals.virtual_marks / 2.0 / parts
        };
        self.size = (kept * self.size).max(MIN_REF_WND.max(self.packet));
        (self.seen, self.reduced) = (Seen::default(), Some(now));
    }

    fn grow(&mut self, now: Time, signals: &Signals, nearness: f64, unmarked: f64) {
        let slow = POST_CONGESTION_DELAY_RTTS * signals.round_trip.max(VIRTUAL_RTT);
        let calm = self.congested.map_or(1.0, |at| (now.since(at).as_secs_f64() / slow).min(1.0));
        let increment = unmarked
            * (self.packet / self.size).min(1.0)
            * (signals.round_trip / VIRTUAL_RTT).min(1.0)
            * nearness.max(0.25)
            * (1.0 + MUL_INCREASE_FACTOR * self.size / self.packet * calm * nearness);
        let most = self.packet + signals.in_flight.0.max(signals.in_flight.1) * BYTES_IN_FLIGHT_HEAD_ROOM;
        if increment > 0.0 && self.size + increment <= most && signals.may_grow {
            self.size += increment;
            self.grew = true;
        }
    }
}
