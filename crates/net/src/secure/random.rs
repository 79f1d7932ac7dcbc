//! Where the random numbers of a handshake come from: the system; in tests a seed, so that what an input came to comes again.
//! What they are used for is said in `handshake.rs` and `cookie.rs`.

use ring::error::Unspecified;
use ring::rand::{SecureRandom, SystemRandom};
#[cfg(any(test, feature = "for-tests"))]
use tailback_core::Stream;

/// Random numbers.
#[derive(Clone, Debug)]
pub struct Random(Source);

#[derive(Clone, Debug)]
enum Source {
    System(SystemRandom),
    #[cfg(any(test, feature = "for-tests"))]
    Seed(Box<Stream>),
}

impl Random {
    /// Of the system.
    pub fn system() -> Self {
        Self(Source::System(SystemRandom::new()))
    }

    /// The same every time, which keeps nothing secret.
    #[cfg(any(test, feature = "for-tests"))]
    pub fn seeded(seed: u64) -> Self {
        Self(Source::Seed(Box::new(Stream::new(seed, "handshake"))))
    }

    /// The next ones.
    pub(super) fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Unspecified> {
        let mut bytes = [0; N];
        match &mut self.0 {
            Source::System(system) => system.fill(&mut bytes)?,
            #[cfg(any(test, feature = "for-tests"))]
            Source::Seed(stream) => bytes.fill_with(|| stream.below(256) as u8),
        }
        Ok(bytes)
    }

    /// A key for one handshake where it must come again; elsewhere Noise's implementation draws its own.
    pub(super) fn ephemeral<const N: usize>(&mut self) -> Option<[u8; N]> {
        match self.0 {
            Source::System(_) => None,
            #[cfg(any(test, feature = "for-tests"))]
            Source::Seed(_) => self.bytes().ok(),
        }
    }
}
