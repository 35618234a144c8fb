//! Rows of a table or of a query, by keyset: a page is what comes after the last key of the page before, so no
//! page costs more than the first. With a cursor, a later pass reads only what came after the last row.

mod mysql;
mod page;
mod postgres;
mod sqlite;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::http_client::{Secret, ms_since};
use windrow_jobfile::job_file::{Base, Section};
use windrow_jobfile::resolved_refs::ResolvedRefs;
use windrow_jobfile::spec::invalid_request;
use windrow_model::ingest::{Checkpoint, Slice, Span};
use windrow_model::workload::{Halt, Journal};
use windrow_model::{ErrorClass, Failure};

use self::page::{Bound, Question};
use super::{Means, Page, Pages, Source, SourceKind};
use crate::record::Table;
use crate::sql;
use crate::sql::place_of;

pub const KIND: SourceKind = SourceKind { name: "sql", read, build, provenance };

const PAGE: usize = 1000;
const LONGEST: usize = 50_000;
const SQLITE: &str = "sqlite:";

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    table: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    query: Option<String>,
    /// What identifies a row, in the order it is read by.
    #[serde(deserialize_with = "one_or_many")]
    key: Vec<String>,
    /// A column that only grows: when a row was changed, or the key itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    /// The column that slices cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slice: Option<String>,
    #[serde(default = "page_size")]
    size: usize,
}

fn page_size() -> usize {
    PAGE
}

fn one_or_many<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a column or a list of columns")]
    enum Given {
        One(String),
        Many(Vec<String>),
    }
    Ok(match Given::deserialize(deserializer)? {
        Given::One(one) => vec![one],
        Given::Many(many) => many,
    })
}

fn read(section: &Section, base: Base<'_>, problems: &mut Problems) -> Option<Value> {
    let mut config: Config = section.read(&[], problems)?;
    let mut wrong = |field: &str, message: &str, help: &str| problems.add(section.span_of(field), message, help);
    if config.table.is_some() == config.query.is_some() {
        wrong("", "one of `table` and `query` says what is read", "for example: table: orders");
    }
    if config.key.is_empty() {
        wrong("key", "`key` is empty", "name the columns that identify a row, for example: key: id");
    }
    if !(1..=LONGEST).contains(&config.size) {
        wrong("size", "`size` must be 1 to 50000", "a page is held in memory; 1000 is a good size");
    }
    match config.url.strip_prefix(SQLITE) {
        Some(file) => match base.locate(file) {
            Some(path) => config.url = format!("{SQLITE}{}", path.display()),
            None => wrong("url", "the file lies outside of the folder for files", "name a file below it"),
        },
        None if sql::postgres::is_url(&config.url) || sql::mysql::is_url(&config.url) => {}
        None if config.url.starts_with("${") => {}
        None => {
            let help = "for example: url: \"${secret:SHOP_URL}\", or url: sqlite:shop.db";
            wrong("url", "`url` must begin with postgres://, mysql:// or sqlite:", help);
        }
    }
    Some(serde_json::to_value(config).expect("a configuration serialises to JSON"))
}

fn provenance(config: &Value) -> String {
    let url = config["url"].as_str().unwrap_or_default();
    let place = url.strip_prefix(SQLITE).map_or_else(|| place_of(url), str::to_owned);
    format!("{place}/{}", config["table"].as_str().unwrap_or("query"))
}

fn build(config: Value, means: &Means<'_>) -> Result<Arc<dyn Source>, Failure> {
    let refs = ResolvedRefs::of(&config, means.environment)?;
    let config: Config = serde_json::from_value(config).map_err(|error| invalid_request(error.to_string()))?;
    Ok(Arc::new(Sql { url: refs.fill(&config.url), secret: refs.secret(), config }))
}

struct Sql {
    config: Config,
    url: String,
    secret: Secret,
}

impl Sql {
    fn question(&self, slice: &Slice) -> Result<Question, Failure> {
        let Config { table, query, key, cursor, slice: sliced, size, .. } = &self.config;
        let mut order = cursor.iter().cloned().collect::<Vec<_>>();
        order.extend(key.iter().filter(|name| cursor.as_ref() != Some(name)).cloned());
        let bounds = match (&slice.span, sliced) {
            (Span::All, _) => Vec::new(),
            (_, None) => return Err(invalid_request("the plan has slices; say with `slice` which column they cut")),
            (Span::Time { from, to, .. }, Some(column)) => {
                Bound::between(column, from.clone().into(), to.clone().into())
            }
            (Span::Keys { from, to }, Some(column)) => Bound::between(column, (*from).into(), (*to).into()),
            (Span::Value(value), Some(column)) => vec![Bound::equal(column, value.clone())],
        };
        Ok(Question { table: table.clone(), query: query.clone(), order, bounds, size: *size })
    }
}

/// One connection, and the pages it is asked for.
trait Reader: Send {
    /// The records behind a place, at most as many as were asked for.
    fn page(&mut self, after: Option<&[Value]>) -> Result<Vec<Value>, Failure>;
}

fn open(url: &str, question: Question) -> Result<Box<dyn Reader>, Failure> {
    match url.strip_prefix(SQLITE) {
        Some(file) => Ok(Box::new(sqlite::Sqlite::open(&PathBuf::from(file), question)?)),
        None if sql::postgres::is_url(url) => Ok(Box::new(postgres::Postgres::open(url, question)?)),
        None if sql::mysql::is_url(url) => Ok(Box::new(mysql::MySql::open(url, question)?)),
        None => Err(invalid_request("the URL of the database must begin with postgres://, mysql:// or sqlite:")),
    }
}

#[async_trait]
impl Source for Sql {
    async fn open(&self, slice: &Slice, at: &Checkpoint) -> Result<Box<dyn Pages>, Failure> {
        let question = self.question(slice)?;
        let (order, size) = (question.order.clone(), question.size);
        let at = at.position.as_ref().or(at.since.as_ref()).cloned();
        let at: Option<Vec<Value>> =
            at.map(serde_json::from_value).transpose().map_err(|error| invalid_request(error.to_string()))?;
        let url = self.url.clone();
        let opened = blocking(move || open(&url, question)).await;
        let reader = Arc::new(Mutex::new(opened.map_err(|failure| self.secret.redact_failure(failure))?));
        let grows = self.config.cursor.is_some();
        Ok(Box::new(SqlPages { reader, order, size, at, grows, secret: self.secret.clone() }))
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Failure> + Send + 'static) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Failure::new(ErrorClass::Handler, format!("the source: {error}")))?
}

struct SqlPages {
    reader: Arc<Mutex<Box<dyn Reader>>>,
    order: Vec<String>,
    size: usize,
    at: Option<Vec<Value>>,
    grows: bool,
    secret: Secret,
}

#[async_trait]
impl Pages for SqlPages {
    async fn next(&mut self, _journal: &dyn Journal) -> Result<Page, Halt> {
        let started = Instant::now();
        let (reader, at) = (self.reader.clone(), self.at.clone());
        let read = move || reader.lock().unwrap_or_else(PoisonError::into_inner).page(at.as_deref());
        let records = blocking(read).await.map_err(|failure| self.secret.redact_failure(failure))?;
        if let Some(last) = records.last() {
            self.at = Some(self.order.iter().map(|name| last[name].clone()).collect());
        }
        let after = self.at.clone().map(Value::Array);
        Ok(Page {
            done: records.len() < self.size,
            high: after.clone().filter(|_| self.grows),
            after,
            tables: vec![Table { records, ..Table::default() }],
            latency_ms: ms_since(started),
            ..Page::default()
        })
    }
}
