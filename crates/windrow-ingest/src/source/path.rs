//! JSONPath into an answer. Plain paths like `$.data.items` take what they name out of the answer without
//! copying it; all others copy what they select.

use serde_json::Value;
use serde_json_path::JsonPath;

#[derive(Debug, Clone)]
pub enum Path {
    /// The names on the way.
    Plain(Vec<String>),
    Full(Box<JsonPath>),
}

impl Path {
    pub fn parse(text: &str) -> Result<Self, String> {
        let full = JsonPath::parse(text).map_err(|error| format!("{text:?} is not a JSONPath: {error}"))?;
        let inner = text.trim().strip_prefix('$').unwrap_or_default();
        let inner = inner.strip_suffix("[*]").unwrap_or(inner);
        let is_plain = inner.is_empty()
            || inner.strip_prefix('.').is_some_and(|names| {
                names.split('.').all(|name| {
                    name.starts_with(|c: char| c.is_alphabetic() || c == '_')
                        && name.chars().all(|c| c.is_alphanumeric() || c == '_')
                })
            });
        match is_plain {
            true => Ok(Path::Plain(inner.split('.').filter(|name| !name.is_empty()).map(str::to_owned).collect())),
            false => Ok(Path::Full(Box::new(full))),
        }
    }

    /// One value; null where there is none.
    pub fn value(&self, answer: &Value) -> Value {
        match self {
            Path::Plain(names) => {
                let found = names.iter().try_fold(answer, |value, name| value.get(name));
                found.cloned().unwrap_or_default()
            }
            Path::Full(path) => path.query(answer).first().cloned().unwrap_or_default(),
        }
    }

    /// All records, taken out. `None` where the answer has no such place.
    pub fn take_records(&self, answer: &mut Value) -> Option<Vec<Value>> {
        match self {
            Path::Plain(names) => {
                let found = names.iter().try_fold(answer, |value, name| value.get_mut(name))?;
                match found.take() {
                    Value::Array(list) => Some(list),
                    Value::Null => None,
                    one => Some(vec![one]),
                }
            }
            Path::Full(path) => {
                let found = path.query(answer).all();
                match found.as_slice() {
                    [Value::Array(list)] => Some(list.clone()),
                    found => Some(found.iter().map(|value| (*value).clone()).collect()),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn plain_and_full_paths_find_the_same() {
        let answer = json!({ "data": { "items": [{ "id": 1 }, { "id": 2 }], "next": "t" } });
        for path in ["$.data.items", "$.data.items[*]", "$['data']['items']", "$..items[*]"] {
            let records = Path::parse(path).unwrap().take_records(&mut answer.clone());
            assert_eq!(records, Some(vec![json!({ "id": 1 }), json!({ "id": 2 })]), "{path}");
        }
        assert_eq!(Path::parse("$.data.next").unwrap().value(&answer), json!("t"));
        assert_eq!(Path::parse("$.gone.next").unwrap().value(&answer), Value::Null);
        assert_eq!(Path::parse("$").unwrap().take_records(&mut json!([1])), Some(vec![json!(1)]));
        assert_eq!(Path::parse("$.gone").unwrap().take_records(&mut answer.clone()), None);
        assert!(Path::parse("items[").is_err());
    }
}
