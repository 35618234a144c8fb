//! Comparisons of several runs, and trends.

use windrow_wire::{ComparisonView, TrendView};

use crate::app::{comparison, trends};
use crate::client::api::Api;
use crate::error::Result;

impl Api {
    pub async fn compare_sides(&self, names: &[String], rows: usize) -> Result<ComparisonView> {
        match self {
            Api::Local(app, actor) => comparison::compare(app, actor, names, rows).await,
            Api::Remote(remote) => remote.get(&["comparison"], &(("runs", names.join(",")), ("rows", rows))).await,
        }
    }

    pub async fn trends(&self, job: &str, metric: Option<&str>) -> Result<TrendView> {
        match self {
            Api::Local(app, actor) => trends::of_job(app, actor, job, metric).await,
            Api::Remote(remote) => remote.get(&["jobs", job, "trends"], &[("metric", metric)]).await,
        }
    }
}
