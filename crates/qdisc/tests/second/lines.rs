//! What is made of one first-in first-out line or of several queues of any kind, written anew: drop-tail, drop-head (Lakshman,
//! Neidhardt and Ott 1996), random drop (Mankin 1990), strict priority, and a token bucket shaper over queues with buckets of
//! their own. The queues within lanes and shapers are the library's. Then both writings, compared.

use std::collections::VecDeque;

use proptest::prelude::*;
use tailback_core::{
    Backlog, BitRate, Bytes, Capacity, DropReason, Lane, Packet, QueueCx, QueueDiscipline, Span, Time,
};
use tailback_qdisc::{BuildCx, Discipline};

use super::{difference, ours};
use crate::common::wild::{Rates, capacities, rates, wild};
use crate::common::{self, Job, config, serve_at};

/// Who goes where there is no room.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goes {
    Arriving,
    Oldest,
    Any,
}

/// One line.
pub struct Line {
    pub goes: Goes,
    pub capacity: Capacity,
    pub waiting: VecDeque<Packet>,
}

impl Line {
    fn holds(&self, packets: usize, bytes: u64) -> bool {
        match self.capacity {
            Capacity::Packets(most) => packets <= most as usize,
            Capacity::Bytes(most) => bytes <= most.get(),
            _ => true,
        }
    }

    fn bytes(&self) -> u64 {
        self.waiting.iter().map(|packet| packet.size().get()).sum()
    }
}

impl QueueDiscipline for Line {
    fn enqueue(&mut self, _: Time, packet: Packet, cx: &mut QueueCx<'_>) {
        let size = packet.size().get();
        let goes_at_once = cx.idle_since.is_some() && self.waiting.is_empty();
        let has_room = goes_at_once || self.holds(self.waiting.len() + 1, self.bytes() + size);
        let ever = self.holds(1, size);
        if !has_room && (self.goes == Goes::Arriving || !ever) {
            return cx.drop(packet, DropReason::Overflow);
        }
        self.waiting.push_back(packet);
        while !has_room && !self.holds(self.waiting.len(), self.bytes()) {
            let at =
                if self.goes == Goes::Any { cx.rng.below(self.waiting.len() as u64) as usize } else { 0 };
            cx.drop(self.waiting.remove(at).unwrap(), DropReason::Overflow);
        }
    }

    fn dequeue(&mut self, _: Time, _: &mut QueueCx<'_>) -> Option<Packet> {
        self.waiting.pop_front()
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.waiting.len() as u32, bytes: Bytes::new(self.bytes()) }
    }
}

fn sum<'a>(queues: impl Iterator<Item = &'a Discipline>) -> Backlog {
    let all: Vec<Backlog> = queues.map(QueueDiscipline::backlog).collect();
    Backlog {
        packets: all.iter().map(|one| one.packets).sum(),
        bytes: Bytes::new(all.iter().map(|one| one.bytes.get()).sum()),
    }
}

/// A lane is served only while all before it are empty, or have nothing for now.
pub struct Priority {
    pub lanes: Vec<Discipline>,
    /// The lane of a flow whatever its packets bear.
    pub class: fn(u32) -> Option<usize>,
    pub capacities: Vec<Capacity>,
    /// For each lane, since when the line has been there for others; nothing for the one that it was there for last.
    pub away: Vec<Option<Time>>,
    pub had: Vec<Had>,
}

/// What a queue had of the line. RFC 8033 §5.2 measures how fast packets leave while enough of them wait, and averages over 2¹⁶
/// bytes: here the measure is what the line carried meanwhile, from each packet that leaves others behind to the next.
///
/// Whoever asks a queue for a packet tells it so, and whoever knows that the line's rate changes; until then it computes with what it
/// was told before.
pub struct Had {
    told: BitRate,
    /// Bytes of its own, and of all.
    pieces: Vec<(f64, f64)>,
    begun: Option<(f64, f64)>,
}

impl Had {
    pub fn nothing(line: BitRate) -> Self {
        Self { told: line, pieces: Vec::new(), begun: None }
    }

    fn tell(&mut self, line: BitRate) {
        self.told = Self::of(line, self.part());
    }

    fn part(&self) -> f64 {
        let (mut weight, mut own, mut all) = (1.0, 0.0, 0.0);
        for (mine, everyones) in self.pieces.iter().rev() {
            own += weight * mine;
            all += weight * everyones;
            weight /= 1.0 + mine / 65_536.0;
        }
        if all > 0.0 { own / all } else { 1.0 }
    }

    /// The line for who has this part of it.
    fn of(line: BitRate, part: f64) -> BitRate {
        if line == BitRate::ZERO || part == 1.0 {
            line
        } else {
            line.mul_f64(part).max(BitRate::from_bits_per_sec(1))
        }
    }

    /// One of them sends so many bytes; `waits` are those that have more.
    fn sends<'a>(all: impl Iterator<Item = &'a mut Self>, one: usize, size: Bytes, waits: &[bool]) {
        let size = size.as_f64();
        for (at, had) in all.enumerate() {
            if at == one {
                had.pieces.extend(had.begun.take());
                had.begun = waits[at].then_some((size, size));
            } else {
                had.begun = had.begun.filter(|_| waits[at]).map(|(own, all)| (own, all + size));
            }
        }
    }
}

/// The line takes a packet of one of them.
fn turns_to(away: &mut [Option<Time>], one: usize, now: Time, idle_since: Option<Time>) {
    for other in away.iter_mut().filter(|other| other.is_none()) {
        *other = Some(idle_since.unwrap_or(now));
    }
    away[one] = None;
}

impl Priority {
    fn with<T>(
        &mut self,
        number: usize,
        cx: &mut QueueCx<'_>,
        act: impl FnOnce(&mut Discipline, &mut QueueCx<'_>) -> T,
    ) -> T {
        let whole = cx.rate;
        cx.rate = self.had[number].told;
        let answer = act(&mut self.lanes[number], cx);
        cx.rate = whole;
        answer
    }
}

impl QueueDiscipline for Priority {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut QueueCx<'_>) {
        let last = self.lanes.len() - 1;
        let lane = (self.class)(packet.flow.0).unwrap_or(usize::from(packet.lane().number())).min(last);
        let idle_since = cx.idle_since;
        let has_room = match self.capacities[lane] {
            Capacity::Packets(most) => most > 0,
            Capacity::Bytes(most) => packet.size() <= most,
            _ => true,
        };
        // What finds its own lane empty and the line at work for another has to wait, unlike what finds the line idle.
        if self.lanes[lane].backlog().packets == 0 && (has_room || idle_since.is_some()) {
            cx.idle_since = self.away[lane].or(idle_since);
        }
        self.with(lane, cx, |lane, cx| lane.enqueue(now, packet, cx));
        cx.idle_since = idle_since;
    }

    fn dequeue(&mut self, now: Time, cx: &mut QueueCx<'_>) -> Option<Packet> {
        for number in 0..self.lanes.len() {
            let packet = self.with(number, cx, |lane, cx| lane.dequeue(now, cx));
            if let Some(packet) = packet {
                turns_to(&mut self.away, number, now, cx.idle_since);
                let waits: Vec<bool> = self.lanes.iter().map(|lane| lane.backlog().packets > 0).collect();
                Had::sends(self.had.iter_mut(), number, packet.size(), &waits);
                self.had[number].tell(cx.rate);
                return Some(packet);
            }
            self.had[number].tell(cx.rate);
        }
        None
    }

    fn next_ready(&self, now: Time) -> Option<Time> {
        self.lanes.iter().filter_map(|lane| lane.next_ready(now)).min()
    }

    fn next_timer(&self) -> Option<Time> {
        self.lanes.iter().filter_map(QueueDiscipline::next_timer).min()
    }

    fn on_timer(&mut self, now: Time, cx: &mut QueueCx<'_>) {
        for number in 0..self.lanes.len() {
            if self.lanes[number].next_timer().is_some_and(|due| due <= now) {
                self.with(number, cx, |lane, cx| lane.on_timer(now, cx));
            }
        }
    }

    fn on_rate(&mut self, now: Time, rate: BitRate, cx: &mut QueueCx<'_>) {
        for number in 0..self.lanes.len() {
            let its = Had::of(rate, self.had[number].part());
            self.with(number, cx, |lane, cx| lane.on_rate(now, its, cx));
            self.had[number].tell(rate);
        }
    }

    fn backlog(&self) -> Backlog {
        sum(self.lanes.iter())
    }
}

/// Whole tokens: bits times 10⁹, so that one nanosecond at one bit per second is one.
pub struct Bucket {
    rate: i128,
    depth: i128,
    tokens: i128,
    at: Time,
}

impl Bucket {
    pub fn new(rate: BitRate, depth: u64) -> Self {
        let depth = Self::cost(depth);
        Self { rate: rate.bits_per_sec().into(), depth, tokens: depth, at: Time::ZERO }
    }

    fn cost(size: u64) -> i128 {
        i128::from(size) * 8_000_000_000
    }

    /// How long until a packet of this size may pass.
    fn missing(&mut self, now: Time, size: u64) -> Span {
        let gap = i128::from(now.since(self.at).as_nanos());
        (self.tokens, self.at) = ((self.tokens + gap * self.rate).min(self.depth), now);
        // What is larger than the bucket passes when that is full, and leaves a debt.
        let short = Self::cost(size).min(self.depth) - self.tokens;
        if short <= 0 { Span::ZERO } else { Span::from_nanos(((short + self.rate - 1) / self.rate) as u64) }
    }
}

/// A queue under a shaper, and the one packet that has been taken out of it.
pub struct Class {
    /// Of its own, beside the common one.
    pub bucket: Option<Bucket>,
    /// What the line can be at most to the queue.
    pub rate: BitRate,
    pub had: Had,
    pub queue: Discipline,
    pub head: Option<Packet>,
    /// Since when the line has been there for others; nothing where it was there for this one last.
    pub away: Option<Time>,
}

impl Class {
    fn with<T>(
        &mut self,
        cx: &mut QueueCx<'_>,
        act: impl FnOnce(&mut Discipline, &mut QueueCx<'_>) -> T,
    ) -> T {
        // A packet that waits for tokens is the one in transmission, as the queue sees it.
        let (line, idle_since) = (cx.rate, cx.idle_since);
        cx.rate = self.had.told.min(self.rate);
        cx.idle_since = match self.head {
            Some(_) => None,
            None if self.queue.backlog().packets == 0 => self.away.or(idle_since),
            None => idle_since,
        };
        let answer = act(&mut self.queue, cx);
        (cx.rate, cx.idle_since) = (line, idle_since);
        answer
    }
}

/// Classes take turns; whose turn it is waits for common tokens, and is passed over only while it has none of its own.
pub struct Shaper {
    pub common: Bucket,
    pub classes: Vec<Class>,
    pub class: fn(u32) -> usize,
    pub last: usize,
    pub again: Option<Time>,
    /// The rate of the common tokens.
    pub rate: BitRate,
}

impl QueueDiscipline for Shaper {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut QueueCx<'_>) {
        let class = &mut self.classes[(self.class)(packet.flow.0)];
        class.with(cx, |queue, cx| queue.enqueue(now, packet, cx));
    }

    fn dequeue(&mut self, now: Time, cx: &mut QueueCx<'_>) -> Option<Packet> {
        let count = self.classes.len();
        self.again = None;
        for at in (1..=count).map(|step| (self.last + step) % count) {
            let class = &mut self.classes[at];
            if class.head.is_none() {
                class.head = class.with(cx, |queue, cx| queue.dequeue(now, cx));
                class.had.tell(cx.rate.min(self.rate));
            }
            let Some(size) = class.head.map(|head| head.size().get()) else {
                let ready = class.queue.next_ready(now);
                self.again = [self.again, ready].into_iter().flatten().min();
                continue;
            };
            let own = class.bucket.as_mut().map_or(Span::ZERO, |bucket| bucket.missing(now, size));
            if own > Span::ZERO {
                self.again = [self.again, Some(now + own)].into_iter().flatten().min();
                continue;
            }
            let common = self.common.missing(now, size);
            if common > Span::ZERO {
                self.again = [self.again, Some(now + common)].into_iter().flatten().min();
                return None;
            }
            self.common.tokens -= Bucket::cost(size);
            if let Some(bucket) = &mut class.bucket {
                bucket.tokens -= Bucket::cost(size);
            }
            self.last = at;
            let packet = class.head.take();
            let mut away: Vec<Option<Time>> = self.classes.iter().map(|class| class.away).collect();
            turns_to(&mut away, at, now, cx.idle_since);
            for (class, away) in self.classes.iter_mut().zip(away) {
                class.away = away;
            }
            let has_more = |class: &Class| class.head.is_some() || class.queue.backlog().packets > 0;
            let waits: Vec<bool> = self.classes.iter().map(has_more).collect();
            Had::sends(self.classes.iter_mut().map(|class| &mut class.had), at, Bytes::new(size), &waits);
            return packet;
        }
        None
    }

    fn next_ready(&self, _: Time) -> Option<Time> {
        self.again
    }

    fn next_timer(&self) -> Option<Time> {
        self.classes.iter().filter_map(|class| class.queue.next_timer()).min()
    }

    fn on_timer(&mut self, now: Time, cx: &mut QueueCx<'_>) {
        for class in &mut self.classes {
            if class.queue.next_timer().is_some_and(|due| due <= now) {
                class.with(cx, |queue, cx| queue.on_timer(now, cx));
            }
        }
    }

    fn on_rate(&mut self, now: Time, rate: BitRate, cx: &mut QueueCx<'_>) {
        for class in &mut self.classes {
            let its = Had::of(rate.min(self.rate), class.had.part()).min(class.rate);
            class.with(cx, |queue, cx| queue.on_rate(now, its, cx));
            class.had.tell(rate.min(self.rate));
        }
    }

    fn backlog(&self) -> Backlog {
        let inside = sum(self.classes.iter().map(|class| &class.queue));
        let heads: Vec<Packet> = self.classes.iter().filter_map(|class| class.head).collect();
        let bytes: u64 = heads.iter().map(|head| head.size().get()).sum();
        Backlog { packets: inside.packets + heads.len() as u32, bytes: inside.bytes + Bytes::new(bytes) }
    }
}

/// Queues inside of others, which act on arrivals, compute with the rate, act at departure, keep timers, let the line idle.
const INNER: [&str; 6] = [
    r#"{"name":"drop-tail"}"#,
    r#"{"name":"red","min":"2 packets","max":"6 packets","weight":0.1,"ecn":true}"#,
    r#"{"name":"codel","target":"1 ms","interval":"5 ms","ecn":true}"#,
    r#"{"name":"dualpi2"}"#,
    r#"{"name":"pie","target":"2 ms","burst":"0 ms","alpha":50,"beta":50}"#,
    r#"{"name":"framed-round-robin","frame":"1 s"}"#,
];

/// The same arrivals in lanes by chance.
fn with_lanes(jobs: Vec<Job>, mut seed: u64) -> Vec<Job> {
    let mut lane = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Lane::new((seed >> 60) as u8 % 4).unwrap_or_default()
    };
    jobs.into_iter().map(|job| Job { lane: lane(), ..job }).collect()
}

proptest! {
    #![proptest_config(common::cases(400))]

    #[test]
    fn lines(jobs in wild(3, 200), capacity in capacities(), rates in rates(), which in 0..3_usize) {
        let (name, goes) = [
            ("drop-tail", Goes::Arriving), ("drop-head", Goes::Oldest), ("random-drop", Goes::Any),
        ][which];
        let ours = ours(&format!(r#"{{"name":"{name}"}}"#), capacity, &jobs, rates);
        let mut anew = Line { goes, capacity, waiting: VecDeque::new() };
        let anew = serve_at(&mut anew, &jobs, 1, &|now| rates.at(now));
        prop_assert_eq!(difference(&ours, &anew), None);
    }

    #[test]
    fn priority(jobs in wild(5, 25), capacity in capacities(), rates in rates(), within in 0..INNER.len(), lanes in any::<u64>()) {
        // Not a thousand bits per second: a packet would take as long as a million periods of a law within.
        let rates = Rates { first: rates.first.max(100_000), ..rates };
        let jobs = with_lanes(jobs, lanes);
        let inner = INNER[within];
        let written = format!(r#"{{"name":"priority","lanes":[{{}},{{"queue":{inner}}},{{"queue":{inner},"buffer":"5 packets"}}],
            "classes":[{{"flows":[0],"lane":2}},{{"flows":[4],"lane":0}}]}}"#);
        let ours = ours(&written, capacity, &jobs, rates);
        let lane = |queue: &str, capacity| {
            let link = BuildCx { rate: rates.at(Time::ZERO), ..common::link(capacity) };
            config(queue).build(&link).into_attended()
        };
        let lanes = vec![lane(r#"{"name":"drop-tail"}"#, capacity), lane(inner, capacity), lane(inner, Capacity::Packets(5))];
        let mut anew = Priority {
            lanes, class: |flow| match flow { 0 => Some(2), 4 => Some(0), _ => None },
            capacities: vec![capacity, capacity, Capacity::Packets(5)], away: vec![Some(Time::ZERO); 3],
            had: (0..3).map(|_| Had::nothing(rates.at(Time::ZERO))).collect(),
        };
        let anew = serve_at(&mut anew, &jobs, 1, &|now| rates.at(now));
        prop_assert_eq!(difference(&ours, &anew), None);
    }

    #[test]
    fn shaper(
        jobs in wild(4, 80), capacity in capacities(), rates in rates(), within in 0..INNER.len(),
        classes: bool, burst in prop_oneof![Just(100_u64), Just(2000), Just(15_000)],
    ) {
        // Rates of a power of two of bytes per nanosecond: in real numbers, too, tokens are whole.
        let [all, one, two] = [7_812_500_u64, 3_906_250, 976_562];
        let inner = INNER[within];
        let more = if classes {
            format!(r#","classes":[{{"flows":[1],"rate":"{one} bit/s","burst":"{burst} B","queue":{inner}}},
                {{"flows":[2],"rate":"{two} bit/s","burst":"3 kB"}}]"#)
        } else { String::new() };
        let written = format!(r#"{{"name":"token-bucket","rate":"{all} bit/s","burst":"{burst} B","queue":{inner}{more}}}"#);
        let ours = ours(&written, capacity, &jobs, rates);
        let class = |rate: u64, burst: Option<u64>, queue: &str| {
            let rate = BitRate::from_bits_per_sec(rate);
            let link = BuildCx { rate: rates.at(Time::ZERO).min(rate), ..common::link(capacity) };
            let queue = config(queue).build(&link).into_attended();
            Class { bucket: burst.map(|burst| Bucket::new(rate, burst)), rate,
                had: Had::nothing(rates.at(Time::ZERO).min(BitRate::from_bits_per_sec(all))), queue, head: None, away: Some(Time::ZERO) }
        };
        let mut all_classes = Vec::new();
        if classes {
            all_classes = vec![class(one, Some(burst), inner), class(two, Some(3000), r#"{"name":"drop-tail"}"#)];
        }
        all_classes.push(class(all, None, inner));
        let mut anew = Shaper {
            rate: BitRate::from_bits_per_sec(all), common: Bucket::new(BitRate::from_bits_per_sec(all), burst), classes: all_classes,
            class: if classes { |flow| match flow { 1 => 0, 2 => 1, _ => 2 } } else { |_| 0 }, last: 0, again: None,
        };
        let anew = serve_at(&mut anew, &jobs, 1, &|now| rates.at(now));
        prop_assert_eq!(difference(&ours, &anew), None);
    }
}
