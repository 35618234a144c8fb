//! Deleting jobs, a bounded number of items at a time so that others get their turn in between.

use windrow_model::store::{Extent, Retention, StoreError};
use windrow_wire::Deleted;

use crate::app::error::Result;
use crate::app::wiring::App;

/// Items deleted per transaction.
const PAGE: usize = 500;

/// Whatever ended long enough ago (T10).
pub async fn clean_up(app: &App, retention: Retention) -> Result<Deleted> {
    let before = app.store.stats(Extent::All).await?;
    while app.store.clean_up(retention, PAGE, app.now()).await? > 0 {}
    sweep(app).await?;
    let after = app.store.stats(Extent::All).await?;
    Ok(Deleted { jobs: before.jobs - after.jobs, items: before.items - after.items })
}

/// What deleted jobs have left behind, here or in a process that was killed.
pub async fn sweep(app: &App) -> std::result::Result<(), StoreError> {
    while app.store.sweep_jobs(PAGE).await? > 0 {}
    Ok(())
}
