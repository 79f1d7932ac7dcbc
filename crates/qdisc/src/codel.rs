//! Controlled delay (Nichols and Jacobson, RFC 8289): packets are dropped or marked at the head of the queue once even
//! the least sojourn time over an interval exceeds a target, ever more often until it no longer does.
//!
//! In the dropping state, the n-th drop follows the one before by `interval / √n` (RFC 8289 §3.3, §5.6).
//!
//! A queue that holds no more bytes than one packet never stands (§5.5). The link's mean packet counts as one, or the
//! largest that has left; the text would have the interface's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Backlog, Bytes, Checker, DropReason, Packet, QueueCx, QueueDiscipline, Span, Time};

use crate::limit::Limit;
use crate::parts::{BuildCx, Info, QueueConfig};
use crate::ring::Ring;

/// Controlled delay (RFC 8289): drops or marks at the head of the queue, on a standing delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CodelConfig {
    /// The standing delay to tolerate. Default 5 ms (RFC 8289 §4.4).
    pub target: Span,
    /// The time over which a delay counts as standing: about the longest round trip. Default 100 ms (RFC 8289 §4.3).
    pub interval: Span,
    /// Mark ECN-capable packets instead of dropping them (RFC 8289 §5.6, as in RFC 8290 §4.2). Default false.
    pub ecn: bool,
}

impl Default for CodelConfig {
    fn default() -> Self {
        Self { target: Span::from_millis(5), interval: Span::from_millis(100), ecn: false }
    }
}

impl CodelConfig {
    /// Complains about every parameter that makes no sense.
    pub fn check(&self, checker: &mut Checker) {
        check_times(self.target, self.interval, checker);
    }
}

impl QueueConfig for CodelConfig {
    type Queue = Box<Codel>;

    fn info(&self) -> &'static Info {
        &Info {
            name: "codel",
            family: "active",
            summary: "Drops or marks at the head of the queue on a standing delay, ever more often while it stands",
            source: "RFC 8289",
        }
    }

    fn check(&self, checker: &mut Checker) {
        Self::check(self, checker);
    }

    fn build(&self, cx: &BuildCx) -> Self::Queue {
        Box::new(Codel::new(self, cx))
    }

    fn ecn(&self) -> bool {
        self.ecn
    }
}

/// Complains about a target and an interval that make no sense.
pub(crate) fn check_times(target: Span, interval: Span, checker: &mut Checker) {
    checker.require(!target.is_zero(), "target", target, "a time above zero");
    let allowed = format!("a time above target, which is {target}");
    checker.require(interval > target, "interval", interval, allowed);
}

/// Where a CoDel law takes its packets from.
pub(crate) trait Source {
    /// The oldest packet, and when it arrived.
    fn pop(&mut self) -> Option<(Packet, Time)>;
    /// Bytes still waiting.
    fn bytes(&self) -> Bytes;
}

impl Source for Ring<Time> {
    fn pop(&mut self) -> Option<(Packet, Time)> {
        Self::pop(self)
    }

    fn bytes(&self) -> Bytes {
        Self::bytes(self)
    }
}

/// The constants of a CoDel law.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Constants {
    pub(crate) target: Span,
    pub(crate) interval: Span,
    pub(crate) ecn: bool,
    /// A queue of at most one packet is never a standing one (`maxpacket_` of RFC 8289 §5.2): of this size, or of the
    /// largest that the law has seen.
    pub(crate) packet: Bytes,
}

/// The state of one CoDel law (RFC 8289 §5.2), which may be one of many.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Law {
    /// When a delay above target will count as standing, if it lasts; `None` while it is below.
    first_above: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    /// Bytes of the largest packet taken.
    largest: u32,
    dropping: bool,
}

impl Law {
    /// Whether dropping, if it began now, would resume at about the rate it had reached (RFC 8289 §5.6).
    pub(crate) fn would_resume(&self, now: Time, interval: Span) -> bool {
        self.count - self.last_count > 1 && now.since(self.drop_next) < interval * 16
    }

    /// The time of the next drop (RFC 8289 §5.3).
    fn control_law(&self, from: Time, interval: Span) -> Time {
        from + interval.mul_f64(1.0 / f64::from(self.count.max(1)).sqrt())
    }

    /// Takes a packet, and tells whether it may be dropped (RFC 8289 §5.5).
    fn take<S: Source>(
        &mut self,
        now: Time,
        constants: &Constants,
        source: &mut S,
    ) -> Option<(Packet, bool)> {
        let Some((packet, arrived)) = source.pop() else {
            self.first_above = None;
            return None;
        };
        self.largest = self.largest.max(packet.size().get() as u32);
        let one_packet = constants.packet.max(Bytes::new(self.largest.into()));
        if now.since(arrived) < constants.target || source.bytes() <= one_packet {
            self.first_above = None;
            return Some((packet, false));
        }
        let standing = if let Some(time) = self.first_above {
            now >= time
        } else {
            self.first_above = Some(now + constants.interval);
            false
        };
        Some((packet, standing))
    }

    /// The next packet to transmit (RFC 8289 §5.6).
    pub(crate) fn dequeue<S: Source>(
        &mut self,
        now: Time,
        constants: &Constants,
        source: &mut S,
        cx: &mut QueueCx<'_>,
    ) -> Option<Packet> {
        let Some((mut packet, mut standing)) = self.take(now, constants, source) else {
            self.dropping = false;
            return None;
        };
        if self.dropping {
            if !standing {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                if constants.ecn && cx.mark_ce(&mut packet) {
                    self.drop_next = self.control_law(self.drop_next, constants.interval);
                    return Some(packet);
                }
                cx.drop(packet, DropReason::Early);
                let Some(next) = self.take(now, constants, source) else {
                    self.dropping = false;
                    return None;
                };
                (packet, standing) = next;
                if standing {
                    self.drop_next = self.control_law(self.drop_next, constants.interval);
                } else {
                    self.dropping = false;
                }
            }
            return Some(packet);
        }
        if standing {
            return self.begin(now, packet, constants, source, cx);
        }
        Some(packet)
    }

    /// Enters the dropping state with the drop or mark of `packet`.
    fn begin<S: Source>(
        &mut self,
        now: Time,
        mut packet: Packet,
        constants: &Constants,
        source: &mut S,
        cx: &mut QueueCx<'_>,
    ) -> Option<Packet> {
        let marked = constants.ecn && cx.mark_ce(&mut packet);
        let sent = if marked {
            Some(packet)
        } else {
            cx.drop(packet, DropReason::Early);
            self.take(now, constants, source).map(|(packet, _)| packet)
        };
        self.dropping = true;
        self.count =
            if self.would_resume(now, constants.interval) { self.count - self.last_count } else { 1 };
        self.drop_next = self.control_law(now, constants.interval);
        self.last_count = self.count;
        sent
    }
}

/// One queue under CoDel.
#[derive(Clone, Debug)]
pub struct Codel {
    limit: Limit,
    constants: Constants,
    law: Law,
    ring: Ring<Time>,
}

impl Codel {
    /// CoDel for the link that `cx` describes.
    pub fn new(config: &CodelConfig, cx: &BuildCx) -> Self {
        let &CodelConfig { target, interval, ecn } = config;
        Self {
            limit: Limit::new(cx.capacity),
            constants: Constants { target, interval, ecn, packet: cx.mean_packet },
            law: Law::default(),
            ring: Ring::new(),
        }
    }
}

impl QueueDiscipline for Codel {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut QueueCx<'_>) {
        if self.limit.admits(&packet, &self.ring.backlog(), cx.idle_since.is_some()) {
            self.ring.push(packet, now);
        } else {
            cx.drop(packet, DropReason::Overflow);
        }
    }

    fn dequeue(&mut self, now: Time, cx: &mut QueueCx<'_>) -> Option<Packet> {
        self.law.dequeue(now, &self.constants, &mut self.ring, cx)
    }

    fn backlog(&self) -> Backlog {
        self.ring.backlog()
    }

    fn observe(&self, now: Time, note: &mut dyn FnMut(&'static str, f64)) {
        let sojourn = self.ring.head().map_or(Span::ZERO, |(_, arrived)| now.since(*arrived));
        note("sojourn_seconds", sojourn.as_secs_f64());
        note("dropping", f64::from(u8::from(self.law.dropping)));
        note("drop_count", f64::from(self.law.count));
    }
}

#[cfg(test)]
mod tests {
    use tailback_core::{Annexes, BitRate, FlowId, Kind, Stream};

    use super::*;

    /// Packets of one size without end, each after a delay of 50 ms, and so many bytes behind each.
    struct Endless {
        now: Time,
        size: Bytes,
        behind: Bytes,
    }

    impl Source for Endless {
        fn pop(&mut self) -> Option<(Packet, Time)> {
            let arrived = Time::from_nanos(self.now.as_nanos() - 50_000_000);
            Some((Packet::new(Kind::Data, FlowId(0), 0, self.size), arrived))
        }

        fn bytes(&self) -> Bytes {
            self.behind
        }
    }

    /// How many packets the law drops in two seconds, of one every millisecond.
    fn dropped(size: u64, behind: u64) -> usize {
        let constants = Constants {
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            ecn: false,
            packet: Bytes::new(1000),
        };
        let (mut rng, mut annexes, mut drops) = (Stream::new(1, "law"), Annexes::new(), Vec::new());
        let mut law = Law::default();
        for millis in 1000..3000 {
            let now = Time::ZERO + Span::from_millis(millis);
            let mut source = Endless { now, size: Bytes::new(size), behind: Bytes::new(behind) };
            let mut cx = QueueCx {
                rng: &mut rng,
                annexes: &mut annexes,
                rate: BitRate::from_bits_per_sec(8_000_000),
                idle_since: None,
                drops: &mut drops,
                marks: 0,
            };
            assert!(law.dequeue(now, &constants, &mut source, &mut cx).is_some());
        }
        drops.len()
    }

    #[test]
    fn one_largest_packet_is_no_standing_queue() {
        assert_eq!(dropped(1500, 1500), 0);
        assert_eq!(dropped(40, 1000), 0);
        assert!(dropped(1500, 1501) > 30);
        assert!(dropped(1000, 1001) > 30);
    }

    /// A law that sees a packet every millisecond, after a delay of 50 ms or of none.
    struct Watched {
        law: Law,
        now: Time,
        drops: Vec<(Packet, DropReason)>,
    }

    impl Watched {
        fn new() -> Self {
            Self { law: Law::default(), now: Time::ZERO + Span::from_secs(1), drops: Vec::new() }
        }

        /// Lets packets pass for so long; how many were dropped.
        fn pass(&mut self, millis: u64, late: bool) -> usize {
            let constants = Constants {
                target: Span::from_millis(5),
                interval: Span::from_millis(100),
                ecn: false,
                packet: Bytes::new(1000),
            };
            let before = self.drops.len();
            for _ in 0..millis {
                self.now += Span::from_millis(1);
                let arrived = if late { self.now } else { self.now + Span::from_millis(50) };
                let mut source = Endless { now: arrived, size: Bytes::new(1000), behind: Bytes::new(9000) };
                let mut cx = QueueCx {
                    rng: &mut Stream::new(1, "law"),
                    annexes: &mut Annexes::new(),
                    rate: BitRate::from_bits_per_sec(8_000_000),
                    idle_since: None,
                    drops: &mut self.drops,
                    marks: 0,
                };
                assert!(self.law.dequeue(self.now, &constants, &mut source, &mut cx).is_some());
            }
            self.drops.len() - before
        }
    }

    #[test]
    fn a_delay_that_dips_below_the_target_is_no_standing_one() {
        let mut watched = Watched::new();
        for _ in 0..20 {
            assert_eq!(watched.pass(99, true), 0);
            assert_eq!(watched.pass(1, false), 0);
        }
        // And one packet in time ends the dropping, for an interval at least.
        assert!(watched.pass(1000, true) > 10);
        assert_eq!(watched.pass(1, false), 0);
        assert_eq!(watched.pass(99, true), 0);
    }

    /// RFC 8289 §5.6: dropping resumes with as many as were dropped in the last episode alone.
    #[test]
    fn dropping_resumes_where_the_last_episode_ended() {
        let mut watched = Watched::new();
        watched.pass(2000, true);
        let first = watched.law.count;
        assert!(first > 50);
        watched.pass(200, false);
        watched.pass(102, true);
        assert_eq!(watched.law.count, first - 1);
        watched.pass(500, true);
        let second = watched.law.count - (first - 1);
        assert!(second > 1);
        watched.pass(200, false);
        watched.pass(102, true);
        assert_eq!(watched.law.count, second);
        // After 16 intervals it begins anew.
        watched.pass(500, true);
        watched.pass(2000, false);
        watched.pass(102, true);
        assert_eq!(watched.law.count, 1);
    }
}
