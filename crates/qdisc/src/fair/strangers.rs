//! Slots for flows whose numbers are too high to be places. What lies in a slot is not known here.

use super::shares::FlowMap;

/// Slots of the few flows whose numbers no table should be as long as.
#[derive(Clone, Debug, Default)]
pub(super) struct Strangers {
    slots: FlowMap<u32>,
    /// The flow of each such slot, and the slots that are free.
    flows: Vec<u32>,
    free: Vec<u32>,
}

impl Strangers {
    /// The slot of `flow`, counted from zero.
    pub(super) fn slot(&mut self, flow: u32) -> u32 {
        *self.slots.entry(flow).or_insert_with(|| {
            let slot = self.free.pop().unwrap_or(self.flows.len() as u32);
            if slot as usize == self.flows.len() {
                self.flows.push(flow);
            } else {
                self.flows[slot as usize] = flow;
            }
            slot
        })
    }

    /// The slot of `flow`, if it has one.
    pub(super) fn find(&self, flow: u32) -> Option<u32> {
        self.slots.get(&flow).copied()
    }

    /// Gives a slot back.
    pub(super) fn forget(&mut self, slot: u32) {
        self.slots.remove(&self.flows[slot as usize]);
        self.free.push(slot);
        if self.slots.is_empty() {
            *self = Self::default();
        }
    }
}
