//! Numbers for the flows that a router sees, in the order in which they come, and what became of each one's packets. What
//! makes a flow is said in `ip.rs`.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

use tailback_core::{Bytes, FlowId, Span, Time};

use super::ip::FlowKey;

/// So many flows have numbers of their own. The numbers index tables of queue disciplines, and somebody who scans all ports
/// must not make these grow without end.
pub(crate) const MOST: usize = 1 << 16;

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many packets.
    pub packets: u64,
    /// How many bytes, IP headers included.
    pub bytes: Bytes,
}

impl Tally {
    pub(crate) fn add(&mut self, size: Bytes) {
        self.packets += 1;
        self.bytes += size;
    }
}

/// What became of a flow's packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowTally {
    /// Whose.
    pub key: FlowKey,
    /// The device that its first packet came by.
    pub device: usize,
    /// Came to the router.
    pub arrived: Tally,
    /// Left it, copies included.
    pub left: Tally,
    /// Dropped on the way, by queues and by links' losses.
    pub dropped: Tally,
    /// Left with a mark of congestion that they had not come with.
    pub marked: u64,
    /// When the first one came.
    pub first: Time,
    /// When the last one came.
    pub last: Time,
    /// The sum of the times that those that left have spent in the router.
    pub delay: Span,
}

impl FlowTally {
    fn new(key: &FlowKey, device: usize, now: Time) -> Self {
        Self {
            key: *key,
            device,
            arrived: Tally::default(),
            left: Tally::default(),
            dropped: Tally::default(),
            marked: 0,
            first: now,
            last: now,
            delay: Span::ZERO,
        }
    }
}

/// The flows seen so far.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    numbers: HashMap<FlowKey, FlowId, BuildHasherDefault<DefaultHasher>>,
    tallies: Vec<FlowTally>,
    /// Packets come in bursts of one flow: mostly the last answer is the next.
    last: Option<(FlowKey, FlowId)>,
}

impl Flows {
    /// The number of a flow; those beyond [`MOST`] share the last one.
    #[inline]
    pub(crate) fn number(&mut self, key: &FlowKey, device: usize, now: Time) -> FlowId {
        if let Some((known, number)) = self.last
            && known == *key
        {
            return number;
        }
        let number = self.look_up(key, device, now);
        self.last = Some((*key, number));
        number
    }

    fn look_up(&mut self, key: &FlowKey, device: usize, now: Time) -> FlowId {
        if let Some(number) = self.numbers.get(key) {
            return *number;
        }
        if self.tallies.len() == MOST {
            return FlowId::from(MOST - 1);
        }
        let number = FlowId::from(self.tallies.len());
        self.numbers.insert(*key, number);
        self.tallies.push(FlowTally::new(key, device, now));
        number
    }

    /// A flow whose number somebody else has given; those before it that have not come yet are there too from now on.
    #[inline]
    pub(crate) fn named(&mut self, number: FlowId, key: &FlowKey, device: usize, now: Time) -> FlowId {
        while self.tallies.len() <= number.index() {
            self.tallies.push(FlowTally::new(key, device, now));
        }
        number
    }

    #[inline]
    pub(crate) fn tally(&mut self, flow: FlowId) -> &mut FlowTally {
        &mut self.tallies[flow.index()]
    }

    /// All flows, by their numbers.
    pub(crate) fn tallies(&self) -> &[FlowTally] {
        &self.tallies
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    fn key(port: u32) -> FlowKey {
        let address = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
        let ports = ((port % 60_000) as u16, (port / 60_000) as u16);
        FlowKey { source: address(1), destination: address(2), protocol: 17, ports }
    }

    #[test]
    fn flows_keep_their_numbers_and_are_bounded() {
        let mut flows = Flows::default();
        for port in 0..MOST as u32 + 100 {
            let expected = (port as usize).min(MOST - 1);
            assert_eq!(flows.number(&key(port), 0, Time::ZERO), FlowId::from(expected));
        }
        assert_eq!(flows.number(&key(7), 0, Time::ZERO), FlowId(7));
        assert_eq!(flows.tallies().len(), MOST);
    }
}
