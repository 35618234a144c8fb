//! A prepared experiment: pages its dataset and does one row, turn by turn (E18). Everything that
//! can be compiled was compiled when the run was prepared.

use std::sync::Arc;

use async_trait::async_trait;
use minijinja::value::Value;
use serde::{Deserialize, Serialize};
use windrow_jobfile::dataset::{Library, Pager};
use windrow_jobfile::duration::Duration;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::prices::Prices;
use windrow_jobfile::spec::invalid_request;
use windrow_jobfile::template::Fields;
use windrow_model::retry::RetryPolicy;
use windrow_model::workload::{Column, Done, Halt, Journal, Program, RunsOn, SourcePage, WorkItem};
use windrow_model::{Failure, Json};

use crate::context::{Caller, ComponentContext, Rehearsal};
use crate::definition::component::Component;
use crate::definition::conversation::USER;
use crate::definition::message::{Message, MessageTemplate, Prompt, Role, transcript};
use crate::definition::spec::{ExperimentSpec, KIND, NamedComponent, Over};
use crate::definition::trials::VARIANT;
use crate::definition::{placement, trials};
use crate::evaluator::{Bound, Case};
use crate::execution::columns::Columns;
use crate::execution::item::ItemExecution;
use crate::execution::judging::{findings, settle};
use crate::execution::user_simulator::UserSimulator;
use crate::rows::RowRules;
use crate::step::TARGET;
use crate::target::{self, Answer, Question, Target};

pub struct Experiment {
    pager: Pager,
    rules: Arc<RowRules>,
    trials: u32,
    per_row: usize,
    first: Option<u64>,
    asked: Vec<Asked>,
    user: UserSimulator,
    evaluators: Vec<Bound>,
    /// With the evaluators among them, where the job has columns.
    columns: Columns,
    cache: bool,
    retry: RetryPolicy,
    timeout_ms: i64,
    runs_on: RunsOn,
}

/// A target and what it is asked: one variant, or all there is.
struct Asked {
    variant: Option<String>,
    prompt: Prompt,
    target: Arc<dyn Target>,
}

/// Where the planning of a trial run stands.
#[derive(Default, Serialize, Deserialize)]
struct FirstRows {
    items: usize,
    cursor: Option<Json>,
}

impl Experiment {
    pub fn prepare(spec: ExperimentSpec, environment: Environment, library: Option<Library>) -> Result<Self, Failure> {
        Self::prepare_as(spec, environment, library, None)
    }

    /// With a rehearsal, nothing that the program does leaves it.
    pub fn prepare_as(
        spec: ExperimentSpec,
        environment: Environment,
        library: Option<Library>,
        rehearsal: Option<Rehearsal>,
    ) -> Result<Self, Failure> {
        let runs_on = placement::runs_on(&spec);
        let rules = Arc::new(RowRules::of(&spec, &environment).map_err(invalid_request)?);
        let of_rows = rules.clone();
        let items_of = Arc::new(move |row| of_rows.items_of(row));
        // A little under the item's own limit, so that a call that takes too long is still recorded.
        let timeout = Duration { ms: spec.timeout_ms - (spec.timeout_ms / 20).min(1000) };
        let prices = Prices::new(spec.prices.clone(), &environment).map_err(invalid_request)?;
        let context =
            ComponentContext { environment, timeout, prices: Arc::new(prices), rehearsal, caller: Caller::Target };
        let bind = |component: NamedComponent| {
            let context = context.of_caller(&component.name);
            Bound::new(component, &context)
        };
        let ask = |(variant, target, messages): (Option<&str>, &Component, &[MessageTemplate])| {
            Ok(Asked {
                variant: variant.map(str::to_owned),
                prompt: Prompt::new(messages).map_err(|error| invalid_request(error.message))?,
                target: target::build(&target.kind, target.config.clone(), &context)?,
            })
        };
        let per_row = spec.items_per_row();
        let columns = Columns::prepare(&spec, &context)?;
        let evaluators = if columns.is_empty() { spec.evaluators.clone() } else { Vec::new() };
        Ok(Self {
            columns,
            asked: spec.asked().into_iter().map(ask).collect::<Result<_, Failure>>()?,
            pager: Pager::new(spec.dataset.source, library, per_row, items_of),
            per_row,
            rules,
            trials: spec.trials,
            first: spec.first,
            user: UserSimulator::prepare(spec.conversation, &context.of_caller(USER))?,
            evaluators: evaluators.into_iter().map(bind).collect::<Result<_, _>>()?,
            cache: spec.cache,
            retry: spec.retry,
            timeout_ms: spec.timeout_ms,
            runs_on,
        })
    }

    fn asked_of(&self, row: &Fields) -> Result<&Asked, Failure> {
        let name = row.get(VARIANT).and_then(|name| name.as_str());
        let found = self.asked.iter().find(|asked| asked.variant.is_none() || asked.variant.as_deref() == name);
        found.ok_or_else(|| invalid_request(format!("the job has no variant `{}` any more", name.unwrap_or_default())))
    }

    /// One turn: the person speaks, the target answers, the answer is judged. `None` when there is
    /// nothing more to say.
    async fn turn(&self, turn: usize, asked: &Asked, execution: &mut ItemExecution<'_>) -> Result<Option<Value>, Halt> {
        if turn > 0 {
            execution.keep();
        }
        let calls = execution.calls(USER, turn);
        let opened = self.user.opens(&execution.conversation, &execution.history, &calls).await;
        execution.spent(&calls, &opened);
        let Some(variables) = opened? else { return Ok(None) };
        if turn > 0 {
            execution.journal.hand_in_partial(execution.done.clone()).await?;
        }
        let variables = Value::from_object(variables);
        let answer = self.ask((asked, turn), &variables, execution).await?;
        let content = self.user.remembered(&execution.conversation, turn, &answer)?;
        execution.history.push(Message { role: Role::Assistant, content });
        execution.done.latency_ms += answer.latency_ms;
        execution.whole.add(&answer);
        execution.keep();
        self.judge(Over::Turn, turn, &variables, &answer, execution).await?;
        Ok(Some(variables))
    }

    /// Asks the target; the question joins the history.
    async fn ask(
        &self,
        (asked, turn): (&Asked, usize),
        variables: &Value,
        execution: &mut ItemExecution<'_>,
    ) -> Result<Answer, Halt> {
        let (prompt, target) = (&asked.prompt, &*asked.target);
        let rendered = prompt.render(variables, &mut execution.history);
        let messages = rendered.map_err(|error| invalid_request(error.message))?;
        let question =
            Question { messages: &messages, conversation: &execution.conversation, turn, trial: execution.trial };
        let request = target.request(&question)?;
        let calls = execution.calls("", turn);
        if execution.item.rescore && !calls.knows(target, &request) {
            return Err(invalid_request("a rescore never calls the target, and this answer is not recorded").into());
        }
        let answered = calls.send(TARGET, target, request).await;
        execution.spent(&calls, &answered);
        answered
    }

    /// All evaluators of a turn, or of the whole conversation.
    async fn judge(
        &self,
        over: Over,
        turn: usize,
        variables: &Value,
        answer: &Answer,
        execution: &mut ItemExecution<'_>,
    ) -> Result<(), Halt> {
        let case = Case { over, variables, answer, history: &execution.history };
        let bounds: Vec<&Bound> = self.evaluators.iter().filter(|bound| bound.over == over).collect();
        let judging: Vec<_> = bounds.iter().map(|bound| (*bound, case)).collect();
        let found = findings(&judging, turn, execution).await;
        settle(&bounds, found, turn, &self.retry, execution)
    }

    /// Evaluators of the whole conversation see its transcript as the output.
    async fn judge_whole(&self, variables: &Value, last: usize, execution: &mut ItemExecution<'_>) -> Result<(), Halt> {
        if self.evaluators.iter().all(|bound| bound.over == Over::Turn) {
            return Ok(());
        }
        execution.keep();
        let content = transcript(&execution.history);
        let answer = Answer { content, ..execution.whole.clone() };
        self.judge(Over::Conversation, last, variables, &answer, execution).await
    }
}

#[async_trait]
impl Program for Experiment {
    async fn page(&self, cursor: Option<&Json>, limit: usize) -> Result<SourcePage, Failure> {
        let Some(first) = self.first else { return self.pager.page(cursor, limit).await };
        let read: FirstRows = match cursor {
            None => FirstRows::default(),
            Some(cursor) => {
                cursor.parse().map_err(|error| invalid_request(format!("the planning cursor is bad: {error}")))?
            }
        };
        let wanted = usize::try_from(first).unwrap_or(usize::MAX).saturating_mul(self.per_row);
        let page = self.pager.page(read.cursor.as_ref(), limit.min(wanted.saturating_sub(read.items))).await?;
        let items = read.items + page.items.len();
        let cursor = Some(Json::of(&FirstRows { items, cursor: page.cursor }));
        Ok(SourcePage { done: page.done || items >= wanted, cursor, ..page })
    }

    async fn execute(&self, item: &WorkItem, journal: &dyn Journal) -> Result<Done, Halt> {
        if item.rollback {
            return Err(invalid_request("an experiment changes nothing and cannot be rolled back").into());
        }
        let row =
            item.input.parse().map_err(|error| invalid_request(format!("the row is not a JSON object: {error}")))?;
        let trial = trials::number(&row, self.trials);
        let asked = if self.columns.is_empty() { Some(self.asked_of(&row)?) } else { None };
        // Every row, however it came: nothing is paid for one that cannot be run to its end.
        let conversation = self.rules.check(row).map_err(invalid_request)?;
        let mut execution = ItemExecution::new(item, journal, conversation, (trial, self.cache));
        let Some(asked) = asked else {
            self.columns.compute(&self.retry, &mut execution).await?;
            return Ok(execution.done);
        };
        let mut last = None;
        for turn in 0.. {
            let Some(variables) = self.turn(turn, asked, &mut execution).await? else { break };
            last = Some((turn, variables));
        }
        if let Some((turn, variables)) = last {
            self.judge_whole(&variables, turn, &mut execution).await?;
        }
        Ok(execution.done)
    }

    fn retry_policy(&self) -> &RetryPolicy {
        &self.retry
    }

    fn timeout_ms(&self) -> i64 {
        self.timeout_ms
    }

    fn kind(&self) -> &'static str {
        KIND
    }

    fn runs_on(&self) -> RunsOn {
        self.runs_on.clone()
    }

    fn columns(&self) -> Vec<Column> {
        match self.columns.is_empty() {
            true => self.evaluators.iter().map(Bound::column).collect(),
            false => self.columns.scored(),
        }
    }
}
