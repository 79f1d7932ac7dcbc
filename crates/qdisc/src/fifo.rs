//! A first-in first-out queue under any arrival policy. The policies themselves live in files of their own.

use tailback_core::{ArrivalPolicy, Backlog, Packet, QueueCx, QueueDiscipline, Time, Verdict};

use crate::ring::Ring;

/// Makes a queue discipline of an arrival policy: a ring of packets that the policy guards.
#[derive(Clone, Debug)]
pub struct Fifo<A> {
    policy: A,
    ring: Ring,
}

impl<A: ArrivalPolicy> Fifo<A> {
    /// An empty queue guarded by `policy`.
    pub const fn new(policy: A) -> Self {
        Self { policy, ring: Ring::new() }
    }

    pub(crate) const fn policy(&self) -> &A {
        &self.policy
    }

    pub(crate) const fn policy_mut(&mut self) -> &mut A {
        &mut self.policy
    }
}

impl<A: ArrivalPolicy> QueueDiscipline for Fifo<A> {
    #[inline]
    fn enqueue(&mut self, now: Time, mut packet: Packet, cx: &mut QueueCx<'_>) {
        let backlog = self.ring.backlog();
        match self.policy.admit(now, &mut packet, &backlog, cx) {
            Verdict::Accept => self.ring.push(packet, ()),
            Verdict::Drop(reason) => cx.drop(packet, reason),
        }
    }

    #[inline]
    fn dequeue(&mut self, _now: Time, _cx: &mut QueueCx<'_>) -> Option<Packet> {
        self.ring.pop().map(|(packet, ())| packet)
    }

    fn backlog(&self) -> Backlog {
        self.ring.backlog()
    }

    fn observe(&self, now: Time, note: &mut dyn FnMut(&'static str, f64)) {
        self.policy.observe(now, note);
    }
}
