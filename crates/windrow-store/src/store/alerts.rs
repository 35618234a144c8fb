//! The port of alerts.

use async_trait::async_trait;
use windrow_model::alert::{Alert, AlertStore};
use windrow_model::store::Result;
use windrow_model::{AlertId, Time};

use super::SqlStore;
use crate::sql::admin::alerts;

#[async_trait]
impl AlertStore for SqlStore {
    async fn raise_alert(&self, alert: Alert) -> Result<bool> {
        self.write("raise_alert", move |tx| alerts::raise(tx, &alert)).await
    }

    async fn clear_alert(&self, rule: &str, subject: &str, now: Time) -> Result<bool> {
        let (rule, subject) = (rule.to_owned(), subject.to_owned());
        self.write("clear_alert", move |tx| alerts::clear(tx, &rule, &subject, now)).await
    }

    async fn acknowledge_alert(&self, id: AlertId, actor: &str, now: Time) -> Result<Option<Alert>> {
        let actor = actor.to_owned();
        self.write("acknowledge_alert", move |tx| alerts::acknowledge(tx, id, &actor, now)).await
    }

    async fn active_alerts(&self) -> Result<Vec<Alert>> {
        self.read("active_alerts", |conn| alerts::list(conn, &alerts::ACTIVE, [i64::MIN])).await
    }

    async fn recent_alerts(&self, before: Option<AlertId>, limit: usize) -> Result<Vec<Alert>> {
        let before = before.map_or(i64::MAX, |before| before.0);
        self.read("recent_alerts", move |conn| alerts::list(conn, &alerts::RECENT, [before, limit as i64])).await
    }

    async fn forget_alerts(&self, keep: usize) -> Result<i64> {
        self.write("forget_alerts", move |tx| alerts::forget(tx, keep)).await
    }
}
