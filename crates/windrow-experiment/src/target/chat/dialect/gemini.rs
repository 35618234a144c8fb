//! Gemini's generateContent.

use serde_json::{Map, Value, json};

use windrow_model::Json;

use super::{Asking, Dialect, Said, ToolCall, count, is_batch, owned, set, spoken, standing_instructions, usage_of};
use crate::definition::message::{Message, Role};
use windrow_jobfile::http_client::Framing;
use windrow_jobfile::http_client::failure::Unusable;
use windrow_jobfile::prices::Tokens;

const CONFIG: &str = "generationConfig";
/// Reasons to end that mean that the answer was withheld.
const WITHHELD: &[&str] = &["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"];

pub const GEMINI: Dialect = Dialect {
    path: |asking| match asking.settings.stream {
        true => format!("/models/{}:streamGenerateContent?alt=sse", asking.model),
        false => format!("/models/{}:generateContent", asking.model),
    },
    headers: &[],
    embeddings: None,
    body,
    read,
    framing: Framing::Events,
    gather,
    said: |whole| {
        let parts = whole["candidates"][0]["content"]["parts"].as_array().into_iter().flatten();
        parts.filter(|part| part["thought"] != true).filter_map(|part| part["text"].as_str()).collect()
    },
    is_whole: |whole| {
        whole["candidates"][0]["finishReason"].is_string()
            || whole["promptFeedback"]["blockReason"].is_string()
            || whole["error"].is_object()
    },
    unknown: &["max_completion_tokens"],
    reserved: &["model", "contents", "systemInstruction"],
};

fn body(asking: &Asking<'_>, messages: &[Message]) -> Json {
    let settings = asking.settings;
    let content = |message: &Message| {
        let role = if message.role == Role::Assistant { "model" } else { "user" };
        json!({ "role": role, "parts": [{ "text": message.content }] })
    };
    let mut body = settings.params.clone();
    let mut config = match body.remove(CONFIG) {
        Some(Value::Object(config)) => config,
        _ => Map::new(),
    };
    config.extend(set([
        ("temperature", json!(settings.temperature)),
        ("topP", json!(settings.top_p)),
        ("maxOutputTokens", json!(settings.max_tokens)),
        ("seed", json!(settings.seed)),
        ("stopSequences", json!(settings.stop)),
    ]));
    let system = standing_instructions(messages);
    let tools = json!([{ "functionDeclarations": settings.tools }]);
    body.extend(set([
        (CONFIG, if config.is_empty() { Value::Null } else { Value::Object(config) }),
        ("systemInstruction", if system.is_empty() { Value::Null } else { json!({ "parts": [{ "text": system }] }) }),
        ("tools", if settings.tools.is_empty() { Value::Null } else { tools }),
        ("contents", spoken(messages).map(content).collect()),
    ]));
    Json::of(&body)
}

fn read(body: &str) -> Result<Said, Unusable> {
    let body: Value = serde_json::from_str(body).map_err(|error| Unusable::Malformed(error.to_string()))?;
    if body["error"].is_object() {
        let code = body["error"]["code"].as_u64().and_then(|code| u16::try_from(code).ok());
        return Err(Unusable::Error { code });
    }
    let candidate = &body["candidates"][0];
    let parts = candidate["content"]["parts"].as_array();
    let finish_reason = owned(&candidate["finishReason"]);
    let withheld = body["promptFeedback"]["blockReason"]
        .as_str()
        .or(finish_reason.as_deref().filter(|reason| WITHHELD.contains(reason)));
    match (parts, withheld) {
        (None, Some(reason)) => return Err(Unusable::Filtered(reason.to_owned())),
        (None, None) if finish_reason.is_none() => return Err(Unusable::Malformed("it has no candidates".to_owned())),
        _ => {}
    }
    let parts = || parts.into_iter().flatten();
    let usage = &body["usageMetadata"];
    Ok(Said {
        content: parts().filter(|part| part["thought"] != true).filter_map(|part| part["text"].as_str()).collect(),
        finish_reason,
        model: owned(&body["modelVersion"]),
        refusal: false,
        tool_calls: parts().filter_map(|part| tool_call(&part["functionCall"])).collect(),
        tokens: Tokens {
            input: count(&usage["promptTokenCount"]),
            cached_input: count(&usage["cachedContentTokenCount"]),
            // Thinking is paid for like the answer.
            output: count(&usage["candidatesTokenCount"]) + count(&usage["thoughtsTokenCount"]),
            batch: is_batch(&usage["serviceTier"]),
        },
        usage: usage_of(&body, "usageMetadata"),
    })
}

fn tool_call(call: &Value) -> Option<ToolCall> {
    let arguments = if call["args"].is_null() { "{}".to_owned() } else { call["args"].to_string() };
    Some(ToolCall { id: owned(&call["id"]), name: owned(&call["name"])?, arguments })
}

fn gather(whole: &mut Value, mut piece: Value) -> bool {
    let parts = take_parts(&mut piece);
    let spoke = parts.iter().any(|part| part["functionCall"].is_object() || part["text"].as_str() > Some(""));
    let mut so_far = take_parts(whole);
    so_far.extend(parts);
    // The last piece has the whole usage and the reason it ended.
    *whole = piece;
    if !so_far.is_empty() {
        if !whole["candidates"][0].is_object() {
            whole["candidates"] = json!([{}]);
        }
        whole["candidates"][0]["content"] = json!({ "role": "model", "parts": so_far });
    }
    spoke
}

fn take_parts(answer: &mut Value) -> Vec<Value> {
    match answer.pointer_mut("/candidates/0/content/parts").map(Value::take) {
        Some(Value::Array(parts)) => parts,
        _ => Vec::new(),
    }
}
