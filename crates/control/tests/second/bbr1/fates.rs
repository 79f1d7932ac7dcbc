//! The fates over which both writings of BBR version 1 are driven.

use serde_json::json;

use super::Bbr;
use crate::second::wire::{Fate, Wire, params, scheme};

fn run(fate: Fate) {
    for seed in 0..20 {
        let ours = scheme(json!({"name": "bbr1", "whole_packets": true}), &params(10, None));
        Wire::new(ours, Bbr::new(seed, 1.0), fate, seed).run(8000);
    }
}

#[test]
fn bbr1_calm() {
    run(Fate { queue: 20.0, ..Fate::CALM });
}

#[test]
fn bbr1_with_losses() {
    run(Fate { loss: 0.003, stretch: 3, queue: 20.0, ..Fate::CALM });
}

#[test]
fn bbr1_with_timeouts() {
    run(Fate { loss: 0.003, timeout: 0.0005, stretch: 3, queue: 20.0, ..Fate::CALM });
}

#[test]
fn bbr1_all() {
    run(Fate { unrated: 0.02, ..Fate::ROUGH });
}

/// Above 0.5 Gbit/s a train is 64 KiB.
#[test]
fn bbr1_at_high_rates() {
    run(Fate { base: 1.0, queue: 0.1, ..Fate::CALM });
}

/// The link's rate rises and falls, so that the largest is forgotten.
#[test]
fn bbr1_where_the_rate_wanders() {
    run(Fate { loss: 0.001, stretch: 2, limited: 0.02, queue: 5.0, service: (0.2, 10.0), ..Fate::CALM });
}

/// A third of what arrives is lost while the rate stays: a policer is found, and kept over a ProbeRTT.
#[test]
fn bbr1_under_a_policer() {
    let fate = Fate { loss: 0.9, burst: 9, pause: 0.0005, service: (2.0, 2.0), ..Fate::CALM };
    run(fate);
    run(Fate { unrated: 0.1, ..fate });
}
