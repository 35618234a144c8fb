//! One message to one endpoint, and what it answered.

use std::time::{Duration, Instant, SystemTime};

use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use windrow_model::Time;
use windrow_model::hook::{Answer, Hook, Try};

use crate::app::App;
use crate::app::secrets::Vault;
use crate::app::webhooks::{secret, sign};
use crate::error::{Error, Result};

/// How much of an answer that is no is kept for people.
const EXCERPT: usize = 300;

#[derive(Clone)]
pub struct Sender {
    client: reqwest::Client,
    vault: Vault,
}

impl Sender {
    pub fn new(app: &App) -> Result<Self> {
        // An error means that one is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            // A redirected POST would arrive as a GET, and its target is not the one that was agreed.
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("windrow/", env!("CARGO_PKG_VERSION")))
            .build();
        let client = client.map_err(|error| Error::new(format!("no HTTP client: {error}"), "report this as a bug"))?;
        Ok(Self { client, vault: app.vault() })
    }

    /// Never longer than the webhook's timeout.
    pub async fn send(&self, hook: &Hook, id: &str, body: String, now: Time) -> (Try, Answer) {
        let secrets = match secret::open(&self.vault, hook, now).await {
            Ok(secrets) => secrets,
            Err(error) => {
                let tried = Try { at: now, status: None, error: Some(error.one_line()), latency_ms: 0 };
                return (tried, Answer::default());
            }
        };
        let timestamp_s = now.0.div_euclid(1000);
        let request = self
            .client
            .post(&hook.url)
            .timeout(Duration::from_millis(hook.timeout_ms.max(1).unsigned_abs()))
            .header(CONTENT_TYPE, "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", timestamp_s)
            .header("webhook-signature", sign::signatures(&secrets, id, timestamp_s, &body))
            .body(body);
        let started = Instant::now();
        let (answer, error) = match request.send().await {
            Ok(response) => read(response).await,
            Err(error) => (Answer::default(), Some(reason(&error))),
        };
        let latency_ms = i64::try_from(started.elapsed().as_millis()).unwrap_or(i64::MAX);
        (Try { at: now, status: answer.status, error, latency_ms }, answer)
    }
}

async fn read(response: reqwest::Response) -> (Answer, Option<String>) {
    let status = response.status();
    let retry_after_ms = response.headers().get(RETRY_AFTER).and_then(|value| retry_after_ms(value.to_str().ok()?));
    let answer = Answer { status: Some(status.as_u16()), retry_after_ms };
    if status.is_success() {
        return (answer, None);
    }
    let said = excerpt(response).await;
    (answer, Some(if said.is_empty() { status.to_string() } else { format!("{status}: {said}") }))
}

/// The beginning of the body, however long it is.
async fn excerpt(mut response: reqwest::Response) -> String {
    let mut bytes = Vec::new();
    while let (true, Ok(Some(chunk))) = (bytes.len() < EXCERPT, response.chunk().await) {
        bytes.extend_from_slice(&chunk);
    }
    bytes.truncate(EXCERPT);
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

/// In seconds, or as a date.
fn retry_after_ms(text: &str) -> Option<i64> {
    if let Ok(seconds) = text.trim().parse::<u32>() {
        return Some(i64::from(seconds) * 1000);
    }
    let until = jiff::fmt::rfc2822::parse(text.trim()).ok()?.timestamp();
    let now = jiff::Timestamp::try_from(SystemTime::now()).ok()?;
    Some((until.as_millisecond() - now.as_millisecond()).max(0))
}

/// The innermost reason says most; the URL is known.
fn reason(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "timed out".to_owned();
    }
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
