//! Cost per item of each store call of the hot path, executed in batches on an existing database.
//! `benches/queues/aged.py` fills the tables and compares.

use std::sync::Arc;
use std::time::Instant;

use windrow_engine::SystemClock;
use windrow_model::state::Outcome;
use windrow_model::step::{ContentKey, Usage};
use windrow_model::store::{Claim, Claimed, Closing, Ending, PlanPage, Queue, Report, StepWrite, Store};
use windrow_model::{Clock, Json, RunId, SessionId, Ticket};
use windrow_store::SqlStore;

use crate::Figures;
use crate::noop::{done, intent, item};
use crate::walk::{block_on, server_url, submit_noop, take_on};

const ITEMS: u64 = 20_000;
const PAGE: u64 = 2_000;
const BATCH: usize = 500;
const LEASE_MS: i64 = 60_000;

pub fn costs(database: &str) -> Figures {
    block_on(async {
        let store = SqlStore::connect(&server_url(database)).await.expect("the server");
        let mut costs = Figures::new();
        let work = Work::begin(&store).await;
        work.plan(&mut costs).await;
        work.walk(&mut costs).await;
        store.close_run(work.ticket, Closing::default(), SystemClock.now()).await.expect("closed");
        costs.into_iter().map(|(verb, us)| (format!("{database}.{verb}_us_per_item"), us / ITEMS as f64)).collect()
    })
}

struct Work<'a> {
    store: &'a dyn Store,
    session: SessionId,
    run: RunId,
    ticket: Ticket,
}

impl<'a> Work<'a> {
    async fn begin(store: &'a dyn Store) -> Self {
        let run = submit_noop(store, ITEMS, BATCH as i64).await;
        let (session, ticket) = take_on(store, run, LEASE_MS).await;
        Self { store, session, run, ticket }
    }

    /// Rows that no earlier pass has used.
    async fn plan(&self, costs: &mut Figures) {
        let first = SystemClock.now().0 as u64;
        let mut from = None;
        for start in (0..ITEMS).step_by(PAGE as usize) {
            let to = Some(Json::of(&(start + PAGE)));
            let items = (start..start + PAGE).map(|n| item(first * ITEMS + n)).collect();
            let page = PlanPage { ticket: self.ticket, from, to: to.clone(), done: start + PAGE == ITEMS, items };
            let began = Instant::now();
            self.store.plan_items(page, SystemClock.now()).await.expect("planned");
            note(costs, "plan", began);
            from = to;
        }
    }

    async fn walk(&self, costs: &mut Figures) {
        loop {
            let claim = Claim { run: self.run, session: self.session, want: BATCH, lease_ms: LEASE_MS };
            let began = Instant::now();
            let claimed = self.store.claim(claim, SystemClock.now()).await.expect("claimed");
            note(costs, "claim", began);
            if claimed.is_empty() {
                return;
            }
            let reports: Arc<[Report]> = claimed.iter().map(report).collect();
            let began = Instant::now();
            self.store.report(reports, SystemClock.now()).await.expect("reported");
            note(costs, "report", began);
            let began = Instant::now();
            let archived = self.store.archive(self.ticket, BATCH, SystemClock.now()).await.expect("archived");
            note(costs, "archive", began);
            assert_eq!(archived.items, claimed.len() as i64, "what was handed in is archived");
        }
    }
}

fn report(claimed: &Claimed) -> Report {
    let usage = Usage { tokens_in: 12, tokens_out: 6, cost_nanos: 0 };
    let step =
        StepWrite::Whole { no: 1, intent: intent(ContentKey::of(&[&claimed.key.0])), result: done(), took_ms: 7 };
    let ending =
        Ending::HandIn { outcome: Outcome::Succeeded, scores: Vec::new(), usage, latency_ms: 1, failure: None };
    Report { lease: claimed.lease, steps: vec![step], ending }
}

fn note(costs: &mut Figures, verb: &str, began: Instant) {
    *costs.entry(verb.to_owned()).or_default() += began.elapsed().as_secs_f64() * 1e6;
}
