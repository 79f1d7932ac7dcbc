//! The sending endpoint of a reliable stream to many receivers at once: new data leaves once and the network copies it
//! where routes part, every receiver acknowledges for itself, and what one receiver misses is sent again to it alone.
//!
//! Source: S. Keshav, "Packet-Pair Flow Control" (1994), §10.2: acknowledgements are told apart by whom they come from,
//! data leaves at the rate of the slowest receiver, and every receiver has a retransmission queue of its own. Any scheme
//! can be run so: each receiver has its own loss recovery and its own controller, as if it were alone, and the sender obeys
//! them all: the smallest rate, and room in every window.
//!
//! A receiver's packets and acknowledgements carry a flow number of its own; new data carries the group's. How routes
//! part is the simulator's business. Not supported: handshakes, stamps, reports that schemes at the receiver send, pacing,
//! and receivers that come or go; one that is silent holds up all.

use std::sync::Arc;

use tailback_control::AnyController;
use tailback_core::{
    Annex, AppInput, BitRate, Bytes, CongestionEvent, Controller, Directive, Echoes, Ecn, Endpoint,
    EndpointCx, Event, Feedback, FlowId, Gate, Input, Kind, Observation, Output, Packet, PairPosition, Sent,
    Time,
};

use crate::application::Application;
use crate::config::{EcnMode, StreamConfig};
use crate::counters::SenderCounters;
use crate::shaper::{Shaper, Verdict};
use crate::source::{AnySource, Source};
use crate::stream::{Ack, Choice, LossRecovery, Outcome, Room};

/// A receiver, as the sender knows it.
struct Branch<C> {
    flow: FlowId,
    controller: C,
    recovery: LossRecovery,
    directive: Directive,
}

impl<C: Controller> Branch<C> {
    fn window(&self) -> u64 {
        self.directive.window.map_or(u64::MAX, Bytes::get)
    }

    fn obey(&mut self) {
        self.directive = self.controller.directive();
    }

    /// A packet for this receiver leaves; the controller's note.
    fn on_sent(&mut self, now: Time, mut sent: Sent, cx: &mut EndpointCx<'_>) -> u32 {
        sent.in_flight = Bytes::new(self.recovery.in_flight()) + sent.size;
        self.controller.on_sent(now, &mut sent, &mut cx.control());
        self.obey();
        self.recovery.direct_timeout(self.directive.timeout);
        sent.tag
    }

    fn tell(&mut self, now: Time, outcome: &Outcome, echoes: Echoes, limited: bool, cx: &mut EndpointCx<'_>) {
        let feedback = Feedback {
            acked: self.recovery.acked(),
            advanced: Bytes::new(outcome.advanced),
            lost: self.recovery.lost(),
            rtt: outcome.rtt,
            event: outcome.event,
            recovery: self.recovery.state(),
            echoes,
            flight: Bytes::new(outcome.flight),
            in_flight: Bytes::new(self.recovery.in_flight()),
            window_limited: limited,
            report: None,
        };
        self.controller.on_feedback(now, &feedback, &mut cx.control());
        self.obey();
    }
}

/// What may leave next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// New data, to all.
    New(u16),
    /// What one receiver misses.
    Again(usize, Choice),
}

/// A reliable stream's sender to many receivers.
pub struct MulticastSender<C = AnyController, S = AnySource> {
    group: FlowId,
    branches: Vec<Branch<C>>,
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
        let size = |bytes: Bytes| u16::try_from(bytes.get()).unwrap_or(u16::MAX);
        let branch = |(flow, controller): (FlowId, C)| Branch {
            flow,
            directive: controller.directive(),
            controller,
            recovery: LossRecovery::new(flow, &config),
        };
        Self {
            group,
            branches: receivers.into_iter().map(branch).collect(),
            shaper: Shaper::new(Time::ZERO, config.segment_size.get()),
            app: Application::new(source),
            receive_window: config
                .receive_window
                .map_or(u64::MAX, |amount| amount.in_bytes(config.segment_size).get()),
            header: size(config.header),
            payload: size(config.segment_size.saturating_sub(config.header)),
            wake: Time::NEVER,
            turn: 0,
            app_limited: false,
            stopped: false,
            counters: SenderCounters::default(),
            config,
        }
    }

    /// What was counted so far.
    pub fn counters(&self) -> &SenderCounters {
        &self.counters
    }

    /// The lowest rate that any receiver's controller directs.
    pub fn rate(&self) -> Option<BitRate> {
        self.branches.iter().filter_map(|branch| branch.directive.rate).min()
    }

    /// One beyond the last number that all receivers have acknowledged.
    fn first(&self) -> u64 {
        self.branches.iter().map(|branch| branch.recovery.first()).min().unwrap_or(0)
    }

    /// The next new number.
    fn end(&self) -> u64 {
        self.branches.first().map_or(0, |branch| branch.recovery.end())
    }

    /// Combines what all controllers direct; after every call to any of them.
    fn obey(&mut self, now: Time, cx: &mut EndpointCx<'_>) {
        let Some(slowest) = self
            .branches
            .iter()
            .map(|branch| &branch.directive)
            .min_by_key(|directive| directive.rate.map_or(u64::MAX, BitRate::bits_per_sec))
        else {
            return;
        };
        let closed = self.branches.iter().any(|branch| branch.directive.gate == Gate::Closed);
        let gate = if closed { Gate::Closed } else { Gate::Open };
        // A receiver that has not been measured yet directs no rate but a window, which holds back all.
        let directive = Directive { gate, rate: self.rate(), ..*slowest };
        self.shaper.direct(now, &directive, cx.rng);
    }

    // ── input ──

    fn on_ack(&mut self, now: Time, packet: &Packet, cx: &mut EndpointCx<'_>) {
        let annex = cx.take_annex(packet);
        let detail = match &annex {
            Some(Annex::Blocks(blocks)) => Some(blocks),
            _ => None,
        };
        let ecn_echo = packet.ecn_echo() && self.config.ecn != EcnMode::Off;
        let ack = Ack::read(packet.number, detail, ecn_echo);
        let limited = !self.app_limited;
        let Some(branch) = self.branches.iter_mut().find(|branch| branch.flow == packet.flow) else { return };
        let Some(outcome) = branch.recovery.on_ack(now, &ack, &self.config) else { return };
        match outcome.event {
            Some(CongestionEvent::Loss) => self.counters.recoveries += 1,
            Some(CongestionEvent::Ecn) => self.counters.ecn_reductions += 1,
            _ => {}
        }
        let echoes = Echoes {
            ce: u32::from(packet.ecn_echo()),
            rho: u32::from(packet.rho()),
            eta: u32::from(packet.eta()),
        };
        branch.tell(now, &outcome, echoes, limited, cx);
        self.obey(now, cx);
    }

    fn on_timers(&mut self, now: Time, cx: &mut EndpointCx<'_>) {
        let limited = !self.app_limited;
        for branch in &mut self.branches {
            if let Some(outcome) = branch.recovery.on_timeout(now, &self.config) {
                self.counters.timeouts += 1;
                self.shaper.on_timeout(now, cx.rng);
                branch.tell(now, &outcome, Echoes::default(), limited, cx);
            }
            if branch.controller.next_timer().is_some_and(|at| at <= now) {
                branch.controller.on_timer(now, &mut cx.control());
                branch.obey();
            }
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

    fn take_offers(&mut self, now: Time, cx: &mut EndpointCx<'_>) {
        if self.app.next_offer() <= now {
            let size = f64::from(self.payload) + f64::from(self.header);
            let payload = f64::from(self.payload) / size.max(1.0);
            self.app.tell(self.rate().map(|rate| rate.mul_f64(payload)));
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

    // ── output ──

    /// Whether new data of `size` may leave to every receiver; `behind` for a packet of `new` bytes after that one.
    fn new_fits(&self, size: u16, behind: Option<u16>) -> bool {
        self.branches.iter().all(|branch| {
            let room = Room { window: branch.window(), receive_window: self.receive_window, new: size };
            let now = branch.recovery.choose(&room, &self.config);
            // What this receiver misses is a queue of its own; only room counts here.
            let fits = matches!(now, Choice::New | Choice::Forced(_) | Choice::Again(_) | Choice::Rescue(_));
            fits && behind.is_none_or(|new| {
                let then = branch.recovery.choose_after(Choice::New, &room, new, &self.config);
                !matches!(then, Choice::WindowFull | Choice::Nothing)
            })
        })
    }

    /// The next packet, were the shaper to let it leave; what receivers miss goes first, in turn.
    fn next(&mut self) -> Option<Next> {
        let count = self.branches.len();
        // The second of a pair is new data as its first was.
        if self.shaper.pair_is_whole() {
            for step in 0..count {
                let index = (self.turn + step) % count;
                let branch = &mut self.branches[index];
                branch.recovery.settle();
                let room = Room { window: branch.window(), receive_window: self.receive_window, new: 0 };
                let choice = branch.recovery.choose(&room, &self.config);
                if matches!(choice, Choice::Forced(_) | Choice::Again(_) | Choice::Rescue(_)) {
                    return Some(Next::Again(index, choice));
                }
            }
        }
        let payload = self.app.payload(u64::from(self.payload));
        let size = self.header + payload as u16;
        (payload > 0 && self.new_fits(size, None)).then_some(Next::New(size))
    }

    fn data_packet(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> Option<Packet> {
        self.wake = Time::NEVER;
        let Some(next) = self.next() else {
            self.app_limited = !self.app.has_data();
            self.shaper.pass();
            return None;
        };
        self.app_limited = false;
        let (size, behind, since) = match next {
            Next::New(size) => {
                let after = self.app.payload_after(u64::from(size - self.header), u64::from(self.payload));
                let behind = Some(self.header + after as u16).filter(|_| after > 0);
                let behind = behind.filter(|new| self.new_fits(size, Some(*new)));
                (size, behind, (after == 0).then(|| self.app.written_at()))
            }
            Next::Again(index, choice) => (self.size_of(index, choice), None, Some(Time::ZERO)),
        };
        match self.shaper.ask(now, u64::from(size), behind.map(u64::from), since, cx.rng) {
            Verdict::Send(pair) => Some(match next {
                Next::New(size) => self.send_new(now, size, pair, cx),
                Next::Again(index, choice) => self.send_again(now, index, choice, cx),
            }),
            Verdict::Wait(at) => {
                self.wake = at;
                None
            }
        }
    }

    fn size_of(&self, index: usize, choice: Choice) -> u16 {
        match choice {
            Choice::Forced(number) | Choice::Again(number) | Choice::Rescue(number) => {
                self.branches[index].recovery.size_of(number)
            }
            _ => 0,
        }
    }

    fn send_new(&mut self, now: Time, size: u16, pair: PairPosition, cx: &mut EndpointCx<'_>) -> Packet {
        let number = self.end();
        let bytes = Bytes::new(u64::from(size));
        let sent = Sent { number, size: bytes, in_flight: bytes, retransmission: false, pair, tag: 0 };
        for branch in &mut self.branches {
            let tag = branch.on_sent(now, sent, cx);
            branch.recovery.sent_new(now, size, tag, pair, &self.config);
        }
        self.obey(now, cx);
        let mut packet = self.packet(self.group, number, bytes);
        packet.set_pair(pair);
        packet.set_last(self.app.cut(u64::from(size - self.header), number + 1));
        packet
    }

    fn send_again(&mut self, now: Time, index: usize, choice: Choice, cx: &mut EndpointCx<'_>) -> Packet {
        let size = self.size_of(index, choice);
        let bytes = Bytes::new(u64::from(size));
        self.turn = index + 1;
        let branch = &mut self.branches[index];
        let number = match choice {
            Choice::Forced(number) | Choice::Again(number) | Choice::Rescue(number) => number,
            _ => branch.recovery.first(),
        };
        let pair = PairPosition::Single;
        let sent = Sent { number, size: bytes, in_flight: bytes, retransmission: true, pair, tag: 0 };
        let tag = branch.on_sent(now, sent, cx);
        branch.recovery.sent_again(now, choice, tag, pair, &self.config);
        let flow = branch.flow;
        self.obey(now, cx);
        self.counters.retransmitted += 1;
        let mut packet = self.packet(flow, number, bytes);
        packet.set_retransmitted(true);
        packet
    }

    fn packet(&mut self, flow: FlowId, number: u64, size: Bytes) -> Packet {
        self.counters.packets += 1;
        self.counters.bytes += size;
        let mut packet = Packet::new(Kind::Data, flow, number, size);
        match self.config.ecn {
            EcnMode::Off => {}
            EcnMode::Ect0 => packet.set_ecn(Ecn::Ect0),
            EcnMode::Ect1 => packet.set_ecn(Ecn::Ect1),
        }
        packet
    }
}

impl<C: Controller, S: Source> Endpoint for MulticastSender<C, S> {
    fn handle(&mut self, now: Time, input: Input, cx: &mut EndpointCx<'_>) {
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
        if let Some(event) = self.event(now, cx) {
            return Output::Event(event);
        }
        if let Some(packet) = self.data_packet(now, cx) {
            return Output::Transmit(packet);
        }
        let timers = self.branches.iter().map(|branch| {
            branch.recovery.deadline().min(branch.controller.next_timer().unwrap_or(Time::NEVER))
        });
        let timer = timers.min().unwrap_or(Time::NEVER);
        Output::Wait(timer.min(self.wake).min(self.app.next_offer()).finite())
    }

    fn observe(&self) -> Observation {
        let rtt = self.config.rto.clone();
        let in_flight = self.branches.iter().map(|branch| branch.recovery.in_flight()).max();
        let slowest = self.branches.iter().max_by_key(|branch| branch.recovery.rtt().smoothed(&rtt));
        Observation {
            sent_packets: self.counters.packets,
            sent_bytes: self.counters.bytes,
            received_packets: self.counters.received,
            received_bytes: self.counters.received_bytes,
            goodput_bytes: self.counters.acked,
            goodput_packets: self.counters.acked_packets,
            repeated_packets: self.counters.retransmitted,
            timeouts: self.counters.timeouts,
            recoveries: self.counters.recoveries,
            window: self.branches.iter().filter_map(|branch| branch.directive.window).min(),
            rate: self.rate(),
            in_flight: Bytes::new(in_flight.unwrap_or(0)),
            latest_rtt: slowest.and_then(|branch| branch.recovery.rtt().latest()),
            smoothed_rtt: slowest.and_then(|branch| branch.recovery.rtt().smoothed(&rtt)),
            ..Observation::default()
        }
    }
}

/// An endpoint that says nothing and hears nothing: the other end of a flow that has only one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Endpoint for Silent {
    fn handle(&mut self, _: Time, input: Input, cx: &mut EndpointCx<'_>) {
        if let Input::Packet(packet) = input {
            cx.annexes.free(packet.annex);
        }
    }

    fn poll(&mut self, _: Time, _: &mut EndpointCx<'_>) -> Output {
        Output::Wait(None)
    }
}
