//! Which datagrams have arrived, as far as duplicates can be told: the newest 64 numbers exactly, older ones as
//! arrived before.

/// A sliding bitmap below the highest number seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// One beyond the highest number seen.
    end: u64,
    /// Bit `i` stands for `end - 1 - i`.
    bits: u64,
}

impl Seen {
    /// Whether this number had not arrived before.
    pub(super) fn insert(&mut self, number: u64) -> bool {
        if number == u64::MAX {
            // No sender comes this far: forged.
            return false;
        }
        if number >= self.end {
            let shift = number + 1 - self.end;
            self.bits = if shift < 64 { self.bits << shift } else { 0 } | 1;
            self.end = number + 1;
            return true;
        }
        let back = self.end - 1 - number;
        if back >= 64 {
            return false;
        }
        let fresh = self.bits & 1 << back == 0;
        self.bits |= 1 << back;
        fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_new_from_old() {
        let mut seen = Seen::default();
        for (number, fresh) in [
            (0, true),
            (0, false),
            (2, true),
            (1, true),
            (1, false),
            (70, true),
            (8, true),
            (6, false),
            (1000, true),
        ] {
            assert_eq!(seen.insert(number), fresh, "{number}");
        }
        assert!(!seen.insert(u64::MAX));
        assert!(!seen.insert(1000) && seen.insert(999) && !seen.insert(70));
    }
}
