//! HTTP as handlers use it. What matters about a failed exchange is whether it can have had an effect.

use std::time::Duration;

use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use windrow_jobfile::http_client::{self, Request, Secret, failure};
use windrow_jobfile::resolved_refs::ResolvedRefs;
use windrow_model::{ErrorClass, Failure, Json};

/// An exchange that brought no good answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Miss {
    /// It never left.
    Unsent(Failure),
    /// It left, and what came of it is not refs.
    Lost(Failure),
    /// The service said no.
    Refused { status: u16, failure: Failure },
}

impl Miss {
    pub fn failure(self) -> Failure {
        match self {
            Miss::Unsent(failure) | Miss::Lost(failure) | Miss::Refused { failure, .. } => failure,
        }
    }
}

pub struct Web {
    client: reqwest::Client,
    refs: ResolvedRefs,
    secret: Secret,
    /// What the references stand for is hidden in good answers too.
    redacts: bool,
    /// A 404 that is not JSON comes from a server in which the service has not started yet.
    refuses_in_json: bool,
}

impl Web {
    /// `base_url` decides whether a proxy is used.
    pub fn new(base_url: &str, timeout: Duration, refs: ResolvedRefs) -> Result<Self, Failure> {
        Ok(Self {
            client: http_client::client(&refs.fill(base_url), timeout)?,
            secret: refs.secret(),
            refs,
            redacts: true,
            refuses_in_json: false,
        })
    }

    /// The service itself refuses in JSON only. A worker of Kafka Connect answers everything with a page of its web
    /// server, 404, for the seconds in which it starts.
    pub fn refusing_in_json(self) -> Self {
        Self { refuses_in_json: true, ..self }
    }

    /// Answers are taken as they are, where whoever takes them seals them.
    pub fn unredacted(self) -> Self {
        Self { redacts: false, ..self }
    }

    pub fn refs(&self) -> &ResolvedRefs {
        &self.refs
    }

    pub async fn send(&self, request: &Request, key: Option<&str>) -> Result<Value, Miss> {
        let (url, headers) = self.fill(request, key).map_err(Miss::Unsent)?;
        let secret = &self.secret;
        let method: Method =
            request.method.parse().map_err(|_| Miss::Unsent(wrong(format!("{:?} is not a method", request.method))))?;
        let mut call = self.client.request(method, url.clone()).headers(headers);
        if let Some(body) = &request.body {
            call = call.header(CONTENT_TYPE, "application/json").body(self.refs.fill_json(body).to_string());
        }
        let reply = match call.send().await {
            Ok(reply) => reply,
            Err(error) => {
                let unsent = error.is_connect() || error.is_builder();
                let failed_to_connect = error.is_connect() && !error.is_builder();
                let failure = secret.redact_failure(failure::of_transport(error, &url));
                let failure = if failed_to_connect { away(failure, &url) } else { failure };
                return Err(if unsent { Miss::Unsent(failure) } else { Miss::Lost(failure) });
            }
        };
        let (status, headers) = (reply.status().as_u16(), reply.headers().clone());
        let body = http_client::read_body(reply).await;
        let body = body.map_err(|error| Miss::Lost(secret.redact_failure(failure::of_transport(error, &url))))?;
        let good = (200..300).contains(&status);
        let body = if good && !self.redacts { body } else { secret.redact(body) };
        match status {
            200..300 if body.trim().is_empty() => Ok(Value::Null),
            200..300 => Ok(serde_json::from_str(&body).unwrap_or(Value::String(body))),
            // Whoever stands before the service has lost sight of it.
            502..505 => Err(Miss::Lost(away(failure::of_status(status, &headers, &body), &url))),
            404 if self.refuses_in_json && serde_json::from_str::<Value>(&body).is_err() => {
                let message = format!(
                    "{url} is not there (404), and this is not Kafka Connect's own word: it is starting, or the URL is wrong"
                );
                Err(Miss::Unsent(away(Failure::new(ErrorClass::Network, message), &url)))
            }
            500.. => Err(Miss::Lost(failure::naming(&url, failure::of_status(status, &headers, &body)))),
            _ => Err(Miss::Refused {
                status,
                failure: failure::naming(&url, failure::of_status(status, &headers, &body)),
            }),
        }
    }

    fn fill(&self, request: &Request, key: Option<&str>) -> Result<(reqwest::Url, HeaderMap), Failure> {
        let url = http_client::web_url(&self.refs.fill(&request.url)).map_err(wrong)?;
        let mut headers = HeaderMap::new();
        for (name, value) in &request.headers {
            let bad = || wrong(format!("the header {name} cannot be sent"));
            let parsed: HeaderName = name.parse().map_err(|_| bad())?;
            headers.insert(parsed, HeaderValue::from_str(&self.refs.fill(value)).map_err(|_| bad())?);
        }
        if let Some(key) = key {
            headers.entry("idempotency-key").or_insert(HeaderValue::from_str(key).expect("a key is plain text"));
        }
        Ok((url, headers))
    }
}

const ENDPOINT: &str = "endpoint";

/// Nobody was there to answer; that says nothing about the request.
fn away(failure: Failure, url: &reqwest::Url) -> Failure {
    let endpoint = format!("{}:{}", url.host_str().unwrap_or("?"), url.port_or_known_default().unwrap_or(0));
    failure.with_detail(Json::of(&serde_json::json!({ ENDPOINT: endpoint })))
}

/// The endpoint that could not be reached, if that is what failed.
pub fn unreachable(failure: &Failure) -> Option<String> {
    failure.detail.as_ref()?.value()[ENDPOINT].as_str().map(str::to_owned)
}

fn wrong(message: impl Into<String>) -> Failure {
    Failure::new(ErrorClass::InvalidRequest, message)
}
