//! What is lost on the way of a sender's side in miniature, and how it is told: losses, retransmissions, time-outs, and those
//! that were for nothing.

use tailback_core::{
    Acked, Bytes, CongestionEvent, Controller, Cx, Feedback, Lost, PairPosition, Recovery, Sent, Span,
};

use super::{SEGMENT, Wire};
use crate::second::{Second, seconds};

impl<S: Second> Wire<S> {
    pub(super) fn lose(&mut self) {
        let lost = 1 + (self.rng.uniform() * self.fate.burst as f64) as u64;
        let outstanding = Bytes::new(self.flight() * SEGMENT);
        let numbers: Vec<u64> = (self.una..self.una + lost).collect();
        let gone = self.lost_ones(&numbers);
        self.lost = lost;
        self.recovery = Recovery::Fast;
        self.recover = self.next;
        let number = self.una + lost;
        let trip = self.trip();
        self.now = self.now.max(self.sent[number as usize].0 + trip) + self.busy(1);
        let acked = [self.acked_one(number)];
        self.sacked = vec![number];
        self.found = number + 1;
        let in_flight = Bytes::new((self.flight() - lost - 1) * SEGMENT);
        let delivery = self.sample(&acked, &gone);
        let one_way = self.way(acked[0].sent_at);
        self.tell(
            "loss",
            &Feedback {
                acked: &acked,
                lost: &gone,
                event: Some(CongestionEvent::Loss),
                recovery: Recovery::Fast,
                outstanding,
                in_flight,
                delivery: delivery.as_ref(),
                one_way,
                ..Feedback::empty()
            },
        );
        self.retransmit(&numbers);
    }

    /// Each of the next packets is lost or has arrived, the last has; whether there are any.
    pub(super) fn lose_more(&mut self) -> bool {
        let last = (self.found + 2 * self.fate.burst).min(self.recover);
        if self.found + 1 >= last || self.found < self.una {
            return false;
        }
        let (mut numbers, mut arrived) = (Vec::new(), Vec::new());
        for number in self.found..last {
            let is_lost = self.rng.uniform() < 0.5 && number + 1 < last;
            let of_its_kind = if is_lost { &mut numbers } else { &mut arrived };
            of_its_kind.push(number);
        }
        let outstanding = Bytes::new(self.flight() * SEGMENT);
        let gone = self.lost_ones(&numbers);
        let trip = self.trip();
        self.now = self.now.max(self.sent[(last - 1) as usize].0 + trip) + self.busy(arrived.len() as u64);
        let acked: Vec<Acked> = arrived.iter().map(|number| self.acked_one(*number)).collect();
        self.sacked.extend(arrived);
        self.found = last;
        self.lost += gone.len() as u64;
        let delivery = self.sample(&acked, &gone);
        let one_way = self.way(self.sent[(last - 1) as usize].0);
        self.tell(
            "lost more",
            &Feedback {
                acked: &acked,
                lost: &gone,
                recovery: self.recovery,
                outstanding,
                in_flight: self.in_flight(),
                delivery: delivery.as_ref(),
                one_way,
                ..Feedback::empty()
            },
        );
        self.retransmit(&numbers);
        true
    }

    /// They are retransmitted at once.
    fn lost_ones(&mut self, numbers: &[u64]) -> Vec<Lost> {
        let now = self.now;
        let lost = |number: &u64| {
            let (sent_at, again, tag) = &mut self.sent[*number as usize];
            let sent_at = std::mem::replace(sent_at, now);
            *again = true;
            Lost { number: *number, size: Bytes::new(SEGMENT), sent_at, tag: *tag }
        };
        numbers.iter().map(lost).collect()
    }

    /// Retransmissions leave, where a scheme is told of them.
    fn retransmit(&mut self, numbers: &[u64]) {
        if self.fate.again == 0.0 && self.fate.more == 0.0 {
            return;
        }
        for &number in numbers {
            let mut sent = Sent {
                number,
                size: Bytes::new(SEGMENT),
                in_flight: self.in_flight(),
                retransmission: true,
                pair: PairPosition::Single,
                app_limited: false,
                tag: self.sent[number as usize].2,
            };
            if self.fate.more > 0.0 {
                self.sampler.on_sent(self.now, &sent);
            }
            self.second.sent(seconds(self.now), &sent);
            self.ours.on_sent(self.now, &mut sent, &mut Cx { rng: &mut self.draws, notes: None });
            self.sent[number as usize] = (self.now, true, sent.tag);
        }
    }

    /// The oldest retransmission is lost, too.
    pub(super) fn lose_again(&mut self) {
        let number = self.una;
        let (sent_at, _, tag) = self.sent[number as usize];
        let gone = [Lost { number, size: Bytes::new(SEGMENT), sent_at, tag }];
        self.now += self.trip();
        let held = self.in_flight();
        self.tell(
            "lost again",
            &Feedback {
                lost: &gone,
                event: Some(CongestionEvent::Loss),
                recovery: Recovery::Fast,
                outstanding: Bytes::new(self.flight() * SEGMENT),
                in_flight: held,
                ..Feedback::empty()
            },
        );
        self.sent[number as usize].0 = self.now;
        self.retransmit(&[number]);
    }

    pub(super) fn timeout(&mut self) {
        if self.flight() == 0 {
            return;
        }
        let wait = self.smoothed.map_or(1.0, Span::as_secs_f64);
        self.now += Span::from_secs_f64(0.2 + wait * f64::from(1 << self.timeouts.min(6)));
        self.timeouts += 1;
        let outstanding = Bytes::new(self.flight() * SEGMENT);
        for number in self.una..self.next {
            self.sent[number as usize].0 = self.now;
            self.sent[number as usize].1 = true;
        }
        self.recovery = Recovery::Timeout;
        self.recover = self.next;
        self.lost = 0;
        self.tell(
            "timeout",
            &Feedback {
                event: Some(CongestionEvent::Timeout { consecutive: self.timeouts }),
                recovery: Recovery::Timeout,
                outstanding,
                in_flight: Bytes::ZERO,
                ..Feedback::empty()
            },
        );
    }

    pub(super) fn spurious(&mut self) {
        self.recovery = Recovery::Open;
        self.lost = 0;
        let outstanding = Bytes::new(self.flight() * SEGMENT);
        self.tell(
            "spurious",
            &Feedback {
                event: Some(CongestionEvent::Spurious),
                outstanding,
                in_flight: outstanding,
                ..Feedback::empty()
            },
        );
    }
}
