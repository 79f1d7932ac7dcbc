//! A controller at work in a sender: its directive read after every call, its timer, its shaper, and the control packets
//! that it may ask for. What it is told is said in `teller.rs`; what data is sent is decided by the sender.

use tailback_core::{
    Annex, BitRate, Bytes, ControlInfo, Controller, Directive, EndpointCx, Envelope, FlowId, Gate, GateTimes,
    Kind, Lane, Packet, PairPosition, Sent, Span, Time,
};

use crate::pacing::Pacing;
use crate::shaper::{Heard, Shaper};
use crate::teller::{Books, Next, Outcome, SoFar, Teller};

/// A controller and what obeys it.
pub(crate) struct Steering<C> {
    pub(crate) teller: Teller<C>,
    /// The window in force; `u64::MAX` without any.
    pub(crate) window: u64,
    /// The controller's own retransmission time-out; [`Span::MAX`] where it has none.
    timeout: Span,
    timer: Time,
    /// There is none as long as a window is all that was ever directed.
    pub(crate) shaper: Option<Box<Shaper>>,
    /// Where a window is paced by configuration.
    pacing: Option<Box<Pacing>>,
    /// A full packet's bytes on the wire.
    packet: u16,
    header: u16,
    /// No data may leave, whatever the directive says (RFC 3168 §6.1.2).
    silent: bool,
    /// The application offers without end.
    is_endless: bool,
    pub(crate) control_packets: u64,
}

impl<C: Controller> Steering<C> {
    pub(crate) fn new(controller: C, packet: u16, header: u16) -> Self {
        Self {
            teller: Teller::new(controller),
            window: 0,
            timeout: Span::MAX,
            timer: Time::NEVER,
            shaper: None,
            pacing: None,
            packet,
            header,
            silent: false,
            is_endless: false,
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

    /// The controller's own retransmission time-out.
    #[inline]
    pub(crate) fn timeout(&self) -> Option<Span> {
        (self.timeout != Span::MAX).then_some(self.timeout)
    }

    /// A packet was `due` before the sender was called.
    #[cold]
    pub(crate) fn called_late(&mut self, due: Time, now: Time) {
        if let Some(shaper) = &mut self.shaper {
            shaper.called_late(due, now);
        }
    }

    /// Reads the directive and the timer; after every call to the controller.
    #[inline]
    pub(crate) fn obey(&mut self, now: Time, cx: &mut EndpointCx<'_>) {
        let (directive, timer) = self.teller.controller.orders();
        self.follow(now, &directive, timer, cx);
    }

    /// Does what a directive says.
    #[inline]
    fn follow(&mut self, now: Time, directive: &Directive, timer: Option<Time>, cx: &mut EndpointCx<'_>) {
        let mut paced;
        let directive = match &self.pacing {
            None => directive,
            Some(pacing) => {
                paced = *directive;
                pacing.apply(&mut paced);
                &paced
            }
        };
        self.window = if self.silent { 0 } else { directive.window.map_or(u64::MAX, Bytes::get) };
        self.timeout = directive.timeout.unwrap_or(Span::MAX);
        self.timer = timer.unwrap_or(Time::NEVER);
        if Shaper::is_needed(directive) || self.shaper.is_some() {
            let packet = Bytes::new(u64::from(self.packet));
            let is_endless = self.is_endless;
            let shaper = self.shaper.get_or_insert_with(|| {
                let mut shaper = Box::new(Shaper::new(now, packet));
                if is_endless {
                    shaper.never_ends();
                }
                shaper
            });
            shaper.direct(now, directive, cx.rng);
            if cx.notes.is_some() {
                Self::note_stored(shaper, now, cx);
            }
        }
    }

    /// Tells the controller of an input ([`Teller::tell`]) and obeys.
    #[inline]
    pub(crate) fn tell(
        &mut self,
        now: Time,
        books: &impl Books,
        outcome: Option<&Outcome>,
        report: Option<&Envelope>,
        cx: &mut EndpointCx<'_>,
    ) {
        self.teller.tell(now, books, outcome, report, cx);
        if let (Some(pacing), Some(sample)) = (&mut self.pacing, outcome.and_then(|outcome| outcome.rtt)) {
            pacing.note(sample);
        }
        self.obey(now, cx);
    }

    /// Whether nothing but a window and a rate is in force.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        let plain = |shaper: &Shaper| shaper.is_plain();
        !self.silent && self.timeout == Span::MAX && self.shaper.as_deref().is_none_or(plain)
    }

    /// Whether, where [`Steering::is_plain`] holds, a window is all, and nobody watches what is sent.
    pub(crate) fn is_window_only(&self) -> bool {
        self.shaper.is_none() && self.pacing.is_none() && !self.teller.is_told_of_sent()
    }

    /// Tells the controller that the next number was acknowledged, and obeys, where a window only was in force; whether it
    /// still is so.
    #[inline(always)]
    pub(crate) fn tell_next(
        &mut self,
        now: Time,
        next: &Next,
        books: &impl Books,
        cx: &mut EndpointCx<'_>,
    ) -> bool {
        let Self { teller, window, timer, .. } = self;
        let straight = teller.tell_one::<false, _>(now, next, books, cx, |heard| {
            let Some((directive, next_timer)) = heard else { return true };
            *window = directive.window.map_or(u64::MAX, Bytes::get);
            *timer = next_timer.unwrap_or(Time::NEVER);
            !Shaper::is_needed(directive) && directive.timeout.is_none()
        });
        if !straight {
            self.obey(now, cx);
        }
        straight
    }

    /// The same where a window and a rate were in force, or beside a hole; whether [`Steering::is_plain`] still holds.
    #[inline(never)]
    pub(crate) fn tell_one<const BEYOND: bool>(
        &mut self,
        now: Time,
        next: &Next,
        books: &impl Books,
        cx: &mut EndpointCx<'_>,
    ) -> bool {
        let Self { teller, window, timeout, timer, shaper, pacing, .. } = self;
        let is_paced = pacing.is_some();
        let (mut kept, mut stays) = (None, false);
        let heard = teller.tell_one::<BEYOND, _>(now, next, books, cx, |heard| {
            let Some((directive, next_timer)) = heard else {
                stays = true;
                return Heard::Same;
            };
            *timer = next_timer.unwrap_or(Time::NEVER);
            if is_paced || shaper.is_none() && Shaper::is_needed(directive) {
                kept = Some(*directive);
                return Heard::Same;
            }
            *window = directive.window.map_or(u64::MAX, Bytes::get);
            let heard = shaper.as_mut().map_or(Heard::Same, |shaper| shaper.hear(directive));
            // Apart from the window: side by side, both are read in wide pieces, which wait for what was written in narrow ones.
            *timeout = directive.timeout.unwrap_or(Span::MAX);
            heard
        });
        if let Some(pacing) = &mut self.pacing {
            pacing.note(next.rtt);
            // The pace follows the round trip time, too.
            kept = kept.or_else(|| stays.then(|| self.teller.controller.directive()));
        }
        if let Some(directive) = kept {
            let timer = self.timer.finite();
            self.follow(now, &directive, timer, cx);
        } else if let Some(shaper) = &mut self.shaper {
            shaper.heed(now, heard, cx.rng);
            if cx.notes.is_some() {
                Self::note_stored(shaper, now, cx);
            }
        }
        if stays && !is_paced {
            debug_assert!(self.is_plain(), "as it was, since nothing else is directed");
            return true;
        }
        self.is_plain()
    }

    /// Publishes what tokens were stored.
    #[cold]
    fn note_stored(shaper: &mut Shaper, now: Time, cx: &mut EndpointCx<'_>) {
        if let Some(bytes) = shaper.stored(now) {
            cx.control().note("stored_tokens", bytes);
        }
    }

    /// A packet leaves; returns the controller's note.
    #[inline(always)]
    pub(crate) fn sent(&mut self, now: Time, sent: Sent, cx: &mut EndpointCx<'_>) -> u32 {
        let (tag, orders) = self.teller.sent(now, sent, cx);
        if let Some((directive, timer)) = orders {
            self.follow(now, &directive, timer, cx);
        }
        tag
    }

    /// A packet of padding leaves.
    pub(crate) fn pad(&mut self, now: Time, number: u64, size: Bytes, cx: &mut EndpointCx<'_>) {
        self.control_packets += 1;
        if let Some(shaper) = &mut self.shaper {
            shaper.padding += size.saturating_sub(Bytes::new(u64::from(self.header)));
        }
        let sent = Sent {
            number,
            size,
            in_flight: size,
            retransmission: false,
            pair: PairPosition::Single,
            app_limited: true,
            tag: 0,
        };
        self.sent(now, sent, cx);
    }

    /// Bytes of control packets: headers, and what was padded beyond.
    pub(crate) fn control_bytes(&self) -> Bytes {
        let padding = self.shaper.as_ref().map_or(Bytes::ZERO, |shaper| shaper.padding);
        Bytes::new(u64::from(self.header)) * self.control_packets + padding
    }

    /// The application offers without end from now on.
    pub(crate) fn never_ends(&mut self, now: Time, cx: &mut EndpointCx<'_>) {
        self.is_endless = true;
        if let Some(shaper) = &mut self.shaper {
            shaper.never_ends();
        }
        self.obey(now, cx);
    }

    /// The rate that an application should keep to: the directed one, or the window per round trip time.
    pub(crate) fn rate(&self, round_trip: Option<Span>) -> Option<BitRate> {
        let directed = self.shaper.as_ref().and_then(|shaper| shaper.media_rate());
        let by_window = || Some(BitRate::of(Bytes::new(self.window), round_trip?));
        directed.or_else(|| by_window().filter(|_| self.window != u64::MAX))
    }

    /// Whether the gate was opened or closed since the last call.
    #[inline]
    pub(crate) fn take_gate_change(&mut self) -> bool {
        self.shaper.as_mut().is_some_and(|shaper| shaper.take_gate_change())
    }

    /// Whether data may leave at all.
    pub(crate) fn gate(&self) -> Gate {
        self.shaper.as_ref().map_or(Gate::Open, |shaper| shaper.gate())
    }

    /// When the gate was closed.
    pub(crate) fn gate_times(&self) -> GateTimes {
        self.shaper.as_ref().map_or_else(GateTimes::default, |shaper| shaper.gate_times())
    }

    /// Calls the controller if its time has come.
    pub(crate) fn on_timer(&mut self, now: Time, cx: &mut EndpointCx<'_>) {
        if now >= self.timer {
            self.teller.controller.on_timer(now, &mut cx.control());
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
            self.teller.replace(fresh);
            if let Some(shaper) = &mut self.shaper {
                **shaper = shaper.renewed(now, Bytes::new(u64::from(self.packet)));
            }
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
    pub(crate) fn stop(&mut self, now: Time) {
        self.timer = Time::NEVER;
        if let Some(shaper) = &mut self.shaper {
            shaper.end(now);
        }
    }

    /// Whether a control packet must leave now.
    #[inline]
    pub(crate) fn wants_control(&self) -> bool {
        self.shaper.as_ref().is_some_and(|shaper| shaper.wants_control())
    }

    /// A control packet that the directive asks for.
    #[inline]
    pub(crate) fn control_packet(
        &mut self,
        now: Time,
        flow: FlowId,
        so_far: &SoFar,
        cx: &mut EndpointCx<'_>,
    ) -> Option<Packet> {
        let (pair, first) = self.shaper.as_mut()?.take_control()?;
        let info = ControlInfo { pair, ..self.teller.stamp(now, so_far, None) };
        let size = Bytes::new(u64::from(self.header));
        self.control_packets += 1;
        let mut packet = Packet::new(Kind::Control, flow, pair, size);
        packet.set_lane(if first { Lane::OUT_OF_BAND } else { Lane::IN_BAND });
        packet.annex = cx.annexes.insert(Annex::Control(info));
        Some(packet)
    }
}
