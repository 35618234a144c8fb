//! The wire formats of the providers, one file per dialect: parse a request, and write an answer, a stream and an
//! error.

mod anthropic;
mod gemini;
mod ollama;
mod openai;

pub use anthropic::ANTHROPIC;
pub use gemini::GEMINI;
pub use ollama::OLLAMA;
pub use openai::{EMBEDDINGS, OPENAI};

use serde_json::Value;

use super::asked::{Asked, Role, Tool, Turn};
use super::said::Said;

pub struct Dialect {
    pub route: &'static str,
    /// Parses the body, and the model from the path.
    pub read: fn(&Value, Option<&str>) -> Result<Asked, String>,
    pub write: fn(&Asked, &Said) -> Written,
    pub stream: fn(&Asked, &Said) -> Written,
    pub error: fn(u16, &str) -> Value,
}

pub enum Written {
    Whole(Value),
    Pieces { kind: &'static str, pieces: Vec<String> },
}

const EVENT_STREAM: &str = "text/event-stream";

/// `{role, content}`, the format of three of the four dialects.
fn turn(message: &Value) -> Result<Turn, String> {
    let role = match message["role"].as_str() {
        Some("system" | "developer") => Role::System,
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("tool" | "function") => Role::Tool,
        other => return Err(format!("a message has the role {other:?}")),
    };
    Ok(Turn { role, text: text_of(&message["content"]) })
}

fn turns(messages: &Value) -> Result<Vec<Turn>, String> {
    let list = messages.as_array().filter(|list| !list.is_empty()).ok_or("`messages` must be a list of messages")?;
    list.iter().map(turn).collect()
}

/// A string, or the joined texts of a list of parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let part = |part: &Value| match (&part["text"], &part["content"]) {
                (Value::String(text), _) => Some(text.clone()),
                (_, Value::Null) => None,
                (_, inner) => Some(text_of(inner)),
            };
            parts.iter().filter_map(part).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// `{"type": "function", "function": {…}}`, the tool format of OpenAI and Ollama.
fn function_tools(tools: &Value) -> Vec<Tool> {
    let tool = |tool: &Value| tool_of(&tool["function"], "parameters");
    tools.as_array().into_iter().flatten().filter_map(tool).collect()
}

fn tool_of(tool: &Value, parameters: &str) -> Option<Tool> {
    Some(Tool {
        name: tool["name"].as_str()?.to_owned(),
        description: tool["description"].as_str().unwrap_or_default().to_owned(),
        parameters: tool[parameters].clone(),
    })
}

fn model_of(body: &Value) -> Result<String, String> {
    body["model"].as_str().map(str::to_owned).ok_or_else(|| "`model` is missing".to_owned())
}

fn most(value: &Value) -> Option<usize> {
    value.as_u64().map(|most| most as usize)
}
