//! What a real application has heard of what it may send, so that it hears of news only. Built-in sources are told by
//! [`Source::tell`](crate::source::Source::tell) instead, before each offer and whenever a gate changes.

use tailback_core::{AppHint, BitRate};

/// A rate is news where it differs from the one last told by more than one part in so many.
const PARTS: u64 = 16;

/// The hints of one sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hints {
    told: Option<AppHint>,
}

impl Hints {
    /// The application hears of this one, whatever it says.
    pub(crate) fn note(&mut self, hint: AppHint) {
        self.told = Some(hint);
    }

    /// Whether the application has something to hear: of the gate, or of a rate that differs by more than a sixteenth.
    pub(crate) fn is_news(&self, hint: &AppHint) -> bool {
        let Some(told) = self.told else { return hint.rate.is_some() || !hint.gate.is_open() };
        told.gate.is_open() != hint.gate.is_open() || differ(told.rate, hint.rate)
    }
}

fn differ(told: Option<BitRate>, rate: Option<BitRate>) -> bool {
    match (told.map(BitRate::bits_per_sec), rate.map(BitRate::bits_per_sec)) {
        (Some(told), Some(rate)) => told.abs_diff(rate) > told / PARTS,
        (told, rate) => told != rate,
    }
}

#[cfg(test)]
mod tests {
    use tailback_core::{Bytes, Gate};

    use super::*;

    #[test]
    fn small_changes_are_no_news() {
        let hint = |bits: Option<u64>, gate| AppHint {
            rate: bits.map(BitRate::from_bits_per_sec),
            backlog: Bytes::ZERO,
            gate,
        };
        let mut hints = Hints::default();
        assert!(!hints.is_news(&hint(None, Gate::Open)), "nothing is known yet");
        assert!(hints.is_news(&hint(Some(1600), Gate::Open)));
        hints.note(hint(Some(1600), Gate::Open));
        for (bits, news) in [(1700, false), (1701, true), (1500, false), (1499, true)] {
            assert_eq!(hints.is_news(&hint(Some(bits), Gate::Open)), news, "{bits}");
        }
        assert!(hints.is_news(&hint(Some(1600), Gate::Closed { until: None })));
        assert!(hints.is_news(&hint(None, Gate::Open)));
    }
}
