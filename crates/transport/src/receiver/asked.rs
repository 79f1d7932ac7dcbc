//! What a receiver does when its sender asks it to acknowledge more often or less. When a sender asks is decided in
//! `asking.rs`; what is acknowledged at once whatever was asked (out of order, PSH), in `receiver.rs`.
//!
//! Source: draft-ietf-quic-ack-frequency, `ACK_FREQUENCY`, "Sending Acknowledgments" and "Expediting Explicit Congestion
//! Notification (ECN) Signals".

use std::num::NonZeroU16;
use std::sync::Arc;

use tailback_core::{AckRequest, Time};

use super::{Receiver, ReceiverConfig};

/// The newest request.
pub(super) struct Asked {
    sequence: NonZeroU16,
    /// How the receiver acknowledges where it is asked for nothing.
    configured: Arc<ReceiverConfig>,
}

impl Receiver {
    /// Whether a mark that has just arrived, and is not taken into the echo yet, is to be acknowledged at once: the first after a
    /// packet without one is, whatever the echo, where the sender has asked for fewer acknowledgements.
    #[inline]
    pub(super) fn is_first_mark_urgent(&self) -> bool {
        !self.ecn_echo && self.is_asked()
    }

    /// Whether the sender has asked for anything.
    #[cold]
    fn is_asked(&self) -> bool {
        self.told.as_ref().is_some_and(|told| told.asked.is_some())
    }

    /// The sender asks. What it asks for takes the place of what was configured, within bounds, so that heeding it costs an
    /// arrival nothing.
    #[cold]
    pub(super) fn hear(&mut self, now: Time, request: AckRequest) {
        if !self.config.ack_requests {
            return;
        }
        let told = self.told.get_or_insert_default();
        let known = told.asked.as_ref();
        if known.is_some_and(|asked| !request.is_newer_than(asked.sequence)) {
            // Repeated, or overtaken.
            return;
        }
        let configured = Arc::clone(known.map_or(&self.config, |asked| &asked.configured));
        self.config = match request.frequency() {
            None => Arc::clone(&configured),
            Some(frequency) => {
                let asked = frequency.bounded();
                let (ack_every, ack_delay) = (asked.threshold, asked.max_delay);
                Arc::new(ReceiverConfig { ack_every, ack_delay, ..(*configured).clone() })
            }
        };
        told.asked = Some(Asked { sequence: request.sequence(), configured });
        let sums_data = self.reports.as_ref().is_none_or(|reports| reports.sums_data());
        self.may_go_straight = !told.no_straight_way && sums_data && Self::is_plain(&self.config);
        if !self.ack_deadline.is_never() {
            self.ack_deadline = self.ack_deadline.min(now + self.config.ack_delay);
        }
    }
}
