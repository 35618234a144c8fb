//! Health (I10): conditions that must not last while work is under way. A store reads the vital signs at
//! one moment; what is a finding among them is decided here, so that all stores agree.

use crate::counters::Counters;
use crate::ids::{ItemId, JobId, RunId};
use crate::state::{Mode, RunState};
use crate::time::Time;

crate::vocabulary! {
    /// One thing that is looked for.
    pub enum Check {
        #[doc = "Attempts whose lease has expired and that were not requeued."]
        TaskZombie = "task.zombie",
        #[doc = "Steps (batches) begun by a living worker that do not come to an end."]
        BatchStall = "batch.stall",
        #[doc = "Attempts of a living worker in which no step begins or ends, and runs in which nothing is executed although items are open."]
        RunStall = "run.stall",
        #[doc = "Items ready to start that are not started although the run has free places."]
        SlicePending = "slice.pending.timeout",
        #[doc = "Runs whose source is still being read and planned."]
        PlanSlicing = "plan.slicing.timeout",
    }
}

impl Check {
    /// Default time until the condition is reported.
    pub const fn default_ms(self) -> i64 {
        match self {
            Check::TaskZombie => 60_000,
            Check::BatchStall => 900_000,
            Check::RunStall => 900_000,
            Check::SlicePending => 300_000,
            Check::PlanSlicing => 600_000,
        }
    }

    /// What to do about it.
    pub const fn remedy(self) -> &'static str {
        match self {
            Check::TaskZombie => {
                "no engine is putting lost items back: see that a `windrow serve` runs on this data, and its log"
            }
            Check::BatchStall => {
                "a call does not return: check the item (`windrow jobs item`), the endpoint and the job's timeout"
            }
            Check::RunStall => "ask `windrow jobs why NAME`; for an item, `windrow jobs item`",
            Check::SlicePending => "ask `windrow jobs why NAME`; if all workers are busy, raise --workers",
            Check::PlanSlicing => "see that the dataset can be read quickly; `windrow jobs logs NAME` says what failed",
        }
    }
}

/// How long each of the checks is patient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HealthThresholds([i64; Check::ALL.len()]);

impl Default for HealthThresholds {
    fn default() -> Self {
        let mut patience = Self([0; Check::ALL.len()]);
        Check::ALL.iter().for_each(|check| patience.set(*check, check.default_ms()));
        patience
    }
}

impl HealthThresholds {
    pub fn ms(&self, check: Check) -> i64 {
        self.0[check as usize]
    }

    pub fn set(&mut self, check: Check, ms: i64) {
        self.0[check as usize] = ms;
    }

    /// What has gone on since then, or longer, is a finding.
    pub fn since(&self, check: Check, now: Time) -> Time {
        now + -self.ms(check)
    }
}

/// A run that is not over, as far as its health is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveRun {
    pub run: RunId,
    pub job: JobId,
    pub workspace: String,
    /// The job's name.
    pub name: String,
    pub state: RunState,
    pub mode: Mode,
    pub concurrency: i64,
    pub planned: bool,
    pub counters: Counters,
    pub created_at: Time,
    pub started_at: Option<Time>,
    /// When something last happened: items archived, a change of state, a step begun or ended.
    pub moved_at: Time,
    /// It waits as its rollout wants: for approval, the bake time, the health check, the end of a freeze.
    pub held: bool,
}

/// A run that others were told of so lately needs no closer look at its steps.
pub const QUIET_MS: i64 = 10_000;

impl LiveRun {
    /// Whether an item could be started here without waiting for another one to end.
    pub fn has_free_places(&self) -> bool {
        self.state.dispatches() && self.counters.running < self.concurrency
    }

    pub fn is_quiet(&self, now: Time) -> bool {
        now - self.moved_at > QUIET_MS
    }

    /// Something should move in it.
    pub fn should_move(&self) -> bool {
        self.state.dispatches() && self.counters.unsettled() > 0 && !self.held
    }
}

/// One of the things a finding counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    pub job: JobId,
    pub name: String,
    pub run: RunId,
    pub item: Option<ItemId>,
    pub since: Time,
}

impl Example {
    pub fn of(run: &LiveRun, item: Option<ItemId>, since: Time) -> Self {
        Self { job: run.job, name: run.name.clone(), run: run.run, item, since }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub check: Check,
    /// Of one run, at most [`COUNTED`] are counted.
    pub count: i64,
    /// The oldest ones.
    pub examples: Vec<Example>,
}

/// Where counting ends: more of the same in one run says nothing new.
pub const COUNTED: usize = 1000;
const EXAMPLES: usize = 5;

impl Finding {
    pub fn new(check: Check, mut found: Vec<Example>) -> Self {
        found.sort_by_key(|example| (example.since, example.run, example.item));
        let count = found.len() as i64;
        found.truncate(EXAMPLES);
        Self { check, count, examples: found }
    }

    /// Those that the rows of the runs themselves show; `still` are the attempts in which nothing moves.
    pub fn of_runs(runs: &[LiveRun], still: Vec<Example>, patience: &HealthThresholds, now: Time) -> [Finding; 2] {
        let found = |check: Check, since: fn(&LiveRun) -> Option<Time>, more: Vec<Example>| {
            let seen = runs.iter().filter_map(|run| Some(Example::of(run, None, since(run)?)));
            let seen = seen.filter(|example| example.since <= patience.since(check, now));
            Finding::new(check, seen.chain(more).collect())
        };
        [
            found(
                Check::RunStall,
                |run| (run.should_move() && run.counters.running == 0).then_some(run.moved_at),
                still,
            ),
            found(
                Check::PlanSlicing,
                |run| {
                    let reads = run.state.dispatches() && !run.planned && run.mode != Mode::Online;
                    run.started_at.filter(|_| reads)
                },
                Vec::new(),
            ),
        ]
    }
}

/// What a store shows of itself at one moment, cheaply: it looks at what is live, never at what is over.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HealthSnapshot {
    /// By rank.
    pub runs: Vec<LiveRun>,
    /// One per check, in their order.
    pub findings: Vec<Finding>,
    /// Attempts handed in and not yet archived, and since when the oldest one waits.
    pub logged: i64,
    pub oldest_logged_at: Option<Time>,
    /// The id of the newest event in the outbox; 0 if the outbox is empty.
    pub newest_event: i64,
    /// The longest commit since this was last asked, also of one still under way.
    pub slowest_commit_ms: i64,
}

impl HealthSnapshot {
    pub fn count(&self, check: Check) -> i64 {
        self.findings.iter().find(|finding| finding.check == check).map_or(0, |finding| finding.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(state: RunState, moved_at: i64, queued: i64) -> LiveRun {
        LiveRun {
            run: RunId(1),
            job: JobId(1),
            workspace: "w".into(),
            name: "a".into(),
            state,
            mode: Mode::Submit,
            concurrency: 10,
            planned: true,
            counters: Counters { total: queued, queued, ..Default::default() },
            created_at: Time(0),
            started_at: Some(Time(0)),
            moved_at: Time(moved_at),
            held: false,
        }
    }

    fn counts(run: LiveRun, now: i64) -> [i64; 2] {
        Finding::of_runs(&[run], Vec::new(), &HealthThresholds::default(), Time(now)).map(|finding| finding.count)
    }

    #[test]
    fn a_run_is_stalled_when_it_has_work_and_nothing_moves() {
        let patience = Check::RunStall.default_ms();
        assert_eq!(counts(run(RunState::Running, 100, 1), 99 + patience), [0, 0]);
        assert_eq!(counts(run(RunState::Running, 100, 1), 100 + patience), [1, 0]);
        assert_eq!(counts(run(RunState::Running, 100, 0), 100 + patience), [0, 0], "an open intake with nothing in it");
        assert_eq!(counts(run(RunState::Paused, 100, 1), 100 + patience), [0, 0]);
        assert_eq!(counts(run(RunState::Pending, 100, 1), 100 + patience), [0, 0], "it waits for its turn");
        let held = LiveRun { held: true, ..run(RunState::Running, 100, 1) };
        assert_eq!(counts(held, 100 + patience), [0, 0], "a wave waits for approval");
        let mut executes = run(RunState::Running, 100, 1);
        executes.counters.running = 1;
        assert_eq!(counts(executes, 100 + patience), [0, 0], "its attempts are checked one by one");
    }

    #[test]
    fn planning_takes_too_long_from_the_start_of_the_run() {
        let slow = |mode| LiveRun { planned: false, mode, ..run(RunState::Running, 599_000, 0) };
        assert_eq!(counts(slow(Mode::Submit), 599_999), [0, 0]);
        assert_eq!(counts(slow(Mode::Submit), 600_000), [0, 1]);
        assert_eq!(counts(slow(Mode::Online), 600_000), [0, 0], "its source has no end");
    }
}
