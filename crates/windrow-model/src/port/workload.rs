//! The port to the kinds of jobs. A workload turns a frozen definition into a program; a program pages through its source
//! and executes one item, recording every step in a journal.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::failure::{ErrorClass, Failure};
use crate::ids::{AttemptId, RunId, StepId};
use crate::json::Json;
use crate::port::store::NewItem;
use crate::port::trace::CallSpan;
use crate::record::Step;
use crate::rule::limit::{Demand, Permit};
use crate::rule::retry::{RetryPolicy, Tried};
use crate::step::{ContentKey, Recalled, Score, StepIntent, StepResult, Usage};

#[async_trait]
pub trait Workload: Send + Sync {
    /// The job file's `kind`.
    fn kind(&self) -> &'static str;
    /// Reads a run's frozen definition, once per run and node. Names in it are resolved in the workspace.
    async fn prepare(&self, workspace: &str, spec: &Json) -> Result<Arc<dyn Program>, Failure>;
    /// The definition, with its hash, of a run that appends to the job: over the newest version of a source that has
    /// versions. `None`: the definition as it is.
    async fn renewed(&self, _workspace: &str, _spec: &Json) -> Result<Option<(Json, String)>, Failure> {
        Ok(None)
    }
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
    /// Executes one item. The future is dropped when it must stop at once, so all state is in the journal.
    async fn execute(&self, item: &WorkItem, journal: &dyn Journal) -> Result<Done, Halt>;
    /// The health check after a wave, before the next one opens. Called only if the rollout requires it.
    async fn check_health(&self, _wave: i64) -> Result<(), Failure> {
        Ok(())
    }
    /// Whether earlier steps of an item are read. An item that reads pages may have a million.
    fn looks_back(&self) -> bool {
        true
    }
    fn retry_policy(&self) -> &RetryPolicy;
    /// Hard limit for one attempt.
    fn timeout_ms(&self) -> i64;
    /// The kind of its jobs, for metrics.
    fn kind(&self) -> &'static str {
        "unknown"
    }
    /// What its steps of kind `apply` do, for metrics.
    fn action(&self) -> Option<&'static str> {
        None
    }
    /// Which workers may execute its items.
    fn runs_on(&self) -> RunsOn {
        RunsOn::Here
    }
    /// The columns of its scores, each with its version. A worker that does not know the versions omits them.
    fn columns(&self) -> Vec<Column> {
        Vec::new()
    }
}

/// Which workers may execute the items of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunsOn {
    /// The workers of the process that coordinates the run.
    Here,
    /// Those, and remote workers with all these capabilities.
    Anywhere { needs: Vec<String> },
    /// Remote workers only.
    Elsewhere { needs: Vec<String> },
}

impl RunsOn {
    pub fn allows_local(&self) -> bool {
        !matches!(self, RunsOn::Elsewhere { .. })
    }

    /// The capabilities a remote worker needs; `None` where only local workers may execute it.
    pub fn needs(&self) -> Option<&[String]> {
        match self {
            RunsOn::Here => None,
            RunsOn::Anywhere { needs } | RunsOn::Elsewhere { needs } => Some(needs),
        }
    }
}

/// The scores of one evaluator, over all items.
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
    /// True in a rescore run: evaluate stored outputs, call no target.
    pub rescore: bool,
    /// In a retry: the number of its first attempt at the item. Evaluator errors of earlier attempts are evaluated
    /// again.
    pub retry_from: Option<u32>,
    /// The run reuses no earlier results.
    pub fresh: bool,
    /// An item of the run has been executed, or the run is to keep going: failures are the item's own. Before that, an
    /// evaluator that cannot work at all fails the item.
    pub proven: bool,
    /// True in a rollback run: undo instead of do.
    pub rollback: bool,
}

/// Records the steps of an executing item.
#[async_trait]
pub trait Journal: Send + Sync {
    /// All steps of earlier attempts at this item, in any run, oldest first.
    fn history(&self) -> &[Step] {
        &[]
    }
    /// An earlier result for this step, from any attempt at this item.
    fn recall(&self, key: &ContentKey) -> Option<Recalled>;
    /// A result of the same step from another item or job, for steps that may be shared.
    async fn look_up(&self, key: &ContentKey) -> Option<Recalled>;
    /// Waits for rate limits, before the intent is stored. This time does not count against the item's timeout.
    async fn admit(&self, demand: Demand) -> Result<Permit, Stopped>;
    /// Waits before an endpoint that cannot be reached is tried again. The wait is visible, and this time does not count
    /// against the item's timeout.
    async fn wait_out(&self, endpoint: &str, pause: Duration) -> Result<(), Stopped>;
    /// Stores the intent. The call may be made only after this returns; earlier results are then durable too.
    async fn begin(&self, intent: StepIntent) -> Result<StepNo, Stopped>;
    /// Where the text of a step in progress is shown while it arrives (E30). Nothing of it is stored.
    fn shown(&self, _no: StepNo, _name: &str, _turn: u32) -> Option<Arc<dyn Shown>> {
        None
    }
    /// The span of a step in progress, if the item is traced.
    fn span(&self, _no: StepNo) -> Option<Arc<dyn CallSpan>> {
        None
    }
    /// Records the result. Durable before any later `begin` or the hand-in returns.
    fn finish(&self, no: StepNo, result: StepResult);
    /// Records a harmless step that needs no intent, and how long it took.
    fn whole(&self, intent: StepIntent, result: StepResult, took_ms: i64);
    /// Records the reuse of an earlier step; with its result, if another item made it.
    fn reuse(&self, intent: StepIntent, from: StepId, taken: Option<(Json, Usage)>);
    /// What the item has finished so far: handed in with its failure, should the rest fail.
    fn keep(&self, _done: Done) {}
    /// Shows what the item has finished so far in the snapshot (E22), and keeps it.
    async fn hand_in_partial(&self, done: Done) -> Result<(), Stopped>;
    /// Whether the item should stop before its next paid call.
    fn stopping(&self) -> bool;
    /// Writes a warning to the log of the job, best effort.
    async fn warn(&self, _event: &'static str, _message: String) {}
}

/// A text that is shown while it arrives, until this is dropped.
pub trait Shown: Send + Sync {
    /// All of it so far.
    fn show(&self, so_far: &str);
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

/// An executed item. A low score is not a failure.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Done {
    pub scores: Vec<Score>,
    pub usage: Usage,
    /// Time the target took, reused steps included.
    pub latency_ms: i64,
    /// Nothing had to be done.
    pub skipped: bool,
    /// Some of it failed, and the rest is done.
    pub partial: Option<Failure>,
}

/// Why an item was not executed to its end.
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
