//! Chat models of all providers. The request is written once, recorded and sent as it is.

mod dialect;
mod embeddings;
mod provider;
mod provider_settings;
mod settings;
mod showing;

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use windrow_model::limit::Demand;
use windrow_model::step::{ContentKey, Usage};
use windrow_model::trace::{self, CallSpan};
use windrow_model::{ErrorClass, Failure, Json};

pub use embeddings::{Embeddings, has_embeddings};
pub use provider::{PROVIDERS, Provider};
pub use settings::Settings;

use super::account::Account;
use super::{Answer, ComponentContext, Question, Target, thaw};
use crate::context::Place;
use dialect::{Asking, Dialect, Said};
use provider::KeyHeader;
use showing::Showing;
use windrow_jobfile::environment::{Environment, Resolved};
use windrow_jobfile::http_client::{self, Frames, Secret, failure, ms_since};
use windrow_jobfile::prices::Prices;

/// Where the address, the key and the model are set.
const SETTINGS: [&str; 3] = ["base_url", "api_key", "model"];

pub struct Chat {
    client: reqwest::Client,
    url: reqwest::Url,
    /// As in the job file, for messages.
    base: reqwest::Url,
    place: Place,
    headers: HeaderMap,
    secret: Secret,
    account: Account,
    provider: &'static Provider,
    dialect: &'static Dialect,
    model: String,
    settings: Settings,
    identity: String,
    prices: Arc<Prices>,
}

/// An answer that came whole, or as a stream put together again.
struct Received {
    said: Said,
    latency_ms: i64,
    first_token_ms: Option<i64>,
}

impl Chat {
    pub fn build(
        provider: &'static Provider,
        config: Value,
        context: &ComponentContext,
    ) -> Result<Arc<dyn Target>, Failure> {
        let settings: Settings = thaw(config)?;
        let environment = &context.environment;
        let resolve = |text: &str| environment.resolve(text).map_err(|error| wrong(error.to_string()));
        let base_url = resolve(&settings.base_url(provider))?;
        let model = resolve(&settings.model)?;
        let key = settings.key(provider, &base_url, environment);
        let key = key.map_err(|error| Failure::new(ErrorClass::Auth, error))?;
        let path = (provider.dialect.path)(&Asking { model: &model, settings: &settings });
        let url = http_client::web_url(&format!("{}{path}", provider.endpoint(&base_url))).map_err(wrong)?;
        let Credentials { headers, key, secret } = Credentials::new(&settings, provider, key, environment)?;
        let timeout = settings.timeout.unwrap_or(context.timeout).to_std();
        Ok(Arc::new(Self {
            client: http_client::client(&base_url, timeout)?,
            url,
            base: http_client::web_url(&base_url).map_err(wrong)?,
            place: context.place(provider.name),
            headers,
            account: Account::new(&base_url, key.as_deref(), settings.limits, settings.max_reply()),
            secret,
            provider,
            dialect: provider.dialect,
            identity: settings.identity(provider),
            model,
            settings,
            prices: context.prices.clone(),
        }))
    }

    async fn send(&self, request: &Json, key: &ContentKey) -> Result<Received, Failure> {
        let started = Instant::now();
        let mut post = self
            .client
            .post(self.url.clone())
            .headers(self.headers.clone())
            .header("idempotency-key", key.to_string())
            .body(request.as_str().to_owned());
        let span = http_client::current_span();
        if let Some(span) = &span {
            post = post.header(http_client::TRACEPARENT, span.traceparent());
            self.describe(&**span);
        }
        let reply = post.send().await.map_err(|error| self.broken(error))?;
        let (status, headers) = (reply.status(), reply.headers().clone());
        let (body, first_token_ms) = match self.settings.stream && status.is_success() {
            true => self.gather(reply, started).await?,
            false => (http_client::read_body(reply).await.map_err(|error| self.broken(error))?, None),
        };
        let latency_ms = ms_since(started);
        // Cleaned before anything is taken from it, so that no copy can hold the key.
        let body = self.secret.redact(body);
        if !status.is_success() {
            let failure = failure::naming(&self.url, failure::of_status(status.as_u16(), &headers, &body));
            return Err(self.place.rejected(status.as_u16(), failure, SETTINGS));
        }
        let said = (self.dialect.read)(&body).map_err(|unusable| failure::of_answer(unusable, &headers, &body))?;
        if let Some(span) = span {
            span.note(("http.response.status_code", i64::from(status.as_u16()).into()));
            said.model.iter().for_each(|model| span.note(("gen_ai.response.model", model.as_str().into())));
            let reasons = said.finish_reason.iter().cloned().collect();
            span.note(("gen_ai.response.finish_reasons", trace::Value::Texts(reasons)));
        }
        Ok(Received { said, latency_ms, first_token_ms })
    }

    fn broken(&self, error: reqwest::Error) -> Failure {
        let is_connect = error.is_connect();
        self.place.unreachable(is_connect, failure::of_transport(error, &self.base), SETTINGS[0])
    }

    /// By the semantic conventions for generative AI; nothing of what is said.
    fn describe(&self, span: &dyn CallSpan) {
        span.note(("gen_ai.operation.name", "chat".into()));
        span.note(("gen_ai.provider.name", self.provider.in_traces().into()));
        span.note(("gen_ai.request.model", self.secret.redact(self.model.clone()).into()));
        self.url.host_str().into_iter().for_each(|host| span.note(("server.address", host.into())));
        self.url
            .port_or_known_default()
            .into_iter()
            .for_each(|port| span.note(("server.port", i64::from(port).into())));
    }

    /// A stream as the answer it would have been in one piece, and when its first word came.
    async fn gather(&self, mut reply: reqwest::Response, started: Instant) -> Result<(String, Option<i64>), Failure> {
        let mut frames = Frames::new(self.dialect.framing);
        let (mut whole, mut first_token_ms) = (Value::Null, None);
        let add = |message: &str, whole: &mut Value, first_token_ms: &mut Option<i64>| {
            // `[DONE]` and the like are not JSON and say nothing.
            let Ok(piece @ Value::Object(_)) = serde_json::from_str(message) else { return };
            if (self.dialect.gather)(whole, piece) && first_token_ms.is_none() {
                *first_token_ms = Some(ms_since(started));
            }
        };
        let mut showing = Showing::new(http_client::current_shown());
        loop {
            let so_far = || self.secret.redact_arriving(&(self.dialect.said)(&whole));
            let chunk = showing.while_waiting(reply.chunk(), so_far).await;
            let Some(chunk) = chunk.map_err(|error| self.broken(error))? else { break };
            let messages = frames
                .take(&chunk)
                .ok_or_else(|| Failure::new(ErrorClass::InvalidOutput, "the stream is longer than any answer"))?;
            messages.iter().for_each(|message| add(message, &mut whole, &mut first_token_ms));
            showing.arrived();
        }
        frames.rest().iter().for_each(|message| add(message, &mut whole, &mut first_token_ms));
        match (self.dialect.is_whole)(&whole) {
            true => Ok((whole.to_string(), first_token_ms)),
            false => Err(Failure::new(ErrorClass::Network, "the stream ended before the answer did")),
        }
    }
}

#[async_trait]
impl Target for Chat {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn is_paid(&self) -> bool {
        true
    }

    fn demand(&self, request: &Json) -> Option<Demand> {
        Some(self.account.demand(request))
    }

    fn request(&self, question: &Question<'_>) -> Result<Json, Failure> {
        Ok((self.dialect.body)(&Asking { model: &self.model, settings: &self.settings }, question.messages))
    }

    async fn call(&self, request: &Json, key: &ContentKey) -> Result<Answer, Failure> {
        let received = self.send(request, key).await.map_err(|failure| self.secret.redact_failure(failure))?;
        let Received { said, latency_ms, first_token_ms } = received;
        // The name the answer gives is more exact than the one that was asked for, where it is known.
        let cost = said.model.as_deref().and_then(|model| self.prices.cost(self.provider.name, model, &said.tokens));
        let cost = cost.or_else(|| self.prices.cost(self.provider.name, &self.model, &said.tokens));
        let used =
            Usage { tokens_in: said.tokens.input, tokens_out: said.tokens.output, cost_nanos: cost.unwrap_or(0) };
        self.account.observe(&used);
        let tool_calls: Vec<Value> = said.tool_calls.iter().map(|call| call.json()).collect();
        Ok(Answer {
            content: said.content,
            finish_reason: said.finish_reason,
            model: said.model,
            latency_ms,
            first_token_ms,
            refusal: said.refusal,
            tool_calls: (!tool_calls.is_empty()).then(|| Json::of(&tool_calls)),
            usage: said.usage,
            used,
        })
    }
}

/// What goes along with every request and must not be seen in any answer.
struct Credentials {
    headers: HeaderMap,
    key: Option<String>,
    secret: Secret,
}

impl Credentials {
    fn new(
        settings: &Settings,
        provider: &Provider,
        key: Option<Resolved>,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        let (mut own, mut secrets) = (Vec::new(), Vec::new());
        for (name, value) in &settings.headers {
            let resolved = environment.resolve_secret(value).map_err(|error| wrong(error.to_string()))?;
            own.push((name.as_str(), resolved.text.clone()));
            // A header may carry a secret just as well as the key, and with words around it.
            secrets.extend(resolved.into_parts());
        }
        let plain = key.as_ref().map(|key| key.text.clone());
        let headers = headers(provider, plain.as_deref(), &own)?;
        secrets.extend(key.into_iter().flat_map(Resolved::into_parts));
        Ok(Self { headers, key: plain, secret: Secret::new(secrets) })
    }
}

fn headers(provider: &Provider, key: Option<&str>, own: &[(&str, String)]) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    for (name, value) in provider.dialect.headers {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let sensitive = |value: &str, what: &str| {
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| Failure::new(ErrorClass::Auth, format!("{what} has characters no header can carry")))?;
        value.set_sensitive(true);
        Ok::<_, Failure>(value)
    };
    if let Some(key) = key {
        let (name, value) = match provider.key_header {
            KeyHeader::Bearer => (AUTHORIZATION, format!("Bearer {key}")),
            KeyHeader::Named(name) => (HeaderName::from_static(name), key.to_owned()),
        };
        headers.insert(name, sensitive(&value, "the API key")?);
    }
    for (name, value) in own {
        let named: HeaderName = name.parse().map_err(|_| wrong(format!("{name:?} cannot be a header's name")))?;
        headers.insert(named, sensitive(value, &format!("the header {name}"))?);
    }
    Ok(headers)
}

fn wrong(message: String) -> Failure {
    Failure::new(ErrorClass::InvalidRequest, message)
}
