//! OpenAI: `/v1/chat/completions`, which most other providers support too.

use serde_json::{Value, json};

use super::{Dialect, EVENT_STREAM, Written, function_tools, model_of, most, turns};
use crate::model::asked::{Asked, Format};
use crate::model::said::Said;
use crate::model::stream::pieces;

pub const OPENAI: Dialect = Dialect { route: "/v1/chat/completions", read, write, stream, error };
pub const EMBEDDINGS: Dialect = Dialect { route: "/v1/embeddings", ..OPENAI };

fn read(body: &Value, _: Option<&str>) -> Result<Asked, String> {
    let format = match body["response_format"]["type"].as_str() {
        Some("json_schema") => Format::Json(body.pointer("/response_format/json_schema/schema").cloned()),
        Some("json_object") => Format::Json(None),
        _ => Format::Text,
    };
    Ok(Asked {
        model: model_of(body)?,
        turns: turns(&body["messages"])?,
        tools: function_tools(&body["tools"]),
        format,
        max_tokens: most(&body["max_completion_tokens"]).or(most(&body["max_tokens"])),
        stream: body["stream"] == true,
        stream_usage: body["stream_options"]["include_usage"] == true,
    })
}

fn usage(asked: &Asked, said: &Said) -> Value {
    json!({
        "prompt_tokens": asked.tokens(),
        "completion_tokens": said.tokens(),
        "total_tokens": asked.tokens() + said.tokens(),
        "prompt_tokens_details": { "cached_tokens": asked.cached_tokens() },
    })
}

fn finish_reason(said: &Said) -> &'static str {
    match said {
        Said { cut: true, .. } => "length",
        Said { tool_calls, .. } if !tool_calls.is_empty() => "tool_calls",
        _ => "stop",
    }
}

fn tool_calls(said: &Said) -> Value {
    let call = |(no, call): (usize, &crate::model::said::ToolCall)| {
        json!({
            "index": no,
            "id": format!("call_{no}"),
            "type": "function",
            "function": { "name": call.name, "arguments": call.arguments.to_string() },
        })
    };
    said.tool_calls.iter().enumerate().map(call).collect()
}

fn write(asked: &Asked, said: &Said) -> Written {
    let mut message = json!({ "role": "assistant", "content": said.text });
    if !said.tool_calls.is_empty() {
        message["content"] = Value::Null;
        message["tool_calls"] = tool_calls(said);
    }
    Written::Whole(json!({
        "id": "mock",
        "object": "chat.completion",
        "model": asked.model,
        "choices": [{ "index": 0, "message": message, "finish_reason": finish_reason(said) }],
        "usage": usage(asked, said),
    }))
}

fn stream(asked: &Asked, said: &Said) -> Written {
    let chunk = |choices: Value, usage: Value| {
        let object = "chat.completion.chunk";
        let chunk = json!({ "id": "mock", "object": object, "model": asked.model, "choices": choices, "usage": usage });
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value, finish: Value| {
        chunk(json!([{ "index": 0, "delta": delta, "finish_reason": finish }]), Value::Null)
    };
    let mut out = vec![delta(json!({ "role": "assistant", "content": "" }), Value::Null)];
    out.extend(pieces(&said.text).into_iter().map(|piece| delta(json!({ "content": piece }), Value::Null)));
    if !said.tool_calls.is_empty() {
        out.push(delta(json!({ "tool_calls": tool_calls(said) }), Value::Null));
    }
    out.push(delta(json!({}), json!(finish_reason(said))));
    if asked.stream_usage {
        out.push(chunk(json!([]), usage(asked, said)));
    }
    out.push("data: [DONE]\n\n".to_owned());
    Written::Pieces { kind: EVENT_STREAM, pieces: out }
}

fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        401 | 403 => "authentication_error",
        429 => "rate_limit_exceeded",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    json!({ "error": { "message": message, "type": kind, "code": kind } })
}
