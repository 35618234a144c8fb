//! The answer of a chat completion.

use serde::Deserialize;
use serde_json::value::RawValue;

use windrow_model::Json;
use windrow_model::step::Usage;

use super::Answer;

/// No chat answer is this long; an endless one must not fill the memory.
const MAX_BODY: usize = 32 * 1024 * 1024;

#[derive(Debug)]
pub enum Unusable {
    /// An error object under a good status, with the HTTP status it names.
    Error {
        code: Option<u16>,
    },
    Filtered,
    Malformed(String),
}

#[derive(Deserialize)]
struct Completion {
    #[serde(default)]
    choices: Vec<Choice>,
    model: Option<String>,
    usage: Option<Box<RawValue>>,
    error: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Choice {
    message: Option<Said>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Said {
    content: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Box<RawValue>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Tokens {
    prompt_tokens: Option<i64>,
    completion_tokens: Option<i64>,
}

/// Reads no more than the limit; what is beyond makes the body unparsable, and so the answer invalid.
pub async fn read_body(mut reply: reqwest::Response) -> Result<String, reqwest::Error> {
    let mut body = Vec::with_capacity(reply.content_length().unwrap_or(1024).min(MAX_BODY as u64) as usize);
    while let Some(chunk) = reply.chunk().await? {
        if body.len() + chunk.len() > MAX_BODY {
            break;
        }
        body.extend_from_slice(&chunk);
    }
    Ok(String::from_utf8(body).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

pub fn parse(body: &str, latency_ms: i64) -> Result<Answer, Unusable> {
    let completion: Completion = serde_json::from_str(body).map_err(|error| Unusable::Malformed(error.to_string()))?;
    let Some(choice) = completion.choices.into_iter().next() else {
        return Err(match completion.error {
            Some(error) => Unusable::Error { code: error["code"].as_u64().and_then(|code| u16::try_from(code).ok()) },
            None => Unusable::Malformed("it has no choices".to_owned()),
        });
    };
    let said = choice.message.ok_or_else(|| Unusable::Malformed("its first choice has no message".to_owned()))?;
    let (content, refusal) = match (said.content, said.refusal) {
        (Some(content), _) => (content, false),
        (None, Some(refusal)) => (refusal, true),
        (None, None) if choice.finish_reason.as_deref() == Some("content_filter") => return Err(Unusable::Filtered),
        (None, None) if said.tool_calls.is_some() => (String::new(), false),
        (None, None) => return Err(Unusable::Malformed("its message has no content".to_owned())),
    };
    if content.is_empty() && choice.finish_reason.as_deref() == Some("content_filter") {
        return Err(Unusable::Filtered);
    }
    let tokens: Tokens =
        completion.usage.as_ref().and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    Ok(Answer {
        content,
        finish_reason: choice.finish_reason,
        model: completion.model,
        latency_ms,
        refusal,
        tool_calls: said.tool_calls.map(|raw| Json::from_text(raw.get())),
        usage: completion.usage.map(|raw| Json::from_text(raw.get())),
        used: Usage {
            tokens_in: tokens.prompt_tokens.unwrap_or(0),
            tokens_out: tokens.completion_tokens.unwrap_or(0),
            cost_nanos: 0,
        },
    })
}
