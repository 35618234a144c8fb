//! Vectors of texts from an endpoint that makes them in OpenAI's form. All texts of a request go in
//! one call.

use std::sync::Arc;

use reqwest::header::HeaderMap;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use windrow_model::limit::Demand;
use windrow_model::step::{ContentKey, Usage};
use windrow_model::{ErrorClass, Failure, Json};

use super::provider::{PROVIDERS, Provider};
use super::settings::Settings;
use super::{Credentials, SETTINGS, wrong};
use crate::context::{ComponentContext, Place, Rehearsal};
use crate::definition::component::Component;
use crate::target::account::Account;
use crate::target::thaw;
use windrow_jobfile::http_client::failure::Unusable;
use windrow_jobfile::http_client::{self, Secret, failure};
use windrow_jobfile::prices::{Prices, Tokens};

pub struct Embeddings {
    client: reqwest::Client,
    url: reqwest::Url,
    place: Place,
    headers: HeaderMap,
    secret: Secret,
    provider: &'static str,
    model: String,
    params: Map<String, Value>,
    pub identity: String,
    prices: Arc<Prices>,
    account: Account,
    rehearsal: Option<Rehearsal>,
}

#[derive(Deserialize)]
struct Reply {
    #[serde(default)]
    data: Vec<Vector>,
    usage: Option<Used>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Vector {
    #[serde(default)]
    index: usize,
    embedding: Vec<f64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Used {
    prompt_tokens: i64,
}

/// Whether vectors can be had of this target.
pub fn has_embeddings(kind: &str) -> bool {
    provider(kind).is_some_and(|provider| provider.dialect.embeddings.is_some())
}

fn provider(kind: &str) -> Option<&'static Provider> {
    PROVIDERS.iter().find(|provider| provider.name == kind)
}

impl Embeddings {
    /// They share the limits of their credential with all else that uses it.
    pub fn demand(&self, request: &Json) -> Demand {
        self.account.demand(request)
    }

    pub fn build(model: Component, context: &ComponentContext) -> Result<Self, Failure> {
        let found = provider(&model.kind).and_then(|provider| Some((provider, provider.dialect.embeddings?)));
        let (provider, path) = found.ok_or_else(|| wrong(format!("`{}` has no embeddings", model.kind)))?;
        let settings: Settings = thaw(model.config)?;
        let environment = &context.environment;
        let resolve = |text: &str| environment.resolve(text).map_err(|error| wrong(error.to_string()));
        let base_url = resolve(&settings.base_url(provider))?;
        let key = settings.key(provider, &base_url, environment);
        let key = key.map_err(|error| Failure::new(ErrorClass::Auth, error))?;
        let Credentials { headers, key, secret } = Credentials::new(&settings, provider, key, environment)?;
        Ok(Self {
            client: http_client::client(&base_url, settings.timeout.unwrap_or(context.timeout).to_std())?,
            url: http_client::web_url(&format!("{}{path}", provider.endpoint(&base_url))).map_err(wrong)?,
            place: context.place(provider.name),
            headers,
            // A vector is no text: nothing is reserved for an answer.
            account: Account::new(&base_url, key.as_deref(), settings.limits, Some(0)),
            secret,
            provider: provider.name,
            model: resolve(&settings.model)?,
            identity: settings.identity(provider),
            params: settings.params,
            prices: context.prices.clone(),
            rehearsal: context.rehearsal.clone(),
        })
    }

    pub fn request(&self, texts: &[&str]) -> Json {
        let mut body = self.params.clone();
        body.extend([("model".to_owned(), json!(self.model)), ("input".to_owned(), json!(texts))]);
        Json::of(&body)
    }

    /// One vector per text, in their order.
    pub async fn call(
        &self,
        request: &Json,
        texts: usize,
        key: &ContentKey,
    ) -> Result<(Vec<Vec<f64>>, Usage), Failure> {
        if let Some(rehearsal) = &self.rehearsal {
            let tokens = Tokens { input: rehearsal.tokens_in(request), ..Tokens::default() };
            return Ok((vec![vec![1.0]; texts], self.used(tokens)));
        }
        self.send(request, texts, key).await.map_err(|failure| self.secret.redact_failure(failure))
    }

    async fn send(&self, request: &Json, texts: usize, key: &ContentKey) -> Result<(Vec<Vec<f64>>, Usage), Failure> {
        let broken = |error: reqwest::Error| {
            let is_connect = error.is_connect();
            self.place.unreachable(is_connect, failure::of_transport(error, &self.url), SETTINGS[0])
        };
        let post = self.client.post(self.url.clone()).headers(self.headers.clone());
        let mut post = post.header("idempotency-key", key.to_string()).body(request.as_str().to_owned());
        if let Some(span) = http_client::current_span() {
            post = post.header(http_client::TRACEPARENT, span.traceparent());
            span.note(("gen_ai.operation.name", "embeddings".into()));
            span.note(("gen_ai.request.model", self.secret.redact(self.model.clone()).into()));
        }
        let reply = post.send().await.map_err(broken)?;
        let (status, headers) = (reply.status(), reply.headers().clone());
        let body = self.secret.redact(http_client::read_body(reply).await.map_err(broken)?);
        if !status.is_success() {
            let failure = failure::naming(&self.url, failure::of_status(status.as_u16(), &headers, &body));
            return Err(self.place.rejected(status.as_u16(), failure, SETTINGS));
        }
        let Reply { data, usage, .. } =
            read(&body, texts).map_err(|error| failure::of_answer(error, &headers, &body))?;
        let tokens = Tokens { input: usage.unwrap_or_default().prompt_tokens, ..Tokens::default() };
        Ok((data.into_iter().map(|vector| vector.embedding).collect(), self.used(tokens)))
    }

    fn used(&self, tokens: Tokens) -> Usage {
        let cost_nanos = self.prices.cost(self.provider, &self.model, &tokens).unwrap_or(0);
        Usage { tokens_in: tokens.input, tokens_out: 0, cost_nanos }
    }
}

fn read(body: &str, texts: usize) -> Result<Reply, Unusable> {
    let mut reply: Reply = serde_json::from_str(body).map_err(|error| Unusable::Malformed(error.to_string()))?;
    if let Some(error) = &reply.error {
        let code = error["code"].as_u64().and_then(|code| u16::try_from(code).ok());
        return Err(Unusable::Error { code });
    }
    reply.data.sort_by_key(|vector| vector.index);
    let same_length = reply.data.windows(2).all(|pair| pair[0].embedding.len() == pair[1].embedding.len());
    match reply.data.len() == texts && same_length {
        true => Ok(reply),
        false => Err(Unusable::Malformed(format!("{} vectors came for {texts} texts", reply.data.len()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_put_in_the_order_of_their_texts() {
        let body = r#"{"data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0]}]}"#;
        let Ok(reply) = read(body, 2) else { panic!("it can be read") };
        assert_eq!(reply.data[0].embedding, [1.0, 0.0]);
        assert!(matches!(read(body, 3), Err(Unusable::Malformed(_))));
        assert!(matches!(read(r#"{"error": {"code": 503}}"#, 2), Err(Unusable::Error { code: Some(503) })));
    }
}
