//! What was sent and lost lately, and how well a bandwidth and an inherent loss explain it. Which of them are tried, and what
//! follows for the rate, is in `mod.rs`.
//!
//! Source: libwebrtc, `loss_based_bwe_v2` (June 2025), with loss counted in bytes, as by default there. Rates are bits per
//! second, sizes kilobytes, times whole microseconds as there: observations often lie exactly as far apart as a time that they
//! are compared with.
//!
//! A path that carries `B`, and loses the part `ℓ` of everything whatever the rate, loses of what is sent at rate `R` the part
//!
//! ```text
//! p(R) = ℓ + (1 − ℓ) max(0, R − B)/R
//! ```
//!
//! Of an observation's kilobytes `L` are lost and `K` arrive. With weights `w = 0.9^age`, the logarithm of the likelihood of all
//! of them, and a preference for high bandwidths that becomes one for low ones where the mean loss `m` is above 20 %:
//!
//! ```text
//! J(ℓ, B) = Σ w [L ln p + K ln(1 − p) + (L + K) b(B)]
//! b(B)    = (0.2 − m)/(0.002 + |0.2 − m|) · (0.0002 B + 0.02 ln(1 + B)),   B in kbit/s
//! ```
//!
//! For a given `B` a step of Newton's method moves `ℓ` by `−0.75 J′/J″`; the derivatives are those by `p`, as in the source,
//! not by `ℓ`: where an observation was sent faster than `B` they differ by `∂p/∂ℓ = B/R` and its square.

/// The shortest observation.
const SHORTEST: f64 = 250e3;
/// Observations that are kept, and how many it takes to say anything.
const KEPT: usize = 15;
pub(super) const ENOUGH: usize = 3;
/// The weight of an observation beside that of the next newer one.
const HISTORY: f64 = 0.9;
/// The bounds of a probability whose logarithm is taken.
const PROBABILITIES: (f64, f64) = (1e-6, 1.0 - 1e-6);
/// The preference for high bandwidth, per kbit/s and per unit of its logarithm; the mean loss at which it turns round, and over
/// which range of loss it does so.
const BIAS: (f64, f64) = (0.0002, 0.02);
const TURNS: (f64, f64) = (0.2, 0.002);
/// The part of a Newton step that is taken.
const STEP: f64 = 0.75;
/// The worst observation counts in the mean loss where it was sent at this times the median rate, or faster.
const SUDDEN: f64 = 2.0;

/// What a path is taken for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Channel {
    /// Above this rate, packets are lost by congestion; bits per second.
    pub(super) bandwidth: f64,
    /// The part that is lost whatever the rate.
    pub(super) inherent: f64,
}

impl Channel {
    /// The part lost of what is sent at a rate.
    fn loss(&self, rate: f64) -> f64 {
        let beyond = if rate > self.bandwidth { (rate - self.bandwidth) / rate } else { 0.0 };
        (self.inherent + (1.0 - self.inherent) * beyond).clamp(PROBABILITIES.0, PROBABILITIES.1)
    }
}

/// What one report told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// When the first and the last of its packets left.
    pub(super) sent: (f64, f64),
    /// Kilobytes that arrived and that are lost.
    pub(super) kept: f64,
    pub(super) lost: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Observation {
    rate: f64,
    kept: f64,
    lost: f64,
}

impl Observation {
    fn size(&self) -> f64 {
        self.kept + self.lost
    }

    /// Of whole bytes, so that equal parts are equal.
    fn loss(&self) -> f64 {
        let bytes = |kilobytes: f64| (1e3 * kilobytes).round();
        if self.size() > 0.0 { bytes(self.lost) / bytes(self.size()) } else { 0.0 }
    }
}

/// The newest observations.
#[derive(Clone, Debug, Default)]
pub(super) struct Observations {
    /// A ring, of which the first `KEPT` ever stand in the order of time: of several best or worst ones, the first in the ring
    /// is left out of the mean, as in the source.
    all: Vec<Observation>,
    /// How many there ever were.
    taken: usize,
    /// What is gathered for the next one.
    next: Observation,
    /// When the newest packet of the newest observation left.
    until: Option<f64>,
    mean_loss: f64,
}

impl Observations {
    /// Gathers; whether that completed an observation.
    pub(super) fn take(&mut self, told: &Told) -> bool {
        self.next.kept += told.kept;
        self.next.lost += told.lost;
        let lasted = told.sent.1 - *self.until.get_or_insert(told.sent.0);
        if lasted < SHORTEST {
            return false;
        }
        self.until = Some(told.sent.1);
        let next = std::mem::take(&mut self.next);
        let one = Observation { rate: 8e9 * next.size() / lasted, ..next };
        let place = self.taken % KEPT;
        match self.all.get_mut(place) {
            Some(oldest) => *oldest = one,
            None => self.all.push(one),
        }
        self.taken += 1;
        self.mean_loss = self.mean();
        true
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    /// When the newest packet left that the newest observation is of.
    pub(super) fn until(&self) -> f64 {
        self.until.unwrap_or(0.0)
    }

    /// The mean loss, without the extremes.
    pub(super) const fn mean_loss(&self) -> f64 {
        self.mean_loss
    }

    fn weighted(&self) -> impl Iterator<Item = (f64, &Observation)> {
        let age = |place: usize| (self.taken + KEPT - 1 - place) % KEPT;
        let weigh = move |(place, one)| (HISTORY.powf(age(place) as f64), one);
        self.all.iter().enumerate().map(weigh)
    }

    /// The part of all bytes lost, newer ones weighing more. Of more than three observations the best and the worst are left
    /// out; but none where the worst one was sent so fast that its loss is no outlier.
    fn mean(&self) -> f64 {
        let (mut lost, mut size) = (0.0, 0.0);
        let (mut worst, mut best) = (None, None);
        for (weight, one) in self.weighted() {
            lost += weight * one.lost;
            size += weight * one.size();
            if one.loss() > worst.map_or(0.0, |(_, worst): (f64, &Observation)| worst.loss()) {
                worst = Some((weight, one));
            }
            if one.loss() < best.map_or(1.0, |(_, best): (f64, &Observation)| best.loss()) {
                best = Some((weight, one));
            }
        }
        let sudden = worst.is_some_and(|(_, worst)| worst.rate >= SUDDEN * self.median_rate());
        if self.all.len() > 3 && !sudden {
            for (weight, one) in [worst, best].into_iter().flatten() {
                lost -= weight * one.lost;
                size -= weight * one.size();
            }
        }
        if size > 0.0 { (lost / size).clamp(0.0, 1.0) } else { 0.0 }
    }

    fn median_rate(&self) -> f64 {
        let mut rates: Vec<f64> = self.all.iter().map(|one| one.rate).filter(|rate| *rate > 0.0).collect();
        rates.sort_by(f64::total_cmp);
        let middle = rates.len() / 2;
        match rates.get(middle) {
            Some(upper) if rates.len() % 2 == 1 => *upper,
            Some(upper) => rates.get(middle - 1).map_or(*upper, |lower| f64::midpoint(*lower, *upper)),
            None => 0.0,
        }
    }

    /// How much a bandwidth is preferred for being high.
    fn bias(&self, bandwidth: f64) -> f64 {
        let below = TURNS.0 - self.mean_loss;
        let kbits = bandwidth / 1e3;
        below / (TURNS.1 + below.abs()) * (BIAS.0 * kbits + BIAS.1 * kbits.ln_1p())
    }

    /// `J`: how well a channel explains what was observed.
    pub(super) fn objective(&self, channel: &Channel) -> f64 {
        let bias = self.bias(channel.bandwidth);
        let explained = |one: &Observation| {
            let loss = channel.loss(one.rate);
            one.lost * loss.ln() + one.kept * (1.0 - loss).ln() + bias * one.size()
        };
        self.weighted().map(|(weight, one)| weight * explained(one)).sum()
    }

    /// The channel's inherent loss after one step of Newton's method.
    pub(super) fn step(&self, channel: &Channel) -> f64 {
        let (mut first, mut second) = (0.0, 0.0);
        for (weight, one) in self.weighted() {
            let loss = channel.loss(one.rate);
            first += weight * (one.lost / loss - one.kept / (1.0 - loss));
            second -= weight * (one.lost / loss.powi(2) + one.kept / (1.0 - loss).powi(2));
        }
        if second < 0.0 { channel.inherent - STEP * first / second } else { channel.inherent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Observations of 300 ms each, of a rate in bits per second and a part lost.
    pub(in super::super) fn observed(all: &[(f64, f64)]) -> Observations {
        let mut window = Observations::default();
        window.take(&Told { sent: (0.0, 0.0), kept: 0.0, lost: 0.0 });
        for (step, (rate, loss)) in (1_i32..).zip(all) {
            let size = rate * 0.3 / 8e3;
            let sent = (300e3 * f64::from(step - 1), 300e3 * f64::from(step));
            assert!(window.take(&Told { sent, kept: size * (1.0 - loss), lost: size * loss }));
        }
        window
    }

    #[test]
    fn a_path_loses_what_it_cannot_carry_and_its_part_of_the_rest() {
        let channel = Channel { bandwidth: 1e6, inherent: 0.1 };
        assert!((channel.loss(0.5e6) - 0.1).abs() < 1e-12);
        assert!((channel.loss(2e6) - 0.55).abs() < 1e-12, "half is too much, a tenth of the rest is lost");
        assert!(Channel { bandwidth: 0.0, inherent: 1.0 }.loss(1.0) < 1.0);
    }

    #[test]
    fn an_observation_lasts_a_quarter_of_a_second() {
        let mut window = Observations::default();
        let told = |from: f64, to: f64| Told { sent: (from * 1e6, to * 1e6), kept: 10.0, lost: 0.0 };
        assert!(!window.take(&told(5.0, 5.1)));
        assert!(!window.take(&told(5.1, 5.2)));
        assert!(window.take(&told(5.2, 5.3)));
        assert!((window.all[0].rate / 0.8e6 - 1.0).abs() < 1e-9, "30 kB in 0.3 s: {:?}", window.all);
        for step in 0..20_u32 {
            let at = 5.3 + f64::from(step);
            window.take(&told(at, at + 1.0));
        }
        assert_eq!(window.count(), 15);
    }

    /// The extremes are left out of the mean, but not a worst one that was sent at twice the median rate.
    #[test]
    fn an_outlier_does_not_count_in_the_mean_loss() {
        let steady = [(1e6, 0.02); 6];
        let mean = |all: &[(f64, f64)]| observed(all).mean_loss();
        assert!((mean(&steady) - 0.02).abs() < 1e-9);
        assert!((mean(&[&steady[..], &[(1e6, 0.5)]].concat()) - 0.02).abs() < 1e-9);
        assert!(mean(&[&steady[..], &[(2.1e6, 0.5)]].concat()) > 0.15);
        assert!(observed(&[(0.0, 0.0); 6]).mean_loss().abs() < 1e-12, "nothing sent");
    }

    /// Newton's steps end at the inherent loss that a search through all finds best, where nothing was sent faster than the
    /// bandwidth.
    #[test]
    fn the_search_ends_at_the_maximum() {
        for losses in [[0.1, 0.1, 0.1, 0.1], [0.0, 0.05, 0.02, 0.3], [0.4, 0.0, 0.0, 0.01]] {
            let window = observed(&losses.map(|loss| (1e6, loss)));
            let of = |inherent: f64| Channel { bandwidth: 1.5e6, inherent };
            let grid = (1..1000_u32).map(|thousandth| f64::from(thousandth) / 1000.0);
            let value = |inherent: f64| window.objective(&of(inherent));
            let best = grid.max_by(|a, b| value(*a).total_cmp(&value(*b))).unwrap_or(0.0);
            let found = (0..40).fold(0.01, |inherent, _| window.step(&of(inherent)));
            assert!((found - best).abs() <= 0.0006, "{losses:?}: {found}, not {best}");
        }
    }

    /// What is best turns round at a fifth of loss.
    #[test]
    fn heavy_loss_prefers_low_bandwidths() {
        let better = |loss: f64| {
            let window = observed(&[(1e6, loss); 8]);
            let value = |bandwidth: f64| window.objective(&Channel { bandwidth, inherent: loss });
            value(2e6) > value(1.5e6)
        };
        assert!(better(0.1));
        assert!(!better(0.3));
    }
}
