//! `POST /jobs/{job}/items`: rows for an online run (E11). All rows of a request are checked before the
//! first is taken. A row seen before is left alone, so a request whose answer was lost can be sent again.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::value::RawValue;
use windrow_experiment::OnlineRows;
use windrow_model::RunId;
use windrow_model::store::NewItem;
use windrow_wire::{Fed, PlacedProblem};

use crate::app::error::Code;
use crate::app::intake::{self, AHEAD, BATCH};
use crate::http::error::ApiError;
use crate::http::extract::{Named, Sent};
use crate::http::middleware::caller::Caller;
use crate::http::server::{Server, Shared};

/// Broken rows that are listed; a file of the wrong kind is understood from the first ones.
const LISTED: usize = 100;
const LINES: &[&str] = &["application/x-ndjson", "application/jsonl", "application/jsonlines"];

/// Send rows to an online run
///
/// One JSON object per line (`application/x-ndjson`), or an array of objects (`application/json`).
#[utoipa::path(post, operation_id = "feed_items", path = "/jobs/{job}/items", tag = "items",
    params(("job" = String, Path, description = "Name or id of the job")),
    request_body(content((String = "application/x-ndjson"), (Vec<BTreeMap<String, serde_json::Value>> = "application/json"))),
    responses((status = 202, description = "Taken", body = Fed)))]
pub async fn feed(
    State(server): Shared,
    caller: Caller,
    Named(job): Named,
    sent: Sent,
) -> Result<(StatusCode, Json<Fed>), ApiError> {
    let (_, run) = caller.job(&server.app, &job).await?;
    if run.counters.queued > AHEAD {
        let detail = format!("{} items wait already", run.counters.queued);
        return Err(ApiError::new(Code::QueueFull, detail, "send the same rows again a little later"));
    }
    let arrivals = intake::arrivals(&server.app, &run).await?;
    let items = tokio::task::spawn_blocking(move || items_of(&arrivals, &sent)).await;
    let items =
        items.map_err(|panic| ApiError::new(Code::Failed, format!("reading the rows failed: {panic}"), ""))??;
    let fed = take(&server, run.id, items).await?;
    server.engine().wake();
    Ok((StatusCode::ACCEPTED, Json(fed)))
}

async fn take(server: &Server, run: RunId, items: Vec<NewItem>) -> Result<Fed, ApiError> {
    let mut fed = Fed::default();
    let mut items = items.into_iter().peekable();
    loop {
        let batch: Vec<NewItem> = items.by_ref().take(BATCH).collect();
        // Also without a row: whether the intake is open is worth knowing.
        fed += server.app.store.feed_items(run, batch, server.app.now()).await?;
        if items.peek().is_none() {
            return Ok(fed);
        }
    }
}

fn items_of(arrivals: &OnlineRows, sent: &Sent) -> Result<Vec<NewItem>, ApiError> {
    let (mut items, mut broken) = (Vec::new(), Vec::new());
    let mut read = |line: usize, text: &str| match arrivals.items(text) {
        Ok(new) => items.extend(new),
        Err(message) => broken.push(PlacedProblem {
            file: None,
            line: Some(line),
            text: Some(text.chars().take(200).collect()),
            message,
            remedy: "send a JSON object with the fields of a row".into(),
        }),
    };
    if sent.is_one_of(LINES) {
        let lines = sent.text()?.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        lines.for_each(|(no, line)| read(no + 1, line));
    } else if sent.is_one_of(&["application/json"]) {
        let rows: Vec<Box<RawValue>> = sent.json()?;
        rows.iter().enumerate().for_each(|(no, row)| read(no + 1, row.get()));
    } else {
        return Err(sent.unsupported("application/x-ndjson or application/json"));
    }
    if broken.is_empty() {
        return Ok(items);
    }
    let detail = format!("{} of the rows cannot be read; none was taken", broken.len());
    broken.truncate(LISTED);
    Err(ApiError::new(Code::BrokenRows, detail, "correct what is listed under `problems`").listing(broken))
}
