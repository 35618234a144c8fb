//! What earlier runs of a job teach about the next one: how long its calls take, how long answers are.

use windrow_experiment::forecast::Experience;
use windrow_jobfile::LoadedJob;
use windrow_model::record::Run;
use windrow_model::state::ItemState;
use windrow_model::store::ItemFilter;

use crate::app::App;
use crate::error::Result;

/// Items whose calls are looked at.
const LOOKED_AT: usize = 50;

pub struct Earlier {
    /// The latest run.
    pub run: Run,
    pub experience: Experience,
}

/// `None` where the job is new.
pub async fn of(app: &App, job: &LoadedJob) -> Result<Option<Earlier>> {
    let Some(found) = app.store.find_job(&job.workspace, &job.name).await? else { return Ok(None) };
    let run = app.store.run(found.latest_run).await?;
    let state = Some(ItemState::Succeeded);
    let items = app.store.items(ItemFilter { job: found.id, run: None, state, after: None, limit: LOOKED_AT }).await?;
    let mut experience = Experience::default();
    let details = app.store.details(items.iter().map(|item| item.id).collect()).await?;
    details.iter().flat_map(|detail| &detail.steps).for_each(|step| experience.learn(step));
    Ok(Some(Earlier { run, experience }))
}
