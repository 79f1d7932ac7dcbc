//! Every integration test of this crate, as one program: to link each file by itself took most of a build. A new file is
//! named here; nothing else lives here.

mod asked;
mod asked_between_ends;
mod attack;
mod bucket;
#[path = "../../core/tests/common/choices.rs"]
mod choices;
mod datagrams;
mod ecn;
mod hostile;
mod late;
mod linux_acks;
#[path = "common/noting.rs"]
mod noting;
mod pipe;
mod properties;
mod proportional;
mod rack;
mod receiver;
mod reduction;
mod repair;
mod rfc;
mod second;
mod shaping;
mod sources;
mod spurious;
mod straight;
mod straight_taken;
mod stream;
mod teller;
mod timer;
mod trains;
mod unusual_repair;
mod wire;
