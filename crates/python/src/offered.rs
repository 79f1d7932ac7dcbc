//! What an offer of a file says of its flow: a scenario as JSON, with one more field where the flow's scheme is a class in
//! Python. What that field says is the business of `python/tailback/transfer/classes.py`.

use serde_json::{Map, Value};

/// The field beside a scenario's own: by name, what a receiver must know of a class.
const CLASSES: &str = "classes";

/// A scenario in JSON, with what is told of its classes.
///
/// # Errors
/// Where the scenario is no JSON.
pub(crate) fn write(scenario: &str, classes: &Map<String, Value>) -> Result<String, String> {
    if classes.is_empty() {
        return Ok(scenario.to_owned());
    }
    let mut flow: Map<String, Value> = serde_json::from_str(scenario).map_err(|error| error.to_string())?;
    flow.insert(CLASSES.to_owned(), Value::Object(classes.clone()));
    Ok(Value::Object(flow).to_string())
}

/// The scenario in JSON, and what is told of its classes, in JSON too, where there are any.
///
/// # Errors
/// Where the flow is no JSON.
pub(crate) fn read(flow: &str) -> Result<(String, Option<String>), String> {
    let mut flow: Map<String, Value> = serde_json::from_str(flow).map_err(|error| error.to_string())?;
    let classes = flow.remove(CLASSES).map(|classes| classes.to_string());
    Ok((Value::Object(flow).to_string(), classes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_of_classes_comes_back() {
        let scenario = r#"{"name":"one","seed":1}"#;
        assert_eq!(write(scenario, &Map::new()).as_deref(), Ok(scenario));
        assert_eq!(read(scenario), Ok((scenario.to_owned(), None)));
        let classes = Map::from_iter([("gentle".to_owned(), Value::Bool(true))]);
        let offered = write(scenario, &classes).expect("JSON");
        assert_eq!(read(&offered), Ok((scenario.to_owned(), Some(r#"{"gentle":true}"#.to_owned()))));
        for wrong in ["", "7", "{", "[]"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
