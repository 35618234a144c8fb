//! The copy in ClickHouse, and numbers over all jobs.

use windrow_wire::{AnalyticsCheck, AnalyticsRebuild, AnalyticsStatus, RebuildRequest, RowRanking, UsageView};

use crate::app::analytics;
use crate::app::usage::{self, Ranking};
use crate::client::api::Api;
use crate::client::remote::NOTHING;
use crate::error::Result;

impl Api {
    pub async fn analytics(&self) -> Result<AnalyticsStatus> {
        match self {
            Api::Local(app, actor) => analytics::status(app, actor).await,
            Api::Remote(remote) => remote.get(&["analytics"], NOTHING).await,
        }
    }

    pub async fn check_analytics(&self, job: Option<&str>) -> Result<AnalyticsCheck> {
        match self {
            Api::Local(app, actor) => analytics::check(app, actor, job).await,
            Api::Remote(remote) => remote.get(&["analytics", "check"], &[("job", job)]).await,
        }
    }

    /// Here it returns when everything is sent; a server sends it in the background.
    pub async fn rebuild_analytics(&self, job: Option<&str>) -> Result<AnalyticsRebuild> {
        match self {
            Api::Local(app, actor) => {
                let resource = job.unwrap_or_default();
                let rebuild = |change| async move { analytics::rebuild(app, &change, job).await };
                let rebuilt = app.act(actor, "analytics rebuild", resource, rebuild).await?;
                analytics::catch_up(app).await?;
                Ok(rebuilt)
            }
            Api::Remote(remote) => {
                let request = RebuildRequest { job: job.map(str::to_owned) };
                remote.post(&["analytics", "rebuild"], &request).await
            }
        }
    }

    pub async fn usage(&self, days: u32) -> Result<UsageView> {
        match self {
            Api::Local(app, actor) => usage::by_day(app, actor, days).await,
            Api::Remote(remote) => remote.get(&["usage"], &[("days", days)]).await,
        }
    }

    pub async fn rank_rows(&self, job: Option<&str>, by: Ranking, limit: usize) -> Result<RowRanking> {
        match self {
            Api::Local(app, actor) => usage::rows(app, actor, job, by, limit).await,
            Api::Remote(remote) => remote.get(&["rows"], &(("by", by.as_str()), ("job", job), ("limit", limit))).await,
        }
    }
}
