//! The fates over which both writings of BBR version 3 are driven, and the states that each must meet.

use serde_json::json;

use super::{Bbr, Mode};
use crate::second::wire::{Fate, Wire, params, scheme};

/// What the writings met, so that no fate passes because nothing happened.
fn run_for(fate: Fate, seeds: u64, steps: usize, modes: &[Mode]) {
    let mut missed: Vec<Mode> = modes.to_vec();
    for seed in 0..seeds {
        let ours = scheme(json!({"name": "bbr3"}), &params(10, None));
        let mut wire = Wire::new(ours, Bbr::new(seed, 1.0), fate, seed);
        for _ in 0..steps {
            wire.run(1);
            missed.retain(|mode| *mode != wire.second.mode);
        }
    }
    assert!(missed.is_empty(), "never in {missed:?}");
}

const ALL: [Mode; 7] =
    [Mode::Startup, Mode::Drain, Mode::Down, Mode::Cruise, Mode::Refill, Mode::Up, Mode::ProbeRtt];

fn run(fate: Fate) {
    run_for(fate, 10, 6000, &ALL);
}

/// No round numbers: where what is expected is exactly what comes, the last bit of a sum decides.
const BUSY: Fate = Fate { base: 41.37, service: (0.5117, 2.0231), ..Fate::CALM };

#[test]
fn bbr3_calm() {
    run(Fate { queue: 20.0, ..BUSY });
}

/// The link never is busy: Startup goes on.
#[test]
fn bbr3_without_a_bottleneck() {
    run_for(Fate { queue: 20.0, ..Fate::CALM }, 10, 6000, &[]);
}

#[test]
fn bbr3_with_losses() {
    run(Fate { loss: 0.003, stretch: 3, queue: 20.0, ..BUSY });
}

#[test]
fn bbr3_with_timeouts() {
    run(Fate { loss: 0.003, timeout: 0.0005, stretch: 3, queue: 20.0, ..BUSY });
}

#[test]
fn bbr3_all() {
    run(Fate { unrated: 0.01, base: 41.37, service: BUSY.service, ..Fate::ROUGH });
}

#[test]
fn bbr3_at_high_rates() {
    run_for(
        Fate { base: 1.0, queue: 0.1, service: (0.0031, 0.0231), ..BUSY },
        10,
        6000,
        &[Mode::Drain, Mode::Down],
    );
}

/// The link's rate rises and falls, and what is lost is lost in pieces.
#[test]
fn bbr3_where_the_rate_wanders() {
    run(Fate {
        loss: 0.002,
        more: 0.05,
        stretch: 2,
        limited: 0.02,
        queue: 5.0,
        service: (0.213, 9.731),
        ..BUSY
    });
}

/// Startup ends by losses, many of which were none.
#[test]
fn bbr3_that_loses_in_startup() {
    let fate = Fate { loss: 0.02, burst: 9, more: 0.3, ..BUSY };
    run_for(Fate { spurious: 0.0003, timeout: 0.0002, ..fate }, 60, 1000, &[Mode::Drain]);
    run_for(Fate { queue: 20.0, unrated: 0.05, stretch: 2, ..fate }, 60, 1000, &[Mode::Drain]);
    run_for(Fate { loss: 0.3, timeout: 0.005, ..fate }, 60, 1000, &[Mode::Drain]);
}

/// Rounds, not seconds, say when it probes, and many of them.
#[test]
fn bbr3_over_short_ways() {
    let fate = Fate { base: 11.37, queue: 1.0, stretch: 4, service: (0.0713, 0.1131), ..BUSY };
    run_for(fate, 5, 12_000, &[Mode::Down, Mode::Refill, Mode::Up]);
}

/// Probes go too high, and the application has less than they would need.
#[test]
fn bbr3_with_careful_probes() {
    let short = Fate { base: 11.37, service: (0.0971, 2.0231), ..BUSY };
    let fate = Fate { loss: 0.003, limited: 0.02, pause: 0.002, queue: 3.0, ..short };
    run_for(fate, 10, 6000, &ALL[..6]);
    let fate = Fate { loss: 0.001, burst: 1, spurious: 0.001, stretch: 2, queue: 1.0, ..short };
    run_for(fate, 10, 6000, &ALL[..6]);
}

/// It rests, also in `ProbeRTT`.
#[test]
fn bbr3_with_pauses() {
    run(Fate { pause: 0.02, limited: 0.05, spurious: 0.0005, loss: 0.001, ..BUSY });
}
