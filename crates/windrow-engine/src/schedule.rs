//! Scheduled jobs (E10): the end of one run sets the time of the next, and the first node that finds it due submits it.
//! When two nodes find it at once, the idempotency key makes it one run.

use std::sync::Arc;
use std::time::Duration;

use windrow_model::Time;
use windrow_model::cron::Timetable;
use windrow_model::record::{Job, LogLevel, Run, Schedule};
use windrow_model::state::Mode;
use windrow_model::store::{NewLog, Queue, StoreError};

use crate::node::Node;
use crate::submit::{Request, submit};

const PAGE: usize = 20;
const ACTOR: &str = "schedule";

/// The next start of a scheduled job after this run.
pub fn next_of(job: &Job, run: &Run, now: Time) -> Option<Time> {
    let timetable: Timetable = job.schedule.as_ref()?.cron.parse().ok()?;
    timetable.next_of_run(time_of(job, run), now)
}

fn key(job: &Job, at: Time) -> String {
    format!("schedule {} {}", job.id, at.0)
}

/// The scheduled time of a run that the schedule started.
fn time_of(job: &Job, run: &Run) -> Option<Time> {
    let at = run.idempotency_key.as_deref()?.strip_prefix("schedule ")?.split_once(' ')?.1.parse().ok().map(Time)?;
    (run.idempotency_key.as_deref() == Some(&key(job, at))).then_some(at)
}

pub async fn start_due(node: Arc<Node>) {
    loop {
        match node.store.due_jobs(PAGE, node.now()).await {
            Ok(jobs) => {
                for job in jobs {
                    if let Err(error) = start(&node, &job).await {
                        tracing::warn!(job = %job.name, %error, "failed to start a scheduled job, retrying");
                    }
                }
            }
            Err(error) => tracing::warn!(%error, "failed to poll for scheduled jobs, retrying"),
        }
        tokio::time::sleep(Duration::from_millis(node.settings.poll_ms)).await;
    }
}

/// A scheduled run with the definition of the last one. The same job and time give the same run.
pub async fn request(store: &dyn Queue, job: &Job, at: Time, actor: String) -> Result<Request, StoreError> {
    let last = store.run(job.latest_run).await?;
    let mut request = Request::of_run(store, job, &last, Mode::scheduled(&job.kind), actor).await?;
    request.idempotency_key = Some(key(job, at));
    Ok(request)
}

async fn start(node: &Node, job: &Job) -> Result<(), StoreError> {
    let Some(Schedule { next_at: Some(at), cron }) = &job.schedule else { return Ok(()) };
    if let Ok(timetable) = cron.parse::<Timetable>()
        && timetable.leaves_out(*at, node.now())
    {
        let next = Schedule { cron: cron.clone(), next_at: timetable.next_after(node.now()).ok() };
        return node.store.schedule(job.id, Some(next), ACTOR, node.now()).await;
    }
    if let Some(why) = used_up(node, job).await? {
        log_failure(node, job, why).await;
        let next_at = cron.parse::<Timetable>().ok().and_then(|timetable| timetable.next_after(node.now()).ok());
        let next = Schedule { cron: cron.clone(), next_at };
        return node.store.schedule(job.id, Some(next), ACTOR, node.now()).await;
    }
    let mut request = request(&*node.store, job, *at, ACTOR.to_owned()).await?;
    if let Some(workload) = node.workloads.get(job.kind.as_str()) {
        match workload.renewed(&job.workspace, &request.spec).await {
            Ok(Some((spec, spec_hash))) => request = Request { spec, spec_hash, ..request },
            Ok(None) => {}
            Err(failure) => tracing::warn!(job = %job.name, %failure, "failed to renew the definition, using the last"),
        }
    }
    let chance = (node.workers.chance() * u32::MAX as f64) as u64;
    match submit(&*node.store, request, chance, node.now()).await {
        Ok(_) => {
            node.poll_now();
            Ok(())
        }
        // A person started it in the meantime; the end of that run sets the next.
        Err(StoreError::RunningExisted { .. }) => Ok(()),
        Err(error) => {
            log_failure(node, job, error.to_string()).await;
            Err(error)
        }
    }
}

/// Why the workspace of the job may start no run, if it may not.
async fn used_up(node: &Node, job: &Job) -> Result<Option<String>, StoreError> {
    if node.settings.balance.of(&job.workspace).is_none() {
        return Ok(None);
    }
    let spent = node.store.cost_of_workspace(&job.workspace).await?;
    Ok(node.settings.balance.used_up(&job.workspace, spent))
}

async fn log_failure(node: &Node, job: &Job, why: String) {
    let (level, message) = (LogLevel::Error, format!("the scheduled start failed: {why}"));
    let (event, actor) = ("schedule_failed".to_owned(), ACTOR.to_owned());
    let entry = NewLog { job: job.id, run: None, item: None, level, event, actor, message };
    let _ = node.store.log(vec![entry], node.now()).await;
}
