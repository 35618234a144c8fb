//! ClickHouse over its HTTP interface.

use std::time::Duration;

use reqwest::{Client as Http, Url};
use serde::de::DeserializeOwned;
use windrow_jobfile::http_client::{self, Secret, failure};
use windrow_jobfile::spec::invalid_request;
use windrow_model::{ErrorClass, Failure};

const TIMEOUT: Duration = Duration::from_secs(300);

pub struct Client {
    http: Http,
    /// Without credentials, so that it may be shown.
    url: Url,
    user: String,
    password: Option<String>,
    secret: Secret,
}

impl Client {
    /// From `http://user:password@host:8123/database`.
    pub fn new(url: &str, secret: Secret) -> Result<Self, Failure> {
        let mut url: Url = url.parse().map_err(|error| invalid_request(format!("the URL of the database: {error}")))?;
        let plain = |text: &str| percent_decoded(text);
        let user = Some(plain(url.username())).filter(|user| !user.is_empty()).unwrap_or_else(|| "default".to_owned());
        let password = url.password().map(plain);
        let database = Some(url.path().trim_matches('/').to_owned()).filter(|name| !name.is_empty());
        let removed = url.set_username("").and_then(|()| url.set_password(None));
        removed.map_err(|()| invalid_request("the URL of the database has no host"))?;
        url.set_path("/");
        let shown = url.to_string();
        url.query_pairs_mut().append_pair("database", database.as_deref().unwrap_or("default"));
        Ok(Self { http: http_client::client(&shown, TIMEOUT)?, url, user, password, secret })
    }

    /// Performs a statement; gives what it answers.
    pub async fn perform(&self, sql: impl Into<String>) -> Result<String, Failure> {
        self.send(self.url.clone(), sql.into()).await
    }

    /// One block of rows, with the key under which a replicated table knows it again.
    pub async fn insert(&self, sql: &str, rows: String, key: Option<&str>) -> Result<(), Failure> {
        let mut url = self.url.clone();
        url.query_pairs_mut().append_pair("query", sql);
        if let Some(key) = key {
            url.query_pairs_mut().append_pair("insert_deduplication_token", key);
        }
        self.send(url, rows).await.map(|_| ())
    }

    pub async fn rows<T: DeserializeOwned>(&self, sql: &str) -> Result<Vec<T>, Failure> {
        let answer = self.perform(format!("{sql} FORMAT JSONEachRow")).await?;
        let row = |line: &str| {
            serde_json::from_str(line).map_err(|error| invalid_request(format!("ClickHouse: {error}: {line}")))
        };
        answer.lines().map(row).collect()
    }

    async fn send(&self, url: Url, body: String) -> Result<String, Failure> {
        let request = self.http.post(url).basic_auth(&self.user, self.password.as_ref()).body(body);
        let broken = |error| self.secret.redact_failure(failure::of_transport(error, &self.url));
        let reply = request.send().await.map_err(broken)?;
        let status = reply.status();
        let body = http_client::read_bytes(reply).await.map_err(broken)?;
        let text = String::from_utf8_lossy(&body).into_owned();
        match status.is_success() {
            true => Ok(text),
            false => Err(self.secret.redact_failure(refused(&text))),
        }
    }
}

fn percent_decoded(text: &str) -> String {
    form_urlencoded::parse(format!("x={}", text.replace('+', "%2B")).as_bytes())
        .next()
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

/// `Code: 60, e.displayText() = DB::Exception: …` or `Code: 60. DB::Exception: …`
fn refused(text: &str) -> Failure {
    let code = text.strip_prefix("Code: ").and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
    let code: i64 = code.and_then(|code| code.parse().ok()).unwrap_or(0);
    let class = match code {
        // Wrong password, no such user, no right to it.
        192..=194 | 497 | 516 => ErrorClass::Auth,
        // No such database, table or column; a statement that is none.
        16 | 47 | 60 | 62 | 81 => ErrorClass::InvalidRequest,
        // Out of time, memory or connections, too many parts, a table that can only be read for now.
        159 | 202 | 203 | 209 | 210 | 241 | 242 | 252 | 999 => ErrorClass::Server,
        _ => ErrorClass::Handler,
    };
    Failure::new(class, format!("ClickHouse: {}", text.trim().chars().take(500).collect::<String>()))
}

/// A text in a statement.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('\\', "\\\\").replace('`', "\\`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_known_by_its_number_in_old_and_new_words() {
        let old = refused("Code: 60, e.displayText() = DB::Exception: Table default.x doesn't exist.");
        assert_eq!(old.class, ErrorClass::InvalidRequest);
        assert_eq!(refused("Code: 252. DB::Exception: Too many parts (300).").class, ErrorClass::Server);
        assert_eq!(refused("nonsense").class, ErrorClass::Handler);
    }

    #[test]
    fn texts_and_names_cannot_end_early() {
        assert_eq!(literal(r"it's \ x"), r"'it\'s \\ x'");
        assert_eq!(quoted("a`b"), r"`a\`b`");
        assert_eq!(percent_decoded("a%40b+c"), "a@b+c");
    }
}
