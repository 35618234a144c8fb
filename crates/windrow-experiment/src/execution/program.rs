//! A prepared experiment: pages its dataset and does one row, turn by turn (E18). Everything that
//! can be compiled was compiled when the run was prepared.

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::join_all;
use minijinja::value::Value;
use serde::{Deserialize, Serialize};
use windrow_jobfile::dataset::{Library, Pager};
use windrow_jobfile::duration::Duration;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::prices::Prices;
use windrow_jobfile::spec::invalid_request;
use windrow_jobfile::template::Fields;
use windrow_model::retry::{Decision, RetryPolicy};
use windrow_model::workload::{Column, Done, Halt, Journal, Program, RunsOn, SourcePage, WorkItem};
use windrow_model::{Failure, Json};

use crate::calls::Calls;
use crate::context::{ComponentContext, Rehearsal};
use crate::conversation::Conversation;
use crate::definition::component::Component;
use crate::definition::conversation::USER;
use crate::definition::message::{Message, MessageTemplate, Prompt, Role, transcript};
use crate::definition::spec::{ExperimentSpec, KIND, NamedComponent, Over};
use crate::definition::trials::VARIANT;
use crate::definition::{placement, trials};
use crate::evaluator::{Bound, Case, Evaluation};
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

/// One item at work.
struct ItemExecution<'a> {
    item: &'a WorkItem,
    journal: &'a dyn Journal,
    conversation: Conversation,
    asked: &'a Asked,
    trial: u32,
    history: Vec<Message>,
    /// All answers together, for what looks at the whole conversation.
    whole: Answer,
    done: Done,
}

impl ItemExecution<'_> {
    fn keep(&self) {
        self.journal.keep(self.done.clone());
    }

    /// Calls are paid for, whatever came of them; what failed is kept at once, because the item fails with it.
    fn spent<T>(&mut self, calls: &Calls<'_>, made: &Result<T, Halt>) {
        self.done.usage += calls.used();
        if made.is_err() {
            self.keep();
        }
    }
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
            ComponentContext { environment, timeout, prices: Arc::new(prices), rehearsal, caller: String::new() };
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
        Ok(Self {
            asked: spec.asked().into_iter().map(ask).collect::<Result<_, Failure>>()?,
            pager: Pager::new(spec.dataset.source, library, per_row, items_of),
            per_row,
            rules,
            trials: spec.trials,
            first: spec.first,
            user: UserSimulator::prepare(spec.conversation, &context.of_caller(USER))?,
            evaluators: spec.evaluators.into_iter().map(bind).collect::<Result<_, _>>()?,
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
    async fn turn(&self, turn: usize, execution: &mut ItemExecution<'_>) -> Result<Option<Value>, Halt> {
        if turn > 0 {
            execution.keep();
        }
        let calls = self.calls(USER, turn, execution);
        let opened = self.user.opens(&execution.conversation, &execution.history, &calls).await;
        execution.spent(&calls, &opened);
        let Some(variables) = opened? else { return Ok(None) };
        if turn > 0 {
            execution.journal.hand_in_partial(execution.done.clone()).await?;
        }
        let variables = Value::from_object(variables);
        let answer = self.ask(turn, &variables, execution).await?;
        let content = self.user.remembered(&execution.conversation, turn, &answer)?;
        execution.history.push(Message { role: Role::Assistant, content });
        execution.done.latency_ms += answer.latency_ms;
        execution.whole.add(&answer);
        execution.keep();
        self.judge(Over::Turn, turn, &variables, &answer, execution).await?;
        Ok(Some(variables))
    }

    /// Asks the target; the question joins the history.
    async fn ask(&self, turn: usize, variables: &Value, execution: &mut ItemExecution<'_>) -> Result<Answer, Halt> {
        let (prompt, target) = (&execution.asked.prompt, &*execution.asked.target);
        let rendered = prompt.render(variables, &mut execution.history);
        let messages = rendered.map_err(|error| invalid_request(error.message))?;
        let question =
            Question { messages: &messages, conversation: &execution.conversation, turn, trial: execution.trial };
        let request = target.request(&question)?;
        let calls = self.calls("", turn, execution);
        if execution.item.rescore && !calls.knows(target, &request) {
            return Err(invalid_request("a rescore never calls the target, and this answer is not recorded").into());
        }
        let answered = calls.send(TARGET, target, request).await;
        execution.spent(&calls, &answered);
        answered
    }

    fn calls<'a>(&self, caller: &'a str, turn: usize, execution: &ItemExecution<'a>) -> Calls<'a> {
        Calls::new(execution.journal, caller, turn, execution.trial)
            .cached(self.cache)
            .in_retry(execution.item.retry_from)
    }

    /// All evaluators at once; each result stands whatever becomes of the others. A failure that may
    /// pass is tried again with the item; one that will not is the verdict `error`.
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
        let calls: Vec<Calls<'_>> = bounds.iter().map(|bound| self.calls(&bound.name, turn, execution)).collect();
        let judged = join_all(bounds.iter().zip(&calls).map(|(bound, calls)| bound.evaluate(&case, calls))).await;
        let mut trouble = None;
        for ((bound, judged), calls) in bounds.into_iter().zip(judged).zip(&calls) {
            match judged {
                Ok((score, used)) => {
                    execution.done.usage += used;
                    execution.done.scores.push(score);
                }
                // An evaluator that cannot work at all stops the run before all items have been paid for.
                Err(Halt::Failed(failure)) if failure.setting.is_some() && !execution.item.proven => {
                    trouble = trouble.or(Some(failure));
                }
                Err(Halt::Failed(failure)) => match self.retry.decide(&failure, execution.item.tried, 0.0) {
                    Decision::Fail => {
                        execution.done.usage += calls.used();
                        execution.done.scores.push(bound.score(&Evaluation::error(failure.to_string()), turn));
                    }
                    Decision::Retry { .. } | Decision::StopRun => {
                        execution.done.usage += calls.used();
                        trouble = trouble.or(Some(failure));
                    }
                },
                Err(stopped) => return Err(stopped),
            }
        }
        let Some(failure) = trouble else { return Ok(()) };
        execution.keep();
        Err(failure.into())
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
        let (trial, asked) = (trials::number(&row, self.trials), self.asked_of(&row)?);
        // Every row, however it came: nothing is paid for one that cannot be run to its end.
        let conversation = self.rules.check(row).map_err(invalid_request)?;
        let (history, whole, done) = (Vec::new(), Answer::default(), Done::default());
        let mut execution = ItemExecution { item, journal, conversation, asked, trial, history, whole, done };
        let mut last = None;
        for turn in 0.. {
            let Some(variables) = self.turn(turn, &mut execution).await? else { break };
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
        self.evaluators.iter().map(Bound::column).collect()
    }
}
