//! Collecting by being called. The token under which the service calls is the key of the step that
//! hands in: it is on record before the call, so a restart waits for the same one.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use windrow_model::Failure;
use windrow_model::step::ContentKey;

use super::config::CallbackConfig;
use super::exchange::{Exchange, Reply};
use super::handed_in::HandedIn;
use super::listener::Listener;
use super::poll::{Condition, rejected};
use super::reading::Reading;
use super::slot::Expected;
use super::{template, untemplated, wrong};
use crate::target::Collected;
use windrow_jobfile::http_client::Request;
use windrow_jobfile::template::Template;

/// Stand in the recorded request for what depends on the key, which is the hash of that request.
pub const TOKEN: &str = "<windrow:token>";
pub const URL: &str = "<windrow:callback_url>";

pub struct Callback {
    config: CallbackConfig,
    url: Template,
    failed: Option<Condition>,
    patience: Duration,
    /// Opened with the first call, not while a job file is only checked.
    listener: OnceLock<Arc<Listener>>,
}

impl Callback {
    pub fn new(config: &CallbackConfig) -> Result<Self, Failure> {
        let default = format!("http://{}/{{{{ token }}}}", config.listen);
        Ok(Self {
            url: template(config.url.as_deref().unwrap_or(&default))?,
            failed: config.failed.as_deref().map(Condition::new).transpose()?,
            patience: config.timeout.to_std(),
            config: config.clone(),
            listener: OnceLock::new(),
        })
    }

    /// From now on a call under this token is kept until it is collected.
    pub fn expect(&self, key: &ContentKey) -> Result<Expected, Failure> {
        Ok(self.listener()?.expect(&key.to_string(), self.patience))
    }

    /// The request with the token in the places that ask for it.
    pub fn address(&self, request: Request, key: &ContentKey) -> Result<Request, Failure> {
        let token = key.to_string();
        let seen = minijinja::Value::from_pairs([("token", token.as_str())]);
        let url = self.url.render(&seen).map_err(untemplated)?;
        let fill = |text: &str| text.replace(TOKEN, &token).replace(URL, &url);
        let body = request.body.as_ref().map(|body| filled(body, &fill));
        let headers = request.headers.iter().map(|(name, value)| (name.clone(), fill(value))).collect();
        Ok(Request { url: fill(&request.url), headers, body, ..request })
    }

    pub async fn collect(
        &self,
        handed_in: &HandedIn,
        key: &ContentKey,
        exchange: &Exchange,
        reading: &Reading,
    ) -> Result<Collected, Failure> {
        let waiting = self.listener()?.wait(&key.to_string(), self.patience);
        let Some(body) = waiting.within(handed_in.time_left(self.patience)).await else {
            return Ok(Collected::Lost(handed_in.late(self.patience)));
        };
        let body = exchange.redact(body);
        let latency_ms = handed_in.elapsed_ms();
        let reply = Reply { from: None, status: 200, headers: Default::default(), body, latency_ms };
        if let Some(failed) = &self.failed
            && failed.holds(&reply.value(), reply.status)?
        {
            return Ok(Collected::Lost(rejected(&reply.body)));
        }
        // What was called back is all there will be: if it is not an answer, the work is done again.
        Ok(match reading.answer(&reply) {
            Ok(answer) => Collected::Answer(answer),
            Err(failure) => Collected::Lost(failure),
        })
    }

    fn listener(&self) -> Result<&Arc<Listener>, Failure> {
        if let Some(listener) = self.listener.get() {
            return Ok(listener);
        }
        let opened = Listener::open(self.config.listen)
            .map_err(|error| wrong(format!("cannot listen on {} for callbacks: {error}", self.config.listen)))?;
        Ok(self.listener.get_or_init(|| opened))
    }
}

fn filled(value: &serde_json::Value, fill: &dyn Fn(&str) -> String) -> serde_json::Value {
    match value {
        serde_json::Value::String(text) => fill(text).into(),
        serde_json::Value::Array(list) => list.iter().map(|value| filled(value, fill)).collect(),
        serde_json::Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), filled(value, fill))).collect()
        }
        other => other.clone(),
    }
}
