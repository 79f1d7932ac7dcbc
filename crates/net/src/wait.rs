//! Waiting for a socket or for a time, whichever comes first. What is then done is decided by whoever waits.

use std::io;
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tailback_core::{Span, Time};

use crate::clock::Clock;

/// Waits until something can be read, at most until a time; whether it can. Sleeps until `margin` before that time, and spends
/// the rest awake, since the system wakes sleepers late.
///
/// # Errors
/// Of the system.
pub(crate) fn wait_until(source: &impl AsFd, clock: Clock, until: Time, margin: Span) -> io::Result<bool> {
    let sleep = until.since(clock.now());
    if wait(source, PollFlags::IN, sleep.saturating_sub(margin))? {
        return Ok(true);
    }
    while !margin.is_zero() && clock.now() < until {
        if wait(source, PollFlags::IN, Span::ZERO)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Waits for so long at most until a socket can be read or written, as `what` says; whether it can.
///
/// # Errors
/// Of the system.
pub(crate) fn wait(source: &impl AsFd, what: PollFlags, span: Span) -> io::Result<bool> {
    match poll(&mut [PollFd::new(source, what)], Some(&timespec(span))) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// A span as the system takes it.
pub(crate) fn timespec(span: Span) -> Timespec {
    let (seconds, nanos) = (span.as_nanos() / 1_000_000_000, span.as_nanos() % 1_000_000_000);
    Timespec {
        tv_sec: i64::try_from(seconds).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(nanos).unwrap_or(0),
    }
}
