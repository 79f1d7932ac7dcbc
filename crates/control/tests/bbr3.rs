//! The 22 example test cases of BBR version 3's draft (draft-ietf-ccwg-bbr-06, appendix "BBR Example Test Cases"), in its order:
//! sequences of states on a path that is driven by hand. Where the draft's numbers do not bring about what its case is about,
//! the case says which others do.

use tailback_control::ControllerParams;
use tailback_control::schemes::{Bbr3, Bbr3State as State};
use tailback_core::{Bytes, CongestionEvent, Span};

use crate::path::{PACKET, Path};

/// A connection at so many Mbit/s and milliseconds.
fn connection(megabits: f64, millis: u64) -> Path<Bbr3> {
    let params = ControllerParams::unlimited(Bytes::new(PACKET), 10);
    Path::new(Bbr3::new(&params), megabits, Span::from_millis(millis))
}

fn state(path: &Path<Bbr3>) -> State {
    path.controller.state()
}

/// Goes on until this holds; how long that took, in seconds.
#[track_caller]
fn until(path: &mut Path<Bbr3>, seconds: f64, mut holds: impl FnMut(&Path<Bbr3>) -> bool) -> f64 {
    let began = path.seconds();
    while !holds(path) {
        assert!(
            path.seconds() - began < seconds,
            "not within {seconds} s; {:?} at {} s",
            state(path),
            path.seconds()
        );
        path.step();
    }
    path.seconds() - began
}

/// Goes on until a state is entered, from any other.
#[track_caller]
fn until_entered(path: &mut Path<Bbr3>, wanted: State, seconds: f64) -> f64 {
    let left = until(path, seconds, |path| state(path) != wanted);
    left + until(path, seconds, |path| state(path) == wanted)
}

/// The state that follows the present one.
#[track_caller]
fn next(path: &mut Path<Bbr3>, seconds: f64) -> State {
    let before = state(path);
    until(path, seconds, |path| state(path) != before);
    state(path)
}

/// Goes on so long; each state that was met, in order.
fn met(path: &mut Path<Bbr3>, seconds: f64) -> Vec<State> {
    let (began, mut all) = (path.seconds(), vec![state(path)]);
    while path.seconds() - began < seconds {
        path.step();
        if all.last() != Some(&state(path)) {
            all.push(state(path));
        }
    }
    all
}

#[track_caller]
fn close(found: f64, wanted: f64, part: f64) {
    assert!((found / wanted - 1.0).abs() <= part, "{found} instead of {wanted}");
}

#[track_caller]
fn within(found: f64, least: f64, most: f64) {
    assert!(found >= least && found <= most, "{found}, not {least} to {most}");
}

// ── Startup and Drain ──

#[test]
fn case_1_startup_ends_on_a_plateau() {
    let mut path = connection(10.0, 40);
    // A round is a round trip, with what waits by then; the rate is flat for exactly three.
    until(&mut path, 5.0, |path| path.note("flat_rounds") == 1.0);
    assert_eq!(state(&path), State::Startup);
    until(&mut path, 5.0, |path| path.note("flat_rounds") == 2.0);
    assert_eq!(state(&path), State::Startup);
    until(&mut path, 5.0, |path| path.note("flat_rounds") == 3.0);
    assert_eq!(state(&path), State::Drain);
    close(8.0 * path.note("largest_bandwidth"), 10e6, 0.02);
}

#[test]
fn case_2_startup_ends_on_loss_though_the_application_limits() {
    let mut path = connection(100.0, 40);
    path.offered = 40e6;
    assert_eq!(met(&mut path, 2.0), [State::Startup]);
    // One in ten: some 20 of the 200 packets of a round, each a piece of its own.
    path.loses = Some(10);
    // Drain is over with the acknowledgement that began it: the application keeps less in flight than the product.
    assert_eq!(next(&mut path, 1.0), State::Down);
}

#[test]
fn case_3_drain_ends_when_little_enough_is_in_flight() {
    let mut path = connection(10.0, 40);
    until(&mut path, 5.0, |path| state(path) == State::Drain);
    let rate = path.directive().rate.map_or(0.0, |rate| rate.bits_per_sec() as f64);
    close(rate, 0.5 * 0.99 * 8.0 * path.note("bandwidth"), 0.01);
    assert!(path.in_flight() > path.product());
    assert!(matches!(next(&mut path, 2.0), State::Down | State::Cruise));
    // The smallest round trip time has a packet's transmission with it.
    close(path.in_flight(), path.product(), 0.06);
}

/// A tenth less, the draft's number, drains within three rounds at a pacing gain of 0.5; half does not.
#[test]
fn case_4_drain_ends_after_three_rounds() {
    let mut path = connection(10.0, 40);
    until(&mut path, 5.0, |path| state(path) == State::Drain);
    path.change_rate(0.5);
    let aim = 10e6 / 8.0 * 0.04;
    let lasted = until(&mut path, 2.0, |path| state(path) != State::Drain);
    assert!(path.in_flight() > 1.2 * aim, "{}", path.in_flight());
    assert!(matches!(state(&path), State::Down | State::Cruise | State::Refill));
    // Rounds are as long as their queue: two products and less.
    within(lasted, 3.0 * 0.04, 4.0 * 0.2);
}

// ── ProbeBW ──

#[test]
fn case_5_up_ends_on_a_plateau() {
    let mut path = connection(10.0, 40);
    until_entered(&mut path, State::Up, 10.0);
    let lasted = until(&mut path, 2.0, |path| state(path) != State::Up);
    assert_eq!(state(&path), State::Down);
    assert_eq!(path.lost, 0);
    within(lasted, 3.0 * 0.04, 6.0 * 0.06);
    close(8.0 * path.note("largest_bandwidth"), 10e6, 0.02);
}

#[test]
fn case_6_up_ends_on_loss_though_the_application_limits() {
    let mut path = connection(100.0, 40);
    until_entered(&mut path, State::Up, 10.0);
    path.offered = 60e6;
    assert_eq!(met(&mut path, 0.3), [State::Up]);
    path.loses = Some(10);
    assert_eq!(next(&mut path, 0.5), State::Down);
    // What the application limits says nothing of a volume that is too high.
    assert!(path.note("inflight_longterm").is_infinite());
}

/// But for probes of the round trip time, each five seconds.
#[test]
fn case_7_no_plateau_while_the_application_limits() {
    let mut path = connection(100.0, 40);
    path.offered = 20e6;
    assert_eq!(
        met(&mut path, 12.0),
        [State::Startup, State::ProbeRtt, State::Startup, State::ProbeRtt, State::Startup]
    );
    let mut path = connection(100.0, 40);
    until_entered(&mut path, State::Up, 10.0);
    path.offered = 20e6;
    until(&mut path, 5.5, |path| state(path) == State::ProbeRtt || state(path) == State::Down);
    assert_eq!(state(&path), State::ProbeRtt, "up to the probe");
}

#[test]
fn case_8_down_ends_when_little_enough_is_in_flight() {
    let mut path = connection(10.0, 40);
    until_entered(&mut path, State::Up, 10.0);
    until_entered(&mut path, State::Down, 10.0);
    let rate = path.directive().rate.map_or(0.0, |rate| rate.bits_per_sec() as f64);
    close(rate, 0.9 * 0.99 * 8.0 * path.note("bandwidth"), 0.01);
    assert!(path.in_flight() > 1.1 * path.product());
    assert_eq!(next(&mut path, 2.0), State::Cruise);
    close(path.in_flight(), path.product(), 0.06);
}

#[test]
fn case_9_down_ends_when_it_is_time_to_probe() {
    let mut path = connection(10.0, 40);
    until_entered(&mut path, State::ProbeRtt, 12.0);
    until_entered(&mut path, State::Up, 10.0);
    until_entered(&mut path, State::Down, 10.0);
    path.change_rate(0.9);
    let lasted = until(&mut path, 4.0, |path| state(path) != State::Down);
    assert_eq!(state(&path), State::Refill, "past Cruise");
    within(lasted, 2.0, 3.1);
}

// ── ProbeRTT ──

#[test]
fn case_10_the_round_trip_time_is_probed_and_left() {
    let mut path = connection(10.0, 40);
    until_entered(&mut path, State::Up, 10.0);
    until_entered(&mut path, State::ProbeRtt, 12.0);
    let half = 0.5 * path.product();
    until(&mut path, 1.0, |path| path.window() <= 1.06 * half && path.in_flight() <= 1.06 * half);
    let lasted = until(&mut path, 1.0, |path| state(path) != State::ProbeRtt);
    within(lasted, 0.19, 0.3);
    assert_eq!(state(&path), State::Cruise);
    until(&mut path, 1.0, |path| path.window() > 1.5 * path.product());
    let delivered = path.delivered;
    met(&mut path, 1.0);
    close((path.delivered - delivered) as f64 * 8.0 * PACKET as f64, 10e6, 0.05);
}

#[test]
fn case_11_no_probe_of_the_round_trip_time_after_a_rest() {
    let mut path = connection(10.0, 40);
    until_entered(&mut path, State::ProbeRtt, 12.0);
    until_entered(&mut path, State::Cruise, 2.0);
    path.offered = 0.0;
    until(&mut path, 1.0, |path| path.in_flight() == 0.0);
    met(&mut path, 6.0);
    path.offered = 9e6;
    let after = met(&mut path, 4.0);
    assert!(!after.contains(&State::ProbeRtt), "{after:?}");
}

#[test]
fn case_20_startup_goes_on_after_a_probe_of_the_round_trip_time() {
    let mut path = connection(10.0, 40);
    path.offered = 4e6;
    until(&mut path, 6.0, |path| state(path) == State::ProbeRtt);
    assert_eq!(next(&mut path, 1.0), State::Startup);
    path.offered = f64::INFINITY;
    assert_eq!(next(&mut path, 3.0), State::Drain);
    close(8.0 * path.note("largest_bandwidth"), 10e6, 0.02);
}

// ── aggregation and small products ──

#[test]
fn case_12_startup_finds_the_rate_though_acknowledgements_bunch() {
    let mut path = connection(20.0, 40);
    path.bunches = Some(Span::from_millis(30));
    until(&mut path, 5.0, |path| state(path) == State::Drain);
    close(8.0 * path.note("largest_bandwidth"), 20e6, 0.05);
    within(path.note("extra_acked"), 10e3, 150e3);
    assert!(path.window() > 2.0 * path.product(), "{} of {}", path.window(), path.product());
}

#[test]
fn case_13_cruise_keeps_the_rate_though_acknowledgements_bunch() {
    let mut path = connection(20.0, 40);
    until_entered(&mut path, State::Cruise, 10.0);
    path.bunches = Some(Span::from_millis(30));
    met(&mut path, 0.5);
    let delivered = path.delivered;
    met(&mut path, 1.5);
    close((path.delivered - delivered) as f64 * 8.0 * PACKET as f64 / 1.5, 20e6, 0.05);
    within(path.note("extra_acked"), 10e3, 150e3);
    assert!(path.window() >= 2.0 * path.product() + 0.9 * path.note("extra_acked"));
}

/// Half a packet: 2 Mbit/s and 2 ms.
#[test]
fn case_14_four_packets_carry_a_product_below_one() {
    let mut path = connection(2.0, 2);
    until_entered(&mut path, State::Cruise, 10.0);
    let (delivered, began) = (path.delivered, path.seconds());
    let mut least = f64::INFINITY;
    until(&mut path, 4.0, |path| {
        least = least.min(path.window());
        path.seconds() > began + 3.0
    });
    assert!(least >= 4.0 * PACKET as f64, "{least}");
    close((path.delivered - delivered) as f64 * 8.0 * PACKET as f64 / 3.0, 2e6, 0.05);
    close(8.0 * path.note("bandwidth"), 2e6, 0.02);
}

// ── other rates ──

/// From 10 to 100 Mbit/s: probes of about 1.25 a round each, so that a cycle or two find it.
#[test]
fn case_15_ten_times_the_rate_is_found() {
    let mut path = connection(10.0, 40);
    path.buffer = 50.0;
    until_entered(&mut path, State::Cruise, 10.0);
    until_entered(&mut path, State::Cruise, 10.0);
    path.change_rate(10.0);
    // While it looks for more, the long-term bound, if there is one, rises ever faster.
    let took = until(&mut path, 15.0, |path| 8.0 * path.note("largest_bandwidth") > 0.95 * 100e6);
    within(took, 0.0, 12.0);
}

#[test]
fn case_16_a_tenth_of_the_rate_is_believed_within_two_cycles() {
    let mut path = connection(100.0, 40);
    path.buffer = 500.0;
    until_entered(&mut path, State::Cruise, 10.0);
    path.change_rate(0.1);
    // The short-term bound comes down by loss, within a second.
    until(&mut path, 3.0, |path| path.note("bandwidth_shortterm") * 8.0 < 50e6);
    until_entered(&mut path, State::Up, 10.0);
    until_entered(&mut path, State::Up, 10.0);
    until_entered(&mut path, State::Cruise, 10.0);
    close(8.0 * path.note("largest_bandwidth"), 10e6, 0.1);
}

/// 5 Mbit/s of tokens and 30 packets of burst on a link of 50 Mbit/s.
#[test]
fn case_17_a_policer_is_heeded() {
    let mut path = connection(50.0, 40);
    until_entered(&mut path, State::Cruise, 10.0);
    path.policer = Some((5e6, 30.0));
    until(&mut path, 2.0, |path| path.note("inflight_shortterm").is_finite());
    assert!(path.note("bandwidth_shortterm").is_finite());
    met(&mut path, 15.0);
    let (delivered, lost) = (path.delivered, path.lost);
    met(&mut path, 20.0);
    let (delivered, lost) = ((path.delivered - delivered) as f64, (path.lost - lost) as f64);
    assert!(delivered * 8.0 * PACKET as f64 / 20.0 > 0.85 * 5e6, "{delivered}");
    assert!(lost / (delivered + lost) < 0.1, "{lost} of {delivered}");
}

// ── losses that were none ──

/// Loss begins a recovery in Up, which ends the probe; it was none, so the probe is made again.
#[test]
fn case_18_a_spurious_recovery_is_taken_back() {
    let mut path = connection(10.0, 40);
    until_entered(&mut path, State::Up, 10.0);
    met(&mut path, 0.06);
    assert_eq!(state(&path), State::Up);
    assert!(path.note("inflight_longterm").is_infinite());
    path.loses = Some(3);
    assert_eq!(next(&mut path, 0.2), State::Down);
    path.loses = None;
    // All that was lost is known.
    assert!(matches!(met(&mut path, 0.06).last(), Some(State::Down | State::Cruise)));
    assert!(path.note("inflight_longterm").is_finite());
    path.tell(CongestionEvent::Spurious);
    let after = met(&mut path, 0.2);
    assert!(after.contains(&State::Refill), "{after:?}");
    assert!(path.note("inflight_longterm").is_infinite(), "as before");
    assert!(path.note("bandwidth_shortterm").is_infinite());
}

#[test]
fn case_19_a_spurious_time_out_is_taken_back() {
    let mut path = connection(10.0, 40);
    until_entered(&mut path, State::Cruise, 10.0);
    let (before, in_flight) = (path.window(), path.in_flight());
    path.tell(CongestionEvent::Timeout { consecutive: 1 });
    let window = {
        until(&mut path, 0.1, |path| path.window() < before);
        path.window()
    };
    within(window, in_flight - PACKET as f64, in_flight + 2.0 * PACKET as f64);
    path.tell(CongestionEvent::Spurious);
    until(&mut path, 0.1, |path| path.window() >= before);
    assert_eq!(state(&path), State::Cruise);
}

// ── probes that go wrong ──

#[test]
fn case_21_loss_in_up_lowers_the_long_term_bound() {
    let mut path = connection(10.0, 40);
    // A quarter of a product of buffer: the first probes find the bound.
    path.buffer = 13.0;
    until(&mut path, 20.0, |path| path.note("inflight_longterm").is_finite());
    until_entered(&mut path, State::Up, 12.0);
    let bound = path.note("inflight_longterm");
    path.loses = Some(5);
    assert_eq!(next(&mut path, 0.5), State::Down);
    path.loses = None;
    let lower = path.note("inflight_longterm");
    assert!(lower < bound, "{lower} after {bound}");
    assert!(lower >= 0.69 * bound.min(path.product()), "{lower}: not by more than Beta");
}

#[test]
fn case_22_a_limit_in_refill_does_not_lower_the_rate() {
    let mut path = connection(10.0, 40);
    until_entered(&mut path, State::Refill, 12.0);
    let before = path.note("largest_bandwidth");
    path.offered = 1e6;
    assert_eq!(next(&mut path, 1.0), State::Up);
    assert!(path.note("largest_bandwidth") >= before);
    path.offered = f64::INFINITY;
    assert_eq!(next(&mut path, 2.0), State::Down);
    close(8.0 * path.note("largest_bandwidth"), 10e6, 0.02);
}
