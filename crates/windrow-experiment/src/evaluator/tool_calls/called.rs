//! A call that a model made, whatever form its provider writes it in.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Called {
    pub name: String,
    /// The text itself where it is not JSON.
    pub arguments: Value,
}

impl Called {
    /// `[{"function": {"name", "arguments": "<JSON as text>"}}]` of OpenAI and its like, and
    /// `{"name", "arguments" or "input": {…}}` of others.
    pub fn all(calls: &Value) -> Vec<Self> {
        calls.as_array().into_iter().flatten().filter_map(Self::of).collect()
    }

    fn of(call: &Value) -> Option<Self> {
        let function = call.get("function").unwrap_or(call);
        let name = function.get("name")?.as_str()?.to_owned();
        let arguments = match function.get("arguments").or_else(|| function.get("input")) {
            None | Some(Value::Null) => Value::Object(Map::new()),
            Some(Value::String(text)) if text.trim().is_empty() => Value::Object(Map::new()),
            Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone())),
            Some(other) => other.clone(),
        };
        Some(Self { name, arguments })
    }
}

impl fmt::Display for Called {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name, self.arguments)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_of_several_providers_are_read() {
        let calls = json!([
            { "type": "function", "function": { "name": "a", "arguments": "{\"x\": 1}" } },
            { "type": "tool_use", "name": "a", "input": { "x": 1 } },
            { "name": "a", "arguments": { "x": 1 } },
        ]);
        for call in Called::all(&calls) {
            assert_eq!(call.to_string(), r#"a({"x":1})"#);
        }
        let broken = json!([{ "function": { "name": "a", "arguments": "{x" } }, { "function": { "name": "b" } }]);
        let called: Vec<_> = Called::all(&broken).iter().map(Called::to_string).collect();
        assert_eq!(called, ["a(\"{x\")", "b({})"]);
    }
}
