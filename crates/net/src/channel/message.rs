//! What the two ends of a session say to each other beside frames: whether somebody is there, and how it ended. The first
//! byte tells them from frames, whose first byte is the version of the wire format.

use crate::shown::shown;

/// The longest text.
const LONGEST: usize = 1000;
const PING: u8 = 0x81;
const PONG: u8 = 0x82;
const VERDICT: u8 = 0x83;
const FAREWELL: u8 = 0x84;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Whoever reads this says the number back, to where it came from.
    Ping(u64),
    /// The number of a ping.
    Pong(u64),
    /// How it ended for the one who says this: well, or with an error, which can be shown as it is read.
    Verdict(Result<(), String>),
    /// The verdict has arrived.
    Farewell,
}

impl Message {
    /// As bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Ping(number) => {
                out.push(PING);
                out.extend(number.to_be_bytes());
            }
            Self::Pong(number) => {
                out.push(PONG);
                out.extend(number.to_be_bytes());
            }
            Self::Verdict(Ok(())) => out.extend([VERDICT, 0]),
            Self::Verdict(Err(why)) => {
                let mut end = why.len().min(LONGEST);
                while !why.is_char_boundary(end) {
                    end -= 1;
                }
                out.extend([VERDICT, 1]);
                out.extend(&why.as_bytes()[..end]);
            }
            Self::Farewell => out.push(FAREWELL),
        }
    }

    /// From bytes; `None` where they are none.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        let number = || rest.try_into().ok().map(u64::from_be_bytes);
        match *kind {
            PING => number().map(Self::Ping),
            PONG => number().map(Self::Pong),
            VERDICT => match rest.split_first()? {
                (0, []) => Some(Self::Verdict(Ok(()))),
                (1, why) if why.len() <= LONGEST => {
                    Some(Self::Verdict(Err(shown(&String::from_utf8_lossy(why)))))
                }
                _ => None,
            },
            FAREWELL => rest.is_empty().then_some(Self::Farewell),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No part of a character is sent: it would be read as another one.
    #[test]
    fn long_words_are_cut_between_characters() {
        let mut bytes = Vec::new();
        Message::Verdict(Err(format!("a{}", "ä".repeat(600)))).write(&mut bytes);
        let Some(Message::Verdict(Err(why))) = Message::read(&bytes) else { panic!("{bytes:?}") };
        assert!(why.len() == LONGEST - 1 && why.ends_with('ä'), "{why}");
    }

    #[test]
    fn a_peers_words_can_be_shown() {
        let mut bytes = Vec::new();
        Message::Verdict(Err("no\u{1b}[2J\n".to_owned())).write(&mut bytes);
        assert_eq!(Message::read(&bytes), Some(Message::Verdict(Err(r"no\u{1b}[2J\n".to_owned()))));
    }
}
