//! The tables that have a row for each thing that happened: messages, notes of controllers, packets.

use tailback_core::{DropReason, Ecn, Kind, Packet, PairPosition, Time};
use tailback_sim::{ColumnInfo, LogKind, Message, PacketLog, StateLog, Unit};

use super::{Entry, column, given, level};
use crate::table::{Column, Table};

/// How a column of messages is made.
type Of = fn(&[Message]) -> Column;

/// Completed messages (files, bursts), in the order of their ends.
pub(crate) const MESSAGES: &[Entry<Of>] = &[
    column(given("flow", "The flow that carried it."), |messages| {
        messages.iter().map(|message| message.flow.0).collect::<Vec<_>>().into()
    }),
    column(given("size_bytes", "The application's bytes.").named("size"), |messages| {
        messages.iter().map(|message| message.size.get()).collect::<Vec<_>>().into()
    }),
    column(given("began_seconds", "When the application offered it.").named("began"), |messages| {
        seconds(messages, |message| message.began)
    }),
    column(level("ended_seconds", "When its last byte was acknowledged.").named("ended"), |messages| {
        seconds(messages, |message| message.ended)
    }),
];

fn seconds(messages: &[Message], of: fn(&Message) -> Time) -> Column {
    messages.iter().map(|message| of(message).as_secs_f64()).collect::<Vec<_>>().into()
}

macro_rules! log {
    ($list:ident, $what:literal, $of:ident: $log:ty { $($info:expr, $field:ident;)* }) => {
        #[doc = $what]
        pub(crate) const $list: &[ColumnInfo] = &[$($info,)*];

        /// The log as a table; its columns move.
        pub(crate) fn $of(log: $log) -> Table {
            let columns = [$(Column::from(log.$field),)*];
            Table($list.iter().map(|info| info.key).zip(columns).collect())
        }
    };
}

log! {
    STATE, "What controllers published of their state.", of_state: StateLog {
        given("time_seconds", "When the controller told it.").named("time"), time;
        given("flow", "Whose controller; aggregates are numbered behind all flows."), flow;
        given("name", "The name of the state."), name;
        level("value", "Its value."), value;
    }
}

log! {
    LOGGED, "What happened to packets, as it is recorded and digested.", of_packets: PacketLog {
        given("time_nanoseconds", "When it happened.").named("time").unit_of(Unit::Seconds), time;
        given("kind", "What happened.").named("event").one_of(&LogKind::NAMES), kind;
        given("flow", "The packet's flow."), flow;
        given("link", "The link where it happened; none at endpoints."), link;
        given("number", "The sequence number; of an acknowledgement, the next number expected."), number;
        given("size_bytes", "Bytes on the wire.").named("size"), size;
        given(BITS, "The packed header bits."), bits;
        given("reason", "Why it was dropped.").one_of(&DropReason::NAMES), reason;
    }
}

/// The column that leaves as [`HEADER`].
const BITS: &str = "bits";

/// What a packet's header bits say.
#[derive(Clone, Copy)]
enum Said {
    /// The number of a value.
    Which(fn(&Packet) -> u8),
    /// A flag.
    Whether(fn(&Packet) -> bool),
}

/// The header bits, decoded: the only place where they are, for all that leaves.
const HEADER: &[Entry<Said>] = &[
    column(
        given("packet_kind", "What the packet is.").named("kind").one_of(&Kind::NAMES),
        Said::Which(|packet| packet.kind() as u8),
    ),
    column(
        given("lane", "Its forwarding lane; 1 is ordinary."),
        Said::Which(|packet| packet.lane().number()),
    ),
    column(given("ecn", "Its ECN field.").one_of(&Ecn::NAMES), Said::Which(|packet| packet.ecn() as u8)),
    column(
        given("pair", "Its place in a probe.").one_of(&PairPosition::NAMES),
        Said::Which(|packet| packet.pair() as u8),
    ),
    column(given("retransmitted", "Whether it was sent before."), Said::Whether(Packet::is_retransmitted)),
    column(given("rho", "Whether it bears the utilization mark, or its echo."), Said::Whether(Packet::rho)),
    column(given("eta", "Whether it bears the burstiness mark, or its echo."), Said::Whether(Packet::eta)),
    column(given("ece", "Whether it echoes congestion experienced."), Said::Whether(Packet::ecn_echo)),
    column(
        given(
            "psh",
            "Whether it is to be acknowledged at once, as the end of a train or since its controller asks.",
        ),
        Said::Whether(Packet::is_pushed),
    ),
    column(
        given("cwr", "Whether it says that the window was reduced."),
        Said::Whether(Packet::window_reduced),
    ),
    column(given("last", "Whether it ends a message."), Said::Whether(Packet::is_last)),
    column(given("corrupted", "Whether it is damaged."), Said::Whether(Packet::is_corrupted)),
];

/// The columns of the packet log as it leaves.
pub(crate) fn packets() -> Vec<ColumnInfo> {
    let header = || HEADER.iter().map(|entry| entry.info);
    let of = |info: &ColumnInfo| if info.key == BITS { header().collect() } else { vec![*info] };
    LOGGED.iter().flat_map(of).collect()
}

/// The packet log as it leaves: its header bits as columns.
pub(crate) fn decoded(log: Table) -> Table {
    let decode = |(key, column)| match column {
        Column::U16(bits) if key == BITS => {
            HEADER.iter().map(|entry| (entry.info.key, entry.of.read(&bits))).collect()
        }
        column => vec![(key, column)],
    };
    Table(log.0.into_iter().flat_map(decode).collect())
}

impl Said {
    fn read(&self, bits: &[u16]) -> Column {
        let packets = bits.iter().map(|bits| Packet::default().with_bits(*bits));
        match self {
            Self::Which(of) => packets.map(|packet| of(&packet)).collect::<Vec<_>>().into(),
            Self::Whether(of) => packets.map(|packet| of(&packet)).collect::<Vec<_>>().into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_leaves_with_its_bits_decoded() {
        let mut mark = Packet::default();
        mark.set_ecn(Ecn::Ce);
        mark.set_retransmitted(true);
        let log = PacketLog { bits: vec![Packet::default().bits(), mark.bits()], ..PacketLog::default() };
        let table = decoded(of_packets(log));
        let keys: Vec<_> = table.0.iter().map(|(key, _)| *key).collect();
        assert_eq!(keys, packets().iter().map(|info| info.key).collect::<Vec<_>>());
        assert_eq!(table.get("ecn"), Some(&Column::U8(vec![0, 3])));
        assert_eq!(table.get("retransmitted"), Some(&Column::Bool(vec![false, true])));
        assert_eq!(table.get("packet_kind"), Some(&Column::U8(vec![0, 0])));
    }
}
