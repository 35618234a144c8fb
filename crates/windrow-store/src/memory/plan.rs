use std::collections::HashMap;

use windrow_model::ids::MAX_TRIES;
use windrow_model::priority::Priority;
use windrow_model::record::Attempt;
use windrow_model::selection::turn_in_reverse;
use windrow_model::state::{AttemptState, ITEM, ItemEvent, ItemState, Mode, RunState};
use windrow_model::step::{ContentKey, Usage, Verdict};
use windrow_model::store::{NewItem, PlanPage, Planned, Result, Selection, StoreError};
use windrow_model::{AttemptId, ItemId, JobId, Json, RunId, Ticket, Time, event};

use super::world::{ItemRow, World};

/// What to do with one row of a page.
enum Placing {
    Create(ContentKey),
    Requeue(ItemId),
    Skip,
}

impl World {
    pub fn plan_items(&mut self, page: PlanPage, now: Time) -> Result<Planned> {
        let run = self.check_ticket(page.ticket)?;
        let (id, job, mode) = (run.id, run.job, run.mode);
        if run.planned || run.cursor != page.from || !run.state.dispatches() {
            return Ok(Planned { done: run.planned, ..Default::default() });
        }
        // A verb changes nothing when it fails, and running out of tries is the only way to fail.
        for item in &page.items {
            if let Some(known) = self.keys.get(&(job, item.key)).filter(|_| mode != Mode::Append) {
                self.check_tries(*known)?;
            }
        }
        self.check_ids((id, job), page.from.is_none(), &page.items)?;
        let mut planned = Planned { done: page.done, ..Default::default() };
        let mut rows = HashMap::new();
        if page.from.is_none() {
            self.jobs.get_mut(&job).expect("job exists").next_ordinal = 0;
        }
        for item in page.items {
            // Rows are numbered as the source has them now.
            let ordinal = self.ordinal_of(job, &item, &mut rows);
            match self.place(id, job, mode, item.key) {
                Placing::Skip => {
                    let known = self.keys[&(job, item.key)];
                    self.items.get_mut(&known).expect("item exists").ordinal = ordinal;
                    self.note_change(known);
                    planned.skipped += 1;
                }
                Placing::Create(key) => {
                    let place = self.runs[&id].counters.total + planned.taken();
                    self.create_item(id, (place, ordinal), item, key, now);
                    planned.created += 1;
                }
                Placing::Requeue(known) => {
                    let row = self.items.get_mut(&known).expect("item exists");
                    row.ordinal = ordinal;
                    row.priority = item.priority;
                    row.resource = item.resource;
                    row.group = item.group;
                    if item.by_id {
                        row.input = item.input;
                    }
                    let place = self.runs[&id].counters.total + planned.taken();
                    self.requeue_item(id, known, place, item.not_before.unwrap_or(now));
                    planned.requeued += 1;
                }
            }
        }
        let run = self.run_mut(id);
        run.cursor = page.to;
        run.planned = page.done;
        self.count_planned(id, &planned);
        self.emit_planned(id, now);
        Ok(planned)
    }

    /// Once all its items are known.
    fn emit_planned(&mut self, id: RunId, now: Time) {
        let run = &self.runs[&id];
        if run.planned {
            self.emit(id, event::RUN_PLANNED, event::planned(run.counters), now);
        }
    }

    pub fn replan_items(&mut self, ticket: Ticket, selection: &Selection, limit: usize, now: Time) -> Result<Planned> {
        let run = self.check_ticket(ticket)?;
        let (id, job) = (run.id, run.job);
        if run.planned || !run.state.dispatches() {
            return Ok(Planned { done: run.planned, ..Default::default() });
        }
        let after = run.cursor.as_ref().and_then(|cursor| cursor.value()["after"].as_i64());
        let chosen = |(item, row): &(&ItemId, &ItemRow)| {
            let errored = row.scores.iter().filter(|score| score.verdict == Verdict::Error);
            let error = row.error.as_ref().map(|(class, _)| *class);
            row.job == job
                && row.run != id
                && selection.takes((**item, row.wave), row.state, error, errored.map(|score| score.name.as_str()))
        };
        let page: Vec<ItemId> = if selection.reverse {
            let below = ItemId(after.unwrap_or(i64::MAX));
            self.items.range(..below).rev().filter(chosen).map(|(item, _)| *item).take(limit).collect()
        } else {
            let above = ItemId(after.map_or(0, |after| after + 1));
            self.items.range(above..).filter(chosen).map(|(item, _)| *item).take(limit).collect()
        };
        page.iter().try_for_each(|item| self.check_tries(*item))?;
        let run = &self.runs[&id];
        let (first, created_at) = (run.counters.total, run.created_at);
        for (item, place) in page.iter().zip(first..) {
            let start = selection.not_before.map_or(now, |at| at.max(now));
            let due_at = if selection.reverse { turn_in_reverse(created_at, place) } else { start };
            self.requeue_item(id, *item, place, due_at);
        }
        let done = page.len() < limit;
        let run = self.run_mut(id);
        if let Some(last) = page.last() {
            run.cursor = Some(Json::of(&serde_json::json!({ "after": last.0 })));
        }
        run.planned = done;
        let planned = Planned { requeued: page.len() as i64, done, ..Default::default() };
        self.count_planned(id, &planned);
        self.emit_planned(id, now);
        Ok(planned)
    }

    pub fn feed_items(&mut self, id: RunId, items: Vec<NewItem>, now: Time) -> Result<Planned> {
        let run = self.run(id)?;
        let open = matches!(run.state, RunState::Pending | RunState::Running | RunState::Paused);
        if run.mode != Mode::Online || run.planned || !open {
            return Err(StoreError::IntakeClosed);
        }
        let job = run.job;
        let mut planned = Planned::default();
        let mut rows = self.places_of_rows(job, &items);
        for item in items {
            if self.keys.contains_key(&(job, item.key)) {
                planned.skipped += 1;
            } else {
                let (key, place) = (item.key, self.runs[&id].counters.total + planned.taken());
                let ordinal = self.ordinal_of(job, &item, &mut rows);
                self.create_item(id, (place, ordinal), item, key, now);
                planned.created += 1;
            }
        }
        self.count_planned(id, &planned);
        Ok(planned)
    }

    fn place(&self, run: RunId, job: JobId, mode: Mode, key: ContentKey) -> Placing {
        let mut candidate = key;
        for n in 2u64.. {
            match self.keys.get(&(job, candidate)) {
                None => return Placing::Create(candidate),
                Some(_) if mode == Mode::Append => return Placing::Skip,
                Some(item) if self.items[item].run != run => return Placing::Requeue(*item),
                // A second row with the same content: it has a key of its own.
                Some(_) => candidate = key.repeated(n),
            }
        }
        unreachable!("some number is free")
    }

    /// A further item of a row stands where the row stands; any other is the next.
    fn ordinal_of(&mut self, job: JobId, new: &NewItem, rows: &mut HashMap<ContentKey, i64>) -> i64 {
        let group = new.group.filter(|group| *group != new.key);
        let row = |group| rows.get(&group).copied().or_else(|| Some(self.items[self.keys.get(&(job, group))?].ordinal));
        let ordinal = group.and_then(row).unwrap_or_else(|| {
            let ordinals = &mut self.jobs.get_mut(&job).expect("job exists").next_ordinal;
            *ordinals += 1;
            *ordinals - 1
        });
        rows.extend(new.group.map(|group| (group, ordinal)));
        ordinal
    }

    /// Where rows stand of which the job knows an item.
    fn places_of_rows(&self, job: JobId, items: &[NewItem]) -> HashMap<ContentKey, i64> {
        let place = |item: &NewItem| Some((item.group?, self.items[self.keys.get(&(job, item.key))?].ordinal));
        items.iter().rev().filter_map(place).collect()
    }

    /// Two rows of one source never have the same id.
    fn check_ids(&self, (run, job): (RunId, JobId), from_start: bool, items: &[NewItem]) -> Result<()> {
        let mut next = if from_start { 0 } else { self.jobs[&job].next_ordinal };
        let (mut seen, mut rows) = (HashMap::new(), HashMap::new());
        for item in items {
            let group = item.group.filter(|group| *group != item.key);
            let row =
                |group| rows.get(&group).copied().or_else(|| Some(self.items[self.keys.get(&(job, group))?].ordinal));
            let ordinal = group.and_then(row).unwrap_or_else(|| {
                next += 1;
                next - 1
            });
            rows.extend(item.group.map(|group| (group, ordinal)));
            let known = self.keys.get(&(job, item.key)).map(|known| &self.items[known]);
            let taken = known.filter(|row| row.run == run).map(|row| row.ordinal);
            let first = seen.insert(item.key, ordinal).or(taken);
            if let (Some(first), true) = (first, item.by_id) {
                return Err(StoreError::DuplicateId { first, second: ordinal });
            }
        }
        Ok(())
    }

    fn create_item(&mut self, run: RunId, (place, ordinal): (i64, i64), new: NewItem, key: ContentKey, now: Time) {
        let (job, wave) = (self.runs[&run].job, self.runs[&run].wave_at(place));
        self.item_seq += 1;
        let id = ItemId(self.item_seq);
        self.keys.insert((job, key), id);
        let row = ItemRow {
            job,
            run,
            ordinal,
            key,
            group: new.group,
            variant: new.variant.clone(),
            wave,
            priority: new.priority,
            resource: new.resource.clone(),
            state: ItemState::Queued,
            tries: 1,
            archived: None,
            error: None,
            latency_ms: None,
            usage: Usage::default(),
            finished_at: None,
            input: new.input,
            scores: Vec::new(),
        };
        self.items.insert(id, row);
        let due_at = new.not_before.unwrap_or(now);
        self.insert_attempt(queued(AttemptId::new(id, 1), (run, wave), new.priority, new.resource, due_at));
    }

    fn check_tries(&self, item: ItemId) -> Result<()> {
        if self.items[&item].tries >= MAX_TRIES {
            return Err(StoreError::TriesExhausted { item, max: MAX_TRIES });
        }
        Ok(())
    }

    fn requeue_item(&mut self, run: RunId, item: ItemId, place: i64, due_at: Time) {
        let (wave, mode) = (self.runs[&run].wave_at(place), self.runs[&run].mode);
        let row = self.items.get_mut(&item).expect("item exists");
        row.state = ITEM.next(row.state, ItemEvent::Requeue).unwrap_or(row.state);
        row.tries += 1;
        row.run = run;
        if mode.reads_source() {
            row.wave = wave;
        }
        let attempt = queued(AttemptId::new(item, row.tries), (run, wave), row.priority, row.resource.clone(), due_at);
        self.insert_attempt(attempt);
    }

    fn count_planned(&mut self, run: RunId, planned: &Planned) {
        let counters = &mut self.run_mut(run).counters;
        counters.total += planned.taken();
        counters.queued += planned.taken();
    }
}

pub(super) fn queued(
    id: AttemptId,
    (run, wave): (RunId, i64),
    priority: Priority,
    resource: Option<String>,
    due_at: Time,
) -> Attempt {
    Attempt {
        id,
        run,
        wave,
        state: AttemptState::Queued,
        outcome: None,
        partial: false,
        priority,
        due_at,
        fence: 0,
        owner: None,
        resource,
        retries: 0,
        losses: 0,
        throttled: 0,
        error: None,
        started_at: None,
        ended_at: None,
    }
}
