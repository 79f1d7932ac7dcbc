//! One file per scheme: the paper or RFC, its equations beside the code, and what is known to differ from it.

mod cubic;
mod fixed_rate;
mod fixed_window;
mod reno;

pub use cubic::{Cubic, CubicConfig};
pub use fixed_rate::{FixedRate, FixedRateConfig};
pub use fixed_window::{FixedWindow, FixedWindowConfig};
pub use reno::{Reno, RenoConfig};
