//! A law for both writings, as ours has it with a list of what it hears, and as the second ones have it.

use tailback_core::{
    AckFrequency, AckWish, BitRate, Burst, Bytes, CongestionEvent, Controller, Cx, Directive, Feedback,
    Recovery, Sent, Span, Time, Tokens,
};

use super::asking::Wish;
use super::bucket::Rate;
use super::{Beside, Left, SEGMENT, Told};

/// A law for both writings: whatever it is told changes the window, and the rate where it directs one.
#[derive(Clone, Debug)]
pub struct Law {
    pub window: u64,
    threshold: u64,
    before: (u64, u64),
    limit: u64,
    pace: Option<Rate>,
    asks: Option<Asks>,
    /// How often it has heard of congestion.
    troubles: u32,
}

/// What a law asks of its receiver: a packet more per acknowledgement for so many segments of the window, and a delay that changes with
/// it.
#[derive(Clone, Copy, Debug)]
pub struct Asks {
    pub step: u64,
    /// In nanoseconds.
    pub delay: u64,
}

impl Law {
    pub fn new(limit: u64, beside: Beside) -> Self {
        let Beside { pace, asks, .. } = beside;
        let limit = limit * SEGMENT;
        let window = limit.min(2 * SEGMENT);
        Self { window, threshold: u64::MAX, before: (window, u64::MAX), limit, pace, asks, troubles: 0 }
    }

    /// How the receiver is to acknowledge; as it is configured where the window is small.
    pub fn wish(&self) -> Wish {
        let Some(Asks { step, delay }) = self.asks else { return Wish::default() };
        let window = self.window / SEGMENT;
        let frequency = (window >= step).then(|| ((window / step) as u32, delay * (window % 4)));
        Wish { frequency, at_once: self.troubles }
    }

    /// The rate grows with the window.
    pub fn rate(&self) -> Option<Rate> {
        let Rate { bits, depth } = self.pace?;
        Some(Rate { bits: bits * (1 + self.window / SEGMENT), depth })
    }

    pub fn hear(
        &mut self,
        event: Option<CongestionEvent>,
        advanced: u64,
        outstanding: u64,
        recovery: Recovery,
    ) {
        let half = (outstanding / 2).max(2 * SEGMENT);
        self.troubles += u32::from(event.is_some());
        match event {
            Some(CongestionEvent::Loss) => {
                self.before = (self.window, self.threshold);
                (self.window, self.threshold) = (half, half);
            }
            Some(CongestionEvent::Timeout { consecutive }) => {
                if consecutive == 1 {
                    self.before = (self.window, self.threshold);
                    self.threshold = half;
                }
                self.window = SEGMENT;
            }
            // An echo may leave a window of one.
            Some(CongestionEvent::Ecn) => {
                let half = (self.window / 2).max(SEGMENT);
                (self.window, self.threshold) = (half, half.max(2 * SEGMENT));
            }
            Some(CongestionEvent::Spurious) => (self.window, self.threshold) = self.before,
            Some(CongestionEvent::Idle) => self.window = self.window.min(4 * SEGMENT),
            _ if recovery == Recovery::Fast => {}
            _ if self.window < self.threshold => self.window += advanced.min(SEGMENT),
            _ => self.window += (SEGMENT * advanced) / self.window,
        }
        self.window = self.window.min(self.limit);
    }
}

/// The law as our sender has it, with a list of what it hears.
pub struct Ours {
    pub law: Law,
    pub told: Vec<Told>,
    /// Smoothed round trip and the least.
    pub smoothed: Option<(f64, f64)>,
    pub left: Vec<Left>,
}

impl Ours {
    pub fn new(law: Law) -> Self {
        Self { law, told: Vec::new(), smoothed: None, left: Vec::new() }
    }
}

impl Controller for Ours {
    fn on_sent(&mut self, _: Time, sent: &mut Sent, _: &mut Cx<'_>) {
        self.left.push(Left {
            number: sent.number,
            size: sent.size.get(),
            again: sent.retransmission,
            in_flight: sent.in_flight.get(),
        });
    }

    fn on_feedback(&mut self, _: Time, feedback: &Feedback<'_>, _: &mut Cx<'_>) {
        let (advanced, outstanding) = (feedback.advanced.get(), feedback.outstanding.get());
        self.law.hear(feedback.event, advanced, outstanding, feedback.recovery);
        if let Some(rtt) = feedback.rtt {
            self.smoothed = Some((rtt.smoothed.as_nanos() as f64, rtt.min.as_nanos() as f64));
        }
        self.told.push(Told {
            acked: feedback.acked.iter().map(|one| one.number).collect(),
            lost: feedback.lost.iter().map(|one| one.number).collect(),
            advanced,
            outstanding,
            in_flight: feedback.in_flight.get(),
            event: feedback.event,
            recovery: feedback.recovery,
            rtt: feedback.rtt.map(|rtt| rtt.latest.as_nanos()),
        });
    }

    fn ack_wish(&self) -> AckWish {
        let Wish { frequency, at_once } = self.law.wish();
        let frequency = frequency
            .map(|(threshold, delay)| AckFrequency { threshold, max_delay: Span::from_nanos(delay) });
        AckWish { frequency, immediate: at_once }
    }

    fn directive(&self) -> Directive {
        let window = Directive::window(Bytes::new(self.law.window));
        let Some(Rate { bits, depth }) = self.law.rate() else { return window };
        let burst = Burst { depth: Bytes::new(depth), tokens: Tokens::Constant };
        Directive { rate: Some(BitRate::from_bits_per_sec(bits)), burst, ..window }
    }
}
