//! The trait of queue disciplines, and its narrow form for queues that act on arrivals only. Neither the server nor
//! the wire lives here: a discipline decides order, drops, marks and virtual delay; it never sleeps and never knows
//! the link's peer.

use crate::annexes::Annexes;
use crate::packet::{Ecn, Packet};
use crate::rng::Stream;
use crate::time::Time;
use crate::units::{BitRate, Bytes};

/// Makes the enum of reasons, and with it all that results say of them.
macro_rules! drop_reasons {
    ($( $(#[doc = $doc:literal])* $variant:ident($name:literal): $counted:literal; )*) => {
        /// Why a packet was dropped.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum DropReason {
            $( $(#[doc = $doc])* $variant, )*
        }

        impl DropReason {
            /// All reasons, in the order of their numbers.
            pub const ALL: [Self; [$( $name, )*].len()] = [$( Self::$variant, )*];

            /// Their names in results, in the same order.
            pub const NAMES: [&str; Self::ALL.len()] = [$( $name, )*];

            /// The keys of the columns that count packets so dropped, and what these say, in the same order.
            pub const COUNTED: [(&str, &str); Self::ALL.len()] =
                [$( (concat!("dropped_", $name, "_packets"), $counted), )*];
        }
    };
}

drop_reasons! {
    /// The buffer was full.
    Overflow("overflow"): "Packets dropped because the buffer was full.";
    /// Active queue management decided so before the buffer was full.
    Early("early"): "Packets that the discipline dropped before the buffer was full.";
    /// The loss model of the link.
    Loss("loss"): "Packets lost by the link's loss model.";
    /// Damaged on the way and discarded by the receiver.
    Corruption("corruption"): "Packets damaged on the way.";
    /// No route, or the flow is gone.
    Unreachable("unreachable"): "Packets that had nowhere to go.";
}

/// What waits, not counting the packet in transmission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Waiting packets.
    pub packets: u32,
    /// Waiting bytes.
    pub bytes: Bytes,
}

/// What a discipline borrows for one call.
pub struct QueueCx<'a> {
    /// The link's random stream.
    pub rng: &'a mut Stream,
    /// Rare parts of packets, for disciplines that write into them.
    pub annexes: &'a mut Annexes,
    /// The server's rate at this moment.
    pub rate: BitRate,
    /// Since when the server is idle; `None` while it transmits.
    pub idle_since: Option<Time>,
    /// Packets dropped in this call; the caller counts them and frees their annexes.
    pub drops: &'a mut Vec<(Packet, DropReason)>,
    /// How many marks were set in this call; one that a packet had come with is not set.
    pub marks: u32,
}

impl QueueCx<'_> {
    /// Drops a packet.
    pub fn drop(&mut self, packet: Packet, reason: DropReason) {
        self.drops.push((packet, reason));
    }

    /// Marks a packet with congestion experienced, unless it is so; `false` where it is not ECN-capable.
    pub fn mark_ce(&mut self, packet: &mut Packet) -> bool {
        let capable = packet.is_ecn_capable();
        if capable {
            self.marks += u32::from(packet.ecn() != Ecn::Ce);
            packet.set_ecn(Ecn::Ce);
        }
        capable
    }

    /// Sets the utilization mark (Li and Mills, §II-C).
    pub fn mark_rho(&mut self, packet: &mut Packet) {
        packet.set_rho(true);
        self.marks += 1;
    }

    /// Sets the burstiness mark (Li and Mills, §II-C).
    pub fn mark_eta(&mut self, packet: &mut Packet) {
        packet.set_eta(true);
        self.marks += 1;
    }
}

/// A queue discipline: policy only. Accounting is done once, by whoever calls it.
///
/// The contract: the server calls `dequeue` when it is free, at once after an `enqueue` into an idle link and at the
/// end of every transmission; where `dequeue` returns `None` although packets wait (a shaper, a framed server), it
/// calls again at [`QueueDiscipline::next_ready`]. `on_timer` is called at or after [`QueueDiscipline::next_timer`], and
/// `on_rate` where a schedule or a governor changes the server's rate.
pub trait QueueDiscipline {
    /// Takes a packet in, or drops it or others through `cx`.
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut QueueCx<'_>);

    /// The next packet to transmit; may mark packets or drop some on the way to it.
    fn dequeue(&mut self, now: Time, cx: &mut QueueCx<'_>) -> Option<Packet>;

    /// For disciplines that are not work-conserving: when `dequeue` will next have something. `None` while it has
    /// something now or nothing at all.
    fn next_ready(&self, now: Time) -> Option<Time> {
        let _ = now;
        None
    }

    /// When the discipline wants to be called without a packet.
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// The time given by [`QueueDiscipline::next_timer`] has come.
    fn on_timer(&mut self, now: Time, cx: &mut QueueCx<'_>) {
        let _ = (now, cx);
    }

    /// From now on the server has this rate; `cx` has the one that it had until now, so that whoever reckons with the rate over
    /// a time can do so for what is behind.
    fn on_rate(&mut self, now: Time, rate: BitRate, cx: &mut QueueCx<'_>) {
        let _ = (now, rate, cx);
    }

    /// What waits.
    fn backlog(&self) -> Backlog;

    /// Tells its state as of `now`, by name, to whoever records it: averages, prices, probabilities. Of several
    /// values by one name the first counts. Where a value has a unit, its name ends in it (`_packets`, `_bytes`,
    /// `_bits` per second, `_seconds`).
    fn observe(&self, now: Time, note: &mut dyn FnMut(&'static str, f64)) {
        let _ = (now, note);
    }
}

/// What happens to an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It joins the tail.
    Accept,
    /// It is dropped.
    Drop(DropReason),
}

/// A first-in first-out discipline that acts on arrivals only (drop-tail, RED, AVQ, TDQM): no packet in the queue is
/// touched afterwards, so a link with a fixed rate knows each packet's departure when it enters and spends one event
/// on it. `qdisc::Fifo` makes a [`QueueDiscipline`] of any of these.
pub trait ArrivalPolicy {
    /// Decides on an arriving packet, and may mark it. `backlog` is what waits before it.
    fn admit(&mut self, now: Time, packet: &mut Packet, backlog: &Backlog, cx: &mut QueueCx<'_>) -> Verdict;

    /// Tells its state, as [`QueueDiscipline::observe`] does.
    fn observe(&self, now: Time, note: &mut dyn FnMut(&'static str, f64)) {
        let _ = (now, note);
    }
}
