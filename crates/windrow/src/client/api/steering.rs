//! What is asked of a job.

use windrow_model::JobId;
use windrow_model::state::RunEvent;
use windrow_wire::request::{CleanUp, CloneRequest, ConfirmRequest, Reason, Resume, Retry, ScheduleRequest};
use windrow_wire::{Confirming, Deleted, RunDetail, ScheduleView, ScheduledJob, Submitted};

use crate::app::{confirming, control, submit};
use crate::client::api::Api;
use crate::client::remote::NOTHING;
use crate::error::Result;

impl Api {
    /// Pause, cancel, terminate or drain the job's latest run.
    pub async fn request_transition(&self, job: &str, event: RunEvent, reason: Option<&str>) -> Result<RunDetail> {
        match self {
            Api::Local(app, actor) => {
                let operation = match event {
                    RunEvent::Terminate => "jobs cancel".to_owned(),
                    event => format!("jobs {event}"),
                };
                let request =
                    |change| async move { control::request_transition(app, &change, job, event, reason).await };
                app.act(actor, &operation, job, request).await
            }
            Api::Remote(remote) => {
                let reason = Reason { reason: reason.map(str::to_owned) };
                remote.post(&["jobs", job, event.as_str()], &reason).await
            }
        }
    }

    /// Resumes a paused run, with another budget or failure cap if one is given.
    pub async fn resume(&self, job: &str, wish: Resume) -> Result<RunDetail> {
        match self {
            Api::Local(app, actor) => {
                let resume = |change| async move { control::resume(app, &change, job, wish).await };
                app.act(actor, "jobs resume", job, resume).await
            }
            Api::Remote(remote) => remote.post(&["jobs", job, "resume"], &wish).await,
        }
    }

    /// Starts a run of what failed; returns its id.
    pub async fn retry(&self, job: &str, wish: Retry) -> Result<String> {
        let started: Submitted = match self {
            Api::Local(app, actor) => {
                let retry = |change| async move { submit::retry(app, &change, job, wish, None).await };
                app.act(actor, "jobs retry", job, retry).await?
            }
            Api::Remote(remote) => remote.post(&["jobs", job, "retry"], &wish).await?,
        };
        Ok(started.run)
    }

    /// Runs failing rows again where gates failed, if the job file says so.
    pub async fn confirm(&self, job: &str, wish: ConfirmRequest) -> Result<Confirming> {
        match self {
            Api::Local(app, actor) => {
                let confirm = |change| async move { Box::pin(confirming::next(app, &change, job, wish)).await };
                app.act(actor, "run", job, confirm).await
            }
            Api::Remote(remote) => remote.post(&["jobs", job, "confirm"], &wish).await,
        }
    }

    /// Starts another job with the same definition; returns the id of its run.
    pub async fn copy(&self, job: &str, name: &str) -> Result<String> {
        let wish = CloneRequest { name: name.to_owned() };
        let started: Submitted = match self {
            Api::Local(app, actor) => {
                let clone = |change| async move { submit::clone(app, &change, job, wish, None).await };
                app.act(actor, "jobs clone", job, clone).await?
            }
            Api::Remote(remote) => remote.post(&["jobs", job, "clone"], &wish).await?,
        };
        Ok(started.run)
    }

    pub async fn schedule(&self, job: &str, wish: ScheduleRequest) -> Result<ScheduleView> {
        let scheduled: ScheduledJob = match self {
            Api::Local(app, actor) => {
                let schedule = |change| async move { control::schedule(app, &change, job, wish).await };
                app.act(actor, "jobs schedule", job, schedule).await?
            }
            Api::Remote(remote) => remote.put(&["jobs", job, "schedule"], NOTHING, &wish).await?,
        };
        Ok(scheduled.schedule)
    }

    pub async fn unschedule(&self, job: &str) -> Result<()> {
        match self {
            Api::Local(app, actor) => {
                let unschedule = |change| async move { control::unschedule(app, &change, job).await };
                app.act(actor, "jobs unschedule", job, unschedule).await
            }
            Api::Remote(remote) => remote.delete_silently(&["jobs", job, "schedule"], NOTHING).await,
        }
    }

    /// Excludes a job from retention, or includes it again.
    pub async fn pin(&self, job: &str, pinned: bool) -> Result<()> {
        match self {
            Api::Local(app, actor) => {
                let operation = if pinned { "jobs pin" } else { "jobs unpin" };
                let pin = |change| async move { control::pin(app, &change, job, pinned).await };
                app.act(actor, operation, job, pin).await
            }
            Api::Remote(remote) if pinned => remote.put_silently(&["jobs", job, "pin"]).await,
            Api::Remote(remote) => remote.delete_silently(&["jobs", job, "pin"], NOTHING).await,
        }
    }

    pub async fn delete(&self, job: &str) -> Result<()> {
        match self {
            Api::Local(app, actor) => {
                app.act(actor, "jobs delete", job, |change| async move { control::delete(app, &change, job).await })
                    .await
            }
            Api::Remote(remote) => remote.delete_silently(&["jobs", job], NOTHING).await,
        }
    }

    /// Deletes jobs that finished longer ago than their retention period.
    pub async fn clean_up(&self, wish: CleanUp) -> Result<Deleted> {
        match self {
            Api::Local(app, actor) => {
                let clean_up = |change| async move { control::clean_up(app, &change, wish).await };
                app.act(actor, "jobs clean-up", "", clean_up).await
            }
            Api::Remote(remote) => remote.post(&["clean-up"], &wish).await,
        }
    }

    /// The name of a job that may be given by its id.
    pub async fn name_of(&self, job: &str) -> Result<String> {
        match job.parse::<JobId>() {
            Ok(_) => Ok(self.job(job).await?.job.name),
            Err(_) => Ok(job.to_owned()),
        }
    }
}
