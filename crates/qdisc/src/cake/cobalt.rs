//! COBALT, the law of one queue in CAKE: CoDel's marks or drops for flows that answer them, and BLUE's drops by chance for
//! those that do not (Høiland-Jørgensen, Täht and Morton, Piece of CAKE, 2018; Palmei et al., Design and Evaluation
//! of COBALT Queue Discipline, 2019). Which packet is asked about is not decided here.
//!
//! It differs from RFC 8289 in four ways. One number, `count`, both grows while the delay stands and shrinks at the same
//! pace when it no longer does, so nothing is forgotten at once. A delay that dips below the target has to be below it when
//! the next signal is due, or the signal comes. A delay that does not stand for the time of four full packets at the
//! queue's rate is none. And the last packet of a queue may be marked but is never dropped (the caller's part).
//!
//! One departure from the version in Linux: there the schedule of a queue that was idle for longer than an interval has
//! passed, so that its first late packet begins to mark at once; here a delay has to stand for an interval first, as in
//! RFC 8289.

use tailback_core::{Packet, QueueCx, Span, Time};

/// BLUE's probability after each overflow is higher by this much (`p_inc`).
const BLUE_UP: f64 = 1.0 / 256.0;
/// And lower by this much whenever the queue was found empty (`p_dec`).
const BLUE_DOWN: f64 = 1.0 / 4096.0;

/// The constants of all queues of one tin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Constants {
    pub(super) target: Span,
    pub(super) interval: Span,
    /// What the transmission of a full packet takes at the tin's rate; zero without a rate.
    pub(super) packet: Span,
}

impl Constants {
    /// The constants for a round trip of `rtt`, where a full packet takes `packet`: the target is a twentieth of the round
    /// trip (tc-cake, `rtt`), but at least one and a half packets; the interval gives what the target takes.
    pub(super) fn new(rtt: Span, packet: Span) -> Self {
        let wanted = Span::from_nanos(rtt.as_nanos() / 20);
        let target = wanted.max(Span::from_nanos(packet.as_nanos() * 3 / 2));
        let interval = (rtt + target.saturating_sub(wanted)).max(target * 2);
        Self { target, interval, packet }
    }
}

/// The state of one queue's law.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cobalt {
    /// How dense marks are: they follow each other by `interval / √count`.
    count: u32,
    dropping: bool,
    /// When the next mark is due, or `count` is to fall.
    due: Time,
    /// BLUE's probability of a drop.
    chance: f64,
    /// When it last moved.
    moved: Time,
}

impl Cobalt {
    /// The time of the signal after the one at `from`.
    fn next(&self, from: Time, constants: &Constants) -> Time {
        from + constants.interval.mul_f64(1.0 / f64::from(self.count.max(1)).sqrt())
    }

    /// Whether a packet that arrived at `arrived` must be dropped; it may be marked instead. Where packets that are dropped count
    /// for the shaper, a delay of less than two packets of each of `bulk` flows does not stand either; 0 elsewhere.
    pub(super) fn judge(
        &mut self,
        now: Time,
        arrived: Time,
        packet: &mut Packet,
        (constants, bulk): (&Constants, u32),
        cx: &mut QueueCx<'_>,
    ) -> bool {
        let sojourn = now.since(arrived);
        let few = u64::from(bulk).saturating_mul(2).max(4);
        let standing = sojourn > constants.target && sojourn > constants.packet * few;
        let mut due = self.count > 0 && now >= self.due;
        let mut behind = self.count > 0 && now > self.due;
        if standing && !self.dropping {
            self.due = self.next(now, constants);
        }
        if standing && self.count == 0 {
            self.count = 1;
        }
        self.dropping = standing;

        let mut drop = false;
        if due && self.dropping {
            drop = !cx.mark_ce(packet);
            self.count = self.count.saturating_add(1);
            self.due = self.next(self.due, constants);
            behind = now > self.due;
        } else {
            while due {
                self.calm(constants);
                behind = now > self.due;
                due = self.count > 0 && now >= self.due;
            }
        }
        if self.chance > 0.0 {
            drop |= cx.rng.chance(self.chance);
        }
        if self.count > 0 && behind && !drop {
            // What was not used does not add up to a burst.
            self.due = now;
        }
        drop
    }

    /// One step down.
    fn calm(&mut self, constants: &Constants) {
        self.count -= 1;
        self.due = self.next(self.due, constants);
    }

    /// A packet of this queue had to go because the buffer was full.
    pub(super) fn overflowed(&mut self, now: Time, constants: &Constants) {
        if now.since(self.moved) > constants.target {
            self.chance = (self.chance + BLUE_UP).min(1.0);
            self.moved = now;
        }
        self.dropping = true;
        self.due = now;
        self.count = self.count.max(1);
    }

    /// The queue is empty since `since` at least, and was looked at now: what there was to forget in that time is
    /// forgotten. Linux does the same by steps, one whenever the scheduler comes along.
    ///
    /// BLUE's probability falls at the first moment of emptiness that is a target behind its last move, and once per target
    /// from there on. So a flow that empties its queue for a moment now and then is forgiven, too.
    pub(super) fn rest(&mut self, since: Time, now: Time, constants: &Constants) {
        self.dropping = false;
        let first = (self.moved + constants.target).max(since);
        if self.chance > 0.0 && now >= first {
            // Of a target of zero there is none (`Constants::new`). Once nothing is left, nothing moves, so that the next
            // overflow counts.
            let passed = now.since(first).as_nanos() / constants.target.as_nanos().max(1) + 1;
            let steps = passed.min((self.chance / BLUE_DOWN).ceil() as u64);
            self.chance = (self.chance - steps as f64 * BLUE_DOWN).max(0.0);
            self.moved = first + constants.target * (steps - 1);
        }
        while self.count > 0 && now >= self.due {
            self.calm(constants);
        }
    }

    /// Whether there is nothing left to forget.
    pub(super) const fn is_at_rest(&self) -> bool {
        self.count == 0 && self.chance == 0.0
    }
}

#[cfg(test)]
mod tests {
    use tailback_core::{Annexes, BitRate, Bytes, Ecn, FlowId, Kind, Stream};

    use super::*;

    /// A law that is asked about a packet each millisecond, which has waited 50 ms or not at all.
    struct Watched {
        law: Cobalt,
        now: Time,
        rng: Stream,
        ecn: Ecn,
    }

    const CONSTANTS: Constants = Constants {
        target: Span::from_millis(5),
        interval: Span::from_millis(100),
        packet: Span::from_millis(1),
    };

    impl Watched {
        fn new() -> Self {
            let now = Time::ZERO + Span::from_secs(1);
            Self { law: Cobalt::default(), now, rng: Stream::new(1, "law"), ecn: Ecn::NotEct }
        }

        /// Lets packets pass for so long, each after `waited`; when one was dropped, in milliseconds from the start, and
        /// how many were marked.
        fn pass(&mut self, millis: u64, waited: Span) -> (Vec<u64>, u32) {
            let (mut drops, mut marks) = (Vec::new(), 0);
            for millisecond in 0..millis {
                let mut packet = Packet::new(Kind::Data, FlowId(0), 0, Bytes::new(1000));
                packet.set_ecn(self.ecn);
                let mut cx = QueueCx {
                    rng: &mut self.rng,
                    annexes: &mut Annexes::new(),
                    rate: BitRate::from_bits_per_sec(8_000_000),
                    idle_since: None,
                    drops: &mut Vec::new(),
                    marks: 0,
                };
                let arrived = Time::from_nanos(self.now.as_nanos() - waited.as_nanos());
                if self.law.judge(self.now, arrived, &mut packet, (&CONSTANTS, 0), &mut cx) {
                    drops.push(millisecond);
                }
                marks += cx.marks;
                self.now += Span::from_millis(1);
            }
            (drops, marks)
        }
    }

    const LATE: Span = Span::from_millis(50);
    const IN_TIME: Span = Span::from_millis(4);

    /// One interval until the first drop, then `interval / √count` with count 2, 3, 4, …, each at the next packet:
    /// 100, 170.7, 228.4, 278.4, 323.2, 364.0, 401.8 ms.
    #[test]
    fn drops_by_the_inverse_square_root() {
        let (drops, _) = Watched::new().pass(402, LATE);
        assert_eq!(drops, [100, 171, 229, 279, 324, 364]);
    }

    /// A delay that is gone when the interval ends was no standing one; one that is back by then was.
    #[test]
    fn the_end_of_the_interval_decides() {
        let mut watched = Watched::new();
        for _ in 0..20 {
            assert!(watched.pass(99, LATE).0.is_empty());
            assert!(watched.pass(2, IN_TIME).0.is_empty());
        }
        let mut watched = Watched::new();
        assert!(watched.pass(98, LATE).0.is_empty());
        assert!(watched.pass(2, IN_TIME).0.is_empty());
        assert_eq!(watched.pass(1, LATE).0, [0]);
    }

    /// Four full packets' time is no standing queue, whatever the target.
    #[test]
    fn a_few_packets_are_no_standing_queue() {
        let wait = |millis, bulk| {
            let mut law = Watched::new();
            law.law.judge(
                law.now,
                Time::from_nanos(law.now.as_nanos() - Span::from_millis(millis).as_nanos()),
                &mut Packet::default(),
                (&Constants { packet: Span::from_millis(3), ..CONSTANTS }, bulk),
                &mut QueueCx {
                    rng: &mut law.rng,
                    annexes: &mut Annexes::new(),
                    rate: BitRate::from_bits_per_sec(8_000_000),
                    idle_since: None,
                    drops: &mut Vec::new(),
                    marks: 0,
                },
            );
            law.law.dropping
        };
        assert!(!wait(12, 0));
        assert!(wait(13, 2));
        assert!(!wait(18, 3), "two packets of each of three flows, where those that are dropped count");
        assert!(wait(19, 3));
    }

    /// What has grown shrinks at the same pace, and is there again at once if the delay comes back before.
    #[test]
    fn the_count_falls_as_it_rose() {
        let mut watched = Watched::new();
        let (drops, _) = watched.pass(1000, LATE);
        let risen = watched.law.count;
        assert_eq!(risen as usize, drops.len() + 1);
        watched.pass(300, IN_TIME);
        let fallen = watched.law.count;
        assert!(fallen > 0 && fallen + 5 < risen, "{fallen} of {risen}");
        let (again, _) = watched.pass(60, LATE);
        assert!(!again.is_empty(), "no interval of grace for who was just dropped from");
        watched.pass(3000, IN_TIME);
        assert!(watched.law.is_at_rest());
    }

    #[test]
    fn marks_take_the_place_of_drops() {
        let mut watched = Watched { ecn: Ecn::Ect0, ..Watched::new() };
        let (drops, marks) = watched.pass(402, LATE);
        assert_eq!((drops.len(), marks), (0, 6));
    }

    /// BLUE: up by 1/256 for an overflow, at most once per target; down by 1/4096 per target of an empty queue. It drops
    /// what could be marked too.
    #[test]
    fn blue_drops_what_does_not_answer() {
        let mut watched = Watched { ecn: Ecn::Ect0, ..Watched::new() };
        for _ in 0..64 {
            watched.law.overflowed(watched.now, &CONSTANTS);
            watched.law.overflowed(watched.now, &CONSTANTS);
            watched.now += Span::from_millis(6);
        }
        assert_eq!(watched.law.chance, 0.25);
        let (drops, _) = watched.pass(4000, IN_TIME);
        assert!((850..1150).contains(&drops.len()), "{}", drops.len());
        let since = watched.now;
        watched.law.rest(since, since + Span::from_millis(5 * 511), &CONSTANTS);
        assert_eq!(watched.law.chance, 0.125);
        watched.law.rest(since, since + Span::from_secs(20), &CONSTANTS);
        assert!(watched.law.is_at_rest());
    }

    /// A flow whose queue runs empty after each packet and fills again at once: BLUE forgets one step per target, as if the queue
    /// had been empty all the time. A queue that is never empty forgets nothing.
    #[test]
    fn blue_forgets_who_empties_the_queue_now_and_then() {
        let mut law = Watched::new();
        law.law.overflowed(law.now, &CONSTANTS);
        law.pass(100, IN_TIME);
        assert_eq!(law.law.chance, BLUE_UP);
        for millisecond in 0..76 {
            let now = law.now + Span::from_millis(millisecond);
            law.law.rest(now, now + Span::from_micros(50), &CONSTANTS);
        }
        assert_eq!(law.law.chance, 0.0, "16 steps in 75 ms, the first at once");
    }

    /// What was forgotten long ago does not keep the next overflow from counting, however soon after a look it comes.
    #[test]
    fn an_overflow_after_a_rest_counts() {
        let Watched { mut law, now, .. } = Watched::new();
        law.overflowed(now, &CONSTANTS);
        let later = now + Span::from_secs(10);
        law.rest(now, later, &CONSTANTS);
        assert_eq!(law.chance, 0.0);
        law.overflowed(later, &CONSTANTS);
        assert_eq!(law.chance, BLUE_UP);
    }

    /// Full packets at 1 Mbit/s take 12.112 ms: the target must be 18.168 ms, the interval as much longer.
    #[test]
    fn slow_lines_have_longer_targets() {
        let constants = Constants::new(Span::from_millis(100), Span::from_micros(12_112));
        assert_eq!(constants.target, Span::from_micros(18_168));
        assert_eq!(constants.interval, Span::from_micros(113_168));
        let fast = Constants::new(Span::from_millis(100), Span::from_micros(121));
        assert_eq!((fast.target, fast.interval), (Span::from_millis(5), Span::from_millis(100)));
        let short = Constants::new(Span::from_millis(10), Span::from_micros(12_112));
        assert_eq!(short.interval, Span::from_micros(2 * 18_168));
    }
}
