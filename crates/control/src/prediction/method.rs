//! What every other way to predict than conditional expectation has in common. The ways live beside it; periods and levels
//! in `forecast.rs`.

use tailback_core::Stream;

/// A way to predict the next of a series of numbers of mean zero and deviation one, as far as these are known.
pub trait Forecast: Send {
    /// How many past values it looks at.
    fn memory(&self) -> usize;

    /// What came after `past`, whose newest value is the last.
    fn learn(&mut self, past: &[f64], next: f64, stream: &mut Stream);

    /// What comes after `past`.
    fn predict(&self, past: &[f64]) -> f64;
}
