//! A quantity that differs from host to host or from flow to flow: one value for all, a list, or a range.
//! What is drawn at random from a range is drawn in `build`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Checker, Span};

/// The two ends of a range of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpanRange {
    /// The lower end, included.
    pub from: Span,
    /// The upper end, included.
    pub to: Span,
}

impl SpanRange {
    /// Complains about ends that are the wrong way round.
    pub fn check(&self, checker: &mut Checker) {
        checker.require(self.from <= self.to, "to", self.to, format_args!("at least `from`, {}", self.from));
    }

    /// The point at `fraction` (0 to 1) of the way from one end to the other.
    pub fn at(&self, fraction: f64) -> Span {
        self.from + (self.to - self.from).mul_f64(fraction)
    }
}

/// One delay for every host, a list that is dealt out in turn, or a range spread evenly over the hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Spread {
    /// The same for all.
    Same(Span),
    /// The first host takes the first, the second the second, and so on; after the last comes the first again.
    List(Vec<Span>),
    /// Evenly from `from` (the first host) to `to` (the last).
    Even(SpanRange),
}

impl Spread {
    /// The value of host `index` among `count`.
    pub fn of(&self, index: usize, count: usize) -> Span {
        match self {
            Self::Same(span) => *span,
            Self::List(list) if list.is_empty() => Span::ZERO,
            Self::List(list) => list[index % list.len()],
            Self::Even(range) if count < 2 => range.from,
            Self::Even(range) => range.at(index as f64 / (count - 1) as f64),
        }
    }

    /// Complains about an empty list or a range the wrong way round.
    pub fn check(&self, field: &str, checker: &mut Checker) {
        match self {
            Self::Same(_) => {}
            Self::List(list) => checker.require(!list.is_empty(), field, "[]", "a list of at least one time"),
            Self::Even(range) => checker.within(field, |checker| range.check(checker)),
        }
    }

    /// Every value that occurs, for checks.
    pub fn values(&self) -> Vec<Span> {
        match self {
            Self::Same(span) => vec![*span],
            Self::List(list) => list.clone(),
            Self::Even(range) => vec![range.from, range.to],
        }
    }
}

/// One time for all, or a range from which each draws its own, uniformly, from its own random stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Draw {
    /// The same for all.
    At(Span),
    /// Uniform between the two ends.
    Uniform(SpanRange),
}

impl Draw {
    /// The earliest possible time.
    pub fn earliest(&self) -> Span {
        match self {
            Self::At(span) => *span,
            Self::Uniform(range) => range.from,
        }
    }

    /// The latest possible time.
    pub fn latest(&self) -> Span {
        match self {
            Self::At(span) => *span,
            Self::Uniform(range) => range.to,
        }
    }

    /// The time of whoever draws `uniform` from [0, 1).
    pub fn draw(&self, uniform: f64) -> Span {
        match self {
            Self::At(span) => *span,
            Self::Uniform(range) => range.at(uniform),
        }
    }

    /// Complains about a range the wrong way round.
    pub fn check(&self, field: &str, checker: &mut Checker) {
        if let Self::Uniform(range) = self {
            checker.within(field, |checker| range.check(checker));
        }
    }
}

impl Default for Draw {
    fn default() -> Self {
        Self::At(Span::ZERO)
    }
}
