//! Who is carried otherwise than packet by packet along one route: multicast groups, whose routes branch, and flows in
//! cells. What that does to a packet's way is in `branches.rs`, cutting into cells in `cells.rs`.

use std::collections::BTreeMap;

use tailback_core::FlowId;

use crate::cells::Cells;

/// Who is carried how.
#[derive(Debug)]
pub(crate) struct CellsAndMulticast {
    pub(crate) cells: Cells,
    /// Per receiver of a group: where its own route begins, for what is sent to it alone.
    pub(crate) alone: BTreeMap<FlowId, u32>,
}

impl CellsAndMulticast {
    /// `None` if all is carried as usual. Per flow, `starts` says where its routes begin, forward and reverse.
    pub(crate) fn new<'a>(
        in_cells: &[FlowId],
        members: impl Iterator<Item = &'a FlowId>,
        starts: &[(u32, u32)],
    ) -> Option<Box<Self>> {
        let alone: BTreeMap<_, _> = members.map(|member| (*member, starts[member.index()].0)).collect();
        let any = !in_cells.is_empty() || !alone.is_empty();
        any.then(|| Box::new(Self { cells: Cells::new(in_cells), alone }))
    }
}
