//! What runs came to.

use std::io;

use tokio::io::AsyncWriteExt;
use windrow_wire::{Compared, GateList, RunResult};

use super::Desk;
use crate::assess::{self, Wish};
use crate::error::Result;
use crate::report::{self, Format, Out, ReportError};
use crate::{detail, find};

impl Desk {
    /// Of a run, named as `JOB`, `JOB#3` or by its id; of one that is not over what there is so far.
    pub async fn result(&self, run: &str, wish: &Wish) -> Result<RunResult> {
        match self {
            Desk::Folder(app) => {
                let (job, run) = find::run(app, run).await?;
                assess::result(app, &job, &run, wish).await
            }
            Desk::Server(remote) => {
                let query = (("baseline", &wish.baseline), ("worst", wish.worst));
                remote.get(&["runs", run, "result"], &query).await
            }
        }
    }

    pub async fn gates(&self, run: &str, baseline: Option<String>) -> Result<GateList> {
        match self {
            Desk::Folder(app) => {
                let (job, run) = find::run(app, run).await?;
                assess::gates(app, &job, &run, &Wish { baseline, ..Wish::default() }).await
            }
            Desk::Server(remote) => remote.get(&["runs", run, "gates"], &[("baseline", baseline)]).await,
        }
    }

    /// Lists at most so many rows that flipped either way.
    pub async fn compare(&self, before: &str, after: &str, rows: usize) -> Result<Compared> {
        match self {
            Desk::Folder(app) => detail::of_pair(app, None, before, after, rows).await,
            Desk::Server(remote) => {
                remote.get(&["compare"], &(("before", before), ("after", after), ("rows", rows))).await
            }
        }
    }

    /// The inner result is that of writing.
    pub async fn report(&self, run: &str, wish: &Wish, format: Format, out: Out<'_>) -> Result<io::Result<()>> {
        match self {
            Desk::Folder(app) => {
                let (_, run) = find::run(app, run).await?;
                let assessed = assess::assess(app, &run, wish).await?;
                match report::write(app, &assessed, format, out).await {
                    Ok(()) => Ok(Ok(())),
                    Err(ReportError::Written(error)) => Ok(Err(error)),
                    Err(ReportError::Store(error)) => Err(error.into()),
                }
            }
            Desk::Server(remote) => {
                let query = (("format", format), ("baseline", &wish.baseline), ("worst", wish.worst));
                let mut answer = remote.open(&["runs", run, "report"], &query).await?;
                while let Some(piece) = remote.piece(&mut answer).await? {
                    if let Err(error) = out.write_all(piece.as_ref()).await {
                        return Ok(Err(error));
                    }
                }
                Ok(out.flush().await)
            }
        }
    }
}
