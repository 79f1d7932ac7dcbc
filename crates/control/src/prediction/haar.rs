//! A linear prediction from Haar wavelet coefficients of the past: what changed at one period, at two, at four, and the
//! mean of all, weighted by recursive least squares. Other methods live beside it; periods and levels in `forecast.rs`.

use tailback_core::Stream;

use super::method::Forecast;

/// How uncertain weights are at the start: large beside the squares of standard units, so that data soon decides.
const UNCERTAIN: f64 = 10.0;

/// Predicts with weights that are learnt.
#[derive(Clone, Debug)]
pub struct Haar {
    scales: u32,
    weights: Vec<f64>,
    /// The inverse of the coefficients' second moments, row by row.
    inverse: Vec<f64>,
}

impl Haar {
    /// Coefficients at so many dyadic scales.
    pub fn new(scales: u32) -> Self {
        let count = scales as usize + 1;
        let inverse =
            (0..count * count).map(|n| if n % (count + 1) == 0 { UNCERTAIN } else { 0.0 }).collect();
        Self { scales, weights: vec![0.0; count], inverse }
    }

    /// At each scale the mean of the newest values less the mean of as many before them; then the mean of all.
    fn coefficients(&self, past: &[f64]) -> Vec<f64> {
        let newest =
            |count: usize, skip: usize| past.iter().rev().skip(skip).take(count).sum::<f64>() / count as f64;
        let details = (0..self.scales).map(|scale| newest(1 << scale, 0) - newest(1 << scale, 1 << scale));
        details.chain([newest(1 << self.scales, 0)]).collect()
    }
}

impl Forecast for Haar {
    fn memory(&self) -> usize {
        1 << self.scales
    }

    fn learn(&mut self, past: &[f64], next: f64, _: &mut Stream) {
        let coefficients = self.coefficients(past);
        let row = |row: &[f64]| row.iter().zip(&coefficients).map(|(a, b)| a * b).sum::<f64>();
        let spread: Vec<f64> = self.inverse.chunks(coefficients.len()).map(row).collect();
        let scale = 1.0 + row(&spread);
        let error = next - row(&self.weights);
        self.weights.iter_mut().zip(&spread).for_each(|(weight, gain)| *weight += gain / scale * error);
        for (entries, left) in self.inverse.chunks_mut(coefficients.len()).zip(&spread) {
            entries.iter_mut().zip(&spread).for_each(|(entry, right)| *entry -= left * right / scale);
        }
    }

    fn predict(&self, past: &[f64]) -> f64 {
        self.coefficients(past)
            .iter()
            .zip(&self.weights)
            .map(|(coefficient, weight)| coefficient * weight)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_of_worked_numbers() {
        let haar = Haar::new(2);
        assert_eq!(haar.coefficients(&[1.0, 3.0, 5.0, 11.0]), [6.0, 6.0, 5.0]);
    }

    /// The newest value alone is half of each detail's part, so a series that repeats it is learnt exactly.
    #[test]
    fn learns_a_linear_rule() {
        let mut stream = Stream::new(1, "haar");
        let mut haar = Haar::new(2);
        for _ in 0..500 {
            let past: Vec<f64> = (0..4).map(|_| stream.uniform() - 0.5).collect();
            let next = 0.5 * (past[3] - past[2]) - 0.2 * past.iter().sum::<f64>() / 4.0;
            haar.learn(&past, next, &mut stream);
        }
        let found = haar.predict(&[0.1, 0.2, -0.3, 0.4]);
        assert!((found - (0.5 * 0.7 - 0.2 * 0.1)).abs() < 1e-3, "{found}");
    }
}
