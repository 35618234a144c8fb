//! A reading: everything the server knows about its own health at one moment. Gauges, health checks and
//! alerts are made of it, so that they never disagree.

use std::path::PathBuf;
use std::time::Duration;

use windrow_engine::Load;
use windrow_model::Time;
use windrow_model::health::{Check, HealthSnapshot, HealthThresholds};
use windrow_model::store::{Extent, Store};

use crate::node::observe::process::{self, Cpu, Disk, Memory};

/// A database that takes longer does not answer.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub struct Reading {
    pub now: Time,
    pub started_at: Time,
    /// Or why the database did not answer.
    pub vitals: Result<HealthSnapshot, String>,
    pub load: Load,
    pub disk: Option<Disk>,
    pub memory: Option<Memory>,
    pub cpu: Option<Cpu>,
    pub open_files: Option<u64>,
}

impl Reading {
    pub async fn take(
        store: &dyn Store,
        folder: PathBuf,
        now: Time,
        extent: Extent,
        load: Load,
        patience: HealthThresholds,
        started_at: Time,
    ) -> Self {
        let vitals = match tokio::time::timeout(PATIENCE, store.health(extent, patience, now)).await {
            Ok(Ok(vitals)) => Ok(with_regard_to(&load, vitals)),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
        };
        // Reading /proc and asking a file system may block.
        let system = tokio::task::spawn_blocking(move || {
            (process::disk(&folder), process::memory(), process::cpu(), process::open_files())
        });
        let (disk, memory, cpu, open_files) = system.await.unwrap_or_default();
        Self { now, started_at, vitals, load, disk, memory, cpu, open_files }
    }
}

/// Items that wait while every worker here is busy wait for good reason.
fn with_regard_to(load: &Load, mut vitals: HealthSnapshot) -> HealthSnapshot {
    if load.is_full() {
        for finding in vitals.findings.iter_mut().filter(|finding| finding.check == Check::SlicePending) {
            (finding.count, finding.examples) = (0, Vec::new());
        }
    }
    vitals
}
