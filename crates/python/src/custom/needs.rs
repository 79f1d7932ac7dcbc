//! What a Python class says that its scheme wants from its endpoints, word by word as [`Needs`] has it.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};
use tailback_control::{Acks, EcnEcho, MarkResponse, Needs};

/// The class's attributes, as a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Wants {
    reliability: String,
    ecn: String,
    echo: Option<String>,
    marks: String,
    stamps: bool,
    acks: Option<u32>,
}

impl Wants {
    /// The same as the endpoints take it; an error names the attribute, its value and what is allowed.
    pub(crate) fn needs(self) -> PyResult<Needs> {
        Ok(Needs {
            reliability: named("reliability", &self.reliability)?,
            ecn: named("ecn", &self.ecn)?,
            echo: self.echo.as_ref().map(|echo| named::<EcnEcho>("echo", echo)).transpose()?,
            marks: named::<MarkResponse>("marks", &self.marks)?,
            stamps: self.stamps,
            acks: match self.acks {
                None => Acks::AsConfigured,
                Some(0) => {
                    return Err(PyValueError::new_err(
                        "acks: 0 is not allowed; expected at least 1 packet, or None",
                    ));
                }
                Some(count) => Acks::Every(count),
            },
            // Classes have no word for samples yet, nor for lost retransmissions.
            delivery: false,
            lost_retransmissions: false,
        })
    }
}

/// What scenarios call by this word.
fn named<'de, T: Deserialize<'de>>(attribute: &str, word: &'de str) -> PyResult<T> {
    let word: StrDeserializer<'de, Error> = word.into_deserializer();
    T::deserialize(word).map_err(|error| PyValueError::new_err(format!("{attribute}: {error}")))
}
