use serde_json::json;
use windrow_model::record::LogLevel;
use windrow_model::state::{AttemptEvent, ITEM, ItemEvent, ItemState, Outcome};
use windrow_model::store::{Archived, Result};
use windrow_model::{AttemptId, ItemId, Json, RunId, Ticket, Time};

use super::world::World;

impl World {
    pub fn archive(&mut self, ticket: Ticket, limit: usize, now: Time) -> Result<Archived> {
        let run = self.check_ticket(ticket)?.id;
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
            settled.push((id.item(), state));
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
            settled.push((id.item(), item.state));
        }
        let counters = &mut self.run_mut(run).counters;
        counters.queued -= page.len() as i64;
        counters.cancelled += page.len() as i64;
        self.emit_archived(run, &settled, now);
        Ok(page.len() as i64)
    }

    /// One event per batch, not per item: the outbox is written in the hot path.
    fn emit_archived(&mut self, run: RunId, settled: &[(ItemId, ItemState)], now: Time) {
        if settled.is_empty() {
            return;
        }
        let items: Vec<_> = settled.iter().map(|(id, state)| json!({ "id": id, "state": state })).collect();
        self.emit(run, "items_archived", Json::of(&json!({ "items": items })), now);
    }
}
