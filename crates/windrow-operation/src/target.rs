//! One target: its name, and whatever else its source says about it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use windrow_model::step::ContentKey;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Target {
    pub name: String,
    /// For templates: `{{ target.region }}`.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

impl Target {
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), fields: Map::new() }
    }

    /// From a row of a source: a text, or an object with a `name`.
    pub fn of(row: Value) -> Result<Self, String> {
        match row {
            Value::String(name) if !name.trim().is_empty() => Ok(Self::named(name.trim())),
            Value::Object(mut fields) => match fields.remove("name") {
                Some(Value::String(name)) if !name.trim().is_empty() => Ok(Self { name, fields }),
                Some(Value::Number(id)) => Ok(Self { name: id.to_string(), fields }),
                _ => Err("a target needs a `name`".to_owned()),
            },
            other => Err(format!("{other} is not a target; a target is a name, or an object with a `name`")),
        }
    }

    /// Who it is, whatever else is said about it.
    pub fn key(&self) -> ContentKey {
        ContentKey::of(&[b"target", self.name.as_bytes()])
    }

    pub fn value(&self) -> Value {
        serde_json::to_value(self).expect("a target serialises to JSON")
    }
}
