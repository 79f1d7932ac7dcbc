//! A small network that learns to predict: one hidden layer of tanh, a linear output, stochastic gradients of the squared
//! error, period by period (Hornik et al. 1989, whom the paper names). Other methods live beside it; periods and levels
//! in `forecast.rs`.

use tailback_core::Stream;

use super::method::Forecast;

/// A gradient counts an error of at most so many standard units, so that one burst does not undo what was learnt.
const WORST: f64 = 3.0;

/// Predicts with weights that begin at random.
#[derive(Clone, Debug)]
pub struct Perceptron {
    inputs: usize,
    hidden: usize,
    step: f64,
    /// Per hidden unit one weight for each input, and its offset; empty before the first pair.
    into: Vec<f64>,
    out: Vec<f64>,
    offset: f64,
}

impl Perceptron {
    /// Looks at so many values with so many hidden units.
    pub fn new(inputs: usize, hidden: usize, step: f64) -> Self {
        Self { inputs, hidden, step, into: Vec::new(), out: Vec::new(), offset: 0.0 }
    }

    fn units(&self, past: &[f64]) -> Vec<f64> {
        let unit = |weights: &[f64]| {
            let sum: f64 = weights.iter().zip(past).map(|(weight, value)| weight * value).sum();
            (sum + weights[self.inputs]).tanh()
        };
        self.into.chunks(self.inputs + 1).map(unit).collect()
    }

    fn begin(&mut self, stream: &mut Stream) {
        let mut small = |count: usize, width: f64| -> Vec<f64> {
            (0..count).map(|_| (2.0 * stream.uniform() - 1.0) / width.sqrt()).collect()
        };
        self.into = small(self.hidden * (self.inputs + 1), self.inputs as f64);
        self.out = small(self.hidden, 10.0 * self.hidden as f64);
    }
}

impl Forecast for Perceptron {
    fn memory(&self) -> usize {
        self.inputs
    }

    fn learn(&mut self, past: &[f64], next: f64, stream: &mut Stream) {
        if self.into.is_empty() {
            self.begin(stream);
        }
        let units = self.units(past);
        let error = (next - self.predict(past)).clamp(-WORST, WORST) * self.step;
        for ((weights, out), unit) in self.into.chunks_mut(self.inputs + 1).zip(&mut self.out).zip(&units) {
            let back = error * *out * (1.0 - unit * unit);
            weights
                .iter_mut()
                .zip(past.iter().chain([&1.0]))
                .for_each(|(weight, value)| *weight += back * value);
            *out += error * unit;
        }
        self.offset += error;
    }

    fn predict(&self, past: &[f64]) -> f64 {
        let units = self.units(past);
        units.iter().zip(&self.out).map(|(unit, out)| unit * out).sum::<f64>() + self.offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What no linear rule can say: the next value is the product of the signs of the last two.
    #[test]
    fn learns_what_is_not_linear() {
        let mut stream = Stream::new(4, "perceptron");
        let mut perceptron = Perceptron::new(2, 8, 0.05);
        let draw = |stream: &mut Stream| {
            [stream.uniform(), stream.uniform()].map(|x| if x < 0.5 { -1.0 } else { 1.0 })
        };
        for _ in 0..20_000 {
            let past = draw(&mut stream);
            perceptron.learn(&past, past[0] * past[1], &mut stream);
        }
        for past in [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]] {
            assert!((perceptron.predict(&past) - past[0] * past[1]).abs() < 0.3, "{past:?}");
        }
    }
}
