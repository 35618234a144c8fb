//! What people said about items, by item in the order in which it was said.

use std::collections::BTreeSet;

use windrow_model::label::{self, Label, NewLabel};
use windrow_model::store::StoreError;
use windrow_model::{ItemId, JobId, Time};

use crate::backend::failure::Result;
use crate::backend::{self, Cell, Connection, Lookup, NewRows, Row, params};
use crate::sql::cells::Cells;
use crate::sql::table::{analytics_marks, jobs};

pub(crate) static NEW: NewRows = NewRows::new(
    "labels",
    "job_id, item_id, name, verdict, value, note, reason, output, author, at",
    "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10",
);
pub(crate) static OF_ITEM: Lookup = Lookup::new(
    "id, job_id, item_id, name, verdict, value, note, reason, output, author, at",
    "labels",
    "item_id = ?1",
    "id",
);
pub(crate) static JOB_OF: Lookup = Lookup::new("job_id", "items", "id = ?1", "");

/// Returns how many said something new.
pub(crate) fn label_items(tx: &Connection, job: JobId, labels: &[NewLabel], author: &str, now: Time) -> Result<i64> {
    // Labels of a job that is being deleted would stay behind.
    tx.lock("jobs", [job.0])?;
    jobs::job(tx, job)?;
    let items: BTreeSet<ItemId> = labels.iter().map(|label| label.item).collect();
    let items: Vec<ItemId> = items.into_iter().collect();
    check_items(tx, job, &items)?;
    let history: Vec<Label> = of_items(tx, &items)?.into_iter().flatten().collect();
    let new = label::changes(&history, labels.to_vec(), author);
    let rows: Vec<[Cell<'_>; 10]> = new.iter().map(|label| row(job, label, author, now)).collect();
    tx.execute_many(&NEW, &rows)?;
    let labelled: BTreeSet<ItemId> = new.iter().map(|label| label.item).collect();
    analytics_marks::mark(tx, labelled.into_iter().map(|item| (job, Some(item))))?;
    Ok(rows.len() as i64)
}

fn check_items(tx: &Connection, job: JobId, items: &[ItemId]) -> Result<()> {
    let asked: Vec<[Cell; 1]> = items.iter().map(|item| [Cell::Int(item.0)]).collect();
    let mut own = vec![false; items.len()];
    tx.query_many(&JOB_OF, &asked, |n, row| {
        own[n] = row.get::<i64>(0)? == job.0;
        Ok(())
    })?;
    match own.iter().position(|own| !own) {
        Some(n) => Err(StoreError::NotFound { what: "item", id: items[n].to_string() }.into()),
        None => Ok(()),
    }
}

fn row<'a>(job: JobId, label: &'a NewLabel, author: &'a str, now: Time) -> [Cell<'a>; 10] {
    [
        Cell::Int(job.0),
        Cell::Int(label.item.0),
        Cell::Text(&label.name),
        label.verdict.map_or(Cell::Null, |verdict| Cell::Text(verdict.as_str())),
        label.value.map_or(Cell::Null, Cell::Real),
        label.note.as_deref().map_or(Cell::Null, Cell::Text),
        Cell::Text(&label.reason),
        label.output.as_ref().map_or(Cell::Null, |key| Cell::Blob(&key.0)),
        Cell::Text(author),
        Cell::Int(now.0),
    ]
}

/// The history of each.
pub(crate) fn of_items(conn: &Connection, items: &[ItemId]) -> Result<Vec<Vec<Label>>> {
    let asked: Vec<[Cell; 1]> = items.iter().map(|item| [Cell::Int(item.0)]).collect();
    let mut found = vec![Vec::new(); items.len()];
    conn.query_many(&OF_ITEM, &asked, |n, row| {
        found[n].push(from_row(row)?);
        Ok(())
    })?;
    Ok(found)
}

pub(crate) fn of_job(conn: &Connection, job: JobId, after: i64, limit: usize) -> Result<Vec<Label>> {
    let sql = "SELECT id, job_id, item_id, name, verdict, value, note, reason, output, author, at FROM labels \
         WHERE job_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
    let mut stmt = conn.prepare_cached(sql)?;
    let found = stmt.query_map(params![job.0, after, limit as i64], from_row)?;
    Ok(found.collect::<backend::Result<_>>()?)
}

pub(crate) fn newest(conn: &Connection, job: JobId) -> Result<i64> {
    let sql = "SELECT max(id) FROM labels WHERE job_id = ?1";
    let newest: Option<i64> = conn.prepare_cached(sql)?.query_row([job.0], |row| row.get(0))?;
    Ok(newest.unwrap_or(0))
}

fn from_row(row: &Row) -> backend::Result<Label> {
    let mut c = Cells::of(row);
    let (id, job) = (c.get()?, JobId(c.get()?));
    let what = NewLabel {
        item: ItemId(c.get()?),
        name: c.get()?,
        verdict: c.maybe_word()?,
        value: c.get()?,
        note: c.get()?,
        reason: c.get()?,
        output: c.maybe_key()?,
    };
    Ok(Label { id, job, what, author: c.get()?, at: c.time()? })
}
