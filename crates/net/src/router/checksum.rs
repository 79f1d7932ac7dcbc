//! The checksum of the Internet protocols, and its update where a word changes. Who checks what is decided in `ip.rs`.

/// The ones' complement of the ones' complement sum of all words (RFC 1071); zero over a header whose checksum is right.
pub(super) fn of(bytes: &[u8]) -> u16 {
    let mut words = bytes.chunks_exact(2);
    let sum: u32 = words.by_ref().map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let odd = words.remainder().first().map_or(0, |byte| u32::from(*byte) << 8);
    !fold(sum + odd)
}

/// Brings a checksum up to date with one word that has changed (RFC 1624, equation 3: `HC' = ~(~HC + ~m + m')`).
pub(super) fn update(checksum: &mut [u8], before: [u8; 2], after: [u8; 2]) {
    let word = |bytes: [u8; 2]| u32::from(u16::from_be_bytes(bytes));
    let old = u32::from(!u16::from_be_bytes([checksum[0], checksum[1]]));
    let sum = old + u32::from(!u16::from_be_bytes(before)) + word(after);
    checksum.copy_from_slice(&(!fold(sum)).to_be_bytes());
}

/// Adds the carries, until there are none.
fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn follows_the_published_example() {
        // RFC 1071 §3: the words sum to ddf2.
        assert_eq!(of(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        assert_eq!(of(&[0x12]), !0x1200, "an odd byte is the high one of its word");
        // RFC 1624 §4: m = 0x5555, m' = 0x3285, HC = 0xdd2f gives 0x0000.
        let mut checksum = 0xdd2f_u16.to_be_bytes();
        update(&mut checksum, 0x5555_u16.to_be_bytes(), 0x3285_u16.to_be_bytes());
        assert_eq!(checksum, [0, 0]);
    }

    proptest! {
        /// An updated checksum is the one that a header with the new word has. A header of IP is never all zeros, for
        /// which alone the two forms of zero differ.
        #[test]
        fn an_update_is_a_new_sum(mut header: [u8; 20], word in 0..10_usize, after: [u8; 2]) {
            prop_assume!(word != 5);
            header[0] = 0x45;
            prop_assume!(word != 0 || after != [0, 0]);
            header[10..12].fill(0);
            let sum = of(&header);
            header[10..12].copy_from_slice(&sum.to_be_bytes());
            let at = 2 * word;
            let before = [header[at], header[at + 1]];
            header[at..at + 2].copy_from_slice(&after);
            update(&mut header[10..12], before, after);
            prop_assert_eq!(of(&header), 0);
            let kept = [header[10], header[11]];
            header[10..12].fill(0);
            let anew = of(&header);
            // Both mean zero.
            prop_assert!(kept == anew.to_be_bytes() || (kept == [0xff, 0xff] && anew == 0));
        }
    }
}
