//! Connections that only read, shared by a few reads at a time. Each read sees one moment of the
//! database, however many statements it takes, and runs where blocking is allowed.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Semaphore;
use windrow_model::store::{Result, StoreError};

use super::connection;
use crate::sql::db::Connection;
use crate::sql::fault;

const READERS: usize = 4;

pub(crate) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    places: Semaphore,
}

impl Readers {
    pub fn new(path: PathBuf) -> Self {
        Self { path, idle: Mutex::default(), places: Semaphore::new(READERS) }
    }

    pub async fn read<T, F>(&self, query: F) -> Result<T>
    where
        T: Send + 'static,
        F: Fn(&Connection) -> fault::Result<T> + Send + 'static,
    {
        let gone = |why: String| StoreError::Unavailable(format!("the read did not finish: {why}"));
        let _place = self.places.acquire().await.map_err(|closed| gone(closed.to_string()))?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let path = self.path.clone();
        let work = tokio::task::spawn_blocking(move || read_once(idle, path, query));
        let (conn, found) = work.await.map_err(|failed| gone(failed.to_string()))??;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(conn);
        Ok(found?)
    }
}

type Answer<T> = (Connection, fault::Result<T>);

fn read_once<T>(
    idle: Option<Connection>,
    path: PathBuf,
    query: impl Fn(&Connection) -> fault::Result<T>,
) -> fault::Result<Answer<T>> {
    let conn = match idle {
        Some(conn) => conn,
        None => Connection::Sqlite(connection::open_reader(&path)?),
    };
    conn.prepare_cached("BEGIN")?.execute(())?;
    let found = query(&conn);
    conn.prepare_cached("ROLLBACK")?.execute(())?;
    Ok((conn, found))
}
