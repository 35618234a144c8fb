//! Starting runs: from a job file, from the definition a job already has, or of the items that failed.

use windrow_engine::{Request, scheduled_request, submit as submit_request};
use windrow_jobfile::LoadedJob;
use windrow_jobfile::diagnostics::Excerpt;
use windrow_jobfile::job_file::{self, Base, Depth};
use windrow_model::record::{Job, Labels, Run, RunLimits};
use windrow_model::state::{ItemState, Mode};
use windrow_model::store::{self, ItemFilter, Selection};
use windrow_model::{ErrorClass, ItemId, JobId, Json, RunId, Time};
use windrow_wire::request::{Check, CloneRequest, Rescore, Retry, Rollback, Rows};
use windrow_wire::{InOrder, Submitted};

use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::webhooks::callback;
use crate::app::{App, balance, cells, choose, kinds, lookup, target_lists};
use crate::error::{Code, Error, Exit, Result};

const UNCHANGED: &str = "run it without `--rescore` (`mode` over HTTP); unchanged results are reused";

/// Checks all that is checked before a run is stored (E4), with every row of the dataset.
pub async fn check(app: &App, actor: &Actor, wish: Check) -> Result<InOrder> {
    let job = load(app, actor, wish.file, None, Depth::Whole).await?;
    Ok(InOrder { job: job.name, kind: job.kind.to_owned(), items: job.rows, warnings: job.warnings })
}

/// Reads rows of the dataset, so it must not block the runtime. The workspace is checked first: what is wrong with
/// a file must not tell which datasets another workspace has.
pub async fn load(app: &App, actor: &Actor, text: String, rows: Option<Rows>, depth: Depth) -> Result<LoadedJob> {
    let workspace = job_file::workspace_named_in(&text).unwrap_or_else(|| actor.home().to_owned());
    actor.within(Some(&workspace))?;
    let (files, library, environment) = (app.files(&workspace), app.library(), app.environment());
    let load = move || {
        let rows = rows.as_ref().map(|rows| (rows.name.as_str(), rows.version));
        let base = Base { folder: &files, closed: true, workspace: &workspace, depth, rows };
        job_file::load_text(Excerpt::whole("job", text), base, &environment, Some(&library), kinds::KINDS)
    };
    let loaded = tokio::task::spawn_blocking(load).await;
    Ok(loaded.map_err(|panic| Error::new(format!("failed to read the job file: {panic}"), ""))??)
}

/// A job without a dataset runs only rows that are sent to it.
pub fn check_dataset(file: &LoadedJob, mode: Mode) -> Result<()> {
    if mode == Mode::Online || file.kind != windrow_experiment::KIND || !windrow_experiment::is_online_only(&file.spec)
    {
        return Ok(());
    }
    let remedy = "add `dataset: rows.jsonl` to the file, or send the rows: `--online` (`mode: online` over HTTP)";
    let what = format!("{} has no `dataset`, so mode {mode} has no rows", file.name);
    Err(Error::invalid("dataset", what, remedy).ending_with(Exit::Usage))
}

pub async fn check_mode(app: &App, file: &LoadedJob, mode: Mode) -> Result<()> {
    check_dataset(file, mode)?;
    match mode {
        Mode::Submit | Mode::Append | Mode::Online => Ok(()),
        Mode::Rescore => {
            let Some(job) = app.store.find_job(&file.workspace, &file.name).await? else {
                return Err(never_run(&file.name).about("mode"));
            };
            let latest = app.store.run(job.latest_run).await?;
            check_rescore(app, &latest, file).await
        }
        Mode::FailRetry | Mode::Rollback => {
            let remedy = "use submit, append, rescore or online; a retry is POST /api/v1/jobs/{job}/retry";
            Err(Error::invalid("mode", format!("a job file cannot be run in mode {mode}"), remedy))
        }
    }
}

/// Nothing can be rescored.
pub fn never_run(name: &str) -> Error {
    let what = format!("cannot rescore {name}: it has not run yet");
    Error::new(what, "run it first, without rescoring").coded(Code::Conflict)
}

/// A rescore does not call the target, so only the evaluators may have changed.
pub async fn check_rescore(app: &App, before: &Run, file: &LoadedJob) -> Result<()> {
    let frozen = app.store.spec(&before.spec_hash).await?;
    if windrow_experiment::differ_in_judging_only(&frozen, &file.spec) {
        return Ok(());
    }
    let what = format!("cannot rescore {}: more than its evaluators has changed", file.name);
    Err(Error::new(what, UNCHANGED).coded(Code::Conflict))
}

/// Rows that are part of the definition are stored here, before it.
pub async fn of_file(app: &App, change: &Change, file: &LoadedJob, mode: Mode) -> Result<Request> {
    target_lists::store(app, change, file).await?;
    Ok(Request {
        workspace: file.workspace.clone(),
        name: file.name.clone(),
        kind: file.kind.to_owned(),
        labels: labels_of(app, change, file).await?,
        mode,
        spec: file.spec.clone(),
        spec_hash: file.spec_hash.clone(),
        priority: file.priority,
        limits: file.limits,
        rollout: file.rollout.clone(),
        fresh: false,
        selection: None,
        schedule: file.schedule.clone(),
        idempotency_key: None,
        paused: false,
        actor: change.actor.name.clone(),
    })
}

/// Who first starts a job is its creator, unless the file names somebody (B10).
async fn labels_of(app: &App, change: &Change, file: &LoadedJob) -> Result<Labels> {
    let mut labels = file.labels.clone();
    if labels.creator.is_empty() {
        let known = app.store.find_job(&file.workspace, &file.name).await?;
        let creator = known.map(|job| job.labels.creator).filter(|creator| !creator.is_empty());
        labels.creator = creator.unwrap_or_else(|| change.actor.name.clone());
    }
    Ok(labels)
}

/// With the definition and the limits of an earlier run.
pub async fn of_run(app: &App, change: &Change, job: &Job, run: &Run, mode: Mode) -> Result<Request> {
    Ok(Request::of_run(app.store.as_ref(), job, run, mode, change.actor.name.clone()).await?)
}

/// An idempotency key seen before is answered with its first run (T9).
pub(in crate::app) async fn start(app: &App, request: Request, warnings: Vec<String>) -> Result<Submitted> {
    let store::Submitted { job, run, existing } = store_run(app, request).await?;
    // By its id: the first run of a key may be of a job with another name.
    let name = app.store.job(job).await?.name;
    let (job, run) = (job.to_string(), run.to_string());
    Ok(Submitted { job, name, run, existing, warnings, resumed: false, notes: Vec::new() })
}

pub(in crate::app) async fn store_run(app: &App, request: Request) -> Result<store::Submitted> {
    check_prices(app, &request.kind, &request.spec, &request.limits)?;
    if request.kind == windrow_experiment::KIND {
        balance::check(app, &request.workspace).await?;
    }
    let (chance, now) = (fastrand::u64(..), app.now());
    if request.kind != windrow_experiment::KIND || !app.is_server() {
        return Ok(submit_request(app.store.as_ref(), request, chance, now).await?);
    }
    let job = app.store.find_job(&request.workspace, &request.name).await?;
    // The id that a new job gets from this time and chance.
    let job = job.map_or(JobId::mint(now, chance), |job| job.id);
    let hook = callback::register(app, &request, job, now).await?;
    let submitted = submit_request(app.store.as_ref(), request, chance, now).await;
    if let (Err(_), Some(hook)) = (&submitted, hook) {
        callback::take_back(app, hook).await?;
    }
    Ok(submitted?)
}

/// A budget in money protects from nothing where a price is unknown.
pub fn check_prices(app: &App, kind: &str, spec: &Json, limits: &RunLimits) -> Result<()> {
    if limits.max_cost_nanos.is_none() || kind != windrow_experiment::KIND {
        return Ok(());
    }
    windrow_experiment::unpriced(spec, &app.environment())
        .map_err(|(what, remedy)| Error::invalid("budget", what, remedy).ending_with(Exit::Usage))
}

/// Starts the run that a schedule is due for; `None` if another process has started it.
pub async fn start_scheduled(app: &App, job: JobId, at: Time) -> Result<Option<RunId>> {
    let job = app.store.job(job).await?;
    if job.schedule.as_ref().and_then(|schedule| schedule.next_at) != Some(at) {
        return Ok(None);
    }
    let request = scheduled_request(app.store.as_ref(), &job, at, Actor::local().name).await?;
    let request = over_newest(app, request).await?;
    Ok(Some(store_run(app, request).await?.run))
}

/// A dataset without a version in the job file is that of the newest version.
async fn over_newest(app: &App, request: Request) -> Result<Request> {
    if request.kind != windrow_experiment::KIND {
        return Ok(request);
    }
    let (spec, workspace, library) = (request.spec.clone(), request.workspace.clone(), app.library());
    let newest = move || windrow_experiment::over_newest(&spec, &workspace, &library);
    let newest = tokio::task::spawn_blocking(newest).await;
    let newest = newest.map_err(|panic| Error::new(format!("failed to look up the dataset: {panic}"), ""))??;
    Ok(match newest {
        Some((spec, spec_hash)) => Request { spec, spec_hash, ..request },
        None => request,
    })
}

/// Rows of the job's dataset that it has not run.
pub async fn append(app: &App, change: &Change, job: &str, key: Option<String>) -> Result<Submitted> {
    let (job, latest) = lookup::job(app, &change.actor, job).await?;
    let request = over_newest(app, of_run(app, change, &job, &latest, Mode::Append).await?).await?;
    start(app, Request { idempotency_key: key, ..request }, Vec::new()).await
}

/// Evaluators on stored outputs; the target is not called.
pub async fn rescore(app: &App, change: &Change, job: &str, wish: Rescore, key: Option<String>) -> Result<Submitted> {
    let (job, latest) = lookup::job(app, &change.actor, job).await?;
    let Some(text) = wish.file else {
        let request = of_run(app, change, &job, &latest, Mode::Rescore).await?;
        return start(app, Request { idempotency_key: key, ..request }, Vec::new()).await;
    };
    let file = load(app, &change.actor, text, None, Depth::First).await?;
    if (&file.workspace, &file.name) != (&job.workspace, &job.name) {
        let what = format!("the file defines job {:?}, not {:?}", file.name, job.name);
        return Err(Error::invalid("file", what, "send the file of this job"));
    }
    check_rescore(app, &latest, &file).await?;
    let request = of_file(app, change, &file, Mode::Rescore).await?;
    start(app, Request { idempotency_key: key, ..request }, file.warnings).await
}

/// The same definition under another name.
pub async fn clone(
    app: &App,
    change: &Change,
    job: &str,
    wish: CloneRequest,
    key: Option<String>,
) -> Result<Submitted> {
    let (job, latest) = lookup::job(app, &change.actor, job).await?;
    let name = wish.name;
    let remedy = "choose another name for the copy";
    job_file::check_name(&name).map_err(|why| Error::invalid("name", why, remedy))?;
    // A repeated request finds the copy it made.
    if key.is_none() && app.store.find_job(&job.workspace, &name).await?.is_some() {
        return Err(Error::new(format!("job {name:?} already exists"), remedy).coded(Code::Conflict));
    }
    let mut request = of_run(app, change, &job, &latest, Mode::Submit).await?;
    if job.kind == windrow_operation::KIND {
        (request.spec, request.spec_hash) =
            target_lists::copy(app, change, &job.workspace, request.spec, &name).await?;
    }
    start(app, Request { name, idempotency_key: key, ..request }, Vec::new()).await
}

/// Restores what the job has changed.
/// `JOB#3` means what the definition of that run changed; without a number it is that of the latest.
pub async fn rollback(app: &App, change: &Change, job: &str, wish: Rollback, key: Option<String>) -> Result<Submitted> {
    let (job, latest) = lookup::run(app, &change.actor, job).await?;
    if wish.wave.is_some_and(|wave| wave < 1) {
        return Err(Error::invalid("wave", "`wave` must be at least 1", ""));
    }
    if let Some(wave) = wish.wave {
        choose::check_wave(app, &job, wave).await?;
    }
    if !kinds::rolls_back(&job.kind) {
        let what = format!("cannot roll back {}: jobs of kind {} make no external changes", job.name, job.kind);
        return Err(Error::new(what, "").coded(Code::NothingToUndo));
    }
    let mut request = of_run(app, change, &job, &latest, Mode::Rollback).await?;
    if let Some(why) = windrow_operation::irreversible(&request.spec) {
        let what = format!("cannot roll back {}: {why}", job.name);
        return Err(Error::new(what, "").coded(Code::NothingToUndo));
    }
    if wish.force && windrow_operation::is_by_own_worker(&request.spec) {
        let what = format!("cannot force the rollback of {}: it is made by its own worker", job.name);
        return Err(Error::new(what, "leave `force` out; the worker decides about conflicts").coded(Code::BadRequest));
    }
    let items = choose::chosen_items(app, &job, &wish.items).await?;
    request.selection =
        Some(Selection { wave: wish.wave.map(|wave| wave - 1), items, ..Selection::of(Mode::Rollback) });
    (request.spec, request.spec_hash) = windrow_operation::forced(&request.spec, wish.force).map_err(|error| {
        let what = format!("cannot read the definition of {}: {error}", job.name);
        Error::new(what, "use the version it was submitted with").coded(Code::Conflict)
    })?;
    start(app, Request { idempotency_key: key, ..request }, Vec::new()).await
}

/// A run of the items that failed or were cancelled. A failed rollback is retried as a rollback.
pub async fn retry(app: &App, change: &Change, job: &str, wish: Retry, key: Option<String>) -> Result<Submitted> {
    let (job, latest) = lookup::job(app, &change.actor, job).await?;
    // A key seen before is answered with its run, even when that run left nothing to retry.
    let anything = wish != Retry::default() || !latest.state.is_final() || key.is_some();
    if !anything && !has_unsuccessful_items(app, &job).await? {
        let what = format!("nothing to retry: {} has no failed or cancelled items", job.name);
        return Err(Error::new(what, "").coded(Code::Conflict));
    }
    let mode = if latest.mode == Mode::Rollback { Mode::Rollback } else { Mode::FailRetry };
    let mut items = choose::chosen_items(app, &job, &wish.items).await?;
    if !wish.columns.is_empty() {
        items = cells::items_with_failed(app, &job, &wish.columns, &items).await?;
    }
    let mut selection = selection(&wish.errors, items, &wish.evaluators, wish.unjudged);
    if mode == Mode::Rollback {
        let chosen = selection.unwrap_or_else(|| Selection::of(Mode::FailRetry));
        selection = Some(Selection { reverse: true, ..chosen });
    }
    let request = of_run(app, change, &job, &latest, mode).await?;
    start(app, Request { selection, idempotency_key: key, ..request }, Vec::new()).await
}

/// The choices narrow each other. `None`: all items that did not succeed.
fn selection(errors: &[ErrorClass], items: Vec<ItemId>, evaluators: &[String], unjudged: bool) -> Option<Selection> {
    let judging = unjudged || !evaluators.is_empty();
    if !judging && errors.is_empty() && items.is_empty() {
        return None;
    }
    use ItemState::*;
    let states = match (judging, items.is_empty()) {
        (true, _) => vec![Succeeded],
        (false, false) => vec![Succeeded, Failed, Cancelled, Skipped],
        (false, true) => vec![Failed, Cancelled],
    };
    Some(Selection {
        states,
        errors: errors.to_vec(),
        unjudged: judging.then(|| evaluators.to_vec()),
        items,
        ..Selection::default()
    })
}

/// States of items that a retry takes.
pub const UNSUCCESSFUL: [ItemState; 3] = [ItemState::Failed, ItemState::Cancelled, ItemState::Queued];

async fn has_unsuccessful_items(app: &App, job: &Job) -> Result<bool> {
    for state in UNSUCCESSFUL {
        let filter = ItemFilter { job: job.id, run: None, state: Some(state), after: None, limit: 1 };
        if !app.store.items(filter).await?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}
