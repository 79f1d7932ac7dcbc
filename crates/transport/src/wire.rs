//! The byte form of packets. The struct that the simulator moves lives in `core::packet`.
