//! Numbers over all jobs of a workspace.

use serde::Deserialize;
use windrow_model::{JobId, Time};

use crate::client::{Client, Failure, literal};
use crate::schema::{JOBS, RESULTS, STEPS};

/// What calls used on one day. Reused results cost nothing.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Usage {
    /// `2026-11-18`, in UTC.
    pub day: String,
    pub workspace: String,
    pub model: String,
    pub calls: i64,
    pub tokens_in: i64,
    pub tokens_out: i64,
    pub cost_nanos: i64,
}

/// A row of a dataset over all runs, trials and variants of a job.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RowHistory {
    pub job: String,
    pub row: i64,
    pub variant: Option<String>,
    /// Results, and how many of them passed, failed, or had an error.
    pub n: i64,
    pub pass: i64,
    pub fail: i64,
    pub error: i64,
    pub mean_latency_ms: Option<f64>,
    pub max_latency_ms: Option<i64>,
    pub input: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Slowest,
    Flakiest,
}

/// By day, workspace and model, newest first.
pub async fn usage(client: &Client, workspace: Option<&str>, since: Time) -> Result<Vec<Usage>, Failure> {
    let place = workspace.map_or("1".to_owned(), |name| format!("workspace = {}", literal(name)));
    let sql = format!(
        "SELECT toString(toDate(fromUnixTimestamp64Milli(started_ms, 'UTC'))) AS day, toString(workspace) AS workspace, \
         toString(model) AS model, count() AS calls, sum(tokens_in) AS tokens_in, sum(tokens_out) AS tokens_out, \
         sum(cost_nanos) AS cost_nanos FROM (SELECT * FROM {STEPS} FINAL WHERE {place} AND started_ms >= {} AND NOT reused \
         AND (tokens_in > 0 OR tokens_out > 0 OR cost_nanos > 0)) \
         GROUP BY day, workspace, model ORDER BY day DESC, workspace, model",
        since.0
    );
    client.rows(&sql).await
}

/// Rows of one job, or of all jobs of a workspace.
pub async fn rows(
    client: &Client,
    workspace: Option<&str>,
    job: Option<JobId>,
    order: Order,
    limit: usize,
) -> Result<Vec<RowHistory>, Failure> {
    let workspace = workspace.map(|name| format!(" AND workspace = {}", literal(name)));
    let job = job.map(|job| format!(" AND job_id = {}", job.0));
    let place = workspace.into_iter().chain(job).collect::<String>();
    let (having, order) = match order {
        Order::Slowest => ("mean_latency_ms IS NOT NULL", "mean_latency_ms DESC"),
        // The share of results that are not like the others.
        Order::Flakiest => ("n > greatest(pass, fail, error)", "(n - greatest(pass, fail, error)) / n DESC, n DESC"),
    };
    let sql = format!(
        "SELECT any(r.job) AS job, max(r.row) AS row, r.variant AS variant, count() AS n, \
         countIf(r.outcome = 'pass') AS pass, countIf(r.outcome = 'fail') AS fail, countIf(r.outcome = 'error') AS error, \
         avg(r.latency_ms) AS mean_latency_ms, max(r.latency_ms) AS max_latency_ms, argMax(r.input, r.run) AS input \
         FROM (SELECT * FROM {RESULTS} FINAL WHERE outcome IN ('pass', 'fail', 'error'){place}) AS r \
         GROUP BY r.job_id, r.row_key, r.variant HAVING {having} ORDER BY {order}, job, row, variant LIMIT {limit}"
    );
    client.rows(&sql).await
}

/// Jobs with at least one row.
pub async fn jobs(client: &Client) -> Result<u64, Failure> {
    let count = client.perform(&format!("SELECT count() FROM {JOBS} FINAL")).await?;
    count.trim().parse().map_err(|_| Failure::Unexpected(count))
}
