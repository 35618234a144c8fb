//! Steps 1 and 2: a request becomes a job and a run, in one transaction, or is rejected.

use windrow_model::priority::Priority;
use windrow_model::record::{Job, Labels, Run, RunLimits};
use windrow_model::rollout::Rollout;
use windrow_model::state::Mode;
use windrow_model::store::{Queue, Result, Selection, Submission, Submitted};
use windrow_model::{JobId, Json, RunId, Time};

/// A submission without its ids.
#[derive(Debug, Clone)]
pub struct Request {
    pub workspace: String,
    pub name: String,
    pub kind: String,
    pub labels: Labels,
    pub mode: Mode,
    pub spec: Json,
    pub spec_hash: String,
    pub priority: Priority,
    pub limits: RunLimits,
    pub rollout: Option<Rollout>,
    pub fresh: bool,
    pub selection: Option<Selection>,
    pub schedule: Option<String>,
    pub idempotency_key: Option<String>,
    /// The run starts when it is resumed.
    pub paused: bool,
    pub actor: String,
}

impl Request {
    /// Another run of a job, with the definition and the limits of an earlier one.
    pub async fn of_run(store: &dyn Queue, job: &Job, run: &Run, mode: Mode, actor: String) -> Result<Self> {
        Ok(Self {
            workspace: job.workspace.clone(),
            name: job.name.clone(),
            kind: job.kind.clone(),
            labels: job.labels.clone(),
            mode,
            spec: store.spec(&run.spec_hash).await?,
            spec_hash: run.spec_hash.clone(),
            priority: run.priority,
            // A rollback has no waves and no failure cap: it restores what the rollout has changed.
            limits: RunLimits { max_failed: run.limits.max_failed.filter(|_| mode != Mode::Rollback), ..run.limits },
            rollout: run.rollout.clone().filter(|_| mode != Mode::Rollback),
            fresh: false,
            selection: None,
            schedule: None,
            idempotency_key: None,
            paused: false,
            actor,
        })
    }
}

pub async fn submit(store: &dyn Queue, request: Request, chance: u64, now: Time) -> Result<Submitted> {
    store.submit(submission(request, chance, now), now).await
}

/// `chance` makes the ids unique among those of the same millisecond.
pub fn submission(request: Request, chance: u64, now: Time) -> Submission {
    let Request { workspace, name, kind, labels, mode, spec, spec_hash, priority, limits, fresh, .. } = request;
    Submission {
        job: JobId::mint(now, chance),
        run: RunId::mint(now, chance),
        workspace,
        name,
        kind,
        labels,
        mode,
        spec,
        spec_hash,
        priority,
        limits,
        rollout: request.rollout,
        fresh,
        selection: request.selection,
        schedule: request.schedule,
        idempotency_key: request.idempotency_key,
        paused: request.paused,
        actor: request.actor,
    }
}
