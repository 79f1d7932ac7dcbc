//! Loss detection and recovery written a second time, each part from its text, and both fed the same: random losses,
//! reordering, copies, delays, pauses of the application, receivers' windows and lost acknowledgements. Every packet that
//! leaves, every acknowledgement, every time the timer is set for and every word to the law must be the same.
//!
//! The writings are from RFC 2018, 5681, 6298, 6582, 6675 and 9937, from 3522, 5682 and 8985 as far as ours claims them, as their writer
//! knew these texts. Drafts of scoreboard, timer and receiver came before the code of `crates/transport/src/stream` was read, all
//! else after it: independent, and not blind. Where both differed, the text decided, or what ours says of itself; the heads of
//! both say so. Vegas's timer, offsets, counts of arrivals and clocks of ticks are left out, and marks where losses are not found
//! by time.
//!
//! Both ends of ours travel through `path.rs`; the second writings see the same packets and times, and send nothing themselves.

#![allow(
    unreachable_pub,
    clippy::struct_excessive_bools,
    reason = "the second writings are as plain as their texts"
)]

mod bucket;
mod common;
mod doubt;
mod duplicates;
mod ecn;
mod law;
mod linux;
mod path;
mod proportional;
mod rack;
mod rack_examples;
mod receiver;
mod scoreboard;
mod timer;

use proptest::prelude::*;
use tailback_control::Reliability;
use tailback_core::{CongestionEvent, Recovery, SeqRange};
use tailback_transport::{RttSampling, SpuriousDetection};

use bucket::Rate;
use path::Trouble;
use timer::Timer;

/// Bytes of a full segment without its header, and with it.
const PAYLOAD: u64 = 960;
const HEADER: u64 = 40;
const SEGMENT: u64 = PAYLOAD + HEADER;

/// What a sender is configured with, for both writings.
#[derive(Clone, Debug)]
pub struct Options {
    pub reliability: Reliability,
    pub sampling: RttSampling,
    pub dup_threshold: u32,
    pub limited_transmit: bool,
    pub rescue: bool,
    pub keep_scoreboard: bool,
    pub impatient: bool,
    pub careful: bool,
    pub one_recovery: bool,
    pub spurious: SpuriousDetection,
    pub lost_retransmissions: bool,
    pub proportional: bool,
    pub restart_after_idle: bool,
    pub receive_window: u64,
    pub min_rto: f64,
    pub max_rto: f64,
    /// Where losses are found by time.
    pub rack: Option<RackOptions>,
    pub beside: Beside,
}

/// What stands beside finding losses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside {
    pub handshake: bool,
    /// Whether packets may bear marks.
    pub ecn: bool,
    /// A rate that the law directs at a window of no segment; it grows with the window.
    pub pace: Option<Rate>,
    /// Whether acknowledgements beside a hole wait for each other, as Linux's.
    pub compresses: bool,
}

/// What RFC 8985 leaves to be configured; times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct RackOptions {
    /// The reordering window's unit, in round trips.
    pub reordering_window: f64,
    pub persist: u32,
    pub min_rtt_window: u64,
    pub probes: bool,
    pub max_ack_delay: u64,
    /// Whether the receiver names what arrives twice.
    pub dsack: bool,
}

/// An acknowledgement as it reaches the sender.
#[derive(Clone, Debug)]
pub struct Acknowledgement {
    pub number: u64,
    pub blocks: Vec<SeqRange>,
    pub echo: Option<u64>,
    /// What arrived a second time, where the receiver tells (RFC 2883).
    pub duplicate: Option<SeqRange>,
    /// Whether a mark is echoed.
    pub marks: bool,
}

/// A data packet that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    pub number: u64,
    /// With its header.
    pub size: u64,
    pub again: bool,
    /// Bytes believed in the network, itself included.
    pub in_flight: u64,
    /// It says that the window was reduced (RFC 3168 §6.1.2).
    pub cwr: bool,
}

/// What the law is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    pub acked: Vec<u64>,
    pub lost: Vec<u64>,
    pub advanced: u64,
    pub outstanding: u64,
    pub in_flight: u64,
    pub event: Option<CongestionEvent>,
    pub recovery: Recovery,
    /// The sample, in nanoseconds.
    pub rtt: Option<u64>,
}

/// A second writing of a sender.
pub trait Second {
    fn acknowledge(&mut self, now: u64, ack: &Acknowledgement) -> Option<Told>;
    /// What else the last acknowledgement means, where the law hears of that by itself.
    fn behind(&mut self) -> Option<Told> {
        None
    }
    fn expire(&mut self, now: u64) -> Option<Told>;
    /// The law has heard of all that it was told, and has chosen a window.
    fn heard(&mut self, _window: u64) {}
    /// What leaves now, if anything; so many bytes of the next segment, with its header, wait to be sent.
    fn next(&mut self, now: u64, window: u64, waiting: u64) -> Option<Left>;
    /// Whether the new segment that leaves must say that the window was reduced.
    fn take_cwr(&mut self) -> bool {
        false
    }
    /// A mark is echoed at a window of one: whether nothing may leave before the timer expires (RFC 3168 §6.1.2).
    fn fall_silent(&mut self, _now: u64) -> bool {
        false
    }
    fn in_flight(&self) -> u64;
    /// Whether nothing is outstanding.
    fn is_idle(&self) -> bool;
    /// Its episode while nothing is outstanding.
    fn recovery(&self) -> Recovery {
        Recovery::Open
    }
    fn timer(&self) -> &Timer;
    /// When it wants to be asked again.
    fn deadline(&self) -> Option<f64> {
        self.timer().deadline
    }
    /// What to print where both differ.
    fn state(&self) -> String;
}

fn trouble() -> impl Strategy<Value = Trouble> {
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
    fn options(reliability: Reliability)(
        sampling in prop_oneof![
            Just(RttSampling::EveryAck), Just(RttSampling::PerRoundTrip), Just(RttSampling::Timestamps)
        ],
        dup_threshold in prop_oneof![3 => Just(3_u32), 1 => 1_u32..6],
        flags in prop::array::uniform7(prop::bool::weighted(0.7)),
        receive_window in prop_oneof![2 => Just(u64::MAX), 1 => 2_u64..30],
        min_rto in prop_oneof![Just(200_u64), Just(1000), Just(30)],
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
            rack: None,
            beside: Beside::default(),
        }
    }
}

prop_compose! {
    fn rack_options()(
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

/// Losses found by time without options, probes and news of duplicates, on a path without trouble: where a case found by chance
/// begins.
fn by_time(spurious: SpuriousDetection, rack: RackOptions) -> (Options, Trouble) {
    let options = Options {
        reliability: Reliability::Sack,
        sampling: RttSampling::Timestamps,
        dup_threshold: 3,
        limited_transmit: false,
        rescue: false,
        keep_scoreboard: false,
        impatient: false,
        careful: false,
        one_recovery: false,
        spurious,
        lost_retransmissions: false,
        proportional: false,
        restart_after_idle: false,
        receive_window: u64::MAX,
        min_rto: 2e8,
        max_rto: 5e9,
        rack: Some(rack),
        beside: Beside::default(),
    };
    let trouble = Trouble {
        loss: 0.0,
        late: 0.0,
        twice: 0.0,
        ack_loss: 0.0,
        ack_late: 0.0,
        blackouts: 0.0,
        pauses: false,
        marks: 0.0,
    };
    (options, trouble)
}

const PLAIN_RACK: RackOptions = RackOptions {
    reordering_window: 0.25,
    persist: 16,
    min_rtt_window: 300_000_000_000_000,
    probes: false,
    max_ack_delay: 200_000_000,
    dsack: false,
};

/// The reordering timer may be armed for longer than the retransmission timer. An acknowledgement that brings nothing new lets the
/// latter be in force again when it has expired already: it is due at once, and time does not go back. Found by chance.
#[test]
fn a_retransmission_timer_that_has_expired_unseen_is_due_at_once() {
    let rack = RackOptions { reordering_window: 0.698_448_576_827_594_6, probes: true, ..PLAIN_RACK };
    let (options, trouble) = by_time(SpuriousDetection::FRto, rack);
    let options = Options { restart_after_idle: true, min_rto: 3e7, ..options };
    let trouble = Trouble {
        late: 0.057_500_772_536_681_205,
        twice: 0.077_467_335_359_715_31,
        blackouts: 0.015_671_177_936_656_424,
        ..trouble
    };
    assert_eq!(difference(&options, &trouble, 9_756_063_752_634_297_904, (9, 3, 1)), None);
}

/// An acknowledgement takes an episode back in which a retransmission was lost and had not left again. That one is in the network
/// once more, and lost by time at once. Found by chance.
#[test]
fn a_lost_retransmission_that_was_taken_back_is_judged_again() {
    let (options, trouble) = by_time(SpuriousDetection::Eifel, PLAIN_RACK);
    let options = Options { limited_transmit: true, ..options };
    let trouble = Trouble {
        loss: 0.299_340_746_984_626_6,
        twice: 0.001_259_082_173_607_962,
        ack_loss: 0.019_227_629_320_014_223,
        ..trouble
    };
    assert_eq!(difference(&options, &trouble, 7_088_392_287_809_346_396, (15, 3, 1)), None);
}

/// A time-out that was for nothing has thrown away what ranges told of, and with it when that left. It is taken back, and none of
/// this is lost by time. Found by chance.
#[test]
fn what_a_time_out_for_nothing_has_forgotten_is_not_lost_at_once() {
    let rack = RackOptions { dsack: true, ..PLAIN_RACK };
    let (options, trouble) = by_time(SpuriousDetection::Eifel, rack);
    let options =
        Options { sampling: RttSampling::PerRoundTrip, limited_transmit: true, min_rto: 3e7, ..options };
    let trouble = Trouble {
        loss: 0.048_640_466_404_698_636,
        late: 0.014_094_227_502_859_132,
        twice: 0.016_832_571_089_804_807,
        ack_late: 0.045_554_947_809_607_664,
        pauses: true,
        ..trouble
    };
    assert_eq!(difference(&options, &trouble, 578_179_097_265_217_061, (15, 1, 1)), None);
}

/// A loss of what left before the last reduction begins an episode that the law hears nothing of: no reduction is announced (CWR),
/// and marks count as before. Found by chance.
#[test]
fn an_episode_that_the_law_does_not_hear_of_is_no_reduction() {
    let (options, trouble) = by_time(SpuriousDetection::Off, PLAIN_RACK);
    let beside = Beside { ecn: true, ..Beside::default() };
    let options = Options { sampling: RttSampling::EveryAck, beside, ..options };
    let trouble = Trouble { late: 0.086_246_455_032_551_17, marks: 0.045_829_885_344_018_696, ..trouble };
    assert_eq!(difference(&options, &trouble, 6_948_085_572_338_400_504, (11, 1, 1)), None);
}

/// Ours beside the writing that is asked for: where they differ first, in words.
fn difference(options: &Options, trouble: &Trouble, seed: u64, rest: (u64, u32, u8)) -> Option<String> {
    if options.rack.is_some() {
        path::difference(options, rack::RackTlp::new(options.clone()), trouble, seed, rest)
    } else if options.reliability == Reliability::Sack {
        path::difference(options, scoreboard::Scoreboard::new(options.clone()), trouble, seed, rest)
    } else {
        path::difference(options, duplicates::Duplicates::new(options.clone()), trouble, seed, rest)
    }
}

/// The law's largest window in segments, segments per acknowledgement, ranges in an acknowledgement.
fn rest() -> impl Strategy<Value = (u64, u32, u8)> {
    (2_u64..40, 1_u32..4, 1_u8..5)
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
        let beside = Beside { compresses: true, handshake, ..Beside::default() };
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
        options in rack_options(), trouble in trouble(), seed: u64, rest in rest(),
        spurious in prop_oneof![Just(SpuriousDetection::Eifel), Just(SpuriousDetection::FRto)],
    ) {
        let options = Options { spurious, ..options };
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
