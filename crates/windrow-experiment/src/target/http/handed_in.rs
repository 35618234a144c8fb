//! What is known once work was handed in: recorded as the answer of the first step, and all that
//! collecting needs.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use windrow_model::{ErrorClass, Failure};

use super::exchange::Reply;
use crate::target::Answer;

/// Headers that say where the result will be.
const KEPT_HEADERS: &[&str] = &["location", "operation-location", "content-location"];

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HandedIn {
    /// Milliseconds since 1970, so that a restart does not restart the wait.
    pub at_ms: i64,
    pub status: u16,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    pub response: Value,
}

impl HandedIn {
    pub fn of(reply: &Reply) -> Self {
        let kept = |name: &&str| Some(((*name).to_owned(), reply.headers.get(*name)?.to_str().ok()?.to_owned()));
        let headers = KEPT_HEADERS.iter().filter_map(kept).collect();
        Self { at_ms: now_ms(), status: reply.status, headers, response: reply.value() }
    }

    pub fn into_answer(self) -> Answer {
        let content = serde_json::to_string(&self).expect("what was handed in serialises to JSON");
        Answer { content, finish_reason: Some("handed_in".to_owned()), ..Answer::default() }
    }

    pub fn from_answer(answer: &Answer) -> Result<Self, Failure> {
        serde_json::from_str(&answer.content).map_err(|error| {
            Failure::new(
                ErrorClass::InvalidOutput,
                format!("what was recorded when handing in cannot be read: {error}"),
            )
        })
    }

    pub fn elapsed_ms(&self) -> i64 {
        (now_ms() - self.at_ms).max(0)
    }

    pub fn time_left(&self, patience: Duration) -> Duration {
        patience.saturating_sub(Duration::from_millis(self.elapsed_ms() as u64))
    }

    pub fn late(&self, patience: Duration) -> Failure {
        let message = format!("no result {} s after it was handed in", patience.as_secs());
        Failure::new(ErrorClass::Timeout, message)
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
