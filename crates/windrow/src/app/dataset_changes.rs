//! Whether the rows of an unfinished run are still those of its dataset file. The time of the last change tells whether
//! the rows have to be compared.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use windrow_experiment::RowKeys;
use windrow_jobfile::LoadedJob;
use windrow_model::record::Run;
use windrow_model::state::Mode;
use windrow_model::step::ContentKey;
use windrow_model::store::ItemFilter;

use crate::app::App;
use crate::error::{Error, Result};
use crate::text;

const PAGE: usize = 1_000;

pub enum DatasetChange {
    None,
    /// Rows were added behind those of the run.
    Grown {
        rows: usize,
    },
    /// What of it no longer fits the run.
    Edited(String),
}

pub async fn since(app: &App, file: &LoadedJob, run: &Run) -> Result<DatasetChange> {
    if file.kind != windrow_experiment::KIND || !matches!(run.mode, Mode::Submit | Mode::Append) {
        return Ok(DatasetChange::None);
    }
    let Some(path) = windrow_experiment::dataset_file(&file.spec) else { return Ok(DatasetChange::None) };
    if !is_younger(&path, run) {
        return Ok(DatasetChange::None);
    }
    let (spec, library) = (file.spec.clone(), app.library());
    let read = move || windrow_experiment::row_keys(&spec, Some(&library));
    let read = tokio::task::spawn_blocking(read).await;
    let found = read.map_err(|panic| Error::new(format!("failed to read the dataset: {panic}"), ""))?;
    let Some(RowKeys { in_order, first }) = found.map_err(|why| Error::new(why, "check the dataset"))? else {
        return Ok(DatasetChange::Edited("it has too many rows to compare them".to_owned()));
    };
    let of_run = rows_of(app, run).await?;
    let now: HashSet<ContentKey> = in_order.iter().copied().collect();
    let gone = of_run.difference(&now).count();
    if gone > 0 {
        let rows = text::plural(gone as i64, "row");
        return Ok(DatasetChange::Edited(format!("{rows} of the run changed or left the dataset")));
    }
    // A run that still reads the file continues where it stopped: what is before must be what it has read.
    let read_so_far: HashSet<ContentKey> = in_order.iter().take(of_run.len()).copied().collect();
    if run.mode == Mode::Submit && !run.planned && read_so_far != of_run {
        return Ok(DatasetChange::Edited("rows were inserted among those that the run has read".to_owned()));
    }
    let added = now.len() - of_run.len();
    Ok(match run.mode == Mode::Submit && run.planned && !first && added > 0 {
        true => DatasetChange::Grown { rows: added },
        false => DatasetChange::None,
    })
}

/// Also where a copy kept the time of its content: the file itself is younger then.
fn is_younger(path: &Path, run: &Run) -> bool {
    let Ok(file) = path.metadata() else { return false };
    let ms = |seconds: i64, nanos: i64| seconds * 1000 + nanos / 1_000_000;
    ms(file.mtime(), file.mtime_nsec()).max(ms(file.ctime(), file.ctime_nsec())) > run.created_at.0
}

async fn rows_of(app: &App, run: &Run) -> Result<HashSet<ContentKey>> {
    let (mut rows, mut after) = (HashSet::new(), None);
    loop {
        let filter = ItemFilter { job: run.job, run: Some(run.id), state: None, after, limit: PAGE };
        let page = app.store.items(filter).await?;
        rows.extend(page.iter().map(|item| item.group.unwrap_or(item.key)));
        after = page.last().map(|item| item.id);
        if page.len() < PAGE {
            return Ok(rows);
        }
    }
}
