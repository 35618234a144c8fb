//! The wire forms of chat models. One file per dialect: how a request is written, how an answer is
//! read, and how the pieces of a streamed answer become a whole one, so that both are read alike.
//!
//! They are our own because the request must be known before the call, to be recorded and to be the
//! key under which its answer is found again, and because a failed one needs its status, headers and
//! raw body.

mod anthropic;
mod gemini;
mod ollama;
mod openai;

pub use anthropic::ANTHROPIC;
pub use gemini::GEMINI;
pub use ollama::OLLAMA;
pub use openai::OPENAI;

use serde_json::{Map, Value, json};

use windrow_model::Json;

use super::settings::{Settings, Tool};
use crate::definition::message::{Message, Role};
use windrow_jobfile::http_client::Framing;
use windrow_jobfile::http_client::failure::Unusable;
use windrow_jobfile::prices::Tokens;

pub struct Dialect {
    /// Under the base URL.
    pub path: fn(&Asking<'_>) -> String,
    /// Where vectors of texts are made, in OpenAI's form.
    pub embeddings: Option<&'static str>,
    /// Sent with every request.
    pub headers: &'static [(&'static str, &'static str)],
    pub body: fn(&Asking<'_>, &[Message]) -> Json,
    pub read: fn(&str) -> Result<Said, Unusable>,
    pub framing: Framing,
    /// Puts a piece of a stream, which is an object, where a whole answer has it; says whether
    /// something was said in it.
    pub gather: fn(&mut Value, Value) -> bool,
    /// What was said in what was gathered so far.
    pub said: fn(&Value) -> String,
    /// Whether what was gathered is the end.
    pub is_whole: fn(&Value) -> bool,
    /// Settings this dialect has no word for.
    pub unknown: &'static [&'static str],
    /// Parameters that have their own field or would change the form of the answer.
    pub reserved: &'static [&'static str],
}

/// What is the same in every request of a program.
pub struct Asking<'a> {
    pub model: &'a str,
    pub settings: &'a Settings,
}

/// A whole answer.
#[derive(Debug, Default)]
pub struct Said {
    pub content: String,
    pub finish_reason: Option<String>,
    pub model: Option<String>,
    pub refusal: bool,
    pub tool_calls: Vec<ToolCall>,
    /// As the provider wrote it.
    pub usage: Option<Json>,
    pub tokens: Tokens,
}

/// In one form for all providers, that of OpenAI: evaluators need to know only one.
#[derive(Debug)]
pub struct ToolCall {
    pub id: Option<String>,
    pub name: String,
    /// JSON, as text.
    pub arguments: String,
}

impl ToolCall {
    pub fn json(&self) -> Value {
        let function = json!({ "name": self.name, "arguments": self.arguments });
        match &self.id {
            Some(id) => json!({ "id": id, "type": "function", "function": function }),
            None => json!({ "type": "function", "function": function }),
        }
    }
}

/// The parameters that are set, under the names a dialect has for them, over those of `params`.
fn named<const N: usize>(settings: &Settings, names: [(&str, Value); N]) -> Map<String, Value> {
    let mut parameters = settings.params.clone();
    parameters.extend(set(names));
    parameters
}

fn set<const N: usize>(names: [(&str, Value); N]) -> impl Iterator<Item = (String, Value)> {
    names.into_iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.to_owned(), value))
}

/// Dialects without messages of these roles take them as one text.
fn standing_instructions(messages: &[Message]) -> String {
    let standing = messages.iter().filter(|message| message.role.opens_conversation());
    standing.map(|message| message.content.as_str()).collect::<Vec<_>>().join("\n\n")
}

fn spoken(messages: &[Message]) -> impl Iterator<Item = &Message> {
    messages.iter().filter(|message| !matches!(message.role, Role::System | Role::Developer))
}

/// `{"type": "function", "function": {…}}`.
fn functions(tools: &[Tool]) -> Value {
    match tools.is_empty() {
        true => Value::Null,
        false => tools.iter().map(|tool| json!({ "type": "function", "function": tool })).collect(),
    }
}

fn usage_of(body: &Value, field: &str) -> Option<Json> {
    body.get(field).filter(|usage| !usage.is_null()).map(Json::of)
}

fn count(value: &Value) -> i64 {
    value.as_i64().unwrap_or(0)
}

/// The tier of a call, where the provider reports it: batch and flex calls have one price.
fn is_batch(tier: &Value) -> bool {
    matches!(tier.as_str(), Some("batch" | "flex"))
}

fn append(place: &mut Value, text: &str) {
    match place {
        Value::String(so_far) => so_far.push_str(text),
        _ => *place = Value::String(text.to_owned()),
    }
}

/// The text at that place, or none.
fn text_in(value: &Value, place: &str) -> String {
    value.pointer(place).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn owned(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes over the wire may be anything, and must not bring the program down.
    #[test]
    fn no_piece_and_no_answer_is_too_strange() {
        let strange = [Value::Null, json!("x"), json!(7), json!([]), json!([[]]), json!({}), json!([{ "x": "y" }])];
        let names = [
            "choices",
            "delta",
            "message",
            "tool_calls",
            "usage",
            "error",
            "content",
            "content_block",
            "candidates",
            "parts",
            "usageMetadata",
            "type",
            "done",
        ];
        let kinds = ["message_start", "content_block_start", "content_block_delta", "message_delta", "error"];
        for dialect in [&OPENAI, &ANTHROPIC, &GEMINI, &OLLAMA] {
            let mut whole = Value::Null;
            for (a, b) in names.iter().flat_map(|a| names.iter().map(move |b| (a, b))) {
                for value in &strange {
                    for kind in kinds {
                        let mut piece = json!({ *b: value, "type": kind });
                        (dialect.gather)(&mut whole, piece.clone());
                        piece[*a] = json!([{ *b: value }]);
                        (dialect.gather)(&mut whole, piece.clone());
                        piece[*a] = json!({ *b: value });
                        (dialect.gather)(&mut whole, piece.clone());
                        let _ =
                            ((dialect.is_whole)(&whole), (dialect.said)(&whole), (dialect.read)(&piece.to_string()));
                    }
                }
            }
        }
    }
}
