//! Since when the line is idle, as one of several queues that share it sees it. What a queue makes of that is up to the queue.

use tailback_core::Time;

/// Whose packet the line took last, and since when the others have had none on it.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    last: Option<usize>,
    done: Vec<Time>,
}

impl Turns {
    /// Of so many queues, of which none was served.
    pub(crate) fn new(queues: usize) -> Self {
        Self { last: None, done: vec![Time::ZERO; queues] }
    }

    /// The line takes a packet of this queue. It is idle since `idle_since`, or was busy until now.
    pub(crate) fn served(&mut self, queue: usize, now: Time, idle_since: Option<Time>) {
        if let Some(last) = self.last.replace(queue).filter(|last| *last != queue) {
            self.done[last] = idle_since.unwrap_or(now);
        }
    }

    /// Whether another queue was served since this one, so that the line is busy for others only.
    pub(crate) fn has_passed(&self, queue: usize) -> bool {
        self.last.is_some_and(|last| last != queue)
    }

    /// Since when none of this queue's packets is on the line, which has taken others since.
    pub(crate) fn done(&self, queue: usize) -> Time {
        self.done[queue]
    }
}
