//! Recount: the counters as the rows say they should be. It walks the job's items and their tries,
//! since no index holds finished attempts by run.

use windrow_model::RunId;
use windrow_model::counters::Counters;
use windrow_model::state::{AttemptState, Outcome};

use super::cells::Cells;
use super::codes::{Sql, attempts_per_item, code, in_states};
use super::db::Connection;
use super::fault::Result;
use super::runs;

/// The tries of item `i`, for a join.
pub(crate) fn tries_of_item() -> String {
    let per_item = attempts_per_item();
    format!("a.id > i.id * {per_item} AND a.id <= i.id * {per_item} + i.tries")
}

pub(crate) static RECOUNT: Sql = Sql::new(|| {
    use AttemptState::*;
    let over = |outcome: Outcome| format!("a.{} AND a.outcome = {}", in_states(&[Resulted]), code(outcome));
    let tallies: Vec<String> = [
        "a.retries + a.losses + a.throttled = 0".to_owned(),
        format!("a.{}", in_states(&[Queued, Blocked])),
        format!("a.{}", in_states(&[Running, Logged])),
        over(Outcome::Succeeded),
        over(Outcome::Failed),
        over(Outcome::Cancelled),
        over(Outcome::Skipped),
        format!("({}) OR ({})", over(Outcome::Retried), over(Outcome::Lost)),
    ]
    .iter()
    .map(|condition| format!("count(CASE WHEN {condition} THEN 1 END)"))
    .collect();
    format!(
        "SELECT {} FROM items i CROSS JOIN attempts a ON {} WHERE i.job_id = ?1 AND a.run_id = ?2",
        tallies.join(", "),
        tries_of_item()
    )
});

pub(crate) fn recount(conn: &Connection, run: RunId) -> Result<Counters> {
    let run = runs::run(conn, run)?;
    let counted = conn.prepare_cached(&RECOUNT)?.query_row([run.job.0, run.id.0], |row| Cells::of(row).counters())?;
    Ok(counted)
}
