//! Results of runs.

use std::io;

use tokio::io::AsyncWriteExt;
use windrow_wire::{Compared, GateList, RunResult};

use crate::app::report::{self, Format, Out, ReportError};
use crate::app::results::{self, Options};
use crate::client::api::Api;
use crate::error::Result;

impl Api {
    /// Of a run, named as `JOB`, `JOB#3` or by its id; of one that is not over what there is so far.
    pub async fn result(&self, run: &str, options: &Options) -> Result<RunResult> {
        match self {
            Api::Local(app, actor) => results::result(app, actor, run, options).await,
            Api::Remote(remote) => {
                let query = (("baseline", &options.baseline), ("worst", options.worst));
                remote.get(&["runs", run, "result"], &query).await
            }
        }
    }

    pub async fn gates(&self, run: &str, baseline: Option<String>) -> Result<GateList> {
        match self {
            Api::Local(app, actor) => results::gates(app, actor, run, baseline).await,
            Api::Remote(remote) => remote.get(&["runs", run, "gates"], &[("baseline", baseline)]).await,
        }
    }

    /// Lists at most `rows` rows that flipped in each direction.
    pub async fn compare(&self, before: &str, after: &str, rows: usize) -> Result<Compared> {
        match self {
            Api::Local(app, actor) => results::compare(app, actor, before, after, rows).await,
            Api::Remote(remote) => {
                remote.get(&["compare"], &(("before", before), ("after", after), ("rows", rows))).await
            }
        }
    }

    /// The inner result is that of writing.
    pub async fn report(&self, run: &str, options: &Options, format: Format, out: Out<'_>) -> Result<io::Result<()>> {
        match self {
            Api::Local(app, actor) => {
                let assessed = results::assessment(app, actor, run, options).await?;
                match report::write(app, &assessed, format, out).await {
                    Ok(()) => Ok(Ok(())),
                    Err(ReportError::Written(error)) => Ok(Err(error)),
                    Err(ReportError::Store(error)) => Err(error.into()),
                }
            }
            Api::Remote(remote) => {
                let query = (("format", format), ("baseline", &options.baseline), ("worst", options.worst));
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
