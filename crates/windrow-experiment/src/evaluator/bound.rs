//! An evaluator of a program: built, named, and identified for its content keys. It says what is
//! to be judged when, and records each evaluation as a step.

use serde_json::{Value, json};
use windrow_jobfile::canonical::canonical;
use windrow_jobfile::template::Template;
use windrow_model::step::{ContentKey, Recalled, Score, Usage, Verdict};
use windrow_model::workload::{Column, Halt};
use windrow_model::{ErrorClass, Failure, Json};

use super::{Case, Evaluation, Evaluator, Subject, find};
use crate::calls::Calls;
use crate::context::ComponentContext;
use crate::definition::component::{Component, condition_template};
use crate::definition::spec::{NamedComponent, Over};
use crate::step::{EVALUATOR, Price, perform};

/// What is expected, and what else is looked at.
type Looked = (Option<String>, Option<Value>);

pub struct Bound {
    pub name: String,
    pub over: Over,
    /// The column it judges.
    pub of: Option<String>,
    /// Judges only rows for which this renders to something.
    when: Option<Template>,
    identity: String,
    /// Short form of the identity: another version is another column.
    version: String,
    pub evaluator: Box<dyn Evaluator>,
}

impl Bound {
    pub fn new(component: NamedComponent, context: &ComponentContext) -> Result<Self, Failure> {
        let NamedComponent { name, kind, config, over, when, of, reads: _ } = component;
        let found = find(&kind).ok_or_else(|| {
            let message = format!("this version has no evaluator `{kind}`; use a newer one");
            Failure::new(ErrorClass::InvalidRequest, message)
        })?;
        let evaluator = (found.build)(config.clone(), context)?;
        // Without the name: renaming a column does not compute it again.
        let config = evaluator.identity().unwrap_or(config);
        let mut identity = canonical(&json!({ "kind": kind, "version": found.version, "config": config }));
        // The version of a part is not in the configuration of the whole.
        for part in evaluator.parts() {
            identity += &part.identity;
        }
        let when = when.map(|condition| super::template(&condition_template(&condition))).transpose()?;
        let mut column = vec![identity.as_bytes(), over.as_str().as_bytes()];
        column.extend(of.as_ref().map(|of| of.as_bytes()));
        let version = ContentKey::of(&column).to_string()[..8].to_owned();
        Ok(Self { name, over, of, when, identity, version, evaluator })
    }

    /// An evaluator inside another one.
    pub fn part(component: Component, context: &ComponentContext) -> Result<Self, Failure> {
        let Component { kind, config } = component;
        let (name, over) = (kind.clone(), Over::Turn);
        Self::new(NamedComponent { name, kind, config, over, when: None, of: None, reads: Vec::new() }, context)
    }

    /// Judges, unless this was judged before. The usage is that of its calls, reused or made.
    pub async fn evaluate(&self, case: &Case<'_>, calls: &Calls<'_>) -> Result<(Score, Usage), Halt> {
        let finding = match self.look_at(case) {
            Ok(Some((expected, evidence))) => {
                let subject = Subject {
                    output: &case.answer.content,
                    expected: expected.as_deref(),
                    evidence: evidence.as_ref(),
                };
                self.record(subject, calls).await?
            }
            Ok(None) => Evaluation::skipped("its condition `when` does not hold for this row"),
            Err(reason) => Evaluation::error(format!("what to expect cannot be said: {reason}")),
        };
        Ok((self.score(&finding, calls.turn), finding.usage))
    }

    /// Whether its finding is on record, or it has nothing to find.
    pub fn is_known(&self, case: &Case<'_>, calls: &Calls<'_>) -> bool {
        let Ok(Some((expected, evidence))) = self.look_at(case) else { return true };
        let output = &case.answer.content;
        let subject = Subject { output, expected: expected.as_deref(), evidence: evidence.as_ref() };
        calls.is_done(&self.newest_key(subject, calls))
    }

    pub fn column(&self) -> Column {
        Column { name: self.name.clone(), version: self.version.clone() }
    }

    pub fn score(&self, finding: &Evaluation, turn: usize) -> Score {
        let Evaluation { verdict, value, reason, .. } = finding.clone();
        Score { name: self.name.clone(), version: self.version.clone(), turn: turn as u32, verdict, value, reason }
    }

    /// What is expected and what else is looked at; `None` when the evaluator does not apply.
    fn look_at(&self, case: &Case<'_>) -> Result<Option<Looked>, String> {
        if let Some(when) = &self.when
            && super::rendered(when, case.variables)?.is_empty()
        {
            return Ok(None);
        }
        Ok(Some((self.evaluator.expected(case.variables)?, self.evaluator.evidence(case)?)))
    }

    async fn record(&self, subject: Subject<'_>, calls: &Calls<'_>) -> Result<Evaluation, Halt> {
        let mut input = json!({ "output": subject.output, "expected": subject.expected });
        if let Some(evidence) = subject.evidence {
            input["evidence"] = evidence.clone();
        }
        let intent = calls.intent(self.newest_key(subject, calls), EVALUATOR, Json::of(&input));
        let judging = async {
            let mut finding = self.evaluator.judge(subject, calls).await?;
            finding.usage = calls.used();
            Ok((Json::of(&finding), Usage::default()))
        };
        let price = if self.evaluator.runs_code() { Price::Paid(None) } else { Price::Free };
        let (output, _) = perform(calls.journal, intent, price, judging).await?;
        Ok(output.parse().unwrap_or_else(|error| Evaluation::error(format!("the recorded finding is bad: {error}"))))
    }

    /// What could not be judged before a retry is judged again in it, under a key of its own; from then
    /// on that one counts.
    fn newest_key(&self, subject: Subject<'_>, calls: &Calls<'_>) -> ContentKey {
        let mut key = self.key(subject, calls);
        for round in 1.. {
            let Some(Recalled::Done { from, output, .. }) = calls.journal.recall(&key) else { break };
            let next = self.key(subject, &calls.in_round(round));
            let again = calls.precedes_the_retry(from) || calls.is_done(&next);
            if !again || !output.parse().is_ok_and(|finding: Evaluation| finding.verdict == Verdict::Error) {
                break;
            }
            key = next;
        }
        key
    }

    fn key(&self, subject: Subject<'_>, calls: &Calls<'_>) -> ContentKey {
        let expected = subject.expected.map_or_else(|| "null".to_owned(), |text| json!(text).to_string());
        let mut parts =
            vec![EVALUATOR.as_bytes(), self.identity.as_bytes(), subject.output.as_bytes(), expected.as_bytes()];
        let evidence = subject.evidence.map(canonical);
        parts.extend(evidence.as_ref().map(|text| text.as_bytes()));
        calls.key(&parts)
    }
}
