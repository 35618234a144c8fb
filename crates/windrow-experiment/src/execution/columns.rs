//! A row computed column by column (T15). Each cell is a step, recorded the moment it is done under a key of all that
//! determines it; so what is finished is never computed again, and a changed column changes only what reads it.

use std::collections::BTreeSet;

use minijinja::value::Value;
use serde_json::json;
use windrow_jobfile::spec::invalid_request;
use windrow_jobfile::template::{Fields, Template};
use windrow_model::retry::RetryPolicy;
use windrow_model::step::{Score, Usage};
use windrow_model::workload::{Column, Halt};
use windrow_model::{Failure, Json};

use std::sync::Arc;

use super::item::ItemExecution;
use super::judging::{findings, settle};
use crate::context::ComponentContext;
use crate::definition::columns::{ColumnSpec, Computed};
use crate::definition::message::{Message, Prompt, Role};
use crate::definition::spec::{ExperimentSpec, Over};
use crate::evaluator::{Bound, Case};
use crate::step::{COLUMN, Price, perform};
use crate::target::{self, Answer, Question, Target};

pub struct Columns {
    columns: Vec<Prepared>,
    /// What the run has to fill; everything else is shown where it is on record.
    wanted: Option<BTreeSet<String>>,
}

struct Prepared {
    name: String,
    reads: Vec<String>,
    kind: Kind,
}

enum Kind {
    Target {
        prompt: Prompt,
        target: Arc<dyn Target>,
        /// How many columns before it ask the same: each asks for itself.
        repeat: u32,
    },
    Template {
        source: String,
        template: Template,
    },
    Evaluator(Bound),
}

/// The columns computed so far.
#[derive(Default)]
struct Cells {
    values: Fields,
    answers: Vec<(String, Answer, Vec<Message>)>,
}

impl Columns {
    pub fn prepare(spec: &ExperimentSpec, context: &ComponentContext) -> Result<Self, Failure> {
        if spec.columns.is_empty() {
            return Ok(Self { columns: Vec::new(), wanted: None });
        }
        let mut columns = Vec::new();
        for (no, column) in spec.columns.iter().enumerate() {
            let ColumnSpec { name, computed, reads } = column;
            let kind = match computed {
                Computed::Target { target, messages } => Kind::Target {
                    prompt: Prompt::new(messages).map_err(|error| invalid_request(error.message))?,
                    target: target::build(&target.kind, target.config.clone(), &context.of_column(name))?,
                    repeat: spec.columns[..no].iter().filter(|earlier| earlier.computed == *computed).count() as u32,
                },
                Computed::Template(source) => Kind::Template {
                    template: Template::new(source).map_err(|error| invalid_request(error.message))?,
                    source: source.clone(),
                },
                Computed::Evaluator(evaluator) => {
                    Kind::Evaluator(Bound::new(evaluator.clone(), &context.of_caller(name))?)
                }
            };
            columns.push(Prepared { name: name.clone(), reads: reads.clone(), kind });
        }
        for evaluator in &spec.evaluators {
            let (name, reads) = (evaluator.name.clone(), evaluator.needs());
            let bound = Bound::new(evaluator.clone(), &context.of_caller(&name))?;
            columns.push(Prepared { name, reads, kind: Kind::Evaluator(bound) });
        }
        let wanted = spec.only.as_ref().map(|only| needed_by(only, &columns));
        Ok(Self { columns, wanted })
    }

    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Of its scores.
    pub fn scored(&self) -> Vec<Column> {
        let bound = |column: &Prepared| match &column.kind {
            Kind::Evaluator(bound) => Some(bound.column()),
            _ => None,
        };
        self.columns.iter().filter_map(bound).collect()
    }

    /// Computes the row. Columns come one after the other, evaluators that follow each other at once.
    pub async fn compute(&self, retry: &RetryPolicy, execution: &mut ItemExecution<'_>) -> Result<(), Halt> {
        let mut cells = Cells::default();
        let mut left = self.columns.as_slice();
        while let [column, rest @ ..] = left {
            if matches!(column.kind, Kind::Evaluator(_)) {
                let many = evaluators_at_once(left);
                self.judge(&left[..many], retry, &mut cells, execution).await?;
                left = &left[many..];
                continue;
            }
            left = rest;
            if column.reads.iter().all(|name| cells.values.contains_key(name)) {
                self.fill(column, &mut cells, execution).await?;
            }
        }
        Ok(())
    }

    fn wants(&self, column: &Prepared) -> bool {
        self.wanted.as_ref().is_none_or(|wanted| wanted.contains(&column.name))
    }

    async fn fill(&self, column: &Prepared, cells: &mut Cells, execution: &mut ItemExecution<'_>) -> Result<(), Halt> {
        let conversation = execution.conversation.with_columns(cells.only(&column.reads));
        let variables = Value::from_object(conversation.variables(0, &[]));
        let mut history = Vec::new();
        let answer = match &column.kind {
            Kind::Template { source, template } => {
                let rendered = template.render(&variables);
                let content = rendered.map_err(|error| invalid_request(error.message))?;
                let calls = execution.calls(&column.name, 0);
                let key = calls.key(&[COLUMN.as_bytes(), b"template", content.as_bytes()]);
                let intent = calls.intent(key, COLUMN, Json::of(&json!({ "template": source })));
                let answer = Answer { content, ..Answer::default() };
                let made = async { Ok((Json::of(&answer), Usage::default())) };
                perform(execution.journal, intent, Price::Free, made).await?;
                answer
            }
            Kind::Target { prompt, target, repeat } => {
                let rendered = prompt.render(&variables, &mut history);
                let messages = rendered.map_err(|error| invalid_request(error.message))?;
                let question =
                    Question { messages: &messages, conversation: &conversation, turn: 0, trial: execution.trial };
                let request = target.request(&question)?;
                let calls = execution.calls(&column.name, 0).in_round(*repeat);
                let known = calls.knows(&**target, &request);
                if execution.item.rescore && !known {
                    let message = format!("a rescore calls no target, and `{}` is not recorded", column.name);
                    return Err(invalid_request(message).into());
                }
                if !known && !self.wants(column) {
                    return Ok(());
                }
                let answered = calls.send(COLUMN, &**target, request).await;
                execution.spent(&calls, &answered);
                answered?
            }
            Kind::Evaluator(_) => return Ok(()),
        };
        history.push(Message { role: Role::Assistant, content: answer.content.clone() });
        execution.done.latency_ms += answer.latency_ms;
        execution.keep();
        cells.add(&column.name, answer, history);
        Ok(())
    }

    /// Judges columns that are there. If the run fills something else, only findings on record are reused.
    async fn judge(
        &self,
        columns: &[Prepared],
        retry: &RetryPolicy,
        cells: &mut Cells,
        execution: &mut ItemExecution<'_>,
    ) -> Result<(), Halt> {
        let seen: Vec<Value> = columns.iter().map(|column| cells.seen_by(column, execution)).collect();
        let mut judging = Vec::new();
        for (column, variables) in columns.iter().zip(&seen) {
            let Kind::Evaluator(bound) = &column.kind else { continue };
            let Some((answer, history)) = bound.of.as_deref().and_then(|of| cells.answer(of)) else { continue };
            let case = Case { over: Over::Turn, variables, answer, history };
            let there = column.reads.iter().all(|name| cells.values.contains_key(name));
            if there && (self.wants(column) || bound.is_known(&case, &execution.calls(&bound.name, 0))) {
                judging.push((bound, case));
            }
        }
        let found = findings(&judging, 0, execution).await;
        let bounds: Vec<&Bound> = judging.into_iter().map(|(bound, _)| bound).collect();
        let before = execution.done.scores.len();
        let settled = settle(&bounds, found, 0, retry, execution);
        for score in &execution.done.scores[before..] {
            cells.values.insert(score.name.clone(), value_of(score));
        }
        settled
    }
}

/// What a template sees of an evaluator's column: `{{ good.verdict }}`, `{{ good.value }}`, `{{ good.reason }}`.
fn value_of(score: &Score) -> serde_json::Value {
    json!({ "verdict": score.verdict, "value": score.value, "reason": score.reason })
}

/// The evaluators at the start of the list that do not read each other.
fn evaluators_at_once(columns: &[Prepared]) -> usize {
    let alone = |(no, column): &(usize, &Prepared)| {
        let judges = matches!(column.kind, Kind::Evaluator(_));
        judges && columns[..*no].iter().all(|earlier| !column.reads.contains(&earlier.name))
    };
    columns.iter().enumerate().take_while(alone).count()
}

/// A column, what it reads, what that reads, and so on.
fn needed_by(name: &str, columns: &[Prepared]) -> BTreeSet<String> {
    let mut needed = BTreeSet::from([name.to_owned()]);
    // Readers come after what they read.
    for column in columns.iter().rev().filter(|column| column.name == name || !column.reads.is_empty()) {
        if needed.contains(&column.name) {
            needed.extend(column.reads.iter().cloned());
        }
    }
    needed
}

impl Cells {
    fn add(&mut self, name: &str, answer: Answer, history: Vec<Message>) {
        self.values.insert(name.to_owned(), answer.content.clone().into());
        self.answers.push((name.to_owned(), answer, history));
    }

    fn only(&self, names: &[String]) -> Fields {
        names.iter().filter_map(|name| Some((name.clone(), self.values.get(name)?.clone()))).collect()
    }

    fn answer(&self, name: &str) -> Option<(&Answer, &[Message])> {
        let found = self.answers.iter().find(|(column, _, _)| column == name);
        found.map(|(_, answer, history)| (answer, history.as_slice()))
    }

    fn seen_by(&self, column: &Prepared, execution: &ItemExecution<'_>) -> Value {
        let conversation = execution.conversation.with_columns(self.only(&column.reads));
        Value::from_object(conversation.variables(0, &[]))
    }
}
