//! How late the system wakes a sleeping thread, measured: so much earlier must whoever wants to be on time get up.

use std::num::NonZeroU64;

use rustix::event::{Timespec, poll};
use rustix::thread::set_current_timer_slack;
use tailback_core::Span;

use crate::clock::Clock;

/// Awake for at most this long before a packet is due.
const LONGEST: Span = Span::from_micros(60);
const TRIALS: usize = 15;
const TRIAL: Span = Span::from_micros(100);

/// Sharpens this thread's timers, and measures the median of how late they are.
pub fn measured() -> Span {
    // Where the system refuses, wakes are later, which the trials see.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let clock = Clock::start();
    let mut late: Vec<Span> = (0..TRIALS)
        .map(|_| {
            let until = clock.now() + TRIAL;
            let timeout = Timespec { tv_sec: 0, tv_nsec: i64::try_from(TRIAL.as_nanos()).unwrap_or(0) };
            // An interrupted sleep ends early, which is not late.
            let _ = poll(&mut [], Some(&timeout));
            clock.now().since(until)
        })
        .collect();
    late.sort_unstable();
    late[TRIALS / 2].min(LONGEST)
}
