//! Time of a restarted engine to its first claim with a million unfinished items.

use std::sync::Arc;
use std::time::{Duration, Instant};

use windrow_model::store::{Claim, PlanPage, Store};
use windrow_model::{Clock, Json};
use windrow_store::SqliteStore;

use crate::Figures;
use crate::noop::{Noop, item};
use crate::walk::{block_on, home, start, submit_noop, take_on};

pub fn first_claim(items: u64) -> Figures {
    let home = home();
    let path = home.path().join("windrow.db");
    block_on(async {
        let store = SqliteStore::open(&path).expect("a new database");
        interrupted(&store, items).await;
    });
    block_on(async {
        let began = Instant::now();
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&path).expect("the database again"));
        // At start-up the process that held the leases is known to be dead.
        for session in store.sessions().await.expect("sessions") {
            store.expire_session(session.id, windrow_engine::SystemClock.now()).await.expect("buried");
        }
        let engine = start(store, Noop { pause: Duration::from_millis(50), ..Default::default() }, 32).await;
        while engine.in_flight() == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let ms = began.elapsed().as_secs_f64() * 1e3;
        engine.stop().await;
        [("sqlite.restart_first_claim_ms".to_owned(), ms)].into()
    })
}

/// A planned and started run whose process died.
async fn interrupted(store: &dyn Store, items: u64) {
    let now = windrow_engine::SystemClock.now();
    let run = submit_noop(store, items, 512).await;
    let (session, ticket) = take_on(store, run, 15_000).await;
    let mut from = None;
    for first in (0..items).step_by(5_000) {
        let last = (first + 5_000).min(items);
        let to = Some(Json::of(&last));
        let rows = (first..last).map(item).collect();
        let page = PlanPage { ticket, from, to: to.clone(), done: last == items, items: rows };
        store.plan_items(page, now).await.expect("planned");
        from = to;
    }
    let claim = Claim { run, session, want: 512, lease_ms: 15_000 };
    store.claim(claim, now).await.expect("claimed");
}
