//! `POST /jobs/{job}/items`: rows for an online run (E11). All rows of a request are checked before the first is
//! stored. A row seen before is skipped, so a request whose response was lost can be sent again.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::value::RawValue;
use windrow_experiment::OnlineRows;
use windrow_model::store::NewItem;
use windrow_wire::{Fed, PlacedProblem};

use crate::app::audit::Change;
use crate::app::items;
use crate::error::Code;
use crate::http::error::ApiError;
use crate::http::extract::{Body, JobPath, PathParam};
use crate::http::server::Shared;

/// Invalid rows that are listed.
const LISTED: usize = 100;
const LINES: &[&str] = &["application/x-ndjson", "application/jsonl", "application/jsonlines"];

/// Send rows to an online run
///
/// One JSON object per line (`application/x-ndjson`), or an array of objects (`application/json`).
#[utoipa::path(post, operation_id = "feed_items", path = "/jobs/{job}/items", tag = "items",
    params(JobPath),
    request_body(content((String = "application/x-ndjson"), (Vec<BTreeMap<String, serde_json::Value>> = "application/json"))),
    responses((status = 202, description = "Stored", body = Fed)))]
pub async fn feed(
    State(server): Shared,
    change: Change,
    PathParam(job): PathParam,
    body: Body,
) -> Result<(StatusCode, Json<Fed>), ApiError> {
    let (run, arrivals) = items::intake(&server.app, &change.actor, &job).await?;
    let items = tokio::task::spawn_blocking(move || items_of(&arrivals, &body)).await;
    let items =
        items.map_err(|panic| ApiError::new(Code::Failed, format!("failed to read the rows: {panic}"), ""))??;
    Ok((StatusCode::ACCEPTED, Json(items::feed(&server.app, &change, &run, items).await?)))
}

fn items_of(arrivals: &OnlineRows, body: &Body) -> Result<Vec<NewItem>, ApiError> {
    let (mut items, mut broken) = (Vec::new(), Vec::new());
    let mut read = |line: usize, text: &str| match arrivals.items(text) {
        Ok(new) => items.extend(new),
        Err(message) => broken.push(PlacedProblem {
            column: None,
            length: None,
            file: None,
            line: Some(line),
            text: Some(text.chars().take(200).collect()),
            message,
            remedy: "send a JSON object with the fields of a row".into(),
        }),
    };
    if body.is_one_of(LINES) {
        let lines = body.text()?.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        lines.for_each(|(no, line)| read(no + 1, line));
    } else if body.is_one_of(&["application/json"]) {
        let rows: Vec<Box<RawValue>> = body.json()?;
        rows.iter().enumerate().for_each(|(no, row)| read(no + 1, row.get()));
    } else {
        return Err(body.unsupported("application/x-ndjson or application/json"));
    }
    if broken.is_empty() {
        return Ok(items);
    }
    let detail = format!("{} of the rows are invalid; none was stored", broken.len());
    broken.truncate(LISTED);
    Err(ApiError::new(Code::BrokenRows, detail, "correct what is listed under `problems` and retry").listing(broken))
}
