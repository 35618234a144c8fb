//! The log of a job (T7), with details, and with advice for every error (T18).

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windrow_model::record::{ItemDetail, LogEntry, LogLevel, Run};
use windrow_model::{ErrorClass, ItemId, RunId};
use windrow_wire::{LogLine, LogList};

use crate::app::actor::Actor;
use crate::app::{App, lookup};
use crate::error::Result;

/// Entries read for one answer, at most: a filter may leave few of them.
const READ: usize = 20_000;
const PAGE: usize = 1000;

/// Which entries.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogFilter {
    /// Or below it, with `newest`.
    pub after: Option<i64>,
    /// This level and those above it.
    pub level: Option<LogLevel>,
    /// Newest first.
    pub newest: bool,
    /// Without lines about items.
    pub of_runs: bool,
    pub limit: usize,
}

impl LogFilter {
    fn includes(&self, entry: &LogEntry) -> bool {
        rank(entry.level) >= rank(self.level.unwrap_or(LogLevel::Info)) && !(self.of_runs && entry.item.is_some())
    }
}

pub async fn list(app: &App, actor: &Actor, job: &str, filter: LogFilter) -> Result<LogList> {
    let (job, _) = lookup::job(app, actor, job).await?;
    let (mut entries, mut next, mut read) = (Vec::new(), filter.after, 0);
    while entries.len() < filter.limit && read < READ {
        let size = if filter.level.is_some() || filter.of_runs { PAGE } else { filter.limit };
        let page = match filter.newest {
            true => app.store.newest_logs(job.id, next, filter.of_runs, size).await?,
            false => app.store.logs(job.id, next.unwrap_or(0), size).await?,
        };
        read += page.len();
        let last = page.len() < size;
        for entry in page {
            if entries.len() == filter.limit {
                break;
            }
            next = Some(entry.id);
            entries.extend(Some(entry).filter(|entry| filter.includes(entry)));
        }
        if last {
            break;
        }
    }
    let runs: BTreeMap<RunId, Run> = app.store.runs(job.id).await?.into_iter().map(|run| (run.id, run)).collect();
    let mut ids: Vec<ItemId> = entries.iter().filter_map(|entry| entry.item).collect();
    ids.sort_unstable();
    ids.dedup();
    let items = app.store.outlines(ids).await?.into_iter().map(|detail| (detail.item.id, detail)).collect();
    let lines = entries.iter().map(|entry| line(entry, &runs, &items)).collect();
    Ok(LogList { lines, next: next.unwrap_or(0) })
}

fn rank(level: LogLevel) -> usize {
    LogLevel::ALL.iter().position(|known| *known == level).unwrap_or_default()
}

fn line(entry: &LogEntry, runs: &BTreeMap<RunId, Run>, items: &BTreeMap<ItemId, ItemDetail>) -> LogLine {
    let mut details = BTreeMap::<&str, Value>::new();
    if let Some(run) = entry.run.and_then(|run| runs.get(&run)) {
        details.extend([("run", json!(run.no)), ("mode", json!(run.mode))]);
    }
    if let Some(detail) = entry.item.and_then(|item| items.get(&item)) {
        details.insert("row", json!(detail.item.ordinal + 1));
        // The entry is written when the attempt is archived, after its end.
        let attempts = detail.attempts.iter().filter(|attempt| attempt.ended_at.is_some_and(|end| end <= entry.at));
        if let Some(attempt) = attempts.max_by_key(|attempt| attempt.ended_at) {
            let started = attempt.started_at.zip(attempt.ended_at);
            details.extend([
                ("attempt", json!(attempt.id.no())),
                ("retries", json!(attempt.retries)),
                ("duration_ms", json!(started.map(|(start, end)| end - start))),
            ]);
        }
    }
    let class = entry.message.split(':').next().and_then(|word| word.parse::<ErrorClass>().ok());
    details.extend(class.map(|class| ("error_class", json!(class))));
    let advice = match (class, entry.level) {
        (Some(class), _) => Some(class.advice().to_owned()),
        (None, LogLevel::Error) => Some("see `windrow jobs why JOB`, then correct the cause and retry".to_owned()),
        _ => None,
    };
    LogLine { details: (!details.is_empty()).then(|| json!(details)), advice, ..LogLine::from(entry) }
}
