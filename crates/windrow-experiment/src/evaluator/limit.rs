//! `latency`, `cost` and `tokens`: the answer took no more than it may. Over a conversation the sum
//! of its answers counts. What was not reported cannot be judged, and is skipped.

use std::marker::PhantomData;

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use windrow_jobfile::duration::Duration;
use windrow_jobfile::environment::Environment;
use windrow_model::Failure;
use windrow_model::record::nanos;
use windrow_model::workload::Halt;

use super::{Calls, Case, ComponentContext, Doc, Evaluation, Evaluator, Subject, thaw};
use crate::definition::component::{self, Config};
use crate::target::Answer;

pub const LATENCY: Doc = Doc {
    passes: "arrived in time",
    value: "0 or 1",
    text: r##"`max`: the longest time, with its unit. With `over: conversation` the times of all answers are added.

```yaml
- latency: { max: 2s }
- latency: { max: 10s, over: conversation, name: whole_latency }
```"##,
};

pub const COST: Doc = Doc {
    passes: "cost at most this much",
    value: "0 or 1",
    text: r##"`max`: US dollars for one answer, or with `over: conversation` for all answers. The cost of evaluators does not count. A call
without a known price is `skipped`.

```yaml
- cost: { max: 0.01 }
```"##,
};

pub const TOKENS: Doc = Doc {
    passes: "used at most this many tokens",
    value: "0 or 1",
    text: r##"`max`: input plus output tokens of one answer, or with `over: conversation` of all answers. If the endpoint reports no
tokens, the verdict is `skipped`.

```yaml
- tokens: { max: 500 }
```"##,
};

/// Something an answer uses up.
pub trait Measure: Send + Sync + 'static {
    type Bound: Serialize + DeserializeOwned;
    /// What is measured, as it is recorded.
    const UNIT: &'static str;
    const UNKNOWN: &'static str;
    const EXAMPLE: &'static str;
    /// In the unit.
    fn bound(max: &Self::Bound) -> i64;
    fn of(answer: &Answer) -> Option<i64>;
    fn shown(amount: i64) -> String;
}

pub struct Latency;
pub struct Cost;
pub struct Tokens;

impl Measure for Latency {
    type Bound = Duration;
    const UNIT: &'static str = "latency_ms";
    const UNKNOWN: &'static str = "no time was measured";
    const EXAMPLE: &'static str = "for example: max: 2s";

    fn bound(max: &Duration) -> i64 {
        max.ms
    }
    fn of(answer: &Answer) -> Option<i64> {
        Some(answer.latency_ms)
    }
    fn shown(ms: i64) -> String {
        if ms < 10_000 { format!("{ms} ms") } else { format!("{:.1} s", ms as f64 / 1000.0) }
    }
}

impl Measure for Cost {
    type Bound = f64;
    const UNIT: &'static str = "cost_nanos";
    const UNKNOWN: &'static str = "no price is known for it";
    const EXAMPLE: &'static str = "in dollars, for example: max: 0.01";

    fn bound(max: &f64) -> i64 {
        nanos(*max)
    }
    fn of(answer: &Answer) -> Option<i64> {
        Some(answer.used.cost_nanos).filter(|nanos| *nanos > 0)
    }
    fn shown(nanos: i64) -> String {
        format!("${}", nanos as f64 / 1e9)
    }
}

impl Measure for Tokens {
    type Bound = u32;
    const UNIT: &'static str = "tokens";
    const UNKNOWN: &'static str = "no tokens were reported";
    const EXAMPLE: &'static str = "for example: max: 500";

    fn bound(max: &u32) -> i64 {
        i64::from(*max)
    }
    fn of(answer: &Answer) -> Option<i64> {
        Some(answer.used.tokens_in + answer.used.tokens_out).filter(|tokens| *tokens > 0)
    }
    fn shown(tokens: i64) -> String {
        format!("{tokens} tokens")
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, bound = "")]
pub struct LimitConfig<M: Measure> {
    pub max: M::Bound,
    #[serde(skip)]
    measure: PhantomData<M>,
}

impl<M: Measure> Config for LimitConfig<M> {
    fn check(&self, _environment: &Environment) -> Vec<component::Issue> {
        let positive = M::bound(&self.max) > 0;
        let problem = || component::Issue::problem("max", "must be more than 0", M::EXAMPLE);
        (!positive).then(problem).into_iter().collect()
    }
}

pub struct Limit<M> {
    max: i64,
    measure: PhantomData<M>,
}

pub fn build<M: Measure>(config: Value, _setting: &ComponentContext) -> Result<Box<dyn Evaluator>, Failure> {
    let LimitConfig::<M> { max, .. } = thaw(config)?;
    Ok(Box::new(Limit::<M> { max: M::bound(&max), measure: PhantomData }))
}

#[async_trait]
impl<M: Measure> Evaluator for Limit<M> {
    fn evidence(&self, case: &Case<'_>) -> Result<Option<Value>, String> {
        Ok(Some(json!({ M::UNIT: M::of(case.answer) })))
    }

    async fn judge(&self, subject: Subject<'_>, _calls: &Calls<'_>) -> Result<Evaluation, Halt> {
        let Some(amount) = subject.evidence.and_then(|evidence| evidence[M::UNIT].as_i64()) else {
            return Ok(Evaluation::skipped(M::UNKNOWN));
        };
        let (amount_shown, max_shown) = (M::shown(amount), M::shown(self.max));
        Ok(match amount <= self.max {
            true => Evaluation::binary(true, format!("{amount_shown} is within {max_shown}")),
            false => Evaluation::binary(false, format!("{amount_shown} is more than {max_shown}")),
        })
    }
}

#[cfg(test)]
mod tests {
    use windrow_model::step::{Usage, Verdict};

    use super::super::no_calls;
    use super::*;
    use crate::definition::spec::Over;

    async fn judged<M: Measure>(max: Value, answer: &Answer) -> Evaluation {
        let limit = build::<M>(json!({ "max": max }), &ComponentContext::plain()).unwrap();
        let case = Case { over: Over::Turn, variables: &minijinja::Value::UNDEFINED, answer, history: &[] };
        let evidence = limit.evidence(&case).unwrap();
        let subject = Subject { output: "", expected: None, evidence: evidence.as_ref() };
        limit.judge(subject, &no_calls()).await.unwrap()
    }

    #[tokio::test]
    async fn what_is_used_is_held_against_the_limit() {
        let used = Usage { tokens_in: 300, tokens_out: 50, cost_nanos: 2_500_000 };
        let answer = Answer { latency_ms: 1200, used, ..Answer::default() };
        let late = judged::<Latency>(json!("1s"), &answer).await;
        assert_eq!((late.verdict, late.value), (Verdict::Fail, Some(0.0)));
        assert_eq!(late.reason, "1200 ms is more than 1000 ms");
        assert_eq!(judged::<Latency>(json!("1200ms"), &answer).await.verdict, Verdict::Pass);
        assert_eq!(judged::<Cost>(json!(0.0025), &answer).await.reason, "$0.0025 is within $0.0025");
        assert_eq!(judged::<Cost>(json!(0.002), &answer).await.verdict, Verdict::Fail);
        assert_eq!(judged::<Tokens>(json!(349), &answer).await.reason, "350 tokens is more than 349 tokens");
    }

    #[tokio::test]
    async fn what_is_not_reported_is_not_judged() {
        assert_eq!(judged::<Cost>(json!(1), &Answer::default()).await.verdict, Verdict::Skipped);
        assert_eq!(judged::<Tokens>(json!(1), &Answer::default()).await.verdict, Verdict::Skipped);
    }
}
