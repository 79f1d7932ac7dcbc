//! A receiving program that takes time to read: what comes in order is acknowledged when it has been read. What is acknowledged
//! at once all the same, and everything else of the receiver, is in `receiver.rs`.
//!
//! Source: Linux, `__tcp_ack_snd_check`, which leaves the acknowledgement of a second segment to the reader unless the window
//! that is offered can grow by it, and `tcp_cleanup_rbuf`, which sends it then; from memory. What a
//! kernel was measured to do is in docs/parity.md.

use tailback_core::{EndpointCx, Time};

use super::Receiver;

impl Receiver {
    /// Data came in order. A program that sleeps begins to wake up, and will have read all that is there by then.
    #[cold]
    pub(super) fn wake_reader(&mut self, now: Time, cx: &mut EndpointCx<'_>) {
        let Some(time) = &self.config.reading else { return };
        let kept = self.told.get_or_insert_default();
        if kept.read_by <= now {
            kept.read_by = now + time.sample(cx.rng);
        }
    }

    /// The acknowledgement of what came in order is due when it has been read.
    #[cold]
    pub(super) fn acknowledge_when_read(&mut self) {
        let read_by = self.told.as_ref().map_or(Time::ZERO, |kept| kept.read_by);
        self.ack_deadline = self.ack_deadline.min(read_by);
    }
}
