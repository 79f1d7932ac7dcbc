//! A controller at work in a sender: its directive read after every call, its timer, its shaper, and the stamps and
//! control packets that it may ask for. What data is sent is decided by the sender.

use tailback_core::{
    Annex, BitRate, Bytes, ControlInfo, Controller, EndpointCx, Feedback, FlowId, Kind, Lane, Packet, Sent,
    Span, Time,
};

use crate::pacing::Pacing;
use crate::shaper::Shaper;

/// What is known of the receiver's newest report, to be echoed in control packets and stamps.
#[derive(Clone, Copy, Debug)]
struct LastReport {
    sent_at: Time,
    arrived: Time,
}

/// A controller and what obeys it.
pub(crate) struct Steering<C> {
    pub(crate) controller: C,
    /// The window in force; `u64::MAX` without any.
    pub(crate) window: u64,
    /// The controller's own retransmission time-out.
    pub(crate) timeout: Option<Span>,
    timer: Time,
    /// There is none as long as a window is all that was ever directed.
    pub(crate) shaper: Option<Box<Shaper>>,
    /// Where a window is paced by configuration.
    pacing: Option<Box<Pacing>>,
    last_report: Option<LastReport>,
    /// Whether the controller hears of packets sent.
    watches_sent: bool,
    /// A full packet's bytes on the wire.
    packet: u16,
    header: u16,
    /// No data may leave, whatever the directive says (RFC 3168 §6.1.2).
    silent: bool,
    pub(crate) control_packets: u64,
}

impl<C: Controller> Steering<C> {
    pub(crate) fn new(controller: C, packet: u16, header: u16) -> Self {
        Self {
            watches_sent: controller.watches_sent(),
            controller,
            window: 0,
            timeout: None,
            timer: Time::NEVER,
            shaper: None,
            pacing: None,
            last_report: None,
            packet,
            header,
            silent: false,
            control_packets: 0,
        }
    }

    /// Paces windows.
    pub(crate) fn paced(mut self, pacing: Option<Pacing>) -> Self {
        self.pacing = pacing.map(Box::new);
        self
    }

    /// The controller's timer.
    #[inline]
    pub(crate) fn timer(&self) -> Time {
        self.timer
    }

    /// Reads the directive and the timer; after every call to the controller.
    #[inline]
    pub(crate) fn obey(&mut self, now: Time, cx: &mut EndpointCx<'_>) {
        let mut directive = self.controller.directive();
        if let Some(pacing) = &self.pacing {
            pacing.apply(&mut directive);
        }
        self.window = if self.silent { 0 } else { directive.window.map_or(u64::MAX, Bytes::get) };
        self.timeout = directive.timeout;
        self.timer = self.controller.next_timer().unwrap_or(Time::NEVER);
        if Shaper::is_needed(&directive) || self.shaper.is_some() {
            let packet = u64::from(self.packet);
            let shaper = self.shaper.get_or_insert_with(|| Box::new(Shaper::new(now, packet)));
            shaper.direct(now, &directive, cx.rng);
        }
    }

    /// Feedback for the controller.
    #[inline]
    pub(crate) fn tell(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut EndpointCx<'_>) {
        self.controller.on_feedback(now, feedback, &mut cx.control());
        if let (Some(pacing), Some(sample)) = (&mut self.pacing, feedback.rtt) {
            pacing.note(sample);
        }
        self.obey(now, cx);
    }

    /// A packet leaves; returns the controller's note.
    #[inline]
    pub(crate) fn sent(&mut self, now: Time, mut sent: Sent, cx: &mut EndpointCx<'_>) -> u32 {
        if !self.watches_sent {
            return 0;
        }
        self.controller.on_sent(now, &mut sent, &mut cx.control());
        self.obey(now, cx);
        sent.tag
    }

    /// The rate in force: the directed one, or the window per round trip time.
    pub(crate) fn rate(&self, round_trip: Option<Span>) -> Option<BitRate> {
        let directed = self.shaper.as_ref().and_then(|shaper| shaper.rate());
        let by_window = || Some(BitRate::of(Bytes::new(self.window), round_trip?));
        directed.or_else(|| by_window().filter(|_| self.window != u64::MAX))
    }

    /// Calls the controller if its time has come.
    pub(crate) fn on_timer(&mut self, now: Time, cx: &mut EndpointCx<'_>) {
        if now >= self.timer {
            self.controller.on_timer(now, &mut cx.control());
            self.obey(now, cx);
        }
    }

    /// The retransmission timer expired.
    pub(crate) fn on_timeout(&mut self, now: Time, cx: &mut EndpointCx<'_>) {
        if let Some(shaper) = &mut self.shaper {
            shaper.on_timeout(now, cx.rng);
        }
    }

    /// A new connection begins, with a fresh controller where one is given.
    pub(crate) fn restart(&mut self, now: Time, fresh: Option<C>, cx: &mut EndpointCx<'_>) {
        if let Some(fresh) = fresh {
            self.watches_sent = fresh.watches_sent();
            self.controller = fresh;
            self.shaper = None;
        }
        if let Some(pacing) = &mut self.pacing {
            pacing.forget();
        }
        self.silent = false;
        self.obey(now, cx);
    }

    /// Whether the window in force is one packet or less.
    #[inline]
    pub(crate) fn window_is_one(&self) -> bool {
        self.window <= u64::from(self.packet)
    }

    /// No data leaves until [`Steering::end_silence`].
    #[cold]
    pub(crate) fn fall_silent(&mut self) {
        self.silent = true;
        self.window = 0;
    }

    /// The directive is in force again.
    #[cold]
    pub(crate) fn end_silence(&mut self, now: Time, cx: &mut EndpointCx<'_>) {
        self.silent = false;
        self.obey(now, cx);
    }

    /// Nothing is to be called any more.
    pub(crate) fn stop(&mut self) {
        self.timer = Time::NEVER;
    }

    /// A report packet arrived; its number is the time it left the receiver.
    pub(crate) fn note_report(&mut self, now: Time, packet: &Packet) {
        self.last_report = Some(LastReport { sent_at: Time::from_nanos(packet.number), arrived: now });
    }

    /// What a packet that leaves now says about times.
    pub(crate) fn stamp(&self, now: Time) -> ControlInfo {
        ControlInfo {
            sent_at: now,
            echo: self.last_report.map(|report| report.sent_at),
            held: self.last_report.map_or(Span::ZERO, |report| now.since(report.arrived)),
            ..ControlInfo::default()
        }
    }

    /// A control packet that the directive asks for; `sent` counts all data bytes sent so far.
    #[inline]
    pub(crate) fn control_packet(
        &mut self,
        now: Time,
        flow: FlowId,
        sent: Bytes,
        cx: &mut EndpointCx<'_>,
    ) -> Option<Packet> {
        let (pair, first) = self.shaper.as_mut()?.take_control()?;
        let info = ControlInfo { pair, bytes_sent: sent, ..self.stamp(now) };
        self.control_packets += 1;
        let mut packet = Packet::new(Kind::Control, flow, pair, Bytes::new(u64::from(self.header)));
        packet.set_lane(if first { Lane::OUT_OF_BAND } else { Lane::IN_BAND });
        packet.annex = cx.annexes.insert(Annex::Control(info));
        Some(packet)
    }
}
