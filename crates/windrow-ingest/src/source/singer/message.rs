//! One line of a tap.

use serde_json::Value;

#[derive(Debug, PartialEq)]
pub enum Message {
    Schema {
        stream: String,
        key_properties: Vec<String>,
    },
    Record {
        stream: String,
        record: Value,
    },
    State {
        value: Value,
    },
    /// Types may be added; those unknown here mean nothing to us.
    Other,
}

impl Message {
    pub fn parse(line: &str) -> Result<Self, String> {
        if line.trim().is_empty() {
            return Ok(Self::Other);
        }
        let mut line: Value = serde_json::from_str(line).map_err(|error| format!("a Singer message ({error})"))?;
        let kind = line["type"].as_str().map(str::to_uppercase);
        let stream = |line: &Value| {
            line["stream"].as_str().map(str::to_owned).ok_or_else(|| "a message with a `stream`".to_owned())
        };
        match kind.as_deref() {
            Some("SCHEMA") => {
                let keys = line["key_properties"].as_array().map(Vec::as_slice).unwrap_or_default();
                let key_properties = keys.iter().filter_map(|key| key.as_str().map(str::to_owned)).collect();
                Ok(Self::Schema { stream: stream(&line)?, key_properties })
            }
            Some("RECORD") => Ok(Self::Record { stream: stream(&line)?, record: line["record"].take() }),
            Some("STATE") => Ok(Self::State { value: line["value"].take() }),
            Some(_) => Ok(Self::Other),
            None => Err("a Singer message (it has no `type`)".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_are_read_whatever_their_case_and_unknown_ones_passed_over() {
        let schema = r#"{"type":"schema","stream":"s","schema":{},"key_properties":["id"]}"#;
        let expected = Message::Schema { stream: "s".into(), key_properties: vec!["id".into()] };
        assert_eq!(Message::parse(schema), Ok(expected));
        let record = r#"{"type":"RECORD","stream":"s","record":{"id":1},"time_extracted":"x"}"#;
        assert_eq!(Message::parse(record), Ok(Message::Record { stream: "s".into(), record: json!({ "id": 1 }) }));
        assert_eq!(Message::parse(r#"{"type":"STATE","value":[1]}"#), Ok(Message::State { value: json!([1]) }));
        assert_eq!(Message::parse(r#"{"type":"ACTIVATE_VERSION","stream":"s","version":1}"#), Ok(Message::Other));
        for wrong in ["INFO starting", "{}", r#"{"type":"RECORD","record":{}}"#] {
            assert!(Message::parse(wrong).is_err(), "{wrong}");
        }
    }
}
