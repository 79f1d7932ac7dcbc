//! The sending endpoint of a reliable stream to many receivers at once: new data leaves once and the network copies it
//! where routes part, every receiver acknowledges for itself, and what one receiver misses is retransmitted to it alone.
//!
//! Source: S. Keshav, "Packet-Pair Flow Control" (1994), §10.2: acknowledgements are told apart by whom they come from,
//! data leaves at the rate of the slowest receiver, and every receiver has a retransmission queue of its own. Any scheme
//! can be run so: each receiver has its own loss recovery and its own controller, as if it were alone, and the sender obeys
//! them all: the smallest rate, and room in every window.
//!
//! A receiver's packets and acknowledgements carry a flow number of its own; new data carries the group's. How routes
//! part is the simulator's business. Not supported: handshakes, stamps, reports that schemes at the receiver send, pacing,
//! and receivers that come or go; one that is silent holds up all.

mod branch;
#[cfg(test)]
mod cost;
mod output;
mod silent;
mod standing;

use std::collections::BTreeMap;
use std::sync::Arc;

use tailback_control::AnyController;
use tailback_core::{
    AppHint, AppInput, BitRate, Bytes, Controller, Directive, Endpoint, EndpointCx, Event, FlowId, Input,
    Kind, Observation, Output, Packet, Time,
};

use crate::application::Application;
use crate::config::{StreamConfig, wire_size};
use crate::counters::SenderCounters;
use crate::shaper::Shaper;
use crate::source::{AnySource, Source};
use crate::stream::{Ack, LossRecovery};
use crate::teller::{Books, Teller};
use branch::Branch;
use output::Asked;
pub use silent::Silent;
use standing::{Standing, Standings};

/// A reliable stream's sender to many receivers.
pub struct MulticastSender<C = AnyController, S = AnySource> {
    group: FlowId,
    branches: Vec<Branch<C>>,
    /// The places of receivers among them.
    places: BTreeMap<FlowId, usize>,
    standings: Standings,
    /// What it was last asked whether it has room.
    asked: Asked,
    shaper: Shaper,
    app: Application<S>,
    config: Arc<StreamConfig>,
    receive_window: u64,
    header: u16,
    payload: u16,
    wake: Time,
    /// The receiver whose losses are looked at first.
    turn: usize,
    app_limited: bool,
    stopped: bool,
    counters: SenderCounters,
}

impl<C: Controller, S: Source> MulticastSender<C, S> {
    /// A sender of group `group` to receivers of these flow numbers, at least one, each with its controller.
    pub fn new(
        group: FlowId,
        config: impl Into<Arc<StreamConfig>>,
        receivers: impl IntoIterator<Item = (FlowId, C)>,
        source: S,
    ) -> Self {
        let config: Arc<StreamConfig> = config.into();
        let branch = |(flow, controller): (FlowId, C)| Branch {
            flow,
            directive: controller.directive(),
            teller: Teller::new(controller),
            recovery: LossRecovery::new(flow, &config),
        };
        let branches: Vec<_> = receivers.into_iter().map(branch).collect();
        let mut sender = Self {
            group,
            // Of two that are called the same the first hears.
            places: (0..branches.len()).rev().map(|place| (branches[place].flow, place)).collect(),
            standings: Standings::new(branches.len()),
            asked: Asked::default(),
            branches,
            shaper: Shaper::new(Time::ZERO, config.segment_size),
            app: Application::new(source),
            receive_window: config.receive_window_bytes(),
            header: wire_size(config.header),
            payload: wire_size(config.segment_size.saturating_sub(config.header)),
            wake: Time::NEVER,
            turn: 0,
            app_limited: false,
            stopped: false,
            counters: SenderCounters::default(),
            config,
        };
        sender.stand_all();
        sender
    }

    /// How a receiver stands, as of its last input.
    fn standing(&self, place: usize) -> Standing {
        standing::looked();
        let branch = &self.branches[place];
        let (fits, fits_behind) = self.fits(branch, self.asked);
        Standing {
            first: branch.recovery.first(),
            timer: branch.timer(),
            slowest: (branch.directive.rate.map_or(u64::MAX, BitRate::bits_per_sec), place),
            closed: if branch.directive.gate.is_open() { usize::MAX } else { place },
            misses: self.missing(branch).again().is_some(),
            fits,
            fits_behind,
        }
    }

    /// One receiver stands otherwise: after whatever it, or its controller, has heard.
    fn stand(&mut self, place: usize) {
        self.branches[place].recovery.settle();
        self.standings.set(place, self.standing(place));
    }

    /// All stand otherwise.
    fn stand_all(&mut self) {
        self.branches.iter_mut().for_each(|branch| branch.recovery.settle());
        let standings: Vec<_> = (0..self.branches.len()).map(|place| self.standing(place)).collect();
        self.standings.set_all(standings.into_iter());
    }

    /// What was counted so far.
    pub fn counters(&self) -> &SenderCounters {
        &self.counters
    }

    /// The lowest rate that any receiver's controller directs.
    pub fn rate(&self) -> Option<BitRate> {
        self.slowest().and_then(|branch| branch.directive.rate)
    }

    /// The receiver whose controller directs the lowest rate; the first of those that direct none where none does.
    fn slowest(&self) -> Option<&Branch<C>> {
        self.branches.get(self.standings.worst().slowest.1)
    }

    /// One beyond the last number that all receivers have acknowledged.
    fn first(&self) -> u64 {
        if self.branches.is_empty() { 0 } else { self.standings.worst().first }
    }

    /// The next new number.
    fn end(&self) -> u64 {
        self.branches.first().map_or(0, |branch| branch.recovery.end())
    }

    /// Combines what all controllers direct; after every call to any of them.
    fn obey(&mut self, now: Time, cx: &mut EndpointCx<'_>) {
        let Some(slowest) = self.slowest() else { return };
        let closed = self.branches.get(self.standings.worst().closed);
        let gate = closed.map(|branch| branch.directive.gate).unwrap_or_default();
        // A receiver that has not been measured yet directs no rate but a window, which holds back all.
        let directive = Directive { gate, ..slowest.directive };
        self.shaper.direct(now, &directive, cx.rng);
    }

    // ── input ──

    fn on_ack(&mut self, now: Time, packet: &Packet, cx: &mut EndpointCx<'_>) {
        let annex = cx.take_annex(packet);
        let ack = Ack::read(packet, annex.as_ref());
        let app_limited = self.app_limited;
        let Some(&place) = self.places.get(&packet.flow) else { return };
        let branch = &mut self.branches[place];
        let Some(outcome) = branch.recovery.on_ack(now, &ack, &self.config) else {
            self.stand(place);
            return;
        };
        self.counters.note(outcome.event);
        branch.tell(now, &outcome, app_limited, cx);
        self.stand(place);
        self.obey(now, cx);
    }

    fn on_timers(&mut self, now: Time, cx: &mut EndpointCx<'_>) {
        let app_limited = self.app_limited;
        let mut from = 0;
        while let Some(place) = self.standings.next(from, |standing| standing.timer <= now) {
            from = place + 1;
            let branch = &mut self.branches[place];
            if let Some(outcome) = branch.recovery.on_timeout(now, &self.config) {
                self.counters.timeouts += 1;
                self.shaper.on_timeout(now, cx.rng);
                branch.tell(now, &outcome, app_limited, cx);
            }
            if branch.teller.controller.next_timer().is_some_and(|at| at <= now) {
                branch.teller.controller.on_timer(now, &mut cx.control());
                branch.obey();
            }
            self.stand(place);
        }
        self.obey(now, cx);
    }

    fn on_app(&mut self, now: Time, input: AppInput, cx: &mut EndpointCx<'_>) {
        match input {
            AppInput::Start => {
                self.app.start(now, cx.rng);
                self.obey(now, cx);
            }
            AppInput::Write(bytes) => self.app.write(bytes, false, now, self.end()),
            AppInput::Close => self.app.close(now),
            AppInput::Stop => {
                self.app.stop(now);
                self.stopped = true;
            }
        }
    }

    /// Tells the application what it may send.
    fn hint(&mut self) -> AppHint {
        let size = f64::from(self.payload) + f64::from(self.header);
        let payload = f64::from(self.payload) / size.max(1.0);
        self.app.tell(self.rate().map(|rate| rate.mul_f64(payload)), self.shaper.gate())
    }

    fn take_offers(&mut self, now: Time, cx: &mut EndpointCx<'_>) {
        if self.app.next_offer() <= now {
            self.hint();
            self.app.take_offers(now, self.end(), cx.rng);
        }
    }

    fn event(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Option<Event> {
        let first = self.first();
        if let Some((size, began)) = self.app.message_done(first, now, cx.rng) {
            self.take_offers(now, cx);
            return Some(Event::MessageDone { size, began });
        }
        let idle = first == self.end();
        if idle && self.app.is_holding() && self.app.release_held(first) {
            return None;
        }
        (idle && self.app.finish()).then_some(Event::Finished)
    }
}

impl<C: Controller, S: Source> Endpoint for MulticastSender<C, S> {
    fn handle(&mut self, now: Time, input: Input, cx: &mut EndpointCx<'_>) {
        if self.wake < now {
            self.shaper.called_late(self.wake, now);
        }
        match input {
            Input::Packet(packet) => {
                self.counters.received += 1;
                self.counters.received_bytes += packet.size();
                if packet.kind() == Kind::Ack {
                    let before = self.first();
                    self.on_ack(now, &packet, cx);
                    let acked = self.first() - before;
                    self.counters.acked_packets += acked;
                    self.counters.acked += self.config.segment_size * acked;
                } else {
                    cx.annexes.free(packet.annex);
                }
            }
            Input::Timeout => self.on_timers(now, cx),
            Input::App(input) => self.on_app(now, input, cx),
        }
        self.take_offers(now, cx);
    }

    fn poll(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Output {
        if self.stopped {
            return Output::Wait(None);
        }
        if self.shaper.take_gate_change() {
            return Output::Event(Event::Hint(self.hint()));
        }
        if let Some(event) = self.event(now, cx) {
            return Output::Event(event);
        }
        if let Some(packet) = self.data_packet(now, cx) {
            return Output::Transmit(packet);
        }
        let timer = self.standings.worst().timer;
        Output::Wait(timer.min(self.wake).min(self.app.next_offer()).finite())
    }

    fn observe(&self) -> Observation {
        let rtt = self.config.rto.clone();
        let in_flight = self.branches.iter().map(|branch| branch.recovery.in_flight()).max();
        let slowest = self.branches.iter().max_by_key(|branch| branch.recovery.rtt().smoothed(&rtt));
        Observation {
            messages: self.app.begun(),
            gate: self.shaper.gate_times(),
            window: self.branches.iter().filter_map(|branch| branch.directive.window).min(),
            rate: self.rate(),
            in_flight: Bytes::new(in_flight.unwrap_or(0)),
            rtt_samples: slowest.map_or(0, |branch| branch.recovery.rtt().samples()),
            latest_rtt: slowest.and_then(|branch| branch.recovery.rtt().latest()),
            smoothed_rtt: slowest.and_then(|branch| branch.recovery.rtt().smoothed(&rtt)),
            ..self.counters.observe()
        }
    }
}
