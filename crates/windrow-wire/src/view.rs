//! Views of the result table: a question, its numbers, and pages of rows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windrow_model::state::Mode;
use windrow_results::label::RowLabel;
use windrow_results::summary::{Facet, Group, Header, Metric};
use windrow_results::{Kind, Name, ResultRow, Seen, Value};

use crate::{StreamedText, Timestamp};

/// A question to the result table of a job.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ViewRequest {
    /// Only results of this run, by its number. Default: the current results of all items.
    pub run: Option<i64>,
    /// The baseline: `JOB#RUN`, `#RUN` of this job, or `variant NAME`.
    pub vs: Option<String>,
    /// Filter, e.g. `outcome = fail and score.exact < 0.5`.
    pub r#where: Option<String>,
    /// Names, separated by commas; `-` before a name for descending order. Default: the order of the dataset.
    pub sort: Option<String>,
    /// A name; numbers with many values are grouped in ranges. `latency_ms by 250` sets the width of the ranges.
    pub group: Option<String>,
    /// Names of the columns to describe. Default: a choice that fits the job.
    pub columns: Option<Vec<String>>,
    /// Names to count values of. `*` selects names that fit the job.
    pub facets: Option<Vec<String>>,
}

/// A snapshot of the rows that match, kept for ten minutes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ResultView {
    pub view: String,
    pub job: String,
    pub run: Option<i64>,
    /// Null without a baseline.
    pub vs: Option<BaselineName>,
    /// Number of the newest event when the table was read.
    pub as_of: i64,
    /// Rows that changed and are not in the answer yet: the table is being read. 0: it has everything that was committed
    /// before.
    pub behind: i64,
    /// Rows that match.
    pub total: i64,
    pub rows_of_job: i64,
    pub columns: Vec<ColumnView>,
    pub header: Header,
    pub metrics: Vec<Metric>,
    pub variants: Vec<VariantView>,
    pub facets: Vec<Facet>,
    /// Null unless grouped.
    pub groups: Option<Vec<Group>>,
    /// Who answered: `database`, or `clickhouse` where it has everything that happened before the question.
    pub source: String,
    /// Why the database answered although ClickHouse is configured.
    pub notice: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BaselineName {
    pub name: String,
    /// Why it is the baseline.
    pub why: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ColumnView {
    pub name: String,
    pub kind: Kind,
    pub title: String,
    /// `field`, `score`, `verdict`, `output` or `meta`.
    pub role: String,
}

impl ColumnView {
    pub fn of(name: &Name) -> Self {
        let role = match name {
            Name::Field(..) | Name::Input | Name::Expected => "field",
            Name::Score(_) | Name::Delta(_) | Name::BaselineScore(_) | Name::Corrected(_) => "score",
            Name::Verdict(_) | Name::Change(_) | Name::Reason(_) | Name::Label(_) => "verdict",
            Name::Output | Name::OutputOf(_) | Name::BaselineOutput => "output",
            _ => "meta",
        };
        let text = name.to_string();
        let title = match name {
            Name::Field(name, _) | Name::Score(name) | Name::OutputOf(name) => name.clone(),
            Name::LatencyMs => "latency".to_owned(),
            _ => text.replace('_', " "),
        };
        Self { name: text, kind: name.kind(), title, role: role.to_owned() }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct VariantView {
    pub name: String,
    pub target: Option<String>,
    pub prompt: Option<String>,
    pub n: i64,
    /// US dollars.
    pub cost: f64,
    pub metrics: Vec<Metric>,
}

impl VariantView {
    /// Without rows, its parts are not shown.
    pub fn of(name: &str, n: i64, cost: f64, metrics: Vec<Metric>) -> Self {
        let (target, prompt) = name.split_once('.').map_or((name, None), |(target, prompt)| (target, Some(prompt)));
        Self {
            name: name.to_owned(),
            target: (n > 0).then(|| target.to_owned()),
            prompt: prompt.filter(|_| n > 0).map(str::to_owned),
            n,
            cost,
            metrics,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TablePage {
    pub offset: i64,
    pub total: i64,
    pub rows: Vec<TableRow>,
}

/// The result table of a job, read from the records again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RebuiltTable {
    pub job: String,
    pub rows: i64,
    /// Whether there was a table to compare with.
    pub compared: bool,
    /// Rows that were not what the records say.
    pub differing: i64,
    /// The first of them.
    pub differences: Vec<RowDifference>,
    /// Where the counters of the job are not those of its rows.
    pub counters: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RowDifference {
    pub item: String,
    /// The names whose values differed; `missing` or `superfluous` for a whole row.
    pub names: Vec<String>,
}

/// A row of the table. Texts are previews of 200 characters; the item has them in full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TableRow {
    pub item: String,
    pub key: String,
    /// Place in the dataset, from 1.
    pub row: i64,
    pub variant: Option<String>,
    pub trial: i64,
    pub state: String,
    pub outcome: String,
    /// Number of the run that made the result.
    pub run: i64,
    /// Error class.
    pub error: Option<String>,
    pub message: Option<String>,
    pub tries: u32,
    pub turns: u32,
    pub flaky: bool,
    /// No longer in the dataset: the last run over the whole dataset did not find it.
    #[serde(default)]
    pub removed: bool,
    /// All trials of this row and variant, this one too; empty where there is one.
    #[serde(default)]
    pub trials: Vec<TrialOutcome>,
    pub latency_ms: Option<i64>,
    pub tokens_in: i64,
    pub tokens_out: i64,
    /// US dollars.
    pub cost: f64,
    pub finished_at: Option<Timestamp>,
    pub trace: String,
    pub input: String,
    pub expected: Option<String>,
    pub output: Option<String>,
    /// By column.
    pub outputs: BTreeMap<String, String>,
    /// Of the dataset.
    #[schema(value_type = BTreeMap<String, serde_json::Value>)]
    pub fields: serde_json::Map<String, serde_json::Value>,
    pub scores: BTreeMap<String, TableScore>,
    /// What people said, by evaluator, `outcome`, `note` or a name of their own.
    pub labels: BTreeMap<String, TableLabel>,
    /// A person gave a verdict or a value on this output.
    pub reviewed: bool,
    /// The row of the baseline; null without one.
    pub baseline: Option<BaselineRow>,
    /// What the call in flight has said so far, the newest 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streaming: Option<StreamedText>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TrialOutcome {
    pub trial: i64,
    pub item: String,
    pub outcome: String,
}

/// One item in the last runs of its job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ItemHistory {
    pub item: String,
    /// Newest first.
    pub runs: Vec<ItemInRun>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ItemInRun {
    pub no: i64,
    /// Id of the run.
    pub run: String,
    pub mode: Mode,
    pub at: Timestamp,
    /// What the run made of it; null if it was not in the run.
    pub row: Option<TableRow>,
}

/// The label that counts under a name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TableLabel {
    /// `pass`, `fail`, a number or a text.
    pub label: String,
    /// The value used instead of the computed score in corrected numbers; null for a note, or if the label is outdated.
    pub corrected: Option<f64>,
    pub reason: String,
    pub author: String,
    pub at: Timestamp,
    /// The label was given to another output.
    pub outdated: bool,
}

/// Over all turns of a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TableScore {
    /// The lowest.
    pub value: Option<f64>,
    /// The worst: `fail`, then `error`, `pass`, `skipped`.
    pub verdict: String,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BaselineRow {
    pub item: String,
    pub outcome: String,
    pub output: Option<String>,
    #[serde(default)]
    pub latency_ms: Option<i64>,
    #[serde(default)]
    pub tokens: i64,
    /// US dollars.
    #[serde(default)]
    pub cost: f64,
    pub scores: BTreeMap<String, TableScore>,
    /// This row less the baseline, by `latency_ms`, `tokens`, `cost` and evaluator.
    pub delta: BTreeMap<String, f64>,
    /// `improved`, `same` or `regressed`.
    pub change: BTreeMap<String, String>,
    /// As of the row itself.
    #[serde(default)]
    pub trials: Vec<TrialOutcome>,
}

/// A chunk of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TextPage {
    pub item: String,
    /// In the query language.
    pub name: String,
    /// Bytes before the chunk.
    pub offset: i64,
    /// Bytes of the whole text.
    pub total: i64,
    pub text: String,
    /// The offset of the next chunk; null at the end.
    pub next: Option<i64>,
}

/// A name of the query language.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldView {
    pub name: String,
    pub kind: Kind,
    /// Values to complete, where there are few.
    pub values: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldList {
    pub fields: Vec<FieldView>,
}

impl TableRow {
    pub fn of(seen: &Seen<'_>) -> Self {
        let row = seen.row;
        let names: Vec<&str> = row.scores.iter().map(|score| score.name.as_str()).collect();
        let baseline = seen.baseline.map(|before| BaselineRow {
            trials: Vec::new(),
            item: before.item.to_string(),
            outcome: before.outcome.to_string(),
            output: before.output.clone(),
            latency_ms: before.latency_ms,
            tokens: before.usage.tokens_in + before.usage.tokens_out,
            cost: before.usage.cost_nanos as f64 / 1e9,
            scores: scores(&Seen { row: before, baseline: None }),
            delta: deltas(seen, &names),
            change: names.iter().filter_map(|name| Some(((*name).to_owned(), seen.change(name)?.to_owned()))).collect(),
        });
        Self {
            item: row.item.to_string(),
            key: row.key.to_string(),
            row: row.ordinal + 1,
            variant: row.variant.clone(),
            trial: row.trial,
            state: row.state.to_string(),
            outcome: row.outcome.to_string(),
            run: row.run,
            error: row.error.as_ref().map(|(class, _)| class.to_string()),
            message: row.error.as_ref().map(|(_, message)| message.clone()),
            tries: row.tries,
            turns: row.turns,
            flaky: row.flaky,
            removed: row.removed,
            trials: Vec::new(),
            latency_ms: row.latency_ms,
            tokens_in: row.usage.tokens_in,
            tokens_out: row.usage.tokens_out,
            cost: row.usage.cost_nanos as f64 / 1e9,
            finished_at: row.finished_at.map(Into::into),
            trace: row.trace.to_string(),
            input: row.input.clone(),
            expected: row.expected.clone(),
            output: row.output.clone(),
            outputs: row.outputs.clone(),
            fields: row.fields.clone(),
            scores: scores(seen),
            labels: row.labels.iter().map(|label| (label.name.clone(), table_label(row, label))).collect(),
            reviewed: row.is_reviewed(),
            baseline,
            streaming: None,
        }
    }
}

/// An evaluator with the name of a number comes first.
fn deltas(seen: &Seen<'_>, evaluators: &[&str]) -> BTreeMap<String, f64> {
    let numbers = [("latency_ms", Name::DeltaLatencyMs), ("tokens", Name::DeltaTokens), ("cost", Name::DeltaCost)];
    let of_row = numbers.into_iter().filter_map(|(name, delta)| match seen.value(&delta) {
        Value::Number(number) => Some((name.to_owned(), number)),
        _ => None,
    });
    let of_scores = evaluators.iter().filter_map(|name| Some(((*name).to_owned(), seen.delta(name)?)));
    of_row.chain(of_scores).collect()
}

fn table_label(row: &ResultRow, label: &RowLabel) -> TableLabel {
    TableLabel {
        label: label.text(),
        corrected: row.correction(&label.name).and_then(RowLabel::number),
        reason: label.reason.clone(),
        author: label.author.clone(),
        at: label.at.into(),
        outdated: label.outdated,
    }
}

fn scores(seen: &Seen<'_>) -> BTreeMap<String, TableScore> {
    let score = |name: &str| TableScore {
        value: seen.row.score(name),
        verdict: seen.value(&Name::Verdict(name.to_owned())).text().into_owned(),
        reason: seen.row.reason(name).unwrap_or_default(),
    };
    seen.row.scores.iter().map(|own| (own.name.clone(), score(&own.name))).collect()
}
