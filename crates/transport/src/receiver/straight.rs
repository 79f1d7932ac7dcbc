//! The straight way through a receiver: a segment in order, with nothing beyond it and nothing to echo, and its
//! acknowledgement at once; a feedback policy, where there is one, takes plain data as a sum. It does what `receiver.rs` does
//! with the same input; a property test holds the two equal.

use tailback_control::EcnEcho;
use tailback_core::{Bytes, Kind, Packet};

use super::{AckDetail, Receiver, ReceiverConfig};

impl Receiver {
    /// The same receiver without the straight way, to compare with.
    #[doc(hidden)]
    #[must_use]
    pub fn on_general_way(mut self) -> Self {
        self.may_go_straight = false;
        self.told.get_or_insert_default().no_straight_way = true;
        if let Some(reports) = &mut self.reports {
            reports.tell_of_each();
        }
        self
    }

    /// Whether every segment is acknowledged at once, by its number, nothing waits, and the application does not ask.
    pub(super) fn is_plain(config: &ReceiverConfig) -> bool {
        config.ack_every <= 1
            && config.ack_detail == AckDetail::Off
            && matches!(config.ecn_echo, EcnEcho::Latched | EcnEcho::PerPacket)
            && config.sack_compression.is_none()
            && config.reading.is_none()
            && !config.delivery_events
    }

    /// Takes a segment in order that says nothing else; any other is left as it is.
    #[inline(always)]
    pub(super) fn take_next(&mut self, packet: &Packet) -> bool {
        let quiet = !(self.ecn_echo | self.rho | self.eta | self.ack_due | self.next_due);
        if !self.may_go_straight || !quiet || !packet.is_bare_data() || !self.stream.take_next(packet.number)
        {
            return false;
        }
        let size = packet.size();
        if let Some(reports) = &mut self.reports {
            reports.add_data(size);
        }
        self.trigger = packet.number;
        self.counters.packets += 1;
        self.counters.bytes += size;
        self.counters.delivered_packets += 1;
        self.counters.delivered += size;
        self.counters.goodput += size.saturating_sub(Bytes::new(u64::from(self.header)));
        self.next_due = true;
        true
    }

    /// The acknowledgement of what [`Receiver::take_next`] took.
    #[inline(always)]
    pub(super) fn acknowledge_next(&mut self) -> Packet {
        self.next_due = false;
        let ack = Packet::new(Kind::Ack, self.flow, self.stream.next(), Bytes::new(u64::from(self.header)));
        self.counters.acks += 1;
        self.counters.sent_bytes += ack.size();
        ack
    }
}
