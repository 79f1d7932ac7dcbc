//! How a window follows an accumulation towards its target: three laws with the same rest point and different ways
//! to it. How accumulation is measured is not decided here.
//!
//! Source: Xia et al., "Accumulation-based Congestion Control", §III-B, once per round trip, so that the division by
//! the round trip time is done by the clock:
//!
//! | law | equation | change of the window per round trip |
//! | --- | --- | --- |
//! | AIAD | 3 | `-κ sgn(a - a*)`, κ in packets |
//! | MW (Mo and Walrand 2000) | 5 | `-κ rtt_p (a - a*) / w`, κ in packets per second |
//! | proportional | 6, 10 | `-κ (a - a*)`, κ without unit |
//!
//! Deviation: MW's effective gain `κ rtt_p / w` is cut at 1/2. A sampled loop whose measurement is one round old is
//! unstable above 1, and the published law, in continuous time, says nothing of it. The rest point is the same.

use tailback_core::Span;

/// A law, without its gain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// Additive increase, additive decrease (equation 3).
    Aiad,
    /// Mo and Walrand's (equation 5).
    Mw,
    /// Proportional (equations 6 and 10).
    Proportional,
}

/// What a law looks at; amounts in packets.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// Accumulation, as estimated.
    pub backlog: f64,
    /// The accumulation aimed at.
    pub target: f64,
    /// The congestion window.
    pub window: f64,
    /// The round trip propagation delay.
    pub base: Span,
}

impl Law {
    /// The published gain (Table I), or for MW, whose gain has another unit, one that settles within tens of round trips.
    pub const fn default_gain(self) -> f64 {
        match self {
            Self::Aiad | Self::Proportional => 0.5,
            Self::Mw => 100.0,
        }
    }

    /// The window's change at the end of a round trip, in packets.
    pub fn change(self, gain: f64, state: &State) -> f64 {
        let error = state.backlog - state.target;
        match self {
            // Unlike `signum`, zero for zero (equation 4).
            Self::Aiad => gain * f64::from(i8::from(error < 0.0) - i8::from(error > 0.0)),
            Self::Mw => -(gain * state.base.as_secs_f64() / state.window).min(0.5) * error,
            Self::Proportional => -gain * error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(backlog: f64) -> State {
        State { backlog, target: 3.0, window: 20.0, base: Span::from_millis(50) }
    }

    #[test]
    fn every_law_rests_at_the_target_and_only_there() {
        for law in [Law::Aiad, Law::Mw, Law::Proportional] {
            let change = |backlog| law.change(law.default_gain(), &state(backlog));
            assert_eq!(change(3.0), 0.0, "{law:?}");
            assert!(change(2.9) > 0.0, "{law:?}");
            assert!(change(3.1) < 0.0, "{law:?}");
            assert!(change(10.0) <= change(5.0), "{law:?}");
        }
    }

    #[test]
    fn changes_are_those_of_the_equations() {
        assert_eq!(Law::Proportional.change(0.5, &state(7.0)), -2.0);
        assert_eq!(Law::Aiad.change(1.0, &state(7.0)), -1.0);
        // -100 / s · 50 ms · 4 / 20
        assert!((Law::Mw.change(100.0, &state(7.0)) + 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_gain_of_mo_and_walrand_stays_stable_for_small_windows() {
        let small = State { window: 1.0, ..state(7.0) };
        assert_eq!(Law::Mw.change(100.0, &small), -2.0);
    }
}
