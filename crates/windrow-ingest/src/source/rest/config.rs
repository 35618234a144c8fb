//! The section `source.rest` of a job file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::duration::Duration;
use windrow_jobfile::http_client::web_url;
use windrow_jobfile::job_file::{Base, Section};
use windrow_jobfile::templated::Templated;
use windrow_model::limit::Limits;

use crate::source::path::Path;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RestConfig {
    pub url: String,
    #[serde(default = "get")]
    pub method: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    #[serde(default)]
    pub auth: Auth,
    /// Where the records are in an answer.
    #[serde(default = "root")]
    pub records: String,
    #[serde(default)]
    pub pagination: Pagination,
    #[serde(default, skip_serializing_if = "Limits::are_none")]
    pub limits: Limits,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incremental: Option<Incremental>,
    /// For one page.
    #[serde(default = "minute")]
    pub timeout: Duration,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Auth {
    pub bearer: Option<String>,
    pub basic: Option<Basic>,
    pub api_key: Option<ApiKey>,
    pub oauth2: Option<OAuth2>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Basic {
    pub user: String,
    #[serde(default)]
    pub password: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApiKey {
    pub value: String,
    pub header: Option<String>,
    pub param: Option<String>,
}

/// Client credentials.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OAuth2 {
    pub token_url: String,
    pub client_id: String,
    pub client_secret: String,
    pub scope: Option<String>,
}

/// I9: by token first, then keyset, then page; there is no offset.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pagination {
    pub token: Option<TokenPaging>,
    /// The `Link` header's `rel="next"`.
    pub link: Option<bool>,
    pub keyset: Option<KeysetPaging>,
    pub page: Option<NumberPaging>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenPaging {
    /// What carries it in the next request.
    pub param: String,
    /// Where it is in the answer: a JSONPath, or the name of a header.
    pub next: Option<String>,
    pub header: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeysetPaging {
    pub param: String,
    /// Of the last record of a page.
    pub field: String,
    /// A shorter page is the last one; without it, an empty one is.
    pub size: Option<usize>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NumberPaging {
    pub param: String,
    #[serde(default = "one")]
    pub start: i64,
    pub size: Option<usize>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Incremental {
    /// What asks for newer records.
    pub param: String,
    /// JSONPath in a record.
    pub field: String,
    #[serde(default)]
    pub initial: Option<Value>,
}

fn get() -> String {
    "GET".to_owned()
}

fn root() -> String {
    "$".to_owned()
}

fn minute() -> Duration {
    Duration::from_secs(60)
}

fn one() -> i64 {
    1
}

pub fn read(section: &Section, _base: Base<'_>, problems: &mut Problems) -> Option<Value> {
    let config: RestConfig = section.read(&[], problems)?;
    config.check(section, problems);
    Some(serde_json::to_value(config).expect("a configuration serialises to JSON"))
}

impl RestConfig {
    fn check(&self, section: &Section, problems: &mut Problems) {
        let mut wrong = |field: &str, message: String, help: &str| {
            problems.add(section.span_of(field), message, help);
        };
        if let Err(why) = web_url(&self.url.replace("${", "").replace("{{", "").replace("}}", "")) {
            wrong("url", why, "write the URL of the first page");
        }
        let auth = &self.auth;
        let ways = [auth.bearer.is_some(), auth.basic.is_some(), auth.api_key.is_some(), auth.oauth2.is_some()];
        if ways.iter().filter(|given| **given).count() > 1 {
            wrong("auth", "`auth` names more than one way".to_owned(), "keep one of bearer, basic, api_key, oauth2");
        }
        if auth.api_key.as_ref().is_some_and(|key| key.header.is_some() == key.param.is_some()) {
            let message = "`auth.api_key` is sent in a header or in a parameter".to_owned();
            wrong("auth", message, "name one of `header` and `param`");
        }
        let paging = &self.pagination;
        let ways = [paging.token.is_some(), paging.link == Some(true), paging.keyset.is_some(), paging.page.is_some()];
        if ways.iter().filter(|given| **given).count() > 1 {
            let message = "`pagination` names more than one way".to_owned();
            wrong("pagination", message, "keep one of token, link, keyset, page");
        }
        if paging.token.as_ref().is_some_and(|token| token.next.is_some() == token.header.is_some()) {
            let message = "the next token is read from the body or from a header of the response".to_owned();
            wrong("pagination", message, "name one of `next` (a JSONPath) and `header`");
        }
        let next = paging.token.as_ref().and_then(|token| token.next.as_ref());
        let field = paging.keyset.as_ref().map(|keyset| &keyset.field);
        let cursor = self.incremental.as_ref().map(|incremental| &incremental.field);
        for (place, path) in
            [("records", Some(&self.records)), ("pagination", next), ("pagination", field), ("incremental", cursor)]
        {
            if let Some(Err(why)) = path.map(|path| Path::parse(&rooted(path))) {
                wrong(place, why, "write a JSONPath like $.data.items");
            }
        }
        for (name, value) in &self.params {
            if let Err(error) = Templated::new(value) {
                wrong("params", format!("`params.{name}`: {}", error.message), "correct the template");
            }
        }
        if self.timeout.ms == 0 {
            wrong("timeout", "`timeout` must not be zero".to_owned(), "write a length of time like 30s");
        }
    }
}

/// A field may be named without the `$.` of a path.
pub fn rooted(path: &str) -> String {
    if path.starts_with('$') { path.to_owned() } else { format!("$.{path}") }
}
