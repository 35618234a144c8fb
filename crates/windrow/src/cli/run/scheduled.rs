//! `windrow run FILE --scheduled`: after each run this process waits for the next time and runs what
//! is new. The times are in the store, so another process can continue.

use std::time::Duration;

use windrow_model::record::Schedule;
use windrow_model::{JobId, Time};

use crate::app::{App, submit};
use crate::cli::run::execute::Signals;
use crate::cli::run::follow::{self, Shown};
use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};

const LOOK_EVERY_MS: i64 = 1_000;

/// Until the process is interrupted, the schedule is removed, or a run reaches its budget.
pub async fn keep(api: &Api, app: &App, job: JobId, mut last: Exit, json: bool, quiet: bool) -> Result<Exit> {
    let mut announced = None;
    loop {
        let job = app.store.job(job).await?;
        let Some(Schedule { next_at, .. }) = job.schedule else {
            return Ok(last);
        };
        if last == Exit::BudgetSpent {
            return Ok(last);
        }
        if let (Some(at), false) = (next_at.filter(|_| announced != next_at), quiet) {
            output::say(&format!("Next run of {} at {}", job.name, windrow_wire::Timestamp::from(at)));
            announced = next_at;
        }
        // While another process executes a run, the next time is not known yet.
        let Some(at) = next_at.filter(|at| *at <= app.now()) else {
            if !wait_a_little(app, next_at).await? {
                return Ok(Exit::Interrupted);
            }
            continue;
        };
        last = match submit::start_scheduled(app, job.id, at).await? {
            Some(run) => follow::to_end(api, &job.name, &run.to_string(), false, Shown { json, quiet }).await?,
            None => last,
        };
        if last == Exit::Interrupted {
            return Ok(last);
        }
    }
}

/// At most a second: the machine may sleep, its clock be set, the job be taken off its schedule.
/// False when a signal came first.
async fn wait_a_little(app: &App, until: Option<Time>) -> Result<bool> {
    let mut signals = Signals::listen()?;
    let left = until.map_or(LOOK_EVERY_MS, |at| (at - app.now()).clamp(1, LOOK_EVERY_MS));
    Ok(tokio::select! {
        () = tokio::time::sleep(Duration::from_millis(left as u64)) => true,
        () = signals.next() => false,
    })
}
