//! `windrow run FILE --scheduled`: after each run this process waits for the next time and runs what
//! is new. The times are in the store, so another process may take over.

use std::time::Duration;

use windrow_model::record::{Job, Schedule};
use windrow_model::state::Mode;
use windrow_model::{JobId, Time};

use super::execute::Signals;
use super::follow::{self, Shown};
use super::start;
use crate::error::Result;
use crate::exit::Exit;
use crate::wiring::App;

/// Until somebody interrupts it, or the job is taken off its schedule.
pub async fn keep(app: &App, job: JobId, mut last: Exit, json: bool, quiet: bool) -> Result<Exit> {
    loop {
        let job = app.store.job(job).await?;
        let Some(Schedule { next_at: Some(at), .. }) = job.schedule else {
            return Ok(last);
        };
        if !quiet {
            eprintln!("{} starts again at {}", job.name, windrow_wire::Timestamp::from(at));
        }
        if !wait_until(app, at).await? {
            return Ok(Exit::Interrupted);
        }
        last = match start_at(app, &job, at).await? {
            Some(run) => follow::to_end(app, run, false, "jobs resume --here", Shown { json, quiet }).await?,
            None => last,
        };
        if last == Exit::Interrupted {
            return Ok(last);
        }
    }
}

/// False when a signal came first.
async fn wait_until(app: &App, at: Time) -> Result<bool> {
    let mut signals = Signals::listen()?;
    // In short steps, because the machine may sleep or its clock be set.
    while app.now() < at {
        let left = Duration::from_millis((at - app.now()).clamp(1, 1_000) as u64);
        tokio::select! {
            () = tokio::time::sleep(left) => {}
            () = signals.next() => return Ok(false),
        }
    }
    Ok(true)
}

/// `None` when somebody else has started it.
async fn start_at(app: &App, job: &Job, at: Time) -> Result<Option<windrow_model::RunId>> {
    let job = app.store.job(job.id).await?;
    if job.schedule.as_ref().and_then(|schedule| schedule.next_at) != Some(at) {
        return Ok(None);
    }
    let last = app.store.run(job.latest_run).await?;
    let mut request = start::of_run(app, &job, &last, Mode::Append).await?;
    request.idempotency_key = Some(format!("schedule {} {}", job.id, at.0));
    start::submit(app, request).await.map(Some)
}
