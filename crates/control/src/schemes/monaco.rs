//! Monaco's accumulation estimator, the receiver's half of the scheme `monaco`. The sender's half, which follows what
//! is reported here, is in `accumulation/`.
//!
//! Source: Xia et al., "Accumulation-based Congestion Control", §IV-B.1. Once per round trip the sender lets two
//! control packets go back to back. One skips the queues of routers in a priority lane (out of band, OB); the other
//! waits in them behind the flow's data (in band, IB). So
//!
//! ```text
//! ftt_q = arrival of IB - arrival of OB      the queueing time of the way forth
//! a     = egress rate · (ftt_q + virtual)    Little's law; virtual: delay that AVD routers wrote into IB (§IV-D)
//! ```
//!
//! with the egress rate averaged exponentially, one sample per control period. Neither propagation delay nor the way
//! back enters. IB also says how many bytes the sender has let go: what is missing is lost.
//!
//! Two packets leave a router's output one after the other, so OB waits for the packet in transmission as IB does, and
//! `ftt_q` counts what *waits*, as a queue's length does here, and IB's own transmission (40 bytes).
//!
//! Not in the paper: a network without a priority lane. There OB waits as IB does, the difference is always nothing,
//! and the window would grow until loss. The receiver sees this: OB's one-way delay rises with every round trip while
//! nothing seems to wait. After [`RISES`] such rises it estimates from IB's one-way delay above its minimum instead
//! (the trouble with base delays is back, but not that with the way back), says so in the note `priority_lane`, and
//! returns when OB overtakes IB again. A longer route is one rise and does not count. With a coarse clock only rises of more
//! than a tick count, and the smallest delay lies up to a tick below the true one, which then looks queued.
//!
//! Where one of several congested hops lacks the lane, OB still overtakes at the others, and the queue of that hop is not
//! counted. This, too, is seen and said: the note is 0.5 once OB's one-way delay has swung up and down by more than
//! [`SWING`] packet times at the egress rate, four times within fifty pairs. With lanes everywhere OB waits for the one
//! packet in transmission at each hop, in those packet times the flow's share of the hop's rate; the sum over hops hardly
//! passes 2, let alone from one extreme to the other and back. A longer route and a clock that steps are one swing, a
//! clock that drifts is none. What else makes delays swing, as radio links do, is taken for queues. AVD routers have no
//! lane and need none: where virtual delay was added, nothing is concluded. A queue that stands still delays as a longer
//! way would and is not noticed; how often one is, and what overlooking it costs, is in `docs/accumulation.md`.

use tailback_core::{
    Arrival, BitRate, Bytes, ControlInfo, Cx, FeedbackPolicy, Kind, Lane, Outgoing, Report, Span, Time,
};

use crate::accumulation::Swings;
use crate::clock::Clock;

/// So many round trips in which the out-of-band packet took longer than before show that it waits in queues.
const RISES: u32 = 6;
/// So many pairs whose out-of-band packet overtook more than a packet show that there is a priority lane after all.
const OVERTAKES: u32 = 3;
/// In packets of data: a swing of the out-of-band packet's delay by more cannot come from packets in transmission.
const SWING: f64 = 2.0;
/// A report on the wire: header and six numbers.
const REPORT_SIZE: Bytes = Bytes::new(64);

/// A control packet that arrived.
#[derive(Clone, Copy, Debug)]
struct Mark {
    pair: u64,
    arrived: Time,
    /// Bytes of data that had arrived before it.
    received: u64,
    /// Bytes of data that had left before it.
    sent: u64,
}

/// The receiver's half of Monaco.
#[derive(Clone, Debug)]
pub struct MonacoPolicy {
    gain: f64,
    clock: Clock,
    /// A packet of data, in bytes.
    packet: f64,
    received: u64,
    out_of_band: Option<Mark>,
    in_band: Option<Mark>,
    /// Bytes per second.
    egress: Option<f64>,
    lost: u64,
    watch: LaneWatch,
    due: Option<Report>,
}

impl MonacoPolicy {
    /// A receiver that averages the egress rate with `gain`, for packets of `packet` bytes.
    pub fn new(gain: f64, packet: Bytes) -> Self {
        Self::with_clock(gain, packet, Span::ZERO)
    }

    /// One whose clock, like the sender's, shows multiples of `tick`; an exact one where that is zero.
    pub fn with_clock(gain: f64, packet: Bytes, tick: Span) -> Self {
        Self {
            gain,
            clock: Clock::new(tick),
            packet: packet.as_f64().max(1.0),
            received: 0,
            out_of_band: None,
            in_band: None,
            egress: None,
            lost: 0,
            watch: LaneWatch { tick: i128::from(tick.as_nanos()), ..LaneWatch::default() },
            due: None,
        }
    }

    fn on_control(&mut self, now: Time, arrival: &Arrival<'_>, info: &ControlInfo, cx: &mut Cx<'_>) {
        let now = self.clock.read(now);
        let info = &ControlInfo { sent_at: self.clock.read(info.sent_at), ..*info };
        let mark =
            Mark { pair: info.pair, arrived: now, received: self.received, sent: info.bytes_sent.get() };
        let is_newer = |known: Option<Mark>| known.is_none_or(|known| known.pair < info.pair);
        if arrival.packet.lane() == Lane::OUT_OF_BAND {
            if is_newer(self.out_of_band) {
                self.out_of_band = Some(mark);
                self.watch.out_of_band = one_way(now, info);
            }
        } else if is_newer(self.in_band) {
            if let Some(before) = self.in_band.replace(mark) {
                self.end_period(&before, &mark);
            }
            let pair = self.out_of_band.filter(|first| first.pair == info.pair);
            if let Some(first) = pair {
                self.measure(&first, &mark, info, cx);
            }
        }
    }

    /// The egress rate and the losses of a control period.
    fn end_period(&mut self, before: &Mark, mark: &Mark) {
        let received = mark.received - before.received;
        let sent = mark.sent.saturating_sub(before.sent);
        self.lost = self.lost.saturating_add(sent.saturating_sub(received));
        let span = mark.arrived.since(before.arrived).as_secs_f64();
        if span > 0.0 {
            let rate = received as f64 / span;
            self.egress = Some(self.egress.map_or(rate, |known| known + self.gain * (rate - known)));
        }
    }

    fn measure(&mut self, first: &Mark, mark: &Mark, info: &ControlInfo, cx: &mut Cx<'_>) {
        let rate = self.egress.unwrap_or(0.0);
        let overtaken = mark.arrived.since(first.arrived);
        let waited = self.watch.queueing(overtaken, info, mark.arrived, rate / self.packet);
        let backlog = rate * (waited + info.virtual_delay).as_secs_f64();
        cx.note("accumulation", backlog);
        cx.note("egress_rate", rate * 8.0);
        cx.note("out_of_band_delay", self.watch.above_smallest());
        cx.note("priority_lane", self.watch.lane());
        self.due = Some(Report::Accumulation {
            pair: mark.pair,
            backlog,
            lost: Bytes::new(std::mem::take(&mut self.lost)),
            egress_rate: BitRate::from_bits_per_sec_f64(rate * 8.0),
            virtual_delay: info.virtual_delay,
        });
    }
}

impl FeedbackPolicy for MonacoPolicy {
    fn on_arrival(&mut self, now: Time, arrival: &Arrival<'_>, cx: &mut Cx<'_>) {
        match arrival.packet.kind() {
            Kind::Data => self.add_data(arrival.packet.size()),
            Kind::Control => {
                if let Some(info) = arrival.control() {
                    self.on_control(now, arrival, info, cx);
                }
            }
            Kind::Ack | Kind::Report => {}
        }
    }

    /// Reports answer control packets.
    fn sums_data(&self) -> bool {
        true
    }

    fn answers_at_once(&self) -> bool {
        true
    }

    fn add_data(&mut self, bytes: Bytes) {
        self.received += bytes.get();
    }

    fn poll_report(&mut self, _: Time, _: &mut Cx<'_>) -> Option<Outgoing> {
        let report = self.due.take()?;
        Some(Outgoing { report, lane: Lane::OUT_OF_BAND, size: REPORT_SIZE })
    }
}

/// One-way delay in nanoseconds, up to the unknown difference of two clocks.
fn one_way(now: Time, info: &ControlInfo) -> i128 {
    i128::from(now.as_nanos()) - i128::from(info.sent_at.as_nanos())
}

/// Tells a network whose priority lane does not work from an empty one.
#[derive(Clone, Debug, Default)]
struct LaneWatch {
    /// The clock's granularity in nanoseconds: smaller differences are none.
    tick: i128,
    /// The newest out-of-band packet's one-way delay.
    out_of_band: i128,
    before: Option<i128>,
    smallest: Option<i128>,
    rises: u32,
    overtakes: u32,
    /// No priority lane: estimates are made from one-way delays.
    missing: bool,
    swings: Swings,
    /// Some hop has no priority lane.
    partial: bool,
}

impl LaneWatch {
    /// The time that the in-band packet, which arrives now, waited; `rate` in packets per second.
    fn queueing(&mut self, overtaken: Span, info: &ControlInfo, now: Time, rate: f64) -> Span {
        let smallest = self.smallest.map_or(self.out_of_band, |known| known.min(self.out_of_band));
        self.smallest = Some(smallest);
        self.look(overtaken + info.virtual_delay, rate);
        self.look_for_swings(info.virtual_delay, rate);
        if !self.missing {
            return overtaken;
        }
        Span::from_nanos(u64::try_from(one_way(now, info) - smallest).unwrap_or(0)).max(overtaken)
    }

    /// What is known of the lane: 1 where there is one, 0.5 where some hop lacks it, 0 where there is none.
    fn lane(&self) -> f64 {
        match (self.missing, self.partial) {
            (true, _) => 0.0,
            (false, true) => 0.5,
            (false, false) => 1.0,
        }
    }

    fn look_for_swings(&mut self, virtual_delay: Span, rate: f64) {
        if self.missing || virtual_delay > Span::ZERO {
            (self.swings, self.partial) = (Swings::default(), false);
        } else if rate > 0.0 {
            let least = ((SWING * 1e9 / rate) as i128).saturating_add(2 * self.tick);
            self.partial |= self.swings.sample(self.out_of_band, least);
        }
    }

    /// How much longer than ever the newest out-of-band packet took, in seconds.
    fn above_smallest(&self) -> f64 {
        self.smallest.map_or(0.0, |smallest| (self.out_of_band - smallest) as f64 * 1e-9)
    }

    /// `queueing` is what control packets show, virtual delay included: an AVD router needs no priority lane.
    fn look(&mut self, queueing: Span, rate: f64) {
        let packets = |nanos: f64| nanos * 1e-9 * rate;
        if packets(queueing.as_nanos() as f64) > 1.0 {
            self.rises = 0;
            self.overtakes += 1;
            self.missing &= self.overtakes < OVERTAKES;
        } else {
            self.overtakes = 0;
            let rise = self.before.map_or(0, |before| self.out_of_band - before);
            if rise.abs() <= self.tick && self.before.is_some() {
                return;
            }
            if packets(rise as f64) > 0.1 {
                self.rises += 1;
            } else if rise < 0 {
                self.rises = self.rises.saturating_sub(1);
            }
            self.missing |= self.rises >= RISES;
        }
        self.before = Some(self.out_of_band);
    }
}
