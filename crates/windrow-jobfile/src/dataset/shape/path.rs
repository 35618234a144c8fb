//! `input.text`, `messages.0.content`: the way to a field inside a row.

use serde_json::Value;

use crate::template::Fields;

/// A field whose own name has dots in it is found before one inside another.
pub fn find<'a>(row: &'a Fields, path: &str) -> Option<&'a Value> {
    if let Some(value) = row.get(path) {
        return Some(value);
    }
    let (first, rest) = path.split_once('.')?;
    rest.split('.').try_fold(row.get(first)?, |value, name| match value {
        Value::Object(fields) => fields.get(name),
        Value::Array(list) => list.get(name.parse::<usize>().ok()?),
        _ => None,
    })
}
