//! Accumulation-based congestion control, the sender's half: a window that follows an estimate of the flow's packets
//! queued in the network towards a target. The schemes `accumulation-aiad`, `accumulation-mw`, `accumulation-p`, with
//! any estimator, and `monaco`, which is the proportional law with Monaco's estimator.
//!
//! Source: Xia et al., "Accumulation-based Congestion Control", §III and §IV-B. Where each equation is:
//!
//! | | |
//! | --- | --- |
//! | laws (3), (5), (6) and (10), once per round trip | `laws/accumulation.rs` |
//! | Monaco's estimate, at the receiver | `schemes/monaco.rs` |
//! | its pairs of control packets and their timer | `accumulation/control_loop.rs` |
//! | Vegas's estimate (7), (8), at the sender | `accumulation/backlog.rs` |
//! | pacing by a leaky bucket of one packet at `cwnd / rtt`, halving at loss (§IV-B.2) | here |
//!
//! At rest a flow's rate is the weighted proportionally fair one, its target being its weight (appendix).
//!
//! What the paper leaves open, and how it is done here (measurements of each: `docs/accumulation.md`):
//!
//! - *Slow start*: the window doubles every other round trip while less than γ is queued, as Vegas does (Brakmo and
//!   Peterson 1995), so that the measurement that ends it was made with the window in force.
//! - *Losses* show twice, in Monaco's byte counts and in the repair of the stream; whichever comes first halves the window,
//!   the other is then silent for a round trip. A report that halves does nothing else. The counts also tell the transport what
//!   to retransmit (`crates/transport/src/stream/arrivals.rs`), an extension of ours.
//! - *Window and rate* both act: the window as whole packets, and the rate `cwnd / rtt`. By the rate alone, with RFC 6298's
//!   smoothing, ten flows are unstable.
//! - *The way back*: Monaco's round trip time is that of control packets, whose way back skips the queues there (§IV-B.1). A
//!   window counts packets until they are acknowledged, which takes longer where the way back is congested. So the rate is
//!   `cwnd / rtt` with Monaco's round trip time, and the window is the `cwnd` stretched by how much longer
//!   acknowledgements take. Equations 3, 5 and 6 divide by the round trip time of the window that they move: each change
//!   is divided by the stretch, too.
//! - *The next pair* of control packets leaves a random part of a packet's time after the report on the last: at once, it
//!   would keep its place between two packets of data for ever, and see the flow's own queue always at its longest or
//!   shortest.
//! - *Virtual queues* (AVD routers, §IV-D) leave windows of a packet or two: there the rate alone decides, and the window
//!   is rounded up to whole packets. The round trip time does not lengthen with a virtual queue, so each change is scaled
//!   by `rtt / (rtt + virtual delay)`.
//! - *Lies*: reports are taken only for the pair that is waited for, and not earlier than half the smallest round trip time
//!   after it left; a negative or absurd accumulation counts as zero. So a receiver gains at most AIMD(κ a*, 1/2), every
//!   half of a round trip.
//!
//! Open problems: standing queues grow with the number of flows (§III-C; AVD answers it); stability with delay is
//! shown by experiment only (§III-C, and the ledger's `accumulation/stability`).

mod config;

pub use config::{AccumulationConfig, AccumulationScheme, Estimator};
use tailback_core::{
    BitRate, Burst, Bytes, CongestionEvent, Controller, Cx, Directive, Feedback, ProbePlan, Recovery, Report,
    Sent, Span, Time,
};

use crate::accumulation::{BacklogEstimator, ControlLoop};
use crate::laws::accumulation::{Law, State};
use crate::parts::ControllerParams;

/// Acknowledgements that take longer than this do hold a flow back.
const MAX_STRETCH: f64 = 100.0;
/// Reports of more are not believed.
const MAX_VIRTUAL_DELAY: Span = Span::from_secs(10);

/// Where measurements come from.
#[derive(Clone, Debug)]
enum Measuring {
    Receiver(ControlLoop),
    Sender(BacklogEstimator),
}

/// What window and rate are directed by.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Aims {
    window: f64,
    /// The round trip time over which the window is spread, where it is paced.
    over: Option<Span>,
    stretch: f64,
    is_virtual: bool,
}

/// What is directed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Directed {
    rate: Option<BitRate>,
    window: Bytes,
}

/// The sender's half; amounts in packets.
#[derive(Clone, Debug)]
pub struct Accumulation {
    law: Law,
    gain: f64,
    target: f64,
    decrease: f64,
    pace: bool,
    segment: f64,
    window: f64,
    max: f64,
    measuring: Measuring,
    /// The accumulation that ends slow start, while that lasts.
    slow_start: Option<f64>,
    gamma: Option<f64>,
    ssthresh: f64,
    /// Slow start skips this round trip.
    skip: bool,
    rtt: Option<Span>,
    min_rtt: Span,
    /// The newest round trip of the control loop.
    control_rtt: Option<Span>,
    /// What AVD routers said last.
    virtual_delay: Span,
    /// Until then losses belong to a window that was reduced already.
    reduced_until: Time,
    /// Mostly both change once per round trip: a real number is no quick way to a whole one.
    aims: Aims,
    directed: Directed,
}

impl Accumulation {
    /// A connection's start.
    pub fn new(law: Law, config: &AccumulationConfig, params: &ControllerParams) -> Self {
        let segment = params.segment.as_f64().max(1.0);
        let max = (params.max_window.as_f64() / segment).max(1.0);
        let backlog = |history| BacklogEstimator::new(params.segment, history).with_clock(config.clock);
        let measuring = match config.estimator {
            Estimator::Monaco => {
                let control = ControlLoop::new(config.min_timeout, config.clock);
                Measuring::Receiver(control.with_early_pairs(config.early_pairs))
            }
            Estimator::Vegas => Measuring::Sender(backlog(None)),
            Estimator::VegasK => Measuring::Sender(backlog(Some(config.history))),
        };
        let gamma = config.gamma.map(|gamma| gamma.in_packets(params.segment));
        let window = (params.initial_window.as_f64() / segment).clamp(1.0, max);
        let mut start = Self {
            law,
            gain: config.kappa.unwrap_or(law.default_gain()),
            target: config.target.in_packets(params.segment),
            decrease: config.decrease,
            pace: config.pace,
            segment,
            window,
            max,
            measuring,
            slow_start: gamma,
            gamma,
            ssthresh: params.initial_ssthresh.map_or(f64::INFINITY, |bytes| bytes.as_f64() / segment),
            skip: true,
            rtt: None,
            min_rtt: Span::MAX,
            control_rtt: None,
            virtual_delay: Span::ZERO,
            reduced_until: Time::ZERO,
            aims: Aims { window, over: None, stretch: 1.0, is_virtual: false },
            directed: Directed { rate: None, window: Bytes::ZERO },
        };
        start.directed = start.follow_aims();
        start
    }

    /// What window and rate are to be directed by now.
    #[inline]
    fn aims_now(&self) -> Aims {
        Aims {
            window: self.window,
            over: self.control_rtt.or(self.rtt).filter(|_| self.pace),
            stretch: self.stretch(),
            is_virtual: self.virtual_delay > Span::ZERO,
        }
    }

    /// Window and rate by their aims.
    fn follow_aims(&self) -> Directed {
        let Aims { window, over, stretch, is_virtual } = self.aims;
        let rate = over.map(|rtt| {
            let seconds = rtt.as_secs_f64().max(1e-6);
            BitRate::from_bits_per_sec_f64((window * self.segment * 8.0 / seconds).clamp(1.0, 1e14))
        });
        let packets = window * stretch;
        let packets = if rate.is_some() && is_virtual { packets.ceil() } else { packets }.min(self.max);
        Directed { rate, window: Bytes::new((packets * self.segment) as u64) }
    }

    fn set(&mut self, window: f64) {
        self.window = window.clamp(1.0, self.max);
    }

    /// A round trip has shown `backlog` packets in the network's queues.
    fn follow(&mut self, backlog: f64, base: Span, feedback: &Feedback<'_>) {
        let backlog = if backlog.is_finite() { backlog.max(0.0) } else { 0.0 };
        let may_grow = feedback.window_limited && feedback.recovery != Recovery::Fast;
        if self.slow_start.is_some_and(|gamma| backlog > gamma) || self.window >= self.ssthresh {
            self.slow_start = None;
        }
        let change = if self.slow_start.is_some() {
            self.skip = !self.skip;
            if self.skip { 0.0 } else { self.window.min(self.ssthresh - self.window) }
        } else {
            let gain = self.gain * self.real_part() / self.stretch();
            self.law.change(gain, &State { backlog, target: self.target, window: self.window, base })
        };
        let change = if change > 0.0 && self.slow_start.is_none() { change * feedback.gain } else { change };
        if change < 0.0 || may_grow {
            // A virtual queue may hold more than a window; no single measurement may take more than half of it.
            self.set(self.window + change.max(-0.5 * self.window));
        }
    }

    /// The part of a round trip that is not virtual: control packets come so much more often than they would had they
    /// waited, and each may change the window so much less (the `1 / rtt` of equations 3, 5 and 6).
    fn real_part(&self) -> f64 {
        let rtt = self.rtt.unwrap_or(Span::ZERO).as_secs_f64();
        if rtt > 0.0 { rtt / (rtt + self.virtual_delay.as_secs_f64()) } else { 1.0 }
    }

    /// How much longer acknowledgements take than control packets and reports.
    fn stretch(&self) -> f64 {
        match (&self.measuring, self.rtt) {
            (Measuring::Receiver(control), Some(rtt)) => control.stretch(rtt).min(MAX_STRETCH),
            _ => 1.0,
        }
    }

    /// §IV-B.2: the window is halved "as in TCP Reno", once per window of data; whether it was.
    fn on_loss(&mut self, now: Time) -> bool {
        if now < self.reduced_until {
            return false;
        }
        self.reduced_until = now + self.rtt.unwrap_or(Span::from_millis(100));
        self.slow_start = None;
        self.set((self.window * self.decrease).max(2.0).min(self.window));
        true
    }

    fn on_event(&mut self, now: Time, event: CongestionEvent) {
        match event {
            CongestionEvent::Loss | CongestionEvent::Ecn => {
                self.on_loss(now);
            }
            CongestionEvent::Timeout { consecutive } => {
                if consecutive <= 1 {
                    self.ssthresh = (self.window * self.decrease).max(2.0);
                }
                self.set(1.0);
                self.slow_start = self.gamma;
                self.skip = true;
            }
            CongestionEvent::RecoveryEnd | CongestionEvent::Spurious | CongestionEvent::Idle => {}
        }
    }

    fn on_report(&mut self, now: Time, report: &Report, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        let Report::Accumulation { pair, backlog, lost, egress_rate, virtual_delay, .. } = *report else {
            return;
        };
        let Measuring::Receiver(control) = &mut self.measuring else { return };
        let left = Time::from_nanos(pair);
        if self.min_rtt < Span::MAX && now.since(left) < self.min_rtt / 2 {
            return;
        }
        let rate = egress_rate.bytes_per_sec();
        // See above: a random phase, one packet long; an idle flow asks nothing.
        let packet =
            Span::from_secs_f64(self.segment / rate.max(1.0)).min(control.smoothed().unwrap_or(Span::ZERO));
        let pause = (feedback.outstanding > Bytes::ZERO).then(|| packet.mul_f64(cx.rng.uniform()));
        let Some(rtt) = control.on_report(now, pair, pause) else { return };
        self.control_rtt = Some(rtt);
        let halved = lost > Bytes::ZERO && feedback.recovery != Recovery::Timeout && self.on_loss(now);
        let queueing = if rate > 0.0 { Span::from_secs_f64((backlog / rate).max(0.0)) } else { Span::ZERO };
        let base = rtt.saturating_sub(queueing.saturating_sub(virtual_delay));
        self.virtual_delay = virtual_delay.min(MAX_VIRTUAL_DELAY);
        // A report asks for one of "increase, decrease, or decrease-due-to-loss" (§IV-B.1).
        if !halved {
            self.follow(backlog / self.segment, base, feedback);
        }
        cx.note("reported_accumulation", backlog);
        cx.note("base_rtt", base.as_secs_f64());
    }
}

impl Controller for Accumulation {
    fn on_sent(&mut self, now: Time, sent: &mut Sent, _: &mut Cx<'_>) {
        match &mut self.measuring {
            Measuring::Receiver(control) => {
                control.on_sent(now);
            }
            Measuring::Sender(estimator) => estimator.on_sent(sent.number),
        }
    }

    /// Only a packet that starts the control loop changes anything: a pair of control packets leaves, and is waited for.
    fn hear_sent(&mut self, now: Time, sent: &mut Sent, _: &mut Cx<'_>) -> Option<(Directive, Option<Time>)> {
        let woken = match &mut self.measuring {
            Measuring::Receiver(control) => control.on_sent(now),
            Measuring::Sender(estimator) => {
                estimator.on_sent(sent.number);
                false
            }
        };
        woken.then(|| self.orders())
    }

    /// Mostly an acknowledgement changes neither window nor rate, which follow reports, nor the loop's timer.
    #[inline]
    fn hear_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) -> bool {
        let before = (self.next_timer(), self.directed);
        self.on_feedback(now, feedback, cx);
        (self.next_timer(), self.directed) != before
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        if let Some(rtt) = feedback.rtt {
            self.rtt = Some(rtt.smoothed);
            self.min_rtt = self.min_rtt.min(rtt.latest);
            if let Measuring::Receiver(control) = &mut self.measuring {
                control.on_ack(now, rtt.latest);
            }
        }
        if let Some(event) = feedback.event {
            self.on_event(now, event);
        }
        if let Some(report) = feedback.report {
            self.on_report(now, &report.report, feedback, cx);
        }
        if let Measuring::Sender(estimator) = &mut self.measuring
            && let Some(round) = estimator.on_feedback(now, feedback)
        {
            cx.note("accumulation", round.backlog * self.segment);
            self.follow(round.backlog, round.base, feedback);
        }
        let aims = self.aims_now();
        if aims != self.aims {
            self.aims = aims;
            self.directed = self.follow_aims();
        }
    }

    fn on_timer(&mut self, now: Time, _: &mut Cx<'_>) {
        if let Measuring::Receiver(control) = &mut self.measuring {
            control.on_timer(now);
        }
    }

    fn next_timer(&self) -> Option<Time> {
        match &self.measuring {
            Measuring::Receiver(control) => control.next_timer().finite(),
            Measuring::Sender(_) => None,
        }
    }

    fn directive(&self) -> Directive {
        let probe = match &self.measuring {
            Measuring::Receiver(control) => control.pair().map(|id| ProbePlan::ControlPair { id }),
            Measuring::Sender(_) => None,
        };
        debug_assert_eq!(self.aims, self.aims_now(), "changed together");
        debug_assert_eq!(self.directed, self.follow_aims(), "changed together");
        let Directed { rate, window } = self.directed;
        Directive { rate, burst: Burst::SINGLE, probe, ..Directive::window(window) }
    }
}
