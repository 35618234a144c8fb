//! Jobs that start by themselves (E10): the end of one run sets the next, and whoever looks first when
//! its time has come submits it. Two that look at once submit it once, by its idempotency key.

use std::sync::Arc;
use std::time::Duration;

use windrow_model::Time;
use windrow_model::cron::Timetable;
use windrow_model::record::{Job, Run, Schedule};
use windrow_model::state::Mode;
use windrow_model::store::{NewLog, Queue, StoreError};

use crate::node::Node;
use crate::submit::{Request, submit};

const PAGE: usize = 20;
const ACTOR: &str = "schedule";

/// When a job starts next, if it does by itself, after this run of it.
pub fn next_of(job: &Job, run: &Run, now: Time) -> Option<Time> {
    let timetable: Timetable = job.schedule.as_ref()?.cron.parse().ok()?;
    timetable.next_of_run(time_of(job, run), now)
}

fn key(job: &Job, at: Time) -> String {
    format!("schedule {} {}", job.id, at.0)
}

/// The time a run was started for, if the schedule did.
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
                        tracing::warn!(job = %job.name, %error, "could not start a scheduled job; trying again");
                    }
                }
            }
            Err(error) => tracing::warn!(%error, "could not look for scheduled jobs; trying again"),
        }
        tokio::time::sleep(Duration::from_millis(node.settings.poll_ms)).await;
    }
}

/// What there is to do now, under the definition of its last run. Whoever asks
/// for the same job and time gets the same run.
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
    let request = request(&*node.store, job, *at, ACTOR.to_owned()).await?;
    let chance = (node.chance() * u32::MAX as f64) as u64;
    match submit(&*node.store, request, chance, node.now()).await {
        Ok(_) => {
            node.look_at_once();
            Ok(())
        }
        // Somebody started it by hand meanwhile; its end sets the next.
        Err(StoreError::RunningExisted { .. }) => Ok(()),
        Err(error) => {
            let message = format!("the scheduled start failed: {error}");
            let level = windrow_model::record::LogLevel::Error;
            let (event, actor) = ("schedule_failed".to_owned(), ACTOR.to_owned());
            let entry = NewLog { job: job.id, run: None, item: None, level, event, actor, message };
            let _ = node.store.log(vec![entry], node.now()).await;
            Err(error)
        }
    }
}
