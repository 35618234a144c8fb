//! What only operations have: targets, waves, rollback.

use windrow_wire::request::{Approve, Rollback};
use windrow_wire::{RunDetail, Submitted, TargetList};

use crate::app::operations::{self, TargetFilter};
use crate::app::{control, submit};
use crate::client::api::Api;
use crate::error::Result;

impl Api {
    pub async fn targets(&self, job: &str, filter: TargetFilter) -> Result<TargetList> {
        match self {
            Api::Local(app, actor) => operations::targets(app, actor, job, filter).await,
            Api::Remote(remote) => {
                let query = [
                    ("labels", (!filter.labels.is_empty()).then(|| filter.labels.to_string())),
                    ("status", filter.status.map(|status| status.to_string())),
                    ("after", filter.after.map(|id| id.to_string())),
                    ("limit", Some(filter.limit.to_string())),
                ];
                remote.get(&["jobs", job, "targets"], &query).await
            }
        }
    }

    pub async fn approve(&self, job: &str, wish: Approve) -> Result<RunDetail> {
        match self {
            Api::Local(app, actor) => {
                let approve = |change| async move { control::approve(app, &change, job, wish).await };
                app.act(actor, "jobs approve", job, approve).await
            }
            Api::Remote(remote) => remote.post(&["jobs", job, "approve"], &wish).await,
        }
    }

    /// Starts a run that restores what the job has changed; returns its id.
    pub async fn rollback(&self, job: &str, wish: Rollback) -> Result<String> {
        let started: Submitted = match self {
            Api::Local(app, actor) => {
                let rollback = |change| async move { submit::rollback(app, &change, job, wish, None).await };
                app.act(actor, "jobs rollback", job, rollback).await?
            }
            Api::Remote(remote) => remote.post(&["jobs", job, "rollback"], &wish).await?,
        };
        Ok(started.run)
    }
}
