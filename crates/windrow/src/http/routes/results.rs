//! `/runs/{run}/result|gates|report` and `/compare`: what runs came to, as the command line shows it.

use std::io;

use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_wire::{Compared, GateList, RunResult};

use crate::app::detail;
use crate::app::report::{self, Format};
use crate::app::results::{self, Wish};
use crate::http::error::ApiError;
use crate::http::extract::{Asked, Named};
use crate::http::middleware::caller::Caller;
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
    /// How many of the worst findings to give
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
    /// How many of the worst findings to give
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
    /// Rows listed that flipped either way, at most
    #[param(minimum = 0, maximum = 100, default = 10)]
    rows: Option<usize>,
}

/// What a run came to: numbers, gates, what it is compared with, the worst of it
///
/// A run that is not over has its numbers so far, and `exit_code` 130.
#[utoipa::path(get, operation_id = "get_run_result", path = "/runs/{run}/result", tag = "runs",
    params(("run" = String, Path, description = "Id of the run, or `JOB` for its latest, or `JOB#3`"), ResultQuery),
    responses((status = 200, description = "The result", body = RunResult)))]
pub async fn result(
    State(server): Shared,
    caller: Caller,
    Named(run): Named,
    Asked(query): Asked<ResultQuery>,
) -> Result<Json<RunResult>, ApiError> {
    let worst = at_most("worst", query.worst, WORST)?;
    let _turn = server.turn().await?;
    let (job, run) = caller.run(&server.app, &run).await?;
    let wish = Wish { baseline: query.baseline, within: caller.workspace, worst };
    Ok(Json(results::result(&server.app, &job, &run, &wish).await?))
}

/// The gates of a run that is over, judged once more from its stored results
#[utoipa::path(get, operation_id = "judge_gates", path = "/runs/{run}/gates", tag = "runs",
    params(("run" = String, Path, description = "Id of the run, or `JOB` for its latest, or `JOB#3`"), GatesQuery),
    responses((status = 200, description = "The gates", body = GateList)))]
pub async fn gates(
    State(server): Shared,
    caller: Caller,
    Named(run): Named,
    Asked(query): Asked<GatesQuery>,
) -> Result<Json<GateList>, ApiError> {
    let _turn = server.turn().await?;
    let (job, run) = caller.run(&server.app, &run).await?;
    let wish = Wish { baseline: query.baseline, within: caller.workspace, worst: 0 };
    Ok(Json(results::gates(&server.app, &job, &run, &wish).await?))
}

/// A run as JUnit XML, Markdown or JSON
#[utoipa::path(get, operation_id = "get_report", path = "/runs/{run}/report", tag = "runs",
    params(("run" = String, Path, description = "Id of the run, or `JOB` for its latest, or `JOB#3`"), ReportQuery),
    responses((status = 200, description = "The report",
        content((String = "text/markdown"), (String = "application/xml"), (RunResult = "application/json")))))]
pub async fn report(
    State(server): Shared,
    caller: Caller,
    Named(run): Named,
    Asked(query): Asked<ReportQuery>,
) -> Result<Response, ApiError> {
    let worst = at_most("worst", query.worst, WORST)?;
    let format = query.format.unwrap_or(Format::Markdown);
    let _turn = server.turn().await?;
    let (_, run) = caller.run(&server.app, &run).await?;
    let assessed =
        results::assess(&server.app, &run, &Wish { baseline: query.baseline, within: caller.workspace, worst }).await?;
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

/// Two runs row by row: what changed, how surely, and which rows flipped
///
/// Rows are paired by their content, so runs of different jobs over the same rows can be compared.
#[utoipa::path(get, operation_id = "compare_runs", path = "/compare", tag = "runs", params(CompareQuery),
    responses((status = 200, description = "The comparison", body = Compared)))]
pub async fn compare(
    State(server): Shared,
    caller: Caller,
    Asked(query): Asked<CompareQuery>,
) -> Result<Json<Compared>, ApiError> {
    let rows = at_most("rows", query.rows, FLIPS)?;
    let _turn = server.turn().await?;
    Ok(Json(detail::of_pair(&server.app, caller.workspace.as_deref(), &query.before, &query.after, rows).await?))
}

fn at_most(field: &str, wanted: Option<usize>, usual: usize) -> Result<usize, ApiError> {
    match wanted.unwrap_or(usual) {
        wanted @ 0..=MOST => Ok(wanted),
        wanted => Err(ApiError::bad(field, format!("{field} is {wanted}"), format!("use 0 to {MOST}"))),
    }
}
