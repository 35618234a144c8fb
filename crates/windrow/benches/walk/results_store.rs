//! What the result table costs a run: the same walk with nobody looking and with a table that is kept up from the log of
//! changes all the time, one after the other on the same database.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use windrow_model::store::Store;
use windrow_model::{JobId, RunId};
use windrow_results::columns::Shelf;
use windrow_results::{Grid, ResultRow};
use windrow_store::{SqlStore, SqliteStore};

use crate::noop::Noop;
use crate::shelf::OnDisk;
use crate::walk::{CONCURRENCY, block_on, finish, home, server_url, submit_named};
use crate::{Figures, peak_mb};

/// Walks of either kind; the better of them counts.
const ROUNDS: usize = 3;
/// Rows that are read again at once, and how long the reader rests.
const PAGE: usize = 500;
const REST: Duration = Duration::from_millis(500);

pub fn sqlite(items: u64) -> Figures {
    let home = home();
    let store = Arc::new(SqliteStore::open(&home.path().join("windrow.db")).expect("a new database"));
    block_on(cost(store, items, "sqlite"))
}

/// On the server that `WINDROW_BENCH_POSTGRES` names.
pub fn postgres(items: u64) -> Figures {
    let url = server_url("postgres");
    block_on(async { cost(Arc::new(SqlStore::connect(&url).await.expect("the server")), items, "postgres").await })
}

async fn cost(store: Arc<dyn Store>, items: u64, database: &str) -> Figures {
    let (mut alone, mut watched, mut reread) = (0.0f64, 0.0f64, 0);
    for round in 0..ROUNDS {
        for watch in [false, true] {
            let name = format!("results-{round}-{watch}");
            let run = submit_named(&*store, &name, items, CONCURRENCY).await;
            let job = store.run(run).await.expect("the run").job;
            let ended = Arc::new(AtomicBool::new(false));
            let reader = watch.then(|| tokio::spawn(keep_up(store.clone(), job, run, ended.clone())));
            let rate = items as f64 / finish(store.clone(), Noop::default(), run, items, CONCURRENCY).await;
            ended.store(true, Ordering::Relaxed);
            match reader {
                None => alone = alone.max(rate),
                Some(reader) => {
                    watched = watched.max(rate);
                    let (rows, read) = reader.await.expect("the table is read");
                    assert_eq!(rows, items as usize, "every row is in the table");
                    reread = read;
                }
            }
        }
    }
    let figure = |name: &str, value: f64| (format!("results_store.{database}_{name}"), value);
    [
        figure("items_per_s", alone),
        figure("items_per_s_watched", watched),
        figure("cost_percent", 100.0 * (1.0 - watched / alone)),
        figure("rows_read_per_item", reread as f64 / items as f64),
        figure("peak_mb", peak_mb()),
    ]
    .into()
}

/// The rows in the table at the end, and how many were read for it.
async fn keep_up(store: Arc<dyn Store>, job: JobId, run: RunId, ended: Arc<AtomicBool>) -> (usize, usize) {
    let folder = home();
    let shelf: Arc<dyn Shelf> = Arc::new(OnDisk::create(folder.path()).expect("a file for texts"));
    let (mut grid, mut newest, mut read) = (Grid::empty(shelf), 0, 0);
    loop {
        let last = ended.load(Ordering::Relaxed);
        let changes = store.result_changes(job, newest, PAGE).await.expect("the log").expect("nothing is forgotten");
        newest = changes.newest;
        read += changes.items.len();
        for some in changes.items.chunks(PAGE) {
            let details = store.details(some.to_vec()).await.expect("the rows");
            let rows: Vec<ResultRow> =
                details.iter().map(|detail| ResultRow::of(detail, None, |of| i64::from(of == run))).collect();
            grid = grid.with(rows).expect("room for texts");
        }
        if last && !changes.more {
            return (grid.len(), read);
        }
        if !changes.more {
            tokio::time::sleep(REST).await;
        }
    }
}
