//! A version of a named dataset back into a file, a page at a time.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use windrow_model::dataset::{DatasetRow, DatasetStore, DatasetVersion};
use windrow_model::store::StoreError;

use super::write::{self, Out, RowWriter};
use super::{Format, Profile};

const PAGE_ROWS: usize = 1_000;
const PAGE_BYTES: usize = 4 << 20;

#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the rows cannot be written: {0}")]
    File(#[from] io::Error),
    /// The format does not take such rows.
    #[error("{0}")]
    Format(String),
}

/// Whether the version's rows can be written so; export says the same, but when it has begun.
pub fn check(version: &DatasetVersion, format: Format) -> Result<(), ExportError> {
    write::writer(format, Box::new(io::sink()), &profile(version)?).map(drop).map_err(ExportError::Format)
}

fn profile(version: &DatasetVersion) -> Result<Profile, ExportError> {
    let damaged = |error: serde_json::Error| StoreError::Corrupt(format!("the profile of a dataset: {error}"));
    Ok(version.profile.parse().map_err(damaged)?)
}

/// `written` counts the rows as they pass.
pub async fn export(
    store: &dyn DatasetStore,
    version: &DatasetVersion,
    format: Format,
    out: Out,
    written: &AtomicU64,
) -> Result<(), ExportError> {
    let profile = profile(version)?;
    let mut writer = blocking(move || write::writer(format, out, &profile).map_err(ExportError::Format)).await?;
    let mut from = 0;
    while from < version.rows {
        let page = store.dataset_rows(version.id, from, PAGE_ROWS, PAGE_BYTES).await?;
        let Some(last) = page.last() else { break };
        from = last.ordinal + 1;
        writer = blocking(move || write_page(writer, page)).await?;
        written.store(from as u64, Ordering::Relaxed);
    }
    blocking(move || Ok(writer.finish()?)).await
}

fn write_page(mut writer: Box<dyn RowWriter>, page: Vec<DatasetRow>) -> Result<Box<dyn RowWriter>, ExportError> {
    for row in page {
        writer.write(&row.body)?;
    }
    Ok(writer)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ExportError> + Send + 'static,
) -> Result<T, ExportError> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}
