//! Cases in which both writings differed once, found by chance: each made small, with what was wrong. The comparisons are in
//! `comparisons.rs`.

use tailback_control::Reliability;
use tailback_transport::{RttSampling, SpuriousDetection};

use super::law::Asks;
use super::path::Trouble;
use super::{Beside, Options, RackOptions, difference};

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
        least_variation: 0.0,
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

/// A request to hold acknowledgements back made the reordering timer longer, which waits for none that is held back. Found by chance.
#[test]
fn a_request_to_hold_acknowledgements_back_leaves_the_reordering_timer_alone() {
    let (options, trouble) = by_time(SpuriousDetection::Off, PLAIN_RACK);
    let asks = Some(Asks { step: 5, delay: 1_000_000 });
    let options = Options {
        sampling: RttSampling::EveryAck,
        beside: Beside { ecn: true, asks, ..Beside::default() },
        ..options
    };
    assert_eq!(difference(&options, &trouble, 1_167_496_344_801_258_295, (8, 2, 1)), None);
}

/// F-RTO had no new data to send when the first acknowledgement came, and nothing else might leave. The second writing gave nothing up, as
/// long as windows were paced; then the application wrote, and the time-out counted as none. Found by chance.
#[test]
fn f_rto_without_new_data_gives_up_though_nothing_else_may_leave() {
    let (options, trouble) = by_time(SpuriousDetection::FRto, PLAIN_RACK);
    let options = Options {
        sampling: RttSampling::EveryAck,
        min_rto: 3e7,
        beside: Beside { pacing: Some((1.824_102_711_381_399_5, 1000)), ..Beside::default() },
        ..options
    };
    let trouble = Trouble { twice: 0.043_238_585_819_981_565, pauses: true, ..trouble };
    assert_eq!(difference(&options, &trouble, 8_014_168_775_082_628_156, (17, 1, 1)), None);
}

/// A time-out for nothing has thrown away what ranges told of, and an episode begins before ranges tell it again. The second writing
/// counted that as delivered once more, and let more leave by proportional rate reduction. Found by chance.
#[test]
fn what_is_told_again_behind_a_time_out_for_nothing_is_not_delivered_twice() {
    let (options, trouble) = by_time(SpuriousDetection::Eifel, PLAIN_RACK);
    let options = Options {
        sampling: RttSampling::EveryAck,
        limited_transmit: true,
        lost_retransmissions: true,
        proportional: true,
        receive_window: 16_000,
        min_rto: 3e7,
        rack: None,
        ..options
    };
    let trouble = Trouble {
        loss: 0.009_968_697_023_166_303,
        late: 0.264_100_902_762_319_8,
        twice: 0.027_316_274_373_474_75,
        ack_loss: 0.003_385_792_604_578_650_5,
        ack_late: 0.011_220_342_072_414_428,
        blackouts: 0.007_021_070_310_070_617_5,
        ..trouble
    };
    assert_eq!(difference(&options, &trouble, 6_945_000_367_857_698_750, (9, 3, 1)), None);
}
