//! One item in the last runs of its job: what each run made of it, read from the records of the item alone.

use windrow_model::record::{ItemDetail, ItemResult, Run};
use windrow_model::{ItemId, Time};
use windrow_results::{ResultRow, Seen};
use windrow_wire::{ItemHistory, ItemInRun, TableRow};

use crate::app::actor::Actor;
use crate::app::{App, lookup};
use crate::error::Result;

/// The newest runs first, at most so many.
pub async fn show(app: &App, actor: &Actor, id: ItemId, limit: usize) -> Result<ItemHistory> {
    let (job, detail) = lookup::item(app, actor, id).await?;
    let mut runs = app.store.runs(job.id).await?;
    runs.sort_by_key(|run| std::cmp::Reverse(run.no));
    runs.truncate(limit);
    let mut found = Vec::new();
    for run in runs {
        let row = made(app, &run, &detail).await?.map(|made| {
            let row = ResultRow::of(&detail, made.as_ref(), |_| run.no);
            TableRow::of(&Seen { row: &row, baseline: None })
        });
        let (no, at): (i64, Time) = (run.no, run.created_at);
        found.push(ItemInRun { no, run: run.id.to_string(), mode: run.mode, at: at.into(), row });
    }
    Ok(ItemHistory { item: id.to_string(), runs: found })
}

/// What a run made of an item: `None` if it was not in the run, `Some(None)` for its current state.
async fn made(app: &App, run: &Run, detail: &ItemDetail) -> Result<Option<Option<ItemResult>>> {
    if detail.item.run == run.id {
        return Ok(Some(None));
    }
    let after = Some(ItemId(detail.item.id.0 - 1));
    let results = app.store.results(run.id, after, 1).await?;
    Ok(results.into_iter().find(|result| result.item == detail.item.id).map(Some))
}
