//! Everything that is wrong with a scenario, at once. It is found in `walk` and `check`.

use std::fmt;

use tailback_core::FieldError;

/// All complaints about one scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems {
    /// Where the scenario came from: a file's path, or `scenario`.
    pub source: String,
    /// Every complaint; never empty.
    pub errors: Vec<FieldError>,
}

impl Problems {
    /// Complaints about a scenario that came from `source`.
    pub(crate) fn new(source: impl Into<String>, errors: Vec<FieldError>) -> Self {
        Self { source: source.into(), errors }
    }

    /// A single complaint.
    pub(crate) fn one(
        field: impl Into<String>,
        value: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Self {
        let error = FieldError { field: field.into(), value: value.into(), allowed: allowed.into() };
        Self::new("scenario", vec![error])
    }
}

impl Problems {
    /// Whoever had a scenario built did not want it any more.
    pub(crate) fn stopped() -> Self {
        Self::one("scenario", "half built", "more time: it was stopped")
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.errors.len();
        write!(f, "{}: {count} problem{}", self.source, if count == 1 { "" } else { "s" })?;
        self.errors.iter().try_for_each(|error| write!(f, "\n  {error}"))
    }
}

impl std::error::Error for Problems {}
