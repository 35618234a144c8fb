//! The relay follows the outbox and sends what changed to ClickHouse. One process of a database relays at a time.
//!
//! A turn takes a number, reads the records that events and marks name, sends their rows under that number, and only
//! then keeps how far it has come. Killed in between, it sends the same again under a higher number; the rows replace
//! each other. A relay that was replaced while it was sending has a lower number than its successor, so what it still
//! sends does not count. Nothing waits for the relay: events deleted before it has read them leave marks of their jobs.

mod planning;
mod running;
mod sweep;
mod work;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use windrow_model::analytics::{AnalyticsStore, Mark, Sent};
use windrow_model::store::{Store, StoreError};
use windrow_model::{Clock, JobId, Json, SessionId, Time};

use crate::batch::Batch;
use crate::client::{Client, Failure};
use crate::source::Records;
use crate::{meters, schema};
use planning::Planning;
use running::Running;
use work::Work;

const LEASE_MS: i64 = 15_000;
/// Events, of at most a hundred items each, and marks of one turn.
const EVENTS: usize = 40;
const MARKS: usize = 500;
const RUNNING: usize = 2_000;
/// Few large inserts: every one makes a part that ClickHouse has to merge.
const PACE: Duration = Duration::from_millis(500);
const LOOK_AT_RUNNING_MS: i64 = 1_000;
const BACKOFF: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_secs(20);
/// Jobs whose columns are remembered.
const JOBS: usize = 1_000;

#[derive(Clone)]
pub struct Parts {
    pub store: Arc<dyn Store>,
    pub analytics: Arc<dyn AnalyticsStore>,
    pub client: Client,
    pub clock: Arc<dyn Clock>,
    pub owner: SessionId,
    /// For a database that has had no relay so far; any name that no other has.
    pub incarnation: String,
    /// The evaluators of a definition.
    pub evaluators: fn(&Json) -> Vec<String>,
}

pub struct Relay {
    parts: Parts,
    leading: Option<Leading>,
    trouble: Option<String>,
    backoff: Duration,
    behind_since: Option<Time>,
}

/// What it remembers while it is the relay.
struct Leading {
    incarnation: String,
    until: Time,
    event: i64,
    /// The highest number of a row in ClickHouse when it began.
    newest: i64,
    columns: HashMap<JobId, Vec<String>>,
    running: Running,
    planning: Planning,
    looked_at: Time,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// More is waiting.
    More,
    /// Everything there was is sent.
    Done,
    /// Another process relays.
    Elsewhere,
}

#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    #[error(transparent)]
    ClickHouse(#[from] Failure),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the ClickHouse database {0} holds the results of another Windrow database; use another one, or drop it")]
    Taken(String),
}

impl Relay {
    pub fn new(parts: Parts) -> Self {
        Self { parts, leading: None, trouble: None, backoff: BACKOFF, behind_since: None }
    }

    /// Until it is aborted. Errors are noted and tried again.
    pub async fn run(mut self) {
        loop {
            let pause = match self.turn().await {
                Ok(Turn::More) => continue,
                Ok(Turn::Done) => PACE,
                Ok(Turn::Elsewhere) => Duration::from_millis(LEASE_MS as u64 / 3),
                Err(_) => {
                    self.backoff = (self.backoff * 2).min(MAX_BACKOFF);
                    self.backoff / 2
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Sends everything there is; for commands. False: another process does.
    pub async fn catch_up(&mut self) -> Result<bool, Trouble> {
        loop {
            match self.turn().await? {
                Turn::More => {}
                Turn::Done => return Ok(true),
                Turn::Elsewhere => return Ok(false),
            }
        }
    }

    /// Lets another process relay at once.
    pub async fn leave(self) -> Result<(), StoreError> {
        self.parts.analytics.leave_relay(self.parts.owner).await
    }

    /// Sends the next page.
    pub async fn turn(&mut self) -> Result<Turn, Trouble> {
        let done = self.try_turn().await;
        match &done {
            Ok(Turn::Elsewhere) => self.leading = None,
            Ok(_) => {
                self.backoff = BACKOFF;
                self.note(None).await;
            }
            Err(trouble) => {
                meters::failed();
                // What is remembered may be wrong: ClickHouse may have been replaced by an empty one.
                self.leading = None;
                let text = trouble.to_string();
                self.note(Some(text)).await;
            }
        }
        self.show(done.as_ref().is_ok_and(|turn| *turn == Turn::Done)).await;
        done
    }

    async fn try_turn(&mut self) -> Result<Turn, Trouble> {
        if !self.lead().await? {
            return Ok(Turn::Elsewhere);
        }
        let Parts { store, analytics, clock, owner, .. } = self.parts.clone();
        let Some(leading) = self.leading.as_mut() else { return Ok(Turn::Elsewhere) };
        // In this order: what is committed later has a mark or an event that the next turn finds.
        let newest = store.outbox_reach().await?.newest;
        let marks = analytics.marks(MARKS).await?;
        let events = store.outbox(leading.event, EVENTS).await?;
        let mut work = Work::of(&events, &marks);
        let now = clock.now();
        let mut running = None;
        if now - leading.looked_at >= LOOK_AT_RUNNING_MS {
            let current = analytics.running_items(RUNNING).await?;
            leading.running.difference(&current).into_iter().for_each(|(job, item)| work.touch(job, item));
            (leading.looked_at, running) = (now, Some(current));
        }
        let whole = marks.iter().find(|mark| mark.item.is_none()).copied();
        let (is_last, last) = (events.len() < EVENTS, events.last().map(|event| (event.id, event.at)));
        // Events of deleted jobs are not shown.
        let event = if is_last { Some((newest.max(last.map_or(0, |(id, _)| id)), now)) } else { last };
        let event = event.filter(|(id, _)| *id > leading.event);
        let items: Vec<Mark> = marks.iter().filter(|mark| mark.item.is_some()).copied().collect();
        let mut sent = Sent { event, done: items, jobs: work.whole.iter().copied().collect(), ..Sent::default() };
        leading.planning.begins(work.submitted.iter().copied());
        let planned = leading.planning.next(&*store, &marks).await?;
        if work.is_empty() && whole.is_none() && planned.is_none() {
            if event.is_some() && !analytics.keep_sent(owner, sent).await? {
                return Ok(Turn::Elsewhere);
            }
            leading.event = event.map_or(leading.event, |(id, _)| id);
            return Ok(Turn::Done);
        }
        let Some(revision) = analytics.next_revision(owner, leading.newest).await? else { return Ok(Turn::Elsewhere) };
        let mut batch = Batch::new(revision);
        self.parts.add(leading, &work, &mut batch).await?;
        let follows = match planned {
            Some(job) => self.parts.follow(leading, job, &mut batch).await?,
            None => false,
        };
        let mut sweep = None;
        if let Some(mark) = whole {
            let walked = self.parts.walk(leading, mark, &mut batch).await?;
            sweep = walked.sweep;
            match walked.mark {
                Some(mark) => sent.moved.push(mark),
                None => sent.done.push(mark),
            }
        }
        batch.send(&self.parts.client, &leading.incarnation).await?;
        if let Some(sweep) = sweep {
            sweep.perform(&self.parts.client, revision).await?;
        }
        let more = !is_last || marks.len() == MARKS || whole.is_some() || !sent.jobs.is_empty() || follows;
        if !analytics.keep_sent(owner, sent).await? {
            return Ok(Turn::Elsewhere);
        }
        leading.event = event.map_or(leading.event, |(id, _)| id);
        running.iter().for_each(|current| leading.running.shows(current));
        Ok(if more { Turn::More } else { Turn::Done })
    }

    /// Takes or prolongs the lease; at its beginning, prepares ClickHouse.
    async fn lead(&mut self) -> Result<bool, Trouble> {
        let Parts { analytics, client, clock, owner, incarnation, .. } = &self.parts;
        let now = clock.now();
        let is_fresh = |leading: &Leading| leading.until - now > LEASE_MS / 2;
        if self.leading.as_ref().is_some_and(is_fresh) {
            return Ok(true);
        }
        let Some(relay) = analytics.lead_relay(*owner, incarnation.clone(), LEASE_MS, now).await? else {
            return Ok(false);
        };
        if let Some(leading) = &mut self.leading {
            leading.until = relay.owned_until;
            return Ok(true);
        }
        // Marked before the columns are there, so that nobody asks for what is not in them yet.
        if schema::is_outdated(client).await? {
            analytics.mark_jobs(None).await?;
        }
        schema::migrate(client).await?;
        let mut newest = schema::newest_revision(client).await?;
        match schema::incarnation(client).await? {
            Some(name) if name != relay.incarnation => return Err(Trouble::Taken(client.address().to_string())),
            // A database that was restored from a backup knows less than its copy.
            Some(_) if newest <= relay.revision => {}
            _ => {
                schema::begin(client, &relay.incarnation).await?;
                analytics.mark_jobs(None).await?;
                newest = 0;
            }
        }
        self.leading = Some(Leading {
            incarnation: relay.incarnation,
            until: relay.owned_until,
            event: relay.event,
            newest,
            columns: HashMap::new(),
            running: Running::read(client).await?,
            planning: Planning::default(),
            looked_at: Time(0),
        });
        Ok(true)
    }

    async fn note(&mut self, trouble: Option<String>) {
        if trouble == self.trouble {
            return;
        }
        match &trouble {
            Some(trouble) => tracing::warn!(trouble, "analytics is not kept up to date, retrying"),
            None => tracing::info!("analytics is kept up to date again"),
        }
        let Parts { analytics, owner, clock, .. } = &self.parts;
        match analytics.note_trouble(*owner, trouble.clone(), clock.now()).await {
            Ok(()) => self.trouble = trouble,
            Err(error) => tracing::warn!(%error, "failed to note the state of analytics"),
        }
    }

    async fn show(&mut self, is_up_to_date: bool) {
        let now = self.parts.clock.now();
        self.behind_since = if is_up_to_date { None } else { self.behind_since.or(Some(now)) };
        if let Ok(Some(status)) = self.parts.analytics.relay_status().await {
            meters::show(&status, self.behind_since.map_or(0, |since| now - since));
        }
    }
}

/// What a page of a marked job came to.
struct Walked {
    /// Where it continues; `None` at the end.
    mark: Option<Mark>,
    sweep: Option<sweep::Sweep>,
}

impl Parts {
    async fn add(&self, leading: &mut Leading, work: &Work, batch: &mut Batch) -> Result<(), Trouble> {
        for (job, work) in &work.jobs {
            let Some(mut records) = self.records(leading, *job).await? else { continue };
            if records.add_items(&*self.store, &work.items, batch).await? {
                records.add_head(&work.runs, batch);
                leading.columns.insert(*job, records.columns);
            }
        }
        Ok(())
    }

    async fn walk(&self, leading: &mut Leading, mark: Mark, batch: &mut Batch) -> Result<Walked, Trouble> {
        let mark = leading.planning.take(mark);
        let gone = Walked { mark: None, sweep: Some(sweep::Sweep { job: mark.job, below: batch.revision }) };
        let Some(mut records) = self.records(leading, mark.job).await? else { return Ok(gone) };
        let since = if mark.since == 0 { batch.revision } else { mark.since };
        let Some(walked) = records.add_page(&*self.store, mark.sent_to, batch).await? else { return Ok(gone) };
        records.add_head(&records.all_runs(), batch);
        leading.columns.insert(mark.job, records.columns);
        Ok(match walked.done {
            true => Walked { mark: None, sweep: Some(sweep::Sweep { job: mark.job, below: since }) },
            false => Walked { mark: Some(Mark { sent_to: walked.to, since, ..mark }), sweep: None },
        })
    }

    async fn records(&self, leading: &mut Leading, job: JobId) -> Result<Option<Records>, Trouble> {
        if leading.columns.len() > JOBS {
            leading.columns.clear();
        }
        let columns = match leading.columns.get(&job) {
            Some(columns) => Some(columns.clone()),
            None => schema::columns(&self.client, job).await?,
        };
        Ok(Records::read(&*self.store, job, columns, self.evaluators).await?)
    }
}
