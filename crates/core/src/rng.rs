//! One random stream per element, derived from the run's seed and the element's name: adding a flow changes
//! nobody else's draws, and two variants of a scheme see the same traffic (common random numbers).

use rand::{Rng, RngExt, TryRng};
use rand_pcg::Pcg64;

/// A named, seeded stream of random numbers.
#[derive(Clone, Debug)]
pub struct Stream(Pcg64);

impl Stream {
    /// The stream of the element called `name` in the run seeded with `seed`.
    ///
    /// The name is hashed (FNV-1a, finished by `SplitMix64`), so the order in which elements are made does not
    /// matter.
    pub fn new(seed: u64, name: &str) -> Self {
        StreamName::new(name).stream(seed)
    }

    /// The stream of a part of an element: that of the name `"{name} {part}"`, which is not put together, since millions of
    /// flows and links have such streams.
    pub fn of_part(seed: u64, name: &str, part: &str) -> Self {
        StreamName::new(name).part(part).stream(seed)
    }

    /// A stream within this element's, for example one per spawned flow.
    pub fn child(seed: u64, name: &str, index: u64) -> Self {
        StreamName::new(name).child(seed, index)
    }

    /// Uniform on [0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.0.random()
    }

    /// Uniform on (0, 1]: safe under a logarithm.
    pub fn uniform_positive(&mut self) -> f64 {
        1.0 - self.uniform()
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -self.uniform_positive().ln()
    }

    /// Pareto with the given shape and smallest value 1: `P(X > x) = x^-shape`.
    pub fn pareto(&mut self, shape: f64) -> f64 {
        self.uniform_positive().powf(-1.0 / shape)
    }

    /// Uniform on 0..bound; zero for a bound of zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.0.random_range(0..bound) }
    }

    /// True with the given probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }
}

/// The hash of an element's name. Millions of flows have several streams each, and hash their names once for all of them.
#[derive(Clone, Copy, Debug)]
pub struct StreamName(u64);

impl StreamName {
    /// That of a name.
    pub fn new(name: &str) -> Self {
        Self(0xcbf2_9ce4_8422_2325).and(name.bytes())
    }

    /// That of a part of an element: of the name `"{name} {part}"`.
    #[must_use]
    pub fn part(self, part: &str) -> Self {
        self.and([b' ']).and(part.bytes())
    }

    fn and(self, bytes: impl IntoIterator<Item = u8>) -> Self {
        Self(
            bytes
                .into_iter()
                .fold(self.0, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)),
        )
    }

    /// The stream of the element in the run seeded with `seed`: [`Stream::new`].
    pub fn stream(self, seed: u64) -> Stream {
        let hash = mix(self.0);
        let state = u128::from(mix(seed)) << 64 | u128::from(mix(seed ^ hash));
        Stream(Pcg64::new(state, u128::from(hash)))
    }

    /// A stream within the element's: [`Stream::child`].
    pub fn child(self, seed: u64, index: u64) -> Stream {
        self.stream(mix(seed ^ mix(index)))
    }
}

impl TryRng for Stream {
    type Error = std::convert::Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Ok(self.0.next_u32())
    }
    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Ok(self.0.next_u64())
    }
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        self.0.fill_bytes(bytes);
        Ok(())
    }
}

/// `SplitMix64`'s finaliser: every input bit moves every output bit.
pub const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_depend_on_seed_and_name_only() {
        let draw = |seed, name| Stream::new(seed, name).uniform();
        assert_eq!(draw(1, "link a"), draw(1, "link a"));
        assert_ne!(draw(1, "link a"), draw(1, "link b"));
        assert_ne!(draw(1, "link a"), draw(2, "link a"));
        assert_eq!(draw(1, "link a"), Stream::of_part(1, "link", "a").uniform());
        let name = StreamName::new("link");
        assert_eq!(draw(1, "link a"), name.part("a").stream(1).uniform());
        assert_eq!(Stream::child(1, "link", 4).uniform(), name.child(1, 4).uniform());
        assert_ne!(name.child(1, 4).uniform(), name.child(1, 5).uniform());
    }

    #[test]
    fn exponential_and_pareto_have_their_means() {
        let mut stream = Stream::new(7, "test");
        let n = 200_000;
        let exponential = (0..n).map(|_| stream.exponential()).sum::<f64>() / f64::from(n);
        assert!((exponential - 1.0).abs() < 0.01, "{exponential}");
        let pareto = (0..n).map(|_| stream.pareto(3.0)).sum::<f64>() / f64::from(n);
        assert!((pareto - 1.5).abs() < 0.02, "{pareto}");
    }
}
