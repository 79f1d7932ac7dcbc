//! A token bucket for a rate that the law directs, written a second time: in whole units, so that both writings let a packet go at
//! the same nanosecond.

use super::SEGMENT;

/// What the law directs: bits per second, and how many bytes may leave at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub bits: u64,
    pub depth: u64,
}

/// Tokens in billionths of a bit.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    rate: Rate,
    tokens: u128,
    counted: u64,
}

const BYTE: u128 = 8_000_000_000;

impl Bucket {
    /// The first packet may leave at once.
    pub fn new(now: u64, rate: Rate) -> Self {
        Self { rate, tokens: u128::from(SEGMENT) * BYTE, counted: now }
    }

    fn full(&self) -> u128 {
        u128::from(self.rate.depth) * BYTE
    }

    /// What is waited for is whole nanoseconds, so that a nanosecond's worth may stand above the rim.
    fn count(&mut self, now: u64) {
        let bits = u128::from(self.rate.bits);
        let come = u128::from(now - self.counted) * bits;
        self.tokens = if come == 0 { self.tokens } else { (self.tokens + come).min(self.full() + bits) };
        self.counted = now;
    }

    /// The law has spoken.
    pub fn direct(&mut self, now: u64, rate: Rate) {
        self.count(now);
        self.rate = rate;
        self.tokens = self.tokens.min(self.full());
    }

    /// The retransmission timer expired: one packet's worth stays.
    pub fn time_out(&mut self, now: u64) {
        self.count(now);
        self.tokens = self.tokens.min(u128::from(SEGMENT) * BYTE);
    }

    /// A packet leaves, or may not before a time.
    pub fn take(&mut self, now: u64, size: u64) -> Result<(), u64> {
        self.count(now);
        let cost = u128::from(size.min(self.rate.depth)) * BYTE;
        if self.tokens < cost {
            let wait = (cost - self.tokens).div_ceil(u128::from(self.rate.bits)).max(1);
            return Err(now + wait as u64);
        }
        self.tokens -= cost;
        Ok(())
    }
}
