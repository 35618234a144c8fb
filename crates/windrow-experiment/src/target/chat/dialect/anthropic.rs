//! Anthropic's messages.

use serde_json::{Value, json};

use windrow_model::Json;

use super::{
    Asking, Dialect, Said, ToolCall, append, count, is_batch, named, owned, spoken, standing_instructions, usage_of,
};
use crate::definition::message::Message;
use windrow_jobfile::http_client::Framing;
use windrow_jobfile::http_client::failure::Unusable;
use windrow_jobfile::prices::Tokens;

/// The API requires a limit; this one cuts off no ordinary answer.
const MAX_TOKENS: u64 = 4096;

pub const ANTHROPIC: Dialect = Dialect {
    path: |_| "/messages".to_owned(),
    headers: &[("anthropic-version", "2023-06-01")],
    embeddings: None,
    body,
    read,
    framing: Framing::Events,
    gather,
    said: |whole| {
        let blocks = whole["content"].as_array().into_iter().flatten();
        blocks.filter(|block| block["type"] == "text").filter_map(|block| block["text"].as_str()).collect()
    },
    is_whole: |whole| whole["stop_reason"].is_string() || whole["error"].is_object(),
    unknown: &["seed", "max_completion_tokens"],
    reserved: &["model", "messages", "system", "stream"],
};

fn body(asking: &Asking<'_>, messages: &[Message]) -> Json {
    let settings = asking.settings;
    let system = standing_instructions(messages);
    let tool = |tool: &super::Tool| {
        let parameters = tool.parameters.clone().unwrap_or_else(|| json!({ "type": "object" }));
        json!({ "name": tool.name, "description": tool.description, "input_schema": parameters })
    };
    let tools: Vec<Value> = settings.tools.iter().map(tool).collect();
    let mut body = named(
        settings,
        [
            ("temperature", json!(settings.temperature)),
            ("top_p", json!(settings.top_p)),
            ("stop_sequences", json!(settings.stop)),
            ("system", if system.is_empty() { Value::Null } else { json!(system) }),
            ("tools", if tools.is_empty() { Value::Null } else { json!(tools) }),
            ("stream", if settings.stream { json!(true) } else { Value::Null }),
        ],
    );
    body.insert("model".to_owned(), json!(asking.model));
    body.insert("max_tokens".to_owned(), json!(settings.max_tokens.unwrap_or(MAX_TOKENS)));
    body.insert("messages".to_owned(), json!(spoken(messages).collect::<Vec<_>>()));
    Json::of(&body)
}

fn read(body: &str) -> Result<Said, Unusable> {
    let body: Value = serde_json::from_str(body).map_err(|error| Unusable::Malformed(error.to_string()))?;
    if body["error"].is_object() {
        return Err(Unusable::Error { code: None });
    }
    let blocks = body["content"].as_array().ok_or_else(|| Unusable::Malformed("it has no content".to_owned()))?;
    let of_type = |kind: &'static str| blocks.iter().filter(move |block| block["type"] == kind);
    let usage = &body["usage"];
    let (cached, written) = (count(&usage["cache_read_input_tokens"]), count(&usage["cache_creation_input_tokens"]));
    let finish_reason = owned(&body["stop_reason"]);
    Ok(Said {
        content: of_type("text").filter_map(|block| block["text"].as_str()).collect(),
        refusal: finish_reason.as_deref() == Some("refusal"),
        finish_reason,
        model: owned(&body["model"]),
        tool_calls: of_type("tool_use").filter_map(tool_call).collect(),
        // What came from the cache or went to it is counted apart here, unlike with the others.
        tokens: Tokens {
            input: count(&usage["input_tokens"]) + cached + written,
            cached_input: cached,
            output: count(&usage["output_tokens"]),
            batch: is_batch(&usage["service_tier"]),
        },
        usage: usage_of(&body, "usage"),
    })
}

fn tool_call(block: &Value) -> Option<ToolCall> {
    let arguments = match &block["input"] {
        // Gathered from a stream, where it comes as text.
        Value::String(json) if json.is_empty() => "{}".to_owned(),
        Value::String(json) => json.clone(),
        input => input.to_string(),
    };
    Some(ToolCall { id: owned(&block["id"]), name: owned(&block["name"])?, arguments })
}

/// Whatever came, only an object can be written into.
fn object(value: &Value) -> Value {
    if value.is_object() { value.clone() } else { json!({}) }
}

fn gather(whole: &mut Value, piece: Value) -> bool {
    match piece["type"].as_str() {
        Some("message_start") => {
            *whole = object(&piece["message"]);
            whole["content"] = json!([]);
            false
        }
        Some("content_block_start") => {
            let mut block = object(&piece["content_block"]);
            if block["type"] == "tool_use" {
                block["input"] = json!("");
            }
            let calls = block["type"] == "tool_use";
            if let Some(blocks) = whole["content"].as_array_mut() {
                blocks.push(block);
            }
            calls
        }
        Some("content_block_delta") => {
            let Some(block) = whole["content"].as_array_mut().and_then(|blocks| blocks.last_mut()) else {
                return false;
            };
            let delta = &piece["delta"];
            for (from, to) in [("text", "text"), ("partial_json", "input")] {
                if let Some(text) = delta[from].as_str() {
                    append(&mut block[to], text);
                    return true;
                }
            }
            false
        }
        Some("message_delta") => {
            whole["stop_reason"] = piece["delta"]["stop_reason"].clone();
            if let (Some(usage), Some(more)) = (whole["usage"].as_object_mut(), piece["usage"].as_object()) {
                usage.extend(more.clone());
            }
            false
        }
        Some("error") => {
            *whole = json!({ "error": piece["error"] });
            false
        }
        _ => false,
    }
}
