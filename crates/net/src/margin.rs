//! How late the system wakes a sleeping thread, measured: so much earlier must whoever wants to be on time get up. Waiting itself
//! is in `wait.rs`.

use std::num::NonZeroU64;

use rustix::event::poll;
use rustix::thread::set_current_timer_slack;
use tailback_core::Span;

use crate::clock::Clock;
use crate::wait::timespec;

/// A driver is awake for at most this long before a packet is due.
const LONGEST: Span = Span::from_micros(60);
const TRIALS: usize = 15;
const TRIAL: Span = Span::from_micros(100);

/// Sharpens this thread's timers, and measures how much earlier a driver of endpoints must get up.
pub fn measured() -> Span {
    lateness(TRIALS, TRIAL).min(LONGEST)
}

/// Sharpens this thread's timers, and tries so often how late a sleep of this length ends: the median.
pub(crate) fn lateness(trials: usize, trial: Span) -> Span {
    // Where the system refuses, wakes are later, which the trials see.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let clock = Clock::start();
    let mut late: Vec<Span> = (0..trials)
        .map(|_| {
            let until = clock.now() + trial;
            // An interrupted sleep ends early, which is not late.
            let _ = poll(&mut [], Some(&timespec(trial)));
            clock.now().since(until)
        })
        .collect();
    late.sort_unstable();
    late.get(trials / 2).copied().unwrap_or_default()
}
