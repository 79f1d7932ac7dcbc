//! When data may leave, written a second time: slowly, and in whole units, so that both writings let a packet go at the same
//! nanosecond. From what `Directive` and its parts say of themselves (`crates/core/src/controller.rs`); Li and Mills, "Control
//! Architecture for Tuning Intensity and Burstiness of Traffic", §III and Fig. 4, for tokens that come as a Poisson process;
//! Keshav's memorandum of 1994, §3 and §8, for pairs and singletons; and "What real timers do to a rate"
//! (`docs/custom-controller.md`) for a sender that is called late. A draft of it came before ours was read, the rest after.
//!
//! Named choices of ours that it follows: a rate that comes where none was begins with tokens for what leaves at once; a
//! token that does not fit fills the bucket, and what would have come after it is drawn anew, but all of one that a larger packet waits for
//! is kept; what waits for whole nanoseconds may
//! stand above the rim until the next directive; a bucket is as deep as the largest that was to leave from it, which pays for its
//! whole size; a cluster that has begun leaves whatever is directed then, until another
//! begins; one that leaves is late by a millisecond at most. Random numbers are drawn in the same order.

use tailback_core::{BitRate, Directive, Gate, PairPosition, ProbePlan, Stream, Tokens};

/// A byte's worth of tokens, which are counted in bits times nanoseconds per second.
const BYTE: u128 = 8_000_000_000;
/// What is made up for where a sender is called late.
const MADE_UP: u64 = 1_000_000;
pub const NEVER: u64 = u64::MAX;

/// What has yet to leave of a cluster, and its rate.
#[derive(Clone, Copy, Debug)]
struct Cluster {
    rate: u64,
    left: u64,
}

/// A packet leaves with its place in a pair, or may not before a time.
pub type Answer = Result<PairPosition, u64>;

#[derive(Clone, Debug)]
pub struct Shaper {
    packet: u64,
    told: Option<Directive>,
    /// What it said of the rate.
    kept: Option<u64>,
    endless: bool,
    /// The most that was to leave at once.
    largest: u64,
    tokens: u128,
    counted: u64,
    /// What the integral of the rate has to pass until the next token.
    missing: Option<u128>,
    /// What waits for more than one Poisson token.
    awaited: u64,
    /// As of when packets leave, and at which instant.
    late: Option<(u64, u64)>,
    /// The first of a pair has left.
    second_follows: bool,
    /// Since when a packet waits for its partner.
    alone: Option<u64>,
    pair: Option<u64>,
    control: Vec<(u64, bool)>,
    last_cluster: Option<u64>,
    cluster: Option<Cluster>,
    closings: u64,
    closed: u64,
    closed_since: Option<u64>,
}

impl Shaper {
    pub fn new(now: u64, packet: u64) -> Self {
        Self {
            packet,
            told: None,
            kept: None,
            endless: false,
            largest: packet,
            tokens: 0,
            counted: now,
            missing: None,
            awaited: 0,
            late: None,
            second_follows: false,
            alone: None,
            pair: None,
            control: Vec::new(),
            last_cluster: None,
            cluster: None,
            closings: 0,
            closed: 0,
            closed_since: None,
        }
    }

    /// The application offers without end: it keeps to what media should be made, too, from the next directive on.
    pub fn never_ends(&mut self) {
        self.endless = true;
    }

    /// The sender wanted to be called when a packet was due.
    pub fn called_late(&mut self, due: u64, now: u64) {
        self.late = Some((due.max(now.saturating_sub(MADE_UP)), now));
    }

    fn as_of(&self, now: u64) -> u64 {
        self.late.map_or(now, |(as_of, at)| if at == now { as_of } else { now })
    }

    fn rate_of(&self, directive: &Directive) -> Option<u64> {
        let media = directive.media.filter(|_| self.endless);
        directive.rate.into_iter().chain(media).map(BitRate::bits_per_sec).min()
    }

    /// The rate that is kept, if one is.
    fn rate(&self) -> Option<u64> {
        match self.cluster {
            Some(cluster) => Some(cluster.rate),
            None => self.kept,
        }
    }

    fn pairs(&self) -> Option<u64> {
        match self.told?.probe? {
            ProbePlan::DataPairs { singleton_timeout } => Some(singleton_timeout.as_nanos()),
            _ => None,
        }
    }

    fn at_once(&self) -> u64 {
        self.packet * if self.pairs().is_some() { 2 } else { 1 }
    }

    fn depth(&self) -> u64 {
        self.told.map_or(0, |told| told.burst.depth.get()).max(self.at_once()).max(self.largest)
    }

    fn kind(&self) -> Tokens {
        self.told.map_or(Tokens::Constant, |told| told.burst.tokens)
    }

    fn full(&self) -> u128 {
        u128::from(self.depth()) * BYTE
    }

    fn draw(&self, rng: &mut Stream) -> u128 {
        (rng.exponential() * self.packet as f64 * BYTE as f64) as u128
    }

    /// Takes in what came by now.
    fn count(&mut self, now: u64, rng: &mut Stream) {
        if self.kind() == Tokens::Poisson && self.missing.is_none() {
            self.missing = Some(self.draw(rng));
        }
        let rate = u128::from(self.rate().unwrap_or(0));
        let mut come = u128::from(now.saturating_sub(self.counted)) * rate;
        let full = self.full();
        match self.missing {
            Some(mut missing) if self.kind() == Tokens::Poisson => {
                while come >= missing {
                    come -= missing;
                    missing = self.draw(rng);
                    let awaits = self.tokens < u128::from(self.awaited) * BYTE;
                    let rim = full.max(self.tokens);
                    self.tokens += u128::from(self.packet) * BYTE;
                    if !awaits && self.tokens >= rim {
                        self.tokens = rim;
                        come = 0;
                        break;
                    }
                }
                self.missing = Some(missing - come);
            }
            _ if come > 0 => self.tokens = self.tokens.saturating_add(come).min(full + rate),
            _ => {}
        }
        self.counted = self.counted.max(now);
    }

    pub fn direct(&mut self, now: u64, directive: &Directive, rng: &mut Stream) {
        let at = self.as_of(now);
        self.count(at, rng);
        let had_rate = self.rate().is_some();
        self.told = Some(*directive);
        self.kept = self.rate_of(directive);
        match directive.probe {
            Some(ProbePlan::ControlPair { id }) if self.pair != Some(id) => {
                self.pair = Some(id);
                self.control = vec![(id, true), (id, false)];
            }
            Some(ProbePlan::Cluster { id, rate, bytes }) if self.last_cluster != Some(id) => {
                self.last_cluster = Some(id);
                let cluster = Cluster { rate: rate.bits_per_sec(), left: bytes.get() };
                self.cluster = Some(cluster).filter(|cluster| cluster.left > 0);
            }
            _ => {}
        }
        if !had_rate && self.kept.is_some() {
            self.tokens = u128::from(self.at_once()) * BYTE;
            self.counted = now;
            self.late = None;
            self.missing = Some(self.draw(rng));
            self.awaited = 0;
        }
        if self.kind() == Tokens::Constant {
            self.awaited = 0;
        }
        let with_awaited = if self.awaited > 0 { u128::from(self.awaited + self.packet) * BYTE } else { 0 };
        self.tokens = self.tokens.min(self.full().max(with_awaited));
        match (directive.gate, self.closed_since) {
            (Gate::Open, Some(since)) => {
                self.closed += now - since;
                self.closed_since = None;
            }
            (Gate::Closed { .. }, None) => {
                self.closings += 1;
                self.closed_since = Some(now);
            }
            _ => {}
        }
    }

    pub fn ask(
        &mut self,
        now: u64,
        size: u64,
        behind: Option<u64>,
        since: Option<u64>,
        rng: &mut Stream,
    ) -> Answer {
        if self.closed_since.is_some() {
            // What follows when the gate opens is no longer back to back.
            self.second_follows = false;
            return Err(NEVER);
        }
        if std::mem::take(&mut self.second_follows) {
            return Ok(PairPosition::Second);
        }
        let mut cost = size;
        let mut place = PairPosition::Single;
        if let Some(timeout) = self.pairs() {
            if let Some(second) = behind {
                cost += second;
                place = PairPosition::First;
            } else {
                let alone = *self.alone.get_or_insert(now);
                let due = since.map_or(alone, |since| since.min(alone)).saturating_add(timeout);
                if now < due {
                    return Err(due);
                }
            }
        }
        if let Some(rate) = self.rate() {
            let price = u128::from(cost) * BYTE;
            let mut at = self.as_of(now);
            self.count(at, rng);
            self.largest = if cost > self.depth() { cost } else { self.largest };
            self.awaited = 0;
            while self.tokens < price {
                let wanted = match self.kind() {
                    Tokens::Constant => price - self.tokens,
                    Tokens::Poisson => {
                        self.awaited = if cost > self.packet { cost } else { 0 };
                        self.missing.unwrap_or(0)
                    }
                };
                let wait = if rate == 0 { None } else { Some(wanted.div_ceil(rate.into()).max(1)) };
                let wait = wait.and_then(|wait| u64::try_from(wait).ok()).unwrap_or(NEVER);
                let next = at.saturating_add(wait);
                if next > now {
                    return Err(next);
                }
                at = next;
                self.late = Some((at, now));
                self.count(at, rng);
            }
            self.tokens -= price;
            self.awaited = 0;
        }
        if let Some(cluster) = &mut self.cluster {
            cluster.left = cluster.left.saturating_sub(cost);
            self.cluster = self.cluster.filter(|cluster| cluster.left > 0);
        }
        self.alone = None;
        self.second_follows = place == PairPosition::First;
        Ok(place)
    }

    /// Nothing is there that could be sent.
    pub fn pass(&mut self) {
        self.second_follows = false;
        self.alone = None;
    }

    /// Fig. 4: one token is kept.
    pub fn time_out(&mut self, now: u64, rng: &mut Stream) {
        self.count(now, rng);
        self.late = None;
        self.tokens = self.tokens.min(u128::from(self.packet) * BYTE);
    }

    pub fn take_control(&mut self) -> Option<(u64, bool)> {
        if self.control.is_empty() { None } else { Some(self.control.remove(0)) }
    }

    /// Whether a caller says what could follow a packet.
    pub fn wants_pairs(&self) -> bool {
        self.pairs().is_some() && !self.second_follows
    }

    /// Whether a sender of datagrams pads where it has no data.
    pub fn pads(&self) -> bool {
        let fills = self.told.is_some_and(|told| told.probe == Some(ProbePlan::Padding));
        self.cluster.is_some() || fills && self.rate().is_some()
    }

    /// How often the gate was closed, for how long before its last opening, and since when it is.
    pub fn gate(&self) -> (u64, u64, Option<u64>) {
        (self.closings, self.closed, self.closed_since)
    }
}
