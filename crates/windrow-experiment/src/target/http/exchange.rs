//! One HTTP exchange. What is recorded holds references where a secret is; they are filled in here,
//! on the way out, and taken out of everything that comes back.

use std::time::Instant;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde_json::Value;

use windrow_model::step::ContentKey;
use windrow_model::{ErrorClass, Failure};

use super::config::HttpConfig;
use super::wrong;
use crate::context::Place;
use windrow_jobfile::duration::Duration;
use windrow_jobfile::environment::{Environment, has_reference};
use windrow_jobfile::http_client::{self, Request, Secret, failure, ms_since};

pub struct Reply {
    /// Where it came from, and where that is set; a callback has neither.
    pub from: Option<(Url, Place)>,
    pub status: u16,
    pub headers: HeaderMap,
    pub body: String,
    pub latency_ms: i64,
}

impl Reply {
    pub fn good(self) -> Result<Self, Failure> {
        match self.status {
            200..300 => Ok(self),
            status => {
                let failure = failure::of_status(status, &self.headers, &self.body);
                Err(match self.from {
                    Some((url, place)) => place.rejected(status, failure::naming(&url, failure), SETTINGS),
                    None => failure,
                })
            }
        }
    }

    /// A body that is no JSON is a text.
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| Value::String(self.body.clone()))
    }
}

/// Where the address and the credential are set; what is asked of the service is in its address.
const SETTINGS: [&str; 3] = ["url", "headers", "url"];

pub struct Exchange {
    place: Place,
    client: reqwest::Client,
    /// The reference a URL begins with, and what it stands for.
    prefix: (String, String),
    /// Headers that are secret; they go to the service's own origin only.
    secret_headers: HeaderMap,
    secret: Secret,
}

impl Exchange {
    pub fn new(
        config: &HttpConfig,
        timeout: Duration,
        environment: &Environment,
        place: Place,
    ) -> Result<Self, Failure> {
        let resolve = |text: &str| environment.resolve(text).map_err(|error| wrong(error.to_string()));
        let (prefix, rest) = config.split_url();
        let base = resolve(prefix)?;
        let mut secret_headers = HeaderMap::new();
        let mut secrets = Vec::new();
        for (name, value) in config.headers.iter().filter(|(_, value)| has_reference(value)) {
            let value = environment.resolve_secret(value).map_err(|error| wrong(error.to_string()))?;
            secret_headers.insert(header_name(name)?, header_value(name, &value.text)?);
            // `Bearer x` comes back as `x` too.
            secrets.extend(value.text.split_whitespace().map(str::to_owned));
            secrets.extend(value.into_parts());
        }
        Ok(Self {
            place,
            client: http_client::client(
                &format!("{base}{}", rest.split("{{").next().unwrap_or_default()),
                timeout.to_std(),
            )?,
            prefix: (prefix.to_owned(), base),
            secret_headers,
            secret: Secret::new(secrets),
        })
    }

    /// The URL as it is called, with what the environment says.
    pub fn url(&self, recorded: &str) -> Result<Url, Failure> {
        let whole = match recorded.strip_prefix(self.prefix.0.as_str()).filter(|_| !self.prefix.0.is_empty()) {
            Some(rest) => format!("{}{rest}", self.prefix.1),
            None => recorded.to_owned(),
        };
        http_client::web_url(&whole).map_err(wrong)
    }

    pub async fn send(&self, request: &Request, key: Option<&ContentKey>) -> Result<Reply, Failure> {
        let method: Method =
            request.method.parse().map_err(|_| wrong(format!("{:?} is not a method", request.method)))?;
        let url = self.url(&request.url)?;
        let headers = self.headers(request, key, true)?;
        self.exchange(method, url, headers, request.body.as_ref()).await
    }

    /// A GET of another place, with the same headers. Secrets stay with the service they belong to.
    pub async fn look(&self, request: &Request, url: Url) -> Result<Reply, Failure> {
        let home = self.url(&request.url)?.origin() == url.origin();
        let headers = self.headers(request, None, home)?;
        self.exchange(Method::GET, url, headers, None).await
    }

    pub fn redact(&self, text: String) -> String {
        self.secret.redact(text)
    }

    fn headers(&self, request: &Request, key: Option<&ContentKey>, home: bool) -> Result<HeaderMap, Failure> {
        let mut headers = if home { self.secret_headers.clone() } else { HeaderMap::new() };
        for (name, value) in &request.headers {
            headers.insert(header_name(name)?, header_value(name, value)?);
        }
        if let Some(key) = key {
            headers.entry("idempotency-key").or_insert(header_value("idempotency-key", &key.to_string())?);
        }
        if let Some(span) = http_client::current_span() {
            headers
                .entry(http_client::TRACEPARENT)
                .or_insert(header_value(http_client::TRACEPARENT, &span.traceparent())?);
        }
        Ok(headers)
    }

    /// Some headers are recorded too, and a service may repeat a secret in any.
    fn clean(&self, mut headers: HeaderMap) -> HeaderMap {
        for value in headers.values_mut() {
            let clean = value.to_str().ok().map(|text| self.secret.redact(text.to_owned()));
            if let Some(clean) = clean.and_then(|text| HeaderValue::from_str(&text).ok()) {
                *value = clean;
            }
        }
        headers
    }

    async fn exchange(
        &self,
        method: Method,
        url: Url,
        headers: HeaderMap,
        body: Option<&Value>,
    ) -> Result<Reply, Failure> {
        let started = Instant::now();
        let mut request = self.client.request(method, url.clone());
        if let Some(body) = body {
            let (kind, text) = match body {
                Value::String(text) if serde_json::from_str::<Value>(text).is_err() => {
                    ("text/plain; charset=utf-8", text.clone())
                }
                Value::String(json) => ("application/json", json.clone()),
                json => ("application/json", json.to_string()),
            };
            if !headers.contains_key(CONTENT_TYPE) {
                request = request.header(CONTENT_TYPE, kind);
            }
            request = request.body(text);
        }
        let failed = |error: reqwest::Error| {
            let is_connect = error.is_connect();
            let failure = self.secret.redact_failure(failure::of_transport(error, &url));
            self.place.unreachable(is_connect, failure, SETTINGS[0])
        };
        let reply = request.headers(headers).send().await.map_err(failed)?;
        let (status, headers) = (reply.status().as_u16(), self.clean(reply.headers().clone()));
        let body = http_client::read_body(reply).await.map_err(failed)?;
        let (from, body) = (Some((url.clone(), self.place.clone())), self.secret.redact(body));
        Ok(Reply { from, status, headers, body, latency_ms: ms_since(started) })
    }
}

fn header_name(name: &str) -> Result<HeaderName, Failure> {
    name.parse().map_err(|_| wrong(format!("{name:?} cannot be a header's name")))
}

fn header_value(name: &str, value: &str) -> Result<HeaderValue, Failure> {
    let bad = || Failure::new(ErrorClass::InvalidRequest, format!("the header {name} has characters it cannot carry"));
    let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
    value.set_sensitive(true);
    Ok(value)
}
