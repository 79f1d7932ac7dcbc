//! PIE, PI and REM on a line whose rate changes at given times and that may stand still, alone, in lanes and under shapers: each with
//! a timer for every look, which sees what waits and how fast the line is then, beside the library's, which looks back when it is
//! called. The laws and the timers are those of `arrivals` and `periodic`, lanes and shapers those of `lines`, the server is of this
//! file.

use proptest::prelude::*;
use tailback_core::{
    Annexes, BitRate, Capacity, DropReason, Ecn, FlowId, Kind, Packet, QueueCx, QueueDiscipline, Span,
    Stream, Time,
};
use tailback_qdisc::{BuildCx, Discipline};

use super::lines;
use super::periodic::{BY_TIME, LAWS, shaper, timed, without_long_pauses};
use crate::common::wild::{capacities, wild};
use crate::common::{self, Job, RATE};

/// What became of a packet, and when.
#[derive(Debug, PartialEq)]
struct Fate {
    number: u64,
    at: Time,
    /// Its codepoint when it began to leave, or why it was dropped.
    what: Result<Ecn, DropReason>,
}

/// A line with a rate of its own for a while, and another afterwards.
struct Line<'a> {
    queue: &'a mut dyn QueueDiscipline,
    rate: BitRate,
    /// When what it transmits is over.
    busy: Option<Time>,
    idle_since: Option<Time>,
    rng: Stream,
    annexes: Annexes,
    fates: Vec<Fate>,
}

impl Line<'_> {
    fn call<T>(&mut self, now: Time, act: impl FnOnce(&mut dyn QueueDiscipline, &mut QueueCx<'_>) -> T) -> T {
        let mut drops = Vec::new();
        let mut cx = QueueCx {
            rng: &mut self.rng,
            annexes: &mut self.annexes,
            rate: self.rate,
            idle_since: self.idle_since,
            drops: &mut drops,
            marks: 0,
        };
        let answer = act(self.queue, &mut cx);
        let dropped =
            drops.into_iter().map(|(packet, why)| Fate { number: packet.number, at: now, what: Err(why) });
        self.fates.extend(dropped);
        answer
    }

    fn start(&mut self, now: Time) {
        if self.busy.is_some() || self.rate == BitRate::ZERO {
            return;
        }
        if let Some(packet) = self.call(now, |queue, cx| queue.dequeue(now, cx)) {
            self.fates.push(Fate { number: packet.number, at: now, what: Ok(packet.ecn()) });
            (self.busy, self.idle_since) = (Some(now + self.rate.span_of(packet.size())), None);
        } else if self.idle_since.is_none() {
            self.idle_since = Some(now);
        }
    }

    /// When a shaper has something, whoever waits for it.
    fn ready(&self, now: Time) -> Option<Time> {
        let waits = self.queue.backlog().packets > 0;
        let ready = if waits { self.queue.next_ready(now) } else { None };
        assert!(
            !waits || ready.is_some_and(|ready| ready > now),
            "packets wait, but for when? {ready:?} at {now}"
        );
        ready
    }
}

/// Plays the arrivals in, over a line that has this rate first and another one from each step on.
fn served(
    queue: &mut dyn QueueDiscipline,
    jobs: &[Job],
    first: BitRate,
    steps: &[(Time, BitRate)],
) -> Vec<Fate> {
    let mut line = Line {
        queue,
        rate: first,
        busy: None,
        idle_since: Some(Time::ZERO),
        rng: Stream::new(1, "queue"),
        annexes: Annexes::new(),
        fates: Vec::new(),
    };
    let mut now = Time::ZERO;
    let (mut jobs, mut steps) = (jobs.iter().enumerate().peekable(), steps.iter().copied().peekable());
    loop {
        let (step, arrival) = (steps.peek().map(|step| step.0), jobs.peek().map(|(_, job)| job.at));
        // Timers alone do not keep the line going for ever.
        let stands = line.busy.is_some() || line.rate == BitRate::ZERO;
        let ready = if stands { None } else { line.ready(now) };
        let Some(work) = [line.busy, step, arrival, ready].into_iter().flatten().min() else { break };
        let timer = line.queue.next_timer().filter(|timer| *timer <= work);
        now = timer.unwrap_or(work);
        // What is looked at at the instant of a step is of the time before.
        if timer.is_some() && line.busy != Some(now) {
            line.call(now, |queue, cx| queue.on_timer(now, cx));
        } else if line.busy == Some(now) {
            line.busy = None;
        } else if let Some((_, rate)) = steps.next_if(|step| step.0 == now) {
            line.call(now, |queue, cx| queue.on_rate(now, rate, cx));
            line.rate = rate;
        } else if let Some((number, job)) = jobs.next_if(|(_, job)| job.at == now) {
            let mut packet =
                Packet::new(Kind::Data, FlowId(job.flow), number as u64, tailback_core::Bytes::new(job.size));
            packet.set_ecn(job.ecn);
            line.call(now, |queue, cx| queue.enqueue(now, packet, cx));
        }
        line.start(now);
    }
    line.fates
}

/// The first difference of two outcomes.
fn difference(ours: &[Fate], anew: &[Fate]) -> Option<String> {
    let at = (0..ours.len().max(anew.len())).find(|at| ours.get(*at) != anew.get(*at))?;
    Some(format!("{at}: {:?} or {:?}", ours.get(at), anew.get(at)))
}

/// Steps to rates of all sizes, and to none; in the end packets leave.
fn steps() -> impl Strategy<Value = Vec<(Time, BitRate)>> {
    let gap = prop_oneof![1 => 0_u64..3_000_000, 3 => 0_u64..80_000_000, 1 => 0_u64..2_000_000_000];
    let rate = prop_oneof![2 => Just(0_u64), 4 => 100_000_u64..30_000_000, 1 => Just(1_000_000_000)];
    prop::collection::vec((gap, rate), 0..12).prop_map(|steps| {
        let mut at = Time::ZERO;
        let mut steps: Vec<(Time, BitRate)> = steps
            .into_iter()
            .map(|(gap, rate)| {
                at += Span::from_nanos(gap);
                (at, BitRate::from_bits_per_sec(rate))
            })
            .collect();
        steps.push((at + Span::from_millis(50), RATE));
        steps
    })
}

fn ours(written: &str, capacity: Capacity, first: BitRate) -> Discipline {
    common::config(written).build(&BuildCx { rate: first, ..common::link(capacity) }).into_attended()
}

proptest! {
    #![proptest_config(common::cases(400))]

    #[test]
    fn alone(
        jobs in wild(3, 150), capacity in capacities(), which in 0..BY_TIME, steps in steps(), first in 100_000_u64..30_000_000,
    ) {
        let (jobs, first) = (without_long_pauses(jobs), BitRate::from_bits_per_sec(first));
        let ours = served(&mut ours(LAWS[which], capacity, first), &jobs, first, &steps);
        let anew = served(&mut timed(which, capacity, first), &jobs, first, &steps);
        prop_assert_eq!(difference(&ours, &anew), None);
    }

    #[test]
    fn in_lanes(
        jobs in wild(3, 150), capacity in capacities(), which in 0..BY_TIME, steps in steps(), first in 100_000_u64..30_000_000,
        over_a_shaper in prop::bool::weighted(0.1),
    ) {
        let (jobs, first) = (without_long_pauses(jobs), BitRate::from_bits_per_sec(first));
        let (mut inner, mut queue) = (LAWS[which].to_owned(), timed(which, capacity, first));
        if over_a_shaper {
            let (written, anew) = shaper(which, capacity, first);
            (inner, queue) = (written, Discipline::Custom(Box::new(anew)));
        }
        let written = format!(
            r#"{{"name":"priority","lanes":[{{}},{{"queue":{inner}}}],
                "classes":[{{"flows":[0],"lane":0}},{{"flows":[1,2],"lane":1}}]}}"#
        );
        let ours = served(&mut ours(&written, capacity, first), &jobs, first, &steps);
        let mut anew = lines::Priority {
            lanes: vec![self::ours(r#"{"name":"drop-tail"}"#, capacity, first), queue],
            class: |flow| Some(usize::from(flow != 0)),
            capacities: vec![capacity; 2],
            away: vec![Some(Time::ZERO); 2],
            had: vec![lines::Had::nothing(first), lines::Had::nothing(first)],
        };
        let anew = served(&mut anew, &jobs, first, &steps);
        prop_assert_eq!(difference(&ours, &anew), None);
    }
}

proptest! {
    #![proptest_config(common::cases(100))]

    /// What waits for tokens waits on while the line stands still, and leaves behind a slower line as that lets it.
    #[test]
    fn under_a_shaper(
        jobs in wild(3, 150), capacity in capacities(), which in 0..BY_TIME, steps in steps(), first in 100_000_u64..30_000_000,
    ) {
        let (jobs, first) = (without_long_pauses(jobs), BitRate::from_bits_per_sec(first));
        let (written, mut anew) = shaper(which, capacity, first);
        let ours = served(&mut ours(&written, capacity, first), &jobs, first, &steps);
        let anew = served(&mut anew, &jobs, first, &steps);
        prop_assert_eq!(difference(&ours, &anew), None);
    }
}
