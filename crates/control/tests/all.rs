//! Every integration test of this crate, as one program: to link each file by itself took most of a build. A new file is
//! named here; nothing else lives here.

mod bbr3;
mod bench;
mod conformance;
mod gain;
mod idle;
mod monaco;
mod newark;
mod path;
mod receivers;
mod reference;
mod registered;
mod sac;
mod script;
mod second;
mod tfrc;
mod todays;
mod trajectories;
