//! `windrow ingest lineage`

use windrow_wire::{BatchNode, Lineage, SliceNode, TaskRunNode};

use crate::app::ingest::LineageOptions;
use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;

/// Where the data of a plan came from: schedule instance, plan, slices, tasks, their runs and batches.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// JOB for its latest run, JOB#3, or the id of a run
    run: String,
    /// Only the slice of this name
    #[arg(long)]
    slice: Option<String>,
    /// Behind this item: where the page before ended
    #[arg(long, value_name = "ITEM")]
    after: Option<i64>,
    /// At most so many slices
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// The newest batches of each attempt
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(..=1000))]
    batches: u16,
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let wish =
        LineageOptions { slice: args.slice, after: args.after, limit: args.limit.into(), batches: args.batches.into() };
    let lineage = api.lineage(&args.run, wish).await?;
    output::show(&lineage, args.json);
    if let (false, Some(next)) = (args.json, lineage.next) {
        eprintln!("more: {}", api.command(&format!("ingest lineage {} --after {next}", args.run)));
    }
    Ok(Exit::Passed)
}

impl Show for Lineage {
    fn text(&self) -> String {
        let Lineage { schedule_instance: instance, plan, .. } = self;
        let set_off = instance.idempotency_key.as_deref().unwrap_or("by hand");
        let origin = format!("{} · {} · {}", plan.origin.provenance, plan.origin.operation, plan.origin.expr_hash);
        let facts = [
            ("instance", format!("run {} · {} · {set_off} · {}", instance.no, instance.mode, instance.run)),
            ("plan", format!("{} {} · {}", plan.name, plan.status, plan.job)),
            ("origin", origin),
        ];
        output::facts(&facts) + &self.slices.iter().map(slice).collect::<String>()
    }
}

fn slice(node: &SliceNode) -> String {
    let head = format!("\nslice {} {}\n  task {} {}\n", node.name, node.status, node.task.item, node.task.status);
    head + &node.task.runs.iter().map(run).collect::<String>()
}

fn run(node: &TaskRunNode) -> String {
    let stats = &node.stats;
    let mut page = format!(
        "    run {} {} · {} · {} fetched, {} upserted, {} skipped, {} failed\n",
        node.attempt_no,
        node.status,
        match node.batch_count {
            1 => "1 batch".to_owned(),
            count => format!("{} batches", text::count(count as i64)),
        },
        text::count(stats.fetched),
        text::count(stats.upserted),
        text::count(stats.skipped),
        text::count(stats.failed)
    );
    if let Some(error) = &node.error {
        page += &format!("      {}: {}\n", error.class, text::line(&error.message, 100));
    }
    page + &node.batches.iter().map(batch).collect::<String>()
}

fn batch(node: &BatchNode) -> String {
    let at = |position: &Option<serde_json::Value>| match position {
        Some(position) => text::line(&position.to_string(), 40),
        None => "·".to_owned(),
    };
    let (before, after) = (at(&node.before), at(&node.after));
    let (no, status, records) = (node.batch_no, node.status, text::count(node.record_count));
    format!("      batch {no} {status} · {records} records · {before} → {after}\n")
}
