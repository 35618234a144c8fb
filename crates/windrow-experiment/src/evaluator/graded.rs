//! Evaluators that measure how near the output is to an expected text: a [`Metric`] gives a value
//! from 0 to 1, and from a threshold on it passes.

use std::marker::PhantomData;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::template::Template;
use windrow_model::Failure;
use windrow_model::workload::Halt;

use super::{
    Calls, ComponentContext, Evaluation, Evaluator, Subject, check_threshold, quote, rendered, template, thaw,
};
use crate::definition::component::{self, Config};

pub trait Metric: Send + Sync + 'static {
    /// From which value on an output passes, unless the job file says otherwise.
    const THRESHOLD: f64;

    /// From 0 to 1; 1 is the best.
    fn score(output: &str, expected: &str) -> f64;
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, bound = "")]
pub struct GradedConfig<M: Metric> {
    /// Template of the text the output is compared with.
    pub expect: String,
    #[serde(default = "threshold::<M>")]
    pub threshold: f64,
    #[serde(skip)]
    metric: PhantomData<M>,
}

fn threshold<M: Metric>() -> f64 {
    M::THRESHOLD
}

impl<M: Metric> Config for GradedConfig<M> {
    fn templates(&self) -> Vec<(&'static str, &str)> {
        vec![("expect", &self.expect)]
    }

    fn check(&self, _environment: &Environment) -> Vec<component::Issue> {
        check_threshold(self.threshold).into_iter().collect()
    }
}

pub struct Graded {
    expect: Template,
    threshold: f64,
    score: fn(&str, &str) -> f64,
}

impl Graded {
    pub fn build(expect: &str, threshold: f64, score: fn(&str, &str) -> f64) -> Result<Box<dyn Evaluator>, Failure> {
        Ok(Box::new(Self { expect: template(expect)?, threshold, score }))
    }
}

pub fn build<M: Metric>(config: Value, _setting: &ComponentContext) -> Result<Box<dyn Evaluator>, Failure> {
    let GradedConfig::<M> { expect, threshold, .. } = thaw(config)?;
    Graded::build(&expect, threshold, M::score)
}

#[async_trait]
impl Evaluator for Graded {
    fn expected(&self, variables: &minijinja::Value) -> Result<Option<String>, String> {
        rendered(&self.expect, variables).map(Some)
    }

    async fn judge(&self, subject: Subject<'_>, _calls: &Calls<'_>) -> Result<Evaluation, Halt> {
        let expected = subject.expected.unwrap_or_default();
        let value = (self.score)(subject.output, expected);
        let relation = if value >= self.threshold { "reaches" } else { "is below" };
        let reason = format!("{value:.3} {relation} {} against {}", self.threshold, quote(expected));
        Ok(Evaluation::graded(value, self.threshold, reason))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windrow_model::step::Verdict;

    use super::super::no_calls;
    use super::*;

    struct Constant;

    impl Metric for Constant {
        const THRESHOLD: f64 = 0.75;
        fn score(_output: &str, _expected: &str) -> f64 {
            0.5
        }
    }

    #[tokio::test]
    async fn the_threshold_is_the_metrics_own_unless_given() {
        let judged = async |config: Value| {
            let graded = build::<Constant>(config, &ComponentContext::plain()).unwrap();
            graded.judge(Subject::new("a", Some("b")), &no_calls()).await.unwrap()
        };
        let finding = judged(json!({ "expect": "b" })).await;
        assert_eq!((finding.verdict, finding.value), (Verdict::Fail, Some(0.5)));
        assert_eq!(finding.reason, "0.500 is below 0.75 against \"b\"");
        assert_eq!(judged(json!({ "expect": "b", "threshold": 0.5 })).await.verdict, Verdict::Pass);
    }

    #[test]
    fn a_threshold_outside_the_values_is_a_problem() {
        let config = |threshold| GradedConfig::<Constant> { expect: String::new(), threshold, metric: PhantomData };
        assert_eq!(config(1.0).check(&Environment::new(|_| None)), []);
        assert_eq!(config(30.0).check(&Environment::new(|_| None)).len(), 1);
    }
}
