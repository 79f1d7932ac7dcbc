//! What a run may take of memory. Nothing is measured here: whoever owns the process says how much is in use.

/// A limit on the memory of the process that runs the simulator.
#[derive(Clone, Copy, Debug)]
pub struct MemoryLimit {
    /// At most so many bytes.
    pub most: u64,
    /// How many are in use.
    pub in_use: fn() -> u64,
}

impl MemoryLimit {
    /// No limit.
    pub const NONE: Self = Self { most: u64::MAX, in_use: || 0 };
    /// Memory is looked at after so many events: few enough that it grows little meanwhile, and so many that looking costs
    /// nothing.
    pub(crate) const EVERY: u64 = 4096;

    /// Whether more is in use.
    pub fn is_exceeded(&self) -> bool {
        (self.in_use)() > self.most
    }
}
