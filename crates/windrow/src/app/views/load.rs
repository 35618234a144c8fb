//! The tables that are looked at, in columns. A table is read from the records once; from then on only the rows that
//! changed are read again, before every answer, so that an answer has everything that was committed before it. Where
//! that takes longer than a person waits, the answer is the table as it was, and says how far it is behind.
//!
//! A table is read in a task of its own, one at a time: a caller that goes away interrupts nothing, and the next one
//! finds what was read for the first.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Mutex as Turn;
use windrow_model::record::Job;
use windrow_model::{ItemId, JobId};
use windrow_results::columns::{SEGMENT, Shelf};
use windrow_results::{Grid, ResultRow};

use crate::app::App;
use crate::app::views::held::{Held, PAGE, changed, unreadable};
use crate::app::views::scan::{self, Scan};
use crate::app::views::shelf::OnDisk;
use crate::app::views::{computed, kept};
use crate::error::{Error, Result};

/// Pages of changes that stay in the log for tables of other processes, which may be a little behind.
const FOR_OTHERS: usize = 1_000;
/// Tables in memory, and their rows together; two always stay, to be compared.
const TABLES: usize = 8;
const ROWS: usize = 4_000_000;
/// As long, a person waits for the newest rows where older ones could be shown.
const PATIENCE: Duration = Duration::from_secs(2);

/// The tables, the one that was asked for last at the end.
#[derive(Default)]
pub struct Tables {
    kept: Mutex<Vec<Kept>>,
}

#[derive(Clone)]
struct Kept {
    job: JobId,
    run: Option<i64>,
    table: Arc<OneTable>,
    rows: usize,
}

#[derive(Default)]
struct OneTable {
    /// One reads it at a time.
    turn: Turn<()>,
    held: Mutex<Option<Held>>,
    /// Rows that changed and are being read.
    waiting: AtomicUsize,
}

/// What is shown to somebody who asks.
pub struct Shown {
    pub grid: Arc<Grid>,
    pub as_of: i64,
    /// Rows that changed and are not in it yet, as far as they are known; 0: it is current.
    pub behind: usize,
}

impl Shown {
    fn of(held: Held, behind: usize) -> Self {
        Self { grid: held.grid, as_of: held.as_of, behind }
    }
}

impl OneTable {
    fn held(&self) -> Option<Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn hold(&self, held: Option<Held>) {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = held;
    }
}

impl Tables {
    fn find(&self, job: JobId, run: Option<i64>) -> Arc<OneTable> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().position(|kept| (kept.job, kept.run) == (job, run));
        let found = match known {
            Some(at) => kept.remove(at),
            None => Kept { job, run, table: Arc::default(), rows: 0 },
        };
        kept.push(found.clone());
        found.table
    }

    /// Drops those that nobody has asked for the longest.
    fn make_room(&self, job: JobId, run: Option<i64>, rows: usize) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter_mut().filter(|kept| (kept.job, kept.run) == (job, run)).for_each(|kept| kept.rows = rows);
        while kept.len() > TABLES || (kept.len() > 2 && kept.iter().map(|kept| kept.rows).sum::<usize>() > ROWS) {
            kept.remove(0);
        }
    }

    /// Drops the tables of single runs of a job.
    fn forget_runs(&self, job: JobId) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|kept| kept.job != job || kept.run.is_none());
    }

    /// The change up to which every table of the job has the log behind it.
    fn consumed(&self, job: JobId) -> Option<i64> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().filter(|kept| kept.job == job).filter_map(|kept| Some(kept.table.held()?.newest)).min()
    }
}

/// The current results of all items, or what one run made of them, with everything that was committed before.
pub async fn current(app: &App, job: &Job, run: Option<i64>) -> Result<Arc<Grid>> {
    Ok(refreshing(app, job, run, app.views.tables.find(job.id, run)).await.map_err(interrupted)??.grid)
}

/// The same for a person, who rather sees an older table than none.
pub async fn table(app: &App, job: &Job, run: Option<i64>) -> Result<Shown> {
    let table = app.views.tables.find(job.id, run);
    let refreshing = refreshing(app, job, run, table.clone());
    shown(&table, refreshing, PATIENCE).await
}

async fn shown(table: &OneTable, mut refreshing: Refreshing, patience: Duration) -> Result<Shown> {
    loop {
        if let Ok(done) = tokio::time::timeout(patience, &mut refreshing).await {
            return Ok(Shown::of(done.map_err(interrupted)??, 0));
        }
        if let Some(held) = table.held() {
            return Ok(Shown::of(held, table.waiting.load(Ordering::Relaxed).max(1)));
        }
    }
}

type Refreshing = tokio::task::JoinHandle<Result<Held>>;

fn refreshing(app: &App, job: &Job, run: Option<i64>, table: Arc<OneTable>) -> Refreshing {
    let (app, job) = (app.clone(), job.clone());
    tokio::spawn(async move {
        let _turn = table.turn.lock().await;
        let held = refresh(&app, &job, run, &table).await?;
        Ok(put(&app, &job, run, &table, held).await)
    })
}

fn interrupted(failed: tokio::task::JoinError) -> Error {
    Error::new(format!("the table of results was not read: {failed}"), "try again")
}

async fn refresh(app: &App, job: &Job, run: Option<i64>, table: &OneTable) -> Result<Held> {
    // Before the rows: what changes meanwhile is read once more.
    let as_of = app.store.outbox_reach().await?.newest;
    let known = match table.held() {
        Some(held) => Some(held),
        None => kept::open(app, job, run).await,
    };
    if let Some(known) = known {
        table.hold(Some(known.clone()));
        let caught_up = catch_up(app, job, run, known, &table.waiting).await;
        table.waiting.store(0, Ordering::Relaxed);
        if let Some(held) = caught_up? {
            let grid = with_removed(app, job, held.grid).await?;
            return Ok(Held { as_of, grid, ..held });
        }
    }
    Ok(Held { as_of, ..read(app, job, run).await? })
}

/// An eighth of the rows is read in little time.
fn is_worth_keeping(held: &Held) -> bool {
    let rows = held.grid.len();
    rows >= kept::FEWEST_ROWS && held.unkept.is_none_or(|changed| changed > rows / 8)
}

/// Holds a table for whoever asks next, and keeps it for the next process.
async fn put(app: &App, job: &Job, run: Option<i64>, table: &OneTable, held: Held) -> Held {
    let keeps = is_worth_keeping(&held);
    let held = Held { unkept: if keeps { Some(0) } else { held.unkept }, ..held };
    table.hold(Some(held.clone()));
    app.views.tables.make_room(job.id, run, held.grid.len());
    if keeps {
        let keeping = keep(app.clone(), job.clone(), run, held.clone());
        match app.is_server() {
            true => drop(tokio::spawn(keeping)),
            // A command ends soon.
            false => keeping.await,
        }
    }
    held
}

/// What is not kept is read again by the next process.
async fn keep(app: App, job: Job, run: Option<i64>, held: Held) {
    if let Err(error) = kept::keep(&app, &job, run, &held).await {
        tracing::warn!(job = %job.name, error = %error.one_line(), "a result table was not kept");
        return;
    }
    let consumed = app.views.tables.consumed(job.id).unwrap_or(held.newest).min(held.newest);
    if let Err(error) = app.store.forget_result_changes(job.id, consumed, FOR_OTHERS).await {
        tracing::warn!(job = %job.name, %error, "the log of changed rows was not shortened");
    }
}

/// Reads the table of a job again. The answer is the one until now, brought up to date by the log of changes alone, and
/// the new one; tables of single runs are forgotten.
pub async fn replace(app: &App, job: &Job) -> Result<(Option<Held>, Held)> {
    let table = app.views.tables.find(job.id, None);
    let (app, job) = (app.clone(), job.clone());
    let replaced = tokio::spawn(async move {
        let _turn = table.turn.lock().await;
        let known = match table.held() {
            Some(held) => Some(held),
            None => kept::peek(&app, &job, None).await,
        };
        let before = match known {
            Some(known) => catch_up(&app, &job, None, known, &AtomicUsize::new(0)).await?,
            None => None,
        };
        let after = read(&app, &job, None).await?;
        app.views.tables.forget_runs(job.id);
        kept::forget(&app.tables(), job.id);
        Ok((before, put(&app, &job, None, &table, after).await))
    });
    replaced.await.map_err(interrupted)?
}

/// All rows, from the records alone.
pub async fn read(app: &App, job: &Job, run: Option<i64>) -> Result<Held> {
    let (as_of, newest) = (app.store.outbox_reach().await?.newest, app.store.newest_result_change(job.id).await?);
    let mut scan = Scan::new(app, job, &app.store.runs(job.id).await?, run, PAGE)?;
    let shelf: Arc<dyn Shelf> = Arc::new(OnDisk::create(&app.uploads()).map_err(unreadable)?);
    let (mut grid, mut pages, mut count) = (Arc::new(Grid::empty(shelf)), Vec::new(), 0);
    while let Some(page) = scan.next(app).await? {
        count += page.len();
        pages.push(scan.rows(page).await?);
        if count >= SEGMENT {
            (grid, count) = (with(grid, std::mem::take(&mut pages)).await?, 0);
        }
    }
    let grid = with_removed(app, job, with(grid, pages).await?).await?;
    Ok(Held { grid, newest, as_of, unkept: None })
}

/// `None` if the changes behind it are forgotten.
async fn catch_up(
    app: &App,
    job: &Job,
    run: Option<i64>,
    mut held: Held,
    waiting: &AtomicUsize,
) -> Result<Option<Held>> {
    let Some((items, newest)) = changed(app, job, held.newest).await? else { return Ok(None) };
    held.newest = newest;
    if items.is_empty() {
        return Ok(Some(held));
    }
    waiting.store(items.len(), Ordering::Relaxed);
    held.unkept = held.unkept.map(|changed| changed + items.len());
    let runs = app.store.runs(job.id).await?;
    let scan = Scan::new(app, job, &runs, run, PAGE)?;
    let items: Vec<ItemId> = items.into_iter().collect();
    let (mut pages, mut count) = (Vec::new(), 0);
    for page in items.chunks(PAGE) {
        let found = scan.some(app, page).await?;
        count += found.len();
        pages.push(scan.rows(found).await?);
        if count >= SEGMENT {
            (held.grid, count) = (with(held.grid, std::mem::take(&mut pages)).await?, 0);
        }
    }
    held.grid = with(held.grid, pages).await?;
    Ok(Some(held))
}

/// The table after the last run over the whole dataset.
async fn with_removed(app: &App, job: &Job, grid: Arc<Grid>) -> Result<Arc<Grid>> {
    let runs = app.store.runs(job.id).await?;
    let whole = scan::whole(app, job, &runs).await?.map_or(0, |(_, number)| number);
    if whole == grid.whole() {
        return Ok(grid);
    }
    Ok(Arc::new(computed(move || grid.after_whole(whole)).await?.map_err(unreadable)?))
}

async fn with(grid: Arc<Grid>, pages: Vec<Vec<ResultRow>>) -> Result<Arc<Grid>> {
    if pages.is_empty() {
        return Ok(grid);
    }
    let made = computed(move || grid.with(pages.into_iter().flatten())).await?;
    Ok(Arc::new(made.map_err(unreadable)?))
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;
    use windrow_results::columns::InMemory;

    use super::*;

    fn held(as_of: i64) -> Held {
        Held { grid: Arc::new(Grid::empty(Arc::<InMemory>::default())), newest: as_of, as_of, unkept: None }
    }

    fn reading() -> (oneshot::Sender<()>, Refreshing) {
        let (release, released) = oneshot::channel();
        let refreshing = tokio::spawn(async move {
            released.await.expect("the sender sends");
            Ok(held(2))
        });
        (release, refreshing)
    }

    #[tokio::test]
    async fn an_older_table_is_shown_while_a_newer_one_is_read() {
        let table = OneTable::default();
        table.hold(Some(held(1)));
        table.waiting.store(7, Ordering::Relaxed);
        let (release, refreshing) = reading();
        let found = shown(&table, refreshing, Duration::from_millis(1)).await.unwrap();
        assert_eq!((found.as_of, found.behind), (1, 7));
        assert!(release.send(()).is_ok(), "it is still being read");
    }

    #[tokio::test]
    async fn the_first_to_ask_waits_for_the_whole_table() {
        let (table, (release, refreshing)) = (OneTable::default(), reading());
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            release.send(()).expect("somebody reads");
        });
        let found = shown(&table, refreshing, Duration::from_millis(1)).await.unwrap();
        assert_eq!((found.as_of, found.behind), (2, 0));
    }
}
