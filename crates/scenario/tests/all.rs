//! Every integration test of this crate, as one program: to link each file by itself took most of a build. A new file is
//! named here; nothing else lives here.

mod absurd_input;
mod accumulation;
mod aggregates;
mod altered;
mod bad_files;
mod bad_input;
mod bad_queues;
mod cells_and_multicast;
#[path = "../../core/tests/common/choices.rs"]
mod choices;
mod columns;
mod cost;
mod custom;
mod emulation;
mod endpoints;
mod examples;
mod hinted;
mod lab;
mod marks;
mod memory;
mod monaco;
mod named_flows;
mod offered;
mod properties;
mod registry;
mod runs;
mod topology;
mod transfer;
