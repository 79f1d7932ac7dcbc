//! Estimators of a quantity that is seen through noise, one file per idea, behind one trait: any scheme that smooths a
//! measurement may take any of them. What is done with an estimate is a law's business.
//!
//! | estimator | source |
//! | --- | --- |
//! | [`FuzzyAverage`] | Keshav 1994, §4.5 and appendix; Khedkar and Keshav 1992 |
//! | [`Kalman`] | Keshav 1994, §4.4; Goodwin and Sin 1984, p. 249 |
//! | [`Ewma`] | exponential averaging with a fixed constant |
//!
//! What a receiver measures of its path is beside them: loss events and their intervals in `loss_events.rs` and
//! `loss_intervals.rs`, those that a slower flow would see in `thinned_losses.rs`, TCP emulated on what arrives in `tear.rs`,
//! rates in `rate_meter.rs`. What a sender measures is in `queueing_delay.rs` and
//! `delivery_rate.rs`, what reports of arrivals tell it in `arrivals.rs`, extremes of a moving window in `windowed.rs`, and
//! the largest as Linux keeps it in `running_max.rs`.

mod any;
pub mod arrivals;
pub mod delivery_rate;
mod delivery_records;
mod ewma;
mod fuzzy;
mod kalman;
pub mod loss_events;
pub mod loss_intervals;
pub mod queueing_delay;
pub mod rate_meter;
pub mod running_max;
pub mod tear;
pub mod thinned_losses;
pub mod tick_timeout;
mod trapezium;
pub mod windowed;

pub use any::{AnyEstimator, EstimatorConfig};
pub use arrivals::Arrivals;
pub use delivery_rate::DeliveryRate;
pub use ewma::{Ewma, EwmaConfig};
pub use fuzzy::{ErrorBase, FuzzyAverage, FuzzyConfig, Overlap};
pub use kalman::{Kalman, KalmanConfig, ServiceKalman};
pub use loss_events::{Counting as LossCounting, LossEvents};
pub use loss_intervals::{LossIntervals, LossIntervalsConfig};
pub use queueing_delay::QueueingDelay;
pub use rate_meter::{AveragedRate, WindowedRate};
pub use running_max::RunningMax;
pub use tear::Tear;
pub use thinned_losses::ThinnedLosses;
pub use tick_timeout::TickTimeout;
pub use trapezium::Trapezium;
pub use windowed::{Windowed, WindowedMax, WindowedMin};

/// One observation, with what is known of the time since the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// The quantity as observed: for a service time, seconds per packet.
    pub observed: f64,
    /// The sending rate meanwhile, in packets per second; only estimators that model the queue read it.
    pub rate: f64,
    /// The length of the epoch that ends here, in seconds; likewise.
    pub epoch: f64,
}

impl Sample {
    /// An observation and nothing else.
    pub const fn of(observed: f64) -> Self {
        Self { observed, rate: 0.0, epoch: 0.0 }
    }
}

/// Predicts the next value of a positive quantity from noisy observations of it.
///
/// The contract: `update` with every observation, finite and above zero; it returns the new estimate, which
/// [`Estimator::estimate`] repeats until the next. Before the first observation there is no estimate.
pub trait Estimator {
    /// Takes an observation in and returns the new estimate.
    fn update(&mut self, sample: &Sample) -> f64;

    /// The present estimate.
    fn estimate(&self) -> Option<f64>;

    /// The weight that history had in the last update, from 0 (none) to 1 (all).
    fn weight_of_history(&self) -> f64;
}
