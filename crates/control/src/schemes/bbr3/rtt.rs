//! The smallest round trip time, and when it is due to be measured anew (draft-ietf-ccwg-bbr-06, §5.3.4). What the sender does
//! meanwhile is in `probe_rtt.rs`.

use tailback_core::{Span, Time};

/// `MinRTTFilterLen`.
const AGE: Span = Span::from_secs(10);
/// `ProbeRTTInterval`.
const PROBE_EVERY: Span = Span::from_secs(5);
/// `ProbeRTTDuration`.
const PROBE_FOR: Span = Span::from_millis(200);

/// Round trip times.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundTrips {
    /// The smallest of the filter, and when it was seen.
    least: Option<(Span, Time)>,
    /// The smallest in seconds; 0 before any.
    seconds: f64,
    /// The smallest since the last probe.
    probed: Option<(Span, Time)>,
    due: bool,
    done: Option<Time>,
    round_over: bool,
}

impl RoundTrips {
    /// The smallest, in seconds; 0 before any is known.
    pub(super) fn min_rtt(&self) -> f64 {
        self.seconds
    }

    /// Takes a round trip time in (`BBRUpdateMinRTT`).
    pub(super) fn take(&mut self, now: Time, rtt: Option<Span>) {
        self.due = self.probed.is_some_and(|(_, at)| now.since(at) > PROBE_EVERY);
        if let Some(rtt) = rtt
            && (self.due || self.probed.is_none_or(|(least, _)| rtt < least))
        {
            self.probed = Some((rtt, now));
        }
        let Some((rtt, at)) = self.probed else { return };
        if self.least.is_none_or(|(least, seen)| rtt < least || now.since(seen) > AGE) {
            self.least = Some((rtt, at));
            self.seconds = rtt.as_secs_f64();
        }
    }

    /// Whether it is time to probe.
    pub(super) const fn is_due(&self) -> bool {
        self.due
    }

    /// A probe begins.
    pub(super) fn enter(&mut self) {
        (self.done, self.round_over, self.due) = (None, false, false);
    }

    /// During a probe: `low` where little enough is in flight; whether its time begins now.
    pub(super) fn hold(&mut self, now: Time, low: bool, round_start: bool) -> bool {
        if self.done.is_some() {
            self.round_over |= round_start;
            return false;
        }
        if low {
            (self.done, self.round_over) = (Some(now + PROBE_FOR), false);
        }
        low
    }

    /// Whether the probe has lasted its time and a round.
    pub(super) fn is_done(&self, now: Time) -> bool {
        self.round_over && self.has_lasted(now)
    }

    /// Whether the probe has lasted its time, which is enough where an idle time ends (`BBRCheckProbeRTTDone`).
    pub(super) fn has_lasted(&self, now: Time) -> bool {
        self.done.is_some_and(|done| now > done)
    }

    /// The next probe is due an interval from now.
    pub(super) fn refresh(&mut self, now: Time) {
        if let Some((_, at)) = &mut self.probed {
            *at = now;
        }
    }
}
