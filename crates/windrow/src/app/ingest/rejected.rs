//! The rejected records of an ingest job: listed, and written after all.

use windrow_ingest::{Letter, PutAside, RejectedRecords, Replayed, can_replay};
use windrow_model::record::{Job, Run};
use windrow_wire::request::Replay;
use windrow_wire::{RejectedList, RejectedView, ReplayResult};

use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::ingest::check;
use crate::app::ingest::checkpoints::{at_rest, note};
use crate::app::{App, lookup};
use crate::error::{Code, Error, Result};
use crate::text;

pub async fn rejected(
    app: &App,
    actor: &Actor,
    job: &str,
    slice: Option<&str>,
    after: Option<i64>,
    limit: usize,
) -> Result<RejectedList> {
    let (job, run) = lookup::job(app, actor, job).await?;
    let found = records(app, &job, &run).await?.list(slice, after.unwrap_or(0), limit).await?;
    let next = found.last().filter(|_| found.len() == limit).map(|last| last.kept.id);
    Ok(RejectedList { rejected: found.into_iter().map(view).collect(), next })
}

pub async fn replay(app: &App, change: &Change, job: &str, wish: Replay) -> Result<ReplayResult> {
    let (job, run) = lookup::job(app, &change.actor, job).await?;
    check(app, &job)?;
    at_rest(app, &job, &run)?;
    if !can_replay(&app.store.spec(&run.spec_hash).await?)? {
        let what = "rejected records of a Singer tap cannot be replayed: the key of their stream is not kept with them";
        let remedy = format!("fetch them again with `{}`", app.command(&format!("ingest backfill {}", job.name)));
        return Err(Error::new(what, remedy).coded(Code::BadRequest));
    }
    let records = records(app, &job, &run).await?;
    for id in &wish.ids {
        let found = records.list(wish.slice.as_deref(), id.saturating_sub(1), 1).await?;
        if found.first().is_none_or(|letter| letter.kept.id != *id) {
            let what = format!("{} has no rejected record {id}", job.name);
            let remedy = format!("list them with `{}`", app.command(&format!("ingest rejected {}", job.name)));
            return Err(Error::invalid("ids", what, remedy));
        }
    }
    let Replayed { read, written, skipped, rejected, type_changes } =
        records.replay(wish.slice.as_deref(), &wish.ids, &change.actor.name).await?;
    if read > 0 {
        let of = wish.slice.map_or(String::new(), |slice| format!("slice {slice:?}: "));
        let message = format!("{of}{} written, {rejected} rejected again", text::plural(written, "record"));
        note(app, &job, "rejected_replayed", change, message).await?;
    }
    Ok(ReplayResult { read, written, skipped, rejected, type_changes })
}

fn view(Letter { slice, kept }: Letter) -> RejectedView {
    let PutAside { id, version, table, record, reason, at, .. } = kept;
    RejectedView { id, slice, version, table, reason, record, at: at.into() }
}

async fn records(app: &App, job: &Job, run: &Run) -> Result<RejectedRecords> {
    check(app, job)?;
    let spec = app.store.spec(&run.spec_hash).await?;
    Ok(RejectedRecords::open(&spec, app.environment().of_workspace(&job.workspace)).await?)
}
