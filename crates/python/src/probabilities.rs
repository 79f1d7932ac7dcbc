//! The bookkeeping of probabilistic congestion control outside any simulation: for checks against the paper and against other
//! implementations. The bookkeeping is `control`'s.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tailback_control::schemes::probabilistic::experiments::{Experiments, Outcome, Protected, Rates};
use tailback_core::{Span, Time};

/// The decisions at steps of (time in s, `r_TCP`, `r_NA`), the first at the end of the protected time: p, p' (or NaN once that
/// is made up for) and what an experiment with the step's draw came to: 0 none, 1 stays on, 2 off. The steps end with an off.
/// A step without a draw stays on.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python hands over lists of its own")]
#[pyo3(signature = (period, protected, steps, draws=None, /))]
pub(crate) fn probabilities(
    period: f64,
    protected: f64,
    steps: Vec<[f64; 3]>,
    draws: Option<Vec<f64>>,
) -> PyResult<Vec<(f64, f64, u8)>> {
    let sensible =
        steps.iter().flatten().chain([&period, &protected]).all(|value| value.is_finite() && *value >= 0.0);
    if !sensible || period <= 0.0 {
        return Err(PyValueError::new_err("expected finite numbers from 0, and a period above 0"));
    }
    let mut made = Experiments::new(Span::from_secs_f64(period));
    let mut told = Vec::with_capacity(steps.len());
    for (index, [at, friendly, application]) in steps.iter().copied().enumerate() {
        let (now, rates) = (Time::from_secs_f64(at), Rates::new(friendly, application));
        if index == 0 {
            made.protect(now, Protected { span: Span::from_secs_f64(protected), rates });
        }
        made.expire(now);
        let seen = made.probabilities(&rates);
        let draw = draws.as_ref().and_then(|draws| draws.get(index)).copied().unwrap_or(1e-12);
        let outcome = match made.conduct(now, &rates, || draw) {
            Outcome::None => 0,
            Outcome::Stays => 1,
            Outcome::Fails | Outcome::Owes(_) => 2,
        };
        told.push((seen.p, seen.p_prime.unwrap_or(f64::NAN), outcome));
        if outcome == 2 {
            break;
        }
    }
    Ok(told)
}
