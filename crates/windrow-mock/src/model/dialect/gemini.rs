//! Gemini: `/v1beta/models/MODEL:generateContent` and `:streamGenerateContent`.

use serde_json::{Value, json};

use super::{Dialect, EVENT_STREAM, Written, most, text_of, tool_of};
use crate::model::asked::{Asked, Format, Role, Turn};
use crate::model::said::Said;
use crate::model::stream::pieces;

pub const GEMINI: Dialect = Dialect { route: "/v1beta/models", read, write, stream, error };

fn read(body: &Value, call: Option<&str>) -> Result<Asked, String> {
    let (model, verb) =
        call.and_then(|call| call.rsplit_once(':')).ok_or("the path must end in MODEL:generateContent")?;
    let stream = match verb {
        "generateContent" => false,
        "streamGenerateContent" => true,
        other => return Err(format!("{other:?} is not supported")),
    };
    let contents = body["contents"].as_array().filter(|list| !list.is_empty()).ok_or("`contents` is missing")?;
    let system = text_of(&body["systemInstruction"]["parts"]);
    let system = (!system.is_empty()).then_some(Turn { role: Role::System, text: system });
    let config = &body["generationConfig"];
    let schema =
        [&config["responseJsonSchema"], &config["responseSchema"]].into_iter().find(|schema| schema.is_object());
    let json = schema.is_some() || config["responseMimeType"] == "application/json";
    let tools = body["tools"].as_array().into_iter().flatten();
    let functions = tools.flat_map(|tool| tool["functionDeclarations"].as_array().into_iter().flatten());
    Ok(Asked {
        model: model.to_owned(),
        turns: system.into_iter().chain(contents.iter().map(turn)).collect(),
        tools: functions.filter_map(|tool| tool_of(tool, "parameters")).collect(),
        format: if json { Format::Json(schema.cloned()) } else { Format::Text },
        max_tokens: most(&config["maxOutputTokens"]),
        stream,
        stream_usage: true,
    })
}

fn turn(content: &Value) -> Turn {
    let parts = content["parts"].as_array().into_iter().flatten();
    let results: Vec<String> =
        parts.filter_map(|part| Some(part.get("functionResponse")?["response"].to_string())).collect();
    let role = match content["role"].as_str() {
        _ if !results.is_empty() => return Turn { role: Role::Tool, text: results.join("\n") },
        Some("model") => Role::Assistant,
        _ => Role::User,
    };
    Turn { role, text: text_of(&content["parts"]) }
}

fn finish_reason(said: &Said) -> &'static str {
    if said.cut { "MAX_TOKENS" } else { "STOP" }
}

fn calls(said: &Said) -> impl Iterator<Item = Value> {
    said.tool_calls.iter().map(|call| json!({ "functionCall": { "name": call.name, "args": call.arguments } }))
}

fn answer(asked: &Asked, said: &Said, parts: Vec<Value>, last: bool) -> Value {
    let mut candidate = json!({ "index": 0, "content": { "role": "model", "parts": parts } });
    if last {
        candidate["finishReason"] = json!(finish_reason(said));
    }
    json!({
        "candidates": [candidate],
        "modelVersion": asked.model,
        "usageMetadata": {
            "promptTokenCount": asked.tokens(),
            "cachedContentTokenCount": asked.cached_tokens(),
            "candidatesTokenCount": said.tokens(),
            "totalTokenCount": asked.tokens() + said.tokens(),
        },
    })
}

fn write(asked: &Asked, said: &Said) -> Written {
    let text = (!said.text.is_empty()).then(|| json!({ "text": said.text }));
    Written::Whole(answer(asked, said, text.into_iter().chain(calls(said)).collect(), true))
}

fn stream(asked: &Asked, said: &Said) -> Written {
    let event = |parts: Vec<Value>, last: bool| format!("data: {}\r\n\r\n", answer(asked, said, parts, last));
    let mut out: Vec<String> =
        pieces(&said.text).into_iter().map(|piece| event(vec![json!({ "text": piece })], false)).collect();
    out.push(event(calls(said).collect(), true));
    Written::Pieces { kind: EVENT_STREAM, pieces: out }
}

fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        500.. => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    };
    json!({ "error": { "code": status, "message": message, "status": kind } })
}
