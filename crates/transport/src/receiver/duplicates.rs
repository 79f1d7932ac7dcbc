//! What arrived twice, named as the first range of the acknowledgement that it causes (D-SACK, RFC 2883). What else an
//! acknowledgement says is in `receiver.rs`.
//!
//! One range is named in each acknowledgement. Where acknowledgements wait for each other, that is the newest, with those that
//! arrived right before it.

use tailback_core::{AckBlocks, Annex, Bytes, EndpointCx, Kind, Packet, SeqRange};

use super::Receiver;

impl Receiver {
    /// A segment has arrived that had arrived before.
    #[cold]
    pub(super) fn note_duplicate(&mut self, number: u64) {
        let twice = &mut self.told.get_or_insert_default().twice;
        let start = twice.filter(|range| range.end == number).map_or(number, |range| range.start);
        *twice = Some(SeqRange { start, end: number + 1 });
    }

    /// Whether the next acknowledgement has a duplicate to name.
    #[inline]
    pub(super) fn has_duplicate(&self) -> bool {
        self.told.as_ref().is_some_and(|told| told.twice.is_some())
    }

    /// The acknowledgement, with what arrived twice in front of its ranges.
    #[cold]
    #[inline(never)]
    pub(super) fn acknowledge_duplicate(&mut self, cx: &mut EndpointCx<'_>) -> Packet {
        let ack = self.acknowledge(cx);
        let Some(twice) = self.told.as_mut().and_then(|told| told.twice.take()) else { return ack };
        let mut said = match cx.annexes.take(ack.annex) {
            Some(Annex::Blocks(said)) => said,
            _ => AckBlocks { trigger: self.trigger, ..AckBlocks::default() },
        };
        let before = said.count;
        name_first(&mut said, twice, ack.number, self.config.max_sack_blocks);
        let more = Bytes::new(u64::from(said.count - before) * self.config.sack_block.get());
        self.counters.sent_bytes += more;
        let annex = cx.annexes.insert(Annex::Blocks(said));
        let bits = ack.bits();
        let mut ack = Packet::new(Kind::Ack, self.flow, ack.number, ack.size() + more).with_bits(bits);
        ack.annex = annex;
        ack
    }
}

/// Puts a range that arrived twice in front. Beyond the number that is expected it must lie within the range behind it.
fn name_first(said: &mut AckBlocks, twice: SeqRange, next: u64, most: u8) {
    let ranges = usize::from(said.count);
    if twice.end > next {
        let holds = |range: &SeqRange| range.start <= twice.start && twice.end <= range.end;
        match said.as_slice().iter().position(holds) {
            Some(at) if most >= 2 => said.blocks[..=at].rotate_right(1),
            _ => return,
        }
    }
    if most == 0 {
        return;
    }
    said.blocks.rotate_right(1);
    said.blocks[0] = twice;
    said.count = most.min(ranges as u8 + 1).min(said.blocks.len() as u8);
}
