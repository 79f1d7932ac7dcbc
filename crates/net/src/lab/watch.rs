//! What is noted of a flow's end while it runs: its observation at the ends of bins, at the end of the warm-up and at the very
//! end, and what it has carried. Who drives the end lives in `own.rs` and `kernel.rs`.

use tailback_core::{Bytes, Observation, Span, Time};

use crate::router::Spans;

/// From when to when a run is watched, and how finely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The width of the bins of time series.
    pub bin: Span,
    /// Tables are of the time from here on.
    pub warm_up: Time,
    /// The end of the run.
    pub end: Time,
}

/// What an end was seen to be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Looks {
    /// At the ends of all bins.
    pub bins: Vec<Observation>,
    /// At the end of the warm-up.
    pub warm: Observation,
    /// At the end of the run.
    pub last: Observation,
}

/// A file or message that was carried completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The application's bytes.
    pub size: Bytes,
    /// When the application offered it.
    pub began: Time,
    /// When its last byte was known to have arrived.
    pub ended: Time,
}

/// One end of a flow, when all is over.
#[derive(Debug, Default)]
pub struct End {
    /// What it was seen to be.
    pub looks: Looks,
    /// What it has carried completely (senders).
    pub transfers: Vec<Transfer>,
    /// When it had sent everything and all of it was acknowledged (senders).
    pub finished: Option<Time>,
    /// How late its timers were, where they are ours.
    pub timers: Spans,
    /// Why it ended before its time, if it did.
    pub error: Option<String>,
}

/// Notes the looks of one end.
#[derive(Debug)]
pub(super) struct Watch {
    window: Window,
    next_bin: Time,
    warm: Option<Observation>,
    bins: Vec<Observation>,
}

impl Watch {
    pub(super) fn new(window: Window) -> Self {
        Self { window, next_bin: Time::ZERO + window.bin, warm: None, bins: Vec::new() }
    }

    /// When the next look is due.
    pub(super) fn next(&self) -> Time {
        let warm = if self.warm.is_none() { self.window.warm_up } else { Time::NEVER };
        self.next_bin.min(warm).min(self.window.end)
    }

    /// Looks, where a look is due.
    pub(super) fn look(&mut self, now: Time, observe: impl FnOnce() -> Observation) {
        if self.next() > now {
            return;
        }
        let seen = observe();
        if now >= self.window.warm_up {
            self.warm.get_or_insert(seen);
        }
        while self.next_bin <= now.min(self.window.end) {
            self.bins.push(seen);
            self.next_bin += self.window.bin;
        }
    }

    /// All looks; `last` is how the end is now, and stays until the run's end.
    pub(super) fn finish(mut self, last: Observation) -> Looks {
        let warm = self.warm.unwrap_or(if self.window.warm_up == Time::ZERO {
            Observation::default()
        } else {
            last
        });
        self.look(self.window.end, || last);
        Looks { bins: self.bins, warm, last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(packets: u64) -> Observation {
        Observation { sent_packets: packets, ..Observation::default() }
    }

    #[test]
    fn every_bin_has_a_look_whenever_somebody_looks() {
        let at = Time::from_nanos;
        let window = Window { bin: Span::from_nanos(10), warm_up: at(25), end: at(60) };
        let mut watch = Watch::new(window);
        watch.look(at(5), || panic!("nothing is due"));
        watch.look(at(11), || seen(1));
        assert_eq!(watch.next(), at(20));
        watch.look(at(26), || seen(2));
        watch.look(at(47), || seen(4));
        let looks = watch.finish(seen(5));
        let packets: Vec<u64> = looks.bins.iter().map(|seen| seen.sent_packets).collect();
        assert_eq!(packets, [1, 2, 4, 4, 5, 5]);
        assert_eq!((looks.warm.sent_packets, looks.last.sent_packets), (2, 5));
    }

    #[test]
    fn who_ends_before_the_warm_up_has_done_nothing_since() {
        let window =
            Window { bin: Span::from_secs(1), warm_up: Time::from_nanos(9), end: Time::from_nanos(20) };
        let looks = Watch::new(window).finish(seen(3));
        assert_eq!((looks.warm, looks.last), (seen(3), seen(3)));
        let from_start = Window { warm_up: Time::ZERO, ..window };
        assert_eq!(Watch::new(from_start).finish(seen(3)).warm, Observation::default());
    }
}
