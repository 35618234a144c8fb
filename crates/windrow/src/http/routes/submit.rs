//! `POST /jobs`: a job file becomes a run. The file and the first rows of its dataset are checked before
//! anything is stored (E4), so that a million rows take no longer than a thousand; the others are read while
//! they are planned. An `Idempotency-Key` seen before is answered with the first run (T9).

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use windrow_engine::Request;
use windrow_jobfile::LoadedJob;
use windrow_jobfile::diagnostics::Excerpt;
use windrow_jobfile::job_file::{self, Base, Depth};
use windrow_model::record::RunLimits;
use windrow_model::state::Mode;
use windrow_wire::Submitted;
use windrow_wire::request::{BudgetRequest, Rows, Submit};

use crate::app::error::Code;
use crate::app::kinds::KINDS;
use crate::app::submit;
use crate::http::error::ApiError;
use crate::http::extract::Sent;
use crate::http::middleware::caller::Caller;
use crate::http::middleware::idempotency::IdempotencyKey;
use crate::http::routes::resume;
use crate::http::server::{Server, Shared};

const YAML: &[&str] = &["text/yaml", "application/yaml", "application/x-yaml", "text/x-yaml"];
pub const UNCHANGED: &str = "submit it without rescoring: what has not changed is taken over there too";

/// Start a run of a job file
///
/// The body is the job file itself, or a JSON object with it and how to run it. A dataset is named by
/// the name it was imported under, or by a path below `files/` of the server's data folder.
#[utoipa::path(post, operation_id = "submit_job", path = "/jobs", tag = "jobs",
    params(IdempotencyKey),
    request_body(content((String = "text/yaml"), (Submit = "application/json"))),
    responses(
        (status = 201, description = "Started; `Location` is the job", body = Submitted),
        (status = 200, description = "The key was seen before: the first run again", body = Submitted)))]
pub async fn submit(
    State(server): Shared,
    caller: Caller,
    key: IdempotencyKey,
    sent: Sent,
) -> Result<Response, ApiError> {
    let wish = wish(&sent)?;
    let _turn = server.turn().await?;
    let mut file = load(&server, &caller, wish.file, wish.dataset, Depth::First).await?;
    if let Some(rows) = wish.first {
        file = windrow_experiment::first_rows(file, rows)
            .map_err(|error| ApiError::bad("first", format!("this file has no first rows: {error}"), "leave it out"))?;
    }
    file.limits = with_budget(file.limits, wish.budget)?;
    let mode = wish.mode.unwrap_or(Mode::Submit);
    if wish.resume {
        return resume::submit(&server, &caller, file, mode, wish.fresh).await;
    }
    check_mode(&server, &file, mode).await?;
    let mut request = submit::of_file(&file, mode);
    request.fresh = wish.fresh;
    request.idempotency_key = key.read()?;
    answer(&server, &caller, request, file.warnings).await
}

fn wish(sent: &Sent) -> Result<Submit, ApiError> {
    if sent.is_one_of(YAML) {
        let file = sent.text()?.to_owned();
        return Ok(Submit::of(file));
    }
    match sent.is_one_of(&["application/json"]) {
        true => sent.object(),
        false => Err(sent.unsupported("text/yaml or application/json")),
    }
}

/// Reads rows of the dataset, so it must not block the runtime. The workspace is looked at first: what is
/// wrong with a file must not tell what datasets another workspace has.
pub async fn load(
    server: &Server,
    caller: &Caller,
    text: String,
    rows: Option<Rows>,
    depth: Depth,
) -> Result<LoadedJob, ApiError> {
    let workspace = job_file::workspace_named_in(&text).unwrap_or_else(|| caller.home().to_owned());
    caller.clone().confined_to(&workspace)?;
    let (files, library, environment) = (server.app.files(&workspace), server.app.library(), server.app.environment());
    let load = move || {
        let rows = rows.as_ref().map(|rows| (rows.name.as_str(), rows.version));
        let base = Base { folder: &files, closed: true, workspace: &workspace, depth, rows };
        job_file::load_text(Excerpt::whole("job", text), base, &environment, Some(&library), KINDS)
    };
    let loaded = tokio::task::spawn_blocking(load).await;
    let loaded = loaded.map_err(|panic| ApiError::new(Code::Failed, format!("reading it failed: {panic}"), ""))?;
    loaded.map_err(|report| crate::app::error::Error::from(report).into())
}

async fn check_mode(server: &Server, file: &LoadedJob, mode: Mode) -> Result<(), ApiError> {
    match mode {
        Mode::Submit | Mode::Append | Mode::Online => Ok(()),
        Mode::Rescore => {
            let Some(job) = server.app.store.find_job(&file.workspace, &file.name).await? else {
                let detail = format!("{} has not run yet, so there is nothing to judge again", file.name);
                return Err(ApiError::new(Code::Conflict, detail, "submit it first, without `mode`").about("mode"));
            };
            let latest = server.app.store.run(job.latest_run).await?;
            Ok(submit::check_rescore(&server.app, &latest, file, UNCHANGED).await?)
        }
        Mode::FailRetry | Mode::Rollback => {
            let remedy = "use submit, append, rescore or online; a retry is POST /api/v1/jobs/{job}/retry";
            Err(ApiError::bad("mode", format!("a job file cannot be run as {mode}"), remedy))
        }
    }
}

pub fn with_budget(limits: RunLimits, budget: BudgetRequest) -> Result<RunLimits, ApiError> {
    let remedy = "a budget must be more than nothing";
    if budget.dollars.is_some_and(|dollars| !(dollars.is_finite() && dollars > 0.0)) {
        return Err(ApiError::bad("budget.dollars", "this is no amount", remedy));
    }
    if budget.tokens.is_some_and(|tokens| tokens < 1) {
        return Err(ApiError::bad("budget.tokens", "this is no number of tokens", remedy));
    }
    Ok(RunLimits {
        max_cost_nanos: budget.dollars.map(|dollars| (dollars * 1e9).ceil() as i64).or(limits.max_cost_nanos),
        max_tokens: budget.tokens.or(limits.max_tokens),
        ..limits
    })
}

/// Submits, wakes the engine, and says where to look.
pub async fn answer(
    server: &Server,
    caller: &Caller,
    mut request: Request,
    warnings: Vec<String>,
) -> Result<Response, ApiError> {
    request.actor = caller.actor.clone();
    let submitted = submit::submit_once(&server.app, request).await?;
    server.engine().wake();
    // By its id: the first run of a key may be of a job with another name.
    let name = server.app.store.job(submitted.job).await?.name;
    let status = if submitted.existing { StatusCode::OK } else { StatusCode::CREATED };
    let answer = Submitted {
        job: submitted.job.to_string(),
        name,
        run: submitted.run.to_string(),
        existing: submitted.existing,
        warnings,
        resumed: false,
        notes: Vec::new(),
    };
    Ok((status, [(LOCATION, format!("/api/v1/jobs/{}", answer.job))], Json(answer)).into_response())
}
