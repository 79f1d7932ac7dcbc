//! Reading the JSON Schema of scenarios: its places with all references resolved, and their descriptions in words for error
//! messages. The schema itself is made in `schema.rs`.
//!
//! Whoever reads many scenarios asks the same of the same places each time. So a place is made once, when it is first
//! asked for, and keeps its answers.

use std::collections::HashMap;
use std::ptr::from_ref;
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

use serde_json::Value;

use crate::schema::schema;

/// One place of the schema.
#[derive(Clone, Copy)]
pub(crate) struct Node(&'static Place);

/// What stands at a place, and what its references say besides, nearest first.
struct Place {
    parts: Vec<&'static Value>,
    types: Vec<&'static str>,
    format: Option<&'static str>,
    constants: Option<Vec<&'static Value>>,
    names: Vec<&'static str>,
    required: Vec<&'static str>,
    properties: OnceLock<HashMap<&'static str, Node>>,
    open: OnceLock<Option<Node>>,
    items: OnceLock<Option<Node>>,
    alternatives: OnceLock<Option<Vec<Node>>>,
    all_constants: OnceLock<Option<Vec<&'static Value>>>,
    tags: OnceLock<Option<Tags>>,
}

/// The field that tells alternatives apart, where each of them is a table that fixes it.
pub(crate) struct Tags {
    pub(crate) field: &'static str,
    /// Its values.
    pub(crate) names: Vec<&'static str>,
    /// The alternatives, in the order of the names.
    tables: Vec<Node>,
}

impl Tags {
    /// The alternative of this name.
    pub(crate) fn table(&self, name: &str) -> Option<Node> {
        self.names.iter().position(|known| *known == name).map(|at| self.tables[at])
    }
}

impl Place {
    fn new(first: &'static Value) -> Self {
        let mut parts = vec![first];
        let mut current = first;
        // References of a generated schema cannot circle without a property between, but be safe.
        while let Some(target) = current.get("$ref").and_then(Value::as_str)
            && let Some(next) = referred(schema(), target)
            && parts.len() < 16
        {
            parts.push(next);
            current = next;
        }
        let keyword = |key| parts.iter().find_map(|part| part.get(key));
        let tables = parts.iter().filter_map(|part| part.get("properties")?.as_object());
        let lists = parts.iter().filter_map(|part| part.get("required")?.as_array());
        Self {
            types: match keyword("type") {
                Some(Value::String(name)) => vec![name],
                Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
                _ => Vec::new(),
            },
            format: keyword("format").and_then(Value::as_str),
            constants: match keyword("const") {
                Some(constant) => Some(vec![constant]),
                None => keyword("enum").and_then(Value::as_array).map(|list| list.iter().collect()),
            },
            names: tables.flat_map(|table| table.keys().map(String::as_str)).collect(),
            required: lists.flatten().filter_map(Value::as_str).collect(),
            parts,
            properties: OnceLock::new(),
            open: OnceLock::new(),
            items: OnceLock::new(),
            alternatives: OnceLock::new(),
            all_constants: OnceLock::new(),
            tags: OnceLock::new(),
        }
    }
}

impl Node {
    /// The whole schema.
    pub(crate) fn root() -> Self {
        Self::new(schema())
    }

    /// The place where `part` of the schema stands.
    pub(crate) fn new(part: &'static Value) -> Self {
        static KNOWN: LazyLock<Mutex<HashMap<usize, Node>>> = LazyLock::new(Mutex::default);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        // As many as the schema has places, which lives as long as the process, too.
        *known.entry(from_ref(part).addr()).or_insert_with(|| Self(Box::leak(Box::new(Place::new(part)))))
    }

    /// The value of a keyword.
    pub(crate) fn keyword(self, key: &str) -> Option<&'static Value> {
        self.0.parts.iter().find_map(|part| part.get(key))
    }

    /// The value of a keyword that is text.
    pub(crate) fn text(self, key: &str) -> Option<&'static str> {
        self.keyword(key).and_then(Value::as_str)
    }

    /// What kind of text or number it is.
    pub(crate) fn format(self) -> Option<&'static str> {
        self.0.format
    }

    /// The alternatives, where there are any.
    pub(crate) fn alternatives(self) -> Option<&'static [Self]> {
        let made = self.0.alternatives.get_or_init(|| {
            let list = self.keyword("oneOf").or_else(|| self.keyword("anyOf"))?.as_array()?;
            Some(list.iter().map(Self::new).collect())
        });
        made.as_deref()
    }

    /// The values of an enumeration.
    pub(crate) fn constants(self) -> Option<&'static [&'static Value]> {
        self.0.constants.as_deref()
    }

    /// The constants of an enumeration, where every alternative is one.
    pub(crate) fn all_constants(self) -> Option<&'static [&'static Value]> {
        let made = self.0.all_constants.get_or_init(|| {
            let lists: Option<Vec<_>> = self.alternatives()?.iter().map(|node| node.constants()).collect();
            lists.map(|lists| lists.concat())
        });
        made.as_deref()
    }

    /// The field that tells the alternatives apart, where each of them is a table that fixes it.
    pub(crate) fn tags(self) -> Option<&'static Tags> {
        let made = self.0.tags.get_or_init(|| {
            let tables = self.alternatives()?.iter().copied();
            let tables: Vec<_> = tables.filter(|node| !node.is_null()).collect();
            let first = tables.first()?;
            let field = *first.property_names().iter().find(|name| first.tag_value(name).is_some())?;
            let names: Option<Vec<_>> = tables.iter().map(|node| node.tag_value(field)).collect();
            Some(Tags { field, names: names?, tables })
        });
        made.as_ref()
    }

    /// A field of a table.
    pub(crate) fn property(self, name: &str) -> Option<Self> {
        let properties = self.0.properties.get_or_init(|| {
            let tables = self.0.parts.iter().rev().filter_map(|part| part.get("properties")?.as_object());
            // What stands nearer comes later, and counts.
            tables.flatten().map(|(name, part)| (name.as_str(), Self::new(part))).collect()
        });
        let open = || {
            *self.0.open.get_or_init(|| {
                self.keyword("additionalProperties").filter(|part| part.is_object()).map(Self::new)
            })
        };
        properties.get(name).copied().or_else(open)
    }

    /// The names of a table's fields.
    pub(crate) fn property_names(self) -> &'static [&'static str] {
        &self.0.names
    }

    /// The names of the fields that a table must have.
    pub(crate) fn required(self) -> &'static [&'static str] {
        &self.0.required
    }

    /// The constant that a table has in `tag`.
    pub(crate) fn tag_value(self, tag: &str) -> Option<&'static str> {
        let mut properties = self.0.parts.iter().filter_map(|part| part.get("properties"));
        properties.find_map(|table| table.get(tag)?.get("const")?.as_str())
    }

    /// The schema of a list's members.
    pub(crate) fn items(self) -> Option<Self> {
        *self.0.items.get_or_init(|| self.keyword("items").map(Self::new))
    }

    /// The largest whole number that fits the type behind this place.
    pub(crate) fn widest(self) -> Option<f64> {
        match self.format()? {
            "uint8" => Some(f64::from(u8::MAX)),
            "uint16" => Some(f64::from(u16::MAX)),
            "uint32" => Some(f64::from(u32::MAX)),
            "int32" => Some(f64::from(i32::MAX)),
            _ => None,
        }
    }

    /// Whether what stands here is the definition of this name.
    pub(crate) fn is_definition(self, name: &str) -> bool {
        let definition = schema().get("$defs").and_then(|definitions| definitions.get(name));
        definition.is_some_and(|known| self.0.parts.iter().any(|part| std::ptr::eq(*part, known)))
    }

    /// Whether nothing but a null stands here.
    fn is_null(self) -> bool {
        self.0.types == ["null"]
    }

    /// Whether a null is said to be allowed here; where no type is said, as of a choice of tables, it is not.
    pub(crate) fn takes_null(self) -> bool {
        self.0.types.contains(&"null")
    }

    /// Whether the value has a type that is allowed here.
    pub(crate) fn accepts_type_of(self, value: &Value) -> bool {
        self.0.types.is_empty()
            || self.0.types.iter().any(|name| match *name {
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
fn referred(root: &'static Value, target: &str) -> Option<&'static Value> {
    let definition = target.strip_prefix("#/$defs/").and_then(|name| root.get("$defs")?.get(name));
    definition.or_else(|| root.pointer(target.trim_start_matches('#')))
}

/// What is allowed at a place, in words.
pub(crate) fn describe(node: Node) -> String {
    if let Some(alternatives) = node.alternatives() {
        if let Some(tags) = node.tags() {
            return format!("a table with `{}` {}", tags.field, quoted(&tags.names));
        }
        if let Some(constants) = node.all_constants() {
            return quoted(&constants.iter().filter_map(|value| value.as_str()).collect::<Vec<_>>());
        }
        if let [others @ .., name, table] = alternatives
            && let (Some(names), Some(tables)) = (name.constants(), table.tags())
            && names.iter().all(|name| tables.names.iter().any(|tag| *name == tag))
        {
            let named = format!("{}, alone or as the `name` of a table", describe(*name));
            let others = others.iter().map(|node| describe(*node));
            return others.chain([named]).collect::<Vec<_>>().join(", or ");
        }
        return describe_all(alternatives);
    }
    if let Some(constants) = node.constants() {
        let names: Vec<_> = constants.iter().filter_map(|value| value.as_str()).collect();
        return quoted(&names);
    }
    if node.format().is_some_and(is_quantity) {
        // The type's own words, not the field's: the last part is the type.
        let words = node.0.parts.last().and_then(|part| part.get("description")).and_then(Value::as_str);
        return words.unwrap_or("a quantity with its unit").to_owned();
    }
    let words = node.0.types.iter().filter(|name| **name != "null").map(|name| of_type(name, node));
    words.collect::<Vec<_>>().join(", or ")
}

/// What these alternatives allow, each said once.
pub(crate) fn describe_all(alternatives: &[Node]) -> String {
    let mut texts: Vec<_> = Vec::new();
    for alternative in alternatives.iter().filter(|alternative| !alternative.is_null()) {
        let text = describe(*alternative);
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts.join(", or ")
}

fn is_quantity(format: &str) -> bool {
    matches!(format, "time" | "rate" | "bytes" | "capacity" | "data")
}

fn of_type(name: &str, node: Node) -> String {
    match name {
        "object" => match node.property_names().iter().find_map(|tag| Some((*tag, node.tag_value(tag)?))) {
            Some((tag, value)) => format!("a table with `{tag}` {value:?}"),
            None => format!("a table of {}", node.property_names().join(", ")),
        },
        "array" => match node.items() {
            Some(item) if !item.property_names().is_empty() => "a list of tables".to_owned(),
            _ => "a list".to_owned(),
        },
        "string" => "text".to_owned(),
        "boolean" => "true or false".to_owned(),
        "integer" => format!("a whole number{}", bounds(node)),
        _ => format!("a number{}", bounds(node)),
    }
}

fn bounds(node: Node) -> String {
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
