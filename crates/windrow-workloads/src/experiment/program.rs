//! A prepared experiment: pages its dataset and does one row, turn by turn (E18). Everything that
//! can be compiled was compiled when the run was prepared.

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::join_all;
use minijinja::value::Value;
use serde::{Deserialize, Serialize};

use windrow_model::retry::{Decision, RetryPolicy};
use windrow_model::workload::{Column, Done, Halt, Journal, Program, RunsOn, SourcePage, WorkItem};
use windrow_model::{ErrorClass, Failure, Json};

use super::KIND;
use super::calls::{Calls, TARGET};
use super::conversation::Conversation;
use super::elsewhere;
use super::evaluator::{Bound, Case, Finding};
use super::message::{Message, Prompt, Role, transcript};
use super::rehearsal::Rehearsal;
use super::spec::{ExperimentSpec, NamedComponent, Over};
use super::talk::{Speaker, USER};
use super::target::{self, Answer, Question, Setting, Target};
use super::trials;
use crate::dataset::{Library, Pager, Reading};
use crate::duration::Duration;
use crate::environment::Environment;
use crate::prices::Prices;

pub struct Experiment {
    pager: Pager,
    reading: Reading,
    trials: u32,
    first: Option<u64>,
    prompt: Prompt,
    target: Arc<dyn Target>,
    speaker: Speaker,
    evaluators: Vec<Bound>,
    cache: bool,
    retry: RetryPolicy,
    timeout_ms: i64,
    runs_on: RunsOn,
}

/// Where the planning of a trial run stands.
#[derive(Default, Serialize, Deserialize)]
struct FirstRows {
    items: usize,
    cursor: Option<Json>,
}

/// One item at work.
struct Talking<'a> {
    item: &'a WorkItem,
    journal: &'a dyn Journal,
    conversation: Conversation,
    trial: u32,
    history: Vec<Message>,
    /// All answers together, for what looks at the whole conversation.
    whole: Answer,
    done: Done,
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
        let runs_on = elsewhere::runs_on(&spec);
        // A little under the item's own limit, so that a call that takes too long is still recorded.
        let timeout = Duration { ms: spec.timeout_ms - (spec.timeout_ms / 20).min(1000) };
        let prices = Prices::new(spec.prices, &environment).map_err(invalid)?;
        let setting = Setting { environment, timeout, prices: Arc::new(prices), rehearsal };
        let bind = |component: NamedComponent| {
            let setting = setting.of_caller(&component.name);
            Bound::new(component, &setting)
        };
        Ok(Self {
            pager: Pager::new(spec.dataset.source, library, spec.trials as usize, trials::items_of),
            reading: spec.dataset.reading,
            trials: spec.trials,
            first: spec.first,
            prompt: Prompt::new(&spec.messages).map_err(|error| invalid(error.message))?,
            target: target::build(&spec.target.kind, spec.target.config, &setting)?,
            speaker: Speaker::prepare(spec.conversation, &setting.of_caller(USER))?,
            evaluators: spec.evaluators.into_iter().map(bind).collect::<Result<_, _>>()?,
            cache: spec.cache,
            retry: spec.retry,
            timeout_ms: spec.timeout_ms,
            runs_on,
        })
    }

    /// One turn: the person speaks, the target answers, the answer is judged. `None` when there is
    /// nothing more to say.
    async fn turn(&self, turn: usize, talking: &mut Talking<'_>) -> Result<Option<Value>, Halt> {
        let calls = self.calls(USER, turn, talking);
        let opened = self.speaker.opens(&talking.conversation, &talking.history, &calls).await?;
        talking.done.usage += calls.used();
        let Some(variables) = opened else { return Ok(None) };
        if turn > 0 {
            talking.journal.hand_in_partial(talking.done.scores.clone()).await?;
        }
        let variables = Value::from_object(variables);
        let answer = self.ask(turn, &variables, talking).await?;
        let content = self.speaker.remembered(&talking.conversation, turn, &answer)?;
        talking.history.push(Message { role: Role::Assistant, content });
        talking.done.usage += answer.used;
        talking.done.latency_ms += answer.latency_ms;
        talking.whole.add(&answer);
        self.judge(Over::Turn, turn, &variables, &answer, talking).await?;
        Ok(Some(variables))
    }

    /// Asks the target; the question joins the history.
    async fn ask(&self, turn: usize, variables: &Value, talking: &mut Talking<'_>) -> Result<Answer, Halt> {
        let rendered = self.prompt.render(variables, &mut talking.history);
        let messages = rendered.map_err(|error| invalid(error.message))?;
        let question =
            Question { messages: &messages, conversation: &talking.conversation, turn, trial: talking.trial };
        let request = self.target.request(&question)?;
        let calls = self.calls("", turn, talking);
        if talking.item.rescore && !calls.knows(&*self.target, &request) {
            return Err(invalid("a rescore never calls the target, and this answer is not recorded").into());
        }
        calls.send(TARGET, &*self.target, request).await
    }

    fn calls<'a>(&self, caller: &'a str, turn: usize, talking: &Talking<'a>) -> Calls<'a> {
        Calls::new(talking.journal, caller, turn, talking.trial).cached(self.cache).in_retry(talking.item.retry_from)
    }

    /// All evaluators at once; each result stands whatever becomes of the others. A failure that may
    /// pass is tried again with the item; one that will not is the verdict `error`.
    async fn judge(
        &self,
        over: Over,
        turn: usize,
        variables: &Value,
        answer: &Answer,
        talking: &mut Talking<'_>,
    ) -> Result<(), Halt> {
        let case = Case { over, variables, answer, history: &talking.history };
        let bounds: Vec<&Bound> = self.evaluators.iter().filter(|bound| bound.over == over).collect();
        let calls: Vec<Calls<'_>> = bounds.iter().map(|bound| self.calls(&bound.name, turn, talking)).collect();
        let judged = join_all(bounds.iter().zip(&calls).map(|(bound, calls)| bound.evaluate(&case, calls))).await;
        let mut trouble = None;
        for ((bound, judged), calls) in bounds.into_iter().zip(judged).zip(&calls) {
            match judged {
                Ok((score, used)) => {
                    talking.done.usage += used;
                    talking.done.scores.push(score);
                }
                Err(Halt::Failed(failure)) => match self.retry.decide(&failure, talking.item.tried, 0.0) {
                    Decision::Fail => {
                        talking.done.usage += calls.used();
                        talking.done.scores.push(bound.score(&Finding::error(failure.to_string()), turn));
                    }
                    Decision::Retry { .. } | Decision::StopRun => trouble = trouble.or(Some(failure)),
                },
                Err(stopped) => return Err(stopped),
            }
        }
        trouble.map_or(Ok(()), |failure| Err(failure.into()))
    }

    /// Evaluators of the whole conversation see its transcript as the output.
    async fn judge_whole(&self, variables: &Value, last: usize, talking: &mut Talking<'_>) -> Result<(), Halt> {
        if self.evaluators.iter().all(|bound| bound.over == Over::Turn) {
            return Ok(());
        }
        let content = transcript(&talking.history);
        let answer = Answer { content, ..talking.whole.clone() };
        self.judge(Over::Conversation, last, variables, &answer, talking).await
    }
}

#[async_trait]
impl Program for Experiment {
    async fn page(&self, cursor: Option<&Json>, limit: usize) -> Result<SourcePage, Failure> {
        let Some(first) = self.first else { return self.pager.page(cursor, limit).await };
        let read: FirstRows = match cursor {
            None => FirstRows::default(),
            Some(cursor) => cursor.parse().map_err(|error| invalid(format!("the planning cursor is bad: {error}")))?,
        };
        let wanted = usize::try_from(first).unwrap_or(usize::MAX).saturating_mul(self.trials as usize);
        let page = self.pager.page(read.cursor.as_ref(), limit.min(wanted.saturating_sub(read.items))).await?;
        let items = read.items + page.items.len();
        let cursor = Some(Json::of(&FirstRows { items, cursor: page.cursor }));
        Ok(SourcePage { done: page.done || items >= wanted, cursor, ..page })
    }

    async fn execute(&self, item: &WorkItem, journal: &dyn Journal) -> Result<Done, Halt> {
        if item.rollback {
            return Err(invalid("an experiment changes nothing and cannot be rolled back").into());
        }
        let row = item.input.parse().map_err(|error| invalid(format!("the row is not a JSON object: {error}")))?;
        let trial = trials::number(&row, self.trials);
        let row =
            self.reading.read(row).map_err(|why| invalid(format!("the row is not of the dataset's shape: {why}")))?;
        let conversation = Conversation::of(row).map_err(invalid)?;
        let (history, whole, done) = (Vec::new(), Answer::default(), Done::default());
        let mut talking = Talking { item, journal, conversation, trial, history, whole, done };
        let mut last = None;
        for turn in 0.. {
            let Some(variables) = self.turn(turn, &mut talking).await? else { break };
            last = Some((turn, variables));
        }
        if let Some((turn, variables)) = last {
            self.judge_whole(&variables, turn, &mut talking).await?;
        }
        Ok(talking.done)
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

fn invalid(message: impl Into<String>) -> Failure {
    Failure::new(ErrorClass::InvalidRequest, message)
}
