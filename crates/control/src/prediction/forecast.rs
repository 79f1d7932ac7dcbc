//! Prediction of the next period from several before it, beside conditional expectation (Tuan and Park 1999, §2.3: "our
//! prediction scheme can be replaced by any other"): periods, standard units, and levels of what is predicted. The
//! methods live in `fractional.rs`, `haar.rs` and `perceptron.rs`; the table of levels, in `on_line.rs`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Checker, Span, Stream, Time};

use super::{Forecast, Fractional, Haar, Levels, Perceptron, Quantiser, Reading};

/// How the next period is predicted from those before it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ForecastConfig {
    /// The best linear prediction of fractionally integrated noise, ARIMA(0, d, 0), with d estimated on line (Hosking 1981).
    Fractional {
        /// How many past periods it rests on. Default 32.
        #[serde(default = "thirty_two")]
        memory: u32,
    },
    /// A linear prediction from Haar wavelet coefficients of the past, by recursive least squares.
    Wavelet {
        /// How many dyadic scales, from one period up. Default 4: the past 16 periods.
        #[serde(default = "four")]
        scales: u32,
    },
    /// A perceptron with one hidden layer, trained on line by stochastic gradients.
    Perceptron {
        /// How many past periods are its inputs. Default 8.
        #[serde(default = "eight")]
        inputs: u32,
        /// How many hidden units. Default 8.
        #[serde(default = "eight")]
        hidden: u32,
        /// The step of a gradient. Default 0.02.
        #[serde(default = "step")]
        step: f64,
    },
}

const fn thirty_two() -> u32 {
    32
}

const fn four() -> u32 {
    4
}

const fn eight() -> u32 {
    8
}

const fn step() -> f64 {
    0.02
}

tailback_core::choosable!(ForecastConfig);

impl ForecastConfig {
    /// Complains about every value that is not allowed.
    pub fn check(&self, checker: &mut Checker) {
        let mut whole = |name, value: u32, most: u32| {
            let allowed = format_args!("a whole number from 1 to {most}");
            checker.require((1..=most).contains(&value), name, value, allowed);
        };
        match *self {
            Self::Fractional { memory } => whole("memory", memory, 256),
            Self::Wavelet { scales } => whole("scales", scales, 10),
            Self::Perceptron { inputs, hidden, step } => {
                whole("inputs", inputs, 256);
                whole("hidden", hidden, 256);
                checker.require(step > 0.0 && step <= 1.0, "step", step, "a number above 0 and up to 1");
            }
        }
    }

    fn build(&self) -> Box<dyn Forecast> {
        match *self {
            Self::Fractional { memory } => Box::new(Fractional::new(memory as usize)),
            Self::Wavelet { scales } => Box::new(Haar::new(scales)),
            Self::Perceptron { inputs, hidden, step } => {
                Box::new(Perceptron::new(inputs as usize, hidden as usize, step))
            }
        }
    }
}

/// Feeds a method with whole periods and keeps the level that it expects of the next.
pub struct Forecaster {
    period: Span,
    reading: Reading,
    count: usize,
    levels: Levels,
    method: Box<dyn Forecast>,
    /// Past amounts, the newest last; as many as the method looks at.
    past: Vec<f64>,
    amount: f64,
    /// When the period that runs ends; `None` before the first report.
    ends: Option<Time>,
    expected: Option<f64>,
}

/// After so many periods without a report the clock begins anew.
const LONGEST_SILENCE: u64 = 64;

impl Forecaster {
    /// Begins without a past; a period is what is predicted.
    pub fn new(
        config: &ForecastConfig,
        period: Span,
        quantiser: Quantiser,
        reading: Reading,
        count: usize,
    ) -> Self {
        let method = config.build();
        let past = Vec::with_capacity(method.memory());
        let levels = Levels::new(quantiser, count);
        Self { period, reading, count, levels, method, past, amount: 0.0, ends: None, expected: None }
    }

    /// A report: so much arrived since the last one. The level expected of the period that runs, once enough has passed.
    pub fn report(&mut self, now: Time, amount: f64, stream: &mut Stream) -> Option<f64> {
        let ends = *self.ends.get_or_insert(now + self.period);
        if now >= ends + self.period * LONGEST_SILENCE {
            self.ends = Some(now + self.period);
            self.amount = 0.0;
        }
        while let Some(ends) = self.ends.filter(|ends| now >= *ends) {
            self.close(stream);
            self.ends = Some(ends + self.period);
        }
        self.amount += amount;
        self.expected
    }

    fn close(&mut self, stream: &mut Stream) {
        let amount = std::mem::take(&mut self.amount);
        let memory = self.method.memory();
        if self.past.len() == memory {
            let past = self.standard();
            self.method.learn(&past, self.levels.standard(amount), stream);
            self.past.remove(0);
        }
        self.past.push(amount);
        self.levels.learn(amount);
        if self.past.len() == memory {
            let level = self.levels.expected(self.method.predict(&self.standard()));
            self.expected = Some(match self.reading {
                Reading::Throughput => level,
                Reading::Contention => (self.count + 1) as f64 - level,
            });
        }
    }

    fn standard(&self) -> Vec<f64> {
        self.past.iter().map(|amount| self.levels.standard(*amount)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [ForecastConfig; 3] = [
        ForecastConfig::Fractional { memory: 16 },
        ForecastConfig::Wavelet { scales: 3 },
        ForecastConfig::Perceptron { inputs: 8, hidden: 8, step: 0.02 },
    ];

    /// An autoregressive series whose next value keeps nine tenths of the last.
    fn persistent(stream: &mut Stream, count: usize) -> Vec<f64> {
        let mut value = 0.0;
        let noise = |stream: &mut Stream| (0..12).map(|_| stream.uniform()).sum::<f64>() - 6.0;
        (0..count)
            .map(|_| {
                value = 0.9 * value + noise(stream);
                value
            })
            .collect()
    }

    /// Mean square error over the second half, with the truth's variance as one.
    fn error(config: ForecastConfig, series: &[f64]) -> f64 {
        let mut stream = Stream::new(2, "forecast");
        let mut method = config.build();
        let memory = method.memory();
        let half = series.len() / 2;
        let variance = series.iter().map(|x| x * x).sum::<f64>() / series.len() as f64;
        let scaled: Vec<f64> = series.iter().map(|x| x / variance.sqrt()).collect();
        let mut errors = 0.0;
        for end in memory..scaled.len() {
            let (past, next) = (&scaled[end - memory..end], scaled[end]);
            if end >= half {
                errors += (method.predict(past) - next).powi(2);
            }
            method.learn(past, next, &mut stream);
        }
        errors / (scaled.len() - half) as f64
    }

    #[test]
    fn what_persists_is_predicted_and_noise_is_not() {
        let mut stream = Stream::new(1, "series");
        let series = persistent(&mut stream, 6000);
        let noise: Vec<f64> = series.windows(2).map(|pair| pair[1] - 0.9 * pair[0]).collect();
        for config in ALL {
            // The best is one minus 0.81 of the variance; fractional noise is another model than the truth here.
            let (found, idle) = (error(config, &series), error(config, &noise));
            assert!((0.15..0.30).contains(&found), "{config:?}: {found}");
            assert!((0.9..1.15).contains(&idle), "{config:?} of noise: {idle}");
        }
    }

    #[test]
    fn expects_low_levels_after_low_amounts() {
        for (config, reading) in
            ALL.into_iter().zip([Reading::Throughput, Reading::Contention, Reading::Throughput])
        {
            let second = Span::from_secs(1);
            let mut forecaster = Forecaster::new(&config, second, Quantiser::SigmaBands, reading, 8);
            let mut stream = Stream::new(1, "forecaster");
            let mut seen = [Vec::new(), Vec::new()];
            for n in 0..4000_u64 {
                let is_low = n / 50 % 2 == 0;
                let amount = if is_low { 1.0 } else { 9.0 } + stream.uniform();
                let expected = forecaster.report(Time::ZERO + second * n, amount, &mut stream);
                if n > 2000 && n % 50 > 20 {
                    seen[usize::from(is_low)].extend(expected);
                }
            }
            let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
            let (high, low) = (mean(&seen[0]), mean(&seen[1]));
            let rises = if reading == Reading::Throughput { high - low } else { low - high };
            assert!(rises > 1.0, "{config:?}: {low} after low, {high} after high");
        }
    }

    #[test]
    fn wrong_values_are_named() {
        let wrong = |config: ForecastConfig| {
            let mut checker = Checker::new();
            config.check(&mut checker);
            checker.finish().unwrap_err().remove(0).field
        };
        assert_eq!(wrong(ForecastConfig::Fractional { memory: 0 }), "memory");
        assert_eq!(wrong(ForecastConfig::Wavelet { scales: 11 }), "scales");
        assert_eq!(wrong(ForecastConfig::Perceptron { inputs: 8, hidden: 8, step: f64::NAN }), "step");
    }
}
