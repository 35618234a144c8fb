//! How far the ingest jobs of a source have come (I6): from the counters of jobs and their current definitions, so that no
//! task is read.

use std::collections::BTreeMap;

use windrow_ingest::{KIND, origin_of};
use windrow_model::store::JobFilter;
use windrow_wire::{IngestProgress, SourceProgress};

use crate::app::App;
use crate::app::actor::Actor;
use crate::error::Result;

const PAGE: usize = 500;

/// Jobs of this origin.
#[derive(Debug, Clone, Default)]
pub struct OriginFilter {
    pub provenance: Option<String>,
    pub operation: Option<String>,
}

pub async fn progress(app: &App, actor: &Actor, wanted: OriginFilter) -> Result<IngestProgress> {
    let mut sources: BTreeMap<(String, String), SourceProgress> = BTreeMap::new();
    let (workspace, kind) = (actor.workspace.clone(), Some(KIND.to_owned()));
    let mut filter = JobFilter { workspace, kind, limit: PAGE, ..JobFilter::default() };
    loop {
        let jobs = app.store.jobs(filter.clone()).await?;
        for (job, latest) in &jobs {
            let origin = origin_of(&app.store.spec(&latest.spec_hash).await?)?;
            let is = |wish: &Option<String>, found: &str| wish.as_ref().is_none_or(|wish| wish == found);
            if is(&wanted.provenance, &origin.provenance) && is(&wanted.operation, &origin.operation) {
                let key = (origin.provenance, origin.operation);
                let none = || SourceProgress::none(key.0.clone(), key.1.clone());
                sources.entry(key.clone()).or_insert_with(none).add(job);
            }
        }
        filter.before = jobs.last().map(|(job, _)| job.id);
        if jobs.len() < PAGE {
            return Ok(IngestProgress { sources: sources.into_values().collect() });
        }
    }
}
