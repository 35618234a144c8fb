//! One reader: a cursor over the events, and a filter.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::Instant;
use utoipa::ToSchema;
use windrow_model::record::OutboxEvent;
use windrow_model::{JobId, RunId};

use crate::http::live::texts::Texts;
use crate::http::server::Server;
use crate::http::tail::Next;
use crate::http::tail::written::{Of, Written};
use crate::node::observe::streams::Counted;

/// Events read from the store at once, and held by a reader that has fallen behind.
const PAGE: usize = 8;
/// Before the next read after the store has failed.
const AGAIN: Duration = Duration::from_secs(1);
/// Between two progress events of a run.
const PROGRESS_EVERY: Duration = Duration::from_millis(250);

/// Whose events are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whose {
    All,
    Workspace(String),
    /// Ids of jobs that the caller may see.
    Jobs(BTreeSet<JobId>),
}

impl Whose {
    fn includes(&self, of: &Of) -> bool {
        match self {
            Whose::All => true,
            Whose::Workspace(workspace) => of.workspace == *workspace,
            Whose::Jobs(jobs) => jobs.contains(&of.job),
        }
    }
}

/// How much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// Every item with its result.
    #[default]
    Items,
    /// Of items only how many there are in which state, a few times a second (`run_progress`).
    Progress,
}

pub struct Reader {
    server: Arc<Server>,
    pub whose: Whose,
    detail: Detail,
    /// The last event that was read.
    cursor: i64,
    /// Read from the store, because the tail does not reach back.
    page: VecDeque<Arc<Written>>,
    newest: watch::Receiver<i64>,
    /// The latest of each run that is to be told, and since when none was.
    progress: BTreeMap<RunId, Arc<Written>>,
    quiet_since: Instant,
    /// Of calls in flight, where they are wanted.
    texts: Option<Texts>,
    _counted: Counted,
}

impl Reader {
    /// Behind that event, or from now on; `kind` is what the metrics call it.
    pub fn new(server: Arc<Server>, whose: Whose, detail: Detail, after: Option<i64>, kind: &'static str) -> Self {
        let newest = server.tail.newest();
        let cursor = after.unwrap_or(*newest.borrow());
        let (page, progress) = (VecDeque::new(), BTreeMap::new());
        let quiet_since = Instant::now();
        let _counted = Counted::new(kind);
        Self { server, whose, detail, cursor, page, newest, progress, quiet_since, texts: None, _counted }
    }

    /// Also tells the texts of calls in flight.
    pub fn with_texts(self, wanted: bool) -> Self {
        let texts = wanted.then(|| Texts::new(&self.server));
        Self { texts, ..self }
    }

    /// `None` when the server closes.
    pub async fn next(&mut self) -> Option<Arc<Written>> {
        loop {
            if let Some(event) = self.at_hand() {
                match self.judge(event) {
                    Some(event) => return Some(event),
                    None => continue,
                }
            }
            if self.progress_is_due() {
                return self.take_progress();
            }
            let (server, due_at) = (self.server.clone(), self.quiet_since + PROGRESS_EVERY);
            let waiting = !self.progress.is_empty();
            let texts = self.texts.as_ref().map(Texts::due);
            tokio::select! {
                () = server.closed() => return None,
                () = tokio::time::sleep_until(due_at), if waiting => {}
                () = wait_for(texts) => {
                    if let Some(texts) = &mut self.texts
                        && let Some(told) = texts.take(&server, &self.whose, self.cursor).await
                    {
                        return Some(told);
                    }
                }
                gap = self.more() => if gap.is_some() { return gap },
            }
        }
    }

    fn at_hand(&mut self) -> Option<Arc<Written>> {
        if let Some(event) = self.page.pop_front() {
            return Some(event);
        }
        match self.server.tail.after(self.cursor) {
            Next::Here(event) => Some(event),
            Next::NotYet | Next::Earlier => None,
        }
    }

    /// What this reader is told of an event, if anything and if now.
    fn judge(&mut self, event: Arc<Written>) -> Option<Arc<Written>> {
        let of = event.of.as_ref().filter(|of| self.whose.includes(of));
        let Some(of) = of else {
            self.cursor = event.id;
            return None;
        };
        if self.detail == Detail::Progress {
            if of.is_of_items {
                self.cursor = event.id;
                if of.progress.is_some() {
                    self.progress.insert(of.run, event.clone());
                }
                return None;
            }
            // The progress of a run is sent before its next event.
            if let Some(last) = self.progress.remove(&of.run) {
                self.page.push_front(event);
                return self.written_progress(&last);
            }
        }
        self.cursor = event.id;
        Some(event)
    }

    fn progress_is_due(&self) -> bool {
        !self.progress.is_empty() && self.quiet_since.elapsed() >= PROGRESS_EVERY
    }

    fn take_progress(&mut self) -> Option<Arc<Written>> {
        let (_, last) = self.progress.pop_first()?;
        if self.progress.is_empty() {
            self.quiet_since = Instant::now();
        }
        self.written_progress(&last)
    }

    fn written_progress(&self, last: &Written) -> Option<Arc<Written>> {
        let of = last.of.as_ref()?;
        let counts = of.progress.as_ref()?;
        Some(Arc::new(Written::progress(last.id, self.server.app.now(), of, counts)))
    }

    /// Waits for more; an event only where some were missed.
    async fn more(&mut self) -> Option<Arc<Written>> {
        match self.server.tail.after(self.cursor) {
            Next::Here(_) => None,
            Next::Earlier => self.read_on().await,
            Next::NotYet => {
                let ahead = self.cursor > *self.newest.borrow_and_update();
                if let Some(gap) = if ahead { self.missed().await } else { None } {
                    return Some(gap);
                }
                // The sender lives as long as the server.
                let _ = self.newest.changed().await;
                None
            }
        }
    }

    async fn read_on(&mut self) -> Option<Arc<Written>> {
        match self.server.app.store.outbox(self.cursor, PAGE).await {
            Ok(page) if page.first().is_some_and(|event| event.id == self.cursor + 1) => {
                self.page = page.iter().map(|event| Arc::new(Written::new(event))).collect();
                None
            }
            Ok(page) => match self.missed().await {
                Some(gap) => Some(gap),
                None => {
                    self.take_page(&page);
                    None
                }
            },
            Err(error) => self.try_again(&error).await,
        }
    }

    /// Numbers are missing where a job was deleted; behind the last of a page only more numbers can be missing.
    fn take_page(&mut self, page: &[OutboxEvent]) {
        self.page = page.iter().map(|event| Arc::new(Written::new(event))).collect();
        if page.is_empty() {
            self.cursor = *self.newest.borrow();
        }
    }

    /// Says so when events behind the cursor were forgotten, or the cursor is of another time (a database
    /// that was restored).
    async fn missed(&mut self) -> Option<Arc<Written>> {
        let reach = match self.server.app.store.outbox_reach().await {
            Ok(reach) => reach,
            Err(error) => return self.try_again(&error).await,
        };
        let from = self.cursor + 1;
        let to = match self.cursor {
            cursor if cursor < reach.forgotten => reach.forgotten,
            cursor if cursor > reach.newest => reach.newest,
            _ => return None,
        };
        self.cursor = to;
        Some(Arc::new(Written::gap(from, to, self.server.app.now())))
    }

    async fn try_again(&self, error: &windrow_model::store::StoreError) -> Option<Arc<Written>> {
        tracing::warn!(%error, "failed to read events for a stream, retrying");
        tokio::time::sleep(AGAIN).await;
        None
    }
}

/// For ever without one.
async fn wait_for(one: Option<impl Future<Output = ()>>) {
    match one {
        Some(one) => one.await,
        None => std::future::pending().await,
    }
}
