//! What classes give as arguments, read by hand: what has a wrong type is refused by one error with the argument's name, its
//! value and what is allowed, where PyO3 would say a part of that in a note. Which values are allowed is said by each type.

use std::convert::Infallible;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyTuple};

use super::{mistyped, plain_number, refused};

/// An argument as it was given, or not.
pub(super) struct Given<'py>(Option<Bound<'py, PyAny>>);

impl<'a, 'py> FromPyObject<'a, 'py> for Given<'py> {
    type Error = Infallible;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> Result<Self, Infallible> {
        Ok(Self(Some(given.to_owned())))
    }
}

impl<'py> Given<'py> {
    /// What stands where a call does not name the argument.
    pub(super) const LEFT_OUT: Self = Self(None);

    /// What `read` makes of it by its name; the default where it was left out.
    pub(super) fn or<T>(
        self,
        default: T,
        read: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<T>,
    ) -> PyResult<T> {
        self.0.map_or(Ok(default), |given| read(&given))
    }

    /// What `read` makes of it; nothing where it was left out or is `None`.
    pub(super) fn if_any<T>(
        self,
        read: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<T>,
    ) -> PyResult<Option<T>> {
        self.0.filter(|given| !given.is_none()).map(|given| read(&given)).transpose()
    }
}

/// A call that makes a value, by the names of its arguments.
pub(super) struct Call(pub(super) &'static str, pub(super) &'static [&'static str]);

impl Call {
    /// Complains about arguments beyond those that there are, by their place or by their name.
    pub(super) fn takes_no_others(
        &self,
        placed: &Bound<'_, PyTuple>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let mut slips = Vec::new();
        for value in placed {
            let allowed = if self.1.is_empty() { "no argument".to_owned() } else { self.listed() };
            slips.push(format!("{}(): {}: expected {allowed}", self.0, value.repr()?));
        }
        for name in named.map(PyDictMethods::keys).into_iter().flatten() {
            let allowed = match self.1 {
                [] => "none, for there are none".to_owned(),
                known => {
                    let errors = name.py().import("tailback.errors")?;
                    errors.getattr("one_of")?.call1((&name, known.to_vec()))?.extract()?
                }
            };
            slips.push(format!("{}(): {name}: no such argument; expected {allowed}", self.0));
        }
        if slips.is_empty() { Ok(()) } else { Err(mistyped(slips.join("\n"))) }
    }

    /// An argument without which the call makes no sense.
    pub(super) fn needs<'py>(&self, name: &str, given: Given<'py>) -> PyResult<Bound<'py, PyAny>> {
        given.0.ok_or_else(|| {
            mistyped(format!("{}(): {name} is missing; the arguments are {}", self.0, self.1.join(", ")))
        })
    }

    fn listed(&self) -> String {
        format!("with its name; the arguments are {}", self.1.join(", "))
    }
}

/// A value of this type.
pub(super) fn of_type<'a, 'py, T: FromPyObject<'a, 'py>>(
    name: &str,
    given: &'a Bound<'py, PyAny>,
    allowed: &str,
) -> PyResult<T> {
    given.extract().map_err(|_| wrong_type(name, given, allowed))
}

/// A number of what is allowed, which begins with its unit. A truth is none, though Python counts with it.
pub(super) fn number(name: &str, given: &Bound<'_, PyAny>, allowed: &str) -> PyResult<f64> {
    plain_number(given).ok_or_else(|| wrong_type(name, given, &format!("a number, in {allowed}")))
}

/// A whole number that fits; `allowed` says which do. A truth is none.
pub(super) fn whole<T: TryFrom<i128>>(name: &str, given: &Bound<'_, PyAny>, allowed: &str) -> PyResult<T> {
    let read = given.extract::<i128>().ok().filter(|_| !given.is_instance_of::<PyBool>());
    let value = read.ok_or_else(|| wrong_type(name, given, &format!("a whole number, {allowed}")))?;
    T::try_from(value).map_err(|_| refused(format!("{name}: {value} is not allowed; expected {allowed}")))
}

fn wrong_type(name: &str, given: &Bound<'_, PyAny>, allowed: &str) -> PyErr {
    let shown = given.repr().map_or_else(|_| "this".to_owned(), |text| text.to_string());
    mistyped(format!("{name}: {shown} is not allowed; expected {allowed}"))
}
