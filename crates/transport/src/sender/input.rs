//! What a stream's sender does with its input: acknowledgements, reports, timers and the application's wishes. The straight ways of
//! nearly all acknowledgements are in `straight.rs`; what follows from all this is sent in `output.rs`.

use tailback_control::MarkResponse;
use tailback_core::{AppInput, Bytes, CongestionEvent, Controller, EndpointCx, Envelope, Packet, Span, Time};

use super::{Opening, Sender};
use crate::source::Source;
use crate::stream::Ack;
use crate::teller::Outcome;

/// The whole seconds of a time, which is coarse, and small.
fn second_of(time: Time) -> u32 {
    u32::try_from(time.as_nanos() / Span::from_secs(1).as_nanos()).unwrap_or(u32::MAX)
}

impl<C: Controller, S: Source> Sender<C, S> {
    #[inline(always)]
    pub(super) fn on_ack(&mut self, now: Time, packet: &Packet, cx: &mut EndpointCx<'_>) {
        let annex = if packet.annex.is_some() { cx.take_annex(packet) } else { None };
        let ack = Ack::read(packet, annex.as_ref());
        self.take_ack(now, &ack, cx);
    }

    #[inline(always)]
    fn take_ack(&mut self, now: Time, ack: &Ack<'_>, cx: &mut EndpointCx<'_>) {
        let before = self.recovery.first();
        let Some(mut outcome) = self.recovery.on_ack(now, ack, &self.config) else { return };
        self.counters.acked_packets += self.recovery.first() - before;
        self.counters.acked += Bytes::new(outcome.advanced);
        if self.opening == Opening::Requested && outcome.advanced > 0 {
            // The request's acknowledgement does not open the window (RFC 5681 §3.1).
            self.opening = Opening::Done;
            outcome.advanced = 0;
            self.recovery.request_answered();
        }
        self.counters.note(outcome.event);
        // An echo that halves a window of one segment cannot make it smaller: the sender waits instead.
        let at_one = outcome.event == Some(CongestionEvent::Ecn)
            && self.config.marks == MarkResponse::Rfc3168
            && self.steering.window_is_one();
        self.tell(now, &outcome, cx);
        self.recovery.portion(self.steering.window, &outcome, self.config.segment_size.get());
        if outcome.event == Some(CongestionEvent::Spurious)
            && let Some(found) = self.recovery.find_after_taking_back(now, &self.config)
        {
            self.on_losses_found(now, &found, cx);
        }
        if at_one && self.recovery.fall_silent(now, &self.config) {
            self.steering.fall_silent();
        }
    }

    #[inline(always)]
    pub(super) fn tell(&mut self, now: Time, outcome: &Outcome, cx: &mut EndpointCx<'_>) {
        self.steering.tell(now, &self.recovery, Some(outcome), None, cx);
    }

    pub(super) fn on_report(&mut self, now: Time, number: u64, report: &Envelope, cx: &mut EndpointCx<'_>) {
        self.steering.teller.note_report(now, number);
        let count = |echo| self.recovery.on_count(now, echo, report.arrived_bytes.get(), &self.config);
        let found = report.echo.and_then(count);
        self.counters.note(found.and_then(|outcome| outcome.event));
        self.steering.tell(now, &self.recovery, found.as_ref(), Some(report), cx);
    }

    pub(super) fn on_timers(&mut self, now: Time, cx: &mut EndpointCx<'_>) {
        if let Some(outcome) = self.recovery.on_timeout(now, &self.config) {
            if !matches!(outcome.event, Some(CongestionEvent::Timeout { .. })) {
                self.on_losses_found(now, &outcome, cx);
                self.steering.on_timer(now, cx);
                return;
            }
            self.counters.timeouts += 1;
            self.expired_at = second_of(now);
            // A random delay of sending is that of the host below, which has been handed the segment.
            if self.steering.shaper.is_none() && !self.config.send_jitter.is_zero() {
                self.recovery.arm(now, &self.config);
            }
            if outcome.event == Some(CongestionEvent::Timeout { consecutive: 1 }) {
                self.stalled_at = second_of(now);
            } else if Span::from_secs((second_of(now) - self.stalled_at).into()) >= self.config.user_timeout {
                self.gave_up = true;
                self.stop(now);
                return;
            }
            self.steering.on_timeout(now, cx);
            self.tell(now, &outcome, cx);
        } else if self.recovery.end_silence(now) {
            self.steering.end_silence(now, cx);
        }
        self.steering.on_timer(now, cx);
    }

    /// What the retransmission timer wants sent again leaves only now: the time for which it was held back is no sign of a path or a
    /// receiver that is gone.
    #[inline]
    pub(super) fn note_held(&mut self, now: Time) {
        self.stalled_at += second_of(now) - self.expired_at;
        self.expired_at = second_of(now);
    }

    /// Losses were found by time, and not by the retransmission timer.
    #[cold]
    fn on_losses_found(&mut self, now: Time, outcome: &Outcome, cx: &mut EndpointCx<'_>) {
        self.counters.note(outcome.event);
        self.tell(now, outcome, cx);
        self.recovery.portion_of_one(self.config.segment_size.get());
    }

    pub(super) fn on_app(&mut self, now: Time, input: AppInput, cx: &mut EndpointCx<'_>) {
        match input {
            AppInput::Start => {
                self.app.start(now, cx.rng);
                self.steering.obey(now, cx);
            }
            AppInput::Write(bytes) => self.app.write(bytes, false, now, self.recovery.end()),
            AppInput::Close => self.app.close(now),
            AppInput::Stop => self.stop(now),
        }
    }

    #[cold]
    fn stop(&mut self, now: Time) {
        self.app.stop(now);
        self.stopped = true;
        self.steering.stop(now);
    }

    /// Where everything is acknowledged and the next offer wants a new connection: fresh state, numbers go on. Gives whether that
    /// was so.
    pub(super) fn renew(&mut self, now: Time, cx: &mut EndpointCx<'_>) -> bool {
        if !self.app.release_held(self.recovery.end()) {
            return false;
        }
        self.recovery.restart(self.flow, &self.config);
        let fresh = self.restart.as_ref().map(|restart| restart());
        self.opening = if self.config.handshake { Opening::Due } else { Opening::Done };
        self.steering.restart(now, fresh, cx);
        true
    }
}
