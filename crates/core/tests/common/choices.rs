//! Choices that any bytes make: what fuzz targets and the property tests of the same names share in all crates. What is chosen among
//! stands with each of them.
#![allow(dead_code, reason = "each program makes choices of its own kinds")]

/// Takes numbers from bytes, each from so many; zeros when they run out.
pub(crate) struct Choices<'a> {
    bytes: &'a [u8],
    width: usize,
}

impl<'a> Choices<'a> {
    pub(crate) fn new(bytes: &'a [u8], width: usize) -> Self {
        Self { bytes, width }
    }

    /// Whether no bytes are left.
    pub(crate) fn are_over(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let (taken, rest) = self.bytes.split_at(self.width.min(self.bytes.len()));
        self.bytes = rest;
        taken.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)) % bound.max(1)
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.below(1 << 8) as u8
    }

    pub(crate) fn among<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    pub(crate) fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }
}
