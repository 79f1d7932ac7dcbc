//! Queueing delay as LEDBAT sees it: the smallest of the newest delays less the smallest of the last minutes (RFC 6817
//! §2.4.2, §4.2). Whether the delays are one-way or round trips is for the scheme to say.

use std::collections::VecDeque;

use tailback_core::{Span, Time};

/// `BASE_HISTORY`: minutes that the base delay remembers (RFC 6817 §2.4.2; 10 in §4.2).
const MINUTES: usize = 10;
/// `CURRENT_FILTER`: how many of the newest delays the present one is the least of.
const NEWEST: usize = 4;
/// A minute.
const MINUTE: Span = Span::from_secs(60);

/// Both filters.
#[derive(Clone, Debug)]
pub struct QueueingDelay {
    /// The least delay of each minute, the newest last, and the least of them.
    minutes: VecDeque<Span>,
    base: Option<Span>,
    /// When the newest minute began.
    began: Time,
    /// When each was taken; [`Span::MAX`] where there is none.
    newest: [(Time, Span); NEWEST],
    next: usize,
}

impl Default for QueueingDelay {
    fn default() -> Self {
        Self {
            minutes: VecDeque::new(),
            base: None,
            began: Time::ZERO,
            newest: [(Time::ZERO, Span::MAX); NEWEST],
            next: 0,
        }
    }
}

impl QueueingDelay {
    /// Takes a delay in.
    pub fn take(&mut self, now: Time, delay: Span) {
        self.newest[self.next] = (now, delay);
        self.next = (self.next + 1) % NEWEST;
        match self.minutes.back_mut() {
            Some(least) if now.since(self.began) < MINUTE => {
                *least = delay.min(*least);
                self.base = self.base.map(|base| base.min(delay));
            }
            _ => {
                self.began = now;
                self.minutes.push_back(delay);
                if self.minutes.len() > MINUTES {
                    self.minutes.pop_front();
                }
                self.base = self.minutes.iter().min().copied();
            }
        }
    }

    /// Forgets which of the newest were taken longer ago than this. The base stays.
    pub fn forget(&mut self, now: Time, age: Span) {
        for (at, delay) in &mut self.newest {
            if now.since(*at) > age {
                *delay = Span::MAX;
            }
        }
    }

    /// The base delay: what the path takes without queue, as far as it was seen.
    pub fn base(&self) -> Option<Span> {
        self.base
    }

    /// The present queueing delay.
    pub fn queueing(&self) -> Option<Span> {
        let newest = self.newest.iter().fold(Span::MAX, |least, (_, delay)| least.min(*delay));
        self.base.map(|base| newest.saturating_sub(base))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Span {
        Span::from_millis(millis)
    }

    #[test]
    fn the_base_is_forgotten_after_ten_minutes_and_one_high_delay_is_no_queue() {
        let mut delay = QueueingDelay::default();
        delay.take(Time::ZERO, ms(20));
        let mut now = Time::ZERO;
        for minute in 1..=9 {
            now = Time::ZERO + MINUTE * minute;
            delay.take(now, ms(50));
        }
        assert_eq!((delay.base(), delay.queueing()), (Some(ms(20)), Some(ms(30))));
        delay.take(now + MINUTE, ms(50));
        assert_eq!((delay.base(), delay.queueing()), (Some(ms(50)), Some(Span::ZERO)));
        delay.take(now + MINUTE, ms(500));
        assert_eq!(delay.queueing(), Some(Span::ZERO), "the least of four");
    }
}
