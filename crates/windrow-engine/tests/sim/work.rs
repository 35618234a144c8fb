//! The work of the simulation: items of a few paid steps each that succeed, fail, panic or hang by
//! chance, and a ledger of the outside world that no crash erases.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use windrow_model::failure::{ErrorClass, Failure};
use windrow_model::limit::{Demand, Limits, Response};
use windrow_model::priority::Priority;
use windrow_model::retry::{Reaction, RetryPolicy};
use windrow_model::state::StepState;
use windrow_model::step::{ContentKey, OnUnknown, Recalled, StepIntent, StepResult, Usage};
use windrow_model::store::{NewItem, Queue};
use windrow_model::workload::*;
use windrow_model::{AttemptId, Json};
use windrow_store::MemoryStore;

/// What a simulated job consists of; its frozen definition.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct Spec {
    pub rows: u64,
    pub steps: u32,
    /// Items share this many resources; 0: they name none.
    pub resources: u64,
    pub duplicates: bool,
    /// Out of 100 steps: fail in passing, fail for good, panic, hang.
    pub flaky: u64,
    pub fatal: u64,
    pub panics: u64,
    pub hangs: u64,
    /// Out of 100 steps: refused because of too many calls.
    pub refused: u64,
    /// Every call is on one credential, shared with the other jobs.
    pub limits: Limits,
}

const USED: Usage = Usage { tokens_in: 1, tokens_out: 0, cost_nanos: 0 };

pub struct Ledger {
    pub store: Arc<MemoryStore>,
    pub chance: Mutex<fastrand::Rng>,
    pub calls: Mutex<BTreeMap<AttemptId, u64>>,
    /// Faults are over: nothing fails any more.
    pub calm: std::sync::atomic::AtomicBool,
    pub violations: Mutex<Vec<String>>,
    /// Reports on their way for longer than anybody waits; they may still arrive.
    pub astray: Mutex<Vec<windrow_model::store::Report>>,
}

impl Ledger {
    pub fn violation(&self, text: String) {
        self.violations.lock().unwrap().push(text);
    }

    fn roll(&self, out_of: u64) -> u64 {
        self.chance.lock().unwrap().u64(0..out_of)
    }

    fn is_calm(&self) -> bool {
        self.calm.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// The moment of payment: the intent must be on record, and no earlier result may exist.
    async fn call(&self, attempt: AttemptId, key: ContentKey, first_try: u32) {
        *self.calls.lock().unwrap().entry(attempt).or_default() += 1;
        let steps = self.store.history(attempt).await.unwrap();
        let own = steps.iter().any(|step| step.key == key && step.id.attempt() == attempt);
        if !own {
            self.violation(format!("{attempt} calls without its intent on record"));
        }
        let done = steps
            .iter()
            .find(|step| step.key == key && step.state == StepState::Done && step.id.attempt().no() >= first_try);
        if let Some(done) = done {
            self.violation(format!("{attempt} pays again for {}", done.id));
        }
    }
}

pub struct SimWorkload(pub Arc<Ledger>);

#[async_trait]
impl Workload for SimWorkload {
    fn kind(&self) -> &'static str {
        "sim"
    }

    async fn prepare(&self, _workspace: &str, spec: &Json) -> Result<Arc<dyn Program>, Failure> {
        let spec: Spec = spec.parse().map_err(|error| Failure::new(ErrorClass::InvalidRequest, error.to_string()))?;
        let mut policy = RetryPolicy { max_retries: 3, delays_ms: vec![0, 3_000, 12_000], ..Default::default() };
        policy.classes.insert(ErrorClass::Handler, Reaction::Retry);
        Ok(Arc::new(SimProgram { spec, ledger: self.0.clone(), policy }))
    }
}

struct SimProgram {
    spec: Spec,
    ledger: Arc<Ledger>,
    policy: RetryPolicy,
}

pub fn row(spec: &Spec, n: u64) -> NewItem {
    let content = if spec.duplicates { n / 2 } else { n };
    NewItem {
        key: ContentKey::of(&[b"row", &content.to_le_bytes()]),
        input: Json::of(&content),
        priority: Priority::new(1 + (n % 9) as i64).unwrap(),
        resource: (spec.resources > 0).then(|| format!("r{}", n % spec.resources)),
        not_before: None,
        group: None,
        variant: None,
        by_id: false,
    }
}

#[async_trait]
impl Program for SimProgram {
    async fn page(&self, cursor: Option<&Json>, limit: usize) -> Result<SourcePage, Failure> {
        let from: u64 = cursor.map_or(0, |cursor| cursor.parse().unwrap());
        let to = (from + limit as u64).min(self.spec.rows);
        let items = (from..to).map(|n| row(&self.spec, n)).collect();
        Ok(SourcePage { items, cursor: Some(Json::of(&to)), done: to == self.spec.rows })
    }

    async fn execute(&self, item: &WorkItem, journal: &dyn Journal) -> Result<Done, Halt> {
        for n in 0..self.spec.steps {
            let key = ContentKey::of(&[&item.key.0, &n.to_le_bytes()]);
            let intent = StepIntent {
                key,
                kind: "target".into(),
                name: String::new(),
                turn: n,
                input: Json::of(&n),
                on_unknown: OnUnknown::Repeat,
                shared: false,
            };
            if let Some(Recalled::Done { from, .. }) = journal.recall(&key) {
                journal.reuse(intent, from, None);
                continue;
            }
            let demand = Demand { resource: "endpoint".into(), limits: self.spec.limits, tokens: 10 };
            let permit = journal.admit(demand).await?;
            let no = journal.begin(intent).await?;
            self.ledger.call(item.attempt, key, 0).await;
            let result = self.call().await;
            permit.settle(match &result {
                Ok(()) => Response::to_success(USED),
                Err(failure) => Response::to_failure(failure),
            });
            journal.finish(
                no,
                match &result {
                    Ok(()) => StepResult::Done { output: Json::of(&n), usage: USED },
                    Err(failure) => StepResult::Failed { failure: failure.clone() },
                },
            );
            result?;
            if n + 1 < self.spec.steps && self.ledger.roll(4) == 0 {
                journal.hand_in_partial(Done::default()).await?;
            }
        }
        Ok(Done { latency_ms: 1, ..Default::default() })
    }

    async fn check_health(&self, _wave: i64) -> Result<(), Failure> {
        tokio::time::sleep(Duration::from_millis(self.ledger.roll(3_000))).await;
        if !self.ledger.is_calm() && self.ledger.roll(10) == 0 {
            return Err(Failure::new(ErrorClass::Server, "unwell"));
        }
        Ok(())
    }

    fn retry_policy(&self) -> &RetryPolicy {
        &self.policy
    }

    fn timeout_ms(&self) -> i64 {
        60_000
    }
}

impl SimProgram {
    async fn call(&self) -> Result<(), Failure> {
        let (latency, dice) = (self.ledger.roll(200), self.ledger.roll(100));
        tokio::time::sleep(Duration::from_millis(latency)).await;
        let spec = &self.spec;
        if self.ledger.is_calm() {
            return Ok(());
        }
        if dice < spec.flaky {
            return Err(Failure::new(ErrorClass::Network, "flaky").retry_after(Some((dice * 100) as i64)));
        }
        if dice < spec.flaky + spec.fatal {
            return Err(Failure::new(ErrorClass::InvalidRequest, "fatal"));
        }
        if dice < spec.flaky + spec.fatal + spec.panics {
            panic!("the handler panics, as it was told");
        }
        if dice < spec.flaky + spec.fatal + spec.panics + spec.hangs {
            tokio::time::sleep(Duration::from_secs(3_600)).await;
        }
        if dice < spec.flaky + spec.fatal + spec.panics + spec.hangs + spec.refused {
            let retry_after = (dice % 2 == 0).then_some(dice as i64 * 50);
            return Err(Failure::new(ErrorClass::RateLimited, "refused").retry_after(retry_after));
        }
        Ok(())
    }
}
