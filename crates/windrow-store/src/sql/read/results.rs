//! What a run made of its items. Unlike the snapshot this is also there once a later run has redone
//! them: an attempt keeps its scores.

use windrow_model::record::{BadScore, ItemResult};
use windrow_model::state::{AttemptState, Outcome};
use windrow_model::step::Verdict;
use windrow_model::{AttemptId, ItemId, RunId};

use crate::backend::failure::Result;
use crate::backend::{self, Connection, Dialect, Sql, params};
use crate::sql::cells::Cells;
use crate::sql::codes::{attempts_per_item, code, in_states};
use crate::sql::table::runs;
use crate::sql::table::scores::{self, Part, own_column};

/// Items with the attempt that the run bound to `run` handed in for good: at most one each.
pub(crate) fn handed_in(d: Dialect, run: &str) -> String {
    let per_item = attempts_per_item();
    let followed = [Outcome::Retried, Outcome::Lost].map(|outcome| code(outcome).to_string()).join(",");
    let attempt = format!(
        "a.id > i.id * {per_item} AND a.id < (i.id + 1) * {per_item} \
         AND a.run_id = {run} AND a.{} AND a.outcome NOT IN ({followed})",
        in_states(&[AttemptState::Resulted])
    );
    format!("items i {}", d.each_by_key("attempts", "a", &attempt))
}

pub(crate) static PAGE: Sql = Sql::new(|d| {
    format!(
        "SELECT i.id, i.ordinal, a.id, a.outcome, a.error_class, a.error_message, a.latency_ms, a.tokens_in, \
         a.tokens_out, a.cost_nanos FROM {} WHERE i.job_id = ?1 AND i.id > ?3 ORDER BY i.id LIMIT ?4",
        handed_in(d, "?2")
    )
});

pub(crate) fn results(conn: &Connection, run: RunId, after: Option<ItemId>, limit: usize) -> Result<Vec<ItemResult>> {
    let run = runs::run(conn, run)?;
    let mut stmt = conn.prepare_cached(&PAGE)?;
    let after = after.map_or(-1, |after| after.0);
    let found = stmt.query_map(params![run.job.0, run.id.0, after, limit as i64], |row| {
        let mut c = Cells::of(row);
        Ok(ItemResult {
            item: ItemId(c.get()?),
            ordinal: c.get()?,
            attempt: AttemptId(c.get()?),
            outcome: c.coded()?,
            error: c.error()?,
            latency_ms: c.get()?,
            usage: c.usage()?,
            scores: Vec::new(),
        })
    })?;
    let mut page: Vec<ItemResult> = found.collect::<backend::Result<_>>()?;
    let scores = scores::of_attempts(conn, page.iter().map(|result| result.attempt))?;
    page.iter_mut().zip(scores).for_each(|(result, scores)| result.scores = scores);
    Ok(page)
}

/// SQLite keeps only the best `?3` while it sorts.
pub(crate) static WORST: Sql = Sql::new(|d| {
    format!(
        "SELECT i.id, i.ordinal, a.id, s.name, s.version, s.turn, s.verdict, s.value, s.reason FROM {} {} WHERE i.job_id = ?1 AND s.verdict IN ({}, {error}) \
         AND {} \
         ORDER BY s.verdict = {error}, s.value IS NOT NULL, s.value, i.id, s.turn, s.name LIMIT ?3",
        handed_in(d, "?2"),
        d.each("scores", "s", &format!("s.attempt_id = a.id AND s.part = {}", Part::Whole as i64)),
        code(Verdict::Fail),
        own_column(d),
        error = code(Verdict::Error),
    )
});

pub(crate) fn worst(conn: &Connection, run: RunId, limit: usize) -> Result<Vec<BadScore>> {
    let run = runs::run(conn, run)?;
    let mut stmt = conn.prepare_cached(&WORST)?;
    let found = stmt.query_map(params![run.job.0, run.id.0, limit as i64], |row| {
        let mut c = Cells::of(row);
        Ok(BadScore {
            item: ItemId(c.get()?),
            ordinal: c.get()?,
            attempt: AttemptId(c.get()?),
            score: scores::from_cells(&mut c)?,
        })
    })?;
    Ok(found.collect::<backend::Result<_>>()?)
}
