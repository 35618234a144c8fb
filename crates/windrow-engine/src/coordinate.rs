//! Step 3 to 10, as a loop (E7): admit runs, and for each one archive what was handed in, claim into
//! free places, plan the next page, carry out intents, close. It holds nothing that the store does
//! not: a new dispatcher starts where any other stopped, which is what the watchdog relies on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::future::join_all;
use tokio::task::JoinSet;
use tokio::time::Instant;
use windrow_model::RunId;
use windrow_model::failure::Failure;
use windrow_model::record::{Job, Run};
use windrow_model::state::{Mode, RunEvent, RunState};
use windrow_model::store::{Admission, Beat, Held, StoreError};
use windrow_model::workload::Program;

use crate::claim::{self, Want};
use crate::elsewhere::Elsewhere;
use crate::node::{Course, Node, Work};
use crate::{archive, close, plan, wave};

pub async fn dispatch(node: Arc<Node>) {
    let mut dispatcher = Dispatcher {
        node,
        courses: BTreeMap::new(),
        elsewhere: Elsewhere::default(),
        planners: JoinSet::new(),
        beat_at: None,
        looked_at: None,
    };
    loop {
        dispatcher.node.rounds.fetch_add(1, Ordering::Relaxed);
        match dispatcher.look_for_runs().await {
            Ok(()) => {}
            Err(error @ StoreError::NotFound { what: "session", .. }) => {
                dispatcher.node.give_up(error);
                dispatcher.courses.clear();
                dispatcher.elsewhere = Elsewhere::default();
            }
            Err(error) => tracing::warn!(%error, "could not look for runs; trying again"),
        }
        while dispatcher.planners.try_join_next().is_some() {}
        let busy = dispatcher.round().await;
        dispatcher.publish();
        if busy {
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
    elsewhere: Elsewhere,
    /// One task per run that is still being planned; they end with the dispatcher.
    planners: JoinSet<()>,
    /// By the runtime's clock: the rhythm must not depend on somebody setting the machine's.
    beat_at: Option<Instant>,
    looked_at: Option<Instant>,
}

impl Dispatcher {
    /// Shows that the session lives, and takes on what nobody coordinates.
    async fn look_for_runs(&mut self) -> Result<(), StoreError> {
        let (node, now) = (self.node.clone(), self.node.now());
        if is_time(self.beat_at, node.settings.beat_ms()) {
            let began = Instant::now();
            let Beat { held, drain } = node.store.beat(node.session, node.settings.lease_ms, now).await?;
            self.beat_at = Some(began);
            node.sent_away.fetch_or(drain, Ordering::Relaxed);
            // Whatever another took over or ended is not in the answer.
            self.courses.retain(|run, _| held.iter().any(|held| held.run.id == *run));
            for held in held {
                self.embark(held).await;
            }
        }
        let asked = node.look.swap(false, Ordering::Relaxed);
        if (asked || is_time(self.looked_at, node.settings.poll_ms)) && !node.is_draining() {
            self.looked_at = Some(Instant::now());
            if node.settings.lends_a_hand {
                self.elsewhere.look(&node).await?;
            }
            if !node.settings.coordinates {
                return Ok(());
            }
            let taken = self.courses.values().filter(|course| !course.run.state.is_stopping()).count();
            let admission = Admission {
                session: node.session,
                scope: node.settings.scope.clone(),
                places: node.settings.jobs.saturating_sub(taken),
                quota: node.settings.quota.clone(),
                lease_ms: node.settings.lease_ms,
            };
            for held in node.store.admit(admission, now).await? {
                self.embark(held).await;
            }
        }
        Ok(())
    }

    /// A run held for the first time gets its program and its planner; a known one is brought up to date.
    /// What goes wrong with one run is no reason to neglect the others.
    async fn embark(&mut self, held: Held) {
        let run = held.run.id;
        let known = self.courses.get(&run).filter(|course| course.ticket == held.ticket);
        if let Some(course) = known {
            let course = course.stands_like(held.run);
            self.courses.insert(run, course);
            return;
        }
        match prepare(&self.node, &held).await {
            Ok((job, program)) => {
                let work = Arc::new(Work { run: held.run, job, program });
                let course = Arc::new(Course { ticket: held.ticket, work });
                if !course.run.planned && course.run.mode != Mode::Online {
                    self.planners.spawn(plan::plan(self.node.clone(), course.clone()));
                }
                self.courses.insert(run, course);
            }
            Err(error) => {
                tracing::warn!(%run, %error, "could not prepare the run; it is left for another try");
                if let Err(error) = self.node.store.yield_run(held.ticket, self.node.now()).await {
                    tracing::warn!(%run, %error, "could not leave the run");
                }
            }
        }
    }

    /// One look at every run. True when there is more to do at once.
    async fn round(&mut self) -> bool {
        let node = &self.node;
        let own = self.courses.values().map(|course| &course.work);
        let wants = claim::share_places(node, own.chain(self.elsewhere.open()));
        let mut busy = self.elsewhere.claim(node, &wants).await;
        let ticks = self.courses.values().map(|course| {
            let want = wants.get(&course.run.id).copied().unwrap_or(Want(0));
            async move { (course.run.id, tick(node, course, want).await) }
        });
        for (run, result) in join_all(ticks).await {
            match result {
                Ok(Tick::Moved) => busy = true,
                Ok(Tick::Idle(state)) => {
                    let course = &self.courses[&run];
                    busy |= course.run.state != state.state;
                    let course = course.stands_like(*state);
                    self.courses.insert(run, course);
                }
                Ok(Tick::Over) => {
                    self.courses.remove(&run);
                    self.node.ended.notify_waiters();
                    // Its place is free: look for the next run at once.
                    self.looked_at = None;
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

    fn publish(&self) {
        let own = self.courses.values().map(|course| &course.work);
        let works = own.chain(self.elsewhere.all());
        self.node.publish(works.map(|work| (work.run.id, work.clone())).collect());
    }
}

fn is_time(last: Option<Instant>, every_ms: u64) -> bool {
    last.is_none_or(|last| last.elapsed() >= Duration::from_millis(every_ms))
}

/// The run's program. A run that can have none is failed, and needs none to come to its end.
async fn prepare(node: &Node, held: &Held) -> Result<(Arc<Job>, Arc<dyn Program>), StoreError> {
    let (job, program) = program_of(node, &held.run).await?;
    match program {
        Ok(program) => Ok((job, program)),
        Err(failure) => {
            if !held.run.state.is_stopping() {
                fail_run(node, held.run.id, &failure).await?;
            }
            Ok((job, Arc::new(close::NoProgram::default())))
        }
    }
}

/// The program of a run, coordinated here or not.
pub async fn program_of(node: &Node, run: &Run) -> Result<(Arc<Job>, Result<Arc<dyn Program>, Failure>), StoreError> {
    let job = Arc::new(node.store.job(run.job).await?);
    let spec = node.store.spec(&run.spec_hash).await?;
    let program = match node.workloads.get(job.kind.as_str()) {
        Some(workload) => workload.prepare(&job.workspace, &spec).await,
        None => {
            let kinds: Vec<&str> = node.workloads.keys().copied().collect();
            let text = format!("this node knows no kind {:?}, only {}", job.kind, kinds.join(", "));
            Err(Failure::new(windrow_model::ErrorClass::Handler, text))
        }
    };
    Ok((job, program))
}

pub async fn fail_run(node: &Node, run: RunId, failure: &Failure) -> Result<(), StoreError> {
    let reason = failure.to_string();
    tracing::error!(%run, %reason, "the run cannot go on");
    node.store.request_transition(run, RunEvent::Fail, "system", Some(&reason), node.now()).await.map(|_| ())
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
    let (archived, claimed) = tokio::join!(archive::archive(node, course), claim::claim(node, &course.work, want));
    if archived?.items > 0 || claimed? > 0 {
        return Ok(Tick::Moved);
    }
    // Nothing moved: see how the run stands, for intents and for the end.
    let run = node.store.run(course.run.id).await?;
    match run.state {
        RunState::Running | RunState::Draining if run.planned && run.counters.unsettled() == 0 => {
            close::close(node, course, run).await
        }
        RunState::Running | RunState::Draining => wave::advance(node, course, run).await,
        // Resumed before it was left: leave it now, to be admitted anew.
        RunState::Pending => close::leave(node, course).await,
        _ => close::wind_down(node, course, run).await,
    }
}
