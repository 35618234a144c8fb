//! Tasks (T2, T11): jobs in the words of the task API.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde_json::{Map, Value, json};
use windrow_model::record::{Item, ItemDetail, Job, Labels};
use windrow_model::state::ItemState;
use windrow_model::store::{ItemFilter, JobFilter};
use windrow_model::view::task::TaskStatus;
use windrow_model::{ItemId, JobId, Time};
use windrow_wire::request::{EvalTaskRequest, Submit};
use windrow_wire::{EvalTask, EvalTaskItem, EvalTaskItemList, EvalTaskList, next_retry_at};

use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::cells::CellTable;
use crate::app::resolve_run::{self, RunExecutor};
use crate::app::{App, lookup};
use crate::error::{Error, Result};

/// Jobs read at once, and for one page at most: a filter may leave few of them.
const PAGE: usize = 200;
const SCAN: usize = 20_000;

/// Which tasks; the conditions narrow each other.
#[derive(Debug, Clone, Default)]
pub struct TaskFilter {
    pub workspace: Option<String>,
    pub status: Option<TaskStatus>,
    pub pipeline_id: Option<String>,
    pub column_id: Option<String>,
    pub owner: Option<String>,
    /// Name and value.
    pub label: Option<(String, String)>,
    pub created_after: Option<Time>,
    pub created_before: Option<Time>,
    pub before: Option<JobId>,
    pub limit: usize,
}

impl TaskFilter {
    fn holds(&self, job: &Job, task: &EvalTask) -> bool {
        let is = |wanted: &Option<String>, found: &dyn Fn() -> Option<String>| {
            wanted.as_ref().is_none_or(|wanted| found().as_ref() == Some(wanted))
        };
        self.status.is_none_or(|status| status == task.status)
            && is(&self.pipeline_id, &|| label(&job.labels, "pipeline_id"))
            && is(&self.column_id, &|| label(&job.labels, "column_id"))
            && is(&self.owner, &|| Some(task.user_id.clone()))
            && self.label.as_ref().is_none_or(|(name, value)| label(&job.labels, name).as_ref() == Some(value))
            && self.created_after.is_none_or(|after| job.created_at >= after)
            && self.created_before.is_none_or(|before| job.created_at < before)
    }
}

fn label(labels: &Labels, name: &str) -> Option<String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match name {
        "creator" => Some(labels.creator.clone()),
        "service" => Some(labels.service.clone()),
        "environment" => Some(labels.environment.clone()),
        "region" => Some(labels.region.clone()),
        "az" => Some(labels.az.clone()),
        name => labels.extra.get(name).map(text),
    }
}

pub async fn list(app: &App, actor: &Actor, filter: TaskFilter) -> Result<EvalTaskList> {
    let actor = actor.within(filter.workspace.as_deref())?;
    let (mut tasks, mut before, mut read) = (Vec::new(), filter.before, 0);
    loop {
        let workspace = filter.workspace.clone().or_else(|| actor.workspace.clone());
        let page = app.store.jobs(JobFilter { workspace, before, limit: PAGE, ..JobFilter::default() }).await?;
        read += page.len();
        for (job, run) in &page {
            before = Some(job.id);
            let task = EvalTask::of(job, run);
            tasks.extend(Some(task).filter(|task| filter.holds(job, task)));
            if tasks.len() == filter.limit {
                return Ok(EvalTaskList { tasks, next: before.map(|id| id.to_string()) });
            }
        }
        if page.len() < PAGE {
            return Ok(EvalTaskList { tasks, next: None });
        }
        if read >= SCAN {
            return Ok(EvalTaskList { tasks, next: before.map(|id| id.to_string()) });
        }
    }
}

pub async fn show(app: &App, actor: &Actor, task: &str) -> Result<EvalTask> {
    let (job, run) = lookup::job(app, actor, task).await?;
    Ok(EvalTask::of(&job, &run))
}

pub async fn items(
    app: &App,
    actor: &Actor,
    task: &str,
    after: Option<ItemId>,
    limit: usize,
) -> Result<EvalTaskItemList> {
    let (job, latest) = lookup::job(app, actor, task).await?;
    let found = app.store.items(ItemFilter { job: job.id, run: None, state: None, after, limit }).await?;
    let mut runs = BTreeMap::from([(latest.id, latest)]);
    for item in &found {
        if let Entry::Vacant(entry) = runs.entry(item.run) {
            entry.insert(app.store.run(item.run).await?);
        }
    }
    let next = found.last().filter(|_| found.len() == limit).map(|item| item.id.to_string());
    // Only items that were tried and are queued again wait for a time.
    let waiting = found.iter().filter(|item| item.state == ItemState::Queued && item.tries > 0).map(|item| item.id);
    let waiting = app.store.outlines(waiting.collect()).await?;
    let task_item = |item: &Item| {
        let run = &runs[&item.run];
        let detail = waiting.iter().find(|detail| detail.item.id == item.id);
        EvalTaskItem::of(item, run, detail.and_then(|detail| next_retry_at(run, detail)))
    };
    let mut items: Vec<_> = found.iter().map(task_item).collect();
    let spec = app.store.spec(&runs[&job.latest_run].spec_hash).await?;
    if let Some(column) = windrow_experiment::filled_column(&spec) {
        let table = CellTable::of(app, &job).await?;
        let details = app.store.details(found.iter().map(|item| item.id).collect()).await?;
        let cell = |detail: &ItemDetail| table.views(detail).into_iter().find(|cell| cell.column == column);
        let with_cell = |(item, detail): (EvalTaskItem, &ItemDetail)| match cell(detail) {
            Some(cell) => item.with_cell(cell.shortened()),
            None => item,
        };
        items = items.into_iter().zip(&details).map(with_cell).collect();
    }
    Ok(EvalTaskItemList { items, next })
}

pub async fn create(
    app: &App,
    change: &Change,
    wish: EvalTaskRequest,
    key: Option<String>,
    executor: &impl RunExecutor,
) -> Result<EvalTask> {
    let paused = !wish.start;
    let column = match wish.config.contains_key("columns") {
        true => Some(id_text("column_id", &wish.column_id)?),
        false => None,
    };
    let submit = Submit { paused, column, ..Submit::of(file_of(wish, &change.actor.name)?) };
    let submitted = resolve_run::submit(app, change, submit, key, executor).await?;
    show(app, &change.actor, &submitted.job).await
}

fn id_text(field: &str, value: &Value) -> Result<String> {
    match value {
        Value::Number(number) => Ok(number.to_string()),
        Value::String(text) if !text.is_empty() => Ok(text.clone()),
        _ => Err(Error::invalid(field, format!("`{field}` must be a number or a text"), "")),
    }
}

/// The job file of a task: its `config`, with the ids as labels.
fn file_of(wish: EvalTaskRequest, creator: &str) -> Result<String> {
    let (pipeline, column) = (id_text("pipeline_id", &wish.pipeline_id)?, id_text("column_id", &wish.column_id)?);
    let mut config = wish.config;
    if config.contains_key("columns") {
        // Another task of the pipeline may have computed what this column reads.
        config.entry("cache").or_insert_with(|| json!(true));
    }
    config.entry("kind").or_insert_with(|| json!("experiment"));
    config.entry("name").or_insert_with(|| json!(format!("pipeline-{pipeline}-column-{column}")));
    let labels = config.entry("labels").or_insert_with(|| json!({}));
    let Some(labels) = labels.as_object_mut() else {
        return Err(Error::invalid("config", "`config.labels` must be an object", ""));
    };
    labels.entry("creator").or_insert_with(|| json!(creator));
    let extra = labels.entry("extra").or_insert_with(|| Value::Object(Map::new()));
    let Some(extra) = extra.as_object_mut() else {
        return Err(Error::invalid("config", "`config.labels.extra` must be an object", ""));
    };
    extra.insert("pipeline_id".into(), wish.pipeline_id);
    extra.insert("column_id".into(), wish.column_id);
    Ok(Value::Object(config).to_string())
}
