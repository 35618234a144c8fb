//! Renews the leases of running items in one batch, three times per lease; an item that finishes sooner is never
//! renewed. (The dispatcher renews the leases of runs.)

use std::sync::Arc;
use std::time::Duration;

use windrow_model::Lease;

use crate::worker_context::WorkerContext;

pub async fn keep_alive(context: Arc<WorkerContext>) {
    loop {
        tokio::time::sleep(Duration::from_millis(context.beat_ms)).await;
        let now = context.now();
        let old: Vec<Lease> = context
            .inflight()
            .all()
            .iter()
            .filter(|control| now - control.claimed_at >= context.beat_ms as i64)
            .map(|control| control.lease)
            .collect();
        if old.is_empty() {
            continue;
        }
        match context.backend.renew(old, now).await {
            Ok(renewals) => {
                context.meters.renewed(&renewals);
                let inflight = context.inflight();
                for renewal in renewals.iter().filter(|renewal| !renewal.alive || renewal.stop) {
                    let Some(control) = inflight.get(renewal.lease.attempt) else { continue };
                    // The map is keyed by attempt; after a release and a new claim the lease differs.
                    if control.lease != renewal.lease {
                        continue;
                    }
                    if renewal.alive { control.stop() } else { control.lose() }
                }
            }
            Err(error) => tracing::warn!(%error, "failed to renew leases, retrying"),
        }
    }
}
