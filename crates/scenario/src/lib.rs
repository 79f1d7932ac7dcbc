//! The scenario schema, the registry of names, and the builders toward the simulator. Nothing is simulated here.
//!
//! A scenario is data: TOML files, JSON and Python objects say the same, and the structs of this crate are the one place
//! that says what they may say.

pub mod aggregate;
pub mod build;
mod check;
mod chosen;
pub mod columns;
mod custom_names;
pub mod emulation;
pub mod endpoints;
mod file;
pub mod flow;
mod group_names;
pub mod hash;
pub mod impairment;
pub mod lab;
mod lean;
pub mod link;
pub mod load;
#[doc(hidden)]
pub mod looks;
pub mod loss;
pub mod loss_choice;
mod members;
pub mod memory;
pub mod outcome;
pub mod parts;
pub mod problems;
pub mod record;
pub mod registry;
mod replay;
mod route;
pub mod run;
pub mod scenario;
pub mod schedule;
pub mod schema;
mod schema_node;
mod snapshot;
pub mod spread;
pub mod table;
pub mod template;
pub mod topology;
pub mod trace;
pub mod transfer;
mod unit_hint;
mod walk;
mod wrong_table;

pub use columns::columns;
pub use load::{load, load_while};
pub use memory::Budget;
pub use outcome::Outcome;
pub use problems::Problems;
pub use registry::registry;
pub use run::{Run, Start};
pub use scenario::Scenario;
pub use schema::schema;
pub use tailback_core::Choice;
