//! Whether a run with real packets counts, whichever it is: how late it may be, and every reason that there is against it. Who
//! measures what is judged here lives in `router.rs`, in `session.rs` and in `lab/`.

use std::fmt;

use tailback_core::Span;

use super::forwarder::RouterRecorder;
use super::lateness::Spans;
use super::router::Router;

/// Of fewer than these there is no 99th percentile. Endpoints whose packets answer others have few timers.
const FEW: u64 = 100;

/// How late a run may be that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Half of all may be at most this late.
    pub median: Span,
    /// 99 of 100 at most this late.
    pub p99: Span,
}

impl Default for Budget {
    fn default() -> Self {
        Self { median: Span::from_micros(200), p99: Span::from_millis(1) }
    }
}

/// What was late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// Packets that left the router.
    Packets,
    /// Timers of endpoints of ours.
    Timers,
    /// Calls of custom parts, which hold up packets for as long as they take.
    Calls,
}

/// Why a run does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// The median of lateness was the first span, and more than the budget has, which is the second.
    Median(Late, Span, Span),
    /// The 99th percentile of lateness was the first span, and more than the budget has, which is the second.
    P99(Late, Span, Span),
    /// Somebody's end of a flow did not last until the run's end, and why.
    EndedEarly(String),
    /// So many packets were lost before the router could read them, or because it holds no more.
    Unread(u64),
    /// So many packets were due to leave and their device would not have them.
    Unsent(u64),
    /// So many datagrams were lost between the router and our endpoints.
    Unreceived(u64),
    /// It was to last longer.
    Stopped,
}

/// All of a run that speaks for or against it.
#[derive(Clone, Debug, Default)]
pub struct Conduct {
    /// How late packets left the router.
    pub lateness: Spans,
    /// How late the timers of endpoints of ours were, where there are any.
    pub timers: Spans,
    /// How long calls of custom parts took, where there are any.
    pub calls: Spans,
    /// Whose end of a flow did not last until the run's end, and why.
    pub ended_early: Vec<String>,
    /// Packets that the router did not read in time, or had no room for.
    pub unread: u64,
    /// Packets that a device did not take.
    pub unsent: u64,
    /// Datagrams that found the buffers of our sockets full.
    pub unreceived: u64,
    /// Whether it was stopped before an end that it was to have.
    pub is_stopped: bool,
}

impl Conduct {
    /// What a router knows; `unread` packets did not even get there.
    pub fn of<R: RouterRecorder>(router: &mut Router<R>, unread: u64) -> Self {
        let (mut no_room, mut unsent) = (0, 0);
        for device in router.inside().devices() {
            no_room += device.no_room;
            unsent += device.unsent;
        }
        Self { lateness: router.lateness().clone(), unread: unread + no_room, unsent, ..Self::default() }
    }

    /// Every reason why the run does not count.
    pub fn reasons(&self, budget: &Budget) -> Vec<Invalid> {
        let mut reasons = budget.judge(Late::Packets, &self.lateness);
        for (what, spans) in [(Late::Timers, &self.timers), (Late::Calls, &self.calls)] {
            if spans.count() >= FEW {
                reasons.extend(budget.judge(what, spans));
            }
        }
        reasons.extend(self.ended_early.iter().cloned().map(Invalid::EndedEarly));
        let lost = [
            Invalid::Unread(self.unread),
            Invalid::Unsent(self.unsent),
            Invalid::Unreceived(self.unreceived),
        ];
        let is_any = [self.unread, self.unsent, self.unreceived].map(|count| count > 0);
        reasons.extend(lost.into_iter().zip(is_any).filter_map(|(reason, is_any)| is_any.then_some(reason)));
        reasons.extend(self.is_stopped.then_some(Invalid::Stopped));
        reasons
    }
}

impl Budget {
    /// Every reason why a run of which something was so late does not count.
    fn judge(&self, what: Late, spans: &Spans) -> Vec<Invalid> {
        let (median, p99) = (spans.quantile(0.5), spans.quantile(0.99));
        let median = (median > self.median).then_some(Invalid::Median(what, median, self.median));
        let p99 = (p99 > self.p99).then_some(Invalid::P99(what, p99, self.p99));
        median.into_iter().chain(p99).collect()
    }
}

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Packets => "packets left",
            Self::Timers => "the endpoints' timers ran",
            Self::Calls => "calls of custom parts came back",
        })
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Median(what, was, may) => {
                write!(f, "{what} {} late at the median, and {may} is allowed", millis(*was))
            }
            Self::P99(what, was, may) => {
                write!(f, "{what} {} late at the 99th percentile, and {may} is allowed", millis(*was))
            }
            Self::EndedEarly(who) => f.write_str(who),
            Self::Unread(count) => {
                write!(f, "the router did not read {} in time: lost", counted(*count, "packet"))
            }
            Self::Unsent(count) => {
                write!(f, "the system would not take {} when due to leave", counted(*count, "packet"))
            }
            Self::Unreceived(count) => {
                let datagrams = counted(*count, "datagram");
                write!(f, "{datagrams} found the buffers of their receivers' sockets full: lost")
            }
            Self::Stopped => f.write_str("it was stopped before its end"),
        }
    }
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A measured span for a reader, who has no use for its last nanosecond.
fn millis(span: Span) -> String {
    format!("{:.3} ms", span.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(micros: impl IntoIterator<Item = u64>) -> Spans {
        let mut spans = Spans::default();
        micros.into_iter().for_each(|micros| spans.add(Span::from_micros(micros)));
        spans
    }

    fn reasons(conduct: &Conduct) -> Vec<Invalid> {
        conduct.reasons(&Budget::default())
    }

    #[test]
    fn a_run_beyond_its_budget_does_not_count_and_says_why() {
        let late = |micros: u64| {
            let lateness = spans((0..1000).map(|n| if n < 985 { 100 } else { micros }));
            reasons(&Conduct { lateness, ..Conduct::default() })
        };
        assert_eq!(reasons(&Conduct::default()), []);
        assert_eq!(late(900), []);
        assert!(matches!(late(5000)[..], [Invalid::P99(Late::Packets, ..)]), "{:?}", late(5000));
        let message = late(5000)[0].to_string();
        assert!(message.starts_with("packets left ") && message.ends_with(" is allowed"), "{message}");
        let slow = reasons(&Conduct { lateness: spans([300; 10]), ..Conduct::default() });
        assert!(matches!(slow[..], [Invalid::Median(Late::Packets, ..)]), "{slow:?}");
    }

    #[test]
    fn timers_and_calls_are_judged_where_there_are_many() {
        let conduct = |count| Conduct {
            timers: spans((0..count).map(|_| 500)),
            calls: spans((0..count).map(|_| 2000)),
            ..Conduct::default()
        };
        assert_eq!(reasons(&conduct(FEW - 1)), []);
        let said: Vec<String> = reasons(&conduct(FEW)).iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), 3, "{said:?}");
        for (message, what) in
            said.iter().zip(["the endpoints' timers ran ", "calls of custom parts came back ", "calls of "])
        {
            assert!(message.starts_with(what), "{message}");
        }
    }

    #[test]
    fn everything_else_against_a_run_is_named() {
        let conduct = Conduct {
            ended_early: vec!["the sender of a ended early: refused".to_owned()],
            unread: 1,
            unsent: 2,
            unreceived: 3,
            is_stopped: true,
            ..Conduct::default()
        };
        let said: Vec<String> = reasons(&conduct).iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "the sender of a ended early: refused",
                "the router did not read 1 packet in time: lost",
                "the system would not take 2 packets when due to leave",
                "3 datagrams found the buffers of their receivers' sockets full: lost",
                "it was stopped before its end",
            ]
        );
    }
}
