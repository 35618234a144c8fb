//! What running a file means now: a first run, going on with an unfinished one, or another run of
//! a finished job. Decided from what is stored, and said to the person. The same for a command on a
//! folder and for one sent to a server; they differ in who works ([`Host`]).

use std::future::Future;

use windrow_jobfile::LoadedJob;
use windrow_model::record::{Job, Run, RunLimits, Session};
use windrow_model::state::{Mode, RunEvent, RunState};
use windrow_model::{JobId, RunId, SessionId};

use crate::app::error::{Code, Error, Result};
use crate::app::submit;
use crate::app::wiring::App;
use crate::cli::view::text;

/// Who works on what is started.
pub trait Host: Sync {
    /// Who acts, for the log.
    fn actor(&self) -> &str;

    /// Whether what this session coordinates is at work right here.
    fn is(&self, session: SessionId) -> bool;

    /// Returns when a run that is to end has ended.
    fn end(&self, app: &App, run: &Run) -> impl Future<Output = Result<()>> + Send;
}

#[derive(Debug)]
pub struct Course {
    pub job: JobId,
    pub run: RunId,
    pub resumed: bool,
    /// What the person should know before it starts.
    pub notes: Vec<String>,
}

/// What the person asked for, beside the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// All rows; what was done before is taken over.
    Usual,
    /// All rows, and everything anew.
    Afresh,
    /// Rows the job has not seen.
    Append,
    /// Rows that were done, judged by the file's evaluators.
    Rescore,
    /// Rows that arrive.
    Online,
}

impl Wanted {
    pub fn mode(self) -> Mode {
        match self {
            Wanted::Usual | Wanted::Afresh => Mode::Submit,
            Wanted::Append => Mode::Append,
            Wanted::Rescore => Mode::Rescore,
            Wanted::Online => Mode::Online,
        }
    }
}

pub async fn course(app: &App, file: &LoadedJob, wanted: Wanted, host: &impl Host) -> Result<Course> {
    let Some(job) = app.store.find_job(&file.workspace, &file.name).await? else {
        return first_run(app, file, wanted, host).await;
    };
    let run = app.store.run(job.latest_run).await?;
    if run.state.is_final() {
        return another_run(app, file, &job, &run, wanted, host).await;
    }
    if let Some(session) = app.coordinator_of(&run).await?.filter(|session| !host.is(session.id)) {
        return Err(held_elsewhere(app, &job, &run, &session));
    }
    if wanted == Wanted::Afresh || run.state.is_stopping() {
        end_first(app, &run, host).await?;
        let note = format!("run {} of {} was ended first", run.no, job.name);
        return begin(app, file, wanted, Some(note), host).await;
    }
    if run.spec_hash != file.spec_hash {
        return Err(changed_meanwhile(app, &job, &run));
    }
    let same = run.mode == wanted.mode() || (wanted == Wanted::Usual && run.mode == Mode::Append);
    if !same {
        return Err(another_mode(app, &job, &run));
    }
    go_on(app, file, run, host).await
}

async fn first_run(app: &App, file: &LoadedJob, wanted: Wanted, host: &impl Host) -> Result<Course> {
    match wanted {
        Wanted::Rescore => Err(Error::new(
            format!("{} has not run yet, so there is nothing to judge again", file.name),
            "run it first, without `--rescore`",
        )
        .coded(Code::Conflict)),
        // To a job that has seen nothing, every row is new.
        Wanted::Append => begin(app, file, Wanted::Usual, None, host).await,
        _ => begin(app, file, wanted, None, host).await,
    }
}

async fn another_run(
    app: &App,
    file: &LoadedJob,
    job: &Job,
    run: &Run,
    wanted: Wanted,
    host: &impl Host,
) -> Result<Course> {
    let name = &job.name;
    let note = match wanted {
        Wanted::Afresh => format!("new run of {name}: everything is done again"),
        Wanted::Usual => {
            format!("{name} has run before: what has not changed is taken over; --new does everything again")
        }
        Wanted::Append => format!("appending to {name}: only rows it has not seen"),
        Wanted::Rescore => {
            let remedy = "run it without `--rescore`: what has not changed is taken over there too";
            submit::check_rescore(app, run, file, remedy).await?;
            format!("rescoring {name}: no target is called; columns that changed stay beside the new ones")
        }
        Wanted::Online => format!("{name} is open for rows; those it has seen are left alone"),
    };
    begin(app, file, wanted, Some(note), host).await
}

async fn begin(app: &App, file: &LoadedJob, wanted: Wanted, note: Option<String>, host: &impl Host) -> Result<Course> {
    let mut request = submit::of_file(file, wanted.mode());
    request.fresh = wanted == Wanted::Afresh;
    request.actor = host.actor().to_owned();
    let submitted = submit::submit_once(app, request).await?;
    Ok(Course { job: submitted.job, run: submitted.run, resumed: false, notes: note.into_iter().collect() })
}

async fn go_on(app: &App, file: &LoadedJob, run: Run, host: &impl Host) -> Result<Course> {
    let mut notes = Vec::new();
    // A budget given on an earlier command line holds until another is given.
    let limits = RunLimits {
        max_losses: run.limits.max_losses,
        max_failed: file.limits.max_failed.or(run.limits.max_failed),
        max_tokens: file.limits.max_tokens.or(run.limits.max_tokens),
        max_cost_nanos: file.limits.max_cost_nanos.or(run.limits.max_cost_nanos),
        ..file.limits
    };
    if limits != run.limits {
        let _amended = app.store.amend(run.id, limits, host.actor(), app.now()).await?;
        notes.push(format!("this run has other limits now: {limits}"));
    }
    if let Some(spent) = limits.exhausted_by(&run.spent) {
        let remedy = "raise `budget` in the file, or pass `--budget` or `--budget-tokens`; everything done is kept";
        return Err(submit::budget_spent(&run, &spent, remedy));
    }
    let was_paused = run.state == RunState::Paused;
    if was_paused {
        let _resumed = app.store.request_transition(run.id, RunEvent::Resume, host.actor(), None, app.now()).await?;
    }
    let total = if run.planned { run.counters.total } else { run.counters.total.max(file.rows as i64) };
    notes.push(format!(
        "continuing run {}: {} of {} items done{}",
        run.id,
        text::count(run.counters.settled()),
        text::count(total),
        if was_paused { " (it was paused and is now resumed)" } else { "" },
    ));
    Ok(Course { job: run.job, run: run.id, resumed: true, notes })
}

/// An unfinished run is ended, so that another can start.
async fn end_first(app: &App, run: &Run, host: &impl Host) -> Result<()> {
    if !run.state.is_stopping() {
        let reason = Some("replaced by a new run");
        let _ended = app.store.request_transition(run.id, RunEvent::Terminate, host.actor(), reason, app.now()).await?;
    }
    host.end(app, run).await
}

fn held_elsewhere(app: &App, job: &Job, run: &Run, session: &Session) -> Error {
    Error::new(
        format!(
            "ExperimentRunningExisted: run {} of {} is being worked on by process {} on {}",
            run.no, job.name, session.pid, session.host
        ),
        format!(
            "wait for it, stop it there with Ctrl-C, or end it with `{}`",
            app.command(&format!("jobs cancel {}", job.name))
        ),
    )
    .coded(Code::RunningExisted)
}

fn another_mode(app: &App, job: &Job, run: &Run) -> Error {
    Error::new(
        format!("run {} of {} ({}) is unfinished", run.no, job.name, run.mode),
        format!(
            "finish it the way it was started, or end it with `{}`",
            app.command(&format!("jobs cancel {}", job.name))
        ),
    )
    .coded(Code::RunningExisted)
}

fn changed_meanwhile(app: &App, job: &Job, run: &Run) -> Error {
    let counters = &run.counters;
    Error::new(
        format!(
            "the file has changed, and run {} of {} with the old definition is unfinished ({} of {} items done)",
            run.no,
            job.name,
            text::count(counters.settled()),
            text::count(counters.total),
        ),
        format!(
            "one of three: finish the old run as it was (restore the file and run it, or `{}`); end it with `{}`; \
             or start afresh with `--new`",
            app.command(&format!("jobs resume {} --here", job.name)),
            app.command(&format!("jobs cancel {}", job.name))
        ),
    )
    .coded(Code::RunningExisted)
}
