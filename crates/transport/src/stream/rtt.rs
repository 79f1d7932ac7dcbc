//! Round trip time estimation and the retransmission time-out (RFC 6298). Which segments give samples is decided in
//! the rest of `stream`.
//!
//! With a clock of ticks, samples count the ticks between sending and acknowledgement, and the smoothed values are
//! cut to whole ticks where BSD and ns-2 shift them: ns-2's `rtt_update` bit by bit for the published gains.

use tailback_core::{RttSample, Span, Time};

use crate::config::RtoConfig;

/// The least time-out that a controller may direct: a shorter one, never lengthened by back-off where it is 0, would be an
/// event per nanosecond.
const LEAST: Span = Span::from_micros(1);

/// The least time-out of data behind a connection's request that was lost (RFC 6298 §5.7).
const BEHIND_LOST_REQUEST: Span = Span::from_secs(3);

/// The estimator of one connection.
#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    /// Smoothed round trip time and its variation, in nanoseconds or ticks.
    smoothed: f64,
    variation: f64,
    /// What expiries multiplied the time-out by.
    backoff: f64,
    /// The time-out without back-off.
    timeout: Span,
    /// The controller's own, which replaces it; [`Span::MAX`] where it has none.
    directed: Span,
    /// For how long the receiver may hold acknowledgements back, having been asked to: the time-out is as much longer, as in
    /// QUIC (RFC 9002 §6.2.1).
    held: Span,
    latest: Span,
    min: Span,
    samples: u32,
    /// Where in a tick, which is a second at most, this host's clock stands at time zero; in nanoseconds.
    phase: u32,
}

/// Conversions by way of signed integers, which a processor does in one instruction; spans are far below 2⁶³ ns.
#[inline]
fn real(span: Span) -> f64 {
    span.as_nanos().cast_signed() as f64
}

#[inline]
fn span(nanos: f64) -> Span {
    Span::from_nanos((nanos as i64).cast_unsigned())
}

impl RttEstimator {
    /// An estimator without samples. `phase` moves the clock's ticks, so that not all hosts tick together.
    pub(crate) fn new(config: &RtoConfig, phase: u64) -> Self {
        let tick = config.tick.as_nanos().max(1);
        Self {
            smoothed: 0.0,
            variation: 0.0,
            backoff: 1.0,
            timeout: config.initial,
            directed: Span::MAX,
            held: Span::ZERO,
            latest: Span::ZERO,
            min: Span::MAX,
            samples: 0,
            phase: u32::try_from(phase % tick).unwrap_or(u32::MAX),
        }
    }

    /// Whether there was a sample.
    pub(crate) fn has_sample(&self) -> bool {
        self.min != Span::MAX
    }

    /// How many samples there were, modulo 2³².
    pub(crate) fn samples(&self) -> u32 {
        self.samples
    }

    /// The newest sample.
    pub(crate) fn latest(&self) -> Option<Span> {
        self.has_sample().then_some(self.latest)
    }

    /// The smallest sample.
    pub(crate) fn least(&self) -> Option<Span> {
        self.has_sample().then_some(self.min)
    }

    /// The smoothed round trip time.
    pub(crate) fn smoothed(&self, config: &RtoConfig) -> Option<Span> {
        let unit = if config.tick.is_zero() { 1.0 } else { real(config.tick) };
        self.has_sample().then(|| span(self.smoothed * unit))
    }

    /// Takes the sample of a segment sent at `sent` and acknowledged now; the back-off ends (RFC 6298 §5).
    #[inline(always)]
    pub(crate) fn sample(&mut self, now: Time, sent: Time, config: &RtoConfig) -> RttSample {
        let latest = now.since(sent);
        let first = !self.has_sample();
        self.latest = latest;
        self.samples = self.samples.wrapping_add(1);
        self.min = self.min.min(latest);
        self.backoff = 1.0;
        let (smoothed, timeout) = if config.tick.is_zero() {
            self.update(real(latest), first, config);
            let margin = (config.k * self.variation).max(real(config.margin_min));
            (self.smoothed, config.srtt_factor * self.smoothed + margin)
        } else {
            self.update_ticks(now, sent, first, config)
        };
        self.timeout = span(timeout).max(config.min);
        RttSample { latest, smoothed: span(smoothed), min: self.min }
    }

    /// RFC 6298 §2.2 and §2.3.
    #[inline]
    fn update(&mut self, sample: f64, first: bool, config: &RtoConfig) {
        if first {
            self.smoothed = sample;
            self.variation = sample / 2.0;
        } else {
            let error = sample - self.smoothed;
            self.variation += config.beta * (error.abs() - self.variation);
            self.smoothed += config.alpha * error;
        }
    }

    /// The same in ticks, as `rtt_update` of ns-2's `tcp.cc` has it; smoothed time and time-out in nanoseconds.
    #[cold]
    fn update_ticks(&mut self, now: Time, sent: Time, first: bool, config: &RtoConfig) -> (f64, f64) {
        let tick = config.tick.as_nanos();
        let phase = Span::from_nanos(u64::from(self.phase));
        let at = |time: Time| (time + phase).as_nanos() / tick;
        let sample = (at(now) - at(sent)).max(1) as f64;
        if first {
            self.smoothed = sample;
            self.variation = sample / 2.0;
        } else {
            let error = sample - self.smoothed.floor();
            // One unit of the fixed point, 1/8 and 1/4 of a tick for the published gains, is the least.
            self.smoothed = (self.smoothed + config.alpha * error).max(config.alpha);
            let excess = error.abs() - self.variation.floor();
            self.variation = (self.variation + config.beta * excess).max(config.beta);
        }
        let margin = (config.k * self.variation).max(real(config.margin_min) / tick as f64);
        let ticks = (config.srtt_factor * self.smoothed + margin).floor();
        (self.smoothed * tick as f64, ticks * tick as f64)
    }

    /// The time-out, back-off included (RFC 6298 §2.4 and §2.5; the minimum is taken before the back-off).
    #[inline(always)]
    pub(crate) fn timeout(&self, config: &RtoConfig) -> Span {
        let base = if self.directed == Span::MAX { self.timeout + self.held } else { self.directed };
        let backed_off = if self.backoff == 1.0 { base } else { base.mul_f64(self.backoff) };
        backed_off.min(config.max)
    }

    /// The controller's own time-out takes the place of the estimated one, or gives it back.
    #[inline]
    pub(crate) fn direct(&mut self, timeout: Option<Span>) {
        self.directed = timeout.map_or(Span::MAX, |timeout| timeout.max(LEAST));
    }

    /// For how long the receiver may hold acknowledgements back, having been asked to.
    pub(crate) fn held(&self) -> Span {
        self.held
    }

    /// The receiver may hold acknowledgements back for so long, having been asked to.
    pub(crate) fn hold(&mut self, held: Span) {
        self.held = held;
    }

    /// Whether the controller has its own time-out.
    pub(crate) fn is_directed(&self) -> bool {
        self.directed != Span::MAX
    }

    /// A connection's request is acknowledged. Where no round trip could be measured, it was sent more than once, and who uses "an RTO
    /// less than 3 seconds", which we take for the one before the back-off, begins data with one of 3 s (RFC 6298 §5.7). A stamp that
    /// measured the request's round trip counts more than that rule, as in Linux.
    pub(crate) fn begin_data(&mut self) {
        if !self.has_sample() && self.timeout < BEHIND_LOST_REQUEST {
            self.timeout = BEHIND_LOST_REQUEST;
            self.backoff = 1.0;
        }
    }

    /// The timer expired (RFC 6298 §5.5).
    pub(crate) fn back_off(&mut self, config: &RtoConfig) {
        // Bounded, so that an endless outage does not overflow it; the maximum is reached long before.
        self.backoff = (self.backoff * config.backoff).min(1e9);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(value: u64) -> Time {
        Time::ZERO + Span::from_millis(value)
    }

    #[test]
    fn follows_the_arithmetic_of_rfc_6298() {
        let config = RtoConfig { min: Span::from_millis(1), ..RtoConfig::default() };
        let mut rtt = RttEstimator::new(&config, 0);
        assert_eq!(rtt.timeout(&config), Span::from_secs(1));
        rtt.sample(millis(100), millis(0), &config);
        // SRTT = R, RTTVAR = R/2, RTO = SRTT + 4 RTTVAR.
        assert_eq!(rtt.timeout(&config), Span::from_millis(300));
        rtt.sample(millis(380), millis(200), &config);
        // RTTVAR = 3/4 · 50 + 1/4 · |100 - 180| = 57.5; SRTT = 7/8 · 100 + 1/8 · 180 = 110.
        assert_eq!(rtt.smoothed(&config), Some(Span::from_millis(110)));
        assert_eq!(rtt.timeout(&config), Span::from_millis(340));
        rtt.sample(millis(500), millis(440), &config);
        // RTTVAR = 43.125 + 12.5 = 55.625; SRTT = 96.25 + 7.5 = 103.75.
        assert_eq!(rtt.smoothed(&config), Some(Span::from_micros(103_750)));
        assert_eq!(rtt.timeout(&config), Span::from_micros(326_250));
    }

    #[test]
    fn bounds_and_backs_off_until_the_next_sample() {
        let config = RtoConfig { max: Span::from_secs(3), ..RtoConfig::default() };
        let mut rtt = RttEstimator::new(&config, 0);
        rtt.sample(millis(10), millis(0), &config);
        assert_eq!(rtt.timeout(&config), Span::from_millis(200), "the minimum");
        for expected in [400, 800, 1600, 3000, 3000] {
            rtt.back_off(&config);
            assert_eq!(rtt.timeout(&config), Span::from_millis(expected));
        }
        rtt.sample(millis(30), millis(20), &config);
        assert_eq!(rtt.timeout(&config), Span::from_millis(200));
    }

    #[test]
    fn the_margin_above_the_smoothed_round_trip_has_a_floor_of_its_own() {
        let least = Span::from_millis(200);
        let config = RtoConfig { margin_min: least, ..RtoConfig::default() };
        let mut rtt = RttEstimator::new(&config, 0);
        assert_eq!(rtt.timeout(&config), Span::from_secs(1), "before any sample");
        rtt.sample(millis(100), millis(0), &config);
        // SRTT = 100, 4 RTTVAR = 200.
        assert_eq!(rtt.timeout(&config), Span::from_millis(300));
        rtt.sample(millis(200), millis(100), &config);
        // 4 RTTVAR = 150, which would make 250.
        assert_eq!(rtt.timeout(&config), Span::from_millis(300));
        rtt.back_off(&config);
        assert_eq!(rtt.timeout(&config), Span::from_millis(600));
        rtt.sample(millis(500), millis(200), &config);
        // SRTT = 125, RTTVAR = 3/4 · 37.5 + 1/4 · 200 = 78.125: more than the floor.
        assert_eq!(rtt.timeout(&config), Span::from_micros(437_500));
        let ticks = RtoConfig { tick: Span::from_millis(10), ..config };
        let mut rtt = RttEstimator::new(&ticks, 0);
        rtt.sample(millis(60), millis(0), &ticks);
        // 6 ticks, and 12 of variation, of which the floor makes 20.
        assert_eq!(rtt.timeout(&ticks), Span::from_millis(260));
    }

    #[test]
    fn a_receiver_that_holds_acknowledgements_back_gets_as_much_longer_but_not_where_the_controller_directs()
    {
        let config = RtoConfig::default();
        let mut rtt = RttEstimator::new(&config, 0);
        rtt.sample(millis(100), millis(0), &config);
        rtt.hold(Span::from_millis(25));
        assert_eq!(rtt.held(), Span::from_millis(25));
        assert_eq!(rtt.timeout(&config), Span::from_millis(325));
        rtt.back_off(&config);
        assert_eq!(rtt.timeout(&config), Span::from_millis(650));
        rtt.direct(Some(Span::from_millis(15)));
        assert_eq!(rtt.timeout(&config), Span::from_millis(30));
    }

    #[test]
    fn a_directed_timeout_replaces_the_estimate_and_backs_off() {
        let config = RtoConfig::default();
        let mut rtt = RttEstimator::new(&config, 0);
        rtt.sample(millis(10), millis(0), &config);
        rtt.direct(Some(Span::from_millis(15)));
        assert_eq!(rtt.timeout(&config), Span::from_millis(15), "below the minimum");
        rtt.back_off(&config);
        assert_eq!(rtt.timeout(&config), Span::from_millis(30));
        rtt.direct(None);
        assert_eq!(rtt.timeout(&config), Span::from_millis(400));
    }

    #[test]
    fn a_directed_timeout_has_a_least_value_and_backs_off_to_the_most() {
        let config = RtoConfig::default();
        let mut rtt = RttEstimator::new(&config, 0);
        rtt.direct(Some(Span::ZERO));
        assert_eq!(rtt.timeout(&config), Span::from_micros(1));
        for _ in 0..100 {
            rtt.back_off(&config);
        }
        assert_eq!(rtt.timeout(&config), config.max);
    }

    /// RFC 6298 §5.7: "if the timer expires awaiting the ACK of a SYN segment and the TCP implementation is using an RTO less than
    /// 3 seconds".
    #[test]
    fn behind_a_lost_request_a_timeout_of_less_than_three_seconds_becomes_that() {
        for (initial, expected) in [(1, 3), (5, 10)] {
            let config = RtoConfig { initial: Span::from_secs(initial), ..RtoConfig::default() };
            let mut rtt = RttEstimator::new(&config, 0);
            rtt.back_off(&config);
            rtt.begin_data();
            assert_eq!(rtt.timeout(&config), Span::from_secs(expected));
        }
    }

    /// ns-2 2.35, `TcpAgent::rtt_update`, in its own fixed point.
    struct FixedPoint {
        srtt: i64,
        var: i64,
    }

    impl FixedPoint {
        fn update(&mut self, ticks: i64) -> i64 {
            if self.srtt == 0 {
                self.srtt = ticks << 3;
                self.var = ticks << 1;
            } else {
                let mut delta = ticks - (self.srtt >> 3);
                self.srtt = (self.srtt + delta).max(1);
                delta = delta.abs() - (self.var >> 2);
                self.var = (self.var + delta).max(1);
            }
            ((self.var << 3) + self.srtt) >> 3
        }
    }

    #[test]
    fn ticks_agree_with_the_fixed_point_of_ns2() {
        let config =
            RtoConfig { tick: Span::from_millis(10), min: Span::from_nanos(1), ..RtoConfig::default() };
        let mut rtt = RttEstimator::new(&config, 3_000_000);
        let mut reference = FixedPoint { srtt: 0, var: 0 };
        let mut noise = 12345_u64;
        for round in 0..5000_u64 {
            noise = tailback_core::rng::mix(noise);
            let sent = Time::ZERO + Span::from_micros(round * 71_234);
            let now = sent + Span::from_micros(60_000 + noise % 90_000);
            let at = |time: Time| ((time.as_nanos() + 3_000_000) / 10_000_000).cast_signed();
            let ticks = reference.update((at(now) - at(sent)).max(1));
            rtt.sample(now, sent, &config);
            assert_eq!(rtt.timeout(&config), Span::from_millis(10) * ticks as u64, "round {round}");
        }
    }
}
