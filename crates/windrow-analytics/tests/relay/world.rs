//! A database with a history, and its copy.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use windrow_analytics::batch::Batch;
use windrow_analytics::schema::{self, ITEMS, RESULTS, RUNS, STEPS};
use windrow_analytics::source::Records;
use windrow_analytics::{Client, Parts, Relay, check};
use windrow_model::analytics::AnalyticsStore;
use windrow_model::state::Outcome;
use windrow_model::store::*;
use windrow_model::{Clock, ItemId, JobId, Json, SessionId, Ticket, Time};
use windrow_store::SqlStore;

use crate::fixture::*;
use crate::services;

pub struct World {
    pub store: Arc<SqlStore>,
    pub client: Client,
    _folder: tempfile::TempDir,
}

pub struct System;

impl Clock for System {
    fn now(&self) -> Time {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        Time(since.as_millis() as i64)
    }
}

impl World {
    /// With a database of the shared server.
    pub fn new() -> Self {
        let url = format!("{}/{}", services::url("WINDROW_TEST_CLICKHOUSE"), services::unique("analytics"));
        Self::with(&url, tempfile::tempdir().unwrap())
    }

    /// The same with a database that several nodes can share.
    pub async fn on_postgres() -> Self {
        let (server, name) = (services::url("WINDROW_TEST_POSTGRES"), services::unique("relay"));
        let place = format!("{server}?sslmode=disable&schema={name}&application_name={name}");
        let store = Arc::new(SqlStore::connect(&place).await.unwrap());
        Self { store, ..Self::new() }
    }

    pub fn with(url: &str, folder: tempfile::TempDir) -> Self {
        let store = Arc::new(SqlStore::open(&folder.path().join("store.db")).unwrap());
        Self { store, client: Client::new(url.parse().unwrap()).unwrap(), _folder: folder }
    }

    pub fn parts(&self, owner: i64) -> Parts {
        Parts {
            store: self.store.clone(),
            analytics: self.store.clone(),
            client: self.client.clone(),
            clock: Arc::new(System),
            owner: SessionId(owner),
            incarnation: services::unique("copy"),
            evaluators: |_| vec!["exact".into()],
        }
    }

    pub fn relay(&self) -> Relay {
        Relay::new(self.parts(1))
    }

    /// Until nothing is left to send, whatever goes wrong meanwhile.
    pub async fn catch_up(&self, relay: &mut Relay) {
        let until = std::time::Instant::now() + Duration::from_secs(120);
        loop {
            let done = relay.catch_up().await;
            let status = self.store.relay_status().await.unwrap();
            if done.as_ref().is_ok_and(|led| *led) && status.is_some_and(|status| status.is_caught_up()) {
                return;
            }
            assert!(std::time::Instant::now() < until, "{done:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Every row of every job, column by column.
    pub async fn assert_equal(&self) {
        assert_eq!(check::superfluous(&*self.store, &self.client).await.unwrap(), BTreeMap::new());
        for job in check::jobs(&*self.store, None).await.unwrap() {
            let checked = check::job(&*self.store, &self.client, job, |_| Vec::new()).await.unwrap().unwrap();
            for (table, key) in [(ITEMS, "item_id"), (RESULTS, "run_id, item_id"), (STEPS, "step_id"), (RUNS, "run_id")]
            {
                let expected = self.expected(job, table).await;
                let sql = format!("SELECT * FROM {table} FINAL WHERE job_id = {} ORDER BY {key}", job.0);
                let found: Vec<Value> = self.client.rows(&sql).await.unwrap();
                assert_eq!(found.len(), expected.len(), "{table} of {job}");
                for (found, expected) in found.iter().zip(&expected) {
                    for (name, value) in expected.as_object().unwrap().iter().filter(|(name, _)| *name != "revision") {
                        assert!(is_same(&found[name], value), "{table}.{name} is not {value}: {found}");
                    }
                }
            }
            assert!(checked.is_equal(), "{checked:?}");
        }
    }

    async fn expected(&self, job: JobId, table: &str) -> Vec<Value> {
        let columns = schema::columns(&self.client, job).await.unwrap();
        let records = Records::read(&*self.store, job, columns, |_| Vec::new()).await.unwrap();
        let mut records = records.unwrap();
        let (mut rows, mut after): (BTreeMap<(i64, i64), Value>, _) = (BTreeMap::new(), ItemId(0));
        loop {
            let mut batch = Batch::new(0);
            let walked = records.add_page(&*self.store, after, &mut batch).await.unwrap().unwrap();
            records.add_head(&records.all_runs(), &mut batch);
            for line in batch.lines_of(table).lines() {
                let row: Value = serde_json::from_str(line).unwrap();
                let number = |name: &str| row[name].as_i64().unwrap_or(0);
                let key = match table {
                    RESULTS => (number("run_id"), number("item_id")),
                    STEPS => (number("step_id"), 0),
                    RUNS => (number("run_id"), 0),
                    _ => (number("item_id"), 0),
                };
                rows.insert(key, row);
            }
            after = walked.to;
            if walked.done {
                return rows.into_values().collect();
            }
        }
    }

    /// Executes at most `want` items of a run, with a call each, and archives them.
    pub async fn work(&self, ticket: Ticket, want: usize, outcome: Outcome) -> Vec<ItemId> {
        let store = &*self.store;
        let mut done = Vec::new();
        while done.len() < want {
            let claimed = claim(store, ticket.run, want - done.len(), T0).await;
            if claimed.is_empty() {
                break;
            }
            self.hand_in(&claimed, outcome).await;
            while store.archive(ticket, 7, T0 + 1_000).await.unwrap().more {}
            done.extend(claimed.iter().map(|claimed| claimed.lease.attempt.item()));
        }
        done
    }

    async fn hand_in(&self, claimed: &[Claimed], outcome: Outcome) {
        let store = &*self.store;
        for claimed in claimed {
            let n = claimed.lease.attempt.item().0;
            let no = claimed.lease.attempt.no();
            let intent = intent(&format!("call {n} {no}"));
            let output = serde_json::json!({ "content": format!("größe {n} 🎉"), "model": "mock-1" });
            let usage = windrow_model::step::Usage { tokens_in: n, tokens_out: 2, cost_nanos: 3 };
            let result = windrow_model::step::StepResult::Done { output: Json::of(&output), usage };
            let steps = vec![StepWrite::Begin { no: 1, intent }, StepWrite::Finish { no: 1, result, shared: false }];
            let value = if n % 3 == 0 { 0.1 } else { 2.0 / 3.0 };
            let scores = vec![score("exact", value), score("kind", 1.0)];
            report(store, claimed.lease, steps, hand_in(outcome, scores), T0 + n).await.accepted();
        }
    }
}

/// ClickHouse writes 1.0 as 1.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) if a.is_f64() != b.is_f64() => a.as_f64() == b.as_f64(),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| is_same(a, b)))
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b)),
        _ => a == b,
    }
}

pub trait Accepted {
    fn accepted(self);
}

impl Accepted for Receipt {
    fn accepted(self) {
        assert_eq!(self, Receipt::Accepted);
    }
}
