//! Packets carried as ATM cells: AAL 5 cuts them into cells of 53 bytes where they enter the network, and puts them
//! together where they leave it (ITU-T I.363.5: 8 B of trailer, 48 B of payload per cell). The network between sees cells
//! and nothing else; the endpoints see packets and nothing else.
//!
//! A packet that lost a cell is torn: it is discarded when a later packet of its flow and direction is complete. Cells of
//! one flow must stay in order, as on a virtual circuit.

use std::collections::VecDeque;

use tailback_core::{Annexes, Bytes, Ecn, FlowId, Kind, Packet};

use crate::routes::End;

/// A cell on the wire.
const CELL: Bytes = Bytes::new(53);

/// A packet on its way in cells.
#[derive(Clone, Copy, Debug)]
struct Frame {
    packet: Packet,
    cells: u64,
    arrived: u64,
    marked: bool,
    damaged: bool,
}

/// The packets of one flow in one direction, in the order in which they left.
#[derive(Debug, Default)]
struct Circuit {
    frames: VecDeque<Frame>,
    /// The number of the first of `frames`; a cell carries its packet's.
    first: u64,
}

/// What an arrival meant.
pub(crate) struct Arrived {
    /// The packet that is complete.
    pub(crate) whole: Option<Packet>,
    /// How many packets turned out to be torn.
    pub(crate) torn: u32,
}

/// All that is carried in cells.
#[derive(Debug)]
pub(crate) struct Cells {
    /// Per flow, its two directions: towards the receiver, towards the sender.
    circuits: Vec<Option<Box<[Circuit; 2]>>>,
}

/// How many cells carry so many bytes.
fn count(size: Bytes) -> u64 {
    (size.get() + 8).div_ceil(48)
}

impl Cells {
    pub(crate) fn new(flows: &[FlowId]) -> Self {
        let mut circuits = Vec::new();
        for flow in flows {
            circuits.resize_with(circuits.len().max(flow.index() + 1), || None);
            circuits[flow.index()] = Some(Box::default());
        }
        Self { circuits }
    }

    fn circuit(&mut self, packet: &Packet, end: End) -> Option<&mut Circuit> {
        let both = self.circuits.get_mut(packet.flow.index())?.as_mut()?;
        Some(&mut both[usize::from(end == End::Sender)])
    }

    /// A packet that leaves its endpoint: one of its cells, and how many there are. `None` if it is not to be cut.
    pub(crate) fn cut(&mut self, packet: Packet) -> Option<(Packet, u64)> {
        let end = match packet.kind() {
            Kind::Data | Kind::Control => End::Receiver,
            Kind::Ack | Kind::Report => End::Sender,
        };
        let circuit = self.circuit(&packet, end)?;
        let number = circuit.first + circuit.frames.len() as u64;
        let cells = count(packet.size());
        circuit.frames.push_back(Frame { packet, cells, arrived: 0, marked: false, damaged: false });
        let cell = Packet::new(packet.kind(), packet.flow, number, CELL).with_bits(packet.bits());
        Some((cell, cells))
    }

    /// A cell, or a packet that was not cut, arrives at an end.
    pub(crate) fn arrive(&mut self, packet: Packet, end: End, annexes: &mut Annexes) -> Arrived {
        let Some(circuit) = self.circuit(&packet, end) else {
            return Arrived { whole: Some(packet), torn: 0 };
        };
        let place = packet.number.checked_sub(circuit.first).map(|place| place as usize);
        let Some(frame) = place.and_then(|place| circuit.frames.get_mut(place)) else {
            // A second copy, or a straggler of what was given up.
            return Arrived { whole: None, torn: 0 };
        };
        frame.arrived += 1;
        frame.marked |= packet.ecn() == Ecn::Ce;
        frame.damaged |= packet.is_corrupted();
        if frame.arrived < frame.cells {
            return Arrived { whole: None, torn: 0 };
        }
        let mut whole = *frame;
        let torn = place.unwrap_or(0);
        for frame in circuit.frames.drain(..=torn).take(torn) {
            annexes.free(frame.packet.annex);
        }
        circuit.first = packet.number + 1;
        if whole.marked {
            whole.packet.set_ecn(Ecn::Ce);
        }
        whole.packet.set_corrupted(whole.damaged);
        Arrived { whole: Some(whole.packet), torn: torn as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_core::{AckBlocks, Annex};

    fn data(number: u64, size: u64) -> Packet {
        Packet::new(Kind::Data, FlowId(0), number, Bytes::new(size))
    }

    #[test]
    fn a_packet_is_whole_when_its_last_cell_is_there() {
        let (mut cells, mut annexes) = (Cells::new(&[FlowId(0)]), Annexes::new());
        let (cell, many) = cells.cut(data(7, 500)).unwrap();
        assert_eq!((many, cell.size()), (11, CELL));
        for _ in 1..many {
            assert!(cells.arrive(cell, End::Receiver, &mut annexes).whole.is_none());
        }
        let whole = cells.arrive(cell, End::Receiver, &mut annexes).whole.unwrap();
        assert_eq!((whole.number, whole.size()), (7, Bytes::new(500)));
    }

    #[test]
    fn a_lost_cell_tears_its_packet_and_no_other() {
        let (mut cells, mut annexes) = (Cells::new(&[FlowId(0)]), Annexes::new());
        let mut torn = data(1, 100);
        torn.annex = annexes.insert(Annex::Blocks(AckBlocks::default()));
        let (torn, _) = cells.cut(torn).unwrap();
        let (next, many) = cells.cut(data(2, 100)).unwrap();
        cells.arrive(torn, End::Receiver, &mut annexes);
        let mut arrived = None;
        for _ in 0..many {
            arrived = Some(cells.arrive(next, End::Receiver, &mut annexes));
        }
        let arrived = arrived.unwrap();
        assert_eq!((arrived.whole.unwrap().number, arrived.torn), (2, 1));
        assert!(annexes.is_empty(), "what the torn packet carried is freed");
        assert!(cells.arrive(torn, End::Receiver, &mut annexes).whole.is_none(), "a straggler");
    }

    #[test]
    fn other_flows_pass_uncut() {
        let (mut cells, mut annexes) = (Cells::new(&[FlowId(3)]), Annexes::new());
        assert!(cells.cut(data(1, 100)).is_none());
        assert_eq!(cells.arrive(data(1, 100), End::Receiver, &mut annexes).whole, Some(data(1, 100)));
    }

    #[test]
    fn marks_and_damage_of_a_cell_are_its_packets() {
        let (mut cells, mut annexes) = (Cells::new(&[FlowId(0)]), Annexes::new());
        let (mut cell, _) = cells.cut(data(1, 90)).unwrap();
        cell.set_ecn(Ecn::Ce);
        cells.arrive(cell, End::Receiver, &mut annexes);
        cell.set_ecn(Ecn::Ect0);
        cell.set_corrupted(true);
        cells.arrive(cell, End::Receiver, &mut annexes);
        cell.set_corrupted(false);
        let whole = cells.arrive(cell, End::Receiver, &mut annexes).whole.unwrap();
        assert!(whole.ecn() == Ecn::Ce && whole.is_corrupted());
    }
}
