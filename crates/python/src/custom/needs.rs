//! What a Python class says that its scheme wants from its endpoints, word by word as [`Needs`] has it.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::StrDeserializer;
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
        if self.0.get_item("echo")?.is_some_and(|value| value.is_none()) {
            return Ok(None);
        }
        // A receiver that hides marks is what a scenario tries a scheme with, not what a scheme asks for.
        match read(&self.word("echo")) {
            Ok(echo) if echo != EcnEcho::Hidden => Ok(Some(echo)),
            Ok(_) => {
                Err(self.wrong("echo", "another word, or None: who hides marks is a scenario's receiver"))
            }
            Err(Words(words)) => {
                let words = Words(words.into_iter().filter(|word| *word != "hidden").collect());
                Err(self.wrong("echo", &format!("{words}, or None")))
            }
        }
    }

    /// What scenarios call by the attribute's word.
    fn named<T: for<'de> Deserialize<'de>>(&self, attribute: &str) -> PyResult<T> {
        read(&self.word(attribute)).map_err(|words| self.wrong(attribute, &words.to_string()))
    }

    /// The attribute's word; what is no text is none that there is.
    fn word(&self, attribute: &str) -> String {
        let found = self.0.get_item(attribute).ok().flatten();
        found.and_then(|value| value.extract().ok()).unwrap_or_default()
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

/// What scenarios call by this word, or the words that there are.
fn read<'de, T: Deserialize<'de>>(word: &'de str) -> Result<T, Words> {
    let word: StrDeserializer<'de, Words> = word.into_deserializer();
    T::deserialize(word)
}

/// The words that an enumeration of scenarios has, where one was not among them.
#[derive(Debug)]
struct Words(Vec<&'static str>);

impl std::error::Error for Words {}

impl std::fmt::Display for Words {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let quoted: Vec<_> = self.0.iter().map(|word| format!("'{word}'")).collect();
        write!(f, "one of {}", quoted.join(", "))
    }
}

impl serde::de::Error for Words {
    fn custom<T: std::fmt::Display>(_: T) -> Self {
        Self(Vec::new())
    }
    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self(expected.to_vec())
    }
}
