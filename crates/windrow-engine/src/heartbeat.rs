//! Signs of life. Leases of items at work are renewed in one batch, three times per lease; an item
//! that never lives that long costs nothing. (Runs are renewed by the dispatcher's refresh.)

use std::sync::Arc;
use std::time::Duration;

use windrow_model::Lease;

use crate::bench::Bench;

pub async fn keep_alive(bench: Arc<Bench>) {
    loop {
        tokio::time::sleep(Duration::from_millis(bench.beat_ms)).await;
        let now = bench.now();
        let old: Vec<Lease> = bench
            .inflight()
            .all()
            .iter()
            .filter(|flag| now - flag.claimed_at >= bench.beat_ms as i64)
            .map(|flag| flag.lease)
            .collect();
        if old.is_empty() {
            continue;
        }
        match bench.backend.renew(old, now).await {
            Ok(renewals) => {
                bench.meters.renewed(&renewals);
                let inflight = bench.inflight();
                for renewal in renewals.iter().filter(|renewal| !renewal.alive || renewal.stop) {
                    let Some(flag) = inflight.get(renewal.lease.attempt) else { continue };
                    // The map is keyed by attempt; a lease given back and claimed again is another one.
                    if flag.lease != renewal.lease {
                        continue;
                    }
                    if renewal.alive { flag.stop() } else { flag.lose() }
                }
            }
            Err(error) => tracing::warn!(%error, "leases not renewed; trying again"),
        }
    }
}
