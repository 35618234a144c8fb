//! A database behind one connection that blocks. Writes of all slices go through it one after the other, on
//! threads where blocking is allowed.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use windrow_model::ingest::Entry;
use windrow_model::{ErrorClass, Failure};

use super::{Batch, Committed, Destination, Wanted};
use crate::record::PutAside;

pub trait Database: Send + 'static {
    fn commit(&mut self, batch: Batch) -> Result<Committed, Failure>;
    /// Entries below a version, newest first.
    fn history(&mut self, scope: &str, below: Option<i64>, limit: usize) -> Result<Vec<Entry>, Failure>;
    fn rejected(&mut self, wanted: &Wanted) -> Result<Vec<PutAside>, Failure>;
}

pub struct Blocking<D> {
    database: Arc<Mutex<D>>,
}

impl<D: Database> Blocking<D> {
    pub fn new(database: D) -> Self {
        Self { database: Arc::new(Mutex::new(database)) }
    }

    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut D) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let database = self.database.clone();
        let work = move || work(&mut database.lock().unwrap_or_else(PoisonError::into_inner));
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|error| Failure::new(ErrorClass::Handler, format!("the destination: {error}")))?
    }
}

#[async_trait]
impl<D: Database> Destination for Blocking<D> {
    async fn last(&self, scope: &str) -> Result<Option<Entry>, Failure> {
        Ok(self.history(scope, None, 1).await?.pop())
    }

    async fn commit(&self, batch: Batch) -> Result<Committed, Failure> {
        self.with(|database| database.commit(batch)).await
    }

    async fn history(&self, scope: &str, below: Option<i64>, limit: usize) -> Result<Vec<Entry>, Failure> {
        let scope = scope.to_owned();
        self.with(move |database| database.history(&scope, below, limit)).await
    }

    async fn rejected(&self, wanted: Wanted) -> Result<Vec<PutAside>, Failure> {
        self.with(move |database| database.rejected(&wanted)).await
    }
}
