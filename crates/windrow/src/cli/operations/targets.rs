//! `windrow jobs targets`: an operation's report, target by target.

use serde_json::Value;
use windrow_model::ItemId;
use windrow_model::label_filter::LabelFilter;
use windrow_model::view::batch::BatchStatus;
use windrow_model::view::filter;
use windrow_wire::TargetView;

use crate::app::operations::TargetFilter;
use crate::cli::view::{output, paging};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;

const PAGE: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    Table,
    Json,
    Csv,
    Markdown,
}

/// List the targets of an operation and their outcome
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id
    job: String,
    /// Output format; json prints one object per line
    #[arg(long = "format", alias = "as", value_name = "FORMAT", value_enum, default_value_t = Form::Table)]
    form: Form,
    /// Print JSON to stdout, one object per line (as `--format json`)
    #[arg(long)]
    json: bool,
    /// Filter by status, e.g. success, fail, rollback_fail
    #[arg(long, alias = "state", value_name = "STATUS", value_parser = filter::target_status)]
    status: Option<BatchStatus>,
    /// Filter by labels, e.g. region=eu,type=cdc; labels are creator, service, environment, region, az, id, type, action
    /// and info.NAME
    #[arg(long, value_name = "NAME=VALUE,…", value_parser = LabelFilter::of_targets)]
    labels: Option<LabelFilter>,
    /// Maximum number of targets [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Cursor printed by the previous page
    #[arg(long, value_name = "CURSOR")]
    after: Option<i64>,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let form = if args.json { Form::Json } else { args.form };
    let (status, labels, after) = (args.status, args.labels.unwrap_or_default(), args.after.map(ItemId));
    let mut wanted = TargetFilter { status, labels, after, limit: PAGE, ..TargetFilter::default() };
    let (mut table, mut more) = (Vec::new(), None);
    let mut left = args.limit.map_or(usize::MAX, |limit| limit as usize);
    let mut first = true;
    // Page by page, so that memory does not depend on how many there are.
    loop {
        let page = api.targets(&args.job, wanted.clone()).await?;
        if std::mem::take(&mut first) {
            head(form);
        }
        for target in page.targets.iter().take(left) {
            match form {
                Form::Json => output::print_json_line(target),
                Form::Csv => output::print(&cells(target).map(|cell| quoted(&cell)).join(",")),
                Form::Markdown => output::print(&format!("| {} |", cells(target).map(|cell| plain(&cell)).join(" | "))),
                Form::Table => table.push(row(target)),
            }
        }
        if page.targets.len() > left || (page.targets.len() == left && page.next.is_some()) {
            more = page.targets.get(left - 1).map(|last| last.item.clone());
            break;
        }
        left -= page.targets.len();
        wanted.after = page.next.and_then(|next| next.parse().ok()).map(ItemId);
        if wanted.after.is_none() {
            break;
        }
    }
    if form == Form::Table {
        output::print(&output::table(&["TARGET", ">WAVE", "STATUS", "VERIFIED", ">TIME", "CHANGE"], table));
        more.iter().for_each(|next| output::print(&paging::more(next)));
    }
    Ok(Exit::Passed)
}

fn head(form: Form) {
    match form {
        Form::Csv => output::print(&HEADINGS.join(",")),
        Form::Markdown => output::print(&format!("| {} |\n|{}", HEADINGS.join(" | "), "---|".repeat(HEADINGS.len()))),
        Form::Table | Form::Json => {}
    }
}

const HEADINGS: [&str; 20] = [
    "item",
    "target",
    "wave",
    "status",
    "verified",
    "tries",
    "duration_ms",
    "before",
    "after",
    "error",
    "target_id",
    "target_type",
    "action",
    "creator",
    "service",
    "environment",
    "region",
    "az",
    "version",
    "retries",
];

fn cells(record: &TargetView) -> [String; 20] {
    let json = |value: &Option<Value>| value.as_ref().map(Value::to_string).unwrap_or_default();
    [
        record.item.clone(),
        record.target.clone(),
        record.wave.to_string(),
        record.status.to_string(),
        record.verified.to_string(),
        record.tries.to_string(),
        record.duration_ms.map(|ms| ms.to_string()).unwrap_or_default(),
        json(&record.before),
        json(&record.after),
        record.error.clone().unwrap_or_default(),
        record.labels.target_id.clone(),
        record.labels.target_type.clone(),
        record.labels.action.clone(),
        record.labels.creator.clone(),
        record.labels.service.clone(),
        record.labels.environment.clone(),
        record.labels.region.clone(),
        record.labels.az.clone(),
        record.version.to_string(),
        record.retries.to_string(),
    ]
}

fn quoted(cell: &str) -> String {
    match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    }
}

/// Neither a bar nor a line break may end the cell.
fn plain(cell: &str) -> String {
    cell.replace('|', "\\|").replace(['\n', '\r'], " ")
}

fn row(record: &TargetView) -> Vec<String> {
    let said = match (&record.error, record.changes.as_slice()) {
        (Some(error), _) if record.changed => format!("{error} (changed)"),
        (Some(error), _) => format!("{error} (not changed)"),
        (None, []) => "–".to_owned(),
        (None, changes) => changes.join("; "),
    };
    vec![
        record.target.clone(),
        record.wave.to_string(),
        record.status.to_string(),
        if record.verified { "yes" } else { "no" }.to_owned(),
        record.duration_ms.map_or("–".to_owned(), text::duration),
        text::line(&said, 90),
    ]
}
