//! What a link asks of whoever drives it, a simulator or a router: to keep its timers, and to hear what becomes of packets.
//! Clocks, event queues and logs are the driver's business.

use tailback_core::{Annexes, DropReason, LinkId, Packet, Time};

/// Keeps links' timers, and hears what becomes of their packets.
pub trait LinkDriver {
    /// Whether [`LinkDriver::served`] and [`LinkDriver::dropped`] are called at all.
    const PACKETS: bool;

    /// Sets a timer of the link's [`LinkTimers`] to `at`, in place of whatever it was set to; [`Time::NEVER`] stops it.
    fn arm(&mut self, timer: u32, at: Time);

    /// The same where it was set to a later time or to none, which may be cheaper to do.
    #[inline(always)]
    fn bring_forward(&mut self, timer: u32, at: Time) {
        self.arm(timer, at);
    }

    /// The link transmits a packet from `begins`, when it stops waiting, to `ends`. Told once, as soon as both are known,
    /// which may be before either has come, and where a trace or governor decides, which know no beginnings, when it has
    /// left.
    fn served(&mut self, now: Time, link: LinkId, packet: &Packet, begins: Time, ends: Time);

    /// The link has dropped a packet.
    fn dropped(&mut self, now: Time, link: LinkId, packet: &Packet, reason: DropReason);

    /// A packet on the wire has been duplicated: a second one will arrive. Its annex, if any, has been copied.
    fn duplicated(&mut self, now: Time, packet: &Packet) {
        let _ = (now, packet);
    }
}

/// What a link borrows for one call.
pub struct LinkCx<'a, D> {
    /// The present.
    pub now: Time,
    /// The link's identity, which the driver hears.
    pub id: LinkId,
    /// Rare parts of packets.
    pub annexes: &'a mut Annexes,
    /// Who drives it.
    pub driver: D,
}

/// The numbers under which a driver keeps a link's timers.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkTimers {
    /// The head of the wire reaches the far end: [`Link::take_head`](crate::Link::take_head).
    pub wire: u32,
    /// Ends of transmission, changes, the discipline's timers (staged form): [`Link::serve`](crate::Link::serve).
    pub service: u32,
    /// Packets held back on the wire: [`Link::arrive_late`](crate::Link::arrive_late).
    pub late: u32,
}
