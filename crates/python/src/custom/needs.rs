//! What a Python class says that its scheme wants from its endpoints, word by word as [`Needs`] has it.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};
use tailback_control::{Acks, EcnEcho, MarkResponse, Needs, Reliability};

/// The class's attributes.
pub(crate) struct Wants<'py>(pub(crate) &'py Bound<'py, PyDict>);

impl Wants<'_> {
    /// What they say to the endpoints; an error names the attribute, its value and what is allowed.
    pub(crate) fn needs(&self) -> PyResult<Needs> {
        let needs = Needs {
            reliability: self.named("reliability")?,
            ecn: self.named("ecn")?,
            echo: self.echo()?,
            marks: self.named::<MarkResponse>("marks")?,
            stamps: self.is_on("stamps")?,
            acks: self.acks()?,
            delivery: self.is_on("delivery")?,
            lost_retransmissions: self.is_on("lost_retransmissions")?,
            ack_requests: self.is_on("ack_requests")?,
        };
        if needs.delivery && needs.reliability == Reliability::Datagram {
            let allowed = "False with reliability 'datagram': the delivery of streams is measured";
            return Err(self.wrong("delivery", allowed));
        }
        if needs.lost_retransmissions && needs.reliability != Reliability::Sack {
            let allowed = "False but with reliability 'sack', whose acknowledgements tell what was overtaken";
            return Err(self.wrong("lost_retransmissions", allowed));
        }
        if needs.ack_requests && needs.reliability == Reliability::Datagram {
            let allowed = "False with reliability 'datagram': each has an acknowledgement of its own or none";
            return Err(self.wrong("ack_requests", allowed));
        }
        Ok(needs)
    }

    fn acks(&self) -> PyResult<Acks> {
        match self.get("acks", "at least 1 packet, or None")? {
            None => Ok(Acks::AsConfigured),
            Some(0) => Err(self.wrong("acks", "at least 1 packet, or None")),
            Some(count) => Ok(Acks::Every(count)),
        }
    }

    fn echo(&self) -> PyResult<Option<EcnEcho>> {
        let word: Option<String> = self.get("echo", "a word, or None")?;
        word.map(|word| read("echo", &word)).transpose()
    }

    /// What scenarios call by the attribute's word.
    fn named<T: for<'de> Deserialize<'de>>(&self, attribute: &str) -> PyResult<T> {
        let word: String = self.get(attribute, "a word")?;
        read(attribute, &word)
    }

    fn is_on(&self, attribute: &str) -> PyResult<bool> {
        self.get(attribute, "True or False")
    }

    fn get<T: for<'a, 'py> FromPyObject<'a, 'py>>(&self, attribute: &str, allowed: &str) -> PyResult<T> {
        let found = self.0.get_item(attribute)?;
        found.and_then(|value| value.extract().ok()).ok_or_else(|| self.wrong(attribute, allowed))
    }

    /// The error for an attribute.
    fn wrong(&self, attribute: &str, allowed: &str) -> PyErr {
        let value = self.0.get_item(attribute).ok().flatten();
        let shown =
            value.and_then(|value| value.repr().ok()).map_or_else(String::new, |text| text.to_string());
        PyTypeError::new_err(format!("{attribute}: {shown} is not allowed; expected {allowed}"))
    }
}

/// What scenarios call by this word.
fn read<'de, T: Deserialize<'de>>(attribute: &str, word: &'de str) -> PyResult<T> {
    let word: StrDeserializer<'de, Error> = word.into_deserializer();
    T::deserialize(word).map_err(|error| PyValueError::new_err(format!("{attribute}: {error}")))
}
