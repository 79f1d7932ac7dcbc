//! The straight way through a sender: an acknowledgement of the next number, and full segments of new data, where only a
//! window says how many. What it leaves out cannot matter while [`Sender::is_straight`] holds, so results are the same as on
//! the general way (`sender.rs`, `output.rs`), which all else takes; a property test holds the two equal.

use tailback_core::{Bytes, Controller, EndpointCx, Kind, Output, Packet, Time};

use super::{Opening, Sender};
use crate::config::EcnMode;
use crate::source::Source;
use crate::teller::Books;

impl<C: Controller, S: Source> Sender<C, S> {
    /// The same sender without the straight way, to compare with.
    #[doc(hidden)]
    #[must_use]
    pub fn on_general_way(mut self) -> Self {
        self.may_go_straight = false;
        self
    }

    /// Whether the next acknowledgement may go the straight way.
    #[doc(hidden)]
    pub fn goes_straight(&self) -> bool {
        self.straight
    }

    /// Whether nothing but a window is in force and nothing is missing. Asked after whatever goes the general way, since
    /// only that can change it.
    pub(super) fn is_straight(&self) -> bool {
        let config = &*self.config;
        let plain = config.send_jitter.is_zero() && config.limited_transmit && config.ecn == EcnMode::Off;
        self.may_go_straight
            && plain
            && !self.stopped
            && !self.stamps
            && !self.app.listens()
            && self.opening == Opening::Done
            && self.wake.is_never()
            && self.steering.is_window_only()
            && self.recovery.is_calm(config)
    }

    /// Takes an acknowledgement of the next number that says nothing else; any other is left as it is.
    #[inline(always)]
    pub(super) fn take_next(&mut self, now: Time, packet: &Packet, cx: &mut EndpointCx<'_>) -> bool {
        if !self.straight || !packet.is_bare_ack() {
            return false;
        }
        let Some(next) = self.recovery.on_next(now, packet.number, &self.config) else { return false };
        self.counters.acked_packets += 1;
        self.counters.acked += next.acked.size;
        self.straight = self.steering.tell_next(now, &next, &self.recovery, cx);
        true
    }

    /// What is next where that is a full segment of new data or waiting; `None` leaves it to the general way.
    #[inline(always)]
    pub(super) fn poll_next(&mut self, now: Time) -> Option<Output> {
        let payload = u64::from(self.payload);
        let ends = self.recovery.is_idle() || self.recovery.first() >= self.app.next_end();
        if ends || !self.app.has_more_than(payload) {
            return None;
        }
        let size = self.header + self.payload;
        let (pipe, outstanding) = (self.recovery.pipe(), self.recovery.outstanding());
        let after = u64::from(size);
        if outstanding + after > self.receive_window {
            return None;
        }
        if pipe + after > self.steering.window && (pipe > 0 || self.steering.window == 0) {
            self.steering.teller.app_limited = false;
            let timers = self.recovery.deadline().min(self.steering.timer());
            return Some(Output::Wait(timers.min(self.app.next_offer()).finite()));
        }
        self.app.take_part(payload);
        self.counters.packets += 1;
        self.counters.bytes += Bytes::new(after);
        let number = self.recovery.sent_next(now, size, &self.config);
        Some(Output::Transmit(Packet::new(Kind::Data, self.flow, number, Bytes::new(after))))
    }
}
