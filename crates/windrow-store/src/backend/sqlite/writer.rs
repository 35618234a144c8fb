//! The one thread that writes. It takes whatever verbs are waiting, runs them in one transaction
//! and commits once: a commit costs a flush to disk, and a hundred verbs can share it. What a failed
//! verb wrote is undone; no caller gets an answer before the commit.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use tokio::sync::oneshot;
use windrow_model::store::{Result, StoreError};

use crate::backend::Connection;
use crate::backend::failure::{self, StoreFailure};
use crate::backend::sqlite::pulse::Pulse;

/// Verbs that share a commit, at most; bounds the transaction and the wait of the first in it.
const GROUP: usize = 512;

pub(crate) struct Writer {
    queue: Option<mpsc::Sender<Box<dyn Request>>>,
    thread: Option<JoinHandle<()>>,
    pulse: Arc<Pulse>,
}

trait Request: Send {
    /// Runs the verb; false if it failed.
    fn run(&mut self, tx: &Connection) -> bool;
    fn scope(&self) -> FailureScope;
    fn answer(self: Box<Self>, committed: Result<()>);
}

/// What happens when a verb fails after it has written something.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureScope {
    /// It is undone alone. Costs a copy of every page it touches.
    Savepoint,
    /// The whole group is undone and asked to try again. For the verbs of the hot path, which check
    /// before they write and fail later only if the file is damaged.
    Group,
}

struct Pending<T, F> {
    scope: FailureScope,
    verb: F,
    result: Option<Result<T>>,
    reply: oneshot::Sender<Result<T>>,
}

impl<T: Send, F: Fn(&Connection) -> failure::Result<T> + Send> Request for Pending<T, F> {
    fn run(&mut self, tx: &Connection) -> bool {
        // A bug in one verb must not take the writer, and with it every other verb, down.
        let result = catch_unwind(AssertUnwindSafe(|| (self.verb)(tx))).unwrap_or_else(|_| {
            Err(StoreError::Corrupt("a verb of the store panicked; its change is undone".into()).into())
        });
        let result = result.map_err(StoreError::from);
        let succeeded = result.is_ok();
        self.result = Some(result);
        succeeded
    }

    fn scope(&self) -> FailureScope {
        self.scope
    }

    fn answer(self: Box<Self>, committed: Result<()>) {
        let unrun = || Err(StoreError::Unavailable("the verb was not run".into()));
        // The caller may be gone; then the answer is dropped.
        let _ = self.reply.send(committed.and(self.result.unwrap_or_else(unrun)));
    }
}

impl Writer {
    pub fn start(conn: rusqlite::Connection) -> Result<Self> {
        let conn = Connection::Sqlite(conn);
        let (queue, waiting) = mpsc::channel();
        let pulse = Arc::new(Pulse::default());
        let felt = Arc::clone(&pulse);
        let thread = std::thread::Builder::new()
            .name("windrow-sqlite".into())
            .spawn(move || serve(&conn, &waiting, &felt))
            .map_err(|error| StoreError::Unavailable(format!("cannot start the writer thread: {error}")))?;
        Ok(Self { queue: Some(queue), thread: Some(thread), pulse })
    }

    pub fn commits(&self) -> u64 {
        self.pulse.commits()
    }

    /// The longest commit since this was last asked.
    pub fn slowest_ms(&self) -> i64 {
        self.pulse.slowest_ms()
    }

    pub async fn write<T, F>(&self, scope: FailureScope, verb: F) -> Result<T>
    where
        T: Send + 'static,
        F: Fn(&Connection) -> failure::Result<T> + Send + 'static,
    {
        let gone = || StoreError::Unavailable("the writer thread has ended".into());
        let (reply, answer) = oneshot::channel();
        let request = Box::new(Pending { scope, verb, result: None, reply });
        self.queue.as_ref().ok_or_else(gone)?.send(request).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(conn: &Connection, waiting: &mpsc::Receiver<Box<dyn Request>>, pulse: &Pulse) {
    while let Ok(first) = waiting.recv() {
        let mut group = vec![first];
        group.extend(waiting.try_iter().take(GROUP - 1));
        let beat = pulse.begin(group.len());
        let committed = run_group(conn, &mut group).map_err(|fault| {
            if !file(conn).is_autocommit() {
                let _ = file(conn).execute_batch("ROLLBACK");
            }
            unavailable(fault)
        });
        pulse.end(beat);
        for request in group {
            request.answer(committed.clone());
        }
    }
}

fn run_group(conn: &Connection, group: &mut [Box<dyn Request>]) -> failure::Result<()> {
    perform(conn, "BEGIN IMMEDIATE")?;
    if let [only] = group {
        // Alone in its transaction, a verb needs no savepoint, which would copy every page it touches.
        let succeeded = only.run(conn);
        return perform(conn, if succeeded { "COMMIT" } else { "ROLLBACK" });
    }
    for request in group {
        if request.scope() == FailureScope::Group {
            let before = file(conn).total_changes();
            // Some errors (a full disk) end the transaction by themselves; what follows would run outside any.
            if !request.run(conn) && (file(conn).is_autocommit() || file(conn).total_changes() != before) {
                return Err(StoreError::Unavailable("a verb failed half way; its group is undone".into()).into());
            }
            continue;
        }
        perform(conn, "SAVEPOINT verb")?;
        if !request.run(conn) {
            perform(conn, "ROLLBACK TO verb")?;
        }
        perform(conn, "RELEASE verb")?;
    }
    perform(conn, "COMMIT")
}

fn file(conn: &Connection) -> &rusqlite::Connection {
    match conn {
        Connection::Sqlite(file) => file,
        _ => unreachable!("the writer was started with a file"),
    }
}

fn perform(conn: &Connection, sql: &str) -> failure::Result<()> {
    conn.prepare_cached(sql)?.execute(())?;
    Ok(())
}

/// Whatever kept the group from committing, none of its verbs has happened.
fn unavailable(fault: StoreFailure) -> StoreError {
    match StoreError::from(fault) {
        StoreError::Unavailable(why) | StoreError::Corrupt(why) => StoreError::Unavailable(why),
        other => StoreError::Unavailable(other.to_string()),
    }
}
