//! `windrow ingest lineage`

use windrow_model::ingest::TypeChange;
use windrow_model::state::Mode;
use windrow_model::view::ingest::SliceStatus;
use windrow_wire::{BatchNode, Lineage, SliceNode, TaskRunNode};

use crate::app::ingest::LineageOptions;
use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;
use crate::text::style;

/// Show where ingested data came from: run, slices, tasks, attempts and batches
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id, with `#N` for one of its runs, or a run id
    run: String,
    /// Show only this slice
    #[arg(long)]
    slice: Option<String>,
    /// Show only slices with this status
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Option<SliceStatus>,
    /// Show only slices of this source
    #[arg(long, value_name = "NAME")]
    provenance: Option<String>,
    /// Show only slices of this operation
    #[arg(long, value_name = "NAME")]
    operation: Option<String>,
    /// Show only slices of the definition with this hash
    #[arg(long, value_name = "HASH")]
    expr_hash: Option<String>,
    /// Cursor printed by the previous page
    #[arg(long, value_name = "CURSOR")]
    after: Option<i64>,
    /// Maximum number of slices
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// Number of newest batches to show per attempt
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(..=1000))]
    batches: u16,
    /// Show only batches that failed
    #[arg(long)]
    failed_batches: bool,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let wish = LineageOptions {
        slice: args.slice,
        status: args.status,
        provenance: args.provenance,
        operation: args.operation,
        expr_hash: args.expr_hash,
        after: args.after,
        limit: args.limit.into(),
        batches: args.batches.into(),
        failed_batches: args.failed_batches,
    };
    let lineage = api.lineage(&args.run, wish).await?;
    output::show(&lineage, args.json);
    if let (false, Some(next)) = (args.json, lineage.next) {
        output::say(&format!("more: {}", api.command(&format!("ingest lineage {} --after {next}", args.run))));
    }
    Ok(Exit::Passed)
}

fn status(text: &str) -> std::result::Result<SliceStatus, String> {
    let known = SliceStatus::ALL.iter().map(|status| status.as_str()).collect::<Vec<_>>().join(", ");
    text.to_uppercase().parse().map_err(|_| format!("must be one of {known}"))
}

impl Show for Lineage {
    fn text(&self) -> String {
        let Lineage { schedule_instance: instance, plan, .. } = self;
        let started = instance.idempotency_key.as_deref().unwrap_or("started manually");
        let mode = if instance.mode == Mode::Submit { String::new() } else { format!(" ({})", instance.mode) };
        let (name, status) = (style::bold(&plan.name), style::status(&plan.status));
        let mut page = format!("{name} · run {}{mode} · {started} · {status}\n", instance.no);
        let origin = &plan.origin;
        page += &format!(
            "{}\n",
            style::dim(format!("source {} · {} · {}", origin.provenance, origin.operation, origin.expr_hash))
        );
        let nodes = self.slices.iter().map(slice).collect();
        page + &branches(nodes)
    }
}

/// A node with the nodes below it.
struct Tree {
    line: String,
    below: Vec<Tree>,
}

fn branches(nodes: Vec<Tree>) -> String {
    let last = nodes.len().saturating_sub(1);
    let mut page = String::new();
    for (i, node) in nodes.into_iter().enumerate() {
        let (sign, indent) = if i == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        page += &format!("{}{}\n", style::dim(sign), node.line);
        page.extend(branches(node.below).lines().map(|line| format!("{}{line}\n", style::dim(indent))));
    }
    page
}

fn slice(node: &SliceNode) -> Tree {
    let lease = node.task.lease.as_ref().map_or(String::new(), |lease| {
        format!(" · lease of {} until {}, taken {}", lease.owner, lease.until, text::plural(lease.count, "time"))
    });
    let task = Tree {
        line: format!("task {} · {}{lease}", node.task.item, style::status(&node.task.status.to_string())),
        below: node.task.runs.iter().map(attempt).collect(),
    };
    Tree { line: format!("slice {} · {}", node.name, style::status(&node.status.to_string())), below: vec![task] }
}

fn attempt(node: &TaskRunNode) -> Tree {
    let stats = &node.stats;
    let mut parts = vec![format!("{} fetched", text::count(stats.fetched))];
    let fates = [(stats.upserted, "upserted"), (stats.skipped, "skipped"), (stats.failed, "rejected")];
    parts.extend(fates.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", text::count(*n))));
    let status = style::status(&node.status.to_string());
    let batches = text::plural(node.batch_count as i64, "batch");
    let error = node
        .error
        .as_ref()
        .map_or(String::new(), |error| format!(" · {}: {}", error.class, text::line(&error.message, 100)));
    Tree {
        line: format!("attempt {} · {status} · {batches} · {}{error}", node.attempt_no, parts.join(", ")),
        below: node.type_changes.iter().map(type_change).chain(node.batches.iter().map(batch)).collect(),
    }
}

fn type_change(change: &TypeChange) -> Tree {
    Tree { line: style::yellow(format!("type change: {change}")), below: Vec::new() }
}

fn batch(node: &BatchNode) -> Tree {
    let at = |position: &Option<serde_json::Value>| match position {
        Some(position) => text::line(&position.to_string(), 40),
        None => String::new(),
    };
    let before = if node.before.is_none() { "start".to_owned() } else { at(&node.before) };
    let position = style::dim(format!("{before} → {}", at(&node.after)));
    let (status, records) = (style::status(&node.status.to_string()), text::plural(node.record_count, "record"));
    Tree { line: format!("batch {} · {status} · {records} · {position}", node.batch_no), below: Vec::new() }
}
