//! One file per scheme: the paper or RFC, its equations beside the code, and what is known to differ from it.

mod reno;

pub use reno::{Reno, RenoConfig};
