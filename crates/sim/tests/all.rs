//! Every integration test of this crate, as one program: to link each file by itself took most of a build. A new file is
//! named here; nothing else lives here.

mod accumulation;
mod ahead;
mod announced;
mod building;
mod by_hand;
mod common;
mod endpoints;
mod feeding;
mod feeding_apart;
mod feeding_by_hand;
mod few_looks;
mod full;
mod gathering;
mod laws;
mod left_out;
mod second;
mod shared_links;
mod stopped;
