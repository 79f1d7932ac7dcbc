//! What a sender says of its flow, with anything done to it: what the fuzz target `offered_flow` and the property test of the
//! same name share. Any bytes are choices of what is done.

use serde_json::{Map, Value, json};
use tailback_control::SCHEMES;
use tailback_scenario::endpoints::piped;
use tailback_scenario::transfer::{flow_of, scenario_of};

use crate::choices::Choices;

/// What a sender may say.
const FIELDS: [&str; 4] = ["scheme", "reliable", "transport", "receiver"];

/// What may stand where a value stood.
const WORDS: [&str; 28] = [
    "0",
    "1",
    "-1",
    "0.5",
    "1e-9",
    "1e300",
    "65535",
    "4294967296",
    "18446744073709551615",
    "true",
    "false",
    "null",
    "[]",
    "{}",
    "\"\"",
    "\"0 s\"",
    "\"1 ns\"",
    "\"1 h\"",
    "\"1 bit/s\"",
    "\"10 Tbit/s\"",
    "\"0 B\"",
    "\"1 B\"",
    "\"9000 B\"",
    "\"unlimited\"",
    "\"none\"",
    "\"ect0\"",
    "{\"name\":\"reno\"}",
    "\"/etc/hostname\"",
];

fn word(choices: &mut Choices<'_>) -> Value {
    serde_json::from_str(WORDS[choices.below(WORDS.len())]).expect("JSON")
}

/// All fields of a flow under a scheme, as a sender could say them.
fn flow(scheme: &str) -> Map<String, Value> {
    let told = json!({ "scheme": scheme, "reliable": true }).to_string();
    let Ok(made) = scenario_of("film", &told) else { return Map::new() };
    let mut flow = made.to_value()["flows"][0].as_object().cloned().unwrap_or_default();
    flow.retain(|field, _| FIELDS.contains(&field.as_str()));
    flow
}

/// Changes one field at any depth.
fn alter(fields: &mut Map<String, Value>, choices: &mut Choices<'_>) {
    let names: Vec<String> = fields.keys().cloned().collect();
    let name = names.get(choices.below(names.len())).cloned().unwrap_or_default();
    let how = choices.below(8);
    match (how, fields.get_mut(&name)) {
        (0, _) => drop(fields.remove(&name)),
        (1, _) => drop(
            fields.insert(["name", "file", "count", "source"][choices.below(4)].to_owned(), word(choices)),
        ),
        (3.., Some(Value::Object(inner))) => alter(inner, choices),
        (_, Some(value)) => *value = word(choices),
        (_, None) => {}
    }
}

/// Whether what the bytes make of a flow was taken.
pub(crate) fn exercise(bytes: &[u8]) -> bool {
    let mut choices = Choices::new(bytes, 1);
    let mut fields = flow(SCHEMES[choices.below(SCHEMES.len())].name);
    while !choices.are_over() {
        alter(&mut fields, &mut choices);
    }
    let mut told = Value::Object(fields).to_string().into_bytes();
    if let [.., place, byte, 255] = bytes {
        let at = usize::from(*place) * told.len() / 256;
        told[at] = *byte;
    }
    let told = String::from_utf8_lossy(&told);
    let made = match scenario_of("film", &told) {
        Ok(made) => made,
        Err(problems) => {
            assert!(!problems.errors.is_empty(), "{told}");
            return false;
        }
    };
    assert_eq!((made.flows.len(), made.flows[0].count), (1, 1), "{told}");
    let said: Map<String, Value> = serde_json::from_str(&told).expect("it was read");
    assert!(said.keys().all(|field| FIELDS.contains(&field.as_str())), "{told}");
    let said = flow_of(&made);
    let again = scenario_of("film", &said).unwrap_or_else(|problems| panic!("{problems}\n{told}\n{said}"));
    assert_eq!(again, made, "{told}");
    assert_eq!(piped(&made.flows[0]).is_some(), !made.flows[0].sends_datagrams(), "{told}");
    true
}
