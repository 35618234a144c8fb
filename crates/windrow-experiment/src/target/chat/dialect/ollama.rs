//! Ollama's chat.

use serde_json::{Map, Value, json};

use windrow_model::Json;

use super::{Asking, Dialect, Said, ToolCall, append, count, functions, owned, set, text_in};
use crate::definition::message::Message;
use windrow_jobfile::http_client::Framing;
use windrow_jobfile::http_client::failure::Unusable;
use windrow_jobfile::prices::Tokens;

const OPTIONS: &str = "options";

pub const OLLAMA: Dialect = Dialect {
    path: |_| "/api/chat".to_owned(),
    headers: &[],
    embeddings: None,
    body,
    read,
    framing: Framing::Lines,
    gather,
    said: |whole| text_in(whole, "/message/content"),
    is_whole: |whole| whole["done"] == true || !whole["error"].is_null(),
    unknown: &["max_completion_tokens"],
    reserved: &["model", "messages", "stream"],
};

fn body(asking: &Asking<'_>, messages: &[Message]) -> Json {
    let settings = asking.settings;
    let mut body = settings.params.clone();
    let mut options = match body.remove(OPTIONS) {
        Some(Value::Object(options)) => options,
        _ => Map::new(),
    };
    options.extend(set([
        ("temperature", json!(settings.temperature)),
        ("top_p", json!(settings.top_p)),
        ("num_predict", json!(settings.max_tokens)),
        ("seed", json!(settings.seed)),
        ("stop", json!(settings.stop)),
    ]));
    body.extend(set([
        ("model", json!(asking.model)),
        ("messages", json!(messages)),
        // Streams unless told not to.
        ("stream", json!(settings.stream)),
        (OPTIONS, if options.is_empty() { Value::Null } else { Value::Object(options) }),
        ("tools", functions(&settings.tools)),
    ]));
    Json::of(&body)
}

fn read(body: &str) -> Result<Said, Unusable> {
    let body: Value = serde_json::from_str(body).map_err(|error| Unusable::Malformed(error.to_string()))?;
    if !body["error"].is_null() {
        return Err(Unusable::Error { code: None });
    }
    let message = &body["message"];
    let content = message["content"].as_str().ok_or_else(|| Unusable::Malformed("it has no message".to_owned()))?;
    let call = |call: &Value| {
        let function = &call["function"];
        let (name, arguments) = (owned(&function["name"])?, function["arguments"].to_string());
        Some(ToolCall { id: owned(&call["id"]), name, arguments })
    };
    let counts = ["prompt_eval_count", "eval_count", "total_duration", "load_duration"];
    let usage: Map<String, Value> =
        counts.into_iter().filter_map(|name| Some((name.to_owned(), body.get(name)?.clone()))).collect();
    Ok(Said {
        content: content.to_owned(),
        finish_reason: owned(&body["done_reason"]),
        model: owned(&body["model"]),
        refusal: false,
        tool_calls: message["tool_calls"].as_array().into_iter().flatten().filter_map(call).collect(),
        tokens: Tokens {
            input: count(&body["prompt_eval_count"]),
            cached_input: 0,
            batch: false,
            output: count(&body["eval_count"]),
        },
        usage: (!usage.is_empty()).then(|| Json::of(&usage)),
    })
}

fn gather(whole: &mut Value, mut piece: Value) -> bool {
    let mut message = match whole["message"].take() {
        Value::Null => json!({ "role": "assistant", "content": "" }),
        message => message,
    };
    let new = piece["message"].take();
    let text = new["content"].as_str().unwrap_or_default();
    append(&mut message["content"], text);
    let calls = new["tool_calls"].as_array().filter(|calls| !calls.is_empty());
    if let Some(calls) = calls {
        match message["tool_calls"].as_array_mut() {
            Some(so_far) => so_far.extend(calls.iter().cloned()),
            None => message["tool_calls"] = json!(calls),
        }
    }
    let spoke = !text.is_empty() || calls.is_some();
    *whole = piece;
    whole["message"] = message;
    spoke
}
