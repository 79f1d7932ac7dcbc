//! Injected loss and reordering at the edge, for tests on paths that have neither. Seeded, so that the same frames
//! meet the same fate; their timing is real.

use tailback_core::{Checker, Span, Stream, Time};

/// What happens to frames on their way out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImpairmentConfig {
    /// The probability that a frame is lost, independently. 0 to 1; default 0.
    pub loss: f64,
    /// The probability that a frame is held back while later ones pass. 0 to 1; default 0.
    pub reorder: f64,
    /// How long it is held back. Default 1 ms.
    pub hold: Span,
}

impl Default for ImpairmentConfig {
    fn default() -> Self {
        Self { loss: 0.0, reorder: 0.0, hold: Span::from_millis(1) }
    }
}

impl ImpairmentConfig {
    /// Complains about every value that is not allowed.
    pub fn check(&self, checker: &mut Checker) {
        checker.require((0.0..=1.0).contains(&self.loss), "loss", self.loss, "a probability, 0 to 1");
        checker.require(
            (0.0..=1.0).contains(&self.reorder),
            "reorder",
            self.reorder,
            "a probability, 0 to 1",
        );
    }
}

/// Frames that are held back, and the dice.
#[derive(Clone, Debug)]
pub struct Impairment {
    config: ImpairmentConfig,
    rng: Stream,
    /// In the order of release, since all are held equally long.
    held: std::collections::VecDeque<(Time, Vec<u8>)>,
    lost: u64,
    delayed: u64,
}

impl Impairment {
    /// Impairments drawn from `rng`.
    pub fn new(config: ImpairmentConfig, rng: Stream) -> Self {
        Self { config, rng, held: std::collections::VecDeque::new(), lost: 0, delayed: 0 }
    }

    /// Whether `frame` may leave now; otherwise it is lost or held.
    pub fn pass(&mut self, now: Time, frame: &[u8]) -> bool {
        if self.rng.chance(self.config.loss) {
            self.lost += 1;
            return false;
        }
        if self.rng.chance(self.config.reorder) {
            self.delayed += 1;
            self.held.push_back((now + self.config.hold, frame.to_vec()));
            return false;
        }
        true
    }

    /// When the next held frame may leave.
    pub fn next_release(&self) -> Option<Time> {
        self.held.front().map(|(at, _)| *at)
    }

    /// A held frame whose time has come.
    pub fn release(&mut self, now: Time) -> Option<Vec<u8>> {
        self.held.pop_front_if(|(at, _)| *at <= now).map(|(_, frame)| frame)
    }

    /// How many frames were lost on purpose.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// How many frames were held back on purpose.
    pub fn delayed(&self) -> u64 {
        self.delayed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loses_and_holds_as_configured() {
        let config = ImpairmentConfig { loss: 0.1, reorder: 0.2, hold: Span::from_millis(3) };
        let mut impairment = Impairment::new(config, Stream::new(1, "edge"));
        let passed = (0..100_000).filter(|_| impairment.pass(Time::ZERO, b"frame")).count();
        assert!((impairment.lost() as f64 / 1e5 - 0.1).abs() < 0.005);
        assert!((impairment.delayed() as f64 / 1e5 - 0.9 * 0.2).abs() < 0.005);
        assert_eq!(passed as u64 + impairment.lost() + impairment.delayed(), 100_000);

        let release = Time::ZERO + Span::from_millis(3);
        assert_eq!(impairment.next_release(), Some(release));
        assert_eq!(impairment.release(Time::ZERO), None);
        let mut released = 0;
        while impairment.release(release).is_some() {
            released += 1;
        }
        assert_eq!(released, impairment.delayed());
    }
}
