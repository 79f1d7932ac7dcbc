//! Loss recovery of a reliable byte stream: which segments are in the network, acknowledged or lost, and which to
//! send next. How much may be sent is the controller's, when is the shaper's, and the bytes are the application's.
//!
//! One machine, five ways to find losses: plain Reno (RFC 5681), NewReno (RFC 6582), Vegas (Brakmo and Peterson 1995),
//! SACK (RFC 6675) and packet-pair's offsets (Keshav 1994, §6); SACK may be helped by a receiver that counts
//! (`arrivals.rs`), or find lost retransmissions by time (`overtaken.rs`), or all losses (RFC 8985, `rack.rs`). Segments are numbered, not bytes: numbers go
//! on through all connections of a flow, so stale packets are harmless. All sizes are bytes on the wire.
//!
//! Fast recovery's window inflation (RFC 5681 §3.2 steps 3 and 4) is kept as bytes that left the network, so the
//! controller's window never carries it: `pipe = in the network by the records - inflation`.
//!
//! Every acknowledgement costs O(1) amortised, whatever the window: `lost_edge` and `next_retransmit` only move up
//! within an episode, and runs of selectively acknowledged segments are skipped in one step. Where a retransmission is lost again,
//! `next_retransmit` goes back to it and then on to where it was (`under_way.rs`).

mod ack;
mod arrivals;
#[cfg(test)]
mod arrivals_tests;
mod by_time;
mod choice;
mod overtaken;
mod probes;
mod proportional;
mod rack;
mod recovery;
pub(crate) mod ring;
pub(crate) mod rtt;
mod sack;
mod spurious;
mod straight;
mod tail_probe;
#[cfg(test)]
mod tests;
mod under_way;
mod vegas_timer;

use tailback_control::Reliability;
use tailback_core::{
    AckBlocks, Acked, Annex, Echoes, FlowId, Lost, Packet, PairPosition, Recovery, SeqRange, Span, Time,
    rng::mix,
};

use crate::config::{RttSampling, StreamConfig};
use crate::teller::{Books, Outcome};
use arrivals::Arrivals;
pub(crate) use choice::{Choice, Room};
use overtaken::Overtaken;
use proportional::Proportional;
use rack::Rack;
use ring::{Record, Ring};
use rtt::RttEstimator;
use spurious::Doubt;
use under_way::UnderWay;
use vegas_timer::VegasTimer;

/// An acknowledgement, taken apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack<'a> {
    /// The next number that the receiver expects.
    pub(crate) number: u64,
    /// Ranges received beyond it.
    pub(crate) blocks: &'a [SeqRange],
    /// The number that caused it, where the receiver says so.
    pub(crate) trigger: Option<u64>,
    /// The send time echoed, where segments carry it.
    pub(crate) echo: Option<Time>,
    /// When the segment with that stamp arrived.
    pub(crate) arrived: Option<Time>,
    /// Marks echoed by flags.
    pub(crate) flags: Echoes,
    /// All marks that the receiver has counted, where it counts them.
    pub(crate) marks: Option<Echoes>,
}

impl<'a> Ack<'a> {
    /// What an acknowledgement and its annex say.
    #[inline]
    pub(crate) fn read(packet: &Packet, annex: Option<&'a Annex>) -> Self {
        let number = packet.number;
        let detail = match annex {
            Some(Annex::Blocks(blocks)) => Some(blocks),
            _ => None,
        };
        Self {
            number,
            blocks: detail.map_or(&[], AckBlocks::as_slice),
            // Without detail, an acknowledgement in order was caused by the number below its own.
            trigger: detail.map(|blocks| blocks.trigger).or(number.checked_sub(1)),
            echo: detail.and_then(|blocks| blocks.echo),
            arrived: detail.and_then(|blocks| blocks.arrived),
            flags: Echoes::of(packet),
            marks: detail.map(|blocks| blocks.marks).filter(|marks| *marks != Echoes::NONE),
        }
    }
}

impl Ack<'_> {
    /// What it says to have arrived twice: its first range, if that is acknowledged in order, or lies within the second
    /// (RFC 2883 §4).
    pub(crate) fn arrived_twice(&self) -> Option<SeqRange> {
        let [first, others @ ..] = self.blocks else { return None };
        let within = |second: &SeqRange| second.start <= first.start && first.end <= second.end;
        (first.end <= self.number || others.first().is_some_and(within)).then_some(*first)
    }
}

/// Soft time-outs of recovery by offsets: without progress through two round trips, the oldest is retransmitted.
#[derive(Clone, Copy, Debug, Default)]
struct SoftTimeout {
    round_began: Time,
    rounds: u8,
    progress: u64,
}

/// What one way to find losses has and no other: one pointer for all, since flows come by the ten thousand.
#[derive(Debug)]
enum Own {
    /// Vegas.
    Vegas(VegasTimer),
    /// Recovery by offsets.
    Soft(SoftTimeout),
    /// Ranges, with more than RFC 6675 has.
    Ranges(Ranges),
}

/// What ranges are helped by.
#[derive(Debug)]
struct Ranges {
    /// Where lost retransmissions are found without the timer.
    overtaken: Option<Overtaken>,
    /// Where recovery reduces in proportion.
    proportional: Option<Proportional>,
    /// Where all losses are found by time.
    rack: Option<Box<Rack>>,
}

impl Ranges {
    /// Whether lost retransmissions are found without the timer.
    fn finds_lost_retransmissions(&self) -> bool {
        self.overtaken.is_some() || self.rack.is_some()
    }

    /// Retransmissions, where lost ones are found without the timer.
    fn under_way(&mut self) -> Option<&mut UnderWay> {
        let by_rack = self.rack.as_mut().map(|rack| &mut rack.under_way);
        by_rack.or_else(|| self.overtaken.as_mut().map(|overtaken| &mut overtaken.under_way))
    }
}

impl Own {
    fn of(config: &StreamConfig) -> Option<Self> {
        match config.reliability {
            Reliability::Vegas => Some(Self::Vegas(VegasTimer::default())),
            Reliability::Offsets => Some(Self::Soft(SoftTimeout::default())),
            Reliability::Sack => {
                let rack = config.rack().map(|_| Box::default());
                let overtaken = (config.lost_retransmissions && rack.is_none()).then(Overtaken::default);
                let proportional = config.proportional_rate_reduction.then(Proportional::default);
                let is_helped = overtaken.is_some() || proportional.is_some() || rack.is_some();
                is_helped.then_some(Self::Ranges(Ranges { overtaken, proportional, rack }))
            }
            _ => None,
        }
    }

    /// Whether the straight ways do all that it does.
    fn may_go_straight(&self) -> bool {
        self.ranges().is_some_and(|ranges| ranges.rack.is_none())
    }

    /// What ranges are helped by, where losses are found so.
    #[inline]
    fn ranges(&self) -> Option<&Ranges> {
        if let Self::Ranges(ranges) = self { Some(ranges) } else { None }
    }

    #[inline]
    fn ranges_mut(&mut self) -> Option<&mut Ranges> {
        if let Self::Ranges(ranges) = self { Some(ranges) } else { None }
    }
}

const NONE: u64 = u64::MAX;
/// For an episode that has had its rescue, or none yet.
const NO_RESCUE: u8 = u8::MAX;

/// The machine.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts about an episode, independent of each other")]
pub(crate) struct LossRecovery {
    ring: Ring,
    /// Bytes not cumulatively acknowledged.
    outstanding: u64,
    /// Bytes in the network by the records.
    pipe: u64,
    /// Bytes that duplicate acknowledgements without ranges showed to have left the network.
    inflation: u64,
    /// Retransmissions begin here: one beyond `HighRxt` of RFC 6675.
    next_retransmit: u64,
    /// All numbers below are acknowledged, selectively acknowledged or lost.
    lost_edge: u64,
    /// One beyond the highest number selectively acknowledged.
    high_sacked: u64,
    /// The episode ends when everything below is acknowledged.
    recover: u64,
    /// An ECN echo counts only when more than this is acknowledged (RFC 3168 §6.1.2).
    ecn_until: u64,
    /// Marks that the receiver has counted, where it counts them.
    marks: Option<Box<Echoes>>,
    /// The segment timed for a sample once per round trip.
    timed: u64,
    deadline: Time,
    /// When anything was last sent; [`Time::NEVER`] before.
    last_sent: Time,
    /// How many are selectively acknowledged, and how many of those at or above `lost_edge`.
    sacked: u32,
    sacked_above: u32,
    dup_acks: u32,
    /// Bytes that limited transmit sent since the first duplicate acknowledgement.
    limited: u32,
    /// How many segments are still to be acknowledged until more is than `RescueRxt` of RFC 6675, when the rescue may leave.
    rescue_after: u8,
    /// Expiries in a row, at most 255 of them.
    consecutive: u8,
    mode: Reliability,
    state: Recovery,
    forced: bool,
    partial_seen: bool,
    /// No episode yet on this connection.
    fresh: bool,
    /// The window was reduced since CWR was last sent.
    reduced: bool,
    /// Whether the episode may prove to be for nothing.
    doubt: Doubt,
    rtt: RttEstimator,
    /// What one way to find losses alone has.
    own: Option<Box<Own>>,
    /// Where the receiver counts what arrives.
    arrivals: Option<Box<Arrivals>>,
    acked: Vec<Acked>,
    lost: Vec<Lost>,
}

impl Books for LossRecovery {
    #[inline]
    fn lists(&self) -> (&[Acked], &[Lost]) {
        (&self.acked, &self.lost)
    }

    #[inline]
    fn state(&self) -> Recovery {
        self.state
    }

    #[inline]
    fn outstanding(&self) -> u64 {
        self.outstanding
    }

    #[inline]
    fn in_flight(&self) -> u64 {
        self.pipe.saturating_sub(self.inflation)
    }
}

impl LossRecovery {
    pub(crate) fn new(flow: FlowId, config: &StreamConfig) -> Self {
        Self {
            ring: Ring::default(),
            outstanding: 0,
            pipe: 0,
            inflation: 0,
            next_retransmit: 0,
            lost_edge: 0,
            high_sacked: 0,
            recover: 0,
            ecn_until: 0,
            marks: None,
            timed: NONE,
            deadline: Time::NEVER,
            last_sent: Time::NEVER,
            sacked: 0,
            sacked_above: 0,
            dup_acks: 0,
            limited: 0,
            rescue_after: NO_RESCUE,
            consecutive: 0,
            mode: config.reliability,
            state: Recovery::Open,
            forced: false,
            partial_seen: false,
            fresh: true,
            reduced: false,
            doubt: Doubt::None,
            rtt: RttEstimator::new(&config.rto, mix(u64::from(flow.0))),
            own: Own::of(config).map(Box::new),
            arrivals: None,
            acked: Vec::new(),
            lost: Vec::new(),
        }
    }

    /// Forgets what is outstanding and all that was learnt, for a new connection; numbers go on.
    pub(crate) fn restart(&mut self, flow: FlowId, config: &StreamConfig) {
        let mut ring = std::mem::take(&mut self.ring);
        ring.clear();
        let next = ring.end();
        *self = Self {
            next_retransmit: next,
            lost_edge: next,
            high_sacked: next,
            recover: next,
            ecn_until: next,
            marks: self.marks.take(),
            ring,
            arrivals: self.arrivals.take(),
            acked: std::mem::take(&mut self.acked),
            lost: std::mem::take(&mut self.lost),
            ..Self::new(flow, config)
        };
        if let Some(Own::Soft(soft)) = self.own.as_deref_mut() {
            soft.progress = next;
        }
    }

    /// The oldest number not acknowledged.
    pub(crate) const fn first(&self) -> u64 {
        self.ring.first()
    }

    /// When the oldest segment that is not acknowledged left; none where all are.
    pub(crate) fn oldest_sent_at(&self) -> Option<Time> {
        (!self.ring.is_empty()).then(|| self.ring.get(self.ring.first()).sent_at())
    }

    /// The next new number.
    pub(crate) const fn end(&self) -> u64 {
        self.ring.end()
    }

    /// Whether everything sent is acknowledged.
    pub(crate) const fn is_idle(&self) -> bool {
        self.ring.is_empty()
    }

    /// Whether what leaves now is released by the first duplicate acknowledgements (RFC 3042).
    pub(crate) const fn is_limited_transmit(&self) -> bool {
        self.dup_acks > 0 && matches!(self.state, Recovery::Open)
    }

    pub(crate) const fn deadline(&self) -> Time {
        self.deadline
    }

    pub(crate) const fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// The request for a connection is acknowledged, and data begins.
    #[cold]
    pub(crate) fn request_answered(&mut self) {
        self.rtt.begin_data();
    }

    /// The controller's own time-out, in force from the next restart of the timer on.
    #[inline]
    pub(crate) fn direct_timeout(&mut self, timeout: Option<Span>) {
        self.rtt.direct(timeout);
    }

    /// The receiver may hold acknowledgements back for so long, having been asked to, those of what is outstanding too. The reordering
    /// timer waits for nothing that is held back: beside a hole everything is acknowledged at once.
    #[cold]
    pub(crate) fn hold_acks(&mut self, held: Span) {
        let longer = held.saturating_sub(self.rtt.held());
        self.rtt.hold(held);
        if self.deadline.is_never() {
            return;
        }
        if self.reordering_deadline().is_none() {
            self.deadline += longer;
        }
        self.lengthen_unseen(longer);
    }

    /// Begins new lists of packets; the memory of long ones is given back.
    #[inline]
    fn clear_lists(&mut self) {
        const KEPT: usize = 8;
        self.acked.clear();
        self.lost.clear();
        if self.acked.capacity() > KEPT {
            self.acked = Vec::new();
        }
        if self.lost.capacity() > KEPT {
            self.lost = Vec::new();
        }
    }

    /// Packets newly acknowledged by the last input.
    #[cfg(test)]
    pub(crate) fn acked(&self) -> &[Acked] {
        &self.acked
    }

    /// Packets newly lost by the last input.
    #[cfg(test)]
    pub(crate) fn lost(&self) -> &[Lost] {
        &self.lost
    }

    /// Bytes on the wire of a number that is outstanding.
    pub(crate) fn size_of(&self, number: u64) -> u16 {
        self.ring.get(number).size
    }

    /// Whether the next new segment must say that the window was reduced (CWR).
    pub(crate) fn take_reduced(&mut self) -> bool {
        std::mem::take(&mut self.reduced)
    }

    /// New data of `size` leaves, numbered [`LossRecovery::end`].
    #[inline]
    pub(crate) fn sent_new(
        &mut self,
        now: Time,
        size: u16,
        tag: u32,
        pair: PairPosition,
        config: &StreamConfig,
    ) {
        if self.timed == NONE && config.rtt_sampling == RttSampling::PerRoundTrip {
            self.timed = self.ring.end();
        }
        self.last_sent = now;
        self.ring.push(Record::new(now, size, tag, pair));
        self.outstanding += u64::from(size);
        self.pipe += u64::from(size);
        self.note_out(size);
        if self.dup_acks > 0 && self.state == Recovery::Open {
            self.limited = self.limited.saturating_add(u32::from(size));
        }
        self.arm(now, config);
        if self.own.is_some() {
            self.note_new_sent(now, config);
        }
    }

    /// The number of a [`Choice`] leaves again.
    pub(crate) fn retransmitted(
        &mut self,
        now: Time,
        choice: Choice,
        tag: u32,
        pair: PairPosition,
        config: &StreamConfig,
    ) {
        let Some(number) = choice.again() else { return };
        self.last_sent = now;
        let record = self.ring.get_mut(number);
        if record.is_sacked() {
            // Only what is forced leaves in spite of that.
            record.forget_sack();
            self.sacked -= 1;
            self.sacked_above -= u32::from(number >= self.lost_edge);
        }
        self.pipe += self.ring.get_mut(number).send_again(now, tag, pair);
        self.note_out(self.size_of(number));
        let is_probe = matches!(choice, Choice::Probe(_)) && self.take_probe(true);
        if let Choice::Rescue(_) = choice {
            self.rescue_after = NO_RESCUE;
        } else if !is_probe {
            self.next_retransmit = self.next_retransmit.max(number + 1);
        }
        self.note_retransmitted(now, number);
        self.forced = false;
        self.timed = NONE;
        if !is_probe {
            self.doubt_sent(now);
        }
        self.arm(now, config);
    }

    /// Starts the timer if it is off (RFC 6298 §5.1); packet-pair restarts it with every packet.
    #[inline]
    pub(crate) fn arm(&mut self, now: Time, config: &StreamConfig) {
        if self.deadline.is_never() || self.mode == Reliability::Offsets {
            self.restart_timer(now, config);
        }
    }

    #[inline]
    fn restart_timer(&mut self, now: Time, config: &StreamConfig) {
        self.deadline = now + self.rtt.timeout(&config.rto).max(Span::from_nanos(1));
    }
}
