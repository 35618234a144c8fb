//! A workload without cost, to measure the engine alone: one paid step per item, with its intent recorded before and
//! its result after.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use windrow_model::Json;
use windrow_model::failure::Failure;
use windrow_model::priority::Priority;
use windrow_model::retry::RetryPolicy;
use windrow_model::step::{ContentKey, OnUnknown, StepIntent, StepResult, Usage};
use windrow_model::store::NewItem;
use windrow_model::workload::*;

/// When an item started (true) or ended (false).
pub type Moments = Arc<Mutex<Vec<(Instant, bool)>>>;

/// The definition is the number of items.
#[derive(Default)]
pub struct Noop {
    /// How long each item takes, and when items started and ended.
    pub pause: Duration,
    pub moments: Moments,
}

#[async_trait]
impl Workload for Noop {
    fn kind(&self) -> &'static str {
        "noop"
    }
    async fn prepare(&self, _workspace: &str, spec: &Json) -> Result<Arc<dyn Program>, Failure> {
        let rows = spec.parse().expect("a number");
        let moments = (!self.pause.is_zero()).then(|| self.moments.clone());
        Ok(Arc::new(NoopProgram { rows, pause: self.pause, moments, policy: RetryPolicy::default() }))
    }
}

struct NoopProgram {
    rows: u64,
    pause: Duration,
    moments: Option<Moments>,
    policy: RetryPolicy,
}

impl NoopProgram {
    fn mark(&self, started: bool) {
        if let Some(moments) = &self.moments {
            moments.lock().expect("no panics here").push((Instant::now(), started));
        }
    }
}

pub fn item(n: u64) -> NewItem {
    NewItem {
        key: ContentKey::of(&[&n.to_le_bytes()]),
        input: Json::from_text(format!(r#"{{"question":"What is the capital of country {n}?","answer":"city {n}"}}"#)),
        priority: Priority::NORMAL,
        resource: None,
        not_before: None,
        group: None,
        variant: None,
        by_id: false,
    }
}

pub fn intent(key: ContentKey) -> StepIntent {
    StepIntent {
        key,
        kind: "target".into(),
        name: String::new(),
        turn: 0,
        input: Json::from_text(r#"{"model":"none","messages":[{"role":"user","content":"What is it?"}]}"#),
        on_unknown: OnUnknown::Repeat,
        shared: false,
    }
}

pub fn done() -> StepResult {
    let output = Json::from_text(r#"{"content":"It is what it is.","finish_reason":"stop","latency_ms":0}"#);
    StepResult::Done { output, usage: Usage { tokens_in: 12, tokens_out: 6, cost_nanos: 0 } }
}

#[async_trait]
impl Program for NoopProgram {
    async fn page(&self, cursor: Option<&Json>, limit: usize) -> Result<SourcePage, Failure> {
        let from: u64 = cursor.map_or(0, |cursor| cursor.parse().expect("our own cursor"));
        let to = (from + limit as u64).min(self.rows);
        let items = (from..to).map(item).collect();
        Ok(SourcePage { items, cursor: Some(Json::of(&to)), done: to == self.rows })
    }

    async fn execute(&self, item: &WorkItem, journal: &dyn Journal) -> Result<Done, Halt> {
        self.mark(true);
        let no = journal.begin(intent(ContentKey::of(&[&item.key.0]))).await?;
        if !self.pause.is_zero() {
            tokio::time::sleep(self.pause).await;
        }
        journal.finish(no, done());
        self.mark(false);
        Ok(Done { usage: Usage { tokens_in: 12, tokens_out: 6, cost_nanos: 0 }, ..Default::default() })
    }

    fn retry_policy(&self) -> &RetryPolicy {
        &self.policy
    }
    fn timeout_ms(&self) -> i64 {
        60_000
    }
}
