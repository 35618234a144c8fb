//! `POST /datasets/{name}`: a file of any size becomes a version, as by `windrow datasets import`. The body is written
//! to a temporary file first, because it is read twice: once to check every row, once to store them.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use futures::StreamExt;
use serde::Deserialize;
use tempfile::TempPath;
use tokio::io::{AsyncWriteExt, BufWriter};
use utoipa::IntoParams;
use windrow_jobfile::dataset::import::{ImportFile, Progress};
use windrow_jobfile::dataset::{DatasetFile, Format, RowSchema};
use windrow_wire::DatasetImported;

use crate::app::audit::Change;
use crate::app::datasets::{self, Head};
use crate::app::lookup;
use crate::error::{Code, Error};
use crate::http::error::{self, ApiError};
use crate::http::extract::{PathParam, Query};
use crate::http::server::{Server, Shared};

/// The largest file, so that one request cannot fill the disk.
const MAX_UPLOAD: u64 = 16 << 30;

/// Media type, format, delimiter.
const TYPES: &[(&str, Format, Option<char>)] = &[
    ("application/x-ndjson", Format::Jsonl, None),
    ("application/jsonl", Format::Jsonl, None),
    ("application/jsonlines", Format::Jsonl, None),
    ("text/csv", Format::Csv, None),
    ("text/tab-separated-values", Format::Csv, Some('\t')),
    ("application/json", Format::Json, None),
    ("text/yaml", Format::Yaml, None),
    ("application/yaml", Format::Yaml, None),
    ("application/vnd.apache.parquet", Format::Parquet, None),
];

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ImportQuery {
    /// The caller's workspace, or `default`, if not given
    workspace: Option<String>,
    /// Format of the rows; taken from the Content-Type if not given
    #[param(inline)]
    format: Option<Format>,
    /// Delimiter of a CSV file
    #[param(value_type = Option<String>, min_length = 1, max_length = 1, pattern = "^[ -~]$")]
    delimiter: Option<char>,
    /// A JSON Schema, as JSON, that every row must satisfy in this and later versions
    schema: Option<String>,
    /// Where the rows came from, for people
    source: Option<String>,
}

/// Import rows as a new version of a dataset
///
/// Nothing is stored unless every row is valid. The same rows, in any order, are the same version.
#[utoipa::path(post, operation_id = "import_dataset", path = "/datasets/{name}", tag = "datasets",
    params(("name" = String, Path, description = "Name of the dataset", min_length = 1, max_length = 200), ImportQuery),
    request_body(content((String = "application/x-ndjson"), (String = "text/csv"),
        (Vec<BTreeMap<String, serde_json::Value>> = "application/json"), (String = "text/yaml"),
        (Vec<u8> = "application/vnd.apache.parquet"))),
    responses((status = 201, description = "A new version", body = DatasetImported),
        (status = 200, description = "The newest version has the same rows", body = DatasetImported)))]
pub async fn import(
    State(server): Shared,
    change: Change,
    PathParam(name): PathParam,
    Query(query): Query<ImportQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<DatasetImported>), ApiError> {
    let name = lookup::check_dataset_name(&name).map_err(|why| ApiError::bad("name", why, "choose another name"))?;
    let (format, delimiter) = format(&headers, &query)?;
    let schema = query.schema.as_deref().map(given_schema).transpose()?;
    let workspace = change.actor.within(query.workspace.as_deref())?.home().to_owned();
    let head = Head { workspace, name, source: query.source.unwrap_or_else(|| "http".to_owned()) };
    let upload = save(server.app.uploads(), body).await?;
    let file = DatasetFile { path: upload.to_path_buf(), format, delimiter };
    // A complete upload is imported even if the client no longer waits.
    let storing = tokio::spawn(check_and_store(server, change, file, schema, head, upload));
    let stored = storing.await.map_err(|error| ApiError::new(Code::Failed, format!("import failed: {error}"), ""));
    let imported = stored??;
    let status = if imported.unchanged { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(imported)))
}

async fn check_and_store(
    server: Arc<Server>,
    change: Change,
    file: DatasetFile,
    given: Option<RowSchema>,
    head: Head,
    _upload: TempPath,
) -> Result<DatasetImported, ApiError> {
    // Not during the upload: a slow client must not block the others.
    let _permit = server.heavy_request_permit().await?;
    let schema = match given {
        Some(schema) => Some(schema),
        None => datasets::kept_schema(&server.app, &head.workspace, &head.name).await?,
    };
    let file = Arc::new(ImportFile { file, shown: head.source.clone(), schema });
    let progress = Arc::new(Progress::default());
    let checked = file.clone().check(progress.clone()).await.map_err(|report| error::broken_rows(&report))?;
    match datasets::import(&server.app, &change, file, checked, head, &progress).await {
        Err(Error::File(report)) => Err(error::broken_rows(&report)),
        stored => Ok(stored?),
    }
}

fn format(headers: &HeaderMap, query: &ImportQuery) -> Result<(Format, Option<char>), ApiError> {
    if query.delimiter.is_some_and(|delimiter| !delimiter.is_ascii()) {
        return Err(ApiError::bad("delimiter", "`delimiter` must be one ASCII character", "e.g. , or ;"));
    }
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let known = TYPES.iter().find(|(known, ..)| *known == media_type);
    let delimiter = query.delimiter.or(known.and_then(|(_, _, delimiter)| *delimiter));
    match query.format.or(known.map(|(_, format, _)| *format)) {
        Some(format) => Ok((format, delimiter)),
        None => {
            let detail = format!("unknown Content-Type {media_type:?}");
            let remedy = format!("pass `format`, one of {}", Format::list());
            Err(ApiError::new(Code::UnsupportedType, detail, remedy).about("format"))
        }
    }
}

fn given_schema(text: &str) -> Result<RowSchema, ApiError> {
    RowSchema::parse(text).map_err(|why| ApiError::bad("schema", why, "send a JSON Schema as JSON"))
}

/// The body as a temporary file, deleted when its path is dropped.
async fn save(folder: PathBuf, body: Body) -> Result<TempPath, ApiError> {
    let unwritable = |error: std::io::Error| {
        let detail = format!("failed to write the upload: {error}");
        ApiError::new(Code::Unavailable, detail, "check the free space of the server's disk, then retry")
    };
    let made = tokio::task::spawn_blocking(move || {
        std::fs::create_dir_all(&folder)?;
        tempfile::NamedTempFile::new_in(&folder)
    });
    let (file, path) =
        made.await.map_err(std::io::Error::other).and_then(|made| made).map_err(unwritable)?.into_parts();
    let mut file = BufWriter::new(tokio::fs::File::from_std(file));
    let (mut pieces, mut bytes) = (body.into_data_stream(), 0);
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| ApiError::bad("", format!("upload interrupted: {error}"), "retry"))?;
        bytes += piece.len() as u64;
        if bytes > MAX_UPLOAD {
            let detail = format!("body is larger than {} GiB", MAX_UPLOAD >> 30);
            return Err(ApiError::new(Code::TooLarge, detail, "import it in parts, under several names"));
        }
        file.write_all(&piece).await.map_err(unwritable)?;
    }
    file.flush().await.map_err(unwritable)?;
    Ok(path)
}
