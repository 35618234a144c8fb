//! Rejected records: listed, and written after all once the plan or the table has changed. A record that still does not
//! fit is put aside again, with its reason of now. One commit takes a record out of the rejected ones and writes it.

use std::collections::BTreeMap;
use std::sync::Arc;

use windrow_jobfile::environment::Environment;
use windrow_jobfile::spec::{Spec, invalid_request};
use windrow_model::ingest::{Cause, Entry, TypeChange};
use windrow_model::{Failure, Json};

use super::batch::{Gathered, Sieve};
use super::destination::{self, Batch, Committed, Destination, Wanted};
use super::ledger::now;
use super::record::{PutAside, Table};
use super::source::Page;
use super::spec::IngestSpec;

const PAGE: usize = 500;

/// A rejected record of one slice.
#[derive(Debug, Clone, PartialEq)]
pub struct Letter {
    pub slice: String,
    pub kept: PutAside,
}

/// What became of rejected records.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Replayed {
    pub read: i64,
    pub written: i64,
    pub skipped: i64,
    pub rejected: i64,
    pub type_changes: Vec<TypeChange>,
}

pub struct RejectedRecords {
    spec: IngestSpec,
    destination: Arc<dyn Destination>,
    sieve: Sieve,
}

impl RejectedRecords {
    /// Of the plan with this frozen definition.
    pub async fn open(spec: &Json, environment: Environment) -> Result<Self, Failure> {
        let spec = IngestSpec::thaw(spec)?;
        let component = spec.destination.clone();
        let build = move || destination::build(&component, &environment);
        let built = tokio::task::spawn_blocking(build).await.map_err(|error| invalid_request(error.to_string()))?;
        Ok(Self { destination: built?, sieve: Sieve::new(spec.rules.clone())?, spec })
    }

    /// By id, after one if it is given.
    pub async fn list(&self, slice: Option<&str>, after: i64, limit: usize) -> Result<Vec<Letter>, Failure> {
        let plan = format!("{}/", self.spec.plan);
        let scope = format!("{plan}{}", slice.unwrap_or_default());
        let wanted = Wanted { scope, whole: slice.is_some(), after, limit };
        let kept = self.destination.rejected(wanted).await?;
        let letter =
            |kept: PutAside| Letter { slice: kept.scope.strip_prefix(&plan).unwrap_or(&kept.scope).to_owned(), kept };
        Ok(kept.into_iter().map(letter).collect())
    }

    /// All of a slice or of the plan, or only these.
    pub async fn replay(&self, slice: Option<&str>, ids: &[i64], actor: &str) -> Result<Replayed, Failure> {
        let mut sum = Replayed::default();
        let (mut after, mut last) = (0, None);
        loop {
            let mut page = self.list(slice, after, PAGE).await?;
            // What is put aside again has a new id, behind all that were there.
            let end = match last {
                Some(end) => end,
                None => *last.insert(self.newest(slice, after).await?),
            };
            page.retain(|letter| letter.kept.id <= end);
            let Some(newest) = page.last() else { return Ok(sum) };
            after = newest.kept.id;
            page.retain(|letter| ids.is_empty() || ids.contains(&letter.kept.id));
            let mut scopes: BTreeMap<String, Vec<PutAside>> = BTreeMap::new();
            page.into_iter().for_each(|letter| scopes.entry(letter.kept.scope.clone()).or_default().push(letter.kept));
            for (scope, letters) in scopes {
                self.replay_scope(scope, letters, actor, &mut sum).await?;
            }
        }
    }

    /// The highest id there is now.
    async fn newest(&self, slice: Option<&str>, mut after: i64) -> Result<i64, Failure> {
        loop {
            let page = self.list(slice, after, PAGE).await?;
            match page.last() {
                Some(last) => after = last.kept.id,
                None => return Ok(after),
            }
        }
    }

    async fn replay_scope(
        &self,
        scope: String,
        letters: Vec<PutAside>,
        actor: &str,
        sum: &mut Replayed,
    ) -> Result<(), Failure> {
        let last = self.destination.last(&scope).await?;
        let last = last.ok_or_else(|| invalid_request("the slice has no checkpoint; run it first"))?;
        let replayed: Vec<i64> = letters.iter().map(|letter| letter.id).collect();
        let mut gathered = Gathered::default();
        for letter in letters {
            let table = Table { name: Some(letter.table), key: None, records: vec![letter.record] };
            self.sieve.add(Page { tables: vec![table], ..Page::default() }, &mut gathered);
        }
        self.sieve.finish(&mut gathered);
        let version = last.version + 1;
        let entry = Entry {
            version,
            key: format!("{}-{version}", Cause::Replay),
            cause: Cause::Replay,
            actor: actor.to_owned(),
            checkpoint: last.checkpoint,
            records: gathered.tables.iter().map(|table| table.records.len() as i64).sum(),
            at: now(),
        };
        let Gathered { tables, rejected, stats, .. } = gathered;
        let (read, refused) = (replayed.len() as i64, rejected.len() as i64);
        let types = Arc::new(self.spec.rules.types.clone());
        match self.destination.commit(Batch { scope, entry, tables, rejected, replayed, types }).await? {
            Committed::Done { upserted, rejected, changes, .. } => {
                sum.read += read;
                sum.written += upserted;
                sum.skipped += stats.skipped;
                sum.rejected += refused + rejected;
                changes.into_iter().for_each(|change| change.add_to(&mut sum.type_changes));
                Ok(())
            }
            Committed::Stopped(change) => Err(destination::stopped_by(&change)),
            Committed::Taken => Err(invalid_request("the slice is being read right now; pause the job and try again")),
        }
    }
}

/// Streams of a Singer tap have keys of their own, which are not kept with a rejected record.
pub fn can_replay(spec: &Json) -> Result<bool, Failure> {
    Ok(IngestSpec::thaw(spec)?.source.kind != "singer")
}
