//! Writes of a batch of reports that are gathered and sent as sets, where every statement would be a journey over
//! the network. What they would have changed is known beforehand: the attempts are held, so that nobody else
//! writes their steps, and what there is of them was read at the start.

use std::collections::{BTreeMap, HashMap, HashSet};

use windrow_model::state::{STEP, StepEvent, StepState};
use windrow_model::step::Score;
use windrow_model::store::{Ending, Report, StepWrite};
use windrow_model::{AttemptId, RunId, StepId};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{Cell, Connection, ForRows};
use crate::sql::cells::Cells;
use crate::sql::table::scores::{self, Part};
use crate::sql::table::{shared, steps};
use crate::sql::verb::ended_attempts;

pub(crate) type StepRow<'a> = [Cell<'a>; 19];
pub(crate) type ScoreKey<'a> = (AttemptId, i64, i64, &'a str);

#[derive(Default)]
pub(crate) struct Deferred<'a> {
    /// Steps without a result, by their attempt.
    unsettled: HashMap<AttemptId, HashMap<StepId, StepState>>,
    known: HashSet<StepId>,
    begun: Vec<StepRow<'a>>,
    finished: Vec<[Cell<'a>; 6]>,
    failed: Vec<[Cell<'a>; 6]>,
    lost: Vec<[Cell<'a>; 1]>,
    pub handed_in: Vec<[Cell<'a>; 10]>,
    /// The last of two equal ones counts.
    scores: BTreeMap<ScoreKey<'a>, [Cell<'a>; 8]>,
    pub shared: Vec<(RunId, StepId)>,
}

impl<'a> Deferred<'a> {
    /// Reads the steps of these attempts, which are locked.
    pub fn read(tx: &Connection, reports: &[Report]) -> Result<Self> {
        let moved: HashSet<AttemptId> = reports.iter().filter(|report| settles(report)).map(attempt_of).collect();
        let mut deferred = Self::of_moved(tx, moved.into_iter().collect())?;
        let new: Vec<StepId> = reports.iter().flat_map(begun).collect();
        let ids: Vec<[Cell; 1]> = new.iter().map(|id| [Cell::Int(id.0)]).collect();
        tx.query_many(&steps::EXISTS, &ids, |n, _| {
            deferred.known.insert(new[n]);
            Ok(())
        })?;
        Ok(deferred)
    }

    /// As `read`, for attempts that begin no step.
    pub fn of_moved(tx: &Connection, moved: Vec<AttemptId>) -> Result<Self> {
        let mut deferred = Self::default();
        let ranges: Vec<[Cell; 2]> =
            moved.iter().map(|id| [Cell::Int(id.first_step().0), Cell::Int(id.last_step().0)]).collect();
        tx.query_many(&steps::UNSETTLED, &ranges, |n, row| {
            let mut c = Cells::of(row);
            deferred.unsettled.entry(moved[n]).or_default().insert(StepId(c.get()?), c.coded()?);
            Ok(())
        })?;
        Ok(deferred)
    }

    /// Returns how many rows that makes: none if the step is there already.
    pub fn begin(&mut self, attempt: AttemptId, id: StepId, state: StepState, row: StepRow<'a>) -> usize {
        if !self.known.insert(id) {
            return 0;
        }
        if STEP.allows(state, StepEvent::Finish) {
            self.unsettled.entry(attempt).or_default().insert(id, state);
        }
        self.begun.push(row);
        1
    }

    pub fn finish(&mut self, attempt: AttemptId, id: StepId, row: [Cell<'a>; 6], failed: bool) -> usize {
        let Some(_) = self.unsettled.get_mut(&attempt).and_then(|steps| steps.remove(&id)) else { return 0 };
        if failed { &mut self.failed } else { &mut self.finished }.push(row);
        1
    }

    pub fn mark_unknown(&mut self, attempt: AttemptId) {
        let unsettled = self.unsettled.remove(&attempt).unwrap_or_default();
        let open = unsettled.into_iter().filter(|(_, state)| STEP.allows(*state, StepEvent::MarkUnknown));
        self.lost.extend(open.map(|(id, _)| [Cell::Int(id.0)]));
    }

    pub fn keep_scores(&mut self, attempt: AttemptId, part: Part, scores: &'a [Score]) {
        for score in scores {
            let key = (attempt, part as i64, i64::from(score.turn), score.name.as_str());
            self.scores.insert(key, scores::row(attempt, part, score));
        }
    }

    /// Sends what was gathered, each kind in one statement.
    pub fn flush(&mut self, tx: &Connection) -> Result<()> {
        send(tx, &steps::INSERT, &mut self.begun, "begun steps")?;
        send(tx, &steps::FINISH, &mut self.finished, "finished steps")?;
        send(tx, &steps::FAIL, &mut self.failed, "failed steps")?;
        send(tx, &steps::MARK_UNKNOWN, &mut self.lost, "open steps")?;
        send(tx, &ended_attempts::HAND_IN, &mut self.handed_in, "attempts handed in")?;
        let mut scores: Vec<[Cell; 8]> = std::mem::take(&mut self.scores).into_values().collect();
        send(tx, &scores::KEEP, &mut scores, "scores")?;
        shared::share(tx, &std::mem::take(&mut self.shared))
    }
}

fn attempt_of(report: &Report) -> AttemptId {
    report.lease.attempt
}

/// Whether steps that stand in the table may be settled by it. One that only begins another leaves them alone.
fn settles(report: &Report) -> bool {
    let finishes = |write: &StepWrite| matches!(write, StepWrite::Finish { .. });
    ends(report) || report.steps.iter().any(finishes)
}

fn ends(report: &Report) -> bool {
    !matches!(report.ending, Ending::None | Ending::Partial { .. })
}

fn begun(report: &Report) -> impl Iterator<Item = StepId> {
    report.steps.iter().filter_map(|write| match write {
        StepWrite::Begin { no, .. } | StepWrite::Whole { no, .. } | StepWrite::Reuse { no, .. } => {
            Some(StepId::new(report.lease.attempt, *no))
        }
        StepWrite::Finish { .. } => None,
    })
}

fn send<const N: usize>(tx: &Connection, sql: &impl ForRows, rows: &mut Vec<[Cell; N]>, what: &str) -> Result<()> {
    let rows = std::mem::take(rows);
    expect_rows(tx.execute_many(sql, &rows)?, rows.len(), what)
}
