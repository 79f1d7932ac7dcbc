//! Prediction of a connection's future traffic level from its recent one, at time scales of seconds (Tuan and Park 1999,
//! §3.2 and appendix A). What is done with a prediction is the business of the scheme `sac`.
//!
//! | part | answers |
//! | --- | --- |
//! | [`Moments`], [`Quantiles`] | what was seen so far, in constant memory |
//! | [`Levels`] | which level, 1 (low) to m (high), an amount of traffic is |
//! | [`CondProb`] | which level follows which: `Pr{L2 \| L1}` and its expectation |
//! | [`OnLine`] | all of it, fed report by report |
//! | [`Foreseen`] | the same question, answered by somebody who knows the future |
//! | [`Forecaster`] | the same question, answered from several periods: [`Fractional`], [`Haar`], [`Perceptron`] |
//! | [`Schedule`] | how aggressive to be at an expected level |

mod cond_prob;
mod forecast;
mod foreseen;
mod fractional;
mod haar;
mod levels;
mod method;
mod moments;
mod on_line;
mod perceptron;
mod quantiles;
mod schedule;

pub use cond_prob::CondProb;
pub use forecast::{ForecastConfig, Forecaster};
pub use foreseen::{Foreseen, ForeseenConfig};
pub use fractional::Fractional;
pub use haar::Haar;
pub use levels::{Levels, Quantiser};
pub use method::Forecast;
pub use moments::Moments;
pub use on_line::{OnLine, Periods, Reading};
pub use perceptron::Perceptron;
pub use quantiles::Quantiles;
pub use schedule::Schedule;

/// How many levels there may be.
pub const MAX_LEVELS: usize = 64;
