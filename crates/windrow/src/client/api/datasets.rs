//! Rows that are kept under a name.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use windrow_jobfile::dataset::Format;
use windrow_jobfile::dataset::export::{self, ExportError};
use windrow_jobfile::dataset::write::Out;
use windrow_wire::{AddRowsRequest, DatasetDeleted, DatasetDetail, DatasetDiff, DatasetList, RowsAdded};

use crate::app::lookup::DatasetName;
use crate::app::{dataset_add, datasets};
use crate::client::api::Api;
use crate::client::remote::Remote;
use crate::error::{Code, Error, Result};

/// A workspace that is not named is the default one here, or the one of the key at a server.
type Workspace<'a> = Option<&'a str>;

impl Api {
    pub async fn datasets(&self, workspace: Workspace<'_>) -> Result<DatasetList> {
        match self {
            Api::Local(app, actor) => datasets::list(app, actor, workspace).await,
            Api::Remote(remote) => remote.get(&["datasets"], &[("workspace", workspace)]).await,
        }
    }

    /// With its first rows.
    pub async fn dataset(&self, workspace: Workspace<'_>, named: &DatasetName, rows: usize) -> Result<DatasetDetail> {
        match self {
            Api::Local(app, actor) => datasets::show(app, actor, workspace, named, rows).await,
            Api::Remote(remote) => {
                let query = (("workspace", workspace), ("version", named.version), ("rows", rows));
                remote.get(&["datasets", &named.name], &query).await
            }
        }
    }

    /// The newest version where no number is given.
    pub async fn diff(
        &self,
        workspace: Workspace<'_>,
        name: &str,
        (old, new): (Option<i64>, Option<i64>),
        limit: usize,
    ) -> Result<DatasetDiff> {
        match self {
            Api::Local(app, actor) => datasets::diff(app, actor, workspace, name, (old, new), limit).await,
            Api::Remote(remote) => {
                let query = (("workspace", workspace), ("old", old), ("new", new), ("limit", limit));
                remote.get(&["datasets", name, "diff"], &query).await
            }
        }
    }

    /// Rows of a job that the dataset does not have.
    pub async fn add_rows(&self, workspace: Workspace<'_>, name: &str, request: AddRowsRequest) -> Result<RowsAdded> {
        match self {
            Api::Local(app, actor) => {
                let add = |change| async move { dataset_add::add(app, &change, workspace, name, request).await };
                app.act(actor, "datasets add", name, add).await
            }
            Api::Remote(remote) => {
                let query = [("workspace", workspace)];
                remote.post_with(&["datasets", name, "rows"], &query, &request).await
            }
        }
    }

    pub async fn delete_dataset(&self, workspace: Workspace<'_>, named: &DatasetName) -> Result<DatasetDeleted> {
        match self {
            Api::Local(app, actor) => {
                let delete = |change| async move { datasets::delete(app, &change, workspace, named).await };
                app.act(actor, "datasets delete", &named.name, delete).await
            }
            Api::Remote(remote) => {
                let query = (("workspace", workspace), ("version", named.version));
                remote.delete(&["datasets", &named.name], &query).await
            }
        }
    }

    /// Writes the rows of a version; `written` counts rows, or bytes from a server.
    pub async fn export(
        &self,
        workspace: Workspace<'_>,
        named: &DatasetName,
        format: Format,
        out: Out,
        written: &AtomicU64,
    ) -> Result<()> {
        match self {
            Api::Local(app, actor) => {
                let version = datasets::version(app, actor, workspace, named).await?;
                let exported = export::export(&*app.datasets, &version, format, out, written).await;
                exported.or_else(failed)
            }
            Api::Remote(remote) => export_from(remote, workspace, named, format, out, written).await,
        }
    }
}

async fn export_from(
    remote: &Remote,
    workspace: Workspace<'_>,
    named: &DatasetName,
    format: Format,
    mut out: Out,
    written: &AtomicU64,
) -> Result<()> {
    let query = (("workspace", workspace), ("version", named.version), ("format", format.as_str()));
    let mut answer = remote.open(&["datasets", &named.name, "export"], &query).await?;
    loop {
        let piece = remote.piece(&mut answer).await?;
        let wrote = tokio::task::block_in_place(|| match &piece {
            Some(piece) => out.write_all(piece.as_ref()),
            None => out.flush(),
        });
        if let Err(error) = wrote {
            return failed(ExportError::File(error));
        }
        let Some(piece) = piece else { return Ok(()) };
        written.fetch_add(piece.as_ref().len() as u64, Ordering::Relaxed);
    }
}

fn failed(error: ExportError) -> Result<()> {
    match error {
        // A reader that closed the pipe (`| head`) is not an error.
        ExportError::File(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        ExportError::Store(error) => Err(error.into()),
        ExportError::Format(why) => Err(Error::new(why, "").coded(Code::BadRequest)),
        error => Err(Error::new(error.to_string(), "check that the disk has free space")),
    }
}
