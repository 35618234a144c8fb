//! One row per attempt that has ended: what it answered, what it cost, how it ended. Scores are those of the attempt that
//! ended the item in its run; an attempt that was retried has none.

use std::collections::HashMap;

use serde_json::Value;
use windrow_jobfile::dataset::write::Column;
use windrow_model::record::{Attempt, ItemDetail, ItemResult, Run};
use windrow_model::state::Outcome;
use windrow_model::step::Usage;
use windrow_model::{AttemptId, ItemId};

use crate::app::App;
use crate::app::views::scan::Scanned;
use crate::error::Result;

pub const COLUMNS: &[(&str, Column)] = &[("attempt", Column::Integer), ("attempt_outcome", Column::Text)];

pub fn cells(attempt: &Attempt) -> [(&'static str, Value); 2] {
    let outcome = attempt.outcome.map(Outcome::as_str);
    [(COLUMNS[0].0, attempt.id.no().into()), (COLUMNS[1].0, outcome.into())]
}

/// The attempts of these runs at a page of items.
pub async fn of<'a>(
    app: &App,
    runs: &[&Run],
    page: &'a [Scanned],
) -> Result<Vec<(&'a ItemDetail, &'a Attempt, ItemResult)>> {
    let (Some((first, _)), Some((last, _))) = (page.first(), page.last()) else { return Ok(Vec::new()) };
    let mut made: HashMap<AttemptId, ItemResult> = HashMap::new();
    for run in runs {
        let after = Some(ItemId(first.item.id.0 - 1));
        let results = app.store.results(run.id, after, page.len()).await?;
        let own = results.into_iter().filter(|result| result.item <= last.item.id);
        made.extend(own.map(|result| (result.attempt, result)));
    }
    let mut rows = Vec::new();
    for (detail, _) in page {
        for attempt in detail.attempts.iter().filter(|attempt| runs.iter().any(|run| run.id == attempt.run)) {
            let Some(outcome) = attempt.outcome else { continue };
            let result = made.remove(&attempt.id).unwrap_or_else(|| without_scores(detail, attempt, outcome));
            rows.push((detail, attempt, result));
        }
    }
    Ok(rows)
}

fn without_scores(detail: &ItemDetail, attempt: &Attempt, outcome: Outcome) -> ItemResult {
    let own = detail.steps.iter().filter(|step| step.id.attempt() == attempt.id && step.reused_from.is_none());
    let mut usage = Usage::default();
    own.for_each(|step| usage += step.usage);
    let latency_ms = match (attempt.started_at, attempt.ended_at) {
        (Some(started), Some(ended)) => ended.0 - started.0,
        _ => 0,
    };
    ItemResult {
        item: detail.item.id,
        ordinal: detail.item.ordinal,
        attempt: attempt.id,
        outcome,
        error: attempt.error.clone(),
        latency_ms,
        usage,
        scores: Vec::new(),
    }
}
