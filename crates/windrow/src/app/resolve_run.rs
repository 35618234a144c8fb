//! What running a file means now: a first run, resuming an unfinished one, or another run of a finished job. It is
//! decided from what is stored. The same for a command on this machine and for one sent to a server; they differ in
//! who executes the run ([`RunExecutor`]).

use windrow_engine::Request;
use windrow_jobfile::LoadedJob;
use windrow_jobfile::job_file::Depth;
use windrow_model::record::{Job, Run, RunLimits, Session};
use windrow_model::state::{Mode, RunEvent, RunState};
use windrow_model::{JobId, RunId, SessionId, first_calls};
use windrow_wire::Submitted;
use windrow_wire::request::Submit;

use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::dataset_changes::{self, DatasetChange};
use crate::app::forecast::DryRun;
use crate::app::{App, Running, control, forecast, submit};
use crate::error::{Code, Error, Result};
use crate::text;

/// Who executes the run.
pub trait RunExecutor: Sync {
    /// Whether the session belongs to this executor.
    fn is(&self, session: SessionId) -> bool;

    /// Returns when a run that is stopping has ended.
    fn end(&self, app: &App, run: &Run) -> impl Future<Output = Result<()>> + Send;
}

/// The engine of a server executes all unfinished runs.
impl RunExecutor for Running {
    fn is(&self, session: SessionId) -> bool {
        session == self.engine.session()
    }

    async fn end(&self, _: &App, run: &Run) -> Result<()> {
        self.engine.wake();
        self.engine.settled(run.id).await?;
        Ok(())
    }
}

#[derive(Debug)]
pub struct ResolvedRun {
    pub job: JobId,
    pub run: RunId,
    pub resumed: bool,
    /// What the person should know before it starts.
    pub notes: Vec<String>,
}

/// What the person asked for, beside the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunIntent {
    /// All rows; unchanged results are reused.
    Run,
    /// All rows, without reusing results.
    RunFresh,
    /// Rows the job has not run.
    Append,
    /// The file's evaluators on stored outputs.
    Rescore,
    /// Rows that arrive while the run is open.
    Online,
}

impl RunIntent {
    pub fn of(mode: Mode, fresh: bool) -> Result<Self> {
        match (mode, fresh) {
            (Mode::Submit, false) => Ok(RunIntent::Run),
            (Mode::Submit, true) => Ok(RunIntent::RunFresh),
            (Mode::Append, false) => Ok(RunIntent::Append),
            (Mode::Rescore, false) => Ok(RunIntent::Rescore),
            (Mode::Online, false) => Ok(RunIntent::Online),
            _ => {
                let remedy = "use submit, append, rescore or online; `fresh` goes with submit";
                Err(Error::invalid("mode", format!("`resume` does not fit mode {mode}"), remedy))
            }
        }
    }

    pub fn mode(self) -> Mode {
        match self {
            RunIntent::Run | RunIntent::RunFresh => Mode::Submit,
            RunIntent::Append => Mode::Append,
            RunIntent::Rescore => Mode::Rescore,
            RunIntent::Online => Mode::Online,
        }
    }
}

/// A job file becomes a run. Its first rows are checked before anything is stored (E4), so that a million rows
/// take no longer than a thousand; the others are read while they are planned.
pub async fn submit(
    app: &App,
    change: &Change,
    wish: Submit,
    key: Option<String>,
    executor: &impl RunExecutor,
) -> Result<Submitted> {
    let file = load(app, &change.actor, &wish).await?;
    let mode = wish.mode.unwrap_or(Mode::Submit);
    submit::check_dataset(&file, mode)?;
    if !wish.yes && matches!(mode, Mode::Submit | Mode::Append) {
        forecast::check_budget(app, &file, wish.fresh).await?;
    }
    if wish.resume {
        let intent = RunIntent::of(mode, wish.fresh)?;
        let resolved = resolve(app, change, &file, intent, executor).await?;
        return Ok(Submitted {
            job: resolved.job.to_string(),
            name: file.name,
            run: resolved.run.to_string(),
            existing: false,
            warnings: file.warnings,
            resumed: resolved.resumed,
            notes: resolved.notes,
        });
    }
    submit::check_mode(app, &file, mode).await?;
    let (fresh, paused) = (wish.fresh, wish.paused);
    let request = Request { fresh, paused, idempotency_key: key, ..submit::of_file(app, change, &file, mode).await? };
    submit::start(app, request, file.warnings).await
}

async fn load(app: &App, actor: &Actor, wish: &Submit) -> Result<LoadedJob> {
    let mut file = submit::load(app, actor, wish.file.clone(), wish.dataset.clone(), Depth::First).await?;
    if let Some(rows) = wish.first {
        file = windrow_experiment::first_rows(file, rows).map_err(|error| {
            Error::invalid("first", format!("`first` does not fit this file: {error}"), "leave it out")
        })?;
    }
    if let Some(name) = &wish.column {
        file =
            windrow_experiment::only_column(file, name).map_err(|(what, help)| Error::invalid("column", what, help))?;
    }
    file.limits = control::with_budget(file.limits, wish.budget)?;
    file.limits.keep_going |= wish.keep_going;
    Ok(file)
}

/// What a submission would cost. Calls nothing, stores nothing.
pub async fn dry_run(app: &App, actor: &Actor, wish: Submit) -> Result<DryRun> {
    let file = load(app, actor, &wish).await?;
    if file.kind != windrow_experiment::KIND {
        let what = format!("a dry run works only for experiments; the file is of kind {}", file.kind);
        return Err(Error::invalid("file", what, "use POST /api/v1/plan for an operation"));
    }
    forecast::of_job(app, &file, wish.fresh).await
}

pub async fn resolve(
    app: &App,
    change: &Change,
    file: &LoadedJob,
    intent: RunIntent,
    executor: &impl RunExecutor,
) -> Result<ResolvedRun> {
    submit::check_dataset(file, intent.mode())?;
    let Some(job) = app.store.find_job(&file.workspace, &file.name).await? else {
        return first_run(app, change, file, intent).await;
    };
    let run = app.store.run(job.latest_run).await?;
    if run.state.is_final() {
        return another_run(app, change, file, &job, &run, intent).await;
    }
    if let Some(session) = app.coordinator_of(&run).await?.filter(|session| !executor.is(session.id)) {
        return Err(executed_elsewhere(app, &job, &run, &session));
    }
    if intent == RunIntent::RunFresh || run.state.is_stopping() {
        end_first(app, change, &run, executor).await?;
        let note = format!("Run {} of {} was cancelled first", run.no, job.name);
        return begin(app, change, file, intent, Some(note)).await;
    }
    if !same_definition(app, &run, file).await? {
        if is_void(&run) {
            return replace(app, change, file, &run, intent, executor).await;
        }
        return Err(changed(app, &job, &run, "the file has changed"));
    }
    let same = run.mode == intent.mode() || (intent == RunIntent::Run && run.mode == Mode::Append);
    if !same {
        return Err(another_mode(app, &job, &run));
    }
    let added = match dataset_changes::since(app, file, &run).await? {
        DatasetChange::None => None,
        DatasetChange::Grown { rows } => {
            let rows = text::plural(rows as i64, "row");
            Some(format!("{rows} added to the dataset since run {} started; run them with --append", run.no))
        }
        DatasetChange::Edited(_) if is_void(&run) => return replace(app, change, file, &run, intent, executor).await,
        DatasetChange::Edited(what) => {
            return Err(changed(app, &job, &run, &format!("the dataset has changed ({what})")));
        }
    };
    let mut resumed = resume(app, change, file, run).await?;
    resumed.notes.extend(added);
    Ok(resumed)
}

/// All of its first calls failed, and it has settled no item: nothing is lost with it.
fn is_void(run: &Run) -> bool {
    let stopped = run.state == RunState::Paused && run.reason.as_deref().is_some_and(first_calls::is_reason);
    stopped && run.counters.settled() == 0
}

/// A run with the edited file instead of one whose first calls failed.
async fn replace(
    app: &App,
    change: &Change,
    file: &LoadedJob,
    void: &Run,
    intent: RunIntent,
    executor: &impl RunExecutor,
) -> Result<ResolvedRun> {
    end_first(app, change, void, executor).await?;
    let note = format!("Run {} had settled no item; run {} replaces it with the edited file", void.no, void.no + 1);
    begin(app, change, file, intent, Some(note)).await
}

/// An operation of an earlier version has its targets inside its definition.
async fn same_definition(app: &App, run: &Run, file: &LoadedJob) -> Result<bool> {
    if run.spec_hash == file.spec_hash || file.kind != windrow_operation::KIND {
        return Ok(run.spec_hash == file.spec_hash);
    }
    let earlier = app.store.spec(&run.spec_hash).await?;
    Ok(windrow_operation::hash_today(&earlier, &file.name).as_ref() == Some(&file.spec_hash))
}

async fn first_run(app: &App, change: &Change, file: &LoadedJob, intent: RunIntent) -> Result<ResolvedRun> {
    match intent {
        RunIntent::Rescore => Err(submit::never_run(&file.name)),
        // To a job that has run nothing, every row is new.
        RunIntent::Append => begin(app, change, file, RunIntent::Run, None).await,
        _ => begin(app, change, file, intent, None).await,
    }
}

async fn another_run(
    app: &App,
    change: &Change,
    file: &LoadedJob,
    job: &Job,
    run: &Run,
    intent: RunIntent,
) -> Result<ResolvedRun> {
    let name = &job.name;
    let note = match intent {
        RunIntent::RunFresh => format!("New run of {name} without reusing results"),
        RunIntent::Run => {
            format!("Reusing results of run {} where nothing changed (use --new to run everything again)", run.no)
        }
        RunIntent::Append => format!("Appending to {name}: only rows that are new in the dataset"),
        RunIntent::Rescore => {
            submit::check_rescore(app, run, file).await?;
            let outputs = text::plural(job.counters.all.succeeded, "stored output");
            let before = app.store.spec(&run.spec_hash).await?;
            let judging = windrow_experiment::judging_changes(&before, &file.spec);
            format!("Rescoring {outputs}: {judging}. The target is not called.")
        }
        RunIntent::Online => format!("{name} is open for rows; rows it has already run are skipped"),
    };
    begin(app, change, file, intent, Some(note)).await
}

async fn begin(
    app: &App,
    change: &Change,
    file: &LoadedJob,
    intent: RunIntent,
    note: Option<String>,
) -> Result<ResolvedRun> {
    let request =
        Request { fresh: intent == RunIntent::RunFresh, ..submit::of_file(app, change, file, intent.mode()).await? };
    let submitted = submit::store_run(app, request).await?;
    Ok(ResolvedRun { job: submitted.job, run: submitted.run, resumed: false, notes: note.into_iter().collect() })
}

async fn resume(app: &App, change: &Change, file: &LoadedJob, run: Run) -> Result<ResolvedRun> {
    let mut notes = Vec::new();
    // A budget given on an earlier command line stays until another is given.
    let limits = RunLimits {
        max_losses: run.limits.max_losses,
        max_failed: file.limits.max_failed.or(run.limits.max_failed),
        max_tokens: file.limits.max_tokens.or(run.limits.max_tokens),
        max_cost_nanos: file.limits.max_cost_nanos.or(run.limits.max_cost_nanos),
        keep_going: file.limits.keep_going || run.limits.keep_going,
        ..file.limits
    };
    if limits != run.limits {
        let _amended = app.store.amend(run.id, limits, &change.actor.name, app.now()).await?;
        notes.push(format!("New limits of this run: {limits}"));
    }
    if let Some(spent) = limits.exhausted_by(&run.spent) {
        return Err(control::budget_spent(&run, &spent));
    }
    let was_paused = run.state == RunState::Paused;
    if was_paused {
        let _resumed =
            app.store.request_transition(run.id, RunEvent::Resume, &change.actor.name, None, app.now()).await?;
    }
    let total = if run.planned { run.counters.total } else { run.counters.total.max(file.rows as i64) };
    notes.push(format!(
        "Resuming run {}: {} of {} items done{}",
        run.no,
        text::count(run.counters.settled()),
        text::count(total),
        if was_paused { " (it was paused)" } else { "" },
    ));
    Ok(ResolvedRun { job: run.job, run: run.id, resumed: true, notes })
}

/// Ends an unfinished run, so that another can start.
async fn end_first(app: &App, change: &Change, run: &Run, executor: &impl RunExecutor) -> Result<()> {
    if !run.state.is_stopping() {
        let reason = Some("replaced by a new run");
        let _ended =
            app.store.request_transition(run.id, RunEvent::Terminate, &change.actor.name, reason, app.now()).await?;
    }
    executor.end(app, run).await
}

fn executed_elsewhere(app: &App, job: &Job, run: &Run, session: &Session) -> Error {
    Error::new(
        format!(
            "ExperimentRunningExisted: run {} of {} is being executed by process {} on {}",
            run.no, job.name, session.pid, session.host
        ),
        format!(
            "wait for it, stop it there with Ctrl-C, or cancel it with `{}`",
            app.command(&format!("jobs cancel {}", job.name))
        ),
    )
    .coded(Code::RunningExisted)
}

fn another_mode(app: &App, job: &Job, run: &Run) -> Error {
    Error::new(
        format!("run {} of {} ({}) is unfinished", run.no, job.name, run.mode),
        format!(
            "resume it in the mode it was started in, or cancel it with `{}`",
            app.command(&format!("jobs cancel {}", job.name))
        ),
    )
    .coded(Code::RunningExisted)
}

fn changed(app: &App, job: &Job, run: &Run, what: &str) -> Error {
    let counters = &run.counters;
    Error::new(
        format!(
            "{what}, and run {} of {} with the earlier definition is unfinished ({} of {} items done)",
            run.no,
            job.name,
            text::count(counters.settled()),
            text::count(counters.total),
        ),
        format!(
            "finish that run (restore the file and run it, or `{}`), cancel it with `{}`, or start a new run with `--new`",
            app.command(&format!("jobs resume {} --here", job.name)),
            app.command(&format!("jobs cancel {}", job.name))
        ),
    )
    .coded(Code::RunningExisted)
}
