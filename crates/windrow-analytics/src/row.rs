//! The rows, derived from the records alone: the same records give the same row, whenever they are read. Texts are
//! previews; the full texts stay in the database.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};
use windrow_model::record::{Item, ItemDetail, ItemResult, Job, Run, Step};
use windrow_model::state::{AttemptState, ItemState};
use windrow_model::step::Verdict;
use windrow_model::trace::TraceId;
use windrow_model::{AttemptId, RunId};
use windrow_results::label::RowLabel;
use windrow_results::row::text_of;
use windrow_results::{ResultRow, RowOutcome};

use crate::schema::SLOTS;

/// The current state of an item, or what one run made of it.
#[derive(Debug, Serialize)]
pub struct ItemRow<'a> {
    pub workspace: &'a str,
    pub job_id: i64,
    pub item_id: i64,
    pub run_id: i64,
    pub job: &'a str,
    pub kind: &'a str,
    pub run: i64,
    pub row: i64,
    pub row_key: String,
    pub variant: Option<String>,
    pub trial: i64,
    pub state: &'static str,
    pub outcome: &'static str,
    pub error_class: Option<&'static str>,
    pub error: Option<String>,
    pub tries: u32,
    pub turns: u32,
    pub latency_ms: Option<i64>,
    pub tokens_in: i64,
    pub tokens_out: i64,
    pub cost_nanos: i64,
    pub finished_ms: Option<i64>,
    pub trace: String,
    pub input: String,
    pub expected: Option<String>,
    pub output: Option<String>,
    pub outputs: BTreeMap<String, String>,
    pub fields: BTreeMap<String, String>,
    /// Fields that are numbers, true or false, or null; the others are texts.
    pub numbers: BTreeMap<String, f64>,
    pub flags: Vec<String>,
    pub nulls: Vec<String>,
    #[serde(rename = "scores.name")]
    pub score_names: Vec<String>,
    #[serde(rename = "scores.turn")]
    pub score_turns: Vec<u32>,
    #[serde(rename = "scores.verdict")]
    pub score_verdicts: Vec<&'static str>,
    #[serde(rename = "scores.value")]
    pub score_values: Vec<Option<f64>>,
    #[serde(rename = "scores.reason")]
    pub score_reasons: Vec<String>,
    #[serde(rename = "labels.name")]
    pub label_names: Vec<String>,
    #[serde(rename = "labels.verdict")]
    pub label_verdicts: Vec<Option<&'static str>>,
    #[serde(rename = "labels.value")]
    pub label_values: Vec<Option<f64>>,
    #[serde(rename = "labels.note")]
    pub label_notes: Vec<Option<String>>,
    /// What the table shows.
    #[serde(rename = "labels.text")]
    pub label_texts: Vec<String>,
    #[serde(rename = "labels.reason")]
    pub label_reasons: Vec<String>,
    #[serde(rename = "labels.author")]
    pub label_authors: Vec<String>,
    #[serde(rename = "labels.at_ms")]
    pub label_times: Vec<i64>,
    #[serde(rename = "labels.outdated")]
    pub label_outdated: Vec<bool>,
    /// `score_1`, `verdict_1` …
    #[serde(flatten)]
    pub slots: BTreeMap<String, Value>,
}

impl<'a> ItemRow<'a> {
    /// The current state of an item that has shown nothing yet: without its input, so that a million of them are
    /// visible at once.
    pub fn placeholder(job: &'a Job, run: &Run, item: &Item) -> Self {
        let outcome = match item.attempt_state {
            AttemptState::Running | AttemptState::Logged => RowOutcome::Running,
            _ => RowOutcome::Queued,
        };
        Self {
            workspace: &job.workspace,
            job_id: job.id.0,
            item_id: item.id.0,
            run_id: item.run.0,
            job: &job.name,
            kind: &job.kind,
            run: run.no,
            row: item.ordinal + 1,
            row_key: item.group.unwrap_or(item.key).to_string(),
            variant: item.variant.clone(),
            trial: 0,
            state: item.state.as_str(),
            outcome: outcome.as_str(),
            error_class: None,
            error: None,
            tries: 0,
            turns: 0,
            latency_ms: None,
            tokens_in: 0,
            tokens_out: 0,
            cost_nanos: 0,
            finished_ms: None,
            trace: TraceId::of(item.run, item.id).to_string(),
            input: String::new(),
            expected: None,
            output: None,
            outputs: BTreeMap::new(),
            fields: BTreeMap::new(),
            numbers: BTreeMap::new(),
            flags: Vec::new(),
            nulls: Vec::new(),
            score_names: Vec::new(),
            score_turns: Vec::new(),
            score_verdicts: Vec::new(),
            score_values: Vec::new(),
            score_reasons: Vec::new(),
            label_names: Vec::new(),
            label_verdicts: Vec::new(),
            label_values: Vec::new(),
            label_notes: Vec::new(),
            label_texts: Vec::new(),
            label_reasons: Vec::new(),
            label_authors: Vec::new(),
            label_times: Vec::new(),
            label_outdated: Vec::new(),
            slots: BTreeMap::new(),
        }
    }

    pub fn of(job: &'a Job, run: RunId, result: ResultRow, columns: &[String]) -> Self {
        let slots = slots(&result, columns);
        // Whether an item has been claimed again is no result, and no event tells of it.
        let tries = if result.state == ItemState::Queued { 0 } else { result.tries };
        let (error_class, error) = result.error.unzip();
        let scores = result.scores;
        let labels = result.labels;
        Self {
            workspace: &job.workspace,
            job_id: job.id.0,
            item_id: result.item.0,
            run_id: run.0,
            job: &job.name,
            kind: &job.kind,
            run: result.run,
            row: result.ordinal + 1,
            row_key: result.key.to_string(),
            variant: result.variant,
            trial: result.trial,
            state: result.state.as_str(),
            outcome: result.outcome.as_str(),
            error_class: error_class.map(|class| class.as_str()),
            error,
            tries,
            turns: result.turns,
            latency_ms: result.latency_ms,
            tokens_in: result.usage.tokens_in,
            tokens_out: result.usage.tokens_out,
            cost_nanos: result.usage.cost_nanos,
            finished_ms: result.finished_at.map(|at| at.0),
            trace: result.trace.to_string(),
            input: result.input,
            expected: result.expected,
            output: result.output,
            outputs: result.outputs,
            numbers: result.fields.iter().filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect(),
            flags: those(&result.fields, Value::is_boolean),
            nulls: those(&result.fields, Value::is_null),
            fields: result.fields.iter().map(|(name, value)| (name.clone(), text_of(value))).collect(),
            score_names: scores.iter().map(|score| score.name.clone()).collect(),
            score_turns: scores.iter().map(|score| score.turn).collect(),
            score_verdicts: scores.iter().map(|score| score.verdict.as_str()).collect(),
            score_values: scores.iter().map(|score| score.value).collect(),
            score_reasons: scores.into_iter().map(|score| score.reason).collect(),
            label_names: labels.iter().map(|label| label.name.clone()).collect(),
            label_verdicts: labels.iter().map(|label| label.verdict.map(Verdict::as_str)).collect(),
            label_values: labels.iter().map(|label| label.value).collect(),
            label_notes: labels.iter().map(|label| label.note.clone()).collect(),
            label_texts: labels.iter().map(RowLabel::text).collect(),
            label_reasons: labels.iter().map(|label| label.reason.clone()).collect(),
            label_authors: labels.iter().map(|label| label.author.clone()).collect(),
            label_times: labels.iter().map(|label| label.at.0).collect(),
            label_outdated: labels.iter().map(|label| label.outdated).collect(),
            slots,
        }
    }

    /// The current row of an item.
    pub fn current(job: &'a Job, runs: &'a BTreeMap<RunId, Run>, detail: &ItemDetail, columns: &[String]) -> Self {
        let item = &detail.item;
        if is_placeholder(item) && detail.labels.is_empty() {
            return Self::placeholder(job, &runs[&item.run], item);
        }
        let run = run_of(detail, None);
        Self::of(job, run, ResultRow::of(detail, None, |run| number(runs, run)), columns)
    }

    /// What a run made of an item. Labels belong to the item, not to a run.
    pub fn made(
        job: &'a Job,
        runs: &'a BTreeMap<RunId, Run>,
        detail: &ItemDetail,
        made: &ItemResult,
        columns: &[String],
    ) -> Self {
        let run = run_of(detail, Some(made.attempt));
        let row = ResultRow::of(detail, Some(made), |run| number(runs, run));
        Self::of(job, run, ResultRow { labels: Vec::new(), ..row }, columns)
    }

    /// Adds the row as a line of JSON, and returns a hash of what it says.
    pub fn write(&self, revision: i64, text: &mut String) -> u64 {
        let line = serde_json::to_string(self).expect("a row serialises to JSON");
        let hash = blake3::hash(line.as_bytes());
        let fingerprint = u64::from_le_bytes(hash.as_bytes()[..8].try_into().expect("eight bytes"));
        text.push_str(&line[..line.len() - 1]);
        *text += &format!(",\"fingerprint\":{fingerprint},\"revision\":{revision}}}\n");
        fingerprint
    }
}

fn those(fields: &Map<String, Value>, fits: fn(&Value) -> bool) -> Vec<String> {
    fields.iter().filter(|(_, value)| fits(value)).map(|(name, _)| name.clone()).collect()
}

/// Queued, and never executed before.
pub fn is_placeholder(item: &Item) -> bool {
    item.state == ItemState::Queued && item.archived.is_none()
}

fn number(runs: &BTreeMap<RunId, Run>, run: RunId) -> i64 {
    runs.get(&run).map_or(0, |run| run.no)
}

fn run_of(detail: &ItemDetail, attempt: Option<AttemptId>) -> RunId {
    let found = attempt.and_then(|id| detail.attempts.iter().find(|attempt| attempt.id == id));
    found.map_or(detail.item.run, |attempt| attempt.run)
}

/// The lowest score over the turns, and the worst verdict.
fn slots(row: &ResultRow, columns: &[String]) -> BTreeMap<String, Value> {
    let worst = |name: &str| {
        let found = |verdict: &&Verdict| row.of_evaluator(name).any(|score| score.verdict == **verdict);
        [Verdict::Fail, Verdict::Error, Verdict::Pass, Verdict::Skipped].iter().find(found).map(|found| found.as_str())
    };
    let mut slots = BTreeMap::new();
    for (slot, name) in columns.iter().enumerate().take(SLOTS) {
        if let Some(verdict) = worst(name) {
            slots.insert(format!("verdict_{}", slot + 1), verdict.into());
            slots.insert(format!("score_{}", slot + 1), row.score(name).into());
        }
    }
    slots
}

#[derive(Debug, Serialize)]
pub struct StepRow<'a> {
    pub workspace: &'a str,
    pub job_id: i64,
    pub item_id: i64,
    pub step_id: i64,
    pub run_id: i64,
    pub attempt: u32,
    pub no: u32,
    pub kind: &'a str,
    pub name: &'a str,
    pub turn: u32,
    pub state: &'static str,
    /// As the endpoint named it; empty where no model was called.
    pub model: String,
    pub error_class: Option<&'static str>,
    pub tokens_in: i64,
    pub tokens_out: i64,
    pub cost_nanos: i64,
    pub reused: bool,
    pub started_ms: i64,
    pub ended_ms: Option<i64>,
    pub revision: i64,
}

impl<'a> StepRow<'a> {
    pub fn of(job: &'a Job, run: RunId, step: &'a Step, revision: i64) -> Self {
        let attempt = step.id.attempt();
        Self {
            workspace: &job.workspace,
            job_id: job.id.0,
            item_id: attempt.item().0,
            step_id: step.id.0,
            run_id: run.0,
            attempt: attempt.no(),
            no: step.id.no(),
            kind: &step.kind,
            name: &step.name,
            turn: step.turn,
            state: step.state.as_str(),
            model: model(step).unwrap_or_default(),
            error_class: step.failure.as_ref().map(|failure| failure.class.as_str()),
            tokens_in: step.usage.tokens_in,
            tokens_out: step.usage.tokens_out,
            cost_nanos: step.usage.cost_nanos,
            reused: step.reused_from.is_some(),
            started_ms: step.started_at.0,
            ended_ms: step.ended_at.map(|at| at.0),
            revision,
        }
    }
}

/// What the endpoint said that it is, else what was asked for.
pub fn model(step: &Step) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Named {
        model: Option<String>,
    }
    let named = |json: &windrow_model::Json| json.parse::<Named>().ok()?.model;
    step.output.as_ref().and_then(named).or_else(|| named(&step.input))
}

#[derive(Debug, Serialize)]
pub struct RunRow<'a> {
    pub workspace: &'a str,
    pub job_id: i64,
    pub run_id: i64,
    pub no: i64,
    pub mode: &'static str,
    pub state: &'static str,
    pub spec_hash: &'a str,
    pub total: i64,
    pub queued: i64,
    pub running: i64,
    pub succeeded: i64,
    pub failed: i64,
    pub cancelled: i64,
    pub skipped: i64,
    pub retries: i64,
    pub tokens_in: i64,
    pub tokens_out: i64,
    pub cost_nanos: i64,
    pub created_ms: i64,
    pub started_ms: Option<i64>,
    pub ended_ms: Option<i64>,
    pub reason: Option<&'a str>,
    pub revision: i64,
}

impl<'a> RunRow<'a> {
    pub fn of(job: &'a Job, run: &'a Run, revision: i64) -> Self {
        let (counters, spent) = (run.counters, run.spent);
        Self {
            workspace: &job.workspace,
            job_id: job.id.0,
            run_id: run.id.0,
            no: run.no,
            mode: run.mode.as_str(),
            state: run.state.as_str(),
            spec_hash: &run.spec_hash,
            total: counters.total,
            queued: counters.queued,
            running: counters.running,
            succeeded: counters.succeeded,
            failed: counters.failed,
            cancelled: counters.cancelled,
            skipped: counters.skipped,
            retries: counters.retries,
            tokens_in: spent.tokens_in,
            tokens_out: spent.tokens_out,
            cost_nanos: spent.cost_nanos,
            created_ms: run.created_at.0,
            started_ms: run.started_at.map(|at| at.0),
            ended_ms: run.ended_at.map(|at| at.0),
            reason: run.reason.as_deref(),
            revision,
        }
    }
}

#[derive(Debug, Serialize)]
pub struct JobRow<'a> {
    pub workspace: &'a str,
    pub job_id: i64,
    pub job: &'a str,
    pub kind: &'a str,
    pub creator: &'a str,
    pub service: &'a str,
    pub environment: &'a str,
    /// In the order of their columns `score_1`, `score_2` …
    pub evaluators: &'a [String],
    pub created_ms: i64,
    pub revision: i64,
}

impl<'a> JobRow<'a> {
    pub fn of(job: &'a Job, evaluators: &'a [String], revision: i64) -> Self {
        Self {
            workspace: &job.workspace,
            job_id: job.id.0,
            job: &job.name,
            kind: &job.kind,
            creator: &job.labels.creator,
            service: &job.labels.service,
            environment: &job.labels.environment,
            evaluators,
            created_ms: job.created_at.0,
            revision,
        }
    }
}
