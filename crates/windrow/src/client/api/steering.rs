//! What somebody wants of a job. Who carries it out is for the commands to say.

use windrow_model::JobId;
use windrow_model::record::RunLimits;
use windrow_model::state::RunEvent;
use windrow_model::store::Retention;
use windrow_model::time::DAY_MS;
use windrow_wire::request::{CleanUp, CloneRequest, Reason, Resume, Retry, ScheduleRequest};
use windrow_wire::{Budget, Deleted, RunDetail, ScheduleView, ScheduledJob, Submitted};

use crate::app::control::{self, Wisher};
use crate::app::delete;
use crate::app::error::{Code, Result};
use crate::app::lookup;
use crate::app::retry;
use crate::app::submit;
use crate::app::wiring;
use crate::client::api::Api;
use crate::client::remote::NOTHING;

pub const MORE: &str = "give it more with `--budget DOLLARS` or `--budget-tokens N`";

impl Api {
    /// Pause, cancel, terminate or drain the job's latest run.
    pub async fn request_transition(&self, job: &str, event: RunEvent, reason: Option<&str>) -> Result<RunDetail> {
        match self {
            Api::Local(app) => {
                let (job, run) = lookup::job(app, job).await?;
                let actor = wiring::actor();
                control::request_transition(app, &job, &run, event, Wisher { actor: &actor, reason }).await
            }
            Api::Remote(remote) => {
                let reason = Reason { reason: reason.map(str::to_owned) };
                remote.post(&["jobs", job, event.as_str()], &reason).await
            }
        }
    }

    /// Let a paused run go on, with another budget or cap on failures if one is given.
    pub async fn resume(&self, job: &str, budget: Budget, max_failed: Option<i64>) -> Result<RunDetail> {
        match self {
            Api::Local(app) => {
                let (job, run) = lookup::job(app, job).await?;
                let actor = wiring::actor();
                let limits = RunLimits {
                    max_tokens: budget.tokens.or(run.limits.max_tokens),
                    max_cost_nanos: budget.cost_nanos.or(run.limits.max_cost_nanos),
                    max_failed: max_failed.or(run.limits.max_failed),
                    ..run.limits
                };
                let run = control::amend(app, run, limits, &actor, MORE).await?;
                control::request_transition(app, &job, &run, RunEvent::Resume, Wisher { actor: &actor, reason: None })
                    .await
            }
            Api::Remote(remote) => {
                let wish = Resume { budget: budget.into(), max_failed };
                let answer = remote.post(&["jobs", job, "resume"], &wish).await;
                answer.map_err(|error| error.advising(Code::BudgetSpent, MORE))
            }
        }
    }

    /// Starts a run of what failed; returns its id.
    pub async fn retry(&self, job: &str, wish: Retry) -> Result<String> {
        match self {
            Api::Local(app) => {
                let (job, latest) = lookup::job(app, job).await?;
                let request = retry::request(app, &job, &latest, &wish).await?;
                Ok(submit::submit(app, request).await?.to_string())
            }
            Api::Remote(remote) => Ok(remote.post::<Submitted>(&["jobs", job, "retry"], &wish).await?.run),
        }
    }

    /// Starts another job with the definition of this one; returns the id of its run.
    pub async fn copy(&self, job: &str, name: &str) -> Result<String> {
        match self {
            Api::Local(app) => {
                let (job, latest) = lookup::job(app, job).await?;
                let request = submit::of_copy(app, &job, &latest, name.to_owned(), false).await?;
                Ok(submit::submit(app, request).await?.to_string())
            }
            Api::Remote(remote) => {
                let wish = CloneRequest { name: name.to_owned() };
                Ok(remote.post::<Submitted>(&["jobs", job, "clone"], &wish).await?.run)
            }
        }
    }

    /// Lets the job start by itself at these times.
    pub async fn schedule(&self, job: &str, cron: &str) -> Result<ScheduleView> {
        match self {
            Api::Local(app) => {
                let (job, _) = lookup::job(app, job).await?;
                Ok((&submit::schedule(app, &job, cron.to_owned(), &wiring::actor()).await?).into())
            }
            Api::Remote(remote) => {
                let wish = ScheduleRequest { cron: cron.to_owned() };
                Ok(remote.put::<ScheduledJob>(&["jobs", job, "schedule"], NOTHING, &wish).await?.schedule)
            }
        }
    }

    pub async fn unschedule(&self, job: &str) -> Result<()> {
        match self {
            Api::Local(app) => {
                let (job, _) = lookup::job(app, job).await?;
                Ok(app.store.schedule(job.id, None, &wiring::actor(), app.now()).await?)
            }
            Api::Remote(remote) => remote.delete_silently(&["jobs", job, "schedule"], NOTHING).await,
        }
    }

    pub async fn delete(&self, job: &str) -> Result<()> {
        match self {
            Api::Local(app) => {
                let (job, _) = lookup::job(app, job).await?;
                app.store.delete_job(job.id).await?;
                Ok(delete::sweep(app).await?)
            }
            Api::Remote(remote) => remote.delete_silently(&["jobs", job], NOTHING).await,
        }
    }

    /// Deletes what ended longer ago than so many days.
    pub async fn clean_up(&self, completed: i64, failed: i64) -> Result<Deleted> {
        match self {
            Api::Local(app) => {
                let retention = Retention { completed_ms: completed * DAY_MS, failed_ms: failed * DAY_MS };
                delete::clean_up(app, retention).await
            }
            Api::Remote(remote) => {
                let wish = CleanUp { completed_days: Some(completed), failed_days: Some(failed) };
                remote.post(&["clean-up"], &wish).await
            }
        }
    }

    /// How the job is called, where it was named by its id.
    pub async fn name_of(&self, job: &str) -> Result<String> {
        match job.parse::<JobId>() {
            Ok(_) => Ok(self.job(job).await?.job.name),
            Err(_) => Ok(job.to_owned()),
        }
    }
}
