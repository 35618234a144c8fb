//! One slice from its checkpoint to its end. While a batch is committed the next one is fetched, so there
//! are never more than two in memory. What is committed is decided by the destination alone: the ledger
//! tells whoever comes next where to go on.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::spec::invalid_request;
use windrow_model::ids::MAX_STEPS;
use windrow_model::ingest::{
    BatchIntent, BatchRecord, Cause, Checkpoint, Entry, Resume, Slice, Stats, TypeChange, resume,
};
use windrow_model::priority::Priority;
use windrow_model::retry::RetryPolicy;
use windrow_model::step::{ContentKey, OnUnknown, StepIntent, StepResult, Usage};
use windrow_model::store::NewItem;
use windrow_model::workload::{Done, Halt, Journal, Program, SourcePage, StepNo, WorkItem};
use windrow_model::{ErrorClass, Failure, Json};

use super::batch::{Gathered, Sieve};
use super::column::Types;
use super::destination::{self, Batch, Committed, Destination};
use super::ledger::now;
use super::meters::Meters;
use super::source::{self, Means, Pages, Source};
use super::spec::{IngestSpec, KIND, Tolerance};

/// A slice takes as long as it takes; what must not hang is one page, and that has its own limit.
const NO_TIMEOUT_MS: i64 = 365 * 86_400_000;
pub const BATCH: &str = "batch";

pub struct Ingest {
    spec: IngestSpec,
    source: Arc<dyn Source>,
    destination: Arc<dyn Destination>,
    sieve: Sieve,
    types: Arc<Types>,
    meters: Meters,
}

impl Ingest {
    pub fn prepare(spec: IngestSpec, environment: &Environment) -> Result<Self, Failure> {
        let means = Means { environment, retry: &spec.retry };
        Ok(Self {
            source: source::build(&spec.source, &means)?,
            destination: destination::build(&spec.destination, environment)?,
            sieve: Sieve::new(spec.rules.clone())?,
            types: Arc::new(spec.rules.types.clone()),
            meters: Meters::new(),
            spec,
        })
    }

    /// How many records of the slice were rejected; `None` where nothing had to be read.
    async fn pass(&self, slice: &Slice, item: &WorkItem, journal: &dyn Journal) -> Result<Option<i64>, Halt> {
        let scope = scope_of(&self.spec.plan, slice);
        loop {
            let last = self.destination.last(&scope).await?;
            let version = last.as_ref().map_or(0, |entry| entry.version);
            let checkpoint = last.map(|entry| entry.checkpoint);
            let checkpoint = match resume(checkpoint, item.run, item.fresh, slice.closed_at(), now()) {
                Resume::Over { rejected } => return Ok(Some(rejected)),
                Resume::Skip => return Ok(None),
                Resume::GoOn(checkpoint) | Resume::Begin(checkpoint) => checkpoint,
            };
            let walk = Walk { ingest: self, slice, journal, scope: &scope };
            let actor = item.attempt.to_string();
            let mut standing =
                Standing { version, checkpoint, total: Stats::default(), type_changes: Vec::new(), actor };
            match walk.to_the_end(&mut standing).await? {
                Progress::Reached => return Ok(Some(standing.checkpoint.rejected)),
                // Another attempt was not dead yet: go on behind what it has committed.
                Progress::Overtaken => {
                    let newest = self.destination.last(&scope).await?.map_or(0, |entry| entry.version);
                    if newest == standing.version {
                        let message = "the source leads back to a page that was committed before; check `pagination`";
                        return Err(Failure::new(ErrorClass::InvalidOutput, message).into());
                    }
                }
            }
        }
    }
}

/// A slice is `PARTIAL` with rejected records; they are listed and can be replayed.
fn partly(rejected: i64) -> Option<Failure> {
    let message = match rejected {
        0 => return None,
        1 => "1 record was rejected, the others are written".to_owned(),
        many => format!("{many} records were rejected, the others are written"),
    };
    Some(Failure::new(ErrorClass::InvalidOutput, message))
}

/// Under what a slice has its checkpoints, whenever it is planned.
pub fn scope_of(plan: &str, slice: &Slice) -> String {
    format!("{plan}/{}", slice.name)
}

enum Progress {
    Reached,
    Overtaken,
}

/// A batch that was fetched and waits to be committed.
struct Fetched {
    no: StepNo,
    key: ContentKey,
    gathered: Gathered,
    /// Where things stand once it is committed.
    ahead: Checkpoint,
}

/// What is committed.
struct Standing {
    /// Of the newest ledger entry.
    version: i64,
    checkpoint: Checkpoint,
    total: Stats,
    type_changes: Vec<TypeChange>,
    actor: String,
}

/// One attempt's way through a slice.
#[derive(Clone, Copy)]
struct Walk<'a> {
    ingest: &'a Ingest,
    slice: &'a Slice,
    journal: &'a dyn Journal,
    scope: &'a str,
}

impl Walk<'_> {
    async fn to_the_end(self, standing: &mut Standing) -> Result<Progress, Halt> {
        let mut pages = self.ingest.source.open(self.slice, &standing.checkpoint).await?;
        let mut batch = self.fetch(&mut *pages, &standing.checkpoint).await?;
        loop {
            let ahead = batch.ahead.clone();
            if ahead.done {
                let committed = self.commit(batch, standing).await?;
                return Ok(if committed { Progress::Reached } else { Progress::Overtaken });
            }
            // Fetching only reads, so it may be one batch ahead of what is committed.
            let (committed, next) = tokio::join!(self.commit(batch, standing), self.fetch(&mut *pages, &ahead));
            match (committed, next) {
                (Ok(true), Ok(next)) => batch = next,
                (Ok(true), Err(halt)) => return Err(halt),
                (committed, next) => {
                    if let Ok(next) = next {
                        let failure = Failure::new(ErrorClass::Lost, "the batch before it was not committed");
                        self.journal.finish(next.no, StepResult::Failed { failure });
                    }
                    return committed.map(|_| Progress::Overtaken);
                }
            }
        }
    }

    /// The batch that begins at a checkpoint. Its intent is on record before the source is asked.
    async fn fetch(self, pages: &mut dyn Pages, at: &Checkpoint) -> Result<Fetched, Halt> {
        let before = serde_json::to_string(&at.position).expect("a position serialises to JSON");
        let (pass, era) = (at.pass.to_string(), at.era.to_string());
        let key = ContentKey::of(&[self.scope.as_bytes(), pass.as_bytes(), era.as_bytes(), before.as_bytes()]);
        let intent = BatchIntent {
            batch_no: at.batches + 1,
            slice: self.slice.name.clone(),
            before: at.position.clone(),
            idempotent_key: key.to_string(),
            origin: self.slice.origin.clone(),
        };
        let intent = StepIntent {
            key,
            kind: BATCH.into(),
            name: intent.batch_no.to_string(),
            turn: 0,
            input: Json::of(&intent),
            // Reading again does no harm, and the ledger knows what was written.
            on_unknown: OnUnknown::Repeat,
            shared: false,
        };
        let no = self.journal.begin(intent).await?;
        if no.no >= MAX_STEPS {
            let message = format!("an attempt has at most {MAX_STEPS} batches; the next attempt continues");
            let failure = Failure::new(ErrorClass::Server, message);
            self.journal.finish(no, StepResult::Failed { failure: failure.clone() });
            return Err(failure.into());
        }
        match self.gather(pages).await {
            Ok(gathered) => {
                let ahead = Checkpoint {
                    position: gathered.after.clone(),
                    high: gathered.high.clone().or_else(|| at.high.clone()),
                    batches: at.batches + 1,
                    done: gathered.done,
                    ..at.clone()
                };
                Ok(Fetched { no, key, gathered, ahead })
            }
            Err(halt) => {
                if let Halt::Failed(failure) = &halt {
                    self.journal.finish(no, StepResult::Failed { failure: failure.clone() });
                }
                Err(halt)
            }
        }
    }

    async fn gather(self, pages: &mut dyn Pages) -> Result<Gathered, Halt> {
        let (sieve, enough) = (&self.ingest.sieve, self.ingest.destination.batch_records() as i64);
        let mut gathered = Gathered::default();
        while !gathered.done && gathered.stats.fetched < enough {
            let page = pages.next(self.journal).await?;
            let is_empty = page.len() == 0;
            sieve.add(page, &mut gathered);
            // A page without records has a position that is worth keeping.
            if is_empty {
                break;
            }
        }
        sieve.finish(&mut gathered);
        Ok(gathered)
    }

    /// False where somebody else has committed it, or something before it.
    async fn commit(self, batch: Fetched, standing: &mut Standing) -> Result<bool, Halt> {
        let Fetched { no, key, gathered, ahead } = batch;
        let Gathered { tables, rejected, mut stats, .. } = gathered;
        let mut ahead = Checkpoint { rejected: standing.checkpoint.rejected + rejected.len() as i64, ..ahead };
        let records = tables.iter().map(|table| table.records.len() as i64).sum();
        let entry = Entry {
            version: standing.version + 1,
            key: key.to_string(),
            cause: Cause::Batch,
            actor: standing.actor.clone(),
            checkpoint: ahead.clone(),
            records,
            at: now(),
        };
        let (version, committed_at) = (entry.version, entry.at);
        let (replayed, types) = (Vec::new(), self.ingest.types.clone());
        let batch = Batch { scope: self.scope.to_owned(), entry, tables, rejected, replayed, types };
        let committed = match self.ingest.destination.commit(batch).await {
            Ok(committed) => committed,
            Err(failure) => {
                self.journal.finish(no, StepResult::Failed { failure: failure.clone() });
                return Err(failure.into());
            }
        };
        let (taken, mut type_changes) = (committed == Committed::Taken, Vec::new());
        match committed {
            Committed::Stopped(change) => {
                let failure = destination::stopped_by(&change);
                self.journal.finish(no, StepResult::Failed { failure: failure.clone() });
                return Err(failure.into());
            }
            Committed::Taken => stats = Stats { skipped: stats.fetched, ..stats },
            Committed::Done { upserted, bytes_out, rejected, changes } => {
                stats.upserted += upserted;
                stats.bytes_out += bytes_out;
                stats.failed += rejected;
                stats.business_errors += rejected;
                standing.version = version;
                ahead.rejected += rejected;
                standing.checkpoint = ahead.clone();
                for change in &changes {
                    tracing::warn!(plan = %self.ingest.spec.plan, slice = %self.slice.name, "{change}");
                    if !standing.type_changes.iter().any(|known| known.is_like(change)) {
                        self.journal.warn("type_change", format!("slice {}: {change}", self.slice.name)).await;
                    }
                    change.clone().add_to(&mut standing.type_changes);
                }
                type_changes = changes;
            }
        }
        standing.total += stats;
        self.ingest.meters.batch(&stats);
        let record = BatchRecord {
            after: ahead.position,
            done: ahead.done,
            skipped: taken || (stats.upserted == 0 && stats.failed == 0),
            record_count: stats.upserted,
            committed_at,
            version,
            stats,
            total: standing.total,
            type_changes,
            total_type_changes: standing.type_changes.clone(),
        };
        self.journal.finish(no, StepResult::Done { output: Json::of(&record), usage: Usage::default() });
        if !taken {
            self.ingest.tolerate(&standing.total)?;
        }
        Ok(!taken)
    }
}

impl Ingest {
    fn tolerate(&self, total: &Stats) -> Result<(), Failure> {
        let Some(most) = self.spec.rules.max_rejected else { return Ok(()) };
        if !most.is_exceeded(total.failed, total.fetched) {
            return Ok(());
        }
        let allowed = match most {
            Tolerance::Records(most) => most.to_string(),
            Tolerance::Share(share) => format!("{}%", share * 100.0),
        };
        let message = format!(
            "{} of {} records were rejected, and `max_rejected` is {allowed}; their reasons are in _windrow_rejected",
            total.failed, total.fetched
        );
        Err(Failure::new(ErrorClass::InvalidOutput, message))
    }
}

#[async_trait]
impl Program for Ingest {
    async fn page(&self, cursor: Option<&Json>, limit: usize) -> Result<SourcePage, Failure> {
        let from: u64 = match cursor {
            None => 0,
            Some(cursor) => {
                cursor.parse().map_err(|error| invalid_request(format!("the planning cursor is bad: {error}")))?
            }
        };
        let (spec, time) = (&self.spec, jiff::Timestamp::now());
        let to = spec.slicing.count(time).min(from.saturating_add(limit as u64));
        let item = |slice: Slice| NewItem {
            key: ContentKey::of(&[b"slice", slice.name.as_bytes(), slice.quarter.as_bytes()]),
            priority: Priority::NORMAL,
            // Two attempts at one slice would only get into each other's way.
            resource: Some(scope_of(&spec.plan, &slice)),
            not_before: None,
            group: None,
            input: Json::of(&slice),
            variant: None,
            by_id: false,
        };
        let items = (from..to).filter_map(|no| spec.slicing.slice(no, time, &spec.origin)).map(item).collect();
        Ok(SourcePage { items, cursor: Some(Json::of(&to)), done: to >= spec.slicing.count(time) })
    }

    async fn execute(&self, item: &WorkItem, journal: &dyn Journal) -> Result<Done, Halt> {
        let slice: Slice =
            item.input.parse().map_err(|error| invalid_request(format!("the slice is unreadable: {error}")))?;
        let started = Instant::now();
        let rejected = self.pass(&slice, item, journal).await?;
        let latency_ms = started.elapsed().as_millis() as i64;
        Ok(Done { latency_ms, skipped: rejected.is_none(), partial: rejected.and_then(partly), ..Done::default() })
    }

    /// The ledger says where to go on.
    fn looks_back(&self) -> bool {
        false
    }

    fn retry_policy(&self) -> &RetryPolicy {
        &self.spec.retry
    }

    fn timeout_ms(&self) -> i64 {
        NO_TIMEOUT_MS
    }

    fn kind(&self) -> &'static str {
        KIND
    }
}
