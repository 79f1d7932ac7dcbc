//! The sender's end of the control loop of Xia et al., §IV-B.1: one pair of control packets at a time, the next
//! after the report on the last, and a timer "similar to that of TCP" where a packet of either is lost. What the
//! receiver measures with a pair is in `schemes/monaco.rs`.
//!
//! The timer is the last resort, as TCP's is: control packets and data wait in the same queues, so once data that left
//! a while after a pair is acknowledged, no report on the pair will come, and the next pair leaves at once. With 5 % of data,
//! control packets and reports lost, flows whose window was one packet after a time-out used to keep it through 0.2, 0.4 and
//! 0.8 s of lost pairs, and the next lost data met a window too small for anything but another time-out. The paper has the
//! timer alone. What the difference costs: where buffers overflow, and control packets with data, flows measure again at once
//! in place of resting, and lose half as many packets again (figure 7: 1390 from 20 to 30 s for 932).
//!
//! Pairs are named by the time they leave, so that names grow across connections of a flow. While nothing is
//! outstanding no pair leaves: an idle flow is silent.

use tailback_core::{Span, Time};

use crate::clock::Clock;

/// Gains of RFC 6298 §2.3.
const SMOOTHED_GAIN: f64 = 0.125;
const VARIATION_GAIN: f64 = 0.25;
/// Where acknowledgements take longer than this many times the loop's round trip, something waits on the way back; less is
/// the noise of single packets.
const WAITS: f64 = 1.1;

/// The control loop of one sender.
#[derive(Clone, Debug)]
pub struct ControlLoop {
    /// The newest pair.
    pair: Option<u64>,
    sent_at: Time,
    waiting: bool,
    smoothed: Option<f64>,
    /// The same as a span, and what of it makes data late ([`LATE`]): asked at every acknowledgement, changed once per round trip.
    looped: Option<Span>,
    late: Span,
    variation: f64,
    /// The newest round trip of an acknowledgement, until the next report.
    acknowledged: Option<Span>,
    /// How many times as long as the loop's own round trips those are that began together with them, smoothed.
    ratio: f64,
    backoff: u32,
    clock: Clock,
    min_timeout: Span,
    /// Whether acknowledged data shows that a pair is lost; else the timer alone does.
    early: bool,
    /// The next pair leaves then.
    due: Time,
    deadline: Time,
}

/// Data that left so much of a round trip after a pair and is acknowledged tells that the pair, or its report, was lost.
const LATE: f64 = 0.25;
/// The longest time-out, however often it expired.
const MAX_TIMEOUT: Span = Span::from_secs(60);
/// The time-out before any report (RFC 6298 §2.1).
const FIRST_TIMEOUT: Span = Span::from_secs(1);

impl ControlLoop {
    /// A loop at rest, whose round trips are measured in multiples of `tick`, or exactly where that is zero.
    pub const fn new(min_timeout: Span, tick: Span) -> Self {
        Self {
            pair: None,
            sent_at: Time::ZERO,
            waiting: false,
            smoothed: None,
            looped: None,
            late: Span::ZERO,
            variation: 0.0,
            acknowledged: None,
            ratio: 1.0,
            backoff: 0,
            clock: Clock::new(tick),
            min_timeout,
            early: true,
            due: Time::NEVER,
            deadline: Time::NEVER,
        }
    }

    /// The same, where acknowledged data shows that a pair is lost, or the timer alone does.
    #[must_use]
    pub const fn with_early_pairs(mut self, early: bool) -> Self {
        self.early = early;
        self
    }

    /// The newest pair; it leaves when this changes.
    pub const fn pair(&self) -> Option<u64> {
        self.pair
    }

    /// When the next pair leaves, or the last one is given up.
    pub fn next_timer(&self) -> Time {
        self.due.min(self.deadline)
    }

    /// The smoothed round trip of the loop: propagation both ways and queueing on the way forth.
    pub fn smoothed(&self) -> Option<Span> {
        self.looped
    }

    /// An acknowledgement arrives `rtt` after its packet had left.
    #[inline]
    pub fn on_ack(&mut self, now: Time, rtt: Span) {
        self.acknowledged = Some(rtt);
        if self.waiting && self.early && self.looped.is_some() {
            // Some of a round trip for what arrives out of order.
            let late = now.since(self.sent_at).saturating_sub(rtt);
            if late > self.late {
                self.backoff = 0;
                self.waiting = false;
                self.deadline = Time::NEVER;
                self.due = now;
            }
        }
    }

    /// How much longer acknowledgements take than control packets and reports, with acknowledgements of the smoothed round
    /// trip time `acked`.
    ///
    /// A queue that grows on the way forth must not look like one on the way back: acknowledgements tell of it sooner than
    /// the loop's slower average, and a window stretched by that would feed the queue (the peak when ten flows begin
    /// together was 70 packets in place of 40, and a third of the κ below which the loop is stable was lost). So it is first
    /// asked whether anything waits on the way back, by comparing round trips that began together. Where something does,
    /// the stretch has to change as fast as acknowledgements do.
    pub fn stretch(&self, acked: Span) -> f64 {
        match self.looped {
            Some(looped) if self.ratio > WAITS => acked.ratio(looped).max(1.0),
            _ => self.ratio.max(1.0),
        }
    }

    /// Data leaves: the loop wakes, if it slept; whether it did.
    #[inline]
    pub fn on_sent(&mut self, now: Time) -> bool {
        let sleeps = !self.waiting && self.due.is_never();
        if sleeps {
            self.send(now);
        }
        sleeps
    }

    /// A report on `pair` arrived; its round trip, where it is the one waited for. The next pair leaves after `pause`,
    /// or, without one, with the next data.
    pub fn on_report(&mut self, now: Time, pair: u64, pause: Option<Span>) -> Option<Span> {
        if !self.waiting || self.pair != Some(pair) {
            return None;
        }
        let rtt = self.clock.between(self.sent_at, now).max(self.clock.tick());
        self.learn(rtt.as_secs_f64());
        self.backoff = 0;
        self.waiting = false;
        self.deadline = Time::NEVER;
        self.due = pause.map_or(Time::NEVER, |pause| now + pause);
        Some(rtt)
    }

    /// Whether another pair leaves: because it is due, or because the last was given up.
    pub fn on_timer(&mut self, now: Time) -> bool {
        let lost = self.waiting && now >= self.deadline;
        if !lost && now < self.due {
            return false;
        }
        if lost {
            self.backoff = (self.backoff + 1).min(16);
        }
        self.send(now);
        true
    }

    fn send(&mut self, now: Time) {
        let newer = self.pair.map_or(0, |pair| pair + 1);
        self.pair = Some(now.as_nanos().max(newer));
        self.sent_at = now;
        self.waiting = true;
        self.due = Time::NEVER;
        self.deadline = now + self.timeout();
    }

    fn timeout(&self) -> Span {
        let base = match self.smoothed {
            None => FIRST_TIMEOUT,
            Some(smoothed) => Span::from_secs_f64(smoothed + 4.0 * self.variation).max(self.min_timeout),
        };
        (base * (1 << self.backoff)).min(MAX_TIMEOUT)
    }

    fn learn(&mut self, sample: f64) {
        if let Some(acked) = self.acknowledged.take()
            && sample > 0.0
        {
            self.ratio += SMOOTHED_GAIN * (acked.as_secs_f64() / sample - self.ratio);
        }
        match &mut self.smoothed {
            None => {
                self.smoothed = Some(sample);
                self.variation = sample / 2.0;
            }
            Some(smoothed) => {
                self.variation += VARIATION_GAIN * ((sample - *smoothed).abs() - self.variation);
                *smoothed += SMOOTHED_GAIN * (sample - *smoothed);
            }
        }
        self.looped = self.smoothed.map(Span::from_secs_f64);
        self.late = Span::from_secs_f64(LATE * self.smoothed.unwrap_or(0.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Option<Span> = Some(Span::ZERO);

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn one_pair_at_a_time() {
        let mut control = ControlLoop::new(Span::from_millis(200), Span::ZERO);
        assert_eq!(control.pair(), None);
        control.on_sent(at(1));
        let first = control.pair().expect("a pair");
        control.on_sent(at(2));
        assert_eq!(control.pair(), Some(first));
        assert_eq!(control.on_report(at(50), first + 7, NOW), None, "not the pair waited for");
        assert_eq!(control.on_report(at(51), first, NOW), Some(Span::from_millis(50)));
        assert!(control.on_timer(control.next_timer()));
        assert!(control.pair() > Some(first));
        assert_eq!(control.on_report(at(52), first, NOW), None, "a duplicate");
    }

    #[test]
    fn lost_pairs_are_followed_by_others_ever_more_slowly() {
        let mut control = ControlLoop::new(Span::from_millis(200), Span::ZERO);
        control.on_sent(at(0));
        let first = control.pair().expect("a pair");
        control.on_report(at(50), first, NOW);
        assert!(control.on_timer(at(50)));
        let mut before = control.pair();
        let mut now = at(50);
        let mut waits = Vec::new();
        for _ in 0..12 {
            let due = control.next_timer();
            assert!(!control.on_timer(due - Span::from_nanos(1)));
            assert!(control.on_timer(due));
            assert!(control.pair() > before);
            before = control.pair();
            waits.push(due.since(now));
            now = due;
        }
        assert_eq!(waits[0], Span::from_millis(200));
        assert!(waits.windows(2).all(|pair| pair[1] == (pair[0] * 2).min(MAX_TIMEOUT)), "{waits:?}");
        assert_eq!(waits[11], MAX_TIMEOUT);
    }

    #[test]
    fn a_pair_is_given_up_when_later_data_is_acknowledged() {
        let mut control = ControlLoop::new(Span::from_millis(200), Span::ZERO);
        let round_trip = Span::from_millis(40);
        control.on_sent(at(0));
        control.on_report(at(40), control.pair().expect("a pair"), NOW);
        control.on_timer(at(40));
        let second = control.pair();
        // What left before it, with it, or a little after it says nothing.
        for now in [50, 80, 89] {
            control.on_ack(at(now), round_trip);
            assert_eq!(control.next_timer(), at(240));
        }
        control.on_ack(at(91), round_trip);
        assert!(control.on_timer(control.next_timer()));
        assert!(control.pair() > second);
        // Its report is late, not lost: the newer pair is waited for.
        assert_eq!(control.on_report(at(92), second.expect("a pair"), NOW), None);
        assert_eq!(control.on_report(at(131), control.pair().expect("a pair"), NOW), Some(round_trip));
    }

    #[test]
    fn the_papers_loop_waits_for_its_timer() {
        let mut control = ControlLoop::new(Span::from_millis(200), Span::ZERO).with_early_pairs(false);
        control.on_sent(at(0));
        control.on_report(at(40), control.pair().expect("a pair"), NOW);
        control.on_timer(at(40));
        control.on_ack(at(91), Span::from_millis(40));
        assert_eq!(control.next_timer(), at(240));
    }

    #[test]
    fn a_longer_way_is_waited_for() {
        let mut control = ControlLoop::new(Span::from_millis(200), Span::ZERO);
        control.on_sent(at(0));
        control.on_report(at(40), control.pair().expect("a pair"), NOW);
        control.on_timer(at(40));
        // 500 ms both for data and for reports: the timer backs off until one of a pair's reports is in time.
        let mut pairs = vec![(at(40), control.pair().expect("a pair"))];
        for now in (41..2000).map(at) {
            if now.since(Time::ZERO) > Span::from_millis(560) {
                control.on_ack(now, Span::from_millis(500));
            }
            let answered = pairs.iter().find(|(left, _)| now.since(*left) == Span::from_millis(500));
            if answered.is_some_and(|(_, pair)| control.on_report(now, *pair, None).is_some()) {
                return;
            }
            if now >= control.next_timer() && control.on_timer(now) {
                pairs.push((now, control.pair().expect("a pair")));
            }
        }
        panic!("no report was taken");
    }

    /// The stretch after rounds of `trips`: of the loop, of acknowledgements.
    fn stretch_after(trips: impl Iterator<Item = (u64, u64)>) -> f64 {
        let mut control = ControlLoop::new(Span::from_millis(200), Span::ZERO);
        let mut now = at(0);
        let mut acked = Span::ZERO;
        control.on_sent(now);
        for (looped, acks) in trips {
            acked = Span::from_millis(acks);
            control.on_ack(now, acked);
            now += Span::from_millis(looped);
            control.on_report(now, control.pair().expect("a pair"), NOW);
            control.on_timer(now);
        }
        control.stretch(acked)
    }

    #[test]
    fn a_queue_that_grows_on_the_way_forth_does_not_stretch_the_window() {
        let stretch = stretch_after((10..60).map(|trip| (trip, trip)));
        assert!((stretch - 1.0).abs() < 1e-9, "{stretch}");
    }

    #[test]
    fn a_queue_on_the_way_back_does() {
        let stretch = stretch_after((0..100).map(|_| (40, 80)));
        assert!((stretch - 2.0).abs() < 1e-3, "{stretch}");
        let sudden = stretch_after((0..100).map(|_| (40, 80)).chain([(40, 120)]));
        assert!((sudden - 3.0).abs() < 1e-3, "{sudden}: as fast as acknowledgements");
    }

    #[test]
    fn an_idle_flow_is_silent() {
        let mut control = ControlLoop::new(Span::from_millis(200), Span::ZERO);
        control.on_sent(at(0));
        let pair = control.pair().expect("a pair");
        control.on_report(at(50), pair, None);
        assert_eq!(control.pair(), Some(pair));
        assert_eq!(control.next_timer(), Time::NEVER);
        control.on_sent(at(900));
        assert!(control.pair() > Some(pair));
    }
}
