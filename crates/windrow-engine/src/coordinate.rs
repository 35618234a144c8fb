//! Step 3 to 10, as a loop (E7): admit runs, and for each one archive what was handed in, claim into
//! free places, plan the next page, carry out intents, close. It holds nothing that the store does
//! not: a new dispatcher starts where any other stopped, which is what the watchdog relies on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::future::join_all;
use tokio::task::JoinSet;
use windrow_model::failure::Failure;
use windrow_model::record::Run;
use windrow_model::state::{RunEvent, RunState};
use windrow_model::store::{Admission, Held, StoreError};
use windrow_model::workload::Program;
use windrow_model::{RunId, Time};

use crate::claim::{self, Want};
use crate::node::{Course, Node};
use crate::{archive, close, plan};

pub async fn dispatch(node: Arc<Node>) {
    let mut dispatcher = Dispatcher {
        node,
        courses: BTreeMap::new(),
        planners: JoinSet::new(),
        beat_at: Time(i64::MIN),
        looked_at: Time(i64::MIN),
    };
    loop {
        dispatcher.node.rounds.fetch_add(1, Ordering::Relaxed);
        match dispatcher.look_for_runs().await {
            Ok(()) => {}
            Err(StoreError::NotFound { what: "session", .. }) => dispatcher.give_up(),
            Err(error) => tracing::warn!(%error, "could not look for runs; trying again"),
        }
        while dispatcher.planners.try_join_next().is_some() {}
        if dispatcher.round().await {
            continue;
        }
        // Idle until something happens; the poll is the net for what nobody tells us of.
        let poll = Duration::from_millis(dispatcher.node.settings.poll_ms);
        let _ = tokio::time::timeout(poll, dispatcher.node.wake.notified()).await;
    }
}

struct Dispatcher {
    node: Arc<Node>,
    courses: BTreeMap<RunId, Arc<Course>>,
    /// One task per run that is still being planned; they end with the dispatcher.
    planners: JoinSet<()>,
    beat_at: Time,
    looked_at: Time,
}

impl Dispatcher {
    /// The session was buried: what it held may be taken by others, so nothing of it is touched again.
    fn give_up(&mut self) {
        if !self.node.evicted.swap(true, Ordering::Relaxed) {
            tracing::error!(session = %self.node.session, "this session was declared dead; its work is left to others");
        }
        self.courses.clear();
        self.node.inflight().all().iter().for_each(|flag| flag.lose());
        self.node.ended.notify_waiters();
    }

    /// Shows that the session lives, and takes on what nobody coordinates.
    async fn look_for_runs(&mut self) -> Result<(), StoreError> {
        let (node, now) = (self.node.clone(), self.node.now());
        if now - self.beat_at >= node.settings.beat_ms() as i64 {
            let held = node.store.beat(node.session, node.settings.lease_ms, now).await?;
            self.beat_at = now;
            // Whatever another took over or ended is not in the answer.
            self.courses.retain(|run, _| held.iter().any(|held| held.run.id == *run));
            for held in held {
                self.embark(held).await?;
            }
        }
        let asked = node.look.swap(false, Ordering::Relaxed);
        if (asked || now - self.looked_at >= node.settings.poll_ms as i64) && !node.is_draining() {
            self.looked_at = now;
            let taken = self.courses.values().filter(|course| !course.held.run.state.is_stopping()).count();
            let admission = Admission {
                session: node.session,
                scope: node.settings.scope.clone(),
                places: node.settings.jobs.saturating_sub(taken),
                lease_ms: node.settings.lease_ms,
            };
            for held in node.store.admit(admission, now).await? {
                self.embark(held).await?;
            }
        }
        Ok(())
    }

    /// A run held for the first time gets its program and its planner; a known one is brought up to date.
    async fn embark(&mut self, held: Held) -> Result<(), StoreError> {
        let known = self.courses.get(&held.run.id).filter(|course| course.held.ticket == held.ticket);
        let is_new = known.is_none();
        let program = match known {
            Some(course) => course.program.clone(),
            None => match prepare(&self.node, &held).await? {
                Some(program) => program,
                None => return Ok(()),
            },
        };
        let course = Arc::new(Course { held, program });
        if is_new && !course.held.run.planned {
            self.planners.spawn(plan::plan(self.node.clone(), course.clone()));
        }
        self.courses.insert(course.held.run.id, course);
        Ok(())
    }

    /// One look at every run. True when there is more to do at once.
    async fn round(&mut self) -> bool {
        let node = &self.node;
        let wants = claim::share_places(node, self.courses.values());
        let ticks = self.courses.values().map(|course| {
            let want = wants.get(&course.held.run.id).copied().unwrap_or(Want(0));
            async move { (course.held.run.id, tick(node, course, want).await) }
        });
        let mut busy = false;
        for (run, result) in join_all(ticks).await {
            match result {
                Ok(Tick::Moved) => busy = true,
                Ok(Tick::Idle(state)) => {
                    let course = self.courses[&run].clone();
                    busy |= course.held.run.state != state.state;
                    let held = Held { run: *state, ticket: course.held.ticket };
                    self.courses.insert(run, Arc::new(Course { held, program: course.program.clone() }));
                }
                Ok(Tick::Over) => {
                    self.courses.remove(&run);
                    self.node.ended.notify_waiters();
                    // Its place is free: look for the next run at once.
                    self.looked_at = Time(i64::MIN);
                    busy = true;
                }
                Err(StoreError::Stale { .. }) => {
                    tracing::info!(%run, "another coordinator took the run over");
                    self.courses.remove(&run);
                }
                Err(error) => tracing::warn!(%run, %error, "could not move the run on; trying again"),
            }
        }
        busy
    }
}

/// The run's program; `None` when there can be none and the run was failed for it.
async fn prepare(node: &Node, held: &Held) -> Result<Option<Arc<dyn Program>>, StoreError> {
    let job = node.store.job(held.run.job).await?;
    let spec = node.store.spec(&held.run.spec_hash).await?;
    let prepared = match node.workloads.get(job.kind.as_str()) {
        Some(workload) => workload.prepare(&spec).await,
        None => {
            let kinds: Vec<&str> = node.workloads.keys().copied().collect();
            let text = format!("this node knows no kind {:?}, only {}", job.kind, kinds.join(", "));
            Err(Failure::new(windrow_model::ErrorClass::Handler, text))
        }
    };
    match prepared {
        Ok(program) => Ok(Some(program)),
        // A run that is stopping anyway needs no program: nothing of it will be executed.
        Err(_) if held.run.state.is_stopping() => Ok(Some(Arc::new(close::NoProgram::default()))),
        Err(failure) => {
            fail_run(node, held, &failure).await?;
            Ok(None)
        }
    }
}

pub async fn fail_run(node: &Node, held: &Held, failure: &Failure) -> Result<(), StoreError> {
    let reason = failure.to_string();
    tracing::error!(run = %held.run.id, %reason, "the run cannot go on");
    node.store.intend(held.run.id, RunEvent::Fail, "system", Some(&reason), node.now()).await.map(|_| ())
}

pub enum Tick {
    /// Something was done; there may be more at once.
    Moved,
    /// Nothing to do now; the run stands like this.
    Idle(Box<Run>),
    /// The run is closed, or left by this coordinator.
    Over,
}

async fn tick(node: &Arc<Node>, course: &Arc<Course>, want: Want) -> Result<Tick, StoreError> {
    // Independent verbs go out together, so that the store can commit them together.
    let (archived, claimed) = tokio::join!(archive::archive(node, course), claim::claim(node, course, want));
    if archived?.items > 0 || claimed? > 0 {
        return Ok(Tick::Moved);
    }
    // Nothing moved: see how the run stands, for intents and for the end.
    let run = node.store.run(course.held.run.id).await?;
    match run.state {
        RunState::Running | RunState::Draining if run.planned && run.counters.unsettled() == 0 => {
            close::close(node, course, run).await
        }
        RunState::Running | RunState::Draining => Ok(Tick::Idle(Box::new(run))),
        // Resumed before it was left: leave it now, to be admitted anew.
        RunState::Pending => close::leave(node, course).await,
        _ => close::wind_down(node, course, run).await,
    }
}
