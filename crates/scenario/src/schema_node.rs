//! Reading a JSON Schema: one place of it with all references resolved, and its description in words for error messages.

use serde_json::Value;

/// One place of a schema: what stands there, and what its references say besides, nearest first.
#[derive(Clone)]
pub(crate) struct Node<'a> {
    parts: Vec<&'a Value>,
}

impl<'a> Node<'a> {
    /// The place where `schema` stands within `root`.
    pub(crate) fn new(schema: &'a Value, root: &'a Value) -> Self {
        let mut parts = vec![schema];
        let mut current = schema;
        // References of a generated schema cannot circle without a property between, but be safe.
        while let Some(target) = current.get("$ref").and_then(Value::as_str)
            && let Some(next) = referred(root, target)
            && parts.len() < 16
        {
            parts.push(next);
            current = next;
        }
        Self { parts }
    }

    /// The value of a keyword.
    pub(crate) fn keyword(&self, key: &str) -> Option<&'a Value> {
        self.parts.iter().find_map(|part| part.get(key))
    }

    /// The value of a keyword that is text.
    pub(crate) fn text(&self, key: &str) -> Option<&'a str> {
        self.keyword(key).and_then(Value::as_str)
    }

    /// The alternatives, where there are any.
    pub(crate) fn alternatives(&self, root: &'a Value) -> Option<Vec<Self>> {
        let list = self.keyword("oneOf").or_else(|| self.keyword("anyOf"))?.as_array()?;
        Some(list.iter().map(|schema| Self::new(schema, root)).collect())
    }

    /// The values of an enumeration.
    pub(crate) fn constants(&self) -> Option<Vec<&'a Value>> {
        if let Some(constant) = self.keyword("const") {
            return Some(vec![constant]);
        }
        Some(self.keyword("enum")?.as_array()?.iter().collect())
    }

    /// A field of a table.
    pub(crate) fn property(&self, name: &str, root: &'a Value) -> Option<Self> {
        let found = self.parts.iter().find_map(|part| part.get("properties")?.get(name));
        let open = || self.keyword("additionalProperties").filter(|schema| schema.is_object());
        found.or_else(open).map(|schema| Self::new(schema, root))
    }

    /// The names of a table's fields.
    pub(crate) fn property_names(&self) -> Vec<&'a str> {
        let tables = self.parts.iter().filter_map(|part| part.get("properties")?.as_object());
        tables.flat_map(|table| table.keys().map(String::as_str)).collect()
    }

    /// The names of the fields that a table must have.
    pub(crate) fn required(&self) -> Vec<&'a str> {
        let lists = self.parts.iter().filter_map(|part| part.get("required")?.as_array());
        lists.flatten().filter_map(Value::as_str).collect()
    }

    /// The constant that a table has in `tag`.
    pub(crate) fn tag_value(&self, tag: &str) -> Option<&'a str> {
        let mut properties = self.parts.iter().filter_map(|part| part.get("properties"));
        properties.find_map(|table| table.get(tag)?.get("const")?.as_str())
    }

    /// The schema of a list's members.
    pub(crate) fn items(&self, root: &'a Value) -> Option<Self> {
        self.keyword("items").map(|schema| Self::new(schema, root))
    }

    /// The largest whole number that fits the type behind this place.
    pub(crate) fn widest(&self) -> Option<f64> {
        match self.text("format")? {
            "uint8" => Some(f64::from(u8::MAX)),
            "uint16" => Some(f64::from(u16::MAX)),
            "uint32" => Some(f64::from(u32::MAX)),
            "int32" => Some(f64::from(i32::MAX)),
            _ => None,
        }
    }

    fn types(&self) -> Vec<&'a str> {
        match self.keyword("type") {
            Some(Value::String(name)) => vec![name],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether the value has a type that is allowed here.
    pub(crate) fn accepts_type_of(&self, value: &Value) -> bool {
        let types = self.types();
        types.is_empty()
            || types.iter().any(|name| match *name {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "integer" => value.is_i64() || value.is_u64(),
                "number" => value.is_number(),
                "boolean" => value.is_boolean(),
                "null" => value.is_null(),
                _ => false,
            })
    }
}

/// What a reference means. Those of a generated schema name a definition, which is found at once; taking a pointer apart
/// would be much of the work of reading a scenario.
fn referred<'a>(root: &'a Value, target: &str) -> Option<&'a Value> {
    let definition = target.strip_prefix("#/$defs/").and_then(|name| root.get("$defs")?.get(name));
    definition.or_else(|| root.pointer(target.trim_start_matches('#')))
}

/// What is allowed at a place, in words.
pub(crate) fn describe(node: &Node<'_>, root: &Value) -> String {
    if let Some(alternatives) = node.alternatives(root) {
        if let Some((tag, names)) = tags(&alternatives) {
            return format!("a table with `{tag}` {}", quoted(&names));
        }
        if let Some(constants) = all_constants(&alternatives) {
            return quoted(&constants.into_iter().filter_map(Value::as_str).collect::<Vec<_>>());
        }
        if let [name, table] = &alternatives[..]
            && let (Some(names), Some(tables)) = (name.constants(), table.alternatives(root))
            && tags(&tables)
                .is_some_and(|(_, tags)| names.iter().all(|name| tags.iter().any(|tag| *name == tag)))
        {
            return format!("{}, alone or as the `name` of a table", describe(name, root));
        }
        let mut texts: Vec<_> = Vec::new();
        for alternative in alternatives.iter().filter(|alternative| alternative.text("type") != Some("null"))
        {
            let text = describe(alternative, root);
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        return texts.join(", or ");
    }
    if let Some(constants) = node.constants() {
        let names: Vec<_> = constants.iter().filter_map(|value| value.as_str()).collect();
        return quoted(&names);
    }
    if node.text("format").is_some_and(is_quantity) {
        // The type's own words, not the field's: the last part is the type.
        let words = node.parts.last().and_then(|part| part.get("description")).and_then(Value::as_str);
        return words.unwrap_or("a quantity with its unit").to_owned();
    }
    let words = node.types().into_iter().filter(|name| *name != "null").map(|name| of_type(name, node, root));
    words.collect::<Vec<_>>().join(", or ")
}

/// The field that tells alternatives apart, where each of them is a table that fixes it, and its values.
pub(crate) fn tags<'a>(alternatives: &[Node<'a>]) -> Option<(&'a str, Vec<&'a str>)> {
    let mut tables = alternatives.iter().filter(|node| node.text("type") != Some("null"));
    let first = tables.clone().next()?;
    let tag = first.property_names().into_iter().find(|name| first.tag_value(name).is_some())?;
    let names: Vec<_> = tables.clone().filter_map(|node| node.tag_value(tag)).collect();
    tables.all(|node| node.tag_value(tag).is_some()).then_some((tag, names))
}

/// The constants of an enumeration, where every alternative is one.
pub(crate) fn all_constants<'a>(alternatives: &[Node<'a>]) -> Option<Vec<&'a Value>> {
    let lists: Option<Vec<_>> = alternatives.iter().map(Node::constants).collect();
    lists.map(|lists| lists.into_iter().flatten().collect())
}

fn is_quantity(format: &str) -> bool {
    matches!(format, "time" | "rate" | "bytes" | "capacity" | "data")
}

fn of_type(name: &str, node: &Node<'_>, root: &Value) -> String {
    match name {
        "object" => match node.property_names().iter().find_map(|tag| Some((*tag, node.tag_value(tag)?))) {
            Some((tag, value)) => format!("a table with `{tag}` {value:?}"),
            None => format!("a table of {}", node.property_names().join(", ")),
        },
        "array" => match node.items(root) {
            Some(item) if !item.property_names().is_empty() => "a list of tables".to_owned(),
            _ => "a list".to_owned(),
        },
        "string" => "text".to_owned(),
        "boolean" => "true or false".to_owned(),
        "integer" => format!("a whole number{}", bounds(node)),
        _ => format!("a number{}", bounds(node)),
    }
}

fn bounds(node: &Node<'_>) -> String {
    let bound = |key| node.keyword(key).filter(|value| value.is_number());
    let lower = bound("minimum").map(|value| format!(" from {value}"));
    let above = bound("exclusiveMinimum").map(|value| format!(" above {value}"));
    let upper = bound("maximum").map(|value| format!(" up to {value}"));
    let upper = upper.or_else(|| node.widest().map(|widest| format!(" up to {widest}")));
    let below = bound("exclusiveMaximum").map(|value| format!(" below {value}"));
    [lower, above, upper, below].into_iter().flatten().collect()
}

/// A list of names for a message.
pub(crate) fn quoted(names: &[&str]) -> String {
    match names {
        [only] => format!("{only:?}"),
        _ => {
            format!("one of {}", names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", "))
        }
    }
}

/// A value for a message, cut where it is long.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) => "a table".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Null => "null".to_owned(),
        plain => plain.to_string(),
    }
}
