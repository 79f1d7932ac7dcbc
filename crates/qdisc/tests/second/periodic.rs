//! PIE, PI and REM in lanes and under shapers, each with a timer for every look at its queue, which sees what waits then. Then
//! both writings, compared. The laws themselves are those of `arrivals`, the lanes and shapers those of `lines`.

use std::collections::VecDeque;

use proptest::prelude::*;
use tailback_core::{
    ArrivalPolicy, Backlog, BitRate, Bytes, Capacity, Packet, QueueCx, QueueDiscipline, Span, Time, Verdict,
};
use tailback_qdisc::{BuildCx, Discipline, Limit, sampled::Sampler};

use super::{arrivals, difference, lines, ours};
use crate::common::wild::{Rates, capacities, wild};
use crate::common::{self, Job, RATE, serve_at};

/// A law that is told what waits whenever a period is over.
trait Law: ArrivalPolicy {
    fn look(&mut self, waiting: &Backlog, rate: BitRate);
}

impl Law for arrivals::Pie {
    fn look(&mut self, waiting: &Backlog, rate: BitRate) {
        self.update(waiting.bytes.as_f64() / rate.bytes_per_sec());
    }
}

impl Law for arrivals::Pi {
    fn look(&mut self, waiting: &Backlog, _: BitRate) {
        self.update(f64::from(waiting.packets));
    }
}

impl Law for arrivals::Rem {
    fn look(&mut self, waiting: &Backlog, rate: BitRate) {
        let could = self.could(rate);
        self.update(f64::from(waiting.packets), could);
    }
}

/// A first-in first-out queue under a law, with a timer.
struct Timed<L> {
    law: L,
    period: Span,
    next: Time,
    waiting: VecDeque<Packet>,
}

impl<L: Law> QueueDiscipline for Timed<L> {
    fn enqueue(&mut self, now: Time, mut packet: Packet, cx: &mut QueueCx<'_>) {
        self.on_timer(now, cx);
        match self.law.admit(now, &mut packet, &self.backlog(), cx) {
            Verdict::Accept => self.waiting.push_back(packet),
            Verdict::Drop(reason) => cx.drop(packet, reason),
        }
    }

    fn dequeue(&mut self, now: Time, cx: &mut QueueCx<'_>) -> Option<Packet> {
        self.on_timer(now, cx);
        self.waiting.pop_front()
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.next)
    }

    fn on_timer(&mut self, now: Time, cx: &mut QueueCx<'_>) {
        while self.next <= now {
            self.law.look(&self.backlog(), cx.rate);
            self.next += self.period;
        }
    }

    fn backlog(&self) -> Backlog {
        let bytes = self.waiting.iter().map(|packet| packet.size().get()).sum();
        Backlog { packets: self.waiting.len() as u32, bytes: Bytes::new(bytes) }
    }
}

/// Which is compared, as a scenario writes it.
const LAWS: [&str; 3] = [
    r#"{"name":"pie","target":"2.0317 ms","period":"1.7 ms","burst":"3 ms","alpha":4.1,"beta":41.3,"ecn":true}"#,
    r#"{"name":"pi","target":"2.2817 packets","a":0.0213,"b":0.0187,"frequency":300}"#,
    r#"{"name":"rem","target":"2.2817 packets","gamma":0.053,"alpha":0.21,"phi":1.21,"period":"1.3 ms"}"#,
];

/// The same with a timer, behind a line of this rate.
fn timed(which: usize, capacity: Capacity, rate: BitRate) -> Discipline {
    fn with<L: Law + Send + 'static>(law: L, period: Span) -> Discipline {
        let next = Time::ZERO + period;
        Discipline::Custom(Box::new(Timed { law, period, next, waiting: VecDeque::new() }))
    }
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
        _ => with(rem, Span::from_micros(1300)),
    }
}

/// No timer counts days.
fn without_long_pauses(jobs: Vec<Job>) -> Vec<Job> {
    let (mut before, mut left_out) = (Time::ZERO, Span::ZERO);
    let shortened = jobs.into_iter().map(|job| {
        let gap = job.at.since(before);
        before = job.at;
        left_out += gap.saturating_sub(Span::from_secs(4));
        Job { at: job.at - left_out, ..job }
    });
    shortened.collect()
}

const CONSTANT: Rates = Rates { first: 8_000_000, second: 8_000_000, period: u64::MAX };

/// A shaper, and flow 1 in a class of half the rate, both under the law: written, and anew. Rates of a power of two of bytes per
/// nanosecond: in real numbers, too, tokens are whole.
fn shaper(which: usize, capacity: Capacity) -> (String, lines::Shaper) {
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
            had: lines::Had::nothing(BitRate::from_bits_per_sec(3_906_250)),
            queue: timed(which, capacity, rate),
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
            let (written, anew) = shaper(which, capacity);
            (inner, queue) = (written, Discipline::Custom(Box::new(anew)));
        }
        let written = format!(
            r#"{{"name":"priority","lanes":[{{}},{{"queue":{inner}}}],
                "classes":[{{"flows":[0],"lane":0}},{{"flows":[1,2],"lane":1}}]}}"#
        );
        let ours = ours(&written, capacity, &jobs, CONSTANT);
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
        let (written, mut anew) = shaper(which, capacity);
        let ours = ours(&written, capacity, &jobs, CONSTANT);
        let anew = serve_at(&mut anew, &jobs, 1, &|_| RATE);
        prop_assert_eq!(difference(&ours, &anew), None);
    }
}
