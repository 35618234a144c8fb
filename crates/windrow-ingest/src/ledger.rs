//! The checkpoints of a stored plan, for whoever looks at them or puts them right.

use std::sync::Arc;

use serde_json::Value;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::spec::{Spec, invalid_request};
use windrow_model::ingest::{Cause, Checkpoint, Entry, Origin};
use windrow_model::{Failure, Json, Time};

use super::destination::{self, Batch, Committed, Destination};
use super::spec::IngestSpec;

pub struct Ledger {
    plan: String,
    destination: Arc<dyn Destination>,
}

/// What a person writes into a checkpoint; what is not given stays.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Edit {
    pub position: Option<Value>,
    pub high: Option<Value>,
}

/// Who changes a checkpoint, and what they have seen as the newest.
#[derive(Debug, Clone, Copy)]
pub struct By<'a> {
    pub actor: &'a str,
    pub expected: Option<i64>,
}

/// Why a checkpoint was not changed.
#[derive(Debug)]
pub enum Unchanged {
    /// This version is newer than what was seen.
    Newer(i64),
    Failed(Failure),
}

impl From<Failure> for Unchanged {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// What a stored plan says of where its data is from.
pub fn origin_of(spec: &Json) -> Result<Origin, Failure> {
    Ok(IngestSpec::thaw(spec)?.origin)
}

impl Ledger {
    /// Of the plan with this frozen definition.
    pub async fn open(spec: &Json, environment: Environment) -> Result<Self, Failure> {
        let spec = IngestSpec::thaw(spec)?;
        let build = move || Ok((destination::build(&spec.destination, &environment)?, spec.plan));
        let built = tokio::task::spawn_blocking(build).await.map_err(|error| invalid_request(error.to_string()))?;
        let (destination, plan) = built?;
        Ok(Self { plan, destination })
    }

    fn scope(&self, slice: &str) -> String {
        format!("{}/{slice}", self.plan)
    }

    /// Newest first, below a version if one is given.
    pub async fn history(&self, slice: &str, below: Option<i64>, limit: usize) -> Result<Vec<Entry>, Failure> {
        self.destination.history(&self.scope(slice), below, limit).await
    }

    pub async fn entry(&self, slice: &str, version: i64) -> Result<Entry, Failure> {
        let found = self.history(slice, Some(version.saturating_add(1)), 1).await?.pop();
        let missing = || invalid_request(format!("slice {slice:?} has no checkpoint with version {version}"));
        found.filter(|entry| entry.version == version).ok_or_else(missing)
    }

    /// Goes back to an earlier checkpoint: what follows it is read again.
    pub async fn restore(&self, slice: &str, version: i64, by: By<'_>) -> Result<Entry, Unchanged> {
        let checkpoint = self.entry(slice, version).await?.checkpoint;
        self.append(slice, Cause::Restore, checkpoint, by).await
    }

    pub async fn edit(&self, slice: &str, edit: Edit, by: By<'_>) -> Result<Entry, Unchanged> {
        let last = self.destination.last(&self.scope(slice)).await?;
        let last =
            last.ok_or_else(|| invalid_request(format!("slice {slice:?} has no checkpoint yet; run it first")))?;
        let mut checkpoint = last.checkpoint;
        if let Some(position) = edit.position {
            checkpoint.position = Some(position).filter(|position| !position.is_null());
            checkpoint.done = false;
        }
        checkpoint.high = edit.high.or(checkpoint.high).filter(|high| !high.is_null());
        self.append(slice, Cause::Edit, checkpoint, by).await
    }

    /// An entry needs the next version, so what was expected still holds when it is made.
    async fn append(&self, slice: &str, cause: Cause, checkpoint: Checkpoint, by: By<'_>) -> Result<Entry, Unchanged> {
        let scope = self.scope(slice);
        let newest = self.destination.last(&scope).await?.map_or(0, |entry| entry.version);
        if by.expected.is_some_and(|expected| expected != newest) {
            return Err(Unchanged::Newer(newest));
        }
        let version = newest + 1;
        let entry = Entry {
            version,
            key: format!("{cause}-{version}"),
            cause,
            actor: by.actor.to_owned(),
            // Pages behind it may be committed once more.
            checkpoint: Checkpoint { era: version, ..checkpoint },
            records: 0,
            at: now(),
        };
        let batch = Batch {
            scope,
            entry: entry.clone(),
            tables: Vec::new(),
            rejected: Vec::new(),
            replayed: Vec::new(),
            types: Arc::default(),
        };
        match self.destination.commit(batch).await? {
            Committed::Done { .. } => Ok(entry),
            Committed::Stopped(change) => Err(destination::stopped_by(&change).into()),
            Committed::Taken => {
                Err(invalid_request("the slice is being read right now; pause the job and try again").into())
            }
        }
    }
}

pub fn now() -> Time {
    Time(jiff::Timestamp::now().as_millisecond())
}
