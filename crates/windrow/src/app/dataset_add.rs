//! Rows of a job, selected in its result table, become rows of a dataset: a new version with the rows it had and those
//! that it did not have yet.

use std::collections::{BTreeMap, HashSet};
use std::io::{BufWriter, Write};
use std::sync::Arc;

use serde_json::{Map, Value};
use tempfile::NamedTempFile;
use windrow_jobfile::dataset::import::{ImportFile, Progress};
use windrow_jobfile::dataset::{DatasetFile, Format};
use windrow_model::step::ContentKey;
use windrow_results::ResultRow;
use windrow_wire::{AddRowsRequest, DatasetImported, RowsAdded};

use crate::app::audit::Change;
use crate::app::datasets::{self, Head};
use crate::app::{App, lookup, views};
use crate::error::{Error, Result};

const BATCH: usize = 500;
/// Characters of a condition that the source of a version names.
const SHOWN: usize = 200;
const BYTES: usize = 4 << 20;

/// Nothing is stored unless every row satisfies the schema of the dataset.
pub async fn add(
    app: &App,
    change: &Change,
    workspace: Option<&str>,
    name: &str,
    request: AddRowsRequest,
) -> Result<RowsAdded> {
    let name = lookup::check_dataset_name(name).map_err(|why| Error::invalid("name", why, "choose another name"))?;
    let (job, _) = lookup::job(app, &change.actor, &request.from).await?;
    let workspace = change.actor.within(workspace)?.home().to_owned();
    let items = views::selection(app, &job, request.run, request.r#where.as_deref()).await?;
    let mut rows = Rows::create(app)?;
    rows.keep_those_of(app, &workspace, &name).await?;
    let kept = rows.written;
    for batch in items.chunks(BATCH) {
        for detail in app.store.details(batch.to_vec()).await? {
            rows.write(&ResultRow::whole(&detail, None, |_| 0).fields)?;
        }
    }
    let added = rows.written - kept;
    let head = Head { workspace, name, source: source(&job.name, request.r#where.as_deref()) };
    let imported = store(app, change, rows, head).await?;
    Ok(RowsAdded { selected: items.len() as i64, added, imported })
}

/// `job support where outcome = fail`; a long condition, such as a list of ids, is cut.
fn source(job: &str, condition: Option<&str>) -> String {
    let Some(condition) = condition else { return format!("job {job}") };
    let shown: String = condition.chars().take(SHOWN).collect();
    let rest = if shown.len() < condition.len() { "…" } else { "" };
    format!("job {job} where {shown}{rest}")
}

async fn store(app: &App, change: &Change, rows: Rows, head: Head) -> Result<DatasetImported> {
    if rows.written == 0 {
        return Err(Error::invalid("where", "no row matches", "check the condition with `windrow results`"));
    }
    let path = rows.file.into_inner().map_err(|error| unwritable(error.into_error()))?.into_temp_path();
    let schema = datasets::kept_schema(app, &head.workspace, &head.name).await?;
    let file = DatasetFile { path: path.to_path_buf(), format: Format::Jsonl, delimiter: None };
    let file = Arc::new(ImportFile { file, shown: head.source.clone(), schema });
    let progress = Arc::new(Progress::default());
    let checked = file.clone().check(progress.clone()).await.map_err(Error::File)?;
    datasets::import(app, change, file, checked, head, &progress).await
}

/// The rows of the next version, each once.
struct Rows {
    file: BufWriter<NamedTempFile>,
    seen: HashSet<ContentKey>,
    written: i64,
}

impl Rows {
    fn create(app: &App) -> Result<Self> {
        let folder = app.uploads();
        let made = std::fs::create_dir_all(&folder).and_then(|()| NamedTempFile::new_in(&folder));
        Ok(Self { file: BufWriter::new(made.map_err(unwritable)?), seen: HashSet::new(), written: 0 })
    }

    async fn keep_those_of(&mut self, app: &App, workspace: &str, name: &str) -> Result<()> {
        let Some(dataset) = app.datasets.find_dataset(workspace, name).await? else { return Ok(()) };
        let Some(newest) = app.datasets.dataset_versions(dataset.id).await?.into_iter().next() else { return Ok(()) };
        let mut from = 0;
        while from < newest.rows {
            let page = app.datasets.dataset_rows(newest.id, from, BATCH, BYTES).await?;
            if page.is_empty() {
                break;
            }
            from += page.len() as i64;
            for row in page {
                let fields = row.body.value().as_object().cloned().unwrap_or_default();
                self.seen.insert(key(&fields));
                self.put(&fields)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, fields: &Map<String, Value>) -> Result<()> {
        if self.seen.insert(key(fields)) { self.put(fields) } else { Ok(()) }
    }

    fn put(&mut self, fields: &Map<String, Value>) -> Result<()> {
        self.written += 1;
        writeln!(self.file, "{}", Value::Object(fields.clone())).map_err(unwritable)
    }
}

/// The same for the same fields in any order.
fn key(fields: &Map<String, Value>) -> ContentKey {
    let sorted: BTreeMap<&String, &Value> = fields.iter().collect();
    ContentKey::of(&[&serde_json::to_vec(&sorted).unwrap_or_default()])
}

fn unwritable(error: std::io::Error) -> Error {
    Error::new(format!("cannot write the rows: {error}"), "check the free space of the disk")
}
