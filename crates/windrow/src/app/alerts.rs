//! Active and recent alerts (T12), of all nodes.

use windrow_model::AlertId;
use windrow_model::alert::Alert;
use windrow_wire::{AlertList, AlertView};

use crate::app::App;
use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::error::{Code, Error, Result};

pub async fn list(app: &App, actor: &Actor, before: Option<AlertId>, limit: usize) -> Result<AlertList> {
    let active = app.alerts.active_alerts().await?;
    let recent = app.alerts.recent_alerts(before, limit).await?;
    let next = recent.last().filter(|_| recent.len() == limit).map(|alert| alert.id.to_string());
    let views = |alerts: &[Alert]| alerts.iter().filter(|alert| sees(actor, alert)).map(AlertView::from).collect();
    Ok(AlertList { active: views(&active), recent: views(&recent), next })
}

/// Notes that the actor looks after the alert. It stays active until its condition ends.
pub async fn acknowledge(app: &App, change: &Change, alert: AlertId) -> Result<AlertView> {
    let missing = || {
        let remedy = format!("list alerts with `{}`", app.command("alerts"));
        Error::new(format!("alert {alert} not found"), remedy).coded(Code::NotFound)
    };
    // One of another workspace is not told from one that does not exist.
    let mut known = app.alerts.recent_alerts(Some(AlertId(alert.0.saturating_add(1))), 1).await?;
    known.pop().filter(|found| found.id == alert && sees(&change.actor, found)).ok_or_else(missing)?;
    let noted = app.alerts.acknowledge_alert(alert, &change.actor.name, app.now()).await?;
    Ok(AlertView::from(&noted.ok_or_else(missing)?))
}

/// An alert without a workspace is about a node, which all share.
fn sees(actor: &Actor, alert: &Alert) -> bool {
    alert.workspace.as_deref().is_none_or(|workspace| actor.sees(workspace))
}
