//! What only operations have: targets, waves, a way back.

use windrow_wire::request::{Approve, Rollback};
use windrow_wire::{RunDetail, Submitted, TargetList};

use crate::app::error::Result;
use crate::app::lookup;
use crate::app::operations::{self, Wanted};
use crate::app::submit;
use crate::app::wiring;
use crate::client::api::Api;

impl Api {
    pub async fn targets(&self, job: &str, wanted: Wanted) -> Result<TargetList> {
        match self {
            Api::Local(app) => {
                let (job, latest) = lookup::job(app, job).await?;
                operations::targets(app, &job, &latest, wanted).await
            }
            Api::Remote(remote) => {
                let query = [
                    ("status", wanted.status.map(|status| status.to_string())),
                    ("after", wanted.after.map(|id| id.to_string())),
                    ("limit", Some(wanted.limit.to_string())),
                ];
                remote.get(&["jobs", job, "targets"], &query).await
            }
        }
    }

    pub async fn approve(&self, job: &str, wish: Approve) -> Result<RunDetail> {
        match self {
            Api::Local(app) => {
                let (job, run) = lookup::job(app, job).await?;
                let run = operations::approve(app, &job, &run, wish, &wiring::actor()).await?;
                Ok(RunDetail::of(&job.kind, &run))
            }
            Api::Remote(remote) => remote.post(&["jobs", job, "approve"], &wish).await,
        }
    }

    /// Starts a run that takes back what the job has changed; returns its id.
    pub async fn rollback(&self, job: &str, wish: Rollback) -> Result<String> {
        match self {
            Api::Local(app) => {
                let (job, latest) = lookup::job(app, job).await?;
                let request = operations::rollback(app, &job, &latest, wish).await?;
                Ok(submit::submit(app, request).await?.to_string())
            }
            Api::Remote(remote) => Ok(remote.post::<Submitted>(&["jobs", job, "rollback"], &wish).await?.run),
        }
    }
}
