//! `GET /jobs/{job}/export`: the results of a job as a file, streamed.

use std::io::{self, BufWriter};
use std::sync::atomic::AtomicU64;

use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tokio_util::io::SyncIoBridge;
use utoipa::IntoParams;

use crate::app::actor::Actor;
use crate::app::export::{self, ExportError, Format, Request};
use crate::http::error::ApiError;
use crate::http::extract::{JobPath, PathParam, Query};
use crate::http::server::Shared;
use crate::http::streamed;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ExportQuery {
    /// `jsonl` if not given
    #[param(inline)]
    format: Option<Format>,
    /// Only results of this run, by its number. Default: the current results of all items
    run: Option<i64>,
    /// Filter, e.g. `outcome = fail and score.exact < 0.5`
    r#where: Option<String>,
    /// Names separated by commas. Default: all
    columns: Option<String>,
    /// A row per attempt that has ended
    #[serde(default)]
    attempts: bool,
    /// Baseline of the HTML page: `JOB#RUN`, `#RUN` of this job, or `variant NAME`
    vs: Option<String>,
}

/// The results of a job as a file, also while it runs
///
/// Texts are complete. The filter sees the first 200 characters of them, as in the table.
#[utoipa::path(get, operation_id = "export_results", path = "/jobs/{job}/export", tag = "results",
    params(JobPath, ExportQuery),
    responses((status = 200, description = "The results", content((String = "application/x-ndjson"),
        (String = "text/csv"), (String = "text/html"), (Vec<u8> = "application/vnd.apache.parquet")))))]
pub async fn export(
    State(server): Shared,
    actor: Actor,
    PathParam(job): PathParam,
    Query(query): Query<ExportQuery>,
) -> Result<Response, ApiError> {
    let format = query.format.unwrap_or(Format::Jsonl);
    let columns = query.columns.map(|names| names.split(',').map(|name| name.trim().to_owned()).collect());
    let request = Request { run: query.run, condition: query.r#where, columns, attempts: query.attempts, vs: query.vs };
    let permit = server.heavy_request_permit().await?;
    let export = export::prepare(&server.app, &actor, &job, format, request).await?;
    let media_type = match format {
        Format::Jsonl => "application/x-ndjson",
        Format::Csv => "text/csv; charset=utf-8",
        Format::Parquet => "application/vnd.apache.parquet",
        Format::Html => "text/html; charset=utf-8",
    };
    let file = format!("attachment; filename=\"{}\"", export.file_name(format));
    drop(permit);
    let body = streamed::body(move |out| async move {
        let out = Box::new(BufWriter::new(SyncIoBridge::new(out)));
        let written = AtomicU64::new(0);
        export.write(&server.app, out, &written).await.map_err(|error| match error {
            ExportError::Written(error) => error,
            error => io::Error::other(error),
        })
    });
    Ok(([(CONTENT_TYPE, media_type), (CONTENT_DISPOSITION, file.as_str())], body).into_response())
}
