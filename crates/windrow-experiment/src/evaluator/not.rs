//! `not`: passes what another evaluator fails, and the other way round. An error or a skipped
//! evaluation says nothing that could be turned round, and stays what it is.

use async_trait::async_trait;
use serde_json::Value;
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::job_file::Section;
use windrow_model::Failure;
use windrow_model::step::Verdict;
use windrow_model::workload::Halt;

use super::{Bound, Calls, Case, ComponentContext, Doc, Evaluation, Evaluator, Subject, chosen, thaw};
use crate::definition::component::{Checked, Component, LoadContext};

pub const DOC: Doc = Doc {
    passes: "fails another evaluator",
    value: "1 − value of the other evaluator",
    text: r##"Inverts the verdict and the value of one evaluator. `error` and `skipped` stay unchanged.

```yaml
- not: { contains: { any: [sorry, cannot], ignore_case: true } }
```"##,
};

/// `not: { exact: { … } }`: the section names one evaluator.
pub fn read(section: &Section, _also: &[&str], context: LoadContext<'_>, problems: &mut Problems) -> Option<Checked> {
    let (kind, config) = chosen(section.clone(), problems)?;
    let checked = (kind.read)(&config, &[], context, problems)?;
    let component = Component { kind: kind.name.to_owned(), config: checked.config };
    let config = serde_json::to_value(component).expect("a component serialises to JSON");
    Some(Checked { config, ..checked })
}

pub struct Not {
    inner: [Bound; 1],
}

impl Not {
    pub fn build(config: Value, context: &ComponentContext) -> Result<Box<dyn Evaluator>, Failure> {
        Ok(Box::new(Self { inner: [Bound::part(thaw(config)?, context)?] }))
    }

    fn inner(&self) -> &dyn Evaluator {
        &*self.inner[0].evaluator
    }
}

#[async_trait]
impl Evaluator for Not {
    fn expected(&self, variables: &minijinja::Value) -> Result<Option<String>, String> {
        self.inner().expected(variables)
    }

    fn evidence(&self, case: &Case<'_>) -> Result<Option<Value>, String> {
        self.inner().evidence(case)
    }

    fn parts(&self) -> &[Bound] {
        &self.inner
    }

    async fn judge(&self, subject: Subject<'_>, calls: &Calls<'_>) -> Result<Evaluation, Halt> {
        let finding = self.inner().judge(subject, calls).await?;
        Ok(inverted(finding, &self.inner[0].name))
    }
}

fn inverted(finding: Evaluation, name: &str) -> Evaluation {
    let verdict = match finding.verdict {
        Verdict::Pass => Verdict::Fail,
        Verdict::Fail => Verdict::Pass,
        Verdict::Error | Verdict::Skipped => return finding,
    };
    let reason = format!("not {name}: {}", finding.reason);
    Evaluation::new(verdict, finding.value.map(|value| 1.0 - value), reason)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::no_calls;
    use super::*;

    #[tokio::test]
    async fn pass_and_fail_change_places_with_the_value() {
        let not =
            Not::build(json!({ "kind": "regex", "config": { "pattern": "^P" } }), &ComponentContext::plain()).unwrap();
        let finding = not.judge(Subject::new("Paris", None), &no_calls()).await.unwrap();
        assert_eq!((finding.verdict, finding.value), (Verdict::Fail, Some(0.0)));
        assert_eq!(finding.reason, "not regex: matches at 0: \"P\"");
        let finding = not.judge(Subject::new("Rome", None), &no_calls()).await.unwrap();
        assert_eq!((finding.verdict, finding.value), (Verdict::Pass, Some(1.0)));
    }

    #[test]
    fn error_and_skipped_stay() {
        let error = Evaluation::error("no idea");
        assert_eq!(inverted(error.clone(), "x"), error);
        let skipped = Evaluation::skipped("not for this row");
        assert_eq!(inverted(skipped.clone(), "x"), skipped);
    }
}
