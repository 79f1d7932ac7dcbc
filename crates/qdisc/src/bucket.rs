//! Token buckets: a shaper that holds packets back until they conform to a rate, alone or with a bucket for each of
//! several classes under it, and a policer that drops what does not conform. The queues in a shaper are any other
//! discipline, to which the line is as fast as their own tokens come, and as their part of the common ones (`turns.rs`).

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{
    ArrivalPolicy, Backlog, BitRate, Bytes, Checker, DropReason, Packet, QueueCx, QueueDiscipline, Span,
    Time, Verdict,
};

use crate::builtin::Discipline;
use crate::config::Config;
use crate::fair::shares::{FlowMap, check_members};
use crate::known::NamedFlow;
use crate::limit::Limit;
use crate::parts::{BuildCx, FlowLists, Info, QueueConfig, QueuesWithin, Within, numbered};
use crate::rate::at_rate;
use crate::turns::Turns;

/// A token bucket shaper: packets wait until the bucket holds tokens for them. With classes, each has a queue and a
/// bucket of its own under the common one, and a packet needs tokens of both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TokenBucketConfig {
    /// The rate of tokens, at most the link's to have an effect. Default: the link's rate.
    pub rate: Option<BitRate>,
    /// The bucket's depth: how much may pass at the link's rate. A larger packet passes when the bucket is full.
    /// Default 15 kB.
    pub burst: Bytes,
    /// The queue of waiting packets; one more waits at its head. Default drop-tail.
    pub queue: Box<Config>,
    /// Classes with a bucket of their own under the common one. Flows named nowhere need only the common bucket.
    pub classes: Vec<BucketClassConfig>,
}

/// A class of flows with a token bucket of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BucketClassConfig {
    /// The flows, by the names of groups or flows, or by numbers counted from 0 over all groups in their order.
    pub flows: Vec<NamedFlow>,
    /// The rate of tokens. Default 1 Mbit/s.
    pub rate: BitRate,
    /// The bucket's depth. Default 15 kB.
    pub burst: Bytes,
    /// The queue of waiting packets. Default drop-tail.
    pub queue: Box<Config>,
}

/// A policer: packets that find no tokens are dropped, all others pass into a first-in first-out queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PolicerConfig {
    /// The rate of tokens. Default 1 Mbit/s.
    pub rate: BitRate,
    /// The bucket's depth. A larger packet passes when the bucket is full, and leaves a debt. Default 15 kB.
    pub burst: Bytes,
}

const BURST: Bytes = Bytes::new(15_000);
const RATE: BitRate = BitRate::from_bits_per_sec(1_000_000);

impl Default for TokenBucketConfig {
    fn default() -> Self {
        Self { rate: None, burst: BURST, queue: Box::default(), classes: Vec::new() }
    }
}

impl Default for BucketClassConfig {
    fn default() -> Self {
        Self { flows: Vec::new(), rate: RATE, burst: BURST, queue: Box::default() }
    }
}

impl Default for PolicerConfig {
    fn default() -> Self {
        Self { rate: RATE, burst: BURST }
    }
}

fn check_bucket(rate: BitRate, burst: Bytes, checker: &mut Checker) {
    checker.require(rate > BitRate::ZERO, "rate", rate, "a rate above zero");
    checker.require(burst > Bytes::ZERO, "burst", burst, "an amount above zero");
}

impl TokenBucketConfig {
    /// Complains about every parameter that makes no sense.
    pub fn check(&self, checker: &mut Checker) {
        check_bucket(self.rate.unwrap_or(RATE), self.burst, checker);
        checker.within("queue", |checker| self.queue.check(checker));
        let mut named = BTreeSet::new();
        for (index, class) in self.classes.iter().enumerate() {
            checker.within(format!("classes[{index}]"), |checker| {
                check_bucket(class.rate, class.burst, checker);
                check_members(&class.flows, &mut named, checker);
                checker.within("queue", |checker| class.queue.check(checker));
            });
        }
    }
}

impl QueueConfig for TokenBucketConfig {
    type Queue = Box<TokenBucket>;

    fn info(&self) -> &'static Info {
        &Info {
            name: "token-bucket",
            family: "shaper",
            summary: "Holds packets back until a token bucket allows them, alone or over classes with buckets of their own",
            source: "Turner, New Directions in Communications, 1986",
        }
    }

    fn check(&self, checker: &mut Checker) {
        Self::check(self, checker);
    }

    fn build(&self, cx: &BuildCx) -> Self::Queue {
        Box::new(TokenBucket::new(self, cx))
    }

    fn flow_lists(&self) -> FlowLists<'_> {
        numbered("classes", self.classes.iter().map(|class| &class.flows))
    }

    fn queues_within(&self) -> QueuesWithin<'_> {
        let classes = self.classes.iter().enumerate();
        let classes = classes.map(|(index, class)| (format!("classes[{index}].queue"), &class.queue));
        let all = std::iter::once(("queue".to_owned(), &self.queue)).chain(classes);
        all.map(|(field, queue)| (field, &**queue as &dyn Within)).collect()
    }
}

impl PolicerConfig {
    /// Complains about every parameter that makes no sense.
    pub fn check(&self, checker: &mut Checker) {
        check_bucket(self.rate, self.burst, checker);
    }
}

impl QueueConfig for PolicerConfig {
    type Queue = Policer;

    fn info(&self) -> &'static Info {
        &Info {
            name: "policer",
            family: "shaper",
            summary: "Drops packets that exceed a token bucket",
            source: "RFC 2697 §3, with one bucket",
        }
    }

    fn check(&self, checker: &mut Checker) {
        Self::check(self, checker);
    }

    fn build(&self, cx: &BuildCx) -> Self::Queue {
        Policer::new(self, cx)
    }
}

/// Tokens in bytes, which arrive evenly.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    /// Bytes per nanosecond.
    rate: f64,
    depth: f64,
    tokens: f64,
    updated: Time,
}

/// Tokens come as reals; a shortage below this is rounding.
const ROUNDING: f64 = 1e-6;

impl Bucket {
    /// A full bucket.
    pub fn new(rate: BitRate, depth: Bytes) -> Self {
        let depth = depth.as_f64();
        Self { rate: rate.bytes_per_sec() * 1e-9, depth, tokens: depth, updated: Time::ZERO }
    }

    /// Lets tokens arrive until `now`.
    #[inline]
    pub fn refill(&mut self, now: Time) {
        let passed = now.since(self.updated).as_nanos() as f64;
        self.tokens = (self.tokens + passed * self.rate).min(self.depth);
        self.updated = now;
    }

    /// The tokens in bytes at `now`, not before the last refill.
    pub fn tokens_at(&self, now: Time) -> f64 {
        let mut present = *self;
        present.refill(now);
        present.tokens
    }

    /// How many tokens a packet must find: its size, or a full bucket if that is less.
    fn needed(&self, size: Bytes) -> f64 {
        size.as_f64().min(self.depth)
    }

    /// Whether a packet may pass.
    #[inline]
    pub fn allows(&self, size: Bytes) -> bool {
        self.tokens + ROUNDING >= self.needed(size)
    }

    /// Takes a packet's tokens; a packet larger than the bucket leaves a debt.
    #[inline]
    pub fn take(&mut self, size: Bytes) {
        self.tokens -= size.as_f64();
    }

    /// When a packet may pass, as of the last refill.
    pub fn ready(&self, size: Bytes) -> Time {
        let missing = (self.needed(size) - self.tokens).max(0.0);
        if missing <= ROUNDING {
            return self.updated;
        }
        self.updated + Span::from_nanos((missing / self.rate).ceil() as u64)
    }
}

/// A queue under a shaper, whose next packet has been taken out to see its size.
#[derive(Debug)]
struct Shaped {
    bucket: Option<Bucket>,
    /// The lesser of its own rate of tokens and the common one.
    rate: BitRate,
    queue: Discipline,
    staged: Option<Packet>,
}

impl Shaped {
    fn new(bucket: Option<Bucket>, rate: BitRate, queue: &Config, cx: &BuildCx) -> Self {
        let inside = BuildCx { rate: rate.min(cx.rate), ..cx.clone() };
        Self { bucket, rate, queue: queue.build(&inside).into_attended(), staged: None }
    }

    /// Asks the queue inside, to which the line is as fast as its own tokens and its part of the common ones let it be: what
    /// takes a delay for a backlog over the rate, or a part of the rate for its capacity, would act far too late at the link's.
    fn ask<T>(
        &mut self,
        part: BitRate,
        cx: &mut QueueCx<'_>,
        act: impl FnOnce(&mut Discipline, &mut QueueCx<'_>) -> T,
    ) -> T {
        at_rate(part.min(self.rate), cx, |cx| act(&mut self.queue, cx))
    }

    /// The size of the next packet, if its own bucket lets it pass: then it is this queue's turn.
    fn may_pass(&mut self, now: Time) -> Option<Bytes> {
        let size = self.staged?.size();
        if let Some(bucket) = &mut self.bucket {
            bucket.refill(now);
        }
        self.bucket.is_none_or(|bucket| bucket.allows(size)).then_some(size)
    }

    fn has_packets(&self) -> bool {
        self.staged.is_some() || self.queue.backlog().packets > 0
    }

    /// Whether the next packet was found to lack none of its own tokens.
    fn waits_for_common(&self) -> bool {
        self.staged.is_some_and(|packet| self.bucket.is_none_or(|bucket| bucket.allows(packet.size())))
    }

    fn next_ready(&self, now: Time, common: &Bucket) -> Option<Time> {
        let Some(packet) = &self.staged else { return self.queue.next_ready(now) };
        let own = self.bucket.map_or(Time::ZERO, |bucket| bucket.ready(packet.size()));
        Some(own.max(common.ready(packet.size())))
    }
}

/// The shaper: the common bucket, and the queues under it, served in turn. The last is for flows without a class.
///
/// A queue keeps its turn while its packet waits for common tokens alone: were it passed over, small packets of others would
/// take every token as it comes, and a large one wait for ever.
#[derive(Debug)]
pub struct TokenBucket {
    /// The common rate of tokens.
    rate: BitRate,
    bucket: Bucket,
    queues: Vec<Shaped>,
    class_of: FlowMap<u32>,
    served: usize,
    turns: Turns,
}

impl TokenBucket {
    /// A shaper for the link that `cx` describes.
    pub fn new(config: &TokenBucketConfig, cx: &BuildCx) -> Self {
        let classes = config.classes.iter();
        let rate = config.rate.unwrap_or(cx.rate);
        let mut queues: Vec<Shaped> = classes
            .clone()
            .map(|class| {
                let bucket = Bucket::new(class.rate, class.burst);
                Shaped::new(Some(bucket), class.rate.min(rate), &class.queue, cx)
            })
            .collect();
        queues.push(Shaped::new(None, rate, &config.queue, cx));
        let class_of = classes
            .enumerate()
            .flat_map(|(index, class)| cx.flows.numbers(&class.flows).map(move |flow| (flow, index as u32)))
            .collect();
        let turns = Turns::new(queues.iter().map(|shaped| shaped.queue.asks_the_rate()), cx.rate.min(rate));
        Self { rate, bucket: Bucket::new(rate, config.burst), queues, class_of, served: 0, turns }
    }

    pub(crate) fn measure_time(&mut self) {
        self.queues.iter_mut().for_each(|shaped| shaped.queue.measure_time());
    }

    /// Takes a queue's next packet out, if it is not.
    fn stage(&mut self, index: usize, now: Time, cx: &mut QueueCx<'_>) {
        let shaped = &mut self.queues[index];
        if shaped.staged.is_none() {
            shaped.staged = shaped.ask(self.turns.rate(index), cx, |queue, cx| queue.dequeue(now, cx));
            self.turns.asked(index, cx.rate.min(self.rate));
        }
    }
}

impl QueueDiscipline for TokenBucket {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut QueueCx<'_>) {
        let last = self.queues.len() - 1;
        let class = self.class_of.get(&packet.flow.0).map_or(last, |class| *class as usize);
        let shaped = &mut self.queues[class];
        let idle_since = cx.idle_since;
        if shaped.staged.is_some() {
            // To the queue inside, the packet at its head stands for the one in transmission.
            cx.idle_since = None;
        } else if self.turns.has_passed(class) && shaped.queue.backlog().packets == 0 {
            // Nor are packets of others its own.
            cx.idle_since = Some(self.turns.done(class));
        }
        shaped.ask(self.turns.rate(class), cx, |queue, cx| queue.enqueue(now, packet, cx));
        cx.idle_since = idle_since;
    }

    fn dequeue(&mut self, now: Time, cx: &mut QueueCx<'_>) -> Option<Packet> {
        self.bucket.refill(now);
        let count = self.queues.len();
        for step in 1..=count {
            let index = (self.served + step) % count;
            self.stage(index, now, cx);
            let shaped = &mut self.queues[index];
            let Some(size) = shaped.may_pass(now) else { continue };
            if !self.bucket.allows(size) {
                return None;
            }
            self.served = index;
            self.bucket.take(size);
            if let Some(bucket) = &mut shaped.bucket {
                bucket.take(size);
            }
            let packet = shaped.staged.take();
            self.turns.served(index, size, now, cx.idle_since, |queue| self.queues[queue].has_packets());
            return packet;
        }
        None
    }

    fn next_ready(&self, now: Time) -> Option<Time> {
        let mut earliest: Option<Time> = None;
        let count = self.queues.len();
        for shaped in (1..=count).map(|step| &self.queues[(self.served + step) % count]) {
            let ready = shaped.next_ready(now, &self.bucket);
            earliest = [earliest, ready].into_iter().flatten().min();
            if shaped.waits_for_common() {
                // Nobody behind it is served before.
                break;
            }
        }
        earliest
    }

    fn next_timer(&self) -> Option<Time> {
        self.queues.iter().filter_map(|shaped| shaped.queue.next_timer()).min()
    }

    fn on_timer(&mut self, now: Time, cx: &mut QueueCx<'_>) {
        for (index, shaped) in self.queues.iter_mut().enumerate() {
            if shaped.queue.next_timer().is_some_and(|due| due <= now) {
                shaped.ask(self.turns.rate(index), cx, |queue, cx| queue.on_timer(now, cx));
            }
        }
    }

    fn on_rate(&mut self, now: Time, rate: BitRate, cx: &mut QueueCx<'_>) {
        for (index, shaped) in self.queues.iter_mut().enumerate() {
            let before = self.turns.rate(index);
            self.turns.asked(index, rate.min(self.rate));
            let rate = self.turns.rate(index).min(shaped.rate);
            shaped.ask(before, cx, |queue, cx| queue.on_rate(now, rate, cx));
        }
    }

    fn backlog(&self) -> Backlog {
        let mut sum = Backlog::default();
        for shaped in &self.queues {
            let backlog = shaped.queue.backlog();
            let staged = shaped.staged.map_or(Bytes::ZERO, |packet| packet.size());
            sum.packets += backlog.packets + u32::from(shaped.staged.is_some());
            sum.bytes += backlog.bytes + staged;
        }
        sum
    }

    fn observe(&self, now: Time, note: &mut dyn FnMut(&'static str, f64)) {
        note("tokens_bytes", self.bucket.tokens_at(now));
        // And that of the queue inside, for flows without a class.
        if let Some(shaped) = self.queues.last() {
            shaped.queue.observe(now, note);
        }
    }
}

/// The policer, before a first-in first-out queue of the link's buffer.
#[derive(Clone, Copy, Debug)]
pub struct Policer {
    limit: Limit,
    bucket: Bucket,
}

impl Policer {
    /// A policer for the link that `cx` describes.
    pub fn new(config: &PolicerConfig, cx: &BuildCx) -> Self {
        Self { limit: Limit::new(cx.capacity), bucket: Bucket::new(config.rate, config.burst) }
    }
}

impl ArrivalPolicy for Policer {
    fn admit(&mut self, now: Time, packet: &mut Packet, backlog: &Backlog, cx: &mut QueueCx<'_>) -> Verdict {
        self.bucket.refill(now);
        if !self.bucket.allows(packet.size()) {
            return Verdict::Drop(DropReason::Early);
        }
        if !self.limit.admits(packet, backlog, cx.idle_since.is_some()) {
            return Verdict::Drop(DropReason::Overflow);
        }
        self.bucket.take(packet.size());
        Verdict::Accept
    }

    fn observe(&self, now: Time, note: &mut dyn FnMut(&'static str, f64)) {
        note("tokens_bytes", self.bucket.tokens_at(now));
    }
}
