//! Requests for acknowledgements written anew from draft-ietf-quic-ack-frequency, for a transport in which they ride on data: which
//! packets carry one, when the receiver is asked to acknowledge at once, and how long it may hold an acknowledgement back.
//!
//! Choices of ours that it follows: a request is repeated on all that leaves until the first new segment that had it is acknowledged;
//! of those that may be in force the longest delay counts: the newest that was known to have arrived before any other was made, and all
//! after it; what nothing may follow, and what leaves again alone, asks for an
//! acknowledgement at once, by PSH.

/// How often to acknowledge: so many packets per acknowledgement, and the longest delay in nanoseconds.
pub type Frequency = (u32, u64);

/// A request as it travels: its number, and what it asks for; nothing for as the receiver is configured.
pub type Request = (u64, Option<Frequency>);

/// What the law wishes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    pub frequency: Option<Frequency>,
    /// With each other number one packet more is to be acknowledged at once.
    pub at_once: u32,
}

/// The sender's part.
#[derive(Clone, Debug, Default)]
pub struct Asking {
    /// All requests so far, with the number of the first new segment that bears each.
    requests: Vec<(Option<Frequency>, u64)>,
    /// So many were made when the newest was last known to have arrived, without it.
    known: usize,
    at_once: u32,
}

impl Asking {
    /// A packet leaves; the next new segment, be it this one, has the number `next`. The request on it, and whether the law wants it
    /// acknowledged at once.
    pub fn leaves(&mut self, wish: Wish, next: u64, una: u64) -> (Option<Request>, bool) {
        let newest = |requests: &[(Option<Frequency>, u64)]| requests.len().checked_sub(1);
        let mut repeats = newest(&self.requests).filter(|at| una <= self.requests[*at].1);
        if repeats.is_none() {
            self.known = newest(&self.requests).unwrap_or(0);
        }
        if wish.frequency != self.requests.last().and_then(|(frequency, _)| *frequency) {
            self.requests.push((wish.frequency, next));
            repeats = newest(&self.requests);
        }
        let at_once = wish.at_once != self.at_once;
        self.at_once = wish.at_once;
        (repeats.map(|at| (at as u64 + 1, self.requests[at].0)), at_once)
    }

    /// The longest delay of those requests that may be in force.
    pub fn longest(&self) -> u64 {
        let may = self.requests.iter().skip(self.known).filter_map(|(frequency, _)| *frequency);
        may.map(|(_, delay)| delay).max().unwrap_or(0)
    }
}
