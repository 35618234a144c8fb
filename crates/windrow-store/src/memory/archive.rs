use windrow_model::event::{self, ArchivedItem, ErrorNote, ScoreNote};
use windrow_model::record::{LogLevel, Run};
use windrow_model::state::{AttemptEvent, ITEM, ItemEvent, Mode, Outcome};
use windrow_model::step::{ANSWERING, Usage};
use windrow_model::store::{Archived, Result};
use windrow_model::{AttemptId, RunId, Ticket, Time};

use super::world::World;

impl World {
    pub fn archive(&mut self, ticket: Ticket, limit: usize, now: Time) -> Result<Archived> {
        let Run { id: run, mode, .. } = *self.check_ticket(ticket)?;
        let page: Vec<AttemptId> = self.logged_in(run).take(limit).collect();
        let mut settled = Vec::with_capacity(page.len());
        for &id in &page {
            self.change_attempt(id, AttemptEvent::Archive, |_| {});
            let row = &self.attempts[&id];
            let outcome = row.attempt.outcome.expect("handed in with an outcome");
            let event = ItemEvent::of(outcome).expect("handed in for good");
            let (error, latency_ms, usage, scores) =
                (row.attempt.error.clone(), row.latency_ms, row.usage, row.scores.clone());
            let item = self.items.get_mut(&id.item()).expect("item exists");
            item.state = ITEM.next(item.state, event).expect("one live attempt per item");
            item.archived = Some(id);
            item.error = error.clone();
            item.latency_ms = Some(latency_ms);
            item.usage = usage;
            item.finished_at = Some(now);
            item.scores = scores;
            let state = item.state;
            let mut settled_item = ArchivedItem {
                id: id.item(),
                ordinal: item.ordinal,
                state,
                latency_ms: Some(latency_ms),
                usage,
                error: error.as_ref().map(ErrorNote::of),
                output: None,
                scores: ScoreNote::all(&item.scores),
            };
            if mode == Mode::Online {
                self.add_answers(&mut settled_item, id);
            }
            settled.push(settled_item);
            let counters = &mut self.run_mut(run).counters;
            counters.running -= 1;
            counters.add(state, 1);
            if let (Outcome::Failed, Some((class, message))) = (outcome, error) {
                let message = format!("{class}: {message}");
                self.log_system(run, Some(id.item()), LogLevel::Error, "item_failed", message, now);
            }
        }
        self.emit_archived(run, &settled, now);
        if !page.is_empty() {
            self.after_archiving(run, now);
        }
        Ok(Archived { items: page.len() as i64, more: page.len() == limit })
    }

    fn add_answers(&self, settled: &mut ArchivedItem, attempt: AttemptId) {
        for step in self.steps.range(attempt.first_step()..=attempt.last_step()).map(|(_, step)| step) {
            let made = step.reused_from.and_then(|from| self.steps.get(&from)).unwrap_or(step);
            if let Some(output) = made.output.as_ref().filter(|_| ANSWERING.contains(&step.kind.as_str())) {
                event::add_answer(settled, &step.kind, output);
            }
        }
    }

    pub fn cancel_items(&mut self, ticket: Ticket, limit: usize, now: Time) -> Result<i64> {
        let run = self.check_ticket(ticket)?;
        if !run.state.is_stopping() {
            return Ok(0);
        }
        let run = run.id;
        let blocked = self.blocked.iter().filter(|(_, r, _)| *r == run).map(|(_, _, id)| *id);
        let waiting = self.queued_in(run).map(|(_, id)| id).chain(blocked);
        let page: Vec<AttemptId> = waiting.take(limit).collect();
        let mut settled = Vec::with_capacity(page.len());
        for &id in &page {
            self.change_attempt(id, AttemptEvent::Cancel, |row| {
                row.attempt.outcome = Some(Outcome::Cancelled);
                row.attempt.ended_at = Some(now);
            });
            let item = self.items.get_mut(&id.item()).expect("item exists");
            item.state = ITEM.next(item.state, ItemEvent::Cancel).expect("one live attempt per item");
            item.finished_at = Some(now);
            settled.push(ArchivedItem {
                id: id.item(),
                ordinal: item.ordinal,
                state: item.state,
                latency_ms: None,
                usage: Usage::default(),
                error: None,
                output: None,
                scores: Vec::new(),
            });
        }
        let counters = &mut self.run_mut(run).counters;
        counters.queued -= page.len() as i64;
        counters.cancelled += page.len() as i64;
        self.emit_archived(run, &settled, now);
        Ok(page.len() as i64)
    }

    /// Events of many items, not one each: the outbox is written in the hot path.
    fn emit_archived(&mut self, run: RunId, settled: &[ArchivedItem], now: Time) {
        let counts = self.runs[&run].counters;
        event::archived(counts, settled).for_each(|body| self.emit(run, event::ITEMS_ARCHIVED, body, now));
    }
}
