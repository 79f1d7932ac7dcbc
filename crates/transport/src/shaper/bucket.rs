//! The token bucket behind a directive's rate, with constant or Poisson arrivals of tokens. It knows no packets, only
//! sizes.
//!
//! Tokens are counted in bits times nanoseconds per second (a byte is 8 · 10⁹ of them), so that a rate in bits per
//! second times a span in nanoseconds is exact and no remainder is lost. Both kinds of arrival integrate the rate
//! over time: constant ones add the integral, Poisson ones a packet's worth whenever the integral has passed an
//! exponentially distributed amount with the mean of one packet. So a rate that changes meanwhile is honoured at
//! once, and the process stays Poisson with the rate of the moment.

use tailback_core::{BitRate, Burst, Span, Stream, Time, Tokens};

const BYTE: u128 = 8_000_000_000;

/// What the integral has to pass before anything was drawn.
const UNDRAWN: u128 = u128::MAX;

/// More Poisson tokens than this, which come at once and find room, are drawn as one number: each by itself would take forever.
const MANY: u128 = 1 << 16;

/// As a real. Nearly always 64 bits are enough, and a conversion of 128 takes ten times as long.
#[inline]
fn real(whole: u128) -> f64 {
    u64::try_from(whole).map_or(whole as f64, |whole| whole as f64)
}

/// When so much is there that is missing now, at a rate in bits per second.
#[inline(always)]
fn wait(now: Time, missing: u128, rate: u64) -> Time {
    if rate == 0 {
        return Time::NEVER;
    }
    // Nearly always 64 bits are enough, and a division of 128 takes several times as long.
    let nanos = match u64::try_from(missing) {
        Ok(missing) => missing.div_ceil(rate).into(),
        Err(_) => missing.div_ceil(rate.into()),
    };
    u64::try_from(nanos.max(1)).map_or(Time::NEVER, |nanos| now + Span::from_nanos(nanos))
}

#[derive(Debug)]
pub(super) struct Bucket {
    tokens: u128,
    /// What the integral of the rate has to pass until the next Poisson token.
    until_next: u128,
    updated: Time,
    /// A packet's bytes: a token's worth, and the least depth.
    packet: u64,
    /// The largest that was to leave at once: so much fits, too, or it would leave for less than its size.
    largest: u64,
    depth: u64,
    /// What waits for more than one Poisson token, in bytes; 0 where nothing does. A packet larger than a token would have less than
    /// its rate if what the last of its tokens brings beyond it were thrown away: of packets of 1.5 tokens, a quarter.
    awaited: u64,
    kind: Tokens,
    /// How much was stored for how long since [`Bucket::stored`] was last asked, in bytes times nanoseconds; of Poisson
    /// tokens only.
    held: f64,
    asked: Time,
}

impl Bucket {
    /// An empty bucket for packets of `packet` bytes.
    pub(super) fn new(now: Time, packet: u64) -> Self {
        Self {
            tokens: 0,
            until_next: UNDRAWN,
            updated: now,
            packet,
            largest: packet,
            depth: packet,
            awaited: 0,
            kind: Tokens::Constant,
            held: 0.0,
            asked: now,
        }
    }

    /// Whether tokens arrive evenly: then how often they are counted does not matter, as long as none overflows.
    #[inline]
    pub(super) fn is_constant(&self) -> bool {
        self.kind == Tokens::Constant
    }

    /// Whether nothing can have come in, or has to go, if rate and depth stay as they are.
    #[inline]
    pub(super) fn is_up_to_date(&self, now: Time) -> bool {
        let full = u128::from(self.depth) * BYTE;
        self.updated == now && self.is_constant() && self.tokens <= full
    }

    /// Sets depth and kind; at least `at_once` packets fit.
    pub(super) fn configure(&mut self, burst: Burst, at_once: u64) {
        self.depth = burst.depth.get().max(at_once * self.packet).max(self.largest);
        self.kind = burst.tokens;
        if self.is_constant() {
            self.awaited = 0;
        }
        self.trim();
    }

    /// Throws away what is above the rim.
    #[inline]
    pub(super) fn trim(&mut self) {
        let full = u128::from(self.depth) * BYTE;
        if self.tokens > full {
            self.tokens = if self.awaited == 0 { full } else { self.tokens.min(self.full_for_awaited(full)) };
        }
    }

    /// A bucket that is full but for the last token of what is awaited.
    #[cold]
    fn full_for_awaited(&self, full: u128) -> u128 {
        full.max(u128::from(self.awaited + self.packet) * BYTE)
    }

    /// Puts in tokens for the first packets.
    pub(super) fn fill(&mut self, now: Time, packets: u64, rng: &mut Stream) {
        self.tokens = u128::from(packets * self.packet) * BYTE;
        self.awaited = 0;
        self.updated = now;
        self.until_next = self.draw(rng);
    }

    fn draw(&self, rng: &mut Stream) -> u128 {
        (rng.exponential() * self.packet as f64 * BYTE as f64) as u128
    }

    /// Takes in what arrived at `rate` since the last call.
    pub(super) fn accrue(&mut self, now: Time, rate: BitRate, rng: &mut Stream) {
        let full = u128::from(self.depth) * BYTE;
        // Twice at the same time, as for a directive and the packet after it: nothing has come in since.
        let is_drawn = (1..UNDRAWN).contains(&self.until_next);
        if now == self.updated && self.tokens <= full && (self.is_constant() || is_drawn) {
            return;
        }
        if self.is_constant()
            && let Some((tokens, _)) = self.count(now, 0, rate.bits_per_sec())
        {
            self.updated = now;
            self.tokens = tokens.into();
            return;
        }
        self.accrue_much(now, rate, rng);
    }

    /// The same with 128 bits, and of Poisson tokens.
    #[inline(never)]
    fn accrue_much(&mut self, now: Time, rate: BitRate, rng: &mut Stream) {
        let full = u128::from(self.depth) * BYTE;
        let rate = u128::from(rate.bits_per_sec());
        let mut work = u128::from(now.since(self.updated).as_nanos()) * rate;
        self.updated = now;
        match self.kind {
            // A nanosecond's worth may stand above the rim: waits are rounded up, and that remainder is not lost.
            Tokens::Constant => self.tokens = self.tokens.saturating_add(work).min(full + rate),
            Tokens::Poisson => {
                if self.until_next == UNDRAWN {
                    self.until_next = self.draw(rng);
                }
                let many = MANY * u128::from(self.packet) * BYTE;
                if work > many && full > many {
                    self.accrue_many(work, rate, rng);
                    return;
                }
                while work >= self.until_next {
                    work -= self.until_next;
                    self.hold(self.until_next, rate);
                    self.until_next = self.draw(rng);
                    let token = u128::from(self.packet) * BYTE;
                    let is_awaited = self.tokens < u128::from(self.awaited) * BYTE;
                    let rim = full.max(self.tokens);
                    self.tokens += token;
                    if self.tokens >= rim && !is_awaited {
                        // Full: what does not fit is discarded, and a process without memory may start afresh. A part of a
                        // token fits: what a smaller packet left must not keep a full one from ever being paid for.
                        self.tokens = rim;
                        self.hold(work, rate);
                        return;
                    }
                }
                self.until_next -= work;
                self.hold(work, rate);
            }
        }
    }

    /// Very many Poisson tokens: their number is nearly normal, with its mean for a variance. Twelve uniform numbers make a normal
    /// one, to within what so many tokens show.
    #[cold]
    fn accrue_many(&mut self, work: u128, rate: u128, rng: &mut Stream) {
        let full = u128::from(self.depth) * BYTE;
        let token = self.packet as f64 * BYTE as f64;
        let mean = real(work) / token;
        let normal = (0..12).map(|_| rng.uniform()).sum::<f64>() - 6.0;
        let come = ((mean + mean.sqrt() * normal) * token) as u128;
        self.hold(work / 2, rate);
        self.tokens = self.tokens.saturating_add(come).min(full);
        self.hold(work - work / 2, rate);
        self.until_next = self.draw(rng);
    }

    /// What is stored stays so for the time in which the rate does this work.
    #[inline]
    fn hold(&mut self, work: u128, rate: u128) {
        if rate > 0 {
            self.held += (real(self.tokens) / BYTE as f64) * (real(work) / real(rate));
        }
    }

    /// The mean of what was stored since this was last asked, in bytes; `None` where no time has passed, or tokens are not
    /// Poisson.
    pub(super) fn stored(&mut self, now: Time) -> Option<f64> {
        let passed = now.since(self.asked);
        if passed.is_zero() || self.kind != Tokens::Poisson {
            return None;
        }
        self.asked = now;
        Some(std::mem::take(&mut self.held) / passed.as_nanos() as f64)
    }

    /// [`Bucket::accrue`] and [`Bucket::spend`] in one, where tokens arrive evenly.
    #[inline(always)]
    pub(super) fn take(&mut self, now: Time, size: u64, rate: BitRate) -> Option<Time> {
        debug_assert!(self.is_constant());
        if size > self.depth {
            self.accrue_evenly(now, rate.bits_per_sec());
            self.make_room(size);
        }
        let Some((tokens, cost)) = self.count(now, size, rate.bits_per_sec()) else {
            return self.take_much(now, size, rate.bits_per_sec());
        };
        self.updated = now;
        self.tokens = u128::from(if tokens >= cost { tokens - cost } else { tokens });
        (tokens < cost).then(|| wait(now, u128::from(cost - tokens), rate.bits_per_sec()))
    }

    /// The tokens that are there now, and the cost of `size`, where 64 bits are enough, as nearly always.
    #[inline(always)]
    fn count(&self, now: Time, size: u64, rate: u64) -> Option<(u64, u64)> {
        const BYTE: u64 = 8_000_000_000;
        let full = self.depth.checked_mul(BYTE)?;
        let tokens = u64::try_from(self.tokens).ok()?;
        let cost = size * BYTE;
        if now == self.updated && tokens <= full {
            return Some((tokens, cost));
        }
        let work = now.since(self.updated).as_nanos().checked_mul(rate)?;
        Some((tokens.checked_add(work)?.min(full.checked_add(rate)?), cost))
    }

    #[cold]
    fn accrue_evenly(&mut self, now: Time, rate: u64) {
        let full = u128::from(self.depth) * BYTE;
        if now != self.updated || self.tokens > full {
            let work = u128::from(now.since(self.updated).as_nanos()) * u128::from(rate);
            self.updated = now;
            self.tokens = self.tokens.saturating_add(work).min(full + u128::from(rate));
        }
    }

    #[cold]
    fn take_much(&mut self, now: Time, size: u64, rate: u64) -> Option<Time> {
        self.accrue_evenly(now, rate);
        let cost = u128::from(size) * BYTE;
        if self.tokens >= cost {
            self.tokens -= cost;
            return None;
        }
        Some(wait(now, cost - self.tokens, rate))
    }

    /// Something larger than the bucket is to leave, and is paid for as a whole.
    #[cold]
    fn make_room(&mut self, size: u64) {
        (self.largest, self.depth) = (size, size);
    }

    /// Spends `size`, or says when to ask again. A size above the depth makes the bucket as deep.
    pub(super) fn spend(&mut self, now: Time, size: u64, rate: BitRate) -> Option<Time> {
        if size > self.depth {
            self.make_room(size);
        }
        let cost = u128::from(size) * BYTE;
        self.awaited = 0;
        if self.tokens >= cost {
            self.tokens -= cost;
            return None;
        }
        let missing = match self.kind {
            Tokens::Constant => cost - self.tokens,
            Tokens::Poisson => {
                self.awaited = if size > self.packet { size } else { 0 };
                self.until_next
            }
        };
        Some(wait(now, missing, rate.bits_per_sec()))
    }

    /// Throws away all but one packet's worth.
    pub(super) fn keep_one(&mut self) {
        self.tokens = self.tokens.min(u128::from(self.packet) * BYTE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_core::Bytes;

    const RATE: BitRate = BitRate::from_bits_per_sec(7_777_777);

    fn bucket(depth: u64, tokens: Tokens, rng: &mut Stream) -> Bucket {
        let mut bucket = Bucket::new(Time::ZERO, 1000);
        bucket.configure(Burst { depth: Bytes::new(depth), tokens }, 1);
        bucket.fill(Time::ZERO, 1, rng);
        bucket
    }

    /// Sends packets of 1000 bytes for `span`, as fast as the bucket lets; their times.
    fn departures(bucket: &mut Bucket, rate: BitRate, span: Span, rng: &mut Stream) -> Vec<Time> {
        let (mut now, mut out) = (Time::ZERO, Vec::new());
        while now < Time::ZERO + span {
            bucket.accrue(now, rate, rng);
            match bucket.spend(now, 1000, rate) {
                None => out.push(now),
                Some(at) => now = at,
            }
        }
        out
    }

    #[test]
    fn paced_packets_carry_the_remainder() {
        let mut rng = Stream::new(1, "test");
        let out =
            departures(&mut bucket(0, Tokens::Constant, &mut rng), RATE, Span::from_secs(100), &mut rng);
        // 100 s at 7 777 777 bit/s are 97 222.2 packets; the first leaves at once.
        assert_eq!(out.len(), 97_223);
        let gap = 8_000_000_000_000.0 / 7_777_777.0;
        for (index, at) in out.iter().enumerate() {
            assert!((at.as_nanos() as f64 - index as f64 * gap).abs() <= 2.0, "{index}: {at}");
        }
    }

    #[test]
    fn tokens_counted_and_spent_in_one_are_the_same() {
        let mut rng = Stream::new(7, "test");
        for depth in [0, 1500, 5000] {
            let (mut one, mut two) =
                (bucket(depth, Tokens::Constant, &mut rng), bucket(depth, Tokens::Constant, &mut rng));
            let mut now = Time::ZERO;
            for step in 0..20_000 {
                now += Span::from_nanos(rng.below(3) * rng.below(3_000_000));
                let size = [40, 1000, 1500, 1500 + step / 10][rng.below(4) as usize];
                let rates = [0, 7_777_777, 100_000_000_000, u64::MAX];
                let rate = BitRate::from_bits_per_sec(rates[rng.below(8).saturating_sub(4) as usize]);
                if rng.below(20) == 0 {
                    // A smaller depth leaves more than it holds until something is counted.
                    let burst = Burst { depth: Bytes::new(rng.below(6000)), tokens: Tokens::Constant };
                    one.configure(burst, 1);
                    two.configure(burst, 1);
                }
                two.accrue(now, rate, &mut rng);
                assert_eq!(one.take(now, size, rate), two.spend(now, size, rate), "step {step}");
                assert_eq!((one.tokens, one.updated), (two.tokens, two.updated), "step {step}");
            }
        }
    }

    #[test]
    fn a_deep_bucket_bounds_the_burst() {
        let mut rng = Stream::new(1, "test");
        let mut bucket = bucket(5000, Tokens::Constant, &mut rng);
        bucket.accrue(Time::ZERO + Span::from_secs(10), RATE, &mut rng);
        let out = (0..20).take_while(|_| bucket.spend(Time::ZERO, 1000, RATE).is_none()).count();
        assert_eq!(out, 5);
    }

    #[test]
    fn tokens_are_counted_alike_with_few_bits_and_with_many() {
        let mut rng = Stream::new(7, "bits");
        let (mut wide, mut narrow) = (0, 0);
        let any = |rng: &mut Stream, bits| {
            let most = 1 + rng.below(bits);
            rng.below(1 << most)
        };
        for _ in 0..20_000 {
            let depth = any(&mut rng, 34);
            let mut few = bucket(depth, Tokens::Constant, &mut rng);
            few.tokens = u128::from(any(&mut rng, 63));
            let mut many = bucket(depth, Tokens::Constant, &mut rng);
            many.tokens = few.tokens;
            let now = Time::ZERO + Span::from_nanos(1 + any(&mut rng, 40));
            let rate = BitRate::from_bits_per_sec(any(&mut rng, 40));
            *(if few.count(now, 0, rate.bits_per_sec()).is_some() { &mut narrow } else { &mut wide }) += 1;
            few.accrue(now, rate, &mut rng);
            many.accrue_much(now, rate, &mut rng);
            assert_eq!((few.tokens, few.updated), (many.tokens, many.updated), "{rate} until {now}");
        }
        assert!(wide > 1000 && narrow > 1000, "{wide} and {narrow}");
    }

    #[test]
    fn poisson_tokens_have_exponential_intervals() {
        let mut rng = Stream::new(2, "test");
        let mut bucket = bucket(0, Tokens::Poisson, &mut rng);
        let out = departures(&mut bucket, RATE, Span::from_secs(200), &mut rng);
        let gaps: Vec<f64> = out.windows(2).map(|pair| pair[1].since(pair[0]).as_secs_f64()).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let square = gaps.iter().map(|gap| gap * gap).sum::<f64>() / gaps.len() as f64;
        let expected = 8000.0 / 7_777_777.0;
        assert!((mean / expected - 1.0).abs() < 0.01, "{mean} against {expected}");
        // The second moment of an exponential is twice its mean's square.
        assert!((square / (2.0 * expected * expected) - 1.0).abs() < 0.03, "{square}");
    }

    /// The share of a rate by which packets of a size leave in the long run, where there are always more.
    fn share(size: u64, depth: u64, tokens: Tokens) -> f64 {
        let mut rng = Stream::new(9, "test");
        let mut bucket = bucket(depth, tokens, &mut rng);
        let (mut now, mut left) = (Time::ZERO, 0);
        while now < Time::ZERO + Span::from_secs(400) {
            bucket.accrue(now, RATE, &mut rng);
            match bucket.spend(now, size, RATE) {
                None => left += size,
                Some(at) => now = at,
            }
        }
        left as f64 * 8.0 / (RATE.bits_per_sec() as f64 * now.as_secs_f64())
    }

    /// 389 000 tokens come, give or take 624: six times that is a hundredth.
    #[test]
    fn packets_larger_than_a_token_have_all_of_their_rate() {
        for depth in [0, 1200, 2000, 2500, 10_000] {
            for size in [1000, 1010, 1250, 1500, 1999, 2000, 2010, 3000, 4400] {
                for tokens in [Tokens::Constant, Tokens::Poisson] {
                    let share = share(size, depth, tokens);
                    assert!((share - 1.0).abs() < 0.01, "{share} of {size} B, {depth} B deep, {tokens:?}");
                }
            }
        }
    }

    /// Neither a nanosecond later, nor never: nothing would then come in at all any more.
    #[test]
    fn a_poisson_token_is_there_when_it_is_due() {
        let mut rng = Stream::new(8, "test");
        let mut bucket = bucket(0, Tokens::Poisson, &mut rng);
        let at = |nanos| Time::ZERO + Span::from_nanos(nanos);
        assert_eq!(bucket.spend(at(0), 1000, RATE), None);
        bucket.until_next = 500 * u128::from(RATE.bits_per_sec());
        for (now, answer) in [(0, Some(at(500))), (499, Some(at(500))), (500, None)] {
            bucket.accrue(at(now), RATE, &mut rng);
            assert_eq!(bucket.spend(at(now), 1000, RATE), answer, "{now}");
        }
        // The next is drawn to come at once.
        bucket.until_next = 0;
        bucket.accrue(at(500), RATE, &mut rng);
        assert_eq!(bucket.spend(at(500), 1000, RATE), None);
    }

    #[test]
    fn poisson_tokens_beyond_the_depth_are_discarded() {
        let mut rng = Stream::new(3, "test");
        let mut bucket = bucket(3000, Tokens::Poisson, &mut rng);
        bucket.accrue(Time::ZERO + Span::from_secs(10), RATE, &mut rng);
        let out = (0..20).take_while(|_| bucket.spend(Time::ZERO, 1000, RATE).is_none()).count();
        assert_eq!(out, 3);
        bucket.accrue(Time::ZERO + Span::from_secs(20), RATE, &mut rng);
        bucket.keep_one();
        let out = (0..20).take_while(|_| bucket.spend(Time::ZERO, 1000, RATE).is_none()).count();
        assert_eq!(out, 1);
    }

    #[test]
    fn what_a_smaller_packet_leaves_does_not_keep_tokens_out() {
        let mut rng = Stream::new(6, "test");
        let mut bucket = bucket(1000, Tokens::Poisson, &mut rng);
        assert_eq!(bucket.spend(Time::ZERO, 520, RATE), None);
        bucket.accrue(Time::ZERO + Span::from_secs(1), RATE, &mut rng);
        assert_eq!(
            bucket.spend(Time::ZERO + Span::from_secs(1), 1000, RATE),
            None,
            "a full packet is paid for"
        );
    }

    #[test]
    fn what_is_stored_is_averaged_over_time() {
        let mut rng = Stream::new(5, "test");
        let mut bucket = bucket(10_000, Tokens::Poisson, &mut rng);
        assert_eq!(bucket.stored(Time::ZERO), None, "no time has passed");
        // A token per second on average: one is there, and after t seconds 1 + t, as long as there is room.
        let rate = BitRate::from_bits_per_sec(8000);
        let mut sum = 0.0;
        for _ in 0..2000 {
            let begin = bucket.updated;
            bucket.keep_one();
            bucket.accrue(begin + Span::from_secs(4), rate, &mut rng);
            sum += bucket.stored(begin + Span::from_secs(4)).expect("time has passed");
        }
        // The mean of 1 + t over 4 s is 3; a Poisson count's area has a standard error of 0.03 here.
        assert!((sum / 2000.0 - 3000.0).abs() < 100.0, "{sum}");
        bucket.accrue(bucket.updated + Span::from_secs(100_000), rate, &mut rng);
        let full = bucket.stored(bucket.updated).expect("time has passed");
        assert!((full - 10_000.0).abs() < 1.0, "{full}: full for all but the first seconds");
    }

    #[test]
    fn a_changed_rate_counts_at_once() {
        let mut rng = Stream::new(4, "test");
        let mut bucket = bucket(0, Tokens::Constant, &mut rng);
        assert_eq!(bucket.spend(Time::ZERO, 1000, RATE), None);
        let slow = BitRate::from_bits_per_sec(8000);
        assert_eq!(bucket.spend(Time::ZERO, 1000, slow), Some(Time::ZERO + Span::from_secs(1)));
        bucket.accrue(Time::ZERO + Span::from_millis(500), slow, &mut rng);
        let half = Time::ZERO + Span::from_millis(500);
        let fast = BitRate::from_bits_per_sec(16_000);
        assert_eq!(bucket.spend(half, 1000, fast), Some(half + Span::from_millis(250)));
        assert_eq!(bucket.spend(half, 1000, BitRate::ZERO), Some(Time::NEVER));
    }
}
