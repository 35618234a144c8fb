//! Reads the health of the server every few seconds: sets gauges, evaluates alert rules, and stores, logs and announces
//! changes. Requests in between share a cached reading.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use windrow_engine::Engine;
use windrow_model::alert::Alert;
use windrow_model::hook::Announcement;
use windrow_model::record::{LogLevel, ServingNode};
use windrow_model::store::{NewLog, StoreError};
use windrow_model::{Json, Time};
use windrow_wire::AlertView;

use crate::app::App;
use crate::node::observe::alert::{Change, Machine, Pace, Rule, signals};
use crate::node::observe::{Exposition, Reading, Thresholds, gauges};
use crate::node::recent::Recent;

/// Cleared alerts that are kept.
const KEPT: usize = 1000;

pub struct Watch {
    /// This node by host and address.
    node: String,
    thresholds: Thresholds,
    exposition: Exposition,
    /// B16: a label of metrics of use.
    environment: String,
    every: Duration,
    started_at: Time,
    alerts: Mutex<Alerts>,
    readings: Recent<Option<String>, Reading>,
}

struct Alerts {
    machine: Machine,
    pace: Pace,
    /// Not stored yet, oldest first.
    unstored: Vec<Change>,
}

impl Watch {
    pub async fn begin(
        app: &App,
        address: &str,
        thresholds: Thresholds,
        every: Duration,
        exposition: Exposition,
        environment: String,
    ) -> Result<Self, StoreError> {
        let node = node_of(&app.host(), address);
        let machine = Machine::resume(node.clone(), app.alerts.active_alerts().await?);
        let alerts = Alerts { machine, pace: Pace::default(), unstored: Vec::new() };
        Ok(Self {
            node,
            thresholds,
            exposition,
            environment,
            every,
            started_at: app.now(),
            alerts: Mutex::new(alerts),
            readings: Recent::default(),
        })
    }

    pub fn thresholds(&self) -> &Thresholds {
        &self.thresholds
    }

    /// The current health, of one workspace or of all, cached briefly.
    pub async fn look(&self, app: &App, engine: &Engine, workspace: Option<String>) -> Arc<Reading> {
        let look = async {
            let reading = self.look_anew(app, engine, workspace.clone()).await;
            // After a failed read the next request reads again.
            if reading.vitals.is_ok() { Ok(reading) } else { Err(Arc::new(reading)) }
        };
        self.readings.get(workspace.clone(), look).await.unwrap_or_else(|failed| failed)
    }

    async fn look_anew(&self, app: &App, engine: &Engine, workspace: Option<String>) -> Reading {
        let folder = app.folder().to_owned();
        let patience = self.thresholds.patience;
        Reading::take(&*app.store, folder, app.now(), workspace, engine.load(), patience, self.started_at).await
    }

    /// The metrics as they are now.
    pub async fn expose(&self, app: &App, engine: &Engine) -> String {
        gauges::show(&*self.look(app, engine, None).await, &self.environment);
        self.exposition.text()
    }

    /// Runs as long as the server.
    pub async fn go_on(&self, app: &App, engine: &Engine) -> std::convert::Infallible {
        loop {
            let reading = self.look_anew(app, engine, None).await;
            gauges::show(&reading, &self.environment);
            self.judge(app, &reading).await;
            self.exposition.gather();
            tokio::time::sleep(self.every).await;
        }
    }

    async fn judge(&self, app: &App, reading: &Reading) {
        let changes = {
            let mut alerts = self.alerts();
            let Alerts { machine, pace, unstored } = &mut *alerts;
            pace.note(reading);
            let seen = signals(reading, pace);
            let changes = machine.see(&seen, &self.thresholds, reading.now, || fastrand::u64(..));
            // A database that is down is reported although it cannot be stored.
            changes.iter().filter(|change| is_of_node(change)).for_each(tell);
            gauges::show_alerts(|rule| machine.active().filter(|alert| alert.rule == rule.as_str()).count());
            unstored.extend(changes);
            std::mem::take(unstored)
        };
        let mut changes = changes.into_iter();
        while let Some(change) = changes.next() {
            if let Err(error) = store(app, &change).await {
                tracing::warn!(%error, "failed to store an alert, retrying");
                self.alerts().unstored.splice(0..0, std::iter::once(change).chain(changes));
                return;
            }
        }
        if let Err(error) = self.clear_stale(app).await {
            tracing::warn!(%error, "failed to clear alerts of ended nodes, retrying");
        }
    }

    /// Clears alerts about nodes that have ended.
    async fn clear_stale(&self, app: &App) -> Result<(), StoreError> {
        let mut others = app.alerts.active_alerts().await?;
        others.retain(|alert| alert.rule.parse().is_ok_and(Rule::is_of_node) && alert.subject != self.node);
        if others.is_empty() {
            return Ok(());
        }
        let sessions = app.store.sessions().await?;
        let live = |subject: &str| {
            let is = |node: &ServingNode, host: &str| node_of(host, &node.address) == subject;
            sessions.iter().any(|session| session.node.as_ref().is_some_and(|node| is(node, &session.host)))
        };
        for alert in others.into_iter().filter(|alert| !live(&alert.subject)) {
            store(app, &Change::Cleared(Alert { cleared_at: Some(app.now()), ..alert })).await?;
        }
        Ok(())
    }

    fn alerts(&self) -> MutexGuard<'_, Alerts> {
        self.alerts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn node_of(host: &str, address: &str) -> String {
    format!("{host} {address}")
}

fn is_of_node(change: &Change) -> bool {
    let (Change::Raised(alert) | Change::Cleared(alert)) = change;
    alert.rule.parse().is_ok_and(Rule::is_of_node)
}

fn tell(change: &Change) {
    match change {
        Change::Raised(Alert { rule, severity, message, run, .. }) => {
            let run = run.map(tracing::field::display);
            tracing::warn!(rule, %severity, run, message, "alert raised");
        }
        Change::Cleared(Alert { rule, message, run, .. }) => {
            let run = run.map(tracing::field::display);
            tracing::info!(rule, run, message, "alert cleared");
        }
    }
}

/// In the table of alerts, for webhooks, and in the log of its job (T7): once, by the first node that sees it.
async fn store(app: &App, change: &Change) -> Result<(), StoreError> {
    let (first, alert, level, topic, event, now) = match change {
        Change::Raised(alert) => {
            let first = app.alerts.raise_alert(alert.clone()).await?;
            (first, alert, LogLevel::Warn, "alert.raised", "alert_raised", alert.raised_at)
        }
        Change::Cleared(alert) => {
            let now = alert.cleared_at.unwrap_or(alert.raised_at);
            let first = app.alerts.clear_alert(&alert.rule, &alert.subject, now).await?;
            app.alerts.forget_alerts(KEPT).await?;
            (first, alert, LogLevel::Info, "alert.cleared", "alert_cleared", now)
        }
    };
    if !first {
        return Ok(());
    }
    if !is_of_node(change) {
        tell(change);
    }
    let (workspace, data) = (alert.workspace.clone(), Json::of(&AlertView::from(alert)));
    app.hooks.announce(Announcement { topic: topic.into(), workspace, data }, now).await?;
    let Some(job) = alert.job else { return Ok(()) };
    let message = format!("{}: {}", alert.rule, alert.message);
    let entry = NewLog { job, run: alert.run, item: None, level, event: event.into(), actor: "system".into(), message };
    app.store.log(vec![entry], now).await
}
