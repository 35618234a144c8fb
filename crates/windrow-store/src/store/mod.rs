//! The store in an SQL database: carries each call to the thread or connection that runs it. The verbs are in `sql/`,
//! the databases in `backend/`.

mod access;
mod alerts;
mod analytics;
mod audit;
mod datasets;
mod limits;
mod secrets;
#[cfg(test)]
mod tests;
mod webhooks;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use windrow_model::aggregate::{Aggregates, Stats};
use windrow_model::bell::Bell;
use windrow_model::compare::Comparison;
use windrow_model::counters::{Counters, JobCounters};
use windrow_model::health::{HealthSnapshot, HealthThresholds};
use windrow_model::item_query::{ItemPage, ItemQuery};
use windrow_model::label::{Label, NewLabel};
use windrow_model::limit::Wait;
use windrow_model::record::{
    BadScore, Item, ItemDetail, ItemResult, Job, LogEntry, OutboxEvent, Run, RunLimits, Schedule, Session, Step,
};
use windrow_model::state::RunEvent;
use windrow_model::step::ContentKey;
use windrow_model::store::*;
use windrow_model::why::RunDiagnosis;
use windrow_model::{AttemptId, ErrorClass, ItemId, JobId, Json, Lease, RunId, SessionId, Ticket, Time};

use crate::backend::sqlite::{self, FailureScope, Readers, Writer};
use crate::backend::{Address, CommitMeter, Connect, Connection, ConnectionPool, failure};
use crate::meters::Meters;
use crate::sql::admin::{clean_up, costs, delete_job};
use crate::sql::read::old_transaction::{self, OldTransaction};
use crate::sql::read::{aggregates, compare, diagnose, health, item_search, recount, results, stats};
use crate::sql::table::{event_numbers, items, jobs, journal, labels, result_changes, runs, shared, steps};
use crate::sql::verb::item_ids::{self, ItemIds, NewIds, Numbered};
use crate::sql::verb::scan_bookmarks::ScanBookmarks;
use crate::sql::verb::{
    admit, amend, archive, cancel, claim, close, plan, reap, renew, report, request_transition, requeue, rollout,
    schedules, sessions, submit,
};
use crate::transfer;

/// Connections to a server, per node.
const WRITERS: usize = 6;
const READERS: usize = 4;

/// A store in an SQL database. Dropping the embedded one finishes what is waiting, copies the write-ahead
/// log back and closes the file.
pub struct SqlStore {
    backend: Backend,
    meters: Meters,
    bell: Option<Arc<dyn Bell>>,
    bookmarks: Arc<ScanBookmarks>,
    item_ids: ItemIds,
    /// Held by whoever numbers events.
    numbering: tokio::sync::Mutex<()>,
}

/// Where its verbs run.
enum Backend {
    /// One thread writes a file, a few connections read it. The writer goes last and leaves no log behind.
    File { readers: Readers, writer: Writer },
    /// Connections to a server, some that write and some that read, so that neither waits for the other.
    Server { writers: ConnectionPool, readers: ConnectionPool, meter: Arc<CommitMeter>, reading: Arc<CommitMeter> },
}

impl SqlStore {
    /// Opens an SQLite file, creating it and its folder if need be, and brings its schema up to date.
    pub fn open(path: &Path) -> Result<Self> {
        let writer = Writer::start(sqlite::open_writer(path)?)?;
        Ok(Self {
            backend: Backend::File { writer, readers: Readers::new(path.to_owned()) },
            meters: Meters::default(),
            bell: None,
            // What is gone is gone at once.
            bookmarks: Arc::new(ScanBookmarks::bookmark_after(Duration::MAX)),
            item_ids: ItemIds::default(),
            numbering: tokio::sync::Mutex::default(),
        })
    }

    /// Reaches a server by its URL (`postgres://…`, `mysql://…`) and brings its schema up to date.
    pub async fn connect(url: &str) -> Result<Self> {
        let address = Address::parse(url)?;
        let migrating = address.clone();
        tokio::task::spawn_blocking(move || transfer::make_ready(&migrating))
            .await
            .map_err(|failed| StoreError::Unavailable(format!("the migration did not finish: {failed}")))??;
        let meter = Arc::new(CommitMeter::default());
        let writing = address.clone();
        let connect: Arc<Connect> = Arc::new(move || writing.connect_writer());
        let writers = ConnectionPool::start("windrow-writes", WRITERS, "BEGIN", &connect, &meter)?;
        let (begin, bell, reading) = (address.begin_reading(), address.bell()?, Arc::default());
        let connect: Arc<Connect> = Arc::new(move || address.connect_reader());
        let readers = ConnectionPool::start("windrow-reads", READERS, begin, &connect, &reading)?;
        let backend = Backend::Server { writers, readers, meter, reading };
        Ok(Self {
            backend,
            meters: Meters::default(),
            bell,
            bookmarks: Arc::default(),
            item_ids: ItemIds::default(),
            numbering: tokio::sync::Mutex::default(),
        })
    }

    /// With a bell, where the database has none of its own.
    pub fn with_bell(self, bell: Arc<dyn Bell>) -> Self {
        Self { bell: Some(self.bell.unwrap_or(bell)), ..self }
    }

    /// With another idea of how long a look at a queue may take before it leaves a mark (`scan_bookmarks.rs`).
    pub fn with_patience(self, long: Duration) -> Self {
        Self { bookmarks: Arc::new(ScanBookmarks::bookmark_after(long)), ..self }
    }

    /// Where nodes tell each other of what they did; `None` where there is one node, or no way to tell.
    pub fn bell(&self) -> Option<Arc<dyn Bell>> {
        self.bell.clone()
    }

    /// Transactions so far; far fewer than verbs when many arrive at once.
    pub fn commits(&self) -> u64 {
        match &self.backend {
            Backend::File { writer, .. } => writer.commits(),
            Backend::Server { meter, .. } => meter.commits(),
        }
    }

    /// Statements sent to a server so far, with those that begin and end transactions. None are sent to a file.
    pub fn statements(&self) -> u64 {
        match &self.backend {
            Backend::File { .. } => 0,
            Backend::Server { meter, reading, .. } => meter.statements() + reading.statements(),
        }
    }

    /// The transaction that somebody has kept open for longest, as far as we may see.
    pub async fn oldest_transaction(&self) -> Result<Option<OldTransaction>> {
        self.read("oldest_transaction", old_transaction::oldest).await
    }

    fn slowest_commit_ms(&self) -> i64 {
        match &self.backend {
            Backend::File { writer, .. } => writer.slowest_ms(),
            Backend::Server { meter, .. } => meter.slowest_ms(),
        }
    }

    pub(crate) async fn write<T: Send + 'static>(
        &self,
        name: &'static str,
        verb: impl Fn(&Connection) -> failure::Result<T> + Send + 'static,
    ) -> Result<T> {
        match &self.backend {
            Backend::File { writer, .. } => self.meters.timed(name, writer.write(FailureScope::Savepoint, verb)).await,
            Backend::Server { writers, .. } => self.meters.timed(name, writers.run(verb)).await,
        }
    }

    /// For what other nodes should look at.
    async fn write_and_tell<T: Send + 'static>(
        &self,
        name: &'static str,
        verb: impl Fn(&Connection) -> failure::Result<T> + Send + 'static,
    ) -> Result<T> {
        let done = self.write(name, verb).await?;
        self.ring();
        Ok(done)
    }

    fn ring(&self) {
        if let Some(bell) = &self.bell {
            bell.ring();
        }
    }

    /// For verbs that make at most so many items.
    async fn write_new_items(
        &self,
        name: &'static str,
        rows: usize,
        verb: impl Fn(&Connection, &NewIds) -> failure::Result<Numbered> + Send + Sync + 'static,
    ) -> Result<Planned> {
        let (verb, mut above) = (Arc::new(verb), 0);
        loop {
            let taken = self.take_item_ids(rows.max(1) as i64, above).await?;
            let (verb, ids) = (Arc::clone(&verb), taken.clone().map_or(NewIds::Sequence, NewIds::Taken));
            let done = self.write(name, move |tx| verb(tx, &ids)).await;
            if let Some(taken) = taken {
                let used = match &done {
                    Ok(Numbered::Done(planned)) => planned.created,
                    // It may have been committed.
                    Err(StoreError::Unavailable(_)) => taken.end - taken.start,
                    Ok(Numbered::Behind(_)) | Err(_) => 0,
                };
                self.item_ids.give_back(taken.start + used..taken.end);
            }
            match done? {
                Numbered::Done(planned) => {
                    self.ring();
                    return Ok(planned);
                }
                Numbered::Behind(newest) => above = newest.0,
            }
        }
    }

    /// `None` in a file.
    async fn take_item_ids(&self, many: i64, above: i64) -> Result<Option<Range<i64>>> {
        if let Backend::File { .. } = self.backend {
            return Ok(None);
        }
        loop {
            if let Some(ids) = self.item_ids.lease(many, above) {
                return Ok(Some(ids));
            }
            let range = many.max(item_ids::RANGE);
            let taken = self.write("take_item_ids", move |tx| item_ids::take(tx, range)).await?;
            self.item_ids.give_back(taken);
        }
    }

    /// For the verbs of the hot path.
    async fn write_hot<T: Send + 'static>(
        &self,
        name: &'static str,
        verb: impl Fn(&Connection) -> failure::Result<T> + Send + 'static,
    ) -> Result<T> {
        match &self.backend {
            Backend::File { writer, .. } => self.meters.timed(name, writer.write(FailureScope::Group, verb)).await,
            Backend::Server { writers, .. } => self.meters.timed(name, writers.run(verb)).await,
        }
    }

    async fn read<T: Send + 'static>(
        &self,
        name: &'static str,
        query: impl Fn(&Connection) -> failure::Result<T> + Send + 'static,
    ) -> Result<T> {
        match &self.backend {
            Backend::File { readers, .. } => self.meters.timed(name, readers.read(query)).await,
            Backend::Server { readers, .. } => self.meters.timed(name, readers.run(query)).await,
        }
    }

    /// For numbers over every row.
    async fn read_background<T: Send + 'static>(
        &self,
        name: &'static str,
        query: impl Fn(&Connection) -> failure::Result<T> + Send + 'static,
    ) -> Result<T> {
        match &self.backend {
            Backend::File { readers, .. } => self.meters.timed(name, readers.read_background(query)).await,
            Backend::Server { readers, .. } => self.meters.timed(name, readers.run(query)).await,
        }
    }

    /// For look-ups by key and single pages of an index.
    async fn read_inline<T: Send + 'static>(
        &self,
        name: &'static str,
        query: impl Fn(&Connection) -> failure::Result<T> + Send + 'static,
    ) -> Result<T> {
        match &self.backend {
            Backend::File { readers, .. } => self.meters.timed(name, async { readers.read_inline(query) }).await,
            Backend::Server { readers, .. } => self.meters.timed(name, readers.run(query)).await,
        }
    }

    /// For reads of events: what was committed before is among them, unless another node is numbering it right now.
    async fn read_events<T: Send + 'static>(
        &self,
        name: &'static str,
        query: impl Fn(&Connection) -> failure::Result<T> + Copy + Send + 'static,
    ) -> Result<T> {
        let read = move |conn: &Connection| Ok((event_numbers::is_due(conn)?, query(conn)?));
        let (due, found) = self.read_inline(name, read).await?;
        if !due || !self.number_due().await? {
            return Ok(found);
        }
        self.read_inline(name, query).await
    }

    /// For reads of the changes of result tables, as `read_events`.
    async fn read_changes<T: Send + 'static>(
        &self,
        name: &'static str,
        job: JobId,
        query: impl Fn(&Connection) -> failure::Result<T> + Copy + Send + 'static,
    ) -> Result<T> {
        let read = move |conn: &Connection| Ok((result_changes::is_due(conn, job)?, query(conn)?));
        let (due, found) = self.read_inline(name, read).await?;
        if !due {
            return Ok(found);
        }
        while self.write("number_changes", move |tx| result_changes::number(tx, job)).await? {}
        self.read_inline(name, query).await
    }

    /// Before a write that goes by the number of the newest event.
    async fn number_events(&self) -> Result<()> {
        self.read_events("number_events", |_| Ok(())).await
    }

    /// Whether it was our turn.
    async fn number_due(&self) -> Result<bool> {
        // Within a node one waits for the other.
        let _turn = self.numbering.lock().await;
        let numbered = self.write("number_events", event_numbers::number).await?;
        if numbered.is_some_and(|events| events > 0) {
            self.ring();
        }
        Ok(numbered.is_some())
    }
}

#[async_trait]
impl Queue for SqlStore {
    async fn open_session(&self, session: Session) -> Result<()> {
        self.write("open_session", move |tx| sessions::open_session(tx, &session)).await
    }

    async fn beat(&self, session: SessionId, lease_ms: i64, now: Time) -> Result<Beat> {
        self.write("beat", move |tx| sessions::beat(tx, session, lease_ms, now)).await
    }

    async fn drain(&self, session: SessionId) -> Result<()> {
        self.write_and_tell("drain", move |tx| sessions::drain(tx, session)).await
    }

    async fn runs_elsewhere(&self, session: SessionId, scope: Scope, now: Time) -> Result<Vec<Run>> {
        self.read("runs_elsewhere", move |conn| sessions::runs_elsewhere(conn, session, &scope, now)).await
    }

    async fn expire_session(&self, session: SessionId, now: Time) -> Result<()> {
        self.write_and_tell("expire_session", move |tx| sessions::expire_session(tx, session, now)).await
    }

    async fn note_waits(&self, session: SessionId, waits: Vec<Wait>) -> Result<()> {
        self.write("note_waits", move |tx| sessions::note_waits(tx, session, &waits)).await
    }

    async fn sessions(&self) -> Result<Vec<Session>> {
        self.read("sessions", sessions::sessions).await
    }

    async fn submit(&self, submission: Submission, now: Time) -> Result<Submitted> {
        self.write_and_tell("submit", move |tx| submit::submit(tx, &submission, now)).await
    }

    async fn admit(&self, admission: Admission, now: Time) -> Result<Vec<Held>> {
        self.write("admit", move |tx| admit::admit(tx, &admission, now)).await
    }

    async fn plan_items(&self, page: PlanPage, now: Time) -> Result<Planned> {
        let rows = page.items.len();
        self.write_new_items("plan_items", rows, move |tx, ids| plan::plan_items(tx, ids, &page, now)).await
    }

    async fn replan_items(&self, ticket: Ticket, selection: Selection, limit: usize, now: Time) -> Result<Planned> {
        self.write_and_tell("replan_items", move |tx| requeue::replan_items(tx, ticket, &selection, limit, now)).await
    }

    async fn feed_items(&self, run: RunId, items: Vec<NewItem>, now: Time) -> Result<Planned> {
        let rows = items.len();
        self.write_new_items("feed_items", rows, move |tx, ids| plan::feed_items(tx, ids, run, &items, now)).await
    }

    async fn claim(&self, claim: Claim, now: Time) -> Result<Vec<Claimed>> {
        let bookmarks = Arc::clone(&self.bookmarks);
        self.write_hot("claim", move |tx| claim::claim(tx, &bookmarks, &claim, now)).await
    }

    async fn history(&self, attempt: AttemptId) -> Result<Vec<Step>> {
        self.read_inline("history", move |conn| steps::history(conn, attempt)).await
    }

    async fn shared_step(&self, run: RunId, key: ContentKey) -> Result<Option<Step>> {
        self.read_inline("shared_step", move |conn| shared::shared_step(conn, run, key)).await
    }

    async fn renew(&self, leases: Vec<Lease>, lease_ms: i64, now: Time) -> Result<Vec<Renewal>> {
        self.write_hot("renew", move |tx| renew::renew(tx, &leases, lease_ms, now)).await
    }

    async fn report(&self, reports: Arc<[Report]>, now: Time) -> Result<Vec<Receipt>> {
        let done = self.write_hot("report", move |tx| report::report(tx, &reports, now)).await?;
        self.ring();
        Ok(done)
    }

    async fn archive(&self, ticket: Ticket, limit: usize, now: Time) -> Result<Archived> {
        let bookmarks = Arc::clone(&self.bookmarks);
        let done = self.write_hot("archive", move |tx| archive::archive(tx, &bookmarks, ticket, limit, now)).await?;
        self.ring();
        Ok(done)
    }

    async fn reap(&self, limit: usize, now: Time) -> Result<Reaped> {
        let bookmarks = Arc::clone(&self.bookmarks);
        self.write("reap", move |tx| reap::reap(tx, &bookmarks, limit, now)).await
    }

    async fn cancel_items(&self, ticket: Ticket, limit: usize, now: Time) -> Result<i64> {
        self.write("cancel_items", move |tx| cancel::cancel_items(tx, ticket, limit, now)).await
    }

    async fn open_wave(&self, ticket: Ticket, wave: i64, now: Time) -> Result<Run> {
        self.write_and_tell("open_wave", move |tx| rollout::open_wave(tx, ticket, wave, now)).await
    }

    async fn halt(&self, ticket: Ticket, reason: &str, now: Time) -> Result<Run> {
        let reason = reason.to_owned();
        self.write_and_tell("halt", move |tx| rollout::halt(tx, ticket, reason.clone(), now)).await
    }

    async fn yield_run(&self, ticket: Ticket, _now: Time) -> Result<()> {
        self.write_and_tell("yield_run", move |tx| sessions::yield_run(tx, ticket)).await
    }

    async fn close_run(&self, ticket: Ticket, closing: Closing, now: Time) -> Result<Run> {
        self.write_and_tell("close_run", move |tx| close::close_run(tx, ticket, &closing, now)).await
    }

    async fn summarize_run(&self, run: RunId, summary: Summary, now: Time) -> Result<()> {
        self.write("summarize_run", move |tx| close::summarize_run(tx, run, &summary, now)).await
    }

    async fn unsummarized_runs(&self, limit: usize) -> Result<Vec<RunId>> {
        self.read("unsummarized_runs", move |conn| close::unsummarized_runs(conn, limit)).await
    }

    async fn request_transition(
        &self,
        run: RunId,
        event: RunEvent,
        actor: &str,
        reason: Option<&str>,
        now: Time,
    ) -> Result<Run> {
        let (actor, reason) = (actor.to_owned(), reason.map(str::to_owned));
        self.write_and_tell("request_transition", move |tx| {
            request_transition::request_transition(tx, run, event, actor.clone(), reason.clone(), now)
        })
        .await
    }

    async fn approve(&self, run: RunId, wave: i64, actor: &str, now: Time) -> Result<Run> {
        let actor = actor.to_owned();
        self.write_and_tell("approve", move |tx| rollout::approve(tx, run, wave, actor.clone(), now)).await
    }

    async fn amend(&self, run: RunId, limits: RunLimits, actor: &str, now: Time) -> Result<Run> {
        let actor = actor.to_owned();
        self.write_and_tell("amend", move |tx| amend::amend(tx, run, limits, actor.clone(), now)).await
    }

    async fn schedule(&self, job: JobId, schedule: Option<Schedule>, actor: &str, now: Time) -> Result<()> {
        let actor = actor.to_owned();
        self.write_and_tell("schedule", move |tx| schedules::schedule(tx, job, schedule.clone(), actor.clone(), now))
            .await
    }

    async fn log(&self, entries: Vec<NewLog>, now: Time) -> Result<()> {
        self.write("log", move |tx| journal::log_all(tx, &entries, now)).await
    }

    async fn outbox(&self, after: i64, limit: usize) -> Result<Vec<OutboxEvent>> {
        self.read_events("outbox", move |conn| journal::outbox(conn, after, limit)).await
    }

    async fn outbox_reach(&self) -> Result<OutboxReach> {
        self.read_events("outbox_reach", journal::reach).await
    }

    async fn forget_outbox(&self, up_to: i64) -> Result<()> {
        self.number_events().await?;
        self.write("forget_outbox", move |tx| journal::forget_outbox(tx, up_to)).await
    }

    async fn label_items(&self, job: JobId, new: Vec<NewLabel>, author: &str, now: Time) -> Result<i64> {
        let author = author.to_owned();
        self.write("label_items", move |tx| labels::label_items(tx, job, &new, &author, now)).await
    }

    async fn forget_result_changes(&self, job: JobId, up_to: i64, keep: usize) -> Result<()> {
        // Only numbered changes are forgotten.
        let up_to = up_to.min(self.newest_result_change(job).await?);
        let forget = move |tx: &Connection| result_changes::forget(tx, job, up_to, keep);
        while self.write("forget_result_changes", forget).await? {}
        Ok(())
    }

    async fn jobs_with_changes(&self, more_than: usize) -> Result<Vec<JobId>> {
        self.read("jobs_with_changes", move |conn| result_changes::jobs(conn, more_than)).await
    }

    async fn pin(&self, job: JobId, pinned: bool, actor: &str, now: Time) -> Result<()> {
        let actor = actor.to_owned();
        self.write("pin", move |tx| schedules::pin(tx, job, pinned, actor.clone(), now)).await
    }

    async fn clean_up(&self, retention: Retention, limit: usize, now: Time) -> Result<i64> {
        let swept =
            move |tx: &Connection| Ok((clean_up::clean_up(tx, retention, now)?, delete_job::sweep_jobs(tx, limit)?));
        Ok(match self.write("clean_up", swept).await? {
            (jobs, Some(rows)) => jobs + rows,
            (jobs, None) => jobs + self.sweep_jobs(limit).await?,
        })
    }

    async fn delete_job(&self, job: JobId) -> Result<()> {
        self.write("delete_job", move |tx| delete_job::delete_job(tx, job)).await
    }

    async fn sweep_jobs(&self, limit: usize) -> Result<i64> {
        let sweep = move |tx: &Connection| delete_job::sweep_jobs(tx, limit);
        if let Some(rows) = self.write("sweep_jobs", sweep).await? {
            return Ok(rows);
        }
        self.number_events().await?;
        // Another node may be numbering them: then the rows are left to the next sweep.
        Ok(self.write("sweep_jobs", sweep).await?.unwrap_or(0))
    }

    async fn job(&self, id: JobId) -> Result<Job> {
        self.read_inline("job", move |conn| jobs::job(conn, id)).await
    }

    async fn due_jobs(&self, limit: usize, now: Time) -> Result<Vec<Job>> {
        self.read("due_jobs", move |conn| schedules::due_jobs(conn, limit, now)).await
    }

    async fn run(&self, id: RunId) -> Result<Run> {
        self.read_inline("run", move |conn| runs::run(conn, id)).await
    }

    async fn spec(&self, hash: &str) -> Result<Json> {
        let hash = hash.to_owned();
        self.read_inline("spec", move |conn| jobs::spec(conn, &hash)).await
    }

    async fn outline(&self, id: ItemId) -> Result<ItemDetail> {
        self.read_inline("outline", move |conn| Ok(items::outlines(conn, &[id])?.remove(0))).await
    }

    async fn newest_steps(&self, attempt: AttemptId, limit: usize) -> Result<Vec<Step>> {
        self.read_inline("newest_steps", move |conn| steps::newest(conn, &steps::NEWEST, attempt, limit)).await
    }
    async fn failed_steps(&self, attempt: AttemptId, limit: usize) -> Result<Vec<Step>> {
        self.read("failed_steps", move |conn| steps::newest(conn, &steps::FAILED, attempt, limit)).await
    }

    async fn aggregates(&self, run: RunId) -> Result<Aggregates> {
        self.read_background("aggregates", move |conn| aggregates::aggregates(conn, run)).await
    }

    async fn failed_classes(&self, run: RunId) -> Result<Vec<ErrorClass>> {
        self.read("failed_classes", move |conn| aggregates::failed_classes(conn, run)).await
    }

    async fn recount(&self, run: RunId) -> Result<Counters> {
        self.read("recount", move |conn| recount::recount(conn, run)).await
    }

    async fn cost_of_workspace(&self, workspace: &str) -> Result<i64> {
        let workspace = workspace.to_owned();
        self.read("cost_of_workspace", move |conn| costs::of_workspace(conn, &workspace)).await
    }
}

#[async_trait]
impl Reads for SqlStore {
    async fn find_job(&self, workspace: &str, name: &str) -> Result<Option<Job>> {
        let (workspace, name) = (workspace.to_owned(), name.to_owned());
        self.read_inline("find_job", move |conn| jobs::find_job(conn, &workspace, &name)).await
    }

    async fn jobs(&self, filter: JobFilter) -> Result<Vec<(Job, Run)>> {
        match filter.is_every_job() {
            true => self.read_inline("jobs", move |conn| jobs::jobs(conn, &filter)).await,
            false => self.read("jobs", move |conn| jobs::jobs(conn, &filter)).await,
        }
    }

    async fn runs(&self, job: JobId) -> Result<Vec<Run>> {
        self.read_inline("runs", move |conn| runs::runs(conn, job)).await
    }

    async fn items(&self, filter: ItemFilter) -> Result<Vec<Item>> {
        self.read("items", move |conn| items::items(conn, &filter)).await
    }

    async fn search_items(&self, query: ItemQuery) -> Result<ItemPage> {
        match query.condition.is_some() || query.sort.is_some() {
            true => self.read("search_items", move |conn| item_search::search_items(conn, &query)).await,
            false => self.read_inline("search_items", move |conn| item_search::search_items(conn, &query)).await,
        }
    }

    async fn item(&self, id: ItemId) -> Result<ItemDetail> {
        self.read_inline("item", move |conn| Ok(items::details(conn, &[id])?.remove(0))).await
    }

    async fn details(&self, ids: Vec<ItemId>) -> Result<Vec<ItemDetail>> {
        self.read("details", move |conn| items::details(conn, &ids)).await
    }

    async fn outlines(&self, ids: Vec<ItemId>) -> Result<Vec<ItemDetail>> {
        self.read("outlines", move |conn| items::outlines(conn, &ids)).await
    }

    async fn labels(&self, job: JobId, after: i64, limit: usize) -> Result<Vec<Label>> {
        self.read_inline("labels", move |conn| labels::of_job(conn, job, after, limit)).await
    }

    async fn newest_label(&self, job: JobId) -> Result<i64> {
        self.read_inline("newest_label", move |conn| labels::newest(conn, job)).await
    }

    async fn logs(&self, job: JobId, after: i64, limit: usize) -> Result<Vec<LogEntry>> {
        self.read_inline("logs", move |conn| journal::logs(conn, job, after, limit)).await
    }

    async fn stats(&self, extent: Extent) -> Result<Stats> {
        self.read_background("stats", move |conn| stats::stats(conn, &extent)).await
    }

    async fn recount_job(&self, job: JobId) -> Result<JobCounters> {
        self.read_background("recount_job", move |conn| recount::recount_job(conn, job)).await
    }

    async fn job_aggregates(&self, job: JobId) -> Result<Aggregates> {
        self.read_background("job_aggregates", move |conn| aggregates::job_aggregates(conn, job)).await
    }

    async fn results(&self, run: RunId, after: Option<ItemId>, limit: usize) -> Result<Vec<ItemResult>> {
        self.read("results", move |conn| results::results(conn, run, after, limit)).await
    }

    async fn result_changes(&self, job: JobId, after: i64, limit: usize) -> Result<Option<ResultChanges>> {
        self.read_changes("result_changes", job, move |conn| result_changes::after(conn, job, after, limit)).await
    }

    async fn newest_result_change(&self, job: JobId) -> Result<i64> {
        self.read_changes("newest_result_change", job, move |conn| result_changes::newest(conn, job)).await
    }

    async fn worst(&self, run: RunId, limit: usize) -> Result<Vec<BadScore>> {
        self.read("worst", move |conn| results::worst(conn, run, limit)).await
    }

    async fn compare(&self, before: RunPart, after: RunPart, limit: usize) -> Result<Comparison> {
        self.read("compare", move |conn| compare::compare(conn, &before, &after, limit)).await
    }

    async fn diagnose(&self, run: RunId, now: Time) -> Result<RunDiagnosis> {
        self.read("diagnose", move |conn| diagnose::diagnose(conn, run, now)).await
    }

    async fn health(&self, workspace: Option<String>, patience: HealthThresholds, now: Time) -> Result<HealthSnapshot> {
        let read = move |conn: &Connection| health::health(conn, workspace.as_deref(), &patience, now);
        let vitals = self.read("health", read).await?;
        Ok(HealthSnapshot { slowest_commit_ms: self.slowest_commit_ms(), ..vitals })
    }
}
