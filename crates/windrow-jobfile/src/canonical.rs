//! One text per JSON value: keys sorted, no spaces. Content keys are computed from it, so it must not
//! depend on how a map happens to be ordered in memory.

use serde_json::Value;

pub fn canonical(value: &Value) -> String {
    let mut text = String::with_capacity(128);
    write(value, &mut text);
    text
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (no, (key, value)) in entries.into_iter().enumerate() {
                if no > 0 {
                    out.push(',');
                }
                write_text(key, out);
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
        Value::Array(list) => {
            out.push('[');
            for (no, value) in list.iter().enumerate() {
                if no > 0 {
                    out.push(',');
                }
                write(value, out);
            }
            out.push(']');
        }
        Value::String(text) => write_text(text, out),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Null => out.push_str("null"),
    }
}

fn write_text(text: &str, out: &mut String) {
    out.push_str(&serde_json::to_string(text).expect("text serialises to JSON"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_keys_does_not_matter_and_that_of_lists_does() {
        let text = |json: &str| canonical(&serde_json::from_str(json).unwrap());
        assert_eq!(text(r#"{"b": {"y":1,"x":2}, "a": "ü\n"}"#), text(r#"{"a":"ü\n","b":{"x":2,"y":1}}"#));
        assert_eq!(text(r#"{"b":[1,2.5,null,true],"a":{}}"#), r#"{"a":{},"b":[1,2.5,null,true]}"#);
        assert_ne!(text("[1,2]"), text("[2,1]"));
    }
}
