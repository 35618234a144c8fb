//! Connections that only read, shared by a few reads at a time. Each read sees one moment of the
//! database, however many statements it takes, and runs where blocking is allowed.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;
use windrow_model::store::{Result, StoreError};

use super::connection;
use super::fault;

const READERS: usize = 4;

pub(super) struct Readers {
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
        F: FnOnce(&Connection) -> fault::Result<T> + Send + 'static,
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
    query: impl FnOnce(&Connection) -> fault::Result<T>,
) -> fault::Result<Answer<T>> {
    let mut conn = match idle {
        Some(conn) => conn,
        None => connection::open_reader(&path)?,
    };
    let moment = conn.transaction()?;
    let found = query(&moment);
    moment.finish()?;
    Ok((conn, found))
}
