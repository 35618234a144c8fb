//! Active and recent alerts (T12), of all nodes.

use windrow_model::AlertId;
use windrow_model::alert::Alert;
use windrow_wire::{AlertList, AlertView};

use crate::app::App;
use crate::app::actor::Actor;
use crate::error::Result;

pub async fn list(app: &App, actor: &Actor, before: Option<AlertId>, limit: usize) -> Result<AlertList> {
    let active = app.alerts.active_alerts().await?;
    let recent = app.alerts.recent_alerts(before, limit).await?;
    let next = recent.last().filter(|_| recent.len() == limit).map(|alert| alert.id.to_string());
    // An alert without a workspace is about a node, which all share.
    let seen = |alert: &&Alert| alert.workspace.as_deref().is_none_or(|workspace| actor.sees(workspace));
    let views = |alerts: &[Alert]| alerts.iter().filter(seen).map(AlertView::from).collect();
    Ok(AlertList { active: views(&active), recent: views(&recent), next })
}
