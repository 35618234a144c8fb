//! The relay inside a process: of a server for as long as it runs, of a command until everything is sent.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use windrow_analytics::{Client, Parts, Relay};
use windrow_model::SessionId;
use windrow_model::analytics::AnalyticsStore;

use crate::app::App;
use crate::app::analytics::unusable;
use crate::error::Result;

/// How long a command waits for another process to finish sending.
const PATIENCE: Duration = Duration::from_millis(200);

/// How long a command waits for its last rows to be sent.
const LAST_ROWS: Duration = Duration::from_secs(5);

pub struct Relaying {
    task: JoinHandle<()>,
    analytics: Arc<dyn AnalyticsStore>,
    owner: SessionId,
}

impl Relaying {
    /// `None` without `--clickhouse`.
    pub fn start(app: &App, owner: SessionId) -> Result<Option<Self>> {
        let Some(parts) = parts(app, owner)? else { return Ok(None) };
        let analytics = parts.analytics.clone();
        Ok(Some(Self { task: tokio::spawn(Relay::new(parts).run()), analytics, owner }))
    }

    /// At the end of a command: sends what is left, within a few seconds. False: something is left.
    pub async fn finish(self) -> bool {
        let sent = async {
            loop {
                match self.analytics.relay_status().await {
                    Ok(Some(status)) if status.is_caught_up() => return true,
                    Ok(Some(status)) if status.relay.trouble.is_some() => return false,
                    _ => tokio::time::sleep(PATIENCE).await,
                }
            }
        };
        let sent = tokio::time::timeout(LAST_ROWS, sent).await.unwrap_or(false);
        self.stop().await;
        sent
    }

    /// What was not sent is sent by the next relay.
    pub async fn stop(self) {
        self.task.abort();
        let _ = self.task.await;
        if let Err(error) = self.analytics.leave_relay(self.owner).await {
            tracing::debug!(%error, "failed to release the lease of the relay; it will expire");
        }
    }
}

fn parts(app: &App, owner: SessionId) -> Result<Option<Parts>> {
    let Some(address) = app.clickhouse() else { return Ok(None) };
    let client = Client::new(address.clone()).map_err(|failure| unusable(failure.into()))?;
    Ok(Some(Parts {
        store: app.store.clone(),
        analytics: app.analytics.clone(),
        client,
        clock: app.clock(),
        owner,
        incarnation: format!("{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..)),
        evaluators: windrow_experiment::evaluators,
    }))
}

/// Sends everything that is waiting, in this process unless another one does it.
pub async fn catch_up(app: &App) -> Result<()> {
    let owner = SessionId::mint(app.now(), fastrand::u64(..));
    let Some(parts) = parts(app, owner)? else { return Ok(()) };
    let mut relay = Relay::new(parts);
    loop {
        let led = relay.catch_up().await.map_err(unusable)?;
        if app.analytics.relay_status().await?.is_none_or(|status| status.is_caught_up()) {
            relay.leave().await?;
            return Ok(());
        }
        if !led {
            tokio::time::sleep(PATIENCE).await;
        }
    }
}
