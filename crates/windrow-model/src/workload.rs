//! The port to the work itself. A workload turns a frozen definition into a program; a program
//! knows how to page through its source and how to do one item, telling a journal of every step.

use std::sync::Arc;

use async_trait::async_trait;

use crate::failure::{ErrorClass, Failure};
use crate::ids::{AttemptId, RunId, StepId};
use crate::json::Json;
use crate::limit::{Demand, Permit};
use crate::record::Step;
use crate::retry::{RetryPolicy, Tried};
use crate::step::{ContentKey, Recalled, Score, StepIntent, StepResult, Usage};
use crate::store::NewItem;
use crate::trace::CallSpan;

#[async_trait]
pub trait Workload: Send + Sync {
    /// The job file's `kind`.
    fn kind(&self) -> &'static str;
    /// Reads a run's frozen definition, once per run and node. What it refers to by name is looked up
    /// in the workspace.
    async fn prepare(&self, workspace: &str, spec: &Json) -> Result<Arc<dyn Program>, Failure>;
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct SourcePage {
    pub items: Vec<NewItem>,
    /// Where the next page begins.
    pub cursor: Option<Json>,
    pub done: bool,
}

#[async_trait]
pub trait Program: Send + Sync {
    /// The next page of the source, at most `limit` items. The same cursor yields the same page.
    async fn page(&self, cursor: Option<&Json>, limit: usize) -> Result<SourcePage, Failure>;
    /// Does one item. Dropped when it must stop at once, so it keeps nothing outside the journal.
    async fn execute(&self, item: &WorkItem, journal: &dyn Journal) -> Result<Done, Halt>;
    /// Whether all is well after a wave, so that the next may open. Asked only where the rollout says so.
    async fn check_health(&self, _wave: i64) -> Result<(), Failure> {
        Ok(())
    }
    /// Whether earlier steps of an item mean anything to it. Where they do not they are not read: of an item
    /// that reads pages there may be a million.
    fn looks_back(&self) -> bool {
        true
    }
    fn retry_policy(&self) -> &RetryPolicy;
    /// Hard limit for one attempt.
    fn timeout_ms(&self) -> i64;
    /// The kind of the jobs it is for, for whoever counts.
    fn kind(&self) -> &'static str {
        "unknown"
    }
    /// Who may do its items.
    fn place(&self) -> Place {
        Place::Here
    }
    /// The columns its scores go into, each with its version. A worker that does not know the versions
    /// leaves them out.
    fn columns(&self) -> Vec<Column> {
        Vec::new()
    }
}

/// Who may do the items of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The workers of the process that coordinates the run.
    Here,
    /// Those, and workers elsewhere that are able to do all of this.
    Anywhere { needs: Vec<String> },
    /// Workers elsewhere only.
    Elsewhere { needs: Vec<String> },
}

impl Place {
    pub fn is_here(&self) -> bool {
        !matches!(self, Place::Elsewhere { .. })
    }

    /// What a worker elsewhere must be able to do; `None` where none may have it.
    pub fn needs(&self) -> Option<&[String]> {
        match self {
            Place::Here => None,
            Place::Anywhere { needs } | Place::Elsewhere { needs } => Some(needs),
        }
    }
}

/// What one evaluator finds, over all items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub version: String,
}

/// The item as its worker sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkItem {
    pub run: RunId,
    pub attempt: AttemptId,
    pub ordinal: i64,
    pub key: ContentKey,
    pub input: Json,
    pub tried: Tried,
    /// The number of this run's first attempt at the item.
    pub first_try: u32,
    /// True in a rescore run: judge what there is, call no target.
    pub rescore: bool,
    /// In a retry: the number of its first attempt at the item. What could not be judged under lower
    /// ones is judged again.
    pub retry_from: Option<u32>,
    /// Nothing done before the run is taken over.
    pub fresh: bool,
    /// True in a rollback run: undo instead of do.
    pub rollback: bool,
}

/// Where an executing item writes down what it does.
#[async_trait]
pub trait Journal: Send + Sync {
    /// All steps of earlier attempts at this item, in whatever run, oldest first.
    fn history(&self) -> &[Step] {
        &[]
    }
    /// An earlier result for this step, from any attempt at this item.
    fn recall(&self, key: &ContentKey) -> Option<Recalled>;
    /// A result of the same step from another item or job, for steps that may be shared.
    async fn look_up(&self, key: &ContentKey) -> Option<Recalled>;
    /// Waits until the call may be made, so that a limit is waited for with no intent on record. Time
    /// spent here does not count against the item.
    async fn admit(&self, demand: Demand) -> Result<Permit, Stopped>;
    /// Puts the intent on record. Only when this has returned may the call be made; everything
    /// finished before is then durable too.
    async fn begin(&self, intent: StepIntent) -> Result<StepNo, Stopped>;
    /// The span of a step that was begun, where somebody traces it.
    fn span(&self, _no: StepNo) -> Option<Arc<dyn CallSpan>> {
        None
    }
    /// Records what came of it. Durable soon, and before any later `begin` or the hand-in.
    fn finish(&self, no: StepNo, result: StepResult);
    /// Records a harmless step that needs no intent.
    fn whole(&self, intent: StepIntent, result: StepResult);
    /// Records that an earlier step stands; with its result, if it is not this item's own.
    fn reuse(&self, intent: StepIntent, from: StepId, taken: Option<(Json, Usage)>);
    /// Shows what there is so far in the snapshot (E22).
    async fn hand_in_partial(&self, scores: Vec<Score>) -> Result<(), Stopped>;
    /// Whether the item should stop before its next paid call.
    fn stopping(&self) -> bool;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepNo {
    pub no: u32,
    pub shared: bool,
}

/// The lease is lost or the run is terminating: stop here, write nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("stopped: the run is ending, or the lease is lost")]
pub struct Stopped;

/// An item that was done. A low score is not a failure.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Done {
    pub scores: Vec<Score>,
    pub usage: Usage,
    /// Time the target took, reused steps included.
    pub latency_ms: i64,
    /// There was nothing to do.
    pub skipped: bool,
}

/// Why an item was not done.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Halt {
    #[error(transparent)]
    Failed(#[from] Failure),
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl Halt {
    pub fn failed(class: ErrorClass, message: impl Into<String>) -> Self {
        Halt::Failed(Failure::new(class, message))
    }
}
