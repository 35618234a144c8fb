//! Anthropic: `/v1/messages`.

use serde_json::{Value, json};

use super::{Dialect, EVENT_STREAM, Written, model_of, most, text_of, tool_of, turns};
use crate::model::asked::{Asked, Role, Turn};
use crate::model::said::Said;
use crate::model::stream::pieces;

pub const ANTHROPIC: Dialect = Dialect { route: "/v1/messages", read, write, stream, error };

fn read(body: &Value, _: Option<&str>) -> Result<Asked, String> {
    let max_tokens = most(&body["max_tokens"]).ok_or("`max_tokens` is required")?;
    let mut all = turns(&body["messages"])?;
    for (turn, message) in all.iter_mut().zip(body["messages"].as_array().into_iter().flatten()) {
        if turn.role == Role::System {
            return Err("the role `system` is not allowed in `messages`; use `system`".to_owned());
        }
        // A tool result is part of a user message.
        if message["content"].as_array().is_some_and(|parts| parts.iter().any(|part| part["type"] == "tool_result")) {
            turn.role = Role::Tool;
        }
    }
    let system = text_of(&body["system"]);
    if !system.is_empty() {
        all.insert(0, Turn { role: Role::System, text: system });
    }
    Ok(Asked {
        model: model_of(body)?,
        turns: all,
        tools: body["tools"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|tool| tool_of(tool, "input_schema"))
            .collect(),
        max_tokens: Some(max_tokens),
        stream: body["stream"] == true,
        ..Asked::default()
    })
}

fn stop_reason(said: &Said) -> &'static str {
    match said {
        Said { cut: true, .. } => "max_tokens",
        Said { tool_calls, .. } if !tool_calls.is_empty() => "tool_use",
        _ => "end_turn",
    }
}

/// Cached input is counted separately here.
fn usage(asked: &Asked, tokens_out: usize) -> Value {
    json!({
        "input_tokens": asked.tokens() - asked.cached_tokens(),
        "cache_read_input_tokens": asked.cached_tokens(),
        "output_tokens": tokens_out,
    })
}

fn blocks(said: &Said) -> Vec<Value> {
    let text = (!said.text.is_empty()).then(|| json!({ "type": "text", "text": said.text }));
    let calls = said.tool_calls.iter().enumerate().map(|(no, call)| {
        json!({ "type": "tool_use", "id": format!("toolu_{no}"), "name": call.name, "input": call.arguments })
    });
    text.into_iter().chain(calls).collect()
}

fn write(asked: &Asked, said: &Said) -> Written {
    Written::Whole(json!({
        "id": "msg_mock",
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": blocks(said),
        "stop_reason": stop_reason(said),
        "usage": usage(asked, said.tokens()),
    }))
}

fn stream(asked: &Asked, said: &Said) -> Written {
    let event = |data: Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default());
    let start = json!({
        "id": "msg_mock", "type": "message", "role": "assistant", "model": asked.model, "content": [],
        "usage": usage(asked, 0),
    });
    let mut out = vec![event(json!({ "type": "message_start", "message": start }))];
    for (no, block) in blocks(said).into_iter().enumerate() {
        let delta = |delta: Value| event(json!({ "type": "content_block_delta", "index": no, "delta": delta }));
        let (opening, deltas) = match block["type"].as_str() {
            Some("text") => {
                let deltas = pieces(block["text"].as_str().unwrap_or_default());
                let text = |piece: &str| delta(json!({ "type": "text_delta", "text": piece }));
                (json!({ "type": "text", "text": "" }), deltas.into_iter().map(text).collect::<Vec<_>>())
            }
            _ => {
                let mut opening = block.clone();
                opening["input"] = json!({});
                let input = json!({ "type": "input_json_delta", "partial_json": block["input"].to_string() });
                (opening, vec![delta(input)])
            }
        };
        out.push(event(json!({ "type": "content_block_start", "index": no, "content_block": opening })));
        out.extend(deltas);
        out.push(event(json!({ "type": "content_block_stop", "index": no })));
    }
    out.push(event(json!({
        "type": "message_delta",
        "delta": { "stop_reason": stop_reason(said) },
        "usage": { "output_tokens": said.tokens() },
    })));
    out.push(event(json!({ "type": "message_stop" })));
    Written::Pieces { kind: EVENT_STREAM, pieces: out }
}

fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    };
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}
