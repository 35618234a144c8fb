use windrow_model::failure::Failure;
use windrow_model::ids::MAX_TRIES;
use windrow_model::record::{LogLevel, Step};
use windrow_model::state::{AttemptEvent, AttemptState, Outcome, STEP, StepEvent, StepState};
use windrow_model::step::{StepIntent, StepResult, Usage};
use windrow_model::store::{Ending, Receipt, Report, StepWrite};
use windrow_model::{AttemptId, Lease, StepId, Time};

use super::plan::queued;
use super::world::World;

impl World {
    pub fn report(&mut self, report: Report, now: Time) -> Receipt {
        let Report { lease, steps, ending } = report;
        if !self.holds(lease) {
            return if self.handed_in_before(lease, &ending) { Receipt::Repeated } else { Receipt::Stale };
        }
        let begins = |write: &StepWrite| matches!(write, StepWrite::Begin { .. });
        let stop = self.runs[&lease.run].state.stops_items() && steps.iter().any(begins);
        // What was finished is kept either way; it has been paid for.
        for write in steps.into_iter().filter(|write| !stop || !begins(write)) {
            self.write_step(lease.attempt, write, now);
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
            Ending::Release { .. } => a.state == AttemptState::Resulted && a.outcome == Some(Outcome::Retried),
            Ending::GiveBack => a.state == AttemptState::Queued,
            Ending::None | Ending::Partial { .. } => false,
        };
        same && a.run == lease.run && a.fence == lease.fence
    }

    fn write_step(&mut self, attempt: AttemptId, write: StepWrite, now: Time) {
        match write {
            StepWrite::Begin { no, intent } => {
                let id = StepId::new(attempt, no);
                self.steps.entry(id).or_insert_with(|| new_step(id, intent, now));
            }
            StepWrite::Finish { no, result } => {
                if let Some(step) = self.steps.get_mut(&StepId::new(attempt, no)) {
                    finish(step, result, now);
                }
            }
            StepWrite::Whole { no, intent, result } => {
                let id = StepId::new(attempt, no);
                self.steps.entry(id).or_insert_with(|| {
                    let mut step = new_step(id, intent, now);
                    finish(&mut step, result, now);
                    step
                });
            }
            StepWrite::Reuse { no, intent, from } => {
                let id = StepId::new(attempt, no);
                self.steps.entry(id).or_insert_with(|| Step {
                    state: StepState::Reused,
                    reused_from: Some(from),
                    ended_at: Some(now),
                    ..new_step(id, intent, now)
                });
            }
        }
    }

    fn end(&mut self, id: AttemptId, ending: Ending, now: Time) {
        match ending {
            Ending::None => {}
            Ending::Partial { scores } => {
                self.change_attempt(id, AttemptEvent::Renew, |row| row.attempt.partial = true);
                let item = self.items.get_mut(&id.item()).expect("item exists");
                item.archived = Some(id);
                item.scores = scores;
            }
            Ending::HandIn { outcome, scores, usage, latency_ms, failure } => {
                self.change_attempt(id, AttemptEvent::HandIn, |row| {
                    row.attempt.outcome = Some(outcome);
                    row.attempt.ended_at = Some(now);
                    row.attempt.error = failure.map(|failure| (failure.class, failure.message));
                    row.latency_ms = latency_ms;
                    row.usage = usage;
                    row.scores = scores;
                });
                self.let_go(id);
            }
            Ending::Release { failure, .. } if id.no() >= MAX_TRIES => {
                let hand_in = Ending::HandIn {
                    outcome: Outcome::Failed,
                    scores: Vec::new(),
                    usage: Usage::default(),
                    latency_ms: 0,
                    failure: Some(failure),
                };
                self.end(id, hand_in, now);
            }
            Ending::Release { failure, not_before } => {
                let run = self.attempts[&id].attempt.run;
                let message = failure.to_string();
                self.try_again(id, AttemptEvent::Release, Outcome::Retried, failure, not_before, now);
                self.log_system(run, Some(id.item()), LogLevel::Warn, "item_retry", message, now);
            }
            Ending::GiveBack => {
                let run = self.attempts[&id].attempt.run;
                self.change_attempt(id, AttemptEvent::GiveBack, |row| {
                    row.attempt.owner = None;
                    row.attempt.due_at = now;
                });
                let counters = &mut self.run_mut(run).counters;
                counters.running -= 1;
                counters.queued += 1;
                self.let_go(id);
            }
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
        self.change_attempt(id, event, |row| {
            row.attempt.outcome = Some(outcome);
            row.attempt.ended_at = Some(now);
            row.attempt.error = Some((failure.class, failure.message));
        });
        let old = self.attempts[&id].attempt.clone();
        let next_id = AttemptId::new(id.item(), id.no() + 1);
        let mut next = queued(next_id, old.run, old.priority, old.resource.clone(), due_at);
        next.retries = old.retries + u32::from(outcome == Outcome::Retried);
        next.losses = old.losses + u32::from(outcome == Outcome::Lost);
        self.insert_attempt(next);
        self.items.get_mut(&id.item()).expect("item exists").tries += 1;
        let counters = &mut self.run_mut(old.run).counters;
        counters.running -= 1;
        counters.queued += 1;
        counters.retries += 1;
        self.let_go(id);
    }

    /// After a worker's last word: steps it left open have an unknown outcome, its resource is free.
    pub fn let_go(&mut self, id: AttemptId) {
        for (_, step) in self.steps.range_mut(id.first_step()..=id.last_step()) {
            if let Ok(next) = STEP.next(step.state, StepEvent::LoseSight) {
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
        kind: intent.kind.to_owned(),
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

fn finish(step: &mut Step, result: StepResult, now: Time) {
    let event = match result {
        StepResult::Done { .. } => StepEvent::Finish,
        StepResult::Failed { .. } => StepEvent::Fail,
    };
    let Ok(next) = STEP.next(step.state, event) else { return };
    step.state = next;
    step.ended_at = Some(now);
    match result {
        StepResult::Done { output, usage } => {
            step.output = Some(output);
            step.usage = usage;
        }
        StepResult::Failed { failure } => step.failure = Some(failure),
    }
}
