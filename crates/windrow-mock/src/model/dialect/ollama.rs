//! Ollama: `/api/chat`, which streams by default.

use serde_json::{Value, json};

use super::{Dialect, Written, function_tools, model_of, most, turns};
use crate::model::asked::{Asked, Format};
use crate::model::said::Said;
use crate::model::stream::pieces;

pub const OLLAMA: Dialect = Dialect { route: "/api/chat", read, write, stream, error };

fn read(body: &Value, _: Option<&str>) -> Result<Asked, String> {
    let format = match &body["format"] {
        Value::String(format) if format == "json" => Format::Json(None),
        schema @ Value::Object(_) => Format::Json(Some(schema.clone())),
        _ => Format::Text,
    };
    Ok(Asked {
        model: model_of(body)?,
        turns: turns(&body["messages"])?,
        tools: function_tools(&body["tools"]),
        format,
        max_tokens: most(&body["options"]["num_predict"]),
        stream: body["stream"] != false,
        stream_usage: true,
    })
}

fn last(asked: &Asked, said: &Said, content: &str) -> Value {
    let call =
        |call: &crate::model::said::ToolCall| json!({ "function": { "name": call.name, "arguments": call.arguments } });
    let mut message = json!({ "role": "assistant", "content": content });
    if !said.tool_calls.is_empty() {
        message["tool_calls"] = said.tool_calls.iter().map(call).collect();
    }
    json!({
        "model": asked.model,
        "message": message,
        "done": true,
        "done_reason": if said.cut { "length" } else { "stop" },
        "prompt_eval_count": asked.tokens(),
        "eval_count": said.tokens(),
    })
}

fn write(asked: &Asked, said: &Said) -> Written {
    Written::Whole(last(asked, said, &said.text))
}

fn stream(asked: &Asked, said: &Said) -> Written {
    let part = |piece: &str| {
        let message = json!({ "role": "assistant", "content": piece });
        format!("{}\n", json!({ "model": asked.model, "message": message, "done": false }))
    };
    let mut out: Vec<String> = pieces(&said.text).into_iter().map(part).collect();
    out.push(format!("{}\n", last(asked, said, "")));
    Written::Pieces { kind: "application/x-ndjson", pieces: out }
}

fn error(_status: u16, message: &str) -> Value {
    json!({ "error": message })
}
