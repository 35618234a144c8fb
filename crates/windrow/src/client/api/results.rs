//! What runs came to.

use std::io;

use tokio::io::AsyncWriteExt;
use windrow_wire::{Compared, GateList, RunResult};

use crate::app::detail;
use crate::app::error::Result;
use crate::app::lookup;
use crate::app::report::{self, Format, Out, ReportError};
use crate::app::results::{self, Wish};
use crate::client::api::Api;

impl Api {
    /// Of a run, named as `JOB`, `JOB#3` or by its id; of one that is not over what there is so far.
    pub async fn result(&self, run: &str, wish: &Wish) -> Result<RunResult> {
        match self {
            Api::Local(app) => {
                let (job, run) = lookup::run(app, run).await?;
                results::result(app, &job, &run, wish).await
            }
            Api::Remote(remote) => {
                let query = (("baseline", &wish.baseline), ("worst", wish.worst));
                remote.get(&["runs", run, "result"], &query).await
            }
        }
    }

    pub async fn gates(&self, run: &str, baseline: Option<String>) -> Result<GateList> {
        match self {
            Api::Local(app) => {
                let (job, run) = lookup::run(app, run).await?;
                results::gates(app, &job, &run, &Wish { baseline, ..Wish::default() }).await
            }
            Api::Remote(remote) => remote.get(&["runs", run, "gates"], &[("baseline", baseline)]).await,
        }
    }

    /// Lists at most so many rows that flipped either way.
    pub async fn compare(&self, before: &str, after: &str, rows: usize) -> Result<Compared> {
        match self {
            Api::Local(app) => detail::of_pair(app, None, before, after, rows).await,
            Api::Remote(remote) => {
                remote.get(&["compare"], &(("before", before), ("after", after), ("rows", rows))).await
            }
        }
    }

    /// The inner result is that of writing.
    pub async fn report(&self, run: &str, wish: &Wish, format: Format, out: Out<'_>) -> Result<io::Result<()>> {
        match self {
            Api::Local(app) => {
                let (_, run) = lookup::run(app, run).await?;
                let assessed = results::assess(app, &run, wish).await?;
                match report::write(app, &assessed, format, out).await {
                    Ok(()) => Ok(Ok(())),
                    Err(ReportError::Written(error)) => Ok(Err(error)),
                    Err(ReportError::Store(error)) => Err(error.into()),
                }
            }
            Api::Remote(remote) => {
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
