//! `POST /datasets/{name}`: a file of any size becomes a version, by the same check and the same
//! transactions as `windrow datasets import`. The body is laid into a file first, because it is read
//! twice: once to check every row, once to store them.

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

use crate::app::dataset_named;
use crate::app::error::{Code, Error};
use crate::app::import::{self, Head};
use crate::http::error::{self, ApiError};
use crate::http::extract::{Asked, Named};
use crate::http::middleware::caller::Caller;
use crate::http::server::{Server, Shared};

/// The largest file that is taken, so that one request cannot fill the disk.
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
    /// `default` if not given
    workspace: Option<String>,
    /// How the rows are written; as the Content-Type says if not given
    #[param(inline)]
    format: Option<Format>,
    /// Between two fields of a CSV file
    #[param(value_type = Option<String>, min_length = 1, max_length = 1, pattern = "^[ -~]$")]
    delimiter: Option<char>,
    /// A JSON Schema, as JSON, that every row must satisfy in this and later versions
    schema: Option<String>,
    /// Where the rows came from, for people
    source: Option<String>,
}

/// Keep rows as a new version of a dataset
///
/// Nothing is stored unless every row is in order. The same rows again, in any order, are the same version.
#[utoipa::path(post, operation_id = "import_dataset", path = "/datasets/{name}", tag = "datasets",
    params(("name" = String, Path, description = "Name of the dataset", min_length = 1, max_length = 200), ImportQuery),
    request_body(content((String = "application/x-ndjson"), (String = "text/csv"),
        (Vec<BTreeMap<String, serde_json::Value>> = "application/json"), (String = "text/yaml"),
        (Vec<u8> = "application/vnd.apache.parquet"))),
    responses((status = 201, description = "A new version", body = DatasetImported),
        (status = 200, description = "The newest version has these rows already", body = DatasetImported)))]
pub async fn import(
    State(server): Shared,
    caller: Caller,
    Named(name): Named,
    Asked(query): Asked<ImportQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<DatasetImported>), ApiError> {
    let name = dataset_named::check_name(&name).map_err(|why| ApiError::bad("name", why, "choose another name"))?;
    let (format, delimiter) = format(&headers, &query)?;
    let schema = query.schema.as_deref().map(given_schema).transpose()?;
    let caller = caller.within(query.workspace.as_deref())?;
    let head = Head {
        workspace: caller.home().to_owned(),
        name,
        source: query.source.unwrap_or_else(|| "http".to_owned()),
        actor: caller.actor,
    };
    let upload = lay_down(server.app.uploads(), body).await?;
    let file = DatasetFile { path: upload.to_path_buf(), format, delimiter };
    // What has arrived whole is imported, also when nobody waits for the answer any more.
    let storing = tokio::spawn(check_and_store(server, file, schema, head, upload));
    let stored = storing.await.map_err(|error| ApiError::new(Code::Failed, format!("the import failed: {error}"), ""));
    let imported = stored??;
    let status = if imported.unchanged { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(imported)))
}

async fn check_and_store(
    server: Arc<Server>,
    file: DatasetFile,
    given: Option<RowSchema>,
    head: Head,
    _upload: TempPath,
) -> Result<DatasetImported, ApiError> {
    // Not while it arrives: a slow sender must not hold the others up.
    let _turn = server.turn().await?;
    let schema = match given {
        Some(schema) => Some(schema),
        None => import::kept_schema(&server.app, &head.workspace, &head.name).await?,
    };
    let file = Arc::new(ImportFile { file, shown: head.source.clone(), schema });
    let progress = Arc::new(Progress::default());
    let checked = file.clone().check(progress.clone()).await.map_err(|report| error::broken_rows(&report))?;
    match import::store(&server.app, file, checked, head, &progress).await {
        Err(Error::File(report)) => Err(error::broken_rows(&report)),
        stored => Ok(stored?),
    }
}

fn format(headers: &HeaderMap, query: &ImportQuery) -> Result<(Format, Option<char>), ApiError> {
    if query.delimiter.is_some_and(|delimiter| !delimiter.is_ascii()) {
        return Err(ApiError::bad("delimiter", "the delimiter must be one ASCII character", "for example , or ;"));
    }
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let known = TYPES.iter().find(|(known, ..)| *known == media_type);
    let delimiter = query.delimiter.or(known.and_then(|(_, _, delimiter)| *delimiter));
    match query.format.or(known.map(|(_, format, _)| *format)) {
        Some(format) => Ok((format, delimiter)),
        None => {
            let detail = format!("the Content-Type {media_type:?} does not say how the rows are written");
            let remedy = format!("pass `format`, one of {}", Format::list());
            Err(ApiError::new(Code::UnsupportedType, detail, remedy).about("format"))
        }
    }
}

fn given_schema(text: &str) -> Result<RowSchema, ApiError> {
    RowSchema::parse(text).map_err(|why| ApiError::bad("schema", why, "send a JSON Schema as JSON"))
}

/// The body as a file that is gone when its path is dropped.
async fn lay_down(folder: PathBuf, body: Body) -> Result<TempPath, ApiError> {
    let unwritable = |error: std::io::Error| {
        let detail = format!("the rows could not be laid down: {error}");
        ApiError::new(Code::Unavailable, detail, "check that the server's disk has room, then send them again")
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
        let piece =
            piece.map_err(|error| ApiError::bad("", format!("the body broke off: {error}"), "send it again"))?;
        bytes += piece.len() as u64;
        if bytes > MAX_UPLOAD {
            let detail = format!("the body has more than {} GiB", MAX_UPLOAD >> 30);
            return Err(ApiError::new(Code::TooLarge, detail, "import it in parts, under several names"));
        }
        file.write_all(&piece).await.map_err(unwritable)?;
    }
    file.flush().await.map_err(unwritable)?;
    Ok(path)
}
