//! Connections that only read. Each read sees one moment of the database, however many statements it takes.
//!
//! A read of any length runs where blocking is allowed, a few at a time. A glance is a look-up by key or one
//! page of an index: some tens of microseconds, less than another thread would take to wake up for it. It
//! is done on the spot, on connections of its own, and never waits for the long reads.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tokio::sync::Semaphore;
use windrow_model::store::{Result, StoreError};

use super::connection;
use crate::sql::db::Connection;
use crate::sql::fault;

const READERS: usize = 4;

pub(crate) struct Readers {
    path: PathBuf,
    places: Semaphore,
    idle: Idle,
    /// As many as threads that glance at the same time.
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
        F: Fn(&Connection) -> fault::Result<T> + Send + 'static,
    {
        let gone = |why: String| StoreError::Unavailable(format!("the read did not finish: {why}"));
        let _place = self.places.acquire().await.map_err(|closed| gone(closed.to_string()))?;
        let (idle, path) = (self.idle.take(), self.path.clone());
        let work = tokio::task::spawn_blocking(move || read_once(idle, &path, query));
        let (conn, found) = work.await.map_err(|failed| gone(failed.to_string()))??;
        self.idle.put(conn);
        Ok(found?)
    }

    pub fn glance<T>(&self, query: impl Fn(&Connection) -> fault::Result<T>) -> Result<T> {
        let (conn, found) = read_once(self.at_hand.take(), &self.path, query)?;
        self.at_hand.put(conn);
        Ok(found?)
    }
}

type Answer<T> = (Connection, fault::Result<T>);

fn read_once<T>(
    idle: Option<Connection>,
    path: &Path,
    query: impl Fn(&Connection) -> fault::Result<T>,
) -> fault::Result<Answer<T>> {
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
