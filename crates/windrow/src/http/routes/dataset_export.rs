//! `GET /datasets/{name}/export`: a version as a file, streamed.

use std::io::{self, BufWriter};
use std::sync::atomic::AtomicU64;

use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tokio_util::io::SyncIoBridge;
use utoipa::IntoParams;
use windrow_jobfile::dataset::Format;
use windrow_jobfile::dataset::export::{self, ExportError};

use crate::app::actor::Actor;
use crate::app::datasets;
use crate::app::lookup::DatasetName;
use crate::http::error::ApiError;
use crate::http::extract::{DatasetPath, PathParam, Query};
use crate::http::server::Shared;
use crate::http::streamed;

/// Formats that can be written, with their media types.
const WRITTEN: &[(Format, &str)] = &[
    (Format::Jsonl, "application/x-ndjson"),
    (Format::Json, "application/json"),
    (Format::Csv, "text/csv; charset=utf-8"),
    (Format::Parquet, "application/vnd.apache.parquet"),
];

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ExportQuery {
    /// The caller's workspace, or `default`, if not given
    workspace: Option<String>,
    /// The newest version if not given
    version: Option<i64>,
    /// `jsonl` (the default), `json`, `csv` or `parquet`
    #[param(pattern = "^(jsonl|json|csv|parquet)$")]
    format: Option<String>,
}

/// The rows of a version, as a file
#[utoipa::path(get, operation_id = "export_dataset", path = "/datasets/{name}/export", tag = "datasets",
    params(DatasetPath, ExportQuery),
    responses((status = 200, description = "The rows", content((String = "application/x-ndjson"),
        (Vec<serde_json::Value> = "application/json"), (String = "text/csv"),
        (Vec<u8> = "application/vnd.apache.parquet")))))]
pub async fn export(
    State(server): Shared,
    actor: Actor,
    PathParam(name): PathParam,
    Query(query): Query<ExportQuery>,
) -> Result<Response, ApiError> {
    let (format, media_type) = format(query.format.as_deref())?;
    let named = DatasetName { name, version: query.version };
    let version = datasets::version(&server.app, &actor, query.workspace.as_deref(), &named).await?;
    export::check(&version, format).map_err(|error| match error {
        ExportError::Store(error) => error.into(),
        error => ApiError::bad("format", error.to_string(), "use another format"),
    })?;
    let file = format!("attachment; filename=\"dataset-{}.{}\"", version.version, format.as_str());
    let body = streamed::body(move |out| async move {
        let out = Box::new(BufWriter::new(SyncIoBridge::new(out)));
        let written = AtomicU64::new(0);
        let exported = export::export(&*server.app.datasets, &version, format, out, &written).await;
        exported.map_err(|error| match error {
            ExportError::File(error) => error,
            error => io::Error::other(error),
        })
    });
    Ok(([(CONTENT_TYPE, media_type), (CONTENT_DISPOSITION, file.as_str())], body).into_response())
}

fn format(wanted: Option<&str>) -> Result<(Format, &'static str), ApiError> {
    let wanted = wanted.unwrap_or(Format::Jsonl.as_str());
    WRITTEN.iter().find(|(format, _)| format.as_str() == wanted).copied().ok_or_else(|| {
        let names: Vec<&str> = WRITTEN.iter().map(|(format, _)| format.as_str()).collect();
        ApiError::bad("format", format!("unknown format {wanted:?}"), format!("use one of {}", names.join(", ")))
    })
}
