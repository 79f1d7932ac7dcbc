//! A player of a networked game, or the server toward one player: small packets at intervals that the game's clock sets,
//! whatever becomes of them. What a player does is not modelled, only what leaves.
//!
//! Source: Färber, "Network Game Traffic Modelling", `NetGames` 2002, from traces of Counter-Strike. Sizes and intervals are
//! extreme value distributed, `P(X <= x) = exp(-exp(-(x - a)/b))`:
//!
//! | direction | interval a, b | packet a, b | mean rate |
//! | --- | --- | --- | --- |
//! | server to client | 55 ms, 6 ms | 120 B, 36 B | about 19 kbit/s |
//! | client to server | 40 ms, 6 ms | 80 B, 5.7 B | about 15 kbit/s |
//!
//! The sizes are those of the traces' packets, headers included; the endpoint's header is added here as to any offer, so `header`
//! says how much of a traced packet was header.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{BitRate, Bytes, Checker, Span, Stream, Time};

use super::parts::{BoxedSource, Offer, Source, SourceKind};

/// Euler's constant: the mean of an extreme value distribution is `a + γ b`.
const GAMMA: f64 = 0.577_215_664_901_532_9;

/// Which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the server to one player.
    #[default]
    Server,
    /// From a player to the server.
    Client,
}

/// An extreme value distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Extreme {
    a: f64,
    b: f64,
}

impl Extreme {
    fn sample(self, rng: &mut Stream) -> f64 {
        self.a - self.b * (-rng.uniform_positive().ln()).max(1e-300).ln()
    }

    fn mean(self) -> f64 {
        self.a + GAMMA * self.b
    }
}

/// A game's packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GameConfig {
    /// `server`, to one player, or `client`. Default server.
    pub direction: Direction,
    /// How many players' packets leave together, each to the same end: a server that sends the state of so many, or players
    /// behind one address. Default 1.
    pub players: u32,
    /// Header bytes within the sizes of the model. Default 28 B, IPv4 and UDP.
    pub header: Bytes,
}

impl Default for GameConfig {
    fn default() -> Self {
        Self { direction: Direction::Server, players: 1, header: Bytes::new(28) }
    }
}

impl SourceKind for GameConfig {
    type Source = BoxedSource;

    const NAME: &'static str = "game";

    fn check(&self, checker: &mut Checker) {
        checker.require((1..=1000).contains(&self.players), "players", self.players, "1 to 1000");
        checker.require(self.header < Bytes::new(60), "header", self.header, "less than 60 B");
    }

    fn build(&self) -> BoxedSource {
        Box::new(Game::new(self.clone()))
    }

    fn has_messages(&self) -> bool {
        false
    }
}

impl GameConfig {
    /// Intervals in seconds, and sizes in bytes.
    fn model(&self) -> (Extreme, Extreme) {
        match self.direction {
            Direction::Server => (Extreme { a: 0.055, b: 0.006 }, Extreme { a: 120.0, b: 36.0 }),
            Direction::Client => (Extreme { a: 0.040, b: 0.006 }, Extreme { a: 80.0, b: 5.7 }),
        }
    }

    /// Application data per time, on average.
    fn rate(&self) -> BitRate {
        let (gap, size) = self.model();
        let payload = size.mean() - self.header.as_f64();
        BitRate::from_bits_per_sec_f64(8.0 * payload * f64::from(self.players) / gap.mean())
    }
}

/// A game, running.
#[derive(Clone, Debug)]
pub struct Game {
    config: GameConfig,
    next: Option<Time>,
    /// Packets that are due at the same time.
    left: u32,
    stopped: bool,
}

impl Game {
    /// A game that has not started.
    pub fn new(config: GameConfig) -> Self {
        Self { config, next: None, left: 0, stopped: false }
    }
}

impl Source for Game {
    fn start(&mut self, now: Time, rng: &mut Stream) {
        // The clocks of games are not in step with each other.
        let (gap, _) = self.config.model();
        self.next = Some(now + Span::from_secs_f64(gap.mean() * rng.uniform()));
        self.left = self.config.players;
    }

    fn next_offer(&self) -> Option<Time> {
        self.next
    }

    fn take_offer(&mut self, now: Time, rng: &mut Stream) -> Option<Offer> {
        let due = self.next.filter(|due| *due <= now)?;
        let (gap, size) = self.config.model();
        self.left -= 1;
        if self.left == 0 {
            self.next = Some(due + Span::from_secs_f64(gap.sample(rng).max(0.001)));
            self.left = self.config.players;
        }
        let payload = (size.sample(rng) - self.config.header.as_f64()).round().max(1.0);
        Some(Offer { bytes: Bytes::from_f64(payload), new_connection: false, ends_message: false })
    }

    fn stated_rate(&self) -> Option<BitRate> {
        Some(self.config.rate())
    }

    fn on_message_done(&mut self, _: Time, _: &mut Stream) {}

    fn is_finished(&self) -> bool {
        self.stopped
    }

    fn stop(&mut self, _: Time) {
        (self.next, self.stopped) = (None, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_intervals_are_those_of_the_model() {
        for (direction, packets, bytes) in
            [(Direction::Server, 1.0 / 0.05846, 140.78), (Direction::Client, 1.0 / 0.04346, 83.29)]
        {
            let config = GameConfig { direction, ..GameConfig::default() };
            let mut game = Game::new(config.clone());
            let mut rng = Stream::new(5, "game");
            game.start(Time::ZERO, &mut rng);
            let (mut count, mut sum, mut at) = (0.0, 0.0, Time::ZERO);
            while count < 50_000.0 {
                at = game.next_offer().expect("endless");
                sum += game.take_offer(at, &mut rng).expect("due").bytes.as_f64() + 28.0;
                count += 1.0;
            }
            assert!((sum / count / bytes - 1.0).abs() < 0.01, "{}", sum / count);
            assert!((count / at.as_secs_f64() / packets - 1.0).abs() < 0.01);
            let stated = 8.0 * (sum - 28.0 * count) / at.as_secs_f64();
            assert!((config.rate().bits_per_sec() as f64 / stated - 1.0).abs() < 0.01);
        }
    }
}
