//! What a sender offers and a receiver answers, as bytes within the handshake.

use tailback_core::Bytes;

use super::hash::Hash;
use crate::secure::handshake::LONGEST_ANSWER;
use crate::shown::{is_plain, shown};

/// The longest name of a file, in bytes.
pub const LONGEST_NAME: usize = 255;

/// A file, and how its bytes will come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Its name, without folders.
    pub name: String,
    /// Its size.
    pub size: Bytes,
    /// The SHA-256 of its bytes.
    pub hash: Hash,
    /// What the receiving endpoint must know, in whatever way the endpoints' maker says it.
    pub flow: String,
}

impl Offer {
    /// As bytes: hash (32), size (8), length of the name (1), name, flow.
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = self.hash.to_vec();
        bytes.extend(self.size.get().to_be_bytes());
        bytes.push(self.name.len() as u8);
        bytes.extend(self.name.as_bytes());
        bytes.extend(self.flow.as_bytes());
        bytes
    }

    /// Whether both are of the same file, however its bytes come.
    pub(super) fn is_of_same_file(&self, other: &Self) -> bool {
        (&self.name, self.size, self.hash) == (&other.name, other.size, other.hash)
    }

    /// From bytes; `None` where they are none, or the name could lead out of a folder or change a terminal.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (hash, rest) = bytes.split_first_chunk()?;
        let (size, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first()?;
        let (name, flow) = rest.split_at_checked(usize::from(*length))?;
        let (name, flow) = (std::str::from_utf8(name).ok()?, std::str::from_utf8(flow).ok()?);
        is_bare(name).then(|| Self {
            name: name.to_owned(),
            size: Bytes::new(u64::from_be_bytes(*size)),
            hash: *hash,
            flow: flow.to_owned(),
        })
    }
}

/// Whether a name is one of a file without folders, and does nothing to a terminal that shows it.
pub(super) fn is_bare(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && name.chars().all(|part| is_plain(part) && !matches!(part, '/' | '\\'))
}

/// What a receiver answers: how much it has, or why it does not want the file.
pub fn write_answer(answer: &Result<u64, String>) -> Vec<u8> {
    match answer {
        Ok(have) => [&[0][..], &have.to_be_bytes()].concat(),
        Err(why) => {
            let mut end = why.len().min(LONGEST_ANSWER - 1);
            while !why.is_char_boundary(end) {
                end -= 1;
            }
            [&[1], &why.as_bytes()[..end]].concat()
        }
    }
}

/// The answer in these bytes, of which a refusal can be shown as it is; `None` where there is none.
pub fn read_answer(bytes: &[u8]) -> Option<Result<u64, String>> {
    match bytes.split_first()? {
        (0, have) => have.try_into().ok().map(|have| Ok(u64::from_be_bytes(have))),
        (1, why) => Some(Err(shown(&String::from_utf8_lossy(why)))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Any bytes are refused, or an offer that says the same again.
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            if let Some(offer) = Offer::read(&bytes) {
                prop_assert_eq!(offer.write(), bytes.clone());
            }
            if let Some(answer) = read_answer(&bytes) {
                prop_assert!(write_answer(&answer).len() <= LONGEST_ANSWER.max(bytes.len()));
            }
        }
    }

    #[test]
    fn names_lead_nowhere() {
        let offer = |name: &str| Offer {
            name: name.to_owned(),
            size: Bytes::new(7),
            hash: [3; 32],
            flow: "{}".to_owned(),
        };
        for name in ["a", "a b", "ä.txt", ".hidden", "..."] {
            assert_eq!(Offer::read(&offer(name).write()), Some(offer(name)));
        }
        for name in [
            "",
            ".",
            "..",
            "a/b",
            "/etc/passwd",
            "..\\a",
            "a\0",
            "\u{1b}]0;a\u{7}",
            "a\nb",
            "a\r",
            "\u{202e}a",
        ] {
            assert_eq!(Offer::read(&offer(name).write()), None, "{name:?}");
        }
        let long = Err("ä".repeat(300));
        let written = write_answer(&long);
        assert!(written.len() <= LONGEST_ANSWER);
        assert!(read_answer(&written).is_some_and(|answer| answer.is_err_and(|why| why.ends_with('ä'))));
        let rude = write_answer(&Err("no\u{1b}[2J".to_owned()));
        assert_eq!(read_answer(&rude), Some(Err(r"no\u{1b}[2J".to_owned())));
    }
}
