//! `windrow label`

use std::collections::BTreeMap;

use serde_json::Value;
use windrow_wire::{LabelList, LabelRequest, LabelView, Labelled, TableRow, ViewRequest};

use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Error, Exit, Result};
use crate::text;
use crate::text::style;

/// Label rows, or correct what an evaluator found
///
/// Labels are kept with author, time and reason; computed scores stay as they are. With an item and no label, prints
/// the history of the item.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Labels: NAME=pass, NAME=fail, NAME=0.5 for an evaluator; `pass` or `fail` alone for the only evaluator, or for the row \
as a whole (`outcome`) where there are several; note=TEXT for a remark; NAME= clears. Examples:
  windrow label support 17 exact=fail --reason 'wrong currency'
  windrow label support --where 'score.judge < 0.2' judge=fail
  windrow label support --next")]
pub struct Args {
    /// Job name or id
    job: String,
    /// Item ids and labels
    #[arg(value_name = "ITEM|LABEL")]
    what: Vec<String>,
    /// Label every row that matches, e.g. `outcome = fail and reviewed = false`
    #[arg(long = "where", value_name = "CONDITION")]
    condition: Option<String>,
    /// Why, for the history
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    /// Show the next row without a review, and how many remain
    #[arg(long)]
    next: bool,
    /// Accept names that are neither evaluators nor in use
    #[arg(long)]
    new: bool,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let (items, labels): (Vec<String>, Vec<String>) =
        args.what.iter().cloned().partition(|word| word.chars().all(|c| c.is_ascii_digit()));
    if args.next {
        return next(api, &args).await;
    }
    if labels.is_empty() {
        return match items.as_slice() {
            [item] if args.condition.is_none() => {
                output::show(&api.labels_of_item(item.parse().unwrap_or(i64::MAX)).await?, args.json);
                Ok(Exit::Passed)
            }
            _ => Err(usage("no label given", "e.g. exact=fail, or --next for the next row")),
        };
    }
    if items.is_empty() == args.condition.is_none() {
        return Err(usage("name items, or select them with `--where`", "pass one of the two"));
    }
    let request = LabelRequest {
        items: args.condition.is_none().then_some(items),
        r#where: args.condition,
        labels: parsed(api, &args.job, &labels).await?,
        reason: args.reason,
        new: args.new,
    };
    output::show(&api.label(&args.job, request).await?, args.json);
    Ok(Exit::Passed)
}

fn usage(what: &str, remedy: &str) -> Error {
    Error::new(what, remedy).ending_with(Exit::Usage)
}

async fn parsed(api: &Api, job: &str, labels: &[String]) -> Result<BTreeMap<String, Value>> {
    let mut found = BTreeMap::new();
    for label in labels {
        let (name, value) = match label.split_once('=') {
            Some((name, value)) => (name.to_owned(), value),
            None if label == "pass" || label == "fail" => (of_row(api, job).await?, label.as_str()),
            None => return Err(usage(&format!("{label:?} is not a label"), "write NAME=pass, NAME=fail or NAME=0.5")),
        };
        let value = match value {
            "" => Value::Null,
            text => text.parse::<f64>().ok().filter(|number| number.is_finite()).map_or(text.into(), Value::from),
        };
        found.insert(name, value);
    }
    Ok(found)
}

/// A bare verdict is about the only evaluator, or the row as a whole.
async fn of_row(api: &Api, job: &str) -> Result<String> {
    let view = api.view(job, ViewRequest::default()).await?;
    Ok(match view.metrics.as_slice() {
        [only] => only.name.clone(),
        _ => windrow_model::label::OUTCOME.to_owned(),
    })
}

async fn next(api: &Api, args: &Args) -> Result<Exit> {
    let open = "reviewed = false and outcome in (pass, fail)";
    let condition = match &args.condition {
        Some(condition) => format!("({condition}) and {open}"),
        None => open.to_owned(),
    };
    let view = api.view(&args.job, ViewRequest { r#where: Some(condition), ..Default::default() }).await?;
    let rows = api.view_rows(&args.job, &view.view, 0, 1).await?;
    if args.json {
        output::print_json(&serde_json::json!({ "left": view.total, "row": rows.first() }));
        return Ok(Exit::Passed);
    }
    let Some(row) = rows.first() else {
        output::print("Every row is reviewed.");
        return Ok(Exit::Passed);
    };
    output::print(&shown(row, view.total));
    output::next(&[api.command(&format!("label {} {} pass", args.job, row.item))]);
    Ok(Exit::Passed)
}

fn shown(row: &TableRow, left: i64) -> String {
    let mut page = format!("{} · {} left to review\n\n", style::bold(format!("item {}", row.item)), text::count(left));
    let mut line = |name: &str, text: &str| page += &format!("{} {text}\n", style::dim(format!("{name:<9}")));
    line("input", &row.input);
    row.expected.iter().for_each(|text| line("expected", text));
    row.output.iter().for_each(|text| line("output", text));
    for (name, score) in &row.scores {
        let value = score.value.map_or(String::new(), |value| format!(" {value:.3}"));
        line(name, &format!("{}{value}  {}", score.verdict, score.reason));
    }
    page
}

impl Show for Labelled {
    fn text(&self) -> String {
        let items = text::plural(self.items, "row");
        match self.added {
            0 => format!("{items} selected; nothing new was said."),
            added => format!("{} added to {items} of {}.", text::plural(added, "label"), self.job),
        }
    }
}

impl Show for LabelList {
    fn text(&self) -> String {
        if self.labels.is_empty() {
            return "This item has no labels.".to_owned();
        }
        let said = |label: &LabelView| match (&label.note, label.value, &label.verdict) {
            (Some(note), ..) => note.clone(),
            (_, Some(value), _) => value.to_string(),
            (_, _, Some(verdict)) => verdict.clone(),
            _ => "cleared".to_owned(),
        };
        let row = |label: &LabelView| {
            vec![label.at.to_string(), label.author.clone(), label.name.clone(), said(label), label.reason.clone()]
        };
        output::table(&["AT", "AUTHOR", "NAME", "LABEL", "REASON"], self.labels.iter().map(row).collect())
    }
}
