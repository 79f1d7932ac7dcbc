//! Counts of marks that routers set and receivers echo. Which packets are marked is decided by queue disciplines, what a
//! mark means by the sender's controller.

use crate::packet::Packet;

/// Echoed marks, in packets: in [`Feedback`](crate::Feedback) those of one batch, in
/// [`AckBlocks`](crate::AckBlocks) all since the flow began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Echoes {
    /// Congestion experienced.
    pub ce: u32,
    /// The utilization mark of Li and Mills.
    pub rho: u32,
    /// The burstiness mark of Li and Mills.
    pub eta: u32,
}

impl Echoes {
    /// None.
    pub const NONE: Self = Self { ce: 0, rho: 0, eta: 0 };

    /// What the flags of one acknowledgement echo: at most one of each, however many packets it acknowledges.
    #[inline]
    pub fn of(packet: &Packet) -> Self {
        Self { ce: u32::from(packet.ecn_echo()), rho: u32::from(packet.rho()), eta: u32::from(packet.eta()) }
    }

    /// Counts the marks of a data packet that arrived.
    #[inline]
    pub fn count(&mut self, packet: &Packet) {
        self.ce = self.ce.saturating_add(u32::from(packet.ecn() == crate::Ecn::Ce));
        self.rho = self.rho.saturating_add(u32::from(packet.rho()));
        self.eta = self.eta.saturating_add(u32::from(packet.eta()));
    }

    /// Counts the marks of a data packet where two of them share the ECN field: ECT(1) is one of burstiness.
    pub fn count_shared(&mut self, packet: &Packet) {
        self.count(packet);
        self.eta = self.eta.saturating_add(u32::from(packet.ecn() == crate::Ecn::Ect1));
    }

    /// What a newer count of all marks adds to this one, which becomes the newer. An older count, of an acknowledgement
    /// that was overtaken, adds nothing.
    pub fn take_newer(&mut self, counted: Self) -> Self {
        let newer = |known: &mut u32, counted: u32| {
            let added = counted.saturating_sub(*known);
            *known += added;
            added
        };
        Self {
            ce: newer(&mut self.ce, counted.ce),
            rho: newer(&mut self.rho, counted.rho),
            eta: newer(&mut self.eta, counted.eta),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_mark_is_told_twice_or_lost_whatever_order_counts_come_in() {
        let counted = |ce, rho| Echoes { ce, rho, eta: 0 };
        let mut known = Echoes::NONE;
        let told = [(1, 0), (1, 0), (4, 2), (2, 1), (5, 2)].map(|(ce, rho)| {
            let added = known.take_newer(counted(ce, rho));
            (added.ce, added.rho)
        });
        assert_eq!(told, [(1, 0), (0, 0), (3, 2), (0, 0), (1, 0)]);
        assert_eq!(known, counted(5, 2));
    }
}
