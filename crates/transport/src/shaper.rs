//! When data may leave: every field of a [`Directive`] beyond its window is obeyed here, the rate through a token
//! bucket (`shaper/bucket.rs`), the gate, and probes. What a new directive changes is in `shaper/directed.rs`. What leaves is chosen
//! by the reliability; a sender whose controller directs a window only has no shaper at all.

mod bucket;
mod directed;

use tailback_core::{
    BitRate, Bytes, Directive, Gate, GateTimes, PairPosition, ProbePlan, Span, Stream, Time,
};

use bucket::Bucket;
use directed::Said;

pub(crate) use directed::Heard;

/// What leaves late because its sender was called late leaves as if it had been in time, up to so much: what is made up for is
/// then no longer burst than the trains that Linux makes of a millisecond. A caller that sleeps is late by tens of
/// microseconds, at 100 Mbit/s a sixth of a packet's time, and without this so much of the rate would be lost.
const MADE_UP: Span = Span::from_millis(1);

/// Whether the packet at hand may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Now, and with this place in a probe; its tokens are spent.
    Send(PairPosition),
    /// Not before this time; [`Time::NEVER`] until the directive changes.
    Wait(Time),
}

/// The shaper of one sender.
#[derive(Debug)]
pub struct Shaper {
    rate: Option<BitRate>,
    /// What the newest directive said.
    said: Option<Said>,
    /// A packet of this size waits until then, if the directive stays as it is: until then the answer is known, and no
    /// token overflows.
    waiting: (Bytes, Time),
    bucket: Bucket,
    /// Where the sender was called late: the time as of which packets leave, and the time until which that is so.
    behind: (Time, Time),
    gate: Gate,
    gate_times: GateTimes,
    /// The application has yet to hear of the gate.
    gate_changed: bool,
    /// The time that a lone packet waits for its partner, where data leaves in pairs.
    pairs: Option<Span>,
    /// The first of a pair has left, tokens for its second are spent.
    second_due: bool,
    /// Since when a lone packet waits for its partner; never where none does.
    alone_since: Time,
    /// The newest pair of control packets that was asked for.
    control_pair: Option<u64>,
    /// How many control packets of it have yet to leave.
    control_due: u8,
    /// The newest cluster that was asked for, and what of it has yet to leave.
    cluster: Option<u64>,
    cluster_due: Option<Due>,
    /// Bytes of padding that left, headers not counted.
    pub(crate) padding: Bytes,
    /// What the application should make, where that is not the rate.
    media: Option<BitRate>,
    /// The application offers without end, and keeps to what it should make only if the shaper does.
    is_endless: bool,
}

/// What has yet to leave of a cluster.
#[derive(Clone, Copy, Debug)]
struct Due {
    rate: BitRate,
    bytes: Bytes,
}

impl Shaper {
    /// Whether a directive asks for more than a window. What media should be made is told to the application, and kept to by one
    /// without end.
    #[inline]
    pub(crate) fn is_needed(directive: &Directive) -> bool {
        directive.rate.is_some()
            || !directive.gate.is_open()
            || directive.probe.is_some()
            || directive.media.is_some()
    }

    /// A shaper for packets of the size `packet`.
    pub fn new(now: Time, packet: Bytes) -> Self {
        Self {
            rate: None,
            said: None,
            waiting: (Bytes::ZERO, Time::ZERO),
            bucket: Bucket::new(now, packet.get()),
            behind: (now, Time::NEVER),
            gate: Gate::Open,
            gate_times: GateTimes::default(),
            gate_changed: false,
            pairs: None,
            second_due: false,
            alone_since: Time::NEVER,
            control_pair: None,
            control_due: 0,
            cluster: None,
            cluster_due: None,
            padding: Bytes::ZERO,
            media: None,
            is_endless: false,
        }
    }

    /// A fresh shaper in the place of this one. The application has heard of this one's gate: that stays, until it hears
    /// of another.
    pub(crate) fn renewed(&self, now: Time, packet: Bytes) -> Self {
        let Self { gate, gate_times, gate_changed, padding, is_endless, .. } = *self;
        Self { gate, gate_times, gate_changed, padding, is_endless, ..Self::new(now, packet) }
    }

    /// The sender wanted to be called when a packet was `due`, and is called only now.
    pub fn called_late(&mut self, due: Time, now: Time) {
        self.behind = (due.max(now - MADE_UP), now);
    }

    /// The time as of which tokens count.
    #[inline]
    fn as_of(&self, now: Time) -> Time {
        if self.behind.1 == now { self.behind.0 } else { now }
    }

    /// So many packets must fit the bucket.
    #[inline]
    fn at_once(&self) -> u64 {
        if self.pairs.is_some() { 2 } else { 1 }
    }

    /// The mean of the Poisson tokens that were stored since this was last asked, in bytes.
    pub(crate) fn stored(&mut self, now: Time) -> Option<f64> {
        self.bucket.stored(now)
    }

    /// The directed rate.
    pub(crate) fn rate(&self) -> Option<BitRate> {
        self.rate
    }

    /// What the application should make.
    pub(crate) fn media_rate(&self) -> Option<BitRate> {
        self.media.or(self.rate)
    }

    /// The rate at which packets leave: that of a cluster, while one does.
    fn rate_in_force(&self) -> Option<BitRate> {
        self.cluster_due.map(|due| due.rate).or(self.rate)
    }

    /// Whether padding takes the place of data where none waits: while a cluster leaves, or to fill the rate.
    pub(crate) fn pads(&self) -> bool {
        let fills = self.said.is_some_and(|said| said.probe == Some(ProbePlan::Padding));
        self.cluster_due.is_some() || fills && self.rate.is_some()
    }

    /// Whether the gate was opened or closed since the last call.
    pub(crate) fn take_gate_change(&mut self) -> bool {
        std::mem::take(&mut self.gate_changed)
    }

    /// Whether data may leave at all.
    pub(crate) fn gate(&self) -> Gate {
        self.gate
    }

    /// When the gate was closed.
    pub fn gate_times(&self) -> GateTimes {
        self.gate_times
    }

    /// The flow ends: from now on, no gate keeps it from sending.
    pub(crate) fn end(&mut self, now: Time) {
        self.gate_times.set(now, Gate::Open);
    }

    /// Whether a control packet must leave now.
    pub(crate) fn wants_control(&self) -> bool {
        self.control_due > 0
    }

    /// The pair whose next control packet must leave now, and whether it is the first of the two (out of band).
    pub fn take_control(&mut self) -> Option<(u64, bool)> {
        let pair = self.control_pair.filter(|_| self.control_due > 0)?;
        self.control_due -= 1;
        Some((pair, self.control_due == 1))
    }

    /// Whether all it does is to keep a rate.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.gate.is_open()
            && !self.gate_changed
            && self.control_due == 0
            && self.pairs.is_none()
            && !self.second_due
    }

    /// Whether a caller must say what could follow a packet.
    pub(crate) fn wants_pairs(&self) -> bool {
        self.pairs.is_some() && !self.second_due
    }

    /// Whether no first of a pair waits for its second to leave.
    pub(crate) fn pair_is_whole(&self) -> bool {
        !self.second_due
    }

    /// Whether a lone packet of `size` may leave, where data does not leave in pairs, as [`Shaper::is_plain`] says.
    #[inline(always)]
    pub(crate) fn ask_plain(&mut self, now: Time, size: Bytes, rng: &mut Stream) -> Verdict {
        if now < self.waiting.1 && size == self.waiting.0 {
            return Verdict::Wait(self.waiting.1);
        }
        match self.rate {
            Some(rate) if self.cluster_due.is_none() && self.bucket.is_constant() => {
                let mut at = self.as_of(now);
                while let Some(next) = self.bucket.take(at, size.get(), rate) {
                    if next > now {
                        self.waiting = (size, next);
                        return Verdict::Wait(next);
                    }
                    at = self.goes_on_at(next);
                }
                self.alone_since = Time::NEVER;
                self.waiting.1 = Time::ZERO;
                Verdict::Send(PairPosition::Single)
            }
            _ => self.ask(now, size, None, None, rng),
        }
    }

    /// Whether a packet of `size` may leave; `behind` is the size of the one that could follow at once. A lone packet
    /// waits for its partner from `since` on, or from now on where that is not given.
    pub fn ask(
        &mut self,
        now: Time,
        size: Bytes,
        behind: Option<Bytes>,
        since: Option<Time>,
        rng: &mut Stream,
    ) -> Verdict {
        if now < self.waiting.1 && size == self.waiting.0 {
            return Verdict::Wait(self.waiting.1);
        }
        if !self.gate.is_open() {
            // What leaves when it opens is not back to back with what left before.
            self.second_due = false;
            return Verdict::Wait(Time::NEVER);
        }
        if std::mem::take(&mut self.second_due) {
            return Verdict::Send(PairPosition::Second);
        }
        let (position, cost) = match (self.pairs, behind) {
            (None, _) => (PairPosition::Single, size),
            (Some(_), Some(second)) => (PairPosition::First, size + second),
            (Some(timeout), None) => {
                self.alone_since = self.alone_since.min(now);
                // As long as the newest directive says, whichever was in force when it began to wait.
                let due = since.map_or(self.alone_since, |since| since.min(self.alone_since)) + timeout;
                if now < due {
                    return Verdict::Wait(due);
                }
                (PairPosition::Single, size)
            }
        };
        if let Some(rate) = self.rate_in_force() {
            let mut at = self.as_of(now);
            self.bucket.accrue(at, rate, rng);
            while let Some(next) = self.bucket.spend(at, cost.get(), rate) {
                if next > now {
                    let steady =
                        self.bucket.is_constant() && self.pairs.is_none() && self.cluster_due.is_none();
                    if steady {
                        self.waiting = (size, next);
                    }
                    return Verdict::Wait(next);
                }
                at = self.goes_on_at(next);
                self.bucket.accrue(at, rate, rng);
            }
        }
        if let Some(due) = &mut self.cluster_due {
            due.bytes = due.bytes.saturating_sub(cost);
            self.cluster_due = self.cluster_due.filter(|due| due.bytes > Bytes::ZERO);
        }
        self.alone_since = Time::NEVER;
        self.waiting.1 = Time::ZERO;
        self.second_due = position == PairPosition::First;
        Verdict::Send(position)
    }

    /// Nothing that was missed is made up for any more.
    fn forget_lateness(&mut self) {
        self.behind.1 = Time::NEVER;
    }

    /// The next packet that was missed could have left at `next`.
    #[cold]
    fn goes_on_at(&mut self, next: Time) -> Time {
        self.behind.0 = next;
        next
    }

    /// Nothing is there to be sent now: a second that was expected will not come.
    #[inline]
    pub fn pass(&mut self) {
        self.second_due = false;
        self.alone_since = Time::NEVER;
    }

    /// The retransmission timer expired: only one token is kept (Li 2004, Fig. 4).
    pub fn on_timeout(&mut self, now: Time, rng: &mut Stream) {
        self.bucket.accrue(now, self.rate_in_force().unwrap_or(BitRate::ZERO), rng);
        self.bucket.keep_one();
        self.forget_lateness();
        self.waiting.1 = Time::ZERO;
    }
}
