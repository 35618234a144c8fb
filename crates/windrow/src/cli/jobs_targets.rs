//! `windrow jobs targets`: an operation's report, target by target.

use serde_json::Value;
use windrow_model::ItemId;
use windrow_model::record::{Job, Run};
use windrow_model::store::ItemFilter;
use windrow_workloads::operation::{self, TargetRecord};

use super::{output, text};
use crate::desk::Desk;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::find;
use crate::wiring::App;

const PAGE: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    Table,
    Json,
    Csv,
    Markdown,
}

/// What became of every target: before, after, verified, error, duration.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    job: String,
    /// How to write it; json is one object per line
    #[arg(long = "as", value_name = "FORM", value_enum, default_value_t = Form::Table)]
    form: Form,
    /// The same as `--as json`
    #[arg(long)]
    json: bool,
    /// Only targets with this status (success, fail, cancel, rollback_success …)
    #[arg(long, value_name = "STATUS")]
    status: Option<windrow_model::view::batch::BatchStatus>,
}

pub async fn perform(desk: &Desk, args: Args) -> Result<Exit> {
    let app = desk.here("jobs targets")?;
    let (job, run) = find::job(app, &args.job).await?;
    if job.kind != operation::KIND {
        let items = app.command(&format!("jobs items {}", job.name));
        return Err(Error::new(format!("{} has no targets", job.name), format!("its items: {items}")));
    }
    let form = if args.json { Form::Json } else { args.form };
    match form {
        Form::Csv => output::print(&HEADINGS.join(",")),
        Form::Markdown => output::print(&format!("| {} |\n|{}", HEADINGS.join(" | "), "---|".repeat(HEADINGS.len()))),
        Form::Table | Form::Json => {}
    }
    // Page by page, so that memory does not depend on how many there are.
    let mut after = None;
    let mut table = Vec::new();
    loop {
        let (records, last) = page(app, &job, &run, after).await?;
        for record in records.iter().filter(|record| args.status.is_none_or(|status| record.status == status)) {
            match form {
                Form::Json => output::print_json_line(record),
                Form::Csv => output::print(&cells(record).map(|cell| quoted(&cell)).join(",")),
                Form::Markdown => {
                    output::print(&format!("| {} |", cells(record).map(|cell| cell.replace('|', "\\|")).join(" | ")));
                }
                Form::Table => table.push(row(record)),
            }
        }
        if last.is_none() {
            break;
        }
        after = last;
    }
    if form == Form::Table {
        output::print(&output::table(&["TARGET", ">WAVE", "STATUS", "VERIFIED", ">TIME", "CHANGE"], table));
    }
    Ok(Exit::Passed)
}

/// The records, and where the next page begins.
pub async fn page(
    app: &App,
    job: &Job,
    run: &Run,
    after: Option<ItemId>,
) -> Result<(Vec<TargetRecord>, Option<ItemId>)> {
    let filter = ItemFilter { job: job.id, run: None, state: None, after, limit: PAGE };
    let items = app.store.items(filter).await?;
    let mut records = Vec::with_capacity(items.len());
    for item in &items {
        let mode = if item.run == run.id { run.mode } else { app.store.run(item.run).await?.mode };
        records.push(TargetRecord::of(&app.store.item(item.id).await?, mode));
    }
    let next = (items.len() == PAGE).then(|| items[PAGE - 1].id);
    Ok((records, next))
}

const HEADINGS: [&str; 10] =
    ["item", "target", "wave", "status", "verified", "tries", "duration_ms", "before", "after", "error"];

fn cells(record: &TargetRecord) -> [String; 10] {
    let json = |value: &Option<Value>| value.as_ref().map(Value::to_string).unwrap_or_default();
    [
        record.item.to_string(),
        record.target.clone(),
        (record.wave + 1).to_string(),
        record.status.to_string(),
        record.verified.to_string(),
        record.tries.to_string(),
        record.duration_ms.map(|ms| ms.to_string()).unwrap_or_default(),
        json(&record.before),
        json(&record.after),
        record.error.clone().unwrap_or_default(),
    ]
}

fn quoted(cell: &str) -> String {
    match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    }
}

fn row(record: &TargetRecord) -> Vec<String> {
    let said = match (&record.error, record.changes.as_slice()) {
        (Some(error), _) => error.clone(),
        (None, []) => "–".to_owned(),
        (None, changes) => changes.join("; "),
    };
    vec![
        record.target.clone(),
        (record.wave + 1).to_string(),
        record.status.to_string(),
        if record.verified { "yes" } else { "no" }.to_owned(),
        record.duration_ms.map_or("–".to_owned(), text::duration),
        text::line(&said, 90),
    ]
}
