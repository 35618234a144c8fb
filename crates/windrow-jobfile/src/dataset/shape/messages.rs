//! Chat messages as turns: what the user says is a turn's `input`, what the assistant answers is its
//! `expected`. Tool messages belong to the answer and are passed over.

use serde_json::Value;

use super::{EXPECTED, INPUT, SYSTEM, TURNS};
use crate::template::Fields;

/// `last` is what the last turn should be answered with, where the messages do not say.
pub fn read(messages: &Value, last: Option<&Value>) -> Result<Fields, String> {
    let messages = messages.as_array().filter(|list| !list.is_empty()).ok_or("a list of messages is missing")?;
    let mut system: Vec<String> = Vec::new();
    let mut turns: Vec<Fields> = Vec::new();
    for (no, message) in messages.iter().enumerate() {
        let role = message.get("role").and_then(Value::as_str).ok_or(format!("message {} has no `role`", no + 1))?;
        let content = content_of(message);
        match (role, content) {
            ("system" | "developer", Some(text)) => system.push(text),
            ("user", Some(text)) => turns.push(Fields::from_iter([(INPUT.to_owned(), Value::String(text))])),
            ("assistant", content) => {
                let turn = turns.last_mut().ok_or("the assistant speaks before the user does")?;
                // An answer in several messages ends with what is said; tool calls have no text.
                if let Some(text) = content {
                    turn.insert(EXPECTED.to_owned(), Value::String(text));
                }
            }
            ("tool" | "function", _) => {}
            ("system" | "developer" | "user", None) => return Err(format!("message {} has no text", no + 1)),
            (role, _) => return Err(format!("message {} has the unknown role {role:?}", no + 1)),
        }
    }
    let turn = turns.last_mut().ok_or("no message is of the user")?;
    if let Some(expected) = last {
        turn.entry(EXPECTED).or_insert_with(|| expected.clone());
    }
    let mut added = Fields::from_iter([(TURNS.to_owned(), Value::from_iter(turns))]);
    if !system.is_empty() {
        added.insert(SYSTEM.to_owned(), Value::String(system.join("\n\n")));
    }
    Ok(added)
}

/// Text, or the text parts of a list of parts.
fn content_of(message: &Value) -> Option<String> {
    match message.get("content")? {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
            (!texts.is_empty()).then(|| texts.join("\n"))
        }
        _ => None,
    }
}
