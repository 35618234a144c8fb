//! Rows for an open online run (E11): what the command line and the API have in common.

use windrow_experiment::OnlineRows;
use windrow_model::record::Run;

use crate::app::error::{Error, Result};
use crate::app::wiring::App;

/// Rows given to the store together.
pub const BATCH: usize = 500;
/// Items that wait for a worker before no more are taken.
pub const AHEAD: i64 = 10_000;

/// What the run makes of a row.
pub async fn arrivals(app: &App, run: &Run) -> Result<OnlineRows> {
    let spec = app.store.spec(&run.spec_hash).await?;
    OnlineRows::of(&spec).map_err(|error| {
        let what = format!("the frozen definition does not fit this version: {error}");
        Error::new(what, "submit the job file again")
    })
}
