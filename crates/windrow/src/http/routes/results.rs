//! `/runs/{run}/result|gates|report` and `/compare`: results of runs.

use std::io;

use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_wire::{Compared, GateList, RunResult};

use crate::app::actor::Actor;
use crate::app::report::{self, Format};
use crate::app::results::{self, Options};
use crate::http::error::ApiError;
use crate::http::extract::{PathParam, Query, RunPath, at_most};
use crate::http::server::Shared;
use crate::http::streamed;

const WORST: usize = 5;
const FLIPS: usize = 10;
const MOST: usize = 100;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ResultQuery {
    /// Compare with this run instead of the job's own baseline: `JOB`, `JOB#3` or an id
    baseline: Option<String>,
    /// Number of lowest scores in the response
    #[param(minimum = 0, maximum = 100, default = 5)]
    worst: Option<usize>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct GatesQuery {
    /// Compare with this run instead of the job's own baseline: `JOB`, `JOB#3` or an id
    baseline: Option<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ReportQuery {
    /// `markdown` if not given
    #[param(inline)]
    format: Option<Format>,
    /// Compare with this run instead of the job's own baseline: `JOB`, `JOB#3` or an id
    baseline: Option<String>,
    /// Number of lowest scores in the response
    #[param(minimum = 0, maximum = 100, default = 5)]
    worst: Option<usize>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct CompareQuery {
    /// The earlier run: `JOB` for its latest, `JOB#3`, or an id
    before: String,
    /// The later run
    after: String,
    /// Maximum number of rows listed that flipped either way
    #[param(minimum = 0, maximum = 100, default = 10)]
    rows: Option<usize>,
}

/// The result of a run: numbers, quality gates, comparison with the baseline, lowest scores
///
/// An unfinished run has its numbers so far, and `exit_code` 130.
#[utoipa::path(get, operation_id = "get_run_result", path = "/runs/{run}/result", tag = "runs",
    params(RunPath, ResultQuery),
    responses((status = 200, description = "The result", body = RunResult)))]
pub async fn result(
    State(server): Shared,
    actor: Actor,
    PathParam(run): PathParam,
    Query(query): Query<ResultQuery>,
) -> Result<Json<RunResult>, ApiError> {
    let options = Options { baseline: query.baseline, worst: at_most("worst", query.worst, WORST, MOST)? };
    let _permit = server.heavy_request_permit().await?;
    Ok(Json(results::result(&server.app, &actor, &run, &options).await?))
}

/// Re-evaluate the quality gates of a finished run from its stored results
#[utoipa::path(get, operation_id = "judge_gates", path = "/runs/{run}/gates", tag = "runs",
    params(RunPath, GatesQuery),
    responses((status = 200, description = "The gates", body = GateList)))]
pub async fn gates(
    State(server): Shared,
    actor: Actor,
    PathParam(run): PathParam,
    Query(query): Query<GatesQuery>,
) -> Result<Json<GateList>, ApiError> {
    let _permit = server.heavy_request_permit().await?;
    Ok(Json(results::gates(&server.app, &actor, &run, query.baseline).await?))
}

/// A run as JUnit XML, Markdown or JSON
#[utoipa::path(get, operation_id = "get_report", path = "/runs/{run}/report", tag = "runs",
    params(RunPath, ReportQuery),
    responses((status = 200, description = "The report",
        content((String = "text/markdown"), (String = "application/xml"), (RunResult = "application/json")))))]
pub async fn report(
    State(server): Shared,
    actor: Actor,
    PathParam(run): PathParam,
    Query(query): Query<ReportQuery>,
) -> Result<Response, ApiError> {
    let options = Options { baseline: query.baseline, worst: at_most("worst", query.worst, WORST, MOST)? };
    let format = query.format.unwrap_or(Format::Markdown);
    let _permit = server.heavy_request_permit().await?;
    let assessed = results::assessment(&server.app, &actor, &run, &options).await?;
    let media_type = match format {
        Format::Junit => "application/xml",
        Format::Markdown => "text/markdown; charset=utf-8",
        Format::Json => "application/json",
    };
    let body = streamed::body(move |mut out| async move {
        let written = report::write(&server.app, &assessed, format, &mut out).await;
        written.map_err(io::Error::other)
    });
    Ok(([(CONTENT_TYPE, media_type)], body).into_response())
}

/// Compare two runs row by row
///
/// Rows are paired by their `id`, else by content, so runs of different jobs over the same rows can be compared.
#[utoipa::path(get, operation_id = "compare_runs", path = "/compare", tag = "runs", params(CompareQuery),
    responses((status = 200, description = "The comparison", body = Compared)))]
pub async fn compare(
    State(server): Shared,
    actor: Actor,
    Query(query): Query<CompareQuery>,
) -> Result<Json<Compared>, ApiError> {
    let rows = at_most("rows", query.rows, FLIPS, MOST)?;
    let _permit = server.heavy_request_permit().await?;
    Ok(Json(results::compare(&server.app, &actor, &query.before, &query.after, rows).await?))
}
