//! Real time as endpoints understand it: nanoseconds since a beginning. The clock on the wall, by which the system tells when
//! datagrams came, is asked in `arrived.rs`.

use std::time::Instant;

use tailback_core::{Span, Time};

/// A monotonic clock that began at zero.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Default for Clock {
    fn default() -> Self {
        Self::start()
    }
}

impl Clock {
    /// A clock that begins now.
    #[expect(clippy::disallowed_methods, reason = "the one place at which monotonic time begins")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since the beginning; never goes back.
    pub fn now(&self) -> Time {
        let nanos = u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Time::ZERO + Span::from_nanos(nanos)
    }
}
