//! `command` and `python`: code of the user answers. It is given the messages and the row, and
//! returns the answer with what it used up.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use windrow_model::record::nanos;
use windrow_model::step::{ContentKey, Usage};
use windrow_model::{ErrorClass, Failure, Json};

use super::{Answer, ComponentContext, Question, Target, thaw};
use crate::definition::component::Config;
use crate::process::{self, Frozen, Own, Process, opened};
use windrow_jobfile::canonical::canonical;
use windrow_jobfile::http_client::ms_since;

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// An object with the answer in its field `output`, or just a text.
    #[default]
    Json,
    /// Whatever it writes is the answer.
    Text,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodeConfig {
    #[serde(default)]
    pub output: Output,
}

impl Config for CodeConfig {}

impl Own for CodeConfig {
    const FIELDS: &'static [&'static str] = &["output"];
    const FUNCTION: &'static str = "answer";
}

pub struct Code {
    process: Process,
    output: Output,
    identity: String,
}

/// What the code wrote.
#[derive(Deserialize)]
#[serde(untagged)]
enum Reply {
    Text(String),
    Whole {
        output: Value,
        #[serde(default)]
        usage: Used,
        tool_calls: Option<Json>,
        /// Where the code knows better how long the model took.
        latency_ms: Option<f64>,
        model: Option<String>,
        finish_reason: Option<String>,
    },
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Used {
    tokens_in: i64,
    tokens_out: i64,
    /// Dollars.
    cost: f64,
}

impl Code {
    pub fn build(config: Value, context: &ComponentContext) -> Result<Arc<dyn Target>, Failure> {
        let frozen: Frozen<CodeConfig> = thaw(config)?;
        let identity = canonical(&json!({ "kind": "command", "code": process::identity(&frozen, &json!(frozen.own)) }));
        Ok(Arc::new(Self { process: Process::new(&frozen, context)?, output: frozen.own.output, identity }))
    }

    fn read(&self, reply: String, latency_ms: i64) -> Result<Answer, Failure> {
        if self.output == Output::Text {
            let content = reply.trim_end_matches(['\n', '\r']).to_owned();
            return Ok(Answer { content, latency_ms, ..Answer::default() });
        }
        let wrong = |error: serde_json::Error| {
            let help = "write {\"output\": \"…\"}, or set `output: text`";
            let message = format!("the reply has no answer in it: {error}; {help}");
            Failure::new(ErrorClass::InvalidOutput, message).with_detail(Json::of(&reply))
        };
        Ok(match serde_json::from_value(opened(&reply)?).map_err(wrong)? {
            Reply::Text(content) => Answer { content, latency_ms, ..Answer::default() },
            Reply::Whole { output, usage, tool_calls, latency_ms: said, model, finish_reason } => Answer {
                content: output.as_str().map_or_else(|| output.to_string(), str::to_owned),
                finish_reason,
                model,
                latency_ms: said.map_or(latency_ms, |ms| ms.round() as i64),
                tool_calls,
                used: Usage { tokens_in: usage.tokens_in, tokens_out: usage.tokens_out, cost_nanos: nanos(usage.cost) },
                ..Answer::default()
            },
        })
    }
}

#[async_trait]
impl Target for Code {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn is_paid(&self) -> bool {
        true
    }

    fn request(&self, question: &Question<'_>) -> Result<Json, Failure> {
        let Question { messages, conversation, turn, trial } = question;
        let row = minijinja::Value::from_object(conversation.variables(*turn, &[]));
        Ok(Json::of(&json!({ "messages": messages, "row": row, "turn": turn, "trial": trial })))
    }

    async fn call(&self, request: &Json, _key: &ContentKey) -> Result<Answer, Failure> {
        let started = Instant::now();
        let reply = self.process.ask(request.as_str()).await?;
        self.read(reply, ms_since(started))
    }
}
