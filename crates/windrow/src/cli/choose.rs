//! What running a file means now: a first run, going on with an unfinished one, or another run of
//! a finished job. Decided from what is stored, and said to the person.

use windrow_engine::{Request, submit};
use windrow_model::RunId;
use windrow_model::record::{Job, Run, RunLimits, Session};
use windrow_model::state::{Mode, RunEvent, RunState};
use windrow_workloads::LoadedJob;

use super::execute::{self, Ending};
use super::progress::Progress;
use super::text;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::wiring::{self, App};

#[derive(Debug)]
pub struct Course {
    pub run: RunId,
    pub resumed: bool,
    /// What the person should know before it starts.
    pub note: Option<String>,
}

pub async fn course(app: &App, file: &LoadedJob, new: bool) -> Result<Course> {
    let Some(job) = app.store.find_job(&file.workspace, &file.name).await? else {
        return start(app, file, new, None).await;
    };
    let run = app.store.run(job.latest_run).await?;
    if run.state.is_final() {
        let note = if new {
            format!("new run of {}: everything is done again", job.name)
        } else {
            format!("{} has run before: what has not changed is taken over; --new does everything again", job.name)
        };
        return start(app, file, new, Some(note)).await;
    }
    if let Some(session) = app.coordinator_of(&run).await? {
        return Err(held_elsewhere(app, &job, &run, &session));
    }
    if new || run.state.is_stopping() {
        end_first(app, &run).await?;
        return start(app, file, new, Some(format!("run {} of {} was ended first", run.no, job.name))).await;
    }
    if run.spec_hash != file.spec_hash {
        return Err(changed_meanwhile(app, &job, &run));
    }
    go_on(app, file, run).await
}

async fn start(app: &App, file: &LoadedJob, fresh: bool, note: Option<String>) -> Result<Course> {
    let request = Request {
        workspace: file.workspace.clone(),
        name: file.name.clone(),
        kind: file.kind.to_owned(),
        labels: file.labels.clone(),
        mode: Mode::Submit,
        spec: file.spec.clone(),
        spec_hash: file.spec_hash.clone(),
        priority: file.priority,
        limits: RunLimits { concurrency: file.concurrency, ..RunLimits::default() },
        fresh,
        selection: None,
        schedule: None,
        idempotency_key: None,
        actor: wiring::actor(),
    };
    let submitted = submit(app.store.as_ref(), request, fastrand::u64(..), app.now()).await?;
    Ok(Course { run: submitted.run, resumed: false, note })
}

async fn go_on(app: &App, file: &LoadedJob, run: Run) -> Result<Course> {
    let was_paused = run.state == RunState::Paused;
    if was_paused {
        let _resumed = app.store.intend(run.id, RunEvent::Resume, &wiring::actor(), None, app.now()).await?;
    }
    if run.limits.concurrency != file.concurrency {
        eprintln!(
            "warning: this run keeps its concurrency of {}; the file's applies to the next",
            run.limits.concurrency
        );
    }
    let total = if run.planned { run.counters.total } else { run.counters.total.max(file.rows as i64) };
    let note = format!(
        "continuing run {}: {} of {} items done{}",
        run.id,
        text::count(run.counters.settled()),
        text::count(total),
        if was_paused { " (it was paused and is now resumed)" } else { "" },
    );
    Ok(Course { run: run.id, resumed: true, note: Some(note) })
}

/// An unfinished run that nobody coordinates is ended here, so that another can start.
async fn end_first(app: &App, run: &Run) -> Result<()> {
    if !run.state.is_stopping() {
        let reason = Some("replaced by a new run");
        let _ended = app.store.intend(run.id, RunEvent::Terminate, &wiring::actor(), reason, app.now()).await?;
    }
    match execute::to_end(app, run.id, run.limits.concurrency, Progress::new("", 0, true)).await? {
        Ending::Settled { .. } => Ok(()),
        Ending::Interrupted { .. } => Err(Error::Plain {
            what: format!("interrupted while run {} was being ended", run.id),
            remedy: "run the same command again".into(),
            exit: Exit::Interrupted,
        }),
    }
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
            "one of three: restore the file and run it to finish the old run; end the old run with `{}`; \
             or start afresh with `--new`",
            app.command(&format!("jobs cancel {}", job.name))
        ),
    )
}
