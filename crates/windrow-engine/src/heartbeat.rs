//! Renews the leases of running items in batches, less often the longer they run; an item that finishes within a third of
//! its lease is never renewed. (The dispatcher renews the leases of runs.)

use std::sync::Arc;
use std::time::Duration;

use windrow_model::Lease;

use crate::worker_context::WorkerContext;

/// How often in a beat it is seen which leases are due.
const LOOKS: u64 = 2;

pub async fn keep_alive(context: Arc<WorkerContext>) {
    loop {
        tokio::time::sleep(Duration::from_millis((context.beat_ms / LOOKS).max(1))).await;
        let now = context.now();
        let old: Vec<Lease> = context
            .inflight()
            .all()
            .iter()
            .filter(|control| control.needs_renewal(context.beat_ms as i64, now))
            .map(|control| control.lease)
            .collect();
        if old.is_empty() {
            continue;
        }
        match context.backend.renew(old, now).await {
            Ok(renewals) => {
                context.meters.renewed(&renewals);
                let inflight = context.inflight();
                for renewal in &renewals {
                    let Some(control) = inflight.get(renewal.lease.attempt) else { continue };
                    // The map is keyed by attempt; after a release and a new claim the lease differs.
                    if control.lease != renewal.lease {
                        continue;
                    }
                    match renewal.alive {
                        true => control.renewed(now),
                        false => control.lose(),
                    }
                    if renewal.stop {
                        control.stop();
                    }
                }
            }
            Err(error) => tracing::warn!(%error, "failed to renew leases, retrying"),
        }
    }
}
