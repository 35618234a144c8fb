//! Records of an HTTP API, page by page. A page that fails in passing is asked for again under the plan's
//! retry policy; a page needs no memory of the one before but its position.

mod auth;
mod config;
mod paging;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Url};
use serde_json::{Value, json};
use windrow_jobfile::http_client::{self, Secret, failure, ms_since};
use windrow_jobfile::resolved_refs::ResolvedRefs;
use windrow_jobfile::spec::invalid_request;
use windrow_jobfile::templated::Templated;
use windrow_model::ingest::{Checkpoint, Slice};
use windrow_model::limit::{Demand, Limits, Permit, Response};
use windrow_model::retry::{Decision, RetryPolicy, Tried};
use windrow_model::step::ContentKey;
use windrow_model::workload::{Halt, Journal, Stopped};
use windrow_model::{ErrorClass, Failure};

use self::auth::Credential;
use self::config::{RestConfig, rooted};
use self::paging::{Paging, text_of};
use super::path::Path;
use super::{Means, Page, Pages, Source, SourceKind};
use crate::record::Table;

pub const KIND: SourceKind = SourceKind { name: "rest", read: config::read, build, provenance };

/// How long a wait may take before somebody's wish to stop is noticed.
const NAP: Duration = Duration::from_millis(500);

fn build(config: Value, means: &Means<'_>) -> Result<Arc<dyn Source>, Failure> {
    let refs = ResolvedRefs::of(&config, means.environment)?;
    let config: RestConfig = serde_json::from_value(config).map_err(|error| invalid_request(error.to_string()))?;
    let url = http_client::web_url(&refs.fill(&config.url)).map_err(invalid_request)?;
    let mut headers = HeaderMap::new();
    for (name, value) in &config.headers {
        let bad = || invalid_request(format!("the header {name} cannot be sent"));
        let parsed: HeaderName = name.parse().map_err(|_| bad())?;
        headers.insert(parsed, HeaderValue::from_str(&refs.fill(value)).map_err(|_| bad())?);
    }
    let template = |value: &Value| Templated::new(value).map_err(|error| invalid_request(error.message));
    let param = |(name, value): (&String, &Value)| Ok((name.clone(), template(value)?));
    let incremental = match &config.incremental {
        None => None,
        Some(cursor) => Some(Cursor {
            param: cursor.param.clone(),
            field: Path::parse(&rooted(&cursor.field)).map_err(invalid_request)?,
            initial: cursor.initial.clone(),
        }),
    };
    Ok(Arc::new(Rest {
        api: Arc::new(Api {
            client: http_client::client(url.as_str(), config.timeout.to_std())?,
            method: config
                .method
                .parse()
                .map_err(|_| invalid_request(format!("{:?} is not a method", config.method)))?,
            resource: url.host_str().unwrap_or("?").to_owned(),
            url,
            headers,
            credential: Credential::of(&config.auth, &refs)?,
            records: Path::parse(&config.records).map_err(invalid_request)?,
            paging: Paging::of(&config.pagination)?,
            limits: config.limits,
            incremental,
            retry: means.retry.clone(),
            secret: refs.secret(),
        }),
        params: config.params.iter().map(param).collect::<Result<_, Failure>>()?,
        body: config.body.as_ref().map(template).transpose()?,
    }))
}

fn provenance(config: &Value) -> String {
    let url: Option<Url> = config["url"].as_str().and_then(|url| url.parse().ok());
    url.and_then(|url| Some(format!("{}{}", url.host_str()?, url.path()))).unwrap_or_else(|| "rest".to_owned())
}

struct Rest {
    api: Arc<Api>,
    params: BTreeMap<String, Templated>,
    body: Option<Templated>,
}

struct Api {
    client: Client,
    method: Method,
    url: Url,
    resource: String,
    headers: HeaderMap,
    credential: Credential,
    records: Path,
    paging: Paging,
    limits: Limits,
    incremental: Option<Cursor>,
    retry: RetryPolicy,
    secret: Secret,
}

struct Cursor {
    param: String,
    field: Path,
    initial: Option<Value>,
}

#[async_trait]
impl Source for Rest {
    async fn open(&self, slice: &Slice, at: &Checkpoint) -> Result<Box<dyn Pages>, Failure> {
        let variables = json!({ "slice": slice.variables(), "since": at.since });
        let variables = minijinja::Value::from(minijinja::value::Serde(&variables));
        let render = |template: &Templated| template.render(&variables).map_err(|error| invalid_request(error.message));
        let mut params = Vec::new();
        for (name, template) in &self.params {
            params.push((name.clone(), text_of(&render(template)?)));
        }
        let cursor = self.api.incremental.as_ref();
        if let Some((cursor, since)) = cursor.and_then(|c| Some((c, at.since.as_ref().or(c.initial.as_ref())?))) {
            params.push((cursor.param.clone(), text_of(since)));
        }
        let body = self.body.as_ref().map(render).transpose()?;
        let (position, high) = (at.position.clone(), at.high.clone());
        Ok(Box::new(RestPages { api: self.api.clone(), params, body, position, high }))
    }
}

struct RestPages {
    api: Arc<Api>,
    params: Vec<(String, String)>,
    body: Option<Value>,
    position: Option<Value>,
    high: Option<Value>,
}

/// A good answer, not yet looked at.
struct Answer {
    headers: HeaderMap,
    body: Vec<u8>,
    latency_ms: i64,
}

#[async_trait]
impl Pages for RestPages {
    async fn next(&mut self, journal: &dyn Journal) -> Result<Page, Halt> {
        let (answer, transient_errors) = self.ask_until_answered(journal).await?;
        let (headers, latency_ms, bytes_in) = (answer.headers, answer.latency_ms, answer.body.len() as i64);
        let parsing = Instant::now();
        let mut value: Value = serde_json::from_slice(&answer.body).map_err(|error| odd(format!("{error}")))?;
        // Taking the records out leaves the rest of the answer, where the next token is, in place.
        let next_at_top = matches!(self.api.paging, Paging::Token { .. });
        let early = next_at_top.then(|| self.api.paging.next(self.position.as_ref(), &headers, &value, &[]));
        let records = self.api.records.take_records(&mut value).ok_or_else(|| odd("it has no records".to_owned()))?;
        let after = match early {
            Some(next) => next,
            None => self.api.paging.next(self.position.as_ref(), &headers, &value, &records),
        };
        if after.is_some() && after == self.position {
            return Err(odd("its next page is the same page again".to_owned()).into());
        }
        if let Some(cursor) = &self.api.incremental {
            let seen = records.iter().map(|record| cursor.field.value(record)).filter(|value| !value.is_null());
            self.high = seen.chain(self.high.take()).max_by(order);
        }
        self.position = after.clone();
        Ok(Page {
            tables: vec![Table { records, ..Table::default() }],
            done: after.is_none(),
            after,
            high: self.high.clone(),
            by_token: self.api.paging.is_by_token(),
            bytes_in,
            latency_ms,
            parse_ms: ms_since(parsing),
            transient_errors,
        })
    }
}

impl RestPages {
    /// Different from page to page, so that slices that failed together do not return together.
    fn chance(&self, tries: i64) -> f64 {
        let at = json!([self.params, self.position, tries]).to_string();
        f64::from(ContentKey::of(&[at.as_bytes()]).0[0]) / 256.0
    }

    async fn ask_until_answered(&self, journal: &dyn Journal) -> Result<(Answer, i64), Halt> {
        let (mut tried, mut errors, mut renewed) = (Tried::default(), 0, false);
        loop {
            let permit = self.api.admit(journal).await?;
            let failure = match self.ask().await {
                Ok(answer) => {
                    permit.settle(Response::Ok { tokens: None });
                    return Ok((answer, errors));
                }
                Err(failure) => self.api.secret.redact_failure(failure),
            };
            permit.settle(Response::to_failure(&failure));
            if failure.class == ErrorClass::Auth && !renewed && self.api.credential.renew().await {
                renewed = true;
                continue;
            }
            errors += 1;
            match self.api.retry.decide(&failure, tried, self.chance(errors)) {
                Decision::Retry { delay_ms } => nap(delay_ms, journal).await?,
                Decision::Fail | Decision::StopRun => return Err(failure.into()),
            }
            tried.count(failure.class);
        }
    }

    async fn ask(&self) -> Result<Answer, Failure> {
        let api = &*self.api;
        let position = self.position.as_ref();
        let mut url = match api.paging.url(&api.url, position)? {
            // A link has its parameters already.
            Some(link) => link,
            None => {
                let mut url = api.url.clone();
                let paging = api.paging.param(position);
                if !self.params.is_empty() || paging.is_some() {
                    let mut query = url.query_pairs_mut();
                    query.extend_pairs(&self.params);
                    query.extend_pairs(paging);
                }
                url
            }
        };
        let mut headers = api.headers.clone();
        api.credential.sign(&mut url, &mut headers, &api.client).await?;
        let mut request = api.client.request(api.method.clone(), url.clone()).headers(headers);
        if let Some(body) = &self.body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
        }
        let started = Instant::now();
        let broken = |error| failure::of_transport(error, &url);
        let reply = request.send().await.map_err(broken)?;
        let (status, headers) = (reply.status().as_u16(), reply.headers().clone());
        let body = http_client::read_bytes(reply).await.map_err(broken)?;
        match status {
            200..300 => Ok(Answer { headers, body, latency_ms: ms_since(started) }),
            _ => Err(failure::naming(&url, failure::of_status(status, &headers, &String::from_utf8_lossy(&body)))),
        }
    }
}

impl Api {
    async fn admit(&self, journal: &dyn Journal) -> Result<Permit, Stopped> {
        let demand = Demand { resource: self.resource.clone(), limits: self.limits, tokens: 0 };
        journal.admit(demand).await
    }
}

async fn nap(ms: i64, journal: &dyn Journal) -> Result<(), Stopped> {
    let end = tokio::time::Instant::now() + Duration::from_millis(ms.max(0) as u64);
    loop {
        if journal.stopping() {
            return Err(Stopped);
        }
        let now = tokio::time::Instant::now();
        if now >= end {
            return Ok(());
        }
        tokio::time::sleep_until(end.min(now + NAP)).await;
    }
}

/// Numbers as numbers, everything else as text.
fn order(a: &Value, b: &Value) -> Ordering {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => text_of(a).cmp(&text_of(b)),
    }
}

fn odd(why: String) -> Failure {
    Failure::new(ErrorClass::InvalidOutput, format!("the answer is not what was asked for: {why}"))
}
