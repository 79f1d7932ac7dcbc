//! The receiving endpoint of a reliable byte stream: reassembly, acknowledgements, echoes of marks and the reports
//! of a feedback policy. What the reports say is decided by the policy, what the sender may ask for in `receiver/asked.rs`.

mod asked;
mod compression;
mod config;
mod duplicates;
mod reading;
pub(crate) mod reassembly;
pub(crate) mod reports;
mod straight;

use std::sync::Arc;

use tailback_control::EcnEcho;
use tailback_core::{
    Annex, AnnexId, Bytes, Echoes, Ecn, Endpoint, EndpointCx, Event, FeedbackPolicy, FlowId, Input, Kind,
    LowRange, Observation, Output, Packet, SeqRange, Time,
};

use crate::counters::ReceiverCounters;
use asked::Asked;
use compression::Compressing;
pub use compression::SackCompression;
pub use config::{AckDetail, ReceiverConfig};
use reassembly::{Arrived, Reassembly};
use reports::Reports;

/// A stamp that a segment carried.
#[derive(Clone, Copy, Debug, Default)]
struct Stamp {
    /// The time in it, until it is echoed.
    echo: Option<Time>,
    /// When the segment arrived.
    arrived: Time,
}

/// What most receivers never need: what segments carried beside data, and why acknowledgements wait.
#[derive(Default)]
struct Told {
    /// The newest stamp.
    stamp: Stamp,
    /// The newest request.
    asked: Option<Asked>,
    /// Acknowledgements that wait for each other.
    compressing: Compressing,
    /// What arrived twice since the last acknowledgement, where that is told.
    twice: Option<SeqRange>,
    /// By when the program will have read what is there.
    read_by: Time,
    /// The straight way is left out, to compare with.
    no_straight_way: bool,
}

/// A reliable byte stream's receiver.
#[expect(clippy::struct_excessive_bools, reason = "three marks are echoed independently of each other")]
pub struct Receiver {
    stream: Reassembly,
    /// What is in force: as it was configured, or as the sender has asked.
    config: Arc<ReceiverConfig>,
    flow: FlowId,
    header: u16,
    /// Whether segments in order may go the straight way, and whether the acknowledgement of one is due.
    may_go_straight: bool,
    next_due: bool,
    /// An acknowledgement must leave now.
    ack_due: bool,
    /// Congestion Experienced was seen and is echoed.
    ecn_echo: bool,
    rho: bool,
    eta: bool,
    /// All marks that arrived, where they are counted.
    marks: Option<Box<Echoes>>,
    /// An acknowledgement that must leave before any other: of what came before the echo changed.
    earlier: Option<Box<Packet>>,
    /// Segments in order that are not acknowledged yet.
    unacknowledged: u32,
    ack_deadline: Time,
    /// The number of the segment that arrived last.
    trigger: u64,
    /// What most never need, where it was needed.
    told: Option<Box<Told>>,
    readable: Bytes,
    reports: Option<Box<Reports>>,
    counters: ReceiverCounters,
}

impl Receiver {
    /// A receiver that expects segment 0.
    pub fn new(flow: FlowId, config: impl Into<Arc<ReceiverConfig>>) -> Self {
        let config: Arc<ReceiverConfig> = config.into();
        Self {
            stream: Reassembly::default(),
            may_go_straight: Self::is_plain(&config),
            next_due: false,
            header: u16::try_from(config.header.get()).unwrap_or(u16::MAX),
            config,
            flow,
            ack_due: false,
            ecn_echo: false,
            rho: false,
            eta: false,
            marks: None,
            earlier: None,
            unacknowledged: 0,
            ack_deadline: Time::NEVER,
            trigger: 0,
            told: None,
            readable: Bytes::ZERO,
            reports: None,
            counters: ReceiverCounters::default(),
        }
    }

    /// Adds the receiver's half of a scheme, whose reports travel beside the acknowledgements.
    #[must_use]
    pub fn with_policy(mut self, policy: Box<dyn FeedbackPolicy + Send>) -> Self {
        let reports = Reports::new(policy);
        self.may_go_straight &= reports.sums_data();
        self.reports = Some(Box::new(reports));
        self
    }

    /// What was counted so far.
    pub fn counters(&self) -> &ReceiverCounters {
        &self.counters
    }

    /// Whether it acts on packets alone and answers each at once: it never asks for a timer, and draws nothing at random.
    pub fn answers_at_once(&self) -> bool {
        let config = &self.config;
        let waits = config.sack_compression.is_some() || config.reading.is_some();
        let is_prompt = config.ack_every <= 1 && !config.ack_requests && !waits;
        is_prompt && self.reports.as_ref().is_none_or(|reports| reports.answers_at_once())
    }

    /// The next number expected.
    pub fn next_expected(&self) -> u64 {
        self.stream.next()
    }

    #[inline(always)]
    fn on_packet(&mut self, now: Time, packet: &Packet, cx: &mut EndpointCx<'_>) {
        if packet.kind() == Kind::Data && self.reports.is_none() {
            let stamp = if self.config.ack_requests {
                self.open(now, packet.annex, cx)
            } else {
                // In place: an annex is large, and the stamp is all that is read of it.
                let stamp = cx.annexes.stamped_at(packet.annex);
                cx.annexes.free(packet.annex);
                stamp
            };
            self.on_data(now, packet, stamp, cx);
            return;
        }
        let mut annex = if packet.annex.is_some() { cx.take_annex(packet) } else { None };
        let fresh = match packet.kind() {
            Kind::Data => {
                if let Some(request) = annex.as_ref().and_then(Annex::request) {
                    self.hear(now, request);
                }
                // A request is the receiver's alone: to the policy such a packet is data like other.
                annex = annex.filter(|annex| !matches!(annex, Annex::Request(_)));
                self.on_data(now, packet, annex.as_ref().and_then(Annex::stamped_at), cx)
            }
            Kind::Control => {
                self.counters.control_packets += 1;
                self.counters.control_bytes += packet.size();
                true
            }
            Kind::Ack | Kind::Report => return,
        };
        if let Some(reports) = &mut self.reports {
            if packet.kind() == Kind::Data && annex.is_none() && reports.add_data(packet.size()) {
                return;
            }
            let copy = *packet;
            reports.on_arrival(now, &copy, annex.as_ref(), fresh, cx);
        }
    }

    /// The time in a data packet's annex, which is let go; a request in it is heard.
    #[inline(never)]
    fn open(&mut self, now: Time, annex: AnnexId, cx: &mut EndpointCx<'_>) -> Option<Time> {
        let (stamp, request) = (cx.annexes.stamped_at(annex), cx.annexes.request(annex));
        cx.annexes.free(annex);
        if let Some(request) = request {
            self.hear(now, request);
        }
        stamp
    }

    /// A segment arrived, with the time that was stamped into it, if any; whether for the first time.
    #[inline(always)]
    fn on_data(&mut self, now: Time, packet: &Packet, stamp: Option<Time>, cx: &mut EndpointCx<'_>) -> bool {
        let size = packet.size();
        self.counters.packets += 1;
        self.counters.bytes += size;
        if self.config.sack_compression.is_some() {
            self.tell_before_ranges_are_forgotten(packet.number, cx);
        }
        let marked = self.read_marks(packet, cx);
        self.trigger = packet.number;
        if stamp.is_some() {
            self.told.get_or_insert_default().stamp = Stamp { echo: stamp, arrived: now };
        }
        let payload = size.get().saturating_sub(u64::from(self.header));
        // The request for a connection is segment 0, and nothing is timed behind the first segment of data.
        if self.stream.next() <= 1 && self.config.sack_compression.is_some() {
            self.time_handshake(now, payload == 0);
        }
        match self.stream.arrive(packet.number, size.get(), payload) {
            Arrived::InOrder { readable, filled } => {
                self.counters.delivered_packets += readable.packets;
                self.counters.delivered += Bytes::new(readable.wire);
                self.counters.goodput += Bytes::new(readable.payload);
                self.readable += Bytes::new(readable.payload);
                self.unacknowledged += 1;
                // A segment without data asks for a connection: only acknowledgements of data may wait (RFC 5681 §4.2,
                // RFC 9293 §3.10.7.2). Behind PSH nothing may follow soon, which Linux acknowledges at once.
                let alone = payload == 0 || packet.is_pushed();
                let is_read = self.config.reading.is_some() && payload > 0;
                if is_read {
                    self.wake_reader(now, cx);
                }
                if self.config.ack_every <= self.unacknowledged || filled || marked || alone {
                    if is_read && !filled && !marked {
                        self.acknowledge_when_read();
                    } else {
                        self.ack_due = true;
                    }
                    if filled && self.config.sack_compression.is_some() {
                        self.count_partial_fill(readable.packets);
                    }
                } else if self.ack_deadline.is_never() {
                    self.ack_deadline = now + self.config.ack_delay;
                }
                true
            }
            Arrived::Beyond => {
                self.ack_due |=
                    marked || self.config.sack_compression.is_none() || !self.waits_beside_hole(now);
                true
            }
            Arrived::Duplicate => {
                self.counters.duplicates += 1;
                if self.config.dsack == Some(true) {
                    self.note_duplicate(packet.number);
                }
                let is_beyond = packet.number > self.stream.next() && self.config.sack_compression.is_some();
                self.ack_due |= marked || !is_beyond || !self.waits_beside_hole(now);
                false
            }
        }
    }

    /// Takes a segment's marks into the echoes; whether a mark wants to be acknowledged at once. A mark on what was
    /// delivered before, outside the window, says nothing (RFC 3168 §6.1.5).
    #[inline(always)]
    fn read_marks(&mut self, packet: &Packet, cx: &mut EndpointCx<'_>) -> bool {
        if !matches!(self.config.ecn_echo, EcnEcho::Latched | EcnEcho::PerPacket) {
            // Of a copy, here and below: a packet whose address goes to a call stays in memory all the time.
            let copy = *packet;
            return if self.config.ecn_echo == EcnEcho::StateChange {
                self.follow_marks(&copy, cx)
            } else {
                self.count_marks(&copy)
            };
        }
        self.rho |= packet.rho();
        self.eta |= packet.eta();
        let marked = packet.ecn() == Ecn::Ce;
        if packet.window_reduced() && self.config.ecn_echo == EcnEcho::Latched {
            self.ecn_echo = false;
        }
        let mut begins = false;
        if marked {
            self.counters.ce_marked += 1;
            begins = self.is_first_mark_urgent();
            self.ecn_echo |= packet.number >= self.stream.next();
        }
        marked && (begins || self.config.ecn_echo == EcnEcho::PerPacket)
    }

    /// The two states of RFC 8257 §3.2: the echo is the mark of the newest segment. Where it changes, what waits to be
    /// acknowledged is so at once, with the echo as it was.
    #[cold]
    fn follow_marks(&mut self, packet: &Packet, cx: &mut EndpointCx<'_>) -> bool {
        self.rho |= packet.rho();
        self.eta |= packet.eta();
        let marked = packet.ecn() == Ecn::Ce;
        self.counters.ce_marked += u64::from(marked);
        if marked != self.ecn_echo {
            if self.unacknowledged > 0 {
                self.earlier = Some(Box::new(self.acknowledge(cx)));
            }
            let urgent = marked && self.is_first_mark_urgent();
            self.ecn_echo = marked;
            return urgent;
        }
        false
    }

    /// Counts a segment's marks, of data that arrived before, too: each was put on in the network. Whether congestion was
    /// experienced, which wants to be acknowledged at once.
    #[cold]
    fn count_marks(&mut self, packet: &Packet) -> bool {
        let marked = packet.ecn() == Ecn::Ce;
        self.counters.ce_marked += u64::from(marked);
        if self.config.ecn_echo == EcnEcho::Hidden {
            return false;
        }
        let marks = self.marks.get_or_insert_default();
        if self.config.ecn_echo == EcnEcho::Codepoints {
            marks.count_shared(packet);
        } else {
            marks.count(packet);
        }
        marked
    }

    #[inline(always)]
    fn acknowledge(&mut self, cx: &mut EndpointCx<'_>) -> Packet {
        self.ack_due = false;
        self.unacknowledged = 0;
        self.ack_deadline = Time::NEVER;
        let mut size = u64::from(self.header);
        let ranges = self.stream.has_holes() && self.config.max_sack_blocks > 0;
        let wants_trigger = self.config.ack_detail == AckDetail::Trigger;
        let stamp = self.told.as_mut().and_then(|told| Some((told.stamp.echo.take()?, told.stamp.arrived)));
        let (next, trigger) = (self.stream.next(), self.trigger);
        let marks = self.marks.as_deref().copied().unwrap_or_default();
        let mut count = 0;
        let mut write = |out: &mut [LowRange; 4]| {
            if ranges {
                count = self.stream.report(out, self.config.max_sack_blocks);
            }
            count
        };
        let annex = if let Some((echo, arrived)) = stamp {
            cx.annexes.insert_blocks(|said| {
                (said.trigger, said.echo, said.arrived, said.marks) =
                    (trigger, Some(echo), Some(arrived), marks);
                let mut lows = [LowRange::default(); 4];
                said.count = write(&mut lows);
                for (block, low) in said.blocks.iter_mut().zip(&lows[..usize::from(said.count)]) {
                    *block = low.above(next);
                }
            })
        } else if ranges || wants_trigger || self.marks.is_some() {
            cx.annexes.insert_brief(next, trigger, marks, write)
        } else {
            AnnexId::NONE
        };
        size += u64::from(count) * self.config.sack_block.get();
        let mut ack = Packet::new(Kind::Ack, self.flow, next, Bytes::new(size));
        ack.annex = annex;
        ack.set_ecn_echo(self.ecn_echo);
        ack.set_rho(std::mem::take(&mut self.rho));
        ack.set_eta(std::mem::take(&mut self.eta));
        if self.config.ecn_echo == EcnEcho::PerPacket {
            self.ecn_echo = false;
        }
        self.counters.acks += 1;
        self.counters.sent_bytes += ack.size();
        ack
    }
}

impl Endpoint for Receiver {
    #[inline(always)]
    fn handle(&mut self, now: Time, input: Input, cx: &mut EndpointCx<'_>) {
        match input {
            Input::Packet(packet) if self.take_next(&packet) => {}
            Input::Packet(packet) => self.on_packet(now, &packet, cx),
            Input::Timeout => self.ack_due |= now >= self.ack_deadline,
            Input::App(_) => {}
        }
    }

    #[inline(always)]
    fn poll(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Output {
        if let Some(earlier) = self.earlier.take() {
            return Output::Transmit(*earlier);
        }
        if self.next_due {
            return Output::Transmit(self.acknowledge_next());
        }
        if self.ack_due && self.has_duplicate() {
            return Output::Transmit(self.acknowledge_duplicate(cx));
        }
        if self.ack_due {
            return Output::Transmit(self.acknowledge(cx));
        }
        let mut timer = self.ack_deadline;
        if let Some(reports) = &mut self.reports {
            if let Some(report) = reports.poll(now, self.flow, cx) {
                self.counters.reports += 1;
                self.counters.sent_bytes += report.size();
                return Output::Transmit(report);
            }
            timer = timer.min(reports.next_timer());
        }
        if self.config.delivery_events && self.readable > Bytes::ZERO {
            return Output::Event(Event::Delivered(std::mem::take(&mut self.readable)));
        }
        Output::Wait(timer.finite())
    }

    fn observe(&self) -> Observation {
        self.counters.observe()
    }
}
