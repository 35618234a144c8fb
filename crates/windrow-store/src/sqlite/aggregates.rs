//! Aggregates over a run's items. One walk over the snapshot, one over its scores; only sums and a
//! tally per distinct latency are kept in memory.

use std::collections::BTreeMap;

use rusqlite::Connection;
use windrow_model::RunId;
use windrow_model::aggregate::{Aggregates, Percentiles, ScoreSummary};
use windrow_model::state::ItemState;
use windrow_model::step::Verdict;

use super::cells::Cells;
use super::fault::Result;
use super::runs;

/// An item that the run took on and has not redone still shows its earlier result, which is not this
/// run's: only results of the run's own attempts count.
pub(super) const SNAPSHOT: &str = "SELECT i.state, a.latency_ms, a.tokens_in, a.tokens_out, a.cost_nanos FROM items i \
     CROSS JOIN attempts a ON a.id = i.archived WHERE i.job_id = ?1 AND i.run_id = ?2 AND a.run_id = ?2 ORDER BY i.id";
pub(super) const SCORES: &str = "SELECT s.verdict, s.value, s.name FROM items i CROSS JOIN attempts a ON a.id = i.archived \
     CROSS JOIN scores s ON s.attempt_id = a.id AND s.part = i.archived_part \
     WHERE i.job_id = ?1 AND i.run_id = ?2 AND a.run_id = ?2 ORDER BY i.id, s.turn, s.name";

pub(super) fn aggregates(conn: &Connection, run: RunId) -> Result<Aggregates> {
    let run = runs::run(conn, run)?;
    let mut all = Aggregates::default();
    let mut latencies: BTreeMap<i64, i64> = BTreeMap::new();
    let mut stmt = conn.prepare_cached(SNAPSHOT)?;
    let mut rows = stmt.query([run.job.0, run.id.0])?;
    while let Some(row) = rows.next()? {
        let mut c = Cells::of(row);
        let (state, latency_ms) = (c.coded()?, c.get()?);
        all.usage += c.usage()?;
        if let (ItemState::Succeeded, Some(ms)) = (state, latency_ms) {
            *latencies.entry(ms).or_default() += 1;
        }
    }
    all.latency = percentiles(&latencies);
    all.evaluators = evaluators(conn, run.job.0, run.id.0)?;
    Ok(all)
}

fn percentiles(tally: &BTreeMap<i64, i64>) -> Option<Percentiles> {
    let n: i64 = tally.values().sum();
    let at = |percent| {
        let mut before = 0;
        let rank = Percentiles::rank(n, percent);
        tally.iter().find(|(_, times)| {
            before += **times;
            before > rank
        })
    };
    let ms = |percent| at(percent).map(|(ms, _)| *ms);
    if n == 0 {
        return None;
    }
    Some(Percentiles { p50: ms(50)?, p90: ms(90)?, p99: ms(99)? })
}

fn evaluators(conn: &Connection, job: i64, run: i64) -> Result<BTreeMap<String, ScoreSummary>> {
    let mut found: BTreeMap<String, (ScoreSummary, f64, i64)> = BTreeMap::new();
    let mut stmt = conn.prepare_cached(SCORES)?;
    let mut rows = stmt.query([job, run])?;
    while let Some(row) = rows.next()? {
        let mut c = Cells::of(row);
        let (verdict, value, name) = (c.coded()?, c.get()?, c.get::<String>()?);
        let (summary, sum, n) = found.entry(name).or_default();
        summary.count(verdict, 1);
        if let (Verdict::Pass | Verdict::Fail, Some(value)) = (verdict, value) {
            summary.distribution[ScoreSummary::bin(value)] += 1;
            *sum += value;
            *n += 1;
        }
    }
    let with_mean = |(name, (summary, sum, n)): (String, (ScoreSummary, f64, i64))| {
        (name, ScoreSummary { mean: (n > 0).then(|| sum / n as f64), ..summary })
    };
    Ok(found.into_iter().map(with_mean).collect())
}
