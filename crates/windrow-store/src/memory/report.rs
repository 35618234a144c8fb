use std::collections::BTreeSet;

use windrow_model::event::{self, PartialItem, ScoreNote};
use windrow_model::failure::{ErrorClass, Failure};
use windrow_model::ids::MAX_TRIES;
use windrow_model::record::{LogLevel, Step};
use windrow_model::state::{AttemptEvent, AttemptState, Outcome, RUN, RunEvent, STEP, StepEvent, StepState};
use windrow_model::step::{Score, StepIntent, StepResult, Usage, shown_while_running};
use windrow_model::store::{Ending, Receipt, Report, StepWrite};
use windrow_model::{AttemptId, Lease, RunId, StepId, Time};

use super::plan::queued;
use super::world::World;

impl World {
    pub fn report(&mut self, report: Report, now: Time) -> Receipt {
        let Report { lease, steps, ending } = report;
        if !self.holds(lease) {
            return if self.handed_in_before(lease, &ending) { Receipt::Repeated } else { Receipt::Stale };
        }
        let begins = |write: &StepWrite| matches!(write, StepWrite::Begin { .. });
        let run = &self.runs[&lease.run];
        let ended = run.state.stops_items() || run.limits.exhausted_by(&run.spent).is_some();
        let stop = ended && steps.iter().any(begins);
        // What was finished is kept either way; it has been paid for.
        for write in steps.into_iter().filter(|write| !stop || !begins(write)) {
            self.write_step(lease, write, now);
        }
        if stop {
            return Receipt::Stop;
        }
        self.end(lease.attempt, ending, now);
        Receipt::Accepted
    }

    /// The answer to the first delivery was lost, and this is the second.
    fn handed_in_before(&self, lease: Lease, ending: &Ending) -> bool {
        let Some(row) = self.attempts.get(&lease.attempt) else { return false };
        let a = &row.attempt;
        let same = match ending {
            Ending::HandIn { outcome, .. } => {
                matches!(a.state, AttemptState::Logged | AttemptState::Resulted) && a.outcome == Some(*outcome)
            }
            Ending::Retry { .. } => a.state == AttemptState::Resulted && a.outcome == Some(Outcome::Retried),
            Ending::Release => a.state == AttemptState::Queued,
            Ending::None | Ending::Partial { .. } => false,
        };
        same && a.run == lease.run && a.fence == lease.fence
    }

    /// After the last report of a batch: what was shown is told, and a run that has spent its budget starts
    /// nothing more; what is in flight finishes its call.
    pub fn conclude(&mut self, reports: &[Report], receipts: &[Receipt], now: Time) {
        let heard = |(report, receipt): &(&Report, &Receipt)| {
            !report.steps.is_empty() && matches!(receipt, Receipt::Accepted | Receipt::Stop)
        };
        let heard: BTreeSet<RunId> =
            reports.iter().zip(receipts).filter(heard).map(|(report, _)| report.lease.run).collect();
        let shown = std::mem::take(&mut self.shown);
        let runs: BTreeSet<RunId> = heard.iter().chain(shown.keys()).copied().collect();
        for id in runs {
            for body in shown.get(&id).into_iter().flat_map(|items| event::partial(items)) {
                self.emit(id, event::ITEMS_PARTIAL, body, now);
            }
            if !heard.contains(&id) {
                continue;
            }
            let run = &self.runs[&id];
            if let (Some(reason), Ok(_)) = (run.limits.exhausted_by(&run.spent), RUN.next(run.state, RunEvent::Pause)) {
                self.request_transition(id, RunEvent::Pause, "system", Some(&reason), now)
                    .expect("a run that may be paused");
            }
        }
    }

    /// The first of two equal writes has been paid for, and may serve others.
    fn count_done(&mut self, run: RunId, id: StepId, shared: bool) {
        let step = &self.steps[&id];
        let (key, usage) = (step.key, step.usage);
        if step.state != StepState::Done {
            return;
        }
        self.run_mut(run).spent += usage;
        if shared {
            let workspace = self.jobs[&self.runs[&run].job].job.workspace.clone();
            self.shared.insert((workspace, key), id);
        }
    }

    fn write_step(&mut self, lease: Lease, write: StepWrite, now: Time) {
        let (attempt, run) = (lease.attempt, lease.run);
        self.note_change(attempt.item());
        match write {
            StepWrite::Begin { no, intent } => {
                let id = StepId::new(attempt, no);
                self.steps.entry(id).or_insert_with(|| new_step(id, intent, now));
            }
            StepWrite::Finish { no, result, shared } => {
                let id = StepId::new(attempt, no);
                if self.steps.get_mut(&id).is_some_and(|step| finish(step, result, now)) {
                    self.count_done(run, id, shared);
                }
            }
            StepWrite::Whole { no, intent, result, took_ms } => {
                let (id, shared) = (StepId::new(attempt, no), intent.shared);
                if self.steps.contains_key(&id) {
                    return;
                }
                let mut step = new_step(id, intent, now + -took_ms);
                finish(&mut step, result, now);
                self.steps.insert(id, step);
                self.count_done(run, id, shared);
            }
            StepWrite::Reuse { no, intent, from, taken } => {
                let id = StepId::new(attempt, no);
                let (output, usage) = taken.map_or((None, Usage::default()), |(output, usage)| (Some(output), usage));
                self.steps.entry(id).or_insert_with(|| Step {
                    state: StepState::Reused,
                    reused_from: Some(from),
                    ended_at: Some(now),
                    output,
                    usage,
                    ..new_step(id, intent, now)
                });
            }
        }
    }

    fn end(&mut self, id: AttemptId, ending: Ending, now: Time) {
        match ending {
            Ending::None => {}
            Ending::Partial { scores, usage, latency_ms } => {
                self.change_attempt(id, AttemptEvent::Renew, |row| {
                    row.attempt.partial = true;
                    row.usage = usage;
                    row.latency_ms = latency_ms;
                });
                let run = self.attempts[&id].attempt.run;
                let keeps_columns = self.runs[&run].mode.keeps_columns();
                let item = self.items.get_mut(&id.item()).expect("item exists");
                let earlier = std::mem::take(&mut item.scores);
                let scores = if keeps_columns { shown_while_running(earlier, &scores) } else { scores };
                (item.archived, item.latency_ms, item.usage) = (Some(id), Some(latency_ms), usage);
                let shown = PartialItem { id: id.item(), scores: ScoreNote::all(&scores) };
                item.scores = scores;
                self.shown.entry(run).or_default().push(shown);
            }
            Ending::HandIn { outcome: Outcome::Failed, scores, usage, failure: Some(failure), .. }
                if scores.is_empty() && usage == Usage::default() =>
            {
                self.give_up(id, AttemptEvent::HandIn, failure, now);
            }
            Ending::HandIn { outcome, mut scores, usage, latency_ms, failure } => {
                let mode = self.runs[&self.attempts[&id].attempt.run].mode;
                if mode.keeps_columns() && outcome == Outcome::Succeeded {
                    self.carry_over(id, &mut scores);
                }
                self.change_attempt(id, AttemptEvent::HandIn, |row| {
                    row.attempt.outcome = Some(outcome);
                    row.attempt.ended_at = Some(now);
                    row.attempt.error = failure.map(|failure| (failure.class, failure.message));
                    row.latency_ms = latency_ms;
                    row.usage = usage;
                    row.scores = scores;
                });
                self.clean_up_after(id);
            }
            Ending::Retry { failure, .. } if id.no() >= MAX_TRIES => {
                self.give_up(id, AttemptEvent::HandIn, failure, now);
            }
            Ending::Retry { failure, not_before } => {
                let run = self.attempts[&id].attempt.run;
                let message = failure.to_string();
                self.try_again(id, AttemptEvent::Retry, Outcome::Retried, failure, not_before, now);
                self.log_system(run, Some(id.item()), LogLevel::Warn, "item_retry", message, now);
            }
            Ending::Release => {
                let run = self.attempts[&id].attempt.run;
                self.change_attempt(id, AttemptEvent::Release, |row| {
                    row.attempt.owner = None;
                    row.attempt.due_at = now;
                });
                let counters = &mut self.run_mut(run).counters;
                counters.running -= 1;
                counters.queued += 1;
                self.clean_up_after(id);
            }
        }
    }

    /// It failed and says nothing of what it finished: what the run has shown of the item stands.
    pub fn give_up(&mut self, id: AttemptId, event: AttemptEvent, failure: Failure, now: Time) {
        let (item, run) = (&self.items[&id.item()], self.attempts[&id].attempt.run);
        let shown = item.archived.map(|shown| &self.attempts[&shown]).filter(|shown| shown.attempt.run == run);
        let shown = shown.map(|shown| (shown.usage, shown.latency_ms, item.scores.clone()));
        self.change_attempt(id, event, |row| {
            row.attempt.outcome = Some(Outcome::Failed);
            row.attempt.ended_at = Some(now);
            row.attempt.error = Some((failure.class, failure.message));
            (row.usage, row.latency_ms, row.scores) = shown.unwrap_or_default();
        });
        self.clean_up_after(id);
    }

    /// Columns of the snapshot that this attempt did not compute stay beside its own (E9, T15). One that
    /// it computed in another version is called by name and version from now on.
    fn carry_over(&self, id: AttemptId, scores: &mut Vec<Score>) {
        let item = &self.items[&id.item()];
        for old in &item.scores {
            let base = old.name.split('@').next().unwrap_or(&old.name);
            let computed = |new: &Score| new.name == base && new.version == old.version;
            if old.version.is_empty() || scores.iter().any(computed) {
                continue;
            }
            let name = if old.name.contains('@') { old.name.clone() } else { format!("{}@{}", old.name, old.version) };
            scores.push(Score { name, ..old.clone() });
        }
    }

    /// Ends this try and queues the next one.
    pub fn try_again(
        &mut self,
        id: AttemptId,
        event: AttemptEvent,
        outcome: Outcome,
        failure: Failure,
        due_at: Time,
        now: Time,
    ) {
        let class = failure.class;
        self.change_attempt(id, event, |row| {
            row.attempt.outcome = Some(outcome);
            row.attempt.ended_at = Some(now);
            row.attempt.error = Some((failure.class, failure.message));
        });
        let old = self.attempts[&id].attempt.clone();
        let next_id = AttemptId::new(id.item(), id.no() + 1);
        let mut next = queued(next_id, (old.run, old.wave), old.priority, old.resource.clone(), due_at);
        (next.retries, next.losses, next.throttled) = (old.retries, old.losses, old.throttled);
        match (outcome, class) {
            (Outcome::Lost, _) => next.losses += 1,
            (_, ErrorClass::RateLimited) => next.throttled += 1,
            _ => next.retries += 1,
        }
        self.insert_attempt(next);
        self.items.get_mut(&id.item()).expect("item exists").tries += 1;
        let counters = &mut self.run_mut(old.run).counters;
        counters.running -= 1;
        counters.queued += 1;
        counters.retries += 1;
        self.clean_up_after(id);
    }

    /// After a worker's last word: steps it left open have an unknown outcome, its resource is free.
    pub fn clean_up_after(&mut self, id: AttemptId) {
        for (_, step) in self.steps.range_mut(id.first_step()..=id.last_step()) {
            if let Ok(next) = STEP.next(step.state, StepEvent::MarkUnknown) {
                step.state = next;
            }
        }
        let resource = self.attempts[&id].attempt.resource.clone();
        self.free(resource);
    }
}

fn new_step(id: StepId, intent: StepIntent, now: Time) -> Step {
    Step {
        id,
        key: intent.key,
        kind: intent.kind.clone().into_owned(),
        name: intent.name,
        turn: intent.turn,
        state: StepState::Intent,
        on_unknown: intent.on_unknown,
        input: intent.input,
        output: None,
        failure: None,
        usage: Usage::default(),
        reused_from: None,
        started_at: now,
        ended_at: None,
    }
}

/// Whether it was open until now.
fn finish(step: &mut Step, result: StepResult, now: Time) -> bool {
    let event = match result {
        StepResult::Done { .. } => StepEvent::Finish,
        StepResult::Failed { .. } => StepEvent::Fail,
    };
    let Ok(next) = STEP.next(step.state, event) else { return false };
    step.state = next;
    step.ended_at = Some(now);
    match result {
        StepResult::Done { output, usage } => {
            step.output = Some(output);
            step.usage = usage;
        }
        StepResult::Failed { failure } => step.failure = Some(failure),
    }
    true
}
