//! Any endpoint that speaks OpenAI's chat completions. One client, and so one connection pool, per
//! program; the request is serialised once, recorded and sent as it is.

mod config;
mod failure;
mod response;
mod retry_after;
mod secret;

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use serde::Serialize;
use serde_json::Value;

use windrow_model::step::ContentKey;
use windrow_model::{ErrorClass, Failure, Json};

pub use config::OpenAiConfig;
pub use secret::Secret;

use super::{Answer, Question, Setting, Target, thaw};
use crate::experiment::message::Message;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

pub struct OpenAi {
    client: reqwest::Client,
    url: reqwest::Url,
    headers: HeaderMap,
    secret: Secret,
    model: String,
    parameters: serde_json::Map<String, Value>,
    identity: String,
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: &'a [Message],
    #[serde(flatten)]
    parameters: &'a serde_json::Map<String, Value>,
}

impl OpenAi {
    pub fn build(config: Value, setting: &Setting) -> Result<Arc<dyn Target>, Failure> {
        let config: OpenAiConfig = thaw(config)?;
        let environment = &setting.environment;
        let wrong = |message: String| Failure::new(ErrorClass::InvalidRequest, message);
        let base_url = environment.resolve(config.base_url()).map_err(|error| wrong(error.to_string()))?;
        let url = config::chat_url(&base_url).map_err(wrong)?;
        let key = config.key(&base_url, environment).map_err(|error| Failure::new(ErrorClass::Auth, error))?;
        let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        if let Some(key) = &key {
            let mut value = HeaderValue::from_str(&format!("Bearer {key}"))
                .map_err(|_| Failure::new(ErrorClass::Auth, "the API key has characters no header can carry"))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let timeout = config.timeout.unwrap_or(setting.timeout);
        // An error says that somebody installed one before, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut client = reqwest::Client::builder()
            .timeout(timeout.to_std())
            .connect_timeout(CONNECT_TIMEOUT.min(timeout.to_std()))
            // A redirected POST would arrive as a GET.
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("windrow/", env!("CARGO_PKG_VERSION")));
        if config::is_loopback(&base_url) {
            client = client.no_proxy();
        }
        let client = client.build().map_err(|error| wrong(format!("no HTTP client: {error}")))?;
        Ok(Arc::new(Self {
            client,
            url,
            headers,
            secret: Secret::new(key),
            model: environment.resolve(&config.model).map_err(|error| wrong(error.to_string()))?,
            parameters: config.parameters(),
            identity: config.identity(),
        }))
    }

    async fn send(&self, request: &Json, key: &ContentKey) -> Result<Answer, Failure> {
        let started = Instant::now();
        let sent = self
            .client
            .post(self.url.clone())
            .headers(self.headers.clone())
            .header("idempotency-key", key.to_string())
            .body(request.as_str().to_owned())
            .send()
            .await;
        let reply = sent.map_err(|error| failure::of_transport(error, &self.url))?;
        let (status, headers) = (reply.status(), reply.headers().clone());
        let body = response::read_body(reply).await.map_err(|error| failure::of_transport(error, &self.url))?;
        let latency_ms = i64::try_from(started.elapsed().as_millis()).unwrap_or(i64::MAX);
        // Cleaned before anything is taken from it, so that no copy can hold the key.
        let body = self.secret.redact(body);
        if !status.is_success() {
            return Err(failure::of_status(status.as_u16(), &headers, &body));
        }
        response::parse(&body, latency_ms).map_err(|wrong| failure::of_answer(wrong, &headers, &body))
    }
}

#[async_trait]
impl Target for OpenAi {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn is_paid(&self) -> bool {
        true
    }

    fn request(&self, question: &Question<'_>) -> Result<Json, Failure> {
        Ok(Json::of(&Body { model: &self.model, messages: question.messages, parameters: &self.parameters }))
    }

    async fn call(&self, request: &Json, key: &ContentKey) -> Result<Answer, Failure> {
        self.send(request, key).await.map_err(|failure| self.secret.redact_failure(failure))
    }
}
