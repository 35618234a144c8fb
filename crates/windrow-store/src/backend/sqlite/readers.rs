//! Connections that only read. Each read sees one moment of the database, however many statements it takes.
//!
//! A read of any length runs where blocking is allowed, a few at a time. A walk passes every row of a job for
//! numbers that people look at; it steps back behind all other work. A read_inline is a look-up by key or one
//! page of an index: some tens of microseconds, less than another thread would take to wake up for it. It
//! runs on the calling thread, on separate connections, and never waits for the long reads.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tokio::sync::{Semaphore, oneshot};
use windrow_model::store::{Result, StoreError};

use crate::backend::sqlite::connection;
use crate::backend::{Connection, failure};

const READERS: usize = 4;
/// How far a walk steps back: where the machine is busy it gets about a tenth of a core.
#[cfg(target_os = "linux")]
const STEP_BACK: i32 = 10;

pub(crate) struct Readers {
    path: PathBuf,
    places: Semaphore,
    idle: Idle,
    /// As many as threads that read_inline at the same time.
    at_hand: Idle,
}

#[derive(Default)]
struct Idle(Mutex<Vec<Connection>>);

impl Idle {
    fn take(&self) -> Option<Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn put(&self, conn: Connection) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(conn);
    }
}

impl Readers {
    pub fn new(path: PathBuf) -> Self {
        Self { path, places: Semaphore::new(READERS), idle: Idle::default(), at_hand: Idle::default() }
    }

    pub async fn read<T, F>(&self, query: F) -> Result<T>
    where
        T: Send + 'static,
        F: Fn(&Connection) -> failure::Result<T> + Send + 'static,
    {
        let _place = self.places.acquire().await.map_err(|closed| gone(&closed))?;
        let (idle, path) = (self.idle.take(), self.path.clone());
        let work = tokio::task::spawn_blocking(move || read_once(idle, &path, query));
        let (conn, found) = work.await.map_err(|failed| gone(&failed))??;
        self.idle.put(conn);
        Ok(found?)
    }

    pub async fn read_background<T, F>(&self, query: F) -> Result<T>
    where
        T: Send + 'static,
        F: Fn(&Connection) -> failure::Result<T> + Send + 'static,
    {
        let _place = self.places.acquire().await.map_err(|closed| gone(&closed))?;
        let (idle, path) = (self.idle.take(), self.path.clone());
        let (tell, told) = oneshot::channel();
        // A thread that has stepped back cannot come forward again, so it ends with the walk.
        let walk = move || {
            step_back();
            // The receiver may be gone.
            let _ = tell.send(read_once(idle, &path, query));
        };
        std::thread::Builder::new().name("windrow-walk".to_owned()).spawn(walk).map_err(|error| gone(&error))?;
        let (conn, found) = told.await.map_err(|failed| gone(&failed))??;
        self.idle.put(conn);
        Ok(found?)
    }

    pub fn read_inline<T>(&self, query: impl Fn(&Connection) -> failure::Result<T>) -> Result<T> {
        let (conn, found) = read_once(self.at_hand.take(), &self.path, query)?;
        self.at_hand.put(conn);
        Ok(found?)
    }
}

fn gone(why: &dyn std::fmt::Display) -> StoreError {
    StoreError::Unavailable(format!("the read did not finish: {why}"))
}

/// Elsewhere a priority is of the whole process, and stays as it is.
fn step_back() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(STEP_BACK) {
        tracing::debug!(%error, "a walk keeps its priority");
    }
}

type Answer<T> = (Connection, failure::Result<T>);

fn read_once<T>(
    idle: Option<Connection>,
    path: &Path,
    query: impl Fn(&Connection) -> failure::Result<T>,
) -> failure::Result<Answer<T>> {
    let conn = match idle {
        Some(conn) => conn,
        None => Connection::Sqlite(connection::open_reader(path)?),
    };
    // rusqlite's own transaction would parse both words each time. A connection that does not come to its
    // COMMIT is closed.
    conn.prepare_cached("BEGIN")?.execute(())?;
    let found = query(&conn);
    conn.prepare_cached("COMMIT")?.execute(())?;
    Ok((conn, found))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::process::getpriority_process;

    use super::*;

    #[tokio::test]
    async fn a_walk_steps_back_and_nobody_else_does() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("windrow.db");
        drop(connection::open_writer(&path).unwrap());
        let readers = Readers::new(path);
        let priority = |_: &Connection| Ok(getpriority_process(None).unwrap());
        let usual = readers.read_inline(priority).unwrap();
        assert_eq!(readers.read_background(priority).await.unwrap(), (usual + STEP_BACK).min(19));
        assert_eq!(readers.read(priority).await.unwrap(), usual);
    }
}
