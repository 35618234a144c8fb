//! `not`: passes what another evaluator fails, and the other way round. An error or a skipped
//! evaluation says nothing that could be turned round, and stays what it is.

use async_trait::async_trait;
use serde_json::Value;

use windrow_model::Failure;
use windrow_model::step::{Usage, Verdict};

use super::{Bound, Evaluator, Finding, Subject, chosen, thaw};
use crate::experiment::component::{Checked, Surroundings};
use crate::experiment::spec::Component;
use crate::job_file::Section;
use crate::report::Problems;

/// `not: { exact: { … } }`: the section names one evaluator.
pub fn read(
    section: &Section,
    _also: &[&str],
    surroundings: Surroundings<'_>,
    problems: &mut Problems,
) -> Option<Checked> {
    let (kind, config) = chosen(section.clone(), problems)?;
    let checked = (kind.read)(&config, &[], surroundings, problems)?;
    let component = Component { kind: kind.name.to_owned(), config: checked.config };
    let config = serde_json::to_value(component).expect("a component serialises to JSON");
    Some(Checked { config, ..checked })
}

pub struct Not {
    inner: [Bound; 1],
}

impl Not {
    pub fn build(config: Value) -> Result<Box<dyn Evaluator>, Failure> {
        Ok(Box::new(Self { inner: [Bound::part(thaw(config)?)?] }))
    }

    fn inner(&self) -> &dyn Evaluator {
        &*self.inner[0].evaluator
    }
}

#[async_trait]
impl Evaluator for Not {
    fn is_paid(&self) -> bool {
        self.inner().is_paid()
    }

    fn expected(&self, variables: &minijinja::Value) -> Result<Option<String>, String> {
        self.inner().expected(variables)
    }

    fn parts(&self) -> &[Bound] {
        &self.inner
    }

    async fn judge(&self, subject: Subject<'_>) -> Result<(Finding, Usage), Failure> {
        let (finding, used) = self.inner().judge(subject).await?;
        Ok((inverted(finding, &self.inner[0].name), used))
    }
}

fn inverted(finding: Finding, name: &str) -> Finding {
    let verdict = match finding.verdict {
        Verdict::Pass => Verdict::Fail,
        Verdict::Fail => Verdict::Pass,
        Verdict::Error | Verdict::Skipped => return finding,
    };
    let reason = format!("not {name}: {}", finding.reason);
    Finding { verdict, value: finding.value.map(|value| 1.0 - value), reason }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn pass_and_fail_change_places_with_the_value() {
        let not = Not::build(json!({ "kind": "regex", "config": { "pattern": "^P" } })).unwrap();
        let (finding, _) = not.judge(Subject { output: "Paris", expected: None }).await.unwrap();
        assert_eq!((finding.verdict, finding.value), (Verdict::Fail, Some(0.0)));
        assert_eq!(finding.reason, "not regex: matches at 0: \"P\"");
        let (finding, _) = not.judge(Subject { output: "Rome", expected: None }).await.unwrap();
        assert_eq!((finding.verdict, finding.value), (Verdict::Pass, Some(1.0)));
    }

    #[test]
    fn error_and_skipped_stay() {
        let error = Finding::error("no idea");
        assert_eq!(inverted(error.clone(), "x"), error);
        let skipped = Finding { verdict: Verdict::Skipped, value: None, reason: "not for this row".to_owned() };
        assert_eq!(inverted(skipped.clone(), "x"), skipped);
    }
}
