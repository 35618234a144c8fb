//! What is in the fields of a dataset, seen once over all its rows: which there are, in how many rows,
//! of which types. Kept with a version; tells `show` what to say and an export which columns to write.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::template::Fields;

/// More names than a table has; a dataset with more is an object of something else.
const MAX_FIELDS: usize = 5_000;

windrow_model::vocabulary! {
    /// What a field's value is.
    pub enum Kind {
        #[doc = "Nothing, said explicitly."]
        Null = "null",
        #[doc = "True or false."]
        Boolean = "boolean",
        #[doc = "A whole number."]
        Integer = "integer",
        #[doc = "A number with a fraction."]
        Number = "number",
        #[doc = "Text."]
        Text = "text",
        #[doc = "A list."]
        List = "list",
        #[doc = "An object with fields."]
        Object = "object",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Profile {
    pub fields: BTreeMap<String, FieldProfile>,
    /// There were more fields than are listed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FieldProfile {
    pub types: BTreeSet<Kind>,
    /// Rows that have it.
    pub rows: u64,
}

impl Profile {
    pub fn add(&mut self, row: &Fields) {
        for (name, value) in row {
            if !self.fields.contains_key(name) {
                if self.fields.len() == MAX_FIELDS {
                    self.cut = true;
                    continue;
                }
                self.fields.insert(name.clone(), FieldProfile::default());
            }
            if let Some(field) = self.fields.get_mut(name) {
                field.rows += 1;
                field.types.extend(kinds_of(value));
            }
        }
    }
}

fn kinds_of(value: &Value) -> impl Iterator<Item = Kind> {
    let (kind, also) = match value {
        Value::Null => (Kind::Null, None),
        Value::Bool(_) => (Kind::Boolean, None),
        // A whole number that no signed 64 bits hold is both, so that no column of one of them takes it.
        Value::Number(number) if number.is_u64() && !number.is_i64() => (Kind::Integer, Some(Kind::Number)),
        Value::Number(number) if number.is_i64() => (Kind::Integer, None),
        Value::Number(_) => (Kind::Number, None),
        Value::String(_) => (Kind::Text, None),
        Value::Array(_) => (Kind::List, None),
        Value::Object(_) => (Kind::Object, None),
    };
    std::iter::once(kind).chain(also)
}
