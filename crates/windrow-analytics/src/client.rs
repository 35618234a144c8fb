//! ClickHouse over its HTTP interface. The caller owns what it inserts: a batch whose answer was lost is sent again
//! under the same token, or read anew.

use std::time::Duration;

use serde::de::DeserializeOwned;
use windrow_jobfile::http_client;

use crate::address::Address;

const TIMEOUT: Duration = Duration::from_secs(120);
const SHOWN: usize = 500;
const UNKNOWN_DATABASE: &str = "Code: 81.";

#[derive(Debug, Clone, thiserror::Error)]
pub enum Failure {
    #[error("cannot reach ClickHouse at {address}: {why}")]
    Unreachable { address: String, why: String },
    #[error("ClickHouse rejected a statement: {0}")]
    Rejected(String),
    #[error("ClickHouse answered what was not expected: {0}")]
    Unexpected(String),
}

#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    address: Address,
}

impl Client {
    pub fn new(address: Address) -> Result<Self, Failure> {
        let http = http_client::client(address.url.as_str(), TIMEOUT)
            .map_err(|failure| Failure::Unreachable { address: address.to_string(), why: failure.message })?;
        Ok(Self { http, address })
    }

    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Performs a statement, and returns what it answers.
    pub async fn perform(&self, sql: &str) -> Result<String, Failure> {
        self.send(&[("database", &self.address.database)], sql.to_owned()).await
    }

    /// Creates the database if need be.
    pub async fn create_database(&self) -> Result<(), Failure> {
        match self.perform("SELECT 1").await {
            Err(Failure::Rejected(text)) if text.starts_with(UNKNOWN_DATABASE) => {
                let sql = format!("CREATE DATABASE IF NOT EXISTS {}", self.address.database);
                self.send(&[], sql).await.map(drop)
            }
            answer => answer.map(drop),
        }
    }

    /// One block of rows, one JSON object per line. A block with the same token is inserted once.
    pub async fn insert(&self, table: &str, rows: String, token: &str) -> Result<(), Failure> {
        let sql = format!("INSERT INTO {table} FORMAT JSONEachRow");
        let parameters = [
            ("database", self.address.database.as_str()),
            ("query", &sql),
            ("insert_deduplication_token", token),
            // Without it, a number may change in its last digit.
            ("precise_float_parsing", "1"),
            ("wait_end_of_query", "1"),
        ];
        self.send(&parameters, rows).await.map(drop)
    }

    pub async fn rows<T: DeserializeOwned>(&self, sql: &str) -> Result<Vec<T>, Failure> {
        let parameters = [
            ("database", self.address.database.as_str()),
            ("output_format_json_quote_64bit_integers", "0"),
            ("wait_end_of_query", "1"),
        ];
        let answer = self.send(&parameters, format!("{sql} FORMAT JSONEachRow")).await?;
        let row = |line: &str| serde_json::from_str(line).map_err(|error| unexpected(&error, line));
        answer.lines().map(row).collect()
    }

    /// The only column of a statement, in binary: a million of them are read in a moment.
    pub async fn integers(&self, sql: &str) -> Result<Vec<i64>, Failure> {
        let parameters = [("database", self.address.database.as_str()), ("wait_end_of_query", "1")];
        let answer = self.answer(&parameters, format!("{sql} FORMAT RowBinary")).await?;
        match answer.as_chunks() {
            (numbers, []) => Ok(numbers.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect()),
            (_, rest) => Err(Failure::Unexpected(format!("{} bytes after the last number", rest.len()))),
        }
    }

    async fn send(&self, parameters: &[(&str, &str)], body: String) -> Result<String, Failure> {
        let body = self.answer(parameters, body).await?;
        Ok(String::from_utf8(body).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    async fn answer(&self, parameters: &[(&str, &str)], body: String) -> Result<Vec<u8>, Failure> {
        let mut url = self.address.url.clone();
        if !parameters.is_empty() {
            url.query_pairs_mut().extend_pairs(parameters);
        }
        let unreachable = |error: reqwest::Error| {
            let why = innermost(&error.without_url());
            Failure::Unreachable { address: self.address.to_string(), why }
        };
        let Address { user, password, .. } = &self.address;
        let sent = self.http.post(url).basic_auth(user, password.as_ref()).body(body).send();
        let reply = sent.await.map_err(unreachable)?;
        let status = reply.status();
        let body = Vec::from(reply.bytes().await.map_err(unreachable)?);
        match status.is_success() {
            true => Ok(body),
            false => Err(Failure::Rejected(String::from_utf8_lossy(&body).trim().chars().take(SHOWN).collect())),
        }
    }
}

fn innermost(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

fn unexpected(error: &serde_json::Error, line: &str) -> Failure {
    Failure::Unexpected(format!("{error}: {}", line.chars().take(SHOWN).collect::<String>()))
}

/// A text in a statement.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
