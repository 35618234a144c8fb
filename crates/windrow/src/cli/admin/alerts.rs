//! `windrow alerts`

use windrow_model::AlertId;
use windrow_model::alert::Severity;
use windrow_wire::{AlertList, AlertView};

use crate::cli::view::output::{self, Show};
use crate::cli::view::paging;
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;
use crate::text::style;

/// List alerts, active alerts first
///
/// A server watches failure rates, stalled and slow runs, disk, memory, CPU, its queue and the database. Each alert is
/// raised once, also with several nodes.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Maximum number of cleared alerts
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// Cursor printed by the previous page: shows older alerts only
    #[arg(long, value_name = "CURSOR")]
    after: Option<AlertId>,
    /// Note that you look after the active alert with this id; it stays active until its condition ends
    #[arg(long, value_name = "ID")]
    acknowledge: Option<AlertId>,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    if let Some(alert) = args.acknowledge {
        api.acknowledge_alert(alert).await?;
    }
    let mut list = api.alerts(args.after, args.limit.into()).await?;
    if args.after.is_some() {
        list.active.clear();
    }
    output::show(&list, args.json);
    if let Some(next) = list.next.filter(|_| !args.json) {
        output::print(&paging::more(&next));
    }
    Ok(Exit::Passed)
}

impl Show for AlertList {
    fn text(&self) -> String {
        let cleared = self.recent.iter().filter(|alert| alert.cleared_at.is_some());
        let rows: Vec<Vec<String>> = self.active.iter().chain(cleared).map(row).collect();
        match rows.is_empty() {
            true => "No alerts.".to_owned(),
            false => output::table(&["STATUS", "SEVERITY", "RULE", "RAISED", "ID", "MESSAGE"], rows),
        }
    }
}

fn row(alert: &AlertView) -> Vec<String> {
    let status = match (alert.cleared_at, alert.severity) {
        (Some(_), _) => style::dim("cleared"),
        (None, Severity::Critical) => style::red("active"),
        (None, Severity::Warning) => style::yellow("active"),
    };
    let node = alert.node.as_ref().map_or(String::new(), |node| format!(" ({node})"));
    let seen = alert.acknowledged_by.as_ref().map_or(String::new(), |by| format!(" · acknowledged by {by}"));
    let message = format!("{}{node}{seen}", alert.message);
    let raised = text::moment(alert.raised_at);
    vec![status, alert.severity.to_string(), alert.rule.clone(), raised, alert.id.clone(), message]
}
