//! Every integration test of this crate, as one program: to link each file by itself took most of a build. A new file is
//! named here; nothing else lives here.

mod asking;
mod coalesced;
mod common;
mod ecn;
mod handshake;
mod hearsay;
mod host;
mod moves;
mod namespaces;
mod narrow;
mod roads;
mod router;
mod stuck;
mod transfer;
mod udp;
mod words;
