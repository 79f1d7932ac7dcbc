//! DualPI2 written anew from RFC 9332, appendix A, with the overload of §A.2.

use std::collections::VecDeque;

use tailback_core::{
    Backlog, Bytes, Capacity, DropReason, Ecn, Packet, QueueCx, QueueDiscipline, Span, Time,
};
use tailback_qdisc::Limit;

/// One of the two queues, with its counter of likelihoods (`recur`).
#[derive(Default)]
pub struct Lane {
    waiting: VecDeque<(Time, Packet)>,
    count: f64,
}

impl Lane {
    /// How long its head has waited.
    fn age(&self, now: Time) -> f64 {
        self.waiting.front().map_or(0.0, |(came, _)| now.since(*came).as_secs_f64())
    }

    fn recur(&mut self, likelihood: f64) -> bool {
        self.count += likelihood;
        let due = self.count > 1.0;
        if due {
            self.count -= 1.0;
        }
        due
    }
}

pub struct DualPi2 {
    pub target: f64,
    pub alpha: f64,
    pub beta: f64,
    pub k: f64,
    /// Nanoseconds, whole ones: at half of the ramp the likelihood is a half, and two of these are exactly one.
    pub ramp: (f64, f64),
    pub period: Span,
    pub limit: Limit,
    pub scalable: Lane,
    pub classic: Lane,
    /// When the probability moves next; the text does not say from when the periods count, and here they do from the
    /// arrival after which something may move.
    pub next: Option<Time>,
    pub base: f64,
    pub before: f64,
    /// Bytes that the classic queue may send before the other, which goes first: its sixteenth part of what both send. The text
    /// (§4.2.2) leaves this to the scheduler; it counts only while both have packets, those dropped on the way out included.
    pub earned: f64,
}

impl DualPi2 {
    pub fn new(period: Span, capacity: Capacity) -> Self {
        Self {
            target: 0.0,
            alpha: 0.0,
            beta: 0.0,
            k: 2.0,
            ramp: (0.0, 0.0),
            period,
            limit: Limit::new(capacity),
            scalable: Lane::default(),
            classic: Lane::default(),
            next: None,
            base: 0.0,
            before: 0.0,
            earned: 0.0,
        }
    }

    fn classic_goes(&mut self) -> bool {
        let size = |lane: &Lane| lane.waiting.front().map(|(_, packet)| packet.size().as_f64());
        match (size(&self.scalable), size(&self.classic)) {
            (_, None) => {
                self.earned = 0.0;
                false
            }
            (None, _) => true,
            (Some(_), Some(classic)) if self.earned >= classic => {
                self.earned -= classic;
                true
            }
            (Some(scalable), _) => {
                self.earned += scalable / 15.0;
                false
            }
        }
    }

    /// Figure 6: the delay is that of the longer queue.
    fn update(&mut self, at: Time) {
        let now = self.classic.age(at).max(self.scalable.age(at));
        self.base += self.alpha * (now - self.target) + self.beta * (now - self.before);
        self.base = self.base.clamp(0.0, 1.0);
        self.before = now;
    }

    /// Figure 5.
    fn native(&self, delay: Span) -> f64 {
        ((delay.as_nanos() as f64 - self.ramp.0) / (self.ramp.1 - self.ramp.0)).clamp(0.0, 1.0)
    }

    /// Figure 7, the part of the scalable queue; `None` where the packet is dropped.
    fn scalable(&mut self, now: Time, cx: &mut QueueCx<'_>) -> Option<Packet> {
        let (came, mut packet) = self.scalable.waiting.pop_front()?;
        let coupled = (self.k * self.base).min(1.0);
        let squared = self.base * self.base;
        if coupled < 1.0 {
            // A queue of one packet is no queue (Th_len).
            let more = !self.scalable.waiting.is_empty();
            let own = if more { self.native(now.since(came)) } else { 0.0 };
            if self.scalable.recur(own.max(coupled)) {
                cx.mark_ce(&mut packet);
            }
        } else {
            if self.scalable.recur(squared) {
                cx.drop(packet, DropReason::Early);
                return None;
            }
            if self.scalable.recur(coupled) {
                cx.mark_ce(&mut packet);
            }
        }
        Some(packet)
    }

    fn classic(&mut self, cx: &mut QueueCx<'_>) -> Option<Packet> {
        let (_, mut packet) = self.classic.waiting.pop_front()?;
        let squared = self.base * self.base;
        if self.classic.recur(squared) {
            let overloaded = squared >= (1.0 / (self.k * self.k)).min(1.0);
            if overloaded || !cx.mark_ce(&mut packet) {
                cx.drop(packet, DropReason::Early);
                return None;
            }
        }
        Some(packet)
    }
}

impl QueueDiscipline for DualPi2 {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut QueueCx<'_>) {
        if !self.limit.admits(&packet, &self.backlog(), cx.idle_since.is_some()) {
            cx.drop(packet, DropReason::Overflow);
            return;
        }
        self.next = self.next.or(Some(now + self.period));
        if matches!(packet.ecn(), Ecn::Ect1 | Ecn::Ce) {
            self.scalable.waiting.push_back((now, packet));
        } else {
            self.classic.waiting.push_back((now, packet));
        }
    }

    fn dequeue(&mut self, now: Time, cx: &mut QueueCx<'_>) -> Option<Packet> {
        while self.backlog().packets > 0 {
            let sent = if self.classic_goes() { self.classic(cx) } else { self.scalable(now, cx) };
            if sent.is_some() {
                return sent;
            }
        }
        None
    }

    fn next_timer(&self) -> Option<Time> {
        self.next
    }

    fn on_timer(&mut self, now: Time, _: &mut QueueCx<'_>) {
        if self.next.is_some_and(|next| next <= now) {
            self.update(now);
            let rests = self.backlog().packets == 0 && self.base == 0.0 && self.before == 0.0;
            self.next = (!rests).then(|| now + self.period);
        }
    }

    fn backlog(&self) -> Backlog {
        let all = self.scalable.waiting.iter().chain(&self.classic.waiting);
        let bytes = all.map(|(_, packet)| packet.size().get()).sum();
        Backlog {
            packets: (self.scalable.waiting.len() + self.classic.waiting.len()) as u32,
            bytes: Bytes::new(bytes),
        }
    }
}
