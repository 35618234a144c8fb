//! What is taken from an answer, and where it stands.

use serde_json::Value;
use serde_json_path::JsonPath;

use windrow_model::record::nanos;
use windrow_model::step::Usage;
use windrow_model::{Failure, Json};

use super::config::{HttpConfig, UsagePaths};
use super::exchange::Reply;
use crate::target::Answer;
use windrow_jobfile::http_client::failure::{self, Unusable};

pub struct Reading {
    output: Option<JsonPath>,
    error: Option<JsonPath>,
    tool_calls: Option<JsonPath>,
    tokens_in: Option<JsonPath>,
    tokens_out: Option<JsonPath>,
    dollars: Option<JsonPath>,
}

impl Reading {
    pub fn new(config: &HttpConfig) -> Result<Self, String> {
        let path = |path: &Option<String>| {
            let parsed = path.as_deref().map(JsonPath::parse).transpose();
            parsed.map_err(|error| format!("{path:?} is not a JSONPath query: {error}"))
        };
        let UsagePaths { input, output, cost } = config.usage.clone().unwrap_or_default();
        Ok(Self {
            output: path(&config.output)?,
            error: path(&config.error)?,
            tool_calls: path(&config.tool_calls)?,
            tokens_in: path(&input)?,
            tokens_out: path(&output)?,
            dollars: path(&cost)?,
        })
    }

    pub fn answer(&self, reply: &Reply) -> Result<Answer, Failure> {
        let value = reply.value();
        let unusable = |why: Unusable| failure::of_answer(why, &reply.headers, &reply.body);
        let error = self.error.as_ref().and_then(|path| path.query(&value).first());
        if let Some(error) = error.filter(|error| !error.is_null() && **error != Value::Bool(false)) {
            return Err(unusable(Unusable::Malformed(format!("it reports an error: {}", text(error)))));
        }
        let content = match &self.output {
            None => reply.body.clone(),
            Some(path) => match path.query(&value).all().as_slice() {
                [] => return Err(unusable(Unusable::Malformed("`output` selects nothing in it".to_owned()))),
                [one] => text(one),
                several => Value::Array(several.iter().map(|one| (*one).clone()).collect()).to_string(),
            },
        };
        let number = |path: &Option<JsonPath>| path.as_ref().and_then(|path| path.query(&value).first()?.as_f64());
        let tool_calls = self.tool_calls.as_ref().and_then(|path| path.query(&value).first());
        Ok(Answer {
            content,
            latency_ms: reply.latency_ms,
            tool_calls: tool_calls.filter(|calls| !calls.is_null()).map(Json::of),
            used: Usage {
                tokens_in: number(&self.tokens_in).unwrap_or(0.0) as i64,
                tokens_out: number(&self.tokens_out).unwrap_or(0.0) as i64,
                cost_nanos: nanos(number(&self.dollars).unwrap_or(0.0)),
            },
            ..Answer::default()
        })
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
