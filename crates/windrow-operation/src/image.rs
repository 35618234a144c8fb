//! What a target looks like, as JSON, and what differs between two looks.

use serde_json::Value;

use super::mask::{MASK, is_sealed};

/// `config.tasks.max: "1" → "4"`, one line per difference, in the order of the keys.
pub fn differences(before: &Value, after: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    compare("", Some(before), Some(after), &mut lines);
    lines
}

fn compare(path: &str, before: Option<&Value>, after: Option<&Value>, lines: &mut Vec<String>) {
    if before == after {
        return;
    }
    if let (Some(Value::Object(before)), Some(Value::Object(after))) = (before, after) {
        let mut keys: Vec<&String> = before.keys().chain(after.keys()).collect();
        keys.sort();
        keys.dedup();
        for key in keys {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            compare(&path, before.get(key), after.get(key), lines);
        }
        return;
    }
    let sealed = |value: Option<&Value>| value.is_some_and(is_sealed);
    if sealed(before) || sealed(after) {
        let path = if path.is_empty() { "it" } else { path };
        lines.push(format!("{path}: {MASK} changes"));
        return;
    }
    let shown = |value: Option<&Value>| value.map_or("(none)".to_owned(), Value::to_string);
    let path = if path.is_empty() { String::new() } else { format!("{path}: ") };
    lines.push(format!("{path}{} → {}", shown(before), shown(after)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_differs_is_said_with_its_path() {
        let before = json!({ "config": { "a": "1", "gone": true }, "state": "RUNNING" });
        let after = json!({ "config": { "a": "2", "new": [1] }, "state": "RUNNING" });
        let lines = differences(&before, &after);
        assert_eq!(lines, ["config.a: \"1\" → \"2\"", "config.gone: true → (none)", "config.new: (none) → [1]"]);
        assert!(differences(&before, &before).is_empty());
        assert_eq!(differences(&json!(1), &json!(2)), ["1 → 2"]);
        let (old, new) = (json!({ "password": "sealed:a" }), json!({ "password": "sealed:b" }));
        assert_eq!(differences(&old, &new), ["password: •••• changes"]);
    }
}
