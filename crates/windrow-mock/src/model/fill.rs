//! Generates a JSON value that matches a JSON Schema, with values from the question where possible.

use serde_json::{Map, Value, json};

/// Deeper than any sensible schema; bounds recursive schemas.
const MAX_DEPTH: usize = 16;

/// Suggests a value for a field by its name; used if the schema allows it.
pub type Hint<'a> = dyn Fn(&str) -> Option<Value> + 'a;

pub fn fill(schema: &Value, question: &str, hint: &Hint<'_>) -> Value {
    Filling { root: schema, question, hint }.value(schema, "", 0)
}

struct Filling<'a> {
    root: &'a Value,
    question: &'a str,
    hint: &'a Hint<'a>,
}

impl Filling<'_> {
    fn value(&self, schema: &Value, name: &str, depth: usize) -> Value {
        if depth > MAX_DEPTH {
            return Value::Null;
        }
        if let Some(target) = schema["$ref"].as_str().and_then(|to| self.root.pointer(to.trim_start_matches('#'))) {
            return self.value(target, name, depth + 1);
        }
        if let Some(only) = schema.get("const") {
            return only.clone();
        }
        if let Some(choices) = schema["enum"].as_array().filter(|choices| !choices.is_empty()) {
            return self.choose(choices, name);
        }
        for of in ["anyOf", "oneOf", "allOf"] {
            if let Some(first) = schema[of].get(0) {
                return self.value(first, name, depth + 1);
            }
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => {
                kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or("null")
            }
            kind => kind.as_str().unwrap_or(if schema["properties"].is_object() { "object" } else { "string" }),
        };
        match kind {
            "object" => self.object(schema, depth),
            "array" => {
                let items = schema["minItems"].as_u64().unwrap_or(1).min(100);
                (0..items).map(|_| self.value(&schema["items"], name, depth + 1)).collect()
            }
            "integer" => json!(self.number(schema, name).round() as i64),
            "number" => json!(self.number(schema, name)),
            "boolean" => (self.hint)(name).filter(Value::is_boolean).unwrap_or(Value::Bool(true)),
            "null" => Value::Null,
            _ => self.string(schema, name),
        }
    }

    fn object(&self, schema: &Value, depth: usize) -> Value {
        let mut object = Map::new();
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            object.insert(name.clone(), self.value(schema, name, depth + 1));
        }
        Value::Object(object)
    }

    /// The choice that the hint or the question names, or the first one.
    fn choose(&self, choices: &[Value], name: &str) -> Value {
        let hinted = (self.hint)(name).filter(|value| choices.contains(value));
        let asked = self.question.to_lowercase();
        let named = || choices.iter().find(|one| one.as_str().is_some_and(|one| asked.contains(&one.to_lowercase())));
        hinted.or_else(|| named().cloned()).unwrap_or_else(|| choices[0].clone())
    }

    fn number(&self, schema: &Value, name: &str) -> f64 {
        let low = schema["minimum"].as_f64().or(schema["exclusiveMinimum"].as_f64().map(|low| low + 1.0));
        let high = schema["maximum"].as_f64().or(schema["exclusiveMaximum"].as_f64().map(|high| high - 1.0));
        let found = (self.hint)(name).and_then(|value| value.as_f64()).or_else(|| first_number(self.question));
        let value = found.unwrap_or(low.unwrap_or(1.0));
        value.max(low.unwrap_or(f64::MIN)).min(high.unwrap_or(f64::MAX))
    }

    fn string(&self, schema: &Value, name: &str) -> Value {
        let text = match (self.hint)(name) {
            Some(Value::String(text)) => text,
            Some(other) if !other.is_null() => other.to_string(),
            _ if name.is_empty() => "text".to_owned(),
            _ => format!("some {}", name.replace('_', " ")),
        };
        let padded = schema["minLength"].as_u64().map_or(text.clone(), |least| {
            let missing = (least as usize).saturating_sub(text.chars().count()).min(10_000);
            text + &".".repeat(missing)
        });
        let most = schema["maxLength"].as_u64().unwrap_or(u64::MAX) as usize;
        Value::String(padded.chars().take(most).collect())
    }
}

pub fn first_number(text: &str) -> Option<f64> {
    text.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-'))
        .find_map(|part| part.trim_end_matches(['.', '-']).parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_field_is_filled() {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string" },
                "age": { "type": "integer", "minimum": 3, "maximum": 9 },
                "colour": { "enum": ["red", "blue"] },
                "tags": { "type": "array", "minItems": 2, "items": { "$ref": "#/$defs/tag" } },
                "note": { "anyOf": [{ "type": "null" }, { "type": "string" }] },
                "ok": { "type": ["boolean", "null"] },
            },
            "$defs": { "tag": { "type": "string", "minLength": 12 } },
        });
        let hint = |name: &str| (name == "name").then(|| json!("Ada"));
        let filled = fill(&schema, "A blue one, aged 42", &hint);
        assert_eq!(
            filled,
            json!({ "name": "Ada", "age": 9, "colour": "blue", "tags": ["some tags...", "some tags..."],
                    "note": null, "ok": true })
        );
    }
}
