//! How far PCC Vivace's rate goes along a gradient: the amplifier of confidence and the boundary of change. How the gradient is
//! measured is said in `mod.rs`.
//!
//! Source: Dong et al., NSDI 2018, §4.2 and §4.3. Rates are in Mbit/s.

/// θ: what a gradient of one changes, in Mbit/s.
const FACTOR: f64 = 1.0;
/// ω at first, and by how much it grows for each step that was cut.
const FIRST: f64 = 0.05;
const MORE: f64 = 0.1;
/// ω stays below this part of the rate, so that no step leads below zero.
const MOST: f64 = 0.95;

/// What past steps say of the next.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Step {
    rises: bool,
    /// Steps in a row that went this way.
    in_a_row: u32,
    /// k of the boundary.
    cut: f64,
}

impl Step {
    /// The change of a rate that a gradient asks for.
    pub(super) fn take(&mut self, gradient: f64, rate: f64) -> f64 {
        let rises = gradient > 0.0;
        if rises != self.rises || self.in_a_row == 0 {
            *self = Self { rises, in_a_row: 0, cut: 0.0 };
        }
        self.in_a_row = self.in_a_row.saturating_add(1);
        let steps = f64::from(self.in_a_row);
        let amplified = if steps <= 3.0 { steps } else { 2.0 * steps - 3.0 };
        let wanted = (amplified * FACTOR * gradient).abs();
        let boundary = (FIRST + MORE * self.cut).min(MOST) * rate;
        let size = if wanted > boundary {
            self.cut += 1.0;
            boundary
        } else {
            self.cut = ((wanted / rate - FIRST) / MORE).ceil().max(0.0);
            wanted
        };
        if rises { size } else { -size }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At 100 Mbit/s no step of these is cut: 1, 2, 3, 5, 7 gradients; the other way begins anew.
    #[test]
    fn confidence_amplifies() {
        let mut step = Step::default();
        let found: Vec<f64> = (0..5).map(|_| step.take(0.5, 100.0)).collect();
        assert_eq!(found, [0.5, 1.0, 1.5, 2.5, 3.5]);
        assert_eq!(step.take(-0.5, 100.0), -0.5);
    }

    /// Steep: 5, 15, 25 % of the rate; then a small gradient brings the boundary back to the least that lets it through.
    #[test]
    fn the_boundary_widens_while_steps_are_cut() {
        let mut step = Step::default();
        let found: Vec<f64> = (0..3).map(|_| step.take(-1e3, 10.0)).collect();
        for (found, wanted) in found.iter().zip([-0.5, -1.5, -2.5]) {
            assert!((found - wanted).abs() < 1e-12, "{found} instead of {wanted}");
        }
        // The fourth in a row is amplified by 5: 0.5 Mbit/s, the least boundary.
        assert!((step.take(-0.1, 10.0) + 0.5).abs() < 1e-12);
        assert!((step.take(-1e3, 10.0) + 0.5).abs() < 1e-12, "k is 0 again");
    }
}
