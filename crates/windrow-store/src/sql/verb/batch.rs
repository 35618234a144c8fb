//! A batch of reports: what it learns of its runs and does to them is gathered and written once, at the end.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

use windrow_model::counters::Counters;
use windrow_model::event::{self, PartialItem};
use windrow_model::record::RunLimits;
use windrow_model::state::{ATTEMPT, AttemptEvent, Mode, Outcome, RUN, RunEvent, RunState};
use windrow_model::step::Usage;
use windrow_model::{AttemptId, ItemId, JobId, Json, RunId, Time};

use crate::backend::Connection;
use crate::backend::failure::Result;
use crate::sql::cells::Cells;
use crate::sql::codes::goal;
use crate::sql::table::attempts::AttemptHead;
use crate::sql::table::{journal, result_changes, runs};
use crate::sql::verb::deferred::Deferred;
use crate::sql::verb::{ended_attempts, request_transition};

/// What a batch of reports learns of its runs and does to them, written once at the end.
pub(crate) struct Batch<'tx> {
    pub tx: &'tx Connection,
    pub now: Time,
    /// Writes that go out together.
    pub deferred: Deferred<'tx>,
    pub endings: ended_attempts::Gathered<'tx>,
    /// Attempts with what this batch did to them. On a server all that it locked, in a file those that it ended.
    pub known: HashMap<AttemptId, AttemptHead>,
    runs: BTreeMap<RunId, RunFacts>,
    /// Items whose rows show something else.
    changed: BTreeMap<RunId, Vec<ItemId>>,
}

pub(crate) struct RunFacts {
    job: JobId,
    mode: Mode,
    pub state: RunState,
    limits: RunLimits,
    /// Before this batch and by it.
    spent: Usage,
    spent_now: Usage,
    /// Steps of it were reported.
    pub heard: bool,
    moved: Counters,
    /// Items at work that showed something.
    shown: Vec<PartialItem>,
}

impl RunFacts {
    pub fn exhausted(&self) -> Option<String> {
        self.limits.exhausted_by(&self.spent)
    }
}

impl<'tx> Batch<'tx> {
    /// The attempts are locked.
    pub fn open(
        tx: &'tx Connection,
        known: HashMap<AttemptId, AttemptHead>,
        deferred: Deferred<'tx>,
        now: Time,
    ) -> Self {
        Self {
            tx,
            now,
            deferred,
            endings: ended_attempts::Gathered::default(),
            known,
            runs: BTreeMap::new(),
            changed: BTreeMap::new(),
        }
    }

    pub fn close(mut self) -> Result<()> {
        self.flush()?;
        for (run, items) in std::mem::take(&mut self.changed) {
            result_changes::note(self.tx, self.job_of(run)?, items)?;
        }
        for (run, facts) in &self.runs {
            runs::move_counters(self.tx, *run, &facts.moved)?;
            if facts.spent_now != Usage::default() {
                runs::spend(self.tx, *run, &facts.spent_now)?;
            }
            let shown: Vec<Json> = event::partial(&facts.shown).collect();
            journal::emit_all(self.tx, (facts.job, *run), event::ITEMS_PARTIAL, &shown, self.now)?;
            // What is in flight finishes its call; nothing else begins.
            if let (true, Some(reason), Ok(_)) =
                (facts.heard, facts.exhausted(), RUN.next(facts.state, RunEvent::Pause))
            {
                request_transition::request_transition(
                    self.tx,
                    *run,
                    RunEvent::Pause,
                    "system".to_owned(),
                    Some(reason),
                    self.now,
                )?;
            }
        }
        Ok(())
    }

    /// Writes what was put off.
    pub fn flush(&mut self) -> Result<()> {
        self.deferred.flush(self.tx)?;
        self.endings.send(self.tx, self.now)
    }

    /// What the row of its item shows is another from now on.
    pub fn changed(&mut self, attempt: &AttemptHead) {
        self.changed.entry(attempt.run).or_default().push(attempt.id.item());
    }

    /// Another report may be about the attempt before its ending is written.
    pub fn ended(&mut self, attempt: &AttemptHead, event: AttemptEvent, outcome: Option<Outcome>) {
        self.known.insert(attempt.id, AttemptHead { state: goal(&ATTEMPT, event), outcome, ..attempt.clone() });
    }

    /// Told at the end of the batch.
    pub fn show(&mut self, run: RunId, item: PartialItem) -> Result<()> {
        self.facts(run)?.shown.push(item);
        Ok(())
    }

    pub fn job_of(&mut self, run: RunId) -> Result<JobId> {
        Ok(self.facts(run)?.job)
    }

    pub fn limits_of(&mut self, run: RunId) -> Result<&RunLimits> {
        Ok(&self.facts(run)?.limits)
    }

    pub fn mode_of(&mut self, run: RunId) -> Result<Mode> {
        Ok(self.facts(run)?.mode)
    }

    pub fn spend(&mut self, run: RunId, used: Usage) -> Result<()> {
        if used != Usage::default() {
            let facts = self.facts(run)?;
            facts.spent += used;
            facts.spent_now += used;
        }
        Ok(())
    }

    /// The run's counters, as this batch moves them.
    pub fn moved(&mut self, run: RunId) -> Result<&mut Counters> {
        Ok(&mut self.facts(run)?.moved)
    }

    pub fn facts(&mut self, run: RunId) -> Result<&mut RunFacts> {
        match self.runs.entry(run) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(unknown) => {
                let mut stmt = self.tx.prepare_cached(
                    "SELECT job_id, mode, state, concurrency, max_losses, max_tokens, max_cost_nanos, max_failed, keep_going, \
                     spent_tokens_in, spent_tokens_out, spent_cost_nanos FROM runs WHERE id = ?1",
                )?;
                let facts = stmt.query_row([run.0], |row| {
                    let mut c = Cells::of(row);
                    Ok(RunFacts {
                        job: JobId(c.get()?),
                        mode: c.word()?,
                        state: c.word()?,
                        limits: runs::limits(&mut c)?,
                        spent: c.usage()?,
                        spent_now: Usage::default(),
                        heard: false,
                        moved: Counters::default(),
                        shown: Vec::new(),
                    })
                })?;
                Ok(unknown.insert(facts))
            }
        }
    }
}
