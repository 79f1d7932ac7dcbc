//! The scenario schema, the registry of names, and the builders toward the simulator. Nothing is simulated here.
//!
//! A scenario is data: TOML files, JSON and Python objects say the same, and the structs of this crate are the one place
//! that says what they may say.

pub mod choice;
pub mod flow;
pub mod hash;
pub mod impairment;
pub mod interim;
pub mod link;
pub mod loss;
pub mod parts;
pub mod record;
pub mod scenario;
pub mod schedule;
pub mod schema;
pub mod spread;
pub mod template;
pub mod trace;

pub use choice::Choice;
pub use scenario::Scenario;
