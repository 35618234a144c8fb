use windrow_model::Time;
use windrow_model::health::{COUNTED, Check, Example, Finding, HealthSnapshot, HealthThresholds, LiveRun};
use windrow_model::record::Run;
use windrow_model::state::StepState;

use super::world::World;

impl World {
    pub fn health(&self, workspace: Option<&str>, patience: &HealthThresholds, now: Time) -> HealthSnapshot {
        let mut live: Vec<&Run> = self.runs.values().filter(|run| !run.state.is_final()).collect();
        live.sort_by_key(|run| (run.rank, run.id));
        let runs = live.into_iter().map(|run| self.live_run(run, now));
        let mut runs: Vec<LiveRun> = runs.filter(|run| workspace.is_none_or(|only| run.workspace == only)).collect();
        let since = |check| patience.since(check, now);
        let mut still = Vec::new();
        for run in &mut runs {
            still.extend(self.still(run, since(Check::RunStall), now));
        }
        let [run_stall, plan_slicing] = Finding::of_runs(&runs, still, patience, now);
        let of = |check, found: fn(&World, &LiveRun, Time, Time) -> Vec<Example>| {
            let seen = runs.iter().flat_map(|run| found(self, run, since(check), now).into_iter().take(COUNTED));
            Finding::new(check, seen.collect())
        };
        let findings = vec![
            of(Check::TaskZombie, Self::zombies),
            of(Check::BatchStall, Self::stalled),
            run_stall,
            of(Check::SlicePending, Self::pending),
            plan_slicing,
        ];
        let logged = runs.iter().flat_map(|run| self.logged_in(run.run));
        let logged: Vec<Option<Time>> = logged.map(|id| self.attempts[&id].attempt.ended_at).collect();
        HealthSnapshot {
            runs,
            findings,
            logged: logged.len() as i64,
            oldest_logged_at: logged.into_iter().flatten().min(),
            newest_event: self.outbox.keys().next_back().copied().unwrap_or(0),
            slowest_commit_ms: 0,
        }
    }

    fn live_run(&self, run: &Run, now: Time) -> LiveRun {
        LiveRun {
            run: run.id,
            job: run.job,
            workspace: self.jobs[&run.job].job.workspace.clone(),
            name: self.jobs[&run.job].job.name.clone(),
            state: run.state,
            mode: run.mode,
            concurrency: run.limits.concurrency,
            planned: run.planned,
            counters: run.counters,
            created_at: run.created_at,
            started_at: run.started_at,
            moved_at: run.moved_at,
            held: run.position().holdup(now).is_some(),
        }
    }

    /// Attempts of living workers whose newest step is not newer; notes when something last moved in the run.
    fn still(&self, run: &mut LiveRun, since: Time, now: Time) -> Vec<Example> {
        let from = if run.is_quiet(now) { now } else { since };
        let attempts = self.leased_in(run.run).map(|id| (id, &self.attempts[&id].attempt));
        let attempts = attempts.filter(|(_, attempt)| attempt.due_at > now);
        let mut found = Vec::new();
        for (id, started) in attempts.filter_map(|(id, attempt)| Some((id, attempt.started_at?))) {
            if started > from {
                continue;
            }
            let newest = self.steps.range(id.first_step()..=id.last_step()).next_back();
            let moved = newest.map_or(started, |(_, step)| step.ended_at.unwrap_or(step.started_at));
            found.push((id, moved));
        }
        found.truncate(COUNTED);
        run.moved_at =
            found.iter().map(|(_, moved)| *moved).max().map_or(run.moved_at, |moved| moved.max(run.moved_at));
        let still = found.into_iter().filter(|(_, moved)| *moved <= since);
        still.map(|(id, moved)| Example::of(run, Some(id.item()), moved)).collect()
    }

    fn zombies(&self, run: &LiveRun, since: Time, _now: Time) -> Vec<Example> {
        let leased = self.leased_in(run.run).map(|id| (id, self.attempts[&id].attempt.due_at));
        leased.filter(|(_, due)| *due <= since).map(|(id, due)| Example::of(run, Some(id.item()), due)).collect()
    }

    fn stalled(&self, run: &LiveRun, since: Time, now: Time) -> Vec<Example> {
        let living = self.leased_in(run.run).filter(|id| self.attempts[id].attempt.due_at > now);
        let steps = living.flat_map(|id| self.steps.range(id.first_step()..=id.last_step()));
        let open = steps.filter(|(_, step)| step.state == StepState::Intent && step.started_at <= since);
        open.map(|(id, step)| Example::of(run, Some(id.attempt().item()), step.started_at)).collect()
    }

    fn pending(&self, run: &LiveRun, since: Time, _now: Time) -> Vec<Example> {
        if !run.has_free_places() {
            return Vec::new();
        }
        let open = self.runs[&run.run].stage.wave;
        let ready = self.queued_in(run.run).filter(|(due, id)| *due <= since && self.attempts[id].attempt.wave == open);
        ready.map(|(due, id)| Example::of(run, Some(id.item()), due)).collect()
    }
}
