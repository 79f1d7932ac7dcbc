//! Waiting for whatever comes first: a packet, a time, or the word to stop. The system wakes a sleeper late, by a span that is
//! measured beforehand; the last part of every wait is therefore spent awake. What happens then lives in `router.rs`.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use tailback_core::{Span, Time};

use crate::margin::lateness;
use crate::wait::timespec;

/// Awake for at most this long before a packet is due: a router that is always awake takes the time of those whose packets it
/// carries.
const LONGEST_SPIN: Span = Span::from_micros(100);
/// How often, and for how long, sleeping is tried out.
const TRIALS: usize = 31;
const TRIAL: Span = Span::from_micros(200);
/// The longest sleep: time is looked at this often whatever happens.
const LONGEST_SLEEP: Span = Span::from_millis(100);

/// Waits precisely.
#[derive(Debug)]
pub(crate) struct Waiter {
    /// How long before a time the sleeper gets up.
    margin: Span,
}

impl Waiter {
    /// Tries out how late this thread wakes up. The thread keeps its sharpened timers.
    pub(crate) fn new() -> Self {
        Self { margin: lateness(TRIALS, TRIAL).min(LONGEST_SPIN) }
    }

    /// How long before a time the sleeper gets up.
    pub(crate) fn margin(&self) -> Span {
        self.margin
    }

    /// Waits until shortly before `due`, or for a packet on one of the devices. Whether one of `stops` has
    /// something to say.
    pub(crate) fn wait(
        &self,
        now: Time,
        due: Time,
        devices: &[OwnedFd],
        stops: &[BorrowedFd<'_>],
    ) -> io::Result<bool> {
        let sleep = due.since(now).saturating_sub(self.margin).min(LONGEST_SLEEP);
        let mut fds: Vec<PollFd<'_>> =
            devices.iter().map(|device| PollFd::new(device, PollFlags::IN)).collect();
        fds.extend(stops.iter().map(|stop| PollFd::new(stop, PollFlags::IN)));
        match poll(&mut fds, Some(&timespec(sleep))) {
            Ok(_) => Ok(fds[devices.len()..].iter().any(|stop| !stop.revents().is_empty())),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
