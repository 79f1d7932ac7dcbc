//! The bookkeeping of probabilistic congestion control outside any simulation: for checks against the paper and against other
//! implementations, in the tests and the items of the paper. No command calls it. The bookkeeping is `control`'s.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tailback_control::ControllerParams;
use tailback_control::schemes::ProbabilisticConfig;
use tailback_control::schemes::probabilistic::ProbabilisticPolicy;
use tailback_control::schemes::probabilistic::experiments::{Experiments, Outcome, Protected, Rates};
use tailback_core::{
    Annex, Arrival, Bytes, ControlInfo, Cx, FeedbackPolicy, FlowId, Kind, Packet, Report, Span, Stream, Time,
};

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
    let given = steps.iter().flatten().map(|value| ("steps", *value)).chain([("protected", protected)]);
    for (name, value) in given {
        if !(value.is_finite() && value >= 0.0) {
            return Err(refused(name, value, "a finite number of at least 0"));
        }
    }
    if !(period.is_finite() && period > 0.0) {
        return Err(refused("period", period, "a finite number above 0"));
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

fn refused(name: &str, value: f64, allowed: &str) -> PyErr {
    PyValueError::new_err(format!("{name}: {value} is not allowed; expected {allowed}"))
}

/// What the receiver of the scheme makes of a trace of data packets, each (arrival in s, number, bytes, round trip time in s),
/// with the scheme's parameters as JSON and draws from a stream of this seed. First the draws that such a stream gives, then
/// for each evaluation: time in s, `r_TCP` and `r_NA` in bit/s (infinite while no loss is known), p and p' after it (p' not a
/// number where it does not count), whether the flow is on, and for how long it is turned off by it in s (0 where it is not).
#[pyfunction]
#[pyo3(signature = (config, arrivals, seed=1, /))]
pub(crate) fn probabilistic_receiver(
    config: &str,
    arrivals: Vec<(f64, u64, u64, f64)>,
    seed: u64,
) -> PyResult<(Vec<f64>, Vec<Row>)> {
    let refused = |error: &dyn std::fmt::Display| PyValueError::new_err(error.to_string());
    let config: ProbabilisticConfig = serde_json::from_str(config).map_err(|error| refused(&error))?;
    if arrivals
        .iter()
        .any(|(at, _, _, trip)| !at.is_finite() || !trip.is_finite() || *at < *trip || *trip < 0.0)
    {
        return Err(PyValueError::new_err(
            "expected arrivals at finite times, each later than its round trip",
        ));
    }
    let params = ControllerParams::unlimited(Bytes::new(1000), 10);
    let mut stream = Stream::new(seed, "receiver");
    let mut told = stream.clone();
    let draws = (0..10_000).map(|_| told.uniform_positive()).collect();
    let mut receiver = Watched { policy: ProbabilisticPolicy::new(&config, &params), rows: Vec::new() };
    for (at, number, size, trip) in arrivals {
        let now = Time::from_secs_f64(at);
        while let Some(due) = receiver.policy.next_timer().filter(|due| *due < now) {
            receiver.poll(due.max(Time::from_nanos(1)), &mut stream);
            if receiver.policy.next_timer() == Some(due) {
                break;
            }
        }
        let info = ControlInfo { echo: Some(now - Span::from_secs_f64(trip)), ..ControlInfo::default() };
        let annex = Annex::Control(info);
        let packet = Packet::new(Kind::Data, FlowId::from(0_usize), number, Bytes::new(size));
        let arrival = Arrival { packet: &packet, annex: Some(&annex), is_new: true };
        receiver.policy.on_arrival(now, &arrival, &mut Cx { rng: &mut stream, notes: None });
        receiver.poll(now, &mut stream);
    }
    Ok((draws, receiver.rows))
}

type Row = (f64, f64, f64, f64, f64, bool, f64);

/// A receiver whose evaluations are written down.
struct Watched {
    policy: ProbabilisticPolicy,
    rows: Vec<Row>,
}

impl Watched {
    fn poll(&mut self, now: Time, stream: &mut Stream) {
        loop {
            let before = self.policy.evaluated();
            let said = self.policy.poll_report(now, &mut Cx { rng: stream, notes: None });
            if let Some(evaluation) = self.policy.evaluated().filter(|new| before != Some(*new)) {
                let rates = evaluation.known.rates;
                let seen = self.policy.machine().experiments().probabilities(&rates);
                let on = self.policy.state().is_on();
                let off_for = match said.as_ref().map(|outgoing| &outgoing.report) {
                    Some(Report::Gate { on: false, off_for }) => off_for.as_secs_f64(),
                    _ => 0.0,
                };
                let p_prime = seen.p_prime.unwrap_or(f64::NAN);
                let (friendly, application) = (8.0 * rates.friendly, 8.0 * rates.application);
                self.rows.push((
                    evaluation.at.as_secs_f64(),
                    friendly,
                    application,
                    seen.p,
                    p_prime,
                    on,
                    off_for,
                ));
            }
            if said.is_none() {
                return;
            }
        }
    }
}
