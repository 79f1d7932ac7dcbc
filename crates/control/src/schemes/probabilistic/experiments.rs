//! The probabilities of probabilistic congestion control and the sets that remember them (Widmer, Mauve and Damm, §3.4 to
//! §3.6). When an experiment is due, and what follows from it, is decided in `machine.rs`.
//!
//! ```text
//! p  = r_TCP / r_EFF                     r_EFF = r_NA · ∏ p_i over P                          (2), (3)
//! p' = p - T' (r'_NA - r'_TCP) / (T · r_EFF')    r_EFF' and p with P' in place of P           (4)
//! ```
//!
//! With probes while off (§3.7.3) a suspended flow costs `r_OFF`: `p r_NA + (1 - p) r_OFF = r_TCP`, so `r_OFF` is taken off
//! `r_TCP` and `r_NA` alike.
//!
//! An experiment passed with `p_i` leaves the flow's luck uniform on what is left, so all experiments of a period are one:
//! `u = x ∏ p_j` over those before it, compared with `r_TCP / r_NA`. That `u` is what probes while off need to tell
//! whether every experiment would have succeeded under better conditions.

use std::collections::VecDeque;

use tailback_core::{Span, Time};

/// The rates that decide, in bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// `r_TCP`: what TCP would get under the same conditions; infinite while no loss is known.
    pub friendly: f64,
    /// `r_NA`: what the application sends on average.
    pub application: f64,
    /// `r_OFF`: what probes cost while the flow is off.
    pub probes: f64,
}

impl Rates {
    /// Without probes.
    pub const fn new(friendly: f64, application: f64) -> Self {
        Self { friendly, application, probes: 0.0 }
    }

    /// `r_TCP / r_NA`, both less what probes cost anyway.
    fn ratio(&self) -> f64 {
        (self.friendly - self.probes).max(0.0) / (self.application - self.probes).max(1e-9)
    }
}

/// What was sent while the network was not known yet (§3.6).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Protected {
    /// T': how long that lasted.
    pub span: Span,
    /// `r'_NA` and `r'_TCP` in bytes per second.
    pub rates: Rates,
}

impl Protected {
    /// The bytes sent beyond TCP's share, at least none.
    ///
    /// Equation (4) would give credit where TCP would have sent more. The text has the probability of being turned off
    /// increased only, and while no loss is known `r'_TCP` has no bound, so credit is not given.
    pub fn excess(&self) -> f64 {
        self.span.as_secs_f64() * (self.rates.application - self.rates.friendly).max(0.0)
    }
}

/// An experiment that the flow passed, or failed last.
#[derive(Clone, Copy, Debug)]
struct Entry {
    until: Time,
    probability: f64,
}

/// The set P: probabilities of the last T.
#[derive(Clone, Debug, Default)]
struct Set(VecDeque<Entry>);

impl Set {
    fn expire(&mut self, now: Time) {
        while self.0.front().is_some_and(|entry| entry.until <= now) {
            self.0.pop_front();
        }
    }

    fn product(&self) -> f64 {
        self.0.iter().map(|entry| entry.probability).product()
    }

    /// A probability of one changes no product.
    fn insert(&mut self, until: Time, probability: f64) {
        if probability < 1.0 {
            self.0.push_back(Entry { until, probability });
        }
    }
}

/// The probabilities at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probabilities {
    /// p by equation (2) with `r_EFF`; may exceed 1.
    pub p: f64,
    /// p' by equation (4), as long as the protected time is accounted for; may be below 0 or above 1.
    pub p_prime: Option<f64>,
}

impl Probabilities {
    /// The one that decides.
    pub fn deciding(&self) -> f64 {
        self.p_prime.unwrap_or(self.p)
    }
}

/// What became of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// None was necessary.
    None,
    /// The flow stays on.
    Stays,
    /// The flow is turned off.
    Fails,
    /// The flow is turned off for so long that what it sent in excess is made up for: p' was 0 or less.
    Owes(Span),
}

/// An experiment's luck, remembered for T.
#[derive(Clone, Copy, Debug)]
struct Luck {
    until: Time,
    /// `x ∏ p_j` over the experiments passed before it.
    u: f64,
}

/// The sets P and P', and the luck of the experiments in them.
#[derive(Clone, Debug)]
pub struct Experiments {
    period: Span,
    p: Set,
    p_prime: Set,
    lucks: VecDeque<Luck>,
    /// The protected time and the end of the slot in which it is made up for.
    protected: Option<(Protected, Time)>,
}

impl Experiments {
    /// For a period T, without history.
    pub fn new(period: Span) -> Self {
        Self { period, p: Set::default(), p_prime: Set::default(), lucks: VecDeque::new(), protected: None }
    }

    /// T.
    pub fn period(&self) -> Span {
        self.period
    }

    /// The protected time is over: for T from now on, it is made up for.
    pub fn protect(&mut self, now: Time, protected: Protected) {
        self.protected = Some((protected, now + self.period));
    }

    /// When the slot ends in which the protected time is made up for.
    pub fn slot_ends(&self) -> Option<Time> {
        self.protected.map(|(_, until)| until)
    }

    /// Forgets what is older than T.
    pub fn expire(&mut self, now: Time) {
        self.p.expire(now);
        self.p_prime.expire(now);
        while self.lucks.front().is_some_and(|luck| luck.until <= now) {
            self.lucks.pop_front();
        }
        if self.protected.is_some_and(|(_, until)| until <= now) {
            self.protected = None;
            self.p_prime = Set::default();
        }
    }

    /// When the next of them is forgotten.
    pub fn next_expiry(&self) -> Option<Time> {
        let first = |set: &Set| set.0.front().map(|entry| entry.until);
        let lucks = self.lucks.front().map(|luck| luck.until);
        [first(&self.p), first(&self.p_prime), lucks, self.slot_ends()].into_iter().flatten().min()
    }

    /// The present probabilities.
    pub fn probabilities(&self, rates: &Rates) -> Probabilities {
        let p = rates.ratio() / self.p.product();
        let p_prime = self.protected.map(|(protected, _)| {
            let effective = (rates.application - rates.probes).max(1e-9) * self.p_prime.product();
            let owed = protected.excess() / (self.period.as_secs_f64().max(1e-9) * effective);
            rates.ratio() / self.p_prime.product() - owed
        });
        Probabilities { p, p_prime }
    }

    /// A random experiment, if one is necessary; `draw` gives a number from (0, 1].
    pub fn conduct(&mut self, now: Time, rates: &Rates, draw: impl FnOnce() -> f64) -> Outcome {
        self.expire(now);
        let seen = self.probabilities(rates);
        let deciding = seen.deciding();
        // Rounding must not ask again what has just been answered.
        if deciding >= 1.0 - 1e-12 || deciding.is_nan() {
            return Outcome::None;
        }
        if deciding <= 0.0 {
            return Outcome::Owes(self.stretched(rates));
        }
        let x = draw();
        let before = if seen.p_prime.is_some() { self.p_prime.product() } else { self.p.product() };
        let until = now + self.period;
        self.lucks.push_back(Luck { until, u: x * before });
        if x > deciding {
            return Outcome::Fails;
        }
        self.p.insert(until, seen.p);
        if seen.p_prime.is_some() {
            self.p_prime.insert(until, deciding);
        }
        Outcome::Stays
    }

    /// T for which p' is 0: what was sent in excess, at TCP's rate.
    fn stretched(&self, rates: &Rates) -> Span {
        let owed = self.protected.map_or(0.0, |(protected, _)| protected.excess());
        Span::from_secs_f64(owed / (rates.friendly - rates.probes).max(1e-9)).max(self.period)
    }

    /// Whether every experiment of the last T succeeds under these rates (§3.7.3).
    pub fn all_succeed(&self, rates: &Rates) -> bool {
        let ratio = rates.ratio();
        self.lucks.iter().all(|luck| luck.u <= ratio)
    }

    /// When the newest experiment is forgotten.
    pub fn last_expiry(&self) -> Option<Time> {
        self.lucks.back().map(|luck| luck.until)
    }

    /// Whether no experiment of the last T is remembered.
    pub fn is_clear(&self) -> bool {
        self.lucks.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use tailback_core::Stream;

    use super::*;

    const T: Span = Span::from_secs(50);

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    fn close(value: f64, expected: f64) -> bool {
        (value - expected).abs() < 1e-12
    }

    /// §4 of the paper, with its numbers in kbit/s; the printed values are exact except for 0.474, printed 0.47.
    #[test]
    fn the_papers_example() {
        let mut made = Experiments::new(T);
        let first = Rates::new(80.0, 100.0);
        made.protect(at(10), Protected { span: Span::from_secs(10), rates: first });
        let check = |made: &Experiments, rates: &Rates, p: f64, p_prime: Option<f64>| {
            let seen = made.probabilities(rates);
            assert!(close(seen.p, p), "{seen:?}");
            assert_eq!(seen.p_prime.is_some(), p_prime.is_some());
            assert!(close(seen.deciding(), p_prime.unwrap_or(p)), "{seen:?}");
        };
        check(&made, &first, 0.8, Some(0.76));
        assert_eq!(made.conduct(at(10), &first, || 0.7), Outcome::Stays);
        let second = Rates::new(80.0, 200.0);
        check(&made, &second, 0.5, Some(0.5));
        assert_eq!(made.conduct(at(30), &second, || 0.5), Outcome::Stays);
        let third = Rates::new(40.0, 200.0);
        check(&made, &third, 0.5, Some(0.9 / 1.9));
        assert_eq!(made.conduct(at(35), &third, || 0.4), Outcome::Stays);
        made.expire(at(60));
        check(&made, &third, 0.8, None);
        assert_eq!(made.conduct(at(60), &third, || 0.81), Outcome::Fails);
    }

    #[test]
    fn nothing_is_asked_twice() {
        let mut made = Experiments::new(T);
        let rates = Rates::new(80.0, 100.0);
        assert_eq!(made.conduct(at(0), &rates, || 0.8), Outcome::Stays, "x = p stays on");
        for second in 1..50 {
            assert_eq!(made.conduct(at(second), &rates, || panic!("not again")), Outcome::None);
        }
        assert_eq!(made.conduct(at(50), &rates, || 0.8), Outcome::Stays, "after T, again");
        assert_eq!(made.conduct(at(51), &Rates::new(60.0, 100.0), || 0.76), Outcome::Fails, "p = 60/80");
    }

    #[test]
    fn what_was_sent_in_excess_is_made_up_for() {
        let mut made = Experiments::new(T);
        // 10 s at 1000 against 100: 9000 in excess, 90 s of TCP's rate; more than the 5000 of T.
        let rates = Rates::new(100.0, 1000.0);
        made.protect(at(10), Protected { span: Span::from_secs(10), rates });
        assert!(made.probabilities(&rates).deciding() < 0.0);
        assert_eq!(made.conduct(at(10), &rates, || 0.0), Outcome::Owes(Span::from_secs(90)));
        // With that T, p' is 0.
        let mut stretched = Experiments::new(Span::from_secs(90));
        stretched.protect(at(10), Protected { span: Span::from_secs(10), rates });
        assert!(close(stretched.probabilities(&rates).deciding(), 0.0));
    }

    #[test]
    fn without_loss_nothing_is_owed() {
        let mut made = Experiments::new(T);
        let free = Rates::new(f64::INFINITY, 100.0);
        made.protect(at(10), Protected { span: Span::from_secs(10), rates: free });
        assert_eq!(made.conduct(at(10), &free, || panic!("p is infinite")), Outcome::None);
    }

    #[test]
    fn probes_are_paid_for() {
        let made = Experiments::new(T);
        let rates = Rates { friendly: 60.0, application: 100.0, probes: 10.0 };
        let p = made.probabilities(&rates).p;
        assert!(close(p * 100.0 + (1.0 - p) * 10.0, 60.0), "{p}");
    }

    #[test]
    fn better_conditions_undo_a_failure_that_they_would_have_spared() {
        let mut made = Experiments::new(T);
        assert_eq!(made.conduct(at(0), &Rates::new(80.0, 100.0), || 0.5), Outcome::Stays);
        // u = 0.9 · 0.8 = 0.72 against 0.4.
        assert_eq!(made.conduct(at(1), &Rates::new(40.0, 100.0), || 0.9), Outcome::Fails);
        assert!(!made.all_succeed(&Rates::new(71.0, 100.0)));
        assert!(made.all_succeed(&Rates::new(73.0, 100.0)));
        made.expire(at(51));
        assert!(made.is_clear());
    }

    /// However the rates wander within a period, a flow survives it with the probability that its worst moment gives: the
    /// product telescopes. 4000 flows; 4.4 standard deviations of the binomial, one false alarm in 10^5.
    #[test]
    fn survival_is_that_of_the_worst_moment() {
        let mut rng = Stream::new(11, "survival");
        let rates = [90.0, 70.0, 85.0, 60.0, 95.0, 75.0];
        let (flows, mut survived) = (4000, 0);
        for _ in 0..flows {
            let mut made = Experiments::new(T);
            let stays = rates.iter().enumerate().all(|(second, friendly)| {
                let rates = Rates::new(*friendly, 100.0);
                made.conduct(at(second as u64), &rates, || rng.uniform_positive()) != Outcome::Fails
            });
            survived += u32::from(stays);
        }
        let (share, sd) = (f64::from(survived) / f64::from(flows), (0.6 * 0.4 / f64::from(flows)).sqrt());
        assert!((share - 0.6).abs() < 4.4 * sd, "{share}");
    }
}
