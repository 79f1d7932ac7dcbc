//! PIE, PI and REM in lanes and under shapers, and PIE where nobody knows the line's rate, each with a timer for every look at its
//! queue, which sees what waits then. Then both writings, compared. The laws themselves are those of `arrivals`, the lanes and
//! shapers those of `lines`.

use std::collections::VecDeque;

use proptest::prelude::*;
use tailback_core::{
    ArrivalPolicy, Backlog, BitRate, Bytes, Capacity, Packet, QueueCx, QueueDiscipline, Span, Time, Verdict,
};
use tailback_qdisc::{BuildCx, Discipline, Limit, sampled::Sampler};

use super::{arrivals, difference, lines};
use crate::common::wild::{capacities, wild};
use crate::common::{self, Job, Outcome, RATE, serve_at};

/// What waits, for how long the oldest packet has, and the line's rate.
pub struct Sight {
    waiting: Backlog,
    oldest: Span,
    rate: BitRate,
}

/// A law that is told what waits whenever a period is over.
pub trait Law: ArrivalPolicy {
    fn look(&mut self, sight: &Sight);

    /// The line had this rate until now.
    fn knows(&mut self, _: BitRate) {}
}

impl Law for arrivals::Pie {
    fn look(&mut self, sight: &Sight) {
        self.knows(sight.rate);
        self.update(sight.waiting.bytes.as_f64() / self.rate);
    }

    fn knows(&mut self, rate: BitRate) {
        if rate > BitRate::ZERO {
            self.rate = rate.bytes_per_sec();
        }
    }
}

/// PIE that takes packets' own time for the delay (RFC 8033 §4.3): how long the oldest has waited, 0 if none does.
struct ByTime(arrivals::Pie);

impl ArrivalPolicy for ByTime {
    fn admit(&mut self, now: Time, packet: &mut Packet, waiting: &Backlog, cx: &mut QueueCx<'_>) -> Verdict {
        self.0.admit(now, packet, waiting, cx)
    }
}

impl Law for ByTime {
    fn look(&mut self, sight: &Sight) {
        self.0.update(sight.oldest.as_secs_f64());
    }
}

impl Law for arrivals::Pi {
    fn look(&mut self, sight: &Sight) {
        self.update(f64::from(sight.waiting.packets));
    }
}

impl Law for arrivals::Rem {
    fn look(&mut self, sight: &Sight) {
        let could = self.could(sight.rate);
        self.update(f64::from(sight.waiting.packets), could);
    }
}

/// A first-in first-out queue under a law, with a timer.
pub struct Timed<L> {
    law: L,
    period: Span,
    next: Time,
    /// Each with the time of its arrival.
    waiting: VecDeque<(Time, Packet)>,
}

impl<L: Law> QueueDiscipline for Timed<L> {
    fn enqueue(&mut self, now: Time, mut packet: Packet, cx: &mut QueueCx<'_>) {
        self.on_timer(now, cx);
        match self.law.admit(now, &mut packet, &self.backlog(), cx) {
            Verdict::Accept => self.waiting.push_back((now, packet)),
            Verdict::Drop(reason) => cx.drop(packet, reason),
        }
    }

    fn dequeue(&mut self, now: Time, cx: &mut QueueCx<'_>) -> Option<Packet> {
        self.on_timer(now, cx);
        self.waiting.pop_front().map(|(_, packet)| packet)
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.next)
    }

    fn on_timer(&mut self, now: Time, cx: &mut QueueCx<'_>) {
        while self.next <= now {
            let oldest = self.waiting.front().map_or(Span::ZERO, |(arrived, _)| self.next.since(*arrived));
            self.law.look(&Sight { waiting: self.backlog(), oldest, rate: cx.rate });
            self.next += self.period;
        }
    }

    fn on_rate(&mut self, _: Time, _: BitRate, cx: &mut QueueCx<'_>) {
        self.law.knows(cx.rate);
    }

    fn backlog(&self) -> Backlog {
        let bytes = self.waiting.iter().map(|(_, packet)| packet.size().get()).sum();
        Backlog { packets: self.waiting.len() as u32, bytes: Bytes::new(bytes) }
    }
}

/// Which is compared, as a scenario writes it.
pub const LAWS: [&str; 4] = [
    r#"{"name":"pie","target":"2.0317 ms","period":"1.7 ms","burst":"3 ms","alpha":4.1,"beta":41.3,"ecn":true}"#,
    r#"{"name":"pi","target":"2.2817 packets","a":0.0213,"b":0.0187,"frequency":300}"#,
    r#"{"name":"rem","target":"2.2817 packets","gamma":0.053,"alpha":0.21,"phi":1.21,"period":"1.3 ms"}"#,
    // By time.
    r#"{"name":"pie","target":"2.0317 ms","period":"1.7 ms","burst":"3 ms","alpha":4.1,"beta":41.3,"ecn":true}"#,
];
pub const BY_TIME: usize = 3;

/// What becomes of the arrivals by the discipline as written first, which knows the line's rate or not.
fn ours(
    written: &str,
    which: usize,
    capacity: Capacity,
    jobs: &[Job],
    rate: &dyn Fn(Time) -> BitRate,
) -> Outcome {
    let built = common::config(written).build(&common::link(capacity));
    let mut queue = if which == BY_TIME { built.into_timed() } else { built.into_discipline() };
    serve_at(&mut queue, jobs, 1, rate)
}

fn with<L: Law + Send + 'static>(law: L, period: Span) -> Discipline {
    let next = Time::ZERO + period;
    Discipline::Custom(Box::new(Timed { law, period, next, waiting: VecDeque::new() }))
}

/// The same with a timer, behind a line of this rate.
pub fn timed(which: usize, capacity: Capacity, rate: BitRate) -> Discipline {
    // Their own samplers never look.
    let (limit, never) = (Limit::new(capacity), Sampler::new(Span::MAX));
    let pie = arrivals::Pie {
        target: Span::from_nanos(2_031_700).as_secs_f64(),
        period: 0.0017,
        alpha: 4.1,
        beta: 41.3,
        max_burst: 0.003,
        ecn: true,
        mark_limit: 0.1,
        ..arrivals::Pie::new(Span::MAX, capacity, rate)
    };
    let pi = arrivals::Pi {
        gains: (0.0213, 0.0187),
        target: 2.2817,
        ecn: false,
        limit,
        sampler: never,
        before: 0.0,
        probability: 0.0,
    };
    let rem = arrivals::Rem {
        target: 2.2817,
        gamma: 0.053,
        alpha: 0.21,
        phi: 1.21,
        period: 0.0013,
        ecn: false,
        limit,
        sampler: never,
        arrived: 0.0,
        price: 0.0,
    };
    match which {
        0 => with(pie.starting(), Span::from_micros(1700)),
        1 => with(pi, Span::from_secs_f64(1.0 / 300.0)),
        2 => with(rem, Span::from_micros(1300)),
        _ => with(ByTime(pie.starting()), Span::from_micros(1700)),
    }
}

/// No timer counts days.
pub fn without_long_pauses(jobs: Vec<Job>) -> Vec<Job> {
    let (mut before, mut left_out) = (Time::ZERO, Span::ZERO);
    let shortened = jobs.into_iter().map(|job| {
        let gap = job.at.since(before);
        before = job.at;
        left_out += gap.saturating_sub(Span::from_secs(4));
        Job { at: job.at - left_out, ..job }
    });
    shortened.collect()
}

/// A shaper, and flow 1 in a class of half the rate, both under the law: written, and anew. Rates of a power of two of bytes per
/// nanosecond: in real numbers, too, tokens are whole. `line` is the line's rate at first.
pub fn shaper(which: usize, capacity: Capacity, line: BitRate) -> (String, lines::Shaper) {
    let law = LAWS[which];
    let written = format!(
        r#"{{"name":"token-bucket","rate":"3906250 bit/s","burst":"3 kB","queue":{law},
            "classes":[{{"flows":[1],"rate":"1953125 bit/s","burst":"2 kB","queue":{law}}}]}}"#
    );
    let class = |rate, burst: Option<u64>| {
        let rate = BitRate::from_bits_per_sec(rate);
        lines::Class {
            bucket: burst.map(|burst| lines::Bucket::new(rate, burst)),
            rate,
            had: lines::Had::nothing(line.min(BitRate::from_bits_per_sec(3_906_250))),
            queue: timed(which, capacity, line.min(rate)),
            head: None,
            // Before any of them was served the line is as idle as it is to all.
            away: None,
        }
    };
    let anew = lines::Shaper {
        common: lines::Bucket::new(BitRate::from_bits_per_sec(3_906_250), 3000),
        classes: vec![class(1_953_125, Some(2000)), class(3_906_250, None)],
        class: |flow| usize::from(flow != 1),
        last: 0,
        again: None,
        rate: BitRate::from_bits_per_sec(3_906_250),
    };
    (written, anew)
}

proptest! {
    #![proptest_config(common::cases(200))]

    /// A lane that waits while others are served drains not at all, and then all at once.
    #[test]
    fn in_lanes(jobs in wild(3, 150), capacity in capacities(), which in 0..LAWS.len(), over_a_shaper: bool) {
        let jobs = without_long_pauses(jobs);
        let (mut inner, mut queue) = (LAWS[which].to_owned(), timed(which, capacity, RATE));
        if over_a_shaper {
            let (written, anew) = shaper(which, capacity, RATE);
            (inner, queue) = (written, Discipline::Custom(Box::new(anew)));
        }
        let written = format!(
            r#"{{"name":"priority","lanes":[{{}},{{"queue":{inner}}}],
                "classes":[{{"flows":[0],"lane":0}},{{"flows":[1,2],"lane":1}}]}}"#
        );
        let ours = ours(&written, which, capacity, &jobs, &|_| RATE);
        let first = BuildCx { rate: RATE, ..common::link(capacity) };
        let mut anew = lines::Priority {
            lanes: vec![common::config(r#"{"name":"drop-tail"}"#).build(&first).into_discipline(), queue],
            class: |flow| Some(usize::from(flow != 0)),
            capacities: vec![capacity; 2],
            away: vec![Some(Time::ZERO); 2],
            had: vec![lines::Had::nothing(RATE), lines::Had::nothing(RATE)],
        };
        let anew = serve_at(&mut anew, &jobs, 1, &|_| RATE);
        prop_assert_eq!(difference(&ours, &anew), None);
    }

    /// Under a shaper packets leave as tokens come, and in turns with others.
    #[test]
    fn under_a_shaper(jobs in wild(3, 150), capacity in capacities(), which in 0..LAWS.len()) {
        let jobs = without_long_pauses(jobs);
        let (written, mut anew) = shaper(which, capacity, RATE);
        let ours = ours(&written, which, capacity, &jobs, &|_| RATE);
        let anew = serve_at(&mut anew, &jobs, 1, &|_| RATE);
        prop_assert_eq!(difference(&ours, &anew), None);
    }

    /// A line whose rate nobody knows beforehand: it has another at every step, and stands still in some.
    #[test]
    fn by_time(
        jobs in wild(3, 200), capacity in capacities(), step in 1_000_000_u64..80_000_000,
        rates in prop::collection::vec(prop_oneof![1 => Just(0_u64), 4 => 100_000..30_000_000_u64], 1..12), first in 100_000..30_000_000_u64,
        ecn: bool, derandomize: bool, burst in prop_oneof![Just(0_u64), Just(3), Just(150)],
        period in prop_oneof![Just(1_000_u64), Just(1_700), Just(15_000)],
        gain in prop_oneof![Just(1.0), Just(40.0), Just(3000.0)],
    ) {
        let jobs = without_long_pauses(jobs);
        let (alpha, beta) = (0.125 * gain, 1.25 * gain);
        let written = format!(r#"{{"name":"pie","target":"2.0317 ms","period":"{period} us","alpha":{alpha},"beta":{beta},
            "burst":"{burst} ms","ecn":{ecn},"derandomize":{derandomize},"mark_limit":0.3}}"#);
        let rate = |now: Time| {
            let at = (now.as_nanos() / step) as usize % (rates.len() + 1);
            BitRate::from_bits_per_sec(at.checked_sub(1).map_or(first, |at| rates[at]))
        };
        let ours = ours(&written, BY_TIME, capacity, &jobs, &rate);
        let anew = arrivals::Pie {
            target: Span::from_nanos(2_031_700).as_secs_f64(), period: Span::from_micros(period).as_secs_f64(), alpha, beta,
            max_burst: burst as f64 * 1e-3, derandomize, ecn, mark_limit: 0.3,
            ..arrivals::Pie::new(Span::MAX, capacity, RATE)
        };
        let mut anew = with(ByTime(anew.starting()), Span::from_micros(period));
        let anew = serve_at(&mut anew, &jobs, 1, &rate);
        prop_assert_eq!(difference(&ours, &anew), None);
    }
}
