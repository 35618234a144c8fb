//! Report: a worker's steps and its last word, under its lease. A stale worker changes nothing; a
//! report whose answer was lost is recognised.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use rusqlite::{CachedStatement, Connection};
use windrow_model::counters::Counters;
use windrow_model::state::{ATTEMPT, AttemptEvent, AttemptState, Outcome, RunState};
use windrow_model::store::{Ending, Receipt, Report, StepWrite};
use windrow_model::{JobId, RunId, Time};

use super::attempts::{self, Thin};
use super::cells::Cells;
use super::fault::Result;
use super::{ending, runs, scores, steps};

/// What a batch of reports learns of its runs and does to their counters, written once at the end;
/// and the statements nearly every report needs, fetched once.
pub(super) struct Batch<'tx> {
    pub tx: &'tx Connection,
    pub now: Time,
    pub read: Kept<'tx>,
    pub begin_step: Kept<'tx>,
    pub finish_step: Kept<'tx>,
    pub open_steps: Kept<'tx>,
    pub hand_in: Kept<'tx>,
    pub keep_score: Kept<'tx>,
    runs: BTreeMap<RunId, RunFacts>,
}

/// A statement taken from the connection's cache when first needed, and kept until the batch is done.
pub(super) struct Kept<'tx> {
    sql: &'static str,
    stmt: Option<CachedStatement<'tx>>,
}

impl<'tx> Kept<'tx> {
    fn new(sql: &'static str) -> Self {
        Self { sql, stmt: None }
    }

    pub fn on(&mut self, tx: &'tx Connection) -> Result<&mut CachedStatement<'tx>> {
        match &mut self.stmt {
            Some(stmt) => Ok(stmt),
            empty => Ok(empty.insert(tx.prepare_cached(self.sql)?)),
        }
    }
}

struct RunFacts {
    job: JobId,
    state: RunState,
    moved: Counters,
}

pub(super) fn report(tx: &Connection, reports: &[Report], now: Time) -> Result<Vec<Receipt>> {
    let mut batch = Batch::open(tx, now);
    let receipts = reports.iter().map(|report| batch.receive(report)).collect::<Result<_>>()?;
    batch.close()?;
    Ok(receipts)
}

impl<'tx> Batch<'tx> {
    pub fn open(tx: &'tx Connection, now: Time) -> Self {
        Self {
            tx,
            now,
            read: Kept::new(attempts::READ),
            begin_step: Kept::new(steps::INSERT),
            finish_step: Kept::new(&steps::FINISH),
            open_steps: Kept::new(&steps::OPEN),
            hand_in: Kept::new(&ending::HAND_IN),
            keep_score: Kept::new(scores::KEEP),
            runs: BTreeMap::new(),
        }
    }

    pub fn close(self) -> Result<()> {
        self.runs.iter().try_for_each(|(run, facts)| runs::move_counters(self.tx, *run, &facts.moved))
    }

    fn receive(&mut self, report: &Report) -> Result<Receipt> {
        let Report { lease, steps, ending } = report;
        let Some(attempt) = attempts::thin(self.read.on(self.tx)?, lease.attempt)? else { return Ok(Receipt::Stale) };
        if !attempt.is_of(*lease) {
            return Ok(Receipt::Stale);
        }
        if !ATTEMPT.allows(attempt.state, AttemptEvent::Renew) {
            return Ok(if ended_so(&attempt, ending) { Receipt::Repeated } else { Receipt::Stale });
        }
        let begins = |write: &&StepWrite| matches!(write, StepWrite::Begin { .. });
        let stop = steps.iter().any(|write| begins(&write)) && self.facts(lease.run)?.state.stops_items();
        // What was finished is kept either way; it has been paid for.
        for write in steps.iter().filter(|write| !stop || !begins(write)) {
            steps::write(self, attempt.id, write)?;
        }
        if stop {
            return Ok(Receipt::Stop);
        }
        ending::end(self, &attempt, ending)?;
        Ok(Receipt::Accepted)
    }

    pub fn job_of(&mut self, run: RunId) -> Result<JobId> {
        Ok(self.facts(run)?.job)
    }

    /// The run's counters, as this batch moves them.
    pub fn moved(&mut self, run: RunId) -> Result<&mut Counters> {
        Ok(&mut self.facts(run)?.moved)
    }

    fn facts(&mut self, run: RunId) -> Result<&mut RunFacts> {
        match self.runs.entry(run) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(unknown) => {
                let mut stmt = self.tx.prepare_cached("SELECT job_id, state FROM runs WHERE id = ?1")?;
                let facts = stmt.query_row([run.0], |row| {
                    let mut c = Cells::of(row);
                    Ok(RunFacts { job: JobId(c.get()?), state: c.word()?, moved: Counters::default() })
                })?;
                Ok(unknown.insert(facts))
            }
        }
    }
}

/// The answer to the first delivery was lost, and this is the second.
fn ended_so(attempt: &Thin, ending: &Ending) -> bool {
    use AttemptState::*;
    match ending {
        Ending::HandIn { outcome, .. } => {
            matches!(attempt.state, Logged | Resulted) && attempt.outcome == Some(*outcome)
        }
        Ending::Release { .. } => attempt.state == Resulted && attempt.outcome == Some(Outcome::Retried),
        Ending::GiveBack => attempt.state == Queued,
        Ending::None | Ending::Partial { .. } => false,
    }
}
