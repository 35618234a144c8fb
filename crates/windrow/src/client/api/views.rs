//! The result table of a job.

use std::sync::atomic::{AtomicU64, Ordering};

use windrow_jobfile::dataset::write::Out;
use windrow_wire::{RebuiltTable, ResultView, TablePage, TableRow, ViewRequest};

use crate::app::export::{self, ExportError, Format, Request};
use crate::app::views;
use crate::client::api::{Api, PAGE};
use crate::error::{Error, Result};

impl Api {
    pub async fn view(&self, job: &str, request: ViewRequest) -> Result<ResultView> {
        match self {
            Api::Local(app, actor) => views::create(app, actor, job, request).await,
            Api::Remote(remote) => remote.post(&["jobs", job, "views"], &request).await,
        }
    }

    /// Reads the table of a job from the records again.
    pub async fn rebuild_results(&self, job: &str) -> Result<RebuiltTable> {
        match self {
            Api::Local(app, actor) => {
                let rebuild = |change| async move { views::rebuild::rebuild(app, &change, job).await };
                app.act(actor, "results rebuild", job, rebuild).await
            }
            Api::Remote(remote) => remote.post(&["jobs", job, "results", "rebuild"], &()).await,
        }
    }

    /// At most `limit` rows; a server limits its pages.
    pub async fn view_rows(&self, job: &str, view: &str, offset: usize, limit: usize) -> Result<Vec<TableRow>> {
        let remote = match self {
            Api::Local(app, actor) => {
                return Ok(views::rows(app, actor, job, view, views::Page::At(offset), limit).await?.rows);
            }
            Api::Remote(remote) => remote,
        };
        let mut rows = Vec::new();
        while rows.len() < limit {
            let query = [("offset", offset + rows.len()), ("limit", PAGE.min(limit - rows.len()))];
            let page: TablePage = remote.get(&["jobs", job, "views", view, "rows"], &query).await?;
            if page.rows.is_empty() {
                break;
            }
            rows.extend(page.rows);
        }
        Ok(rows)
    }
}

impl Api {
    /// The number of columns; `written` counts rows, or bytes from a server.
    pub async fn export_results(
        &self,
        job: &str,
        format: Format,
        request: &Request,
        mut out: Out,
        written: &AtomicU64,
    ) -> Result<Option<usize>> {
        let remote = match self {
            Api::Local(app, actor) => {
                let export = export::prepare(app, actor, job, format, request.clone()).await?;
                let columns = export.columns();
                let wrote = export.write(app, out, written).await;
                return wrote.or_else(unwritten).map(|()| columns);
            }
            Api::Remote(remote) => remote,
        };
        let Request { run, condition, columns, attempts, vs } = request;
        let columns = columns.as_ref().map(|names| names.join(","));
        let query = (
            ("format", format),
            ("run", run),
            ("where", condition),
            ("columns", columns),
            ("attempts", attempts),
            ("vs", vs),
        );
        let mut answer = remote.open(&["jobs", job, "export"], &query).await?;
        loop {
            let piece = remote.piece(&mut answer).await?;
            let wrote = tokio::task::block_in_place(|| match &piece {
                Some(piece) => out.write_all(piece.as_ref()),
                None => out.flush(),
            });
            if let Err(error) = wrote {
                return unwritten(ExportError::Written(error)).map(|()| None);
            }
            let Some(piece) = piece else { return Ok(None) };
            written.fetch_add(piece.as_ref().len() as u64, Ordering::Relaxed);
        }
    }
}

fn unwritten(error: ExportError) -> Result<()> {
    match error {
        // A reader that closed the pipe (`| head`) is not an error.
        ExportError::Written(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        ExportError::Read(error) => Err(error),
        error => Err(Error::new(error.to_string(), "check that the disk has free space")),
    }
}
