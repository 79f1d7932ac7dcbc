//! Every integration test of this crate, as one program: to link each file by itself took most of a build. A new file is
//! named here; nothing else lives here.

mod active;
mod anything;
mod cake;
#[path = "../../core/tests/common/choices.rs"]
mod choices;
mod codel;
mod common;
mod config;
mod dualpi2;
mod fairness;
mod laws;
mod metrics;
mod passing;
mod polled;
mod refusals;
mod second;
mod timed;
mod victims;
mod within;
