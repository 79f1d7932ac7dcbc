//! Reads a part of a frame field by field, and never beyond its end. What the fields mean is for its callers.

use tailback_core::{BitRate, Bytes, Span, Time};

use super::WireError;

/// What is left of a part of a frame.
pub(super) struct Reader<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) part: &'static str,
}

macro_rules! number {
    ($($name:ident),*) => {$(
        pub(super) fn $name(&mut self) -> Result<$name, WireError> {
            let (first, rest) = self.bytes.split_first_chunk().ok_or(WireError::Truncated(self.part))?;
            self.bytes = rest;
            Ok($name::from_be_bytes(*first))
        }
    )*};
}

impl<'a> Reader<'a> {
    number!(u8, u16, u32, u64, f64);

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], WireError> {
        let (first, rest) = self.bytes.split_at_checked(length).ok_or(WireError::Truncated(self.part))?;
        self.bytes = rest;
        Ok(first)
    }

    pub(super) fn finish(&self) -> Result<(), WireError> {
        if self.bytes.is_empty() { Ok(()) } else { Err(WireError::Trailing(self.bytes.len())) }
    }

    pub(super) fn flag(&mut self, what: &'static str) -> Result<bool, WireError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(WireError::Malformed(what)),
        }
    }

    /// A number that may be absent.
    pub(super) fn option(&mut self, what: &'static str) -> Result<Option<u64>, WireError> {
        if self.flag(what)? { self.u64().map(Some) } else { Ok(None) }
    }

    pub(super) fn real(&mut self, what: &'static str) -> Result<f64, WireError> {
        Some(self.f64()?).filter(|real| real.is_finite()).ok_or(WireError::Malformed(what))
    }

    pub(super) fn time(&mut self) -> Result<Time, WireError> {
        self.u64().map(Time::from_nanos)
    }

    pub(super) fn span(&mut self) -> Result<Span, WireError> {
        self.u64().map(Span::from_nanos)
    }

    pub(super) fn amount(&mut self) -> Result<Bytes, WireError> {
        self.u64().map(Bytes::new)
    }

    pub(super) fn rate(&mut self) -> Result<BitRate, WireError> {
        self.u64().map(BitRate::from_bits_per_sec)
    }
}
