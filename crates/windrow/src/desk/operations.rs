//! What only operations have: targets, waves, a way back.

use windrow_wire::request::{Approve, Rollback};
use windrow_wire::{RunDetail, Submitted, TargetList};

use super::Desk;
use crate::error::Result;
use crate::operations::{self, Wanted};
use crate::{find, start, wiring};

impl Desk {
    pub async fn targets(&self, job: &str, wanted: Wanted) -> Result<TargetList> {
        match self {
            Desk::Folder(app) => {
                let (job, latest) = find::job(app, job).await?;
                operations::targets(app, &job, &latest, wanted).await
            }
            Desk::Server(remote) => {
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
            Desk::Folder(app) => {
                let (job, run) = find::job(app, job).await?;
                let run = operations::approve(app, &job, &run, wish, &wiring::actor()).await?;
                Ok(RunDetail::of(&job.kind, &run))
            }
            Desk::Server(remote) => remote.post(&["jobs", job, "approve"], &wish).await,
        }
    }

    /// Starts a run that takes back what the job has changed; returns its id.
    pub async fn rollback(&self, job: &str, wish: Rollback) -> Result<String> {
        match self {
            Desk::Folder(app) => {
                let (job, latest) = find::job(app, job).await?;
                let request = operations::rollback(app, &job, &latest, wish).await?;
                Ok(start::submit(app, request).await?.to_string())
            }
            Desk::Server(remote) => Ok(remote.post::<Submitted>(&["jobs", job, "rollback"], &wish).await?.run),
        }
    }
}
