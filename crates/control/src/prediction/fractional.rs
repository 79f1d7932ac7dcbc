//! The best linear prediction of fractionally integrated noise, ARIMA(0, d, 0), from a finite past (Hosking, Fractional
//! differencing, 1981, theorem 1). Other methods live beside it; periods and levels in `forecast.rs`.

use tailback_core::Stream;

use super::method::Forecast;

/// d up to here: at one half the noise would no longer be stationary.
const HIGHEST: f64 = 0.49;

/// Predicts with d as estimated from neighbours: their correlation is `d / (1 - d)`.
#[derive(Clone, Debug)]
pub struct Fractional {
    memory: usize,
    /// Sums of squares and of products of neighbours.
    squares: f64,
    products: f64,
    /// `φ_n1 … φ_nn` of the estimate: the weight of the newest value comes first.
    weights: Vec<f64>,
}

impl Fractional {
    /// Rests on so many past values.
    pub fn new(memory: usize) -> Self {
        Self { memory, squares: 0.0, products: 0.0, weights: vec![0.0; memory] }
    }

    /// `φ_nn = d / (n - d)` and `φ_nj = φ_(n-1)j - φ_nn φ_(n-1)(n-j)`, by the recursion of Durbin and Levinson.
    fn weigh(&mut self, d: f64) {
        let mut last: Vec<f64> = Vec::with_capacity(self.memory);
        for n in 1..=self.memory {
            let newest = d / (n as f64 - d);
            let before = last.clone();
            last.iter_mut().zip(before.iter().rev()).for_each(|(weight, other)| *weight -= newest * other);
            last.push(newest);
        }
        self.weights = last;
    }
}

impl Forecast for Fractional {
    fn memory(&self) -> usize {
        self.memory
    }

    fn learn(&mut self, past: &[f64], next: f64, _: &mut Stream) {
        let last = past.last().copied().unwrap_or(0.0);
        self.squares += next * next;
        self.products += next * last;
        let correlation = if self.squares > 0.0 { self.products / self.squares } else { 0.0 };
        self.weigh((correlation / (1.0 + correlation.max(0.0))).clamp(0.0, HIGHEST));
    }

    fn predict(&self, past: &[f64]) -> f64 {
        self.weights.iter().zip(past.iter().rev()).map(|(weight, value)| weight * value).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `φ_nj = -C(n, j) Γ(j - d) Γ(n - d - j + 1) / (Γ(-d) Γ(n - d + 1))` by products, for n = 3 and d = 0.3.
    #[test]
    fn weights_of_hosking_s_theorem() {
        let mut fractional = Fractional::new(3);
        fractional.weigh(0.3);
        let d = 0.3_f64;
        // Γ(j - d) / Γ(-d) is (-d)(1 - d)…(j - 1 - d); Γ(4 - j - d) / Γ(4 - d) is one over (4 - j - d)…(3 - d).
        let wanted = [
            3.0 * d / (3.0 - d),
            3.0 * d * (1.0 - d) / ((2.0 - d) * (3.0 - d)),
            d * (1.0 - d) * (2.0 - d) / ((1.0 - d) * (2.0 - d) * (3.0 - d)),
        ];
        for (found, wanted) in fractional.weights.iter().zip(wanted) {
            assert!((found - wanted).abs() < 1e-12, "{found} {wanted}");
        }
    }
}
