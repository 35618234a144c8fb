//! OpenAI's chat completions, which most providers speak.

use serde::Serialize;
use serde_json::{Map, Value, json};

use windrow_model::Json;

use super::{Asking, Dialect, Said, ToolCall, append, count, functions, is_batch, named, owned, text_in, usage_of};
use crate::definition::message::Message;
use windrow_jobfile::http_client::Framing;
use windrow_jobfile::http_client::failure::Unusable;
use windrow_jobfile::prices::Tokens;

pub const OPENAI: Dialect = Dialect {
    path: |_| "/chat/completions".to_owned(),
    headers: &[],
    embeddings: Some("/embeddings"),
    body,
    read,
    framing: Framing::Events,
    gather,
    said: |whole| text_in(whole, "/choices/0/message/content"),
    is_whole: |whole| whole["choices"][0]["finish_reason"].is_string() || whole["error"].is_object(),
    unknown: &[],
    reserved: &["model", "messages", "stream", "n"],
};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: &'a [Message],
    #[serde(flatten)]
    parameters: Map<String, Value>,
}

fn body(asking: &Asking<'_>, messages: &[Message]) -> Json {
    let settings = asking.settings;
    let streamed = |value: Value| if settings.stream { value } else { Value::Null };
    let parameters = named(
        settings,
        [
            ("temperature", json!(settings.temperature)),
            ("top_p", json!(settings.top_p)),
            ("max_tokens", json!(settings.max_tokens)),
            ("max_completion_tokens", json!(settings.max_completion_tokens)),
            ("seed", json!(settings.seed)),
            ("stop", json!(settings.stop)),
            ("tools", functions(&settings.tools)),
            ("stream", streamed(json!(true))),
            ("stream_options", streamed(json!({ "include_usage": true }))),
        ],
    );
    Json::of(&Body { model: asking.model, messages, parameters })
}

fn read(body: &str) -> Result<Said, Unusable> {
    let body: Value = serde_json::from_str(body).map_err(|error| Unusable::Malformed(error.to_string()))?;
    let choice = &body["choices"][0];
    if !choice.is_object() || body["error"].is_object() {
        return Err(match &body["error"] {
            Value::Null => Unusable::Malformed("it has no choices".to_owned()),
            error => Unusable::Error { code: error["code"].as_u64().and_then(|code| u16::try_from(code).ok()) },
        });
    }
    let said = &choice["message"];
    if !said.is_object() {
        return Err(Unusable::Malformed("its first choice has no message".to_owned()));
    }
    let tool_calls: Vec<ToolCall> = said["tool_calls"].as_array().into_iter().flatten().filter_map(tool_call).collect();
    let finish_reason = owned(&choice["finish_reason"]);
    let filtered = finish_reason.as_deref() == Some("content_filter");
    let (content, refusal) = match (said["content"].as_str(), said["refusal"].as_str()) {
        (None | Some(""), None) if filtered => return Err(Unusable::Filtered("content_filter".to_owned())),
        (Some(content), None) => (content, false),
        (Some(content), Some("")) => (content, false),
        (_, Some(refusal)) => (refusal, true),
        (None, None) if !tool_calls.is_empty() => ("", false),
        (None, None) => return Err(Unusable::Malformed("its message has no content".to_owned())),
    };
    let usage = &body["usage"];
    Ok(Said {
        content: content.to_owned(),
        finish_reason,
        model: owned(&body["model"]),
        refusal,
        tool_calls,
        tokens: Tokens {
            input: count(&usage["prompt_tokens"]),
            // DeepSeek has a name of its own for it.
            cached_input: count(&usage["prompt_tokens_details"]["cached_tokens"])
                .max(count(&usage["prompt_cache_hit_tokens"])),
            output: count(&usage["completion_tokens"]),
            batch: is_batch(&body["service_tier"]),
        },
        usage: usage_of(&body, "usage"),
    })
}

fn tool_call(call: &Value) -> Option<ToolCall> {
    let function = &call["function"];
    let arguments = match &function["arguments"] {
        Value::String(arguments) => arguments.clone(),
        arguments => arguments.to_string(),
    };
    Some(ToolCall { id: owned(&call["id"]), name: owned(&function["name"])?, arguments })
}

fn gather(whole: &mut Value, piece: Value) -> bool {
    if whole.is_null() {
        *whole = json!({ "choices": [], "model": piece["model"] });
    }
    for field in ["usage", "service_tier", "error"] {
        if !piece[field].is_null() {
            whole[field] = piece[field].clone();
        }
    }
    let choice = &piece["choices"][0];
    if !choice.is_object() {
        return false;
    }
    if whole["choices"] == json!([]) {
        whole["choices"] = json!([{ "message": {}, "finish_reason": null }]);
    }
    let so_far = &mut whole["choices"][0];
    if choice["finish_reason"].is_string() {
        so_far["finish_reason"] = choice["finish_reason"].clone();
    }
    let delta = &choice["delta"];
    let mut spoke = false;
    for field in ["content", "refusal"] {
        if let Some(text) = delta[field].as_str() {
            append(&mut so_far["message"][field], text);
            spoke |= !text.is_empty();
        }
    }
    for call in delta["tool_calls"].as_array().into_iter().flatten() {
        spoke = true;
        gather_call(&mut so_far["message"]["tool_calls"], call);
    }
    spoke
}

/// A call comes with its name first; its arguments follow in pieces under the same index.
fn gather_call(calls: &mut Value, piece: &Value) {
    if calls.is_null() {
        *calls = json!([]);
    }
    let Some(calls) = calls.as_array_mut() else { return };
    // A stream of thousands of calls is no answer.
    let index = piece["index"].as_u64().unwrap_or(0).min(1024) as usize;
    while calls.len() <= index {
        calls.push(json!({ "type": "function", "function": { "arguments": "" } }));
    }
    let call = &mut calls[index];
    if piece["id"].is_string() {
        call["id"] = piece["id"].clone();
    }
    if piece["function"]["name"].is_string() {
        call["function"]["name"] = piece["function"]["name"].clone();
    }
    append(&mut call["function"]["arguments"], piece["function"]["arguments"].as_str().unwrap_or_default());
}
