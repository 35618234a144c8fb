//! Collecting by asking again and again. What may pass is waited out; what the service says about
//! the work itself is final.

use std::time::Duration;

use minijinja::Value;
use minijinja::value::Serde;

use windrow_model::{ErrorClass, Failure, Json};

use super::config::PollConfig;
use super::exchange::{Exchange, Reply};
use super::handed_in::HandedIn;
use super::reading::Reading;
use super::{template, untemplated, wrong};
use crate::definition::component::condition_template;
use crate::target::Collected;
use windrow_jobfile::http_client::Request;
use windrow_jobfile::http_client::failure::{retry_after_ms, shorten};
use windrow_jobfile::template::Template;

pub struct Poll {
    url: Template,
    until: Condition,
    failed: Option<Condition>,
    interval: Duration,
    patience: Duration,
}

impl Poll {
    pub fn new(config: &PollConfig) -> Result<Self, Failure> {
        Ok(Self {
            url: template(&config.url)?,
            until: Condition::new(&config.until)?,
            failed: config.failed.as_deref().map(Condition::new).transpose()?,
            interval: config.interval.to_std().max(Duration::from_millis(10)),
            patience: config.timeout.to_std(),
        })
    }

    pub async fn collect(
        &self,
        request: &Request,
        handed_in: &HandedIn,
        exchange: &Exchange,
        reading: &Reading,
    ) -> Result<Collected, Failure> {
        let seen = Value::from_pairs([
            ("response", Value::from(Serde(&handed_in.response))),
            ("headers", Value::from(Serde(&handed_in.headers))),
        ]);
        let place = self.url.render(&seen).map_err(untemplated)?;
        let url = exchange.url(&request.url)?.join(&place).map_err(|error| wrong(format!("{place:?}: {error}")))?;
        loop {
            // Asked at least once: the result may have come while no process was running.
            let left = handed_in.time_left(self.patience);
            let wait = match exchange.look(request, url.clone()).await.and_then(Reply::good) {
                Ok(reply) => match self.judge(&reply, handed_in, reading)? {
                    Some(collected) => return Ok(collected),
                    None => retry_after_ms(&reply.headers),
                },
                Err(failure) if may_pass(&failure) => failure.retry_after_ms,
                Err(failure) => return Err(failure),
            };
            if left.is_zero() {
                return Ok(Collected::Lost(handed_in.late(self.patience)));
            }
            let asked = Duration::from_millis(wait.unwrap_or(0).max(0) as u64);
            tokio::time::sleep(self.interval.max(asked).min(left)).await;
        }
    }

    fn judge(&self, reply: &Reply, handed_in: &HandedIn, reading: &Reading) -> Result<Option<Collected>, Failure> {
        let response = reply.value();
        if let Some(failed) = &self.failed
            && failed.holds(&response, reply.status)?
        {
            return Ok(Some(Collected::Lost(rejected(&reply.body))));
        }
        if !self.until.holds(&response, reply.status)? {
            return Ok(None);
        }
        let mut answer = reading.answer(reply)?;
        answer.latency_ms = handed_in.elapsed_ms();
        Ok(Some(Collected::Answer(answer)))
    }
}

/// The service did the work and says that it failed.
pub fn rejected(body: &str) -> Failure {
    let detail = Json::of(&serde_json::json!({ "body": shorten(body, 4096) }));
    Failure::new(ErrorClass::Server, "the service says that the work failed").with_detail(detail)
}

fn may_pass(failure: &Failure) -> bool {
    let passing = [ErrorClass::Network, ErrorClass::Timeout, ErrorClass::Server, ErrorClass::RateLimited];
    passing.contains(&failure.class)
}

/// An expression over an answer.
pub struct Condition {
    text: String,
    template: Template,
}

impl Condition {
    pub fn new(text: &str) -> Result<Self, Failure> {
        Ok(Self { text: text.to_owned(), template: template(&condition_template(text))? })
    }

    pub fn holds(&self, response: &serde_json::Value, status: u16) -> Result<bool, Failure> {
        let seen = Value::from_pairs([("response", Value::from(Serde(response))), ("status", Value::from(status))]);
        let rendered = self.template.render(&seen).map_err(|error| {
            let message = format!("`{}` cannot be decided: {}", self.text, error.message);
            Failure::new(ErrorClass::InvalidOutput, message)
                .with_detail(Json::of(&serde_json::json!({ "status": status, "body": response })))
        })?;
        Ok(!rendered.is_empty())
    }
}
