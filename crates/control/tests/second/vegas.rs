//! TCP Vegas, written a second time from Xia et al., §IV-A (equations 7 to 9), and from what the head of the scheme names of
//! Brakmo and Peterson 1995 and of ns-2, whose Vegas was read. Known before: that head and the configuration. Learnt from
//! disagreements, where the papers leave it open: the acknowledgement that ends a round is a sample of it; equation 7's window is
//! what was outstanding; an event ends the round's growth; no round is judged while losses are repaired.

use std::collections::HashSet;

use serde_json::json;
use tailback_core::{CongestionEvent, Feedback, Recovery, Sent};

use super::trace::words;
use super::wire::{Fate, SEGMENT, Wire, params, scheme};
use super::{Second, seconds};

/// The smallest round trip time, of all rounds or of the last k.
#[derive(Clone, Debug)]
pub(super) struct Base {
    rounds: Vec<f64>,
    k: usize,
}

impl Base {
    pub(super) fn ever() -> Self {
        Self::of_rounds(usize::MAX)
    }

    pub(super) fn of_rounds(k: usize) -> Self {
        Self { rounds: vec![f64::INFINITY], k }
    }

    pub(super) fn least(&self) -> f64 {
        self.rounds.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn sample(&mut self, rtt: f64) {
        let newest = self.rounds.last_mut().expect("a round");
        *newest = newest.min(rtt);
    }

    /// Alone in the network nothing of the flow can have waited.
    fn alone(&mut self, rtt: f64) {
        self.rounds = vec![rtt];
    }

    /// A round in which nothing was measured is none.
    fn end_round(&mut self) {
        if self.rounds.last().is_some_and(|newest| newest.is_finite()) {
            self.rounds.push(f64::INFINITY);
        }
        self.rounds.drain(..self.rounds.len().saturating_sub(self.k));
    }
}

/// Rounds, from a packet's departure to its acknowledgement, and the backlog that each shows.
pub(super) struct Rounds {
    pub(super) base: Base,
    next: u64,
    begin: u64,
    began: f64,
    sum: f64,
    count: u32,
    repaired: bool,
    pub(super) told: String,
}

impl Rounds {
    pub(super) fn new(base: Base) -> Self {
        Self { base, next: 0, begin: 0, began: 0.0, sum: 0.0, count: 0, repaired: false, told: String::new() }
    }

    pub(super) fn sent(&mut self, sent: &Sent) {
        self.next = self.next.max(sent.number + 1);
    }

    pub(super) fn heard(&mut self, now: f64, f: &Feedback<'_>) -> Option<f64> {
        let repairs = f.acked.iter().any(|acked| acked.retransmitted);
        self.repaired |= repairs;
        if let Some(newest) = f.acked.last().filter(|_| !repairs) {
            let rtt = now - seconds(newest.sent_at);
            self.sum += rtt;
            self.count += 1;
            self.base.sample(rtt);
        }
        let newest = f.acked.last().is_some_and(|acked| acked.number >= self.begin);
        let ends = f.advanced.get() > 0 && newest;
        ends.then(|| self.end(now, f.outstanding.as_f64() / SEGMENT as f64)).flatten()
    }

    fn end(&mut self, now: f64, window: f64) -> Option<f64> {
        let rtt = if self.count > 0 { self.sum / f64::from(self.count) } else { now - self.began };
        let packets = (self.next - self.begin) as f64;
        let judged = !std::mem::take(&mut self.repaired);
        (self.begin, self.began, self.sum, self.count) = (self.next, now, 0.0, 0);
        if judged && packets <= 1.0 {
            self.base.alone(rtt);
        }
        let base = self.base.least();
        self.base.end_round();
        let backlog = (window / base - packets / rtt) * base;
        self.told = words!("{packets} of {window} rtt {rtt:.6} base {base:.6} {backlog:.3}");
        judged.then_some(backlog)
    }
}

struct Vegas {
    cwnd: f64,
    ssthresh: f64,
    rounds: Rounds,
    /// Slow start grows in every other round.
    grows: bool,
    per_ack: f64,
    cut: f64,
    repaired: HashSet<u64>,
    sack: bool,
}

impl Vegas {
    fn new(base: Base, sack: bool) -> Self {
        Self {
            cwnd: 10.0,
            ssthresh: f64::INFINITY,
            rounds: Rounds::new(base),
            grows: true,
            per_ack: 0.0,
            cut: f64::NEG_INFINITY,
            repaired: HashSet::new(),
            sack,
        }
    }

    fn end_round(&mut self, backlog: f64) {
        let backlog = (backlog + 0.5).floor();
        self.per_ack = 0.0;
        if self.cwnd < self.ssthresh {
            self.grows = !self.grows;
            if self.grows && backlog > 1.0 {
                self.ssthresh = 2.0;
                self.cwnd = (self.cwnd * 7.0 / 8.0).max(2.0);
            } else if self.grows {
                self.per_ack = 1.0;
            }
        } else if backlog > 3.0 {
            self.cwnd = (self.cwnd - 1.0).max(2.0);
        } else if backlog < 1.0 {
            self.per_ack = 1.0 / self.cwnd;
        }
    }

    fn cut(&mut self, now: f64, to: f64) {
        self.cut = now;
        self.cwnd = (self.cwnd * to).max(2.0);
    }

    /// Only what left after the last cut cuts once more, and more where it had been retransmitted.
    fn lose(&mut self, now: f64, f: &Feedback<'_>) {
        let newest = f.lost.iter().max_by_key(|lost| lost.sent_at).expect("a loss");
        if self.sack {
            self.cut(now, 0.75);
        } else if seconds(newest.sent_at) > self.cut {
            self.cut(now, if self.repaired.contains(&newest.number) { 0.5 } else { 0.75 });
        }
    }

    fn answer(&mut self, now: f64, event: CongestionEvent, f: &Feedback<'_>) {
        self.per_ack = 0.0;
        match event {
            CongestionEvent::Loss => {
                self.ssthresh = 2.0;
                self.lose(now, f);
            }
            CongestionEvent::Timeout { consecutive } => {
                if consecutive == 1 {
                    self.ssthresh = (self.cwnd / 2.0).max(2.0);
                }
                (self.cwnd, self.cut) = (2.0, now);
            }
            CongestionEvent::Ecn => {
                self.ssthresh = 2.0;
                self.cut(now, 0.5);
            }
            CongestionEvent::Idle => {
                self.ssthresh = self.ssthresh.max(self.cwnd);
                self.cwnd = self.cwnd.min(10.0);
            }
            _ => {}
        }
    }
}

impl Second for Vegas {
    fn sent(&mut self, _now: f64, sent: &Sent) {
        self.rounds.sent(sent);
        if sent.retransmission {
            self.repaired.insert(sent.number);
        }
    }

    fn heard(&mut self, now: f64, f: &Feedback<'_>) {
        if let Some(event) = f.event {
            self.answer(now, event, f);
        }
        let round = self.rounds.heard(now, f);
        if f.recovery == Recovery::Fast {
            return;
        }
        if let Some(backlog) = round {
            self.end_round(backlog);
        }
        let fast = self.per_ack == 1.0;
        if fast && self.cwnd >= self.ssthresh {
            self.per_ack = 0.0;
        }
        let marked = f.echoes.ce > 0 && f.recovery != Recovery::Timeout;
        if f.advanced.get() > 0 && f.window_limited && !marked {
            self.cwnd += self.per_ack;
        }
    }

    fn window(&self) -> f64 {
        self.cwnd
    }

    fn state(&self) -> String {
        format!(
            "{} ssthresh {} per ack {:.4} grows {} cut {:.6}",
            self.rounds.told, self.ssthresh, self.per_ack, self.grows, self.cut
        )
    }
}

fn run(name: &str, retransmission: &str, fate: Fate) {
    for seed in 0..20 {
        let ours = scheme(json!({"name": name, "retransmission": retransmission}), &params(10, None));
        let base = match name {
            "vegas" => Base::ever(),
            _ => Base::of_rounds(10),
        };
        Wire::new(ours, Vegas::new(base, retransmission == "sack"), fate, seed).run(3000);
    }
}

#[test]
fn vegas_calm() {
    run("vegas", "sack", Fate { queue: 5.0, ..Fate::CALM });
    run("vegas-k", "sack", Fate { queue: 5.0, ..Fate::CALM });
}

/// Small queues: slow start lasts, and every bound of the backlog is crossed.
#[test]
fn vegas_with_small_queues() {
    for queue in [0.5, 1.0, 2.0, 10.0] {
        run("vegas", "sack", Fate { queue, stretch: 2, limited: 0.05, ..Fate::CALM });
    }
}

#[test]
fn vegas_with_losses() {
    let fate = Fate { loss: 0.01, queue: 5.0, stretch: 3, ..Fate::CALM };
    run("vegas", "fine-grained", fate);
    run("vegas-k", "fine-grained", fate);
    run("vegas", "sack", fate);
}

#[test]
fn vegas_with_losses_of_retransmissions() {
    run("vegas", "fine-grained", Fate { loss: 0.02, again: 0.2, queue: 5.0, stretch: 2, ..Fate::CALM });
}

/// Idle times while slow start lasts, among others.
#[test]
fn vegas_with_pauses() {
    run("vegas", "sack", Fate { pause: 0.02, queue: 3.0, stretch: 3, ..Fate::CALM });
    run("vegas-k", "sack", Fate { pause: 0.005, timeout: 0.002, queue: 3.0, stretch: 3, ..Fate::CALM });
}

#[test]
fn vegas_all() {
    let fate = Fate { queue: 5.0, mark: 0.01, ..Fate::ROUGH };
    run("vegas", "fine-grained", fate);
    run("vegas-k", "sack", fate);
}
