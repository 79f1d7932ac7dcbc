//! Random options and paths, on which both writings must take the same decisions. What once differed stands in `found.rs`.

use proptest::prelude::*;
use tailback_control::Reliability;
use tailback_transport::{RttSampling, SpuriousDetection};

use super::bucket::Rate;
use super::law::Asks;
use super::path::Trouble;
use super::{Beside, Options, RackOptions, SEGMENT, difference};

pub fn trouble() -> impl Strategy<Value = Trouble> {
    let often = || prop_oneof![2 => Just(0.0), 2 => 0.0..0.05, 1 => 0.0..0.3];
    (often(), often(), often(), often(), often(), prop_oneof![Just(0.0), 0.0..0.02], prop::bool::ANY)
        .prop_map(|(loss, late, twice, ack_loss, ack_late, blackouts, pauses)| Trouble {
            loss,
            late,
            twice,
            ack_loss,
            ack_late,
            blackouts,
            pauses,
            marks: 0.0,
        })
}

prop_compose! {
    pub fn options(reliability: Reliability)(
        sampling in prop_oneof![
            Just(RttSampling::EveryAck), Just(RttSampling::PerRoundTrip), Just(RttSampling::Timestamps)
        ],
        dup_threshold in prop_oneof![3 => Just(3_u32), 1 => 1_u32..6],
        flags in prop::array::uniform7(prop::bool::weighted(0.7)),
        receive_window in prop_oneof![2 => Just(u64::MAX), 1 => 2_u64..30],
        (min_rto, least_variation) in (
            prop_oneof![Just(200_u64), Just(1000), Just(30)], prop_oneof![2 => Just(0_u64), 1 => 1_u64..300]
        ),
    ) -> Options {
        Options {
            reliability, sampling, dup_threshold,
            limited_transmit: flags[0],
            rescue: flags[1],
            keep_scoreboard: flags[2],
            impatient: flags[3],
            careful: flags[4] && reliability != Reliability::Sack,
            one_recovery: flags[5],
            spurious: SpuriousDetection::Off,
            lost_retransmissions: false,
            proportional: false,
            restart_after_idle: flags[6],
            receive_window: receive_window.saturating_mul(SEGMENT),
            min_rto: min_rto as f64 * 1e6,
            max_rto: 5e9,
            least_variation: least_variation as f64 * 1e6,
            rack: None,
            beside: Beside::default(),
        }
    }
}

prop_compose! {
    pub fn rack_options()(
        options in options(Reliability::Sack),
        reordering_window in prop_oneof![2 => Just(0.25), 1 => 0.01..1.0],
        persist in prop_oneof![1 => Just(16_u32), 2 => 1_u32..4],
        max_ack_delay in prop_oneof![1 => Just(200_u64), 2 => 0_u64..300],
        probes: bool, dsack: bool,
    ) -> Options {
        let rack = RackOptions {
            reordering_window, persist, probes, dsack,
            min_rtt_window: 300_000_000_000_000,
            max_ack_delay: max_ack_delay * 1_000_000,
        };
        Options { rack: Some(rack), ..options }
    }
}

/// The law's largest window in segments, segments per acknowledgement, ranges in an acknowledgement.
fn rest() -> impl Strategy<Value = (u64, u32, u8)> {
    (1_u64..40, 1_u32..4, 1_u8..5)
}

/// How losses that were none are found out.
fn detections() -> impl Strategy<Value = SpuriousDetection> {
    prop_oneof![Just(SpuriousDetection::Eifel), Just(SpuriousDetection::FRto)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn by_ranges(options in options(Reliability::Sack), trouble in trouble(), seed: u64, rest in rest()) {
        prop_assert_eq!(difference(&options, &trouble, seed, rest), None);
    }

    #[test]
    fn where_losses_may_be_none(
        mode in prop_oneof![2 => Just(Reliability::Sack), 1 => Just(Reliability::NewReno), 1 => Just(Reliability::Reno)],
        options in options(Reliability::NewReno), trouble in trouble(), seed: u64, rest in rest(), eifel: bool,
    ) {
        let careful = options.careful && mode != Reliability::Sack;
        let options = Options { reliability: mode, careful, ..options };
        let spurious = if eifel { SpuriousDetection::Eifel } else { SpuriousDetection::FRto };
        prop_assert_eq!(difference(&Options { spurious, ..options }, &trouble, seed, rest), None);
    }

    #[test]
    fn where_lost_retransmissions_are_found(
        options in options(Reliability::Sack), trouble in trouble(), seed: u64, rest in rest(),
    ) {
        let options = Options { lost_retransmissions: true, ..options };
        prop_assert_eq!(difference(&options, &trouble, seed, rest), None);
    }

    #[test]
    fn where_recovery_reduces_in_proportion(
        options in options(Reliability::Sack), trouble in trouble(), seed: u64, rest in rest(),
        lost_retransmissions: bool,
        spurious in prop_oneof![
            2 => Just(SpuriousDetection::Off), 1 => Just(SpuriousDetection::Eifel), 1 => Just(SpuriousDetection::FRto)
        ],
    ) {
        let options = Options { proportional: true, lost_retransmissions, spurious, ..options };
        prop_assert_eq!(difference(&options, &trouble, seed, rest), None);
    }

    #[test]
    fn where_losses_are_found_by_time(
        options in rack_options(), trouble in trouble(), seed: u64, rest in rest(),
    ) {
        prop_assert_eq!(difference(&options, &trouble, seed, rest), None);
    }

    #[test]
    fn where_losses_are_found_by_time_behind_a_handshake(
        options in rack_options(), trouble in trouble(), seed: u64, rest in rest(),
    ) {
        let beside = Beside { handshake: true, ..Beside::default() };
        prop_assert_eq!(difference(&Options { beside, ..options }, &trouble, seed, rest), None);
    }

    #[test]
    fn where_losses_are_found_by_time_at_a_rate(
        options in rack_options(), trouble in trouble(), seed: u64, rest in rest(),
        bits in 10_000_u64..2_000_000, depth in 1_u64..5,
    ) {
        let pace = Some(Rate { bits, depth: depth * SEGMENT });
        let beside = Beside { pace, ..Beside::default() };
        prop_assert_eq!(difference(&Options { beside, ..options }, &trouble, seed, rest), None);
    }

    #[test]
    fn where_losses_are_found_by_time_and_acknowledgements_wait(
        options in rack_options(), trouble in trouble(), seed: u64, rest in rest(), handshake: bool,
    ) {
        let beside = Beside { handshake, compresses: true, ..Beside::default() };
        prop_assert_eq!(difference(&Options { beside, ..options }, &trouble, seed, rest), None);
    }

    #[test]
    fn where_losses_are_found_by_time_and_queues_mark(
        options in rack_options(), trouble in trouble(), seed: u64, rest in rest(),
        marks in prop_oneof![0.0..0.05, 0.0..0.5], proportional: bool,
    ) {
        let beside = Beside { ecn: true, ..Beside::default() };
        let trouble = Trouble { marks, ..trouble };
        prop_assert_eq!(difference(&Options { proportional, beside, ..options }, &trouble, seed, rest), None);
    }

    #[test]
    fn where_losses_found_by_time_may_be_none(
        options in rack_options(), trouble in trouble(), seed: u64, rest in rest(), spurious in detections(),
    ) {
        let options = Options { spurious, ..options };
        prop_assert_eq!(difference(&options, &trouble, seed, rest), None);
    }

    #[test]
    fn where_losses_found_by_time_may_be_none_and_queues_mark(
        options in rack_options(), trouble in trouble(), seed: u64, rest in rest(), spurious in detections(),
        marks in prop_oneof![0.0..0.05, 0.0..0.5], proportional: bool,
    ) {
        let beside = Beside { ecn: true, ..Beside::default() };
        let options = Options { spurious, proportional, beside, ..options };
        prop_assert_eq!(difference(&options, &Trouble { marks, ..trouble }, seed, rest), None);
    }

    #[test]
    fn where_losses_are_found_by_time_and_windows_are_paced(
        options in rack_options(), trouble in trouble(), seed: u64, rest in rest(), handshake: bool,
        factor in prop_oneof![Just(1.25), 1.0..3.0], burst in SEGMENT..4 * SEGMENT,
        spurious in prop_oneof![Just(SpuriousDetection::Off), detections()],
    ) {
        let beside = Beside { handshake, pacing: Some((factor, burst)), ..Beside::default() };
        prop_assert_eq!(difference(&Options { spurious, beside, ..options }, &trouble, seed, rest), None);
    }

    #[test]
    fn where_losses_are_found_by_time_and_acknowledgements_are_asked_for(
        options in rack_options(), trouble in trouble(), seed: u64, rest in rest(),
        (step, millis) in (1_u64..6, 1_u64..100), ecn: bool, marks in 0.0..0.2, handshake: bool,
        spurious in prop_oneof![Just(SpuriousDetection::Off), detections()],
    ) {
        let asks = Some(Asks { step, delay: millis * 1_000_000 });
        let beside = Beside { handshake, ecn, asks, ..Beside::default() };
        let options = Options { spurious, beside, ..options };
        prop_assert_eq!(difference(&options, &Trouble { marks, ..trouble }, seed, rest), None);
    }

    #[test]
    fn where_acknowledgements_are_asked_for(
        mode in prop_oneof![Just(Reliability::Sack), Just(Reliability::NewReno)],
        options in options(Reliability::NewReno), trouble in trouble(), seed: u64, rest in rest(),
        (step, millis) in (1_u64..6, 1_u64..100),
    ) {
        let careful = options.careful && mode != Reliability::Sack;
        let asks = Some(Asks { step, delay: millis * 1_000_000 });
        let beside = Beside { asks, ..Beside::default() };
        let options = Options { reliability: mode, careful, beside, ..options };
        prop_assert_eq!(difference(&options, &trouble, seed, rest), None);
    }

    #[test]
    fn where_what_leaves_after_losses_found_by_time_is_spread(
        options in rack_options(), trouble in trouble(), seed: u64, rest in rest(),
    ) {
        let options = Options { proportional: true, ..options };
        prop_assert_eq!(difference(&options, &trouble, seed, rest), None);
    }

    #[test]
    fn by_duplicates_one_by_one(
        options in options(Reliability::Reno), trouble in trouble(), seed: u64, rest in rest(),
    ) {
        prop_assert_eq!(difference(&options, &trouble, seed, rest), None);
    }

    #[test]
    fn by_duplicates(options in options(Reliability::NewReno), trouble in trouble(), seed: u64, rest in rest()) {
        prop_assert_eq!(difference(&options, &trouble, seed, rest), None);
    }
}
