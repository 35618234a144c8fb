//! `weighted`: the mean of several evaluators' values, each counted by its weight. One that errs
//! makes the whole an error; one that is skipped does not count.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::job_file::Section;
use windrow_jobfile::yaml::Content;
use windrow_model::Failure;
use windrow_model::step::Verdict;
use windrow_model::workload::Halt;

use super::{Bound, Calls, Case, ComponentContext, Doc, Evaluation, Evaluator, Subject, chosen, thaw};
use crate::definition::component::{Checked, Component, LoadContext, Placed};

pub const DOC: Doc = Doc {
    passes: "reaches a weighted mean of several evaluators",
    value: "graded, threshold 0.5",
    text: r##"`of` lists evaluators, each with a `weight` (default 1). The value is the weighted mean of their values. `threshold` (default
0.5). If one of them is an `error`, the result is an `error`. Skipped ones do not count.

```yaml
- weighted:
    of:
      - { exact: { expect: "{{ capital }}" }, weight: 3 }
      - chrf: { expect: "{{ capital }}" }
      - not: refusal
    threshold: 0.7
```"##,
};

const FIELDS: &[&str] = &["of", "threshold"];
const EXAMPLE: &str = "weighted: { of: [{ exact: { expect: \"{{ answer }}\" }, weight: 2 }, refusal], threshold: 0.5 }";
/// From which value on the whole passes, unless the job file says otherwise.
const THRESHOLD: f64 = 0.5;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WeightedConfig {
    of: Vec<Weighed<Component>>,
    threshold: f64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Weighed<T> {
    weight: f64,
    part: T,
}

/// What the parts want of the rows, gathered for the whole.
#[derive(Default)]
struct Wants {
    templates: Vec<Placed>,
    row_fields: Vec<Placed>,
    warnings: Vec<String>,
}

pub fn read(section: &Section, also: &[&str], context: LoadContext<'_>, problems: &mut Problems) -> Option<Checked> {
    let mut section = section.clone();
    let list = section.require("of", EXAMPLE, problems);
    let threshold = section.take("threshold");
    section.finish(&[FIELDS, also].concat(), problems);
    let threshold = match threshold {
        None => Some(THRESHOLD),
        Some(given) => read_number(&given, |value| (0.0..=1.0).contains(&value), "must be from 0 to 1", problems),
    };
    let list = list?;
    let is_empty = match &list.node.content {
        Content::List(entries) => entries.is_empty(),
        other => *other == Content::Null,
    };
    if is_empty {
        problems.add(list.span.clone(), "`weighted` has no evaluators", format!("for example: {EXAMPLE}"));
    }
    let mut wants = Wants::default();
    let parts: Vec<_> =
        list.elements(problems).into_iter().map(|entry| read_part(entry, context, &mut wants, problems)).collect();
    let of = parts.into_iter().collect::<Option<Vec<_>>>();
    let config = WeightedConfig { of: of?, threshold: threshold? };
    let Wants { templates, row_fields, warnings } = wants;
    let config = serde_json::to_value(config).expect("a configuration serialises to JSON");
    Some(Checked { config, templates, row_fields, warnings })
}

fn read_part(
    mut entry: Section,
    context: LoadContext<'_>,
    wants: &mut Wants,
    problems: &mut Problems,
) -> Option<Weighed<Component>> {
    let weight = match entry.take("weight") {
        None => Some(1.0),
        Some(given) => read_number(&given, |value| value > 0.0, "must be more than 0", problems),
    };
    let (kind, config) = chosen(entry, problems)?;
    let Checked { config, templates, row_fields, warnings } = (kind.read)(&config, &[], context, problems)?;
    wants.templates.extend(templates);
    wants.row_fields.extend(row_fields);
    wants.warnings.extend(warnings);
    Some(Weighed { weight: weight?, part: Component { kind: kind.name.to_owned(), config } })
}

fn read_number(given: &Section, fits: fn(f64) -> bool, rule: &str, problems: &mut Problems) -> Option<f64> {
    let value = given.read::<f64>(&[], problems)?;
    if value.is_finite() && fits(value) {
        return Some(value);
    }
    problems.add(given.node.span.clone(), format!("`{}`: {rule}", given.path), "for example: 0.5");
    None
}

pub struct Weighted {
    weights: Vec<f64>,
    parts: Vec<Bound>,
    threshold: f64,
}

impl Weighted {
    pub fn build(config: Value, context: &ComponentContext) -> Result<Box<dyn Evaluator>, Failure> {
        let WeightedConfig { of, threshold } = thaw(config)?;
        let weights = of.iter().map(|weighed| weighed.weight).collect();
        let parts = of.into_iter().map(|weighed| Bound::part(weighed.part, context)).collect::<Result<_, _>>()?;
        Ok(Box::new(Self { weights, parts, threshold }))
    }

    fn combine(&self, findings: &[Evaluation]) -> Evaluation {
        let (mut sum, mut weights, mut reasons) = (0.0, 0.0, Vec::new());
        for ((finding, weight), part) in findings.iter().zip(&self.weights).zip(&self.parts) {
            let Evaluation { verdict, value, reason, .. } = finding;
            match (verdict, value) {
                (Verdict::Skipped, _) => reasons.push(format!("{} skipped: {reason}", part.name)),
                (Verdict::Pass | Verdict::Fail, Some(value)) => {
                    sum += weight * value;
                    weights += weight;
                    reasons.push(format!("{} {value}: {reason}", part.name));
                }
                _ => return Evaluation::error(format!("{}: {reason}", part.name)),
            }
        }
        let reason = reasons.join("; ");
        match weights > 0.0 {
            true => Evaluation::graded(sum / weights, self.threshold, reason),
            false => Evaluation::skipped(reason),
        }
    }
}

#[async_trait]
impl Evaluator for Weighted {
    /// What each part expects, as a JSON list.
    fn expected(&self, variables: &minijinja::Value) -> Result<Option<String>, String> {
        let all = self.parts.iter().map(|part| part.evaluator.expected(variables));
        let all: Vec<Option<String>> = all.collect::<Result<_, _>>()?;
        Ok(Some(Value::from(all).to_string()))
    }

    /// As a JSON list, like what is expected; nothing if no part looks at more.
    fn evidence(&self, case: &Case<'_>) -> Result<Option<Value>, String> {
        let all = self.parts.iter().map(|part| part.evaluator.evidence(case));
        let all: Vec<Option<Value>> = all.collect::<Result<_, _>>()?;
        Ok(all.iter().any(Option::is_some).then(|| Value::from_iter(all)))
    }

    fn parts(&self) -> &[Bound] {
        &self.parts
    }

    async fn judge(&self, subject: Subject<'_>, calls: &Calls<'_>) -> Result<Evaluation, Halt> {
        let expected: Vec<Option<String>> = serde_json::from_str(subject.expected.unwrap_or("[]")).unwrap_or_default();
        let mut findings = Vec::with_capacity(self.parts.len());
        for (no, part) in self.parts.iter().enumerate() {
            let expected = expected.get(no).and_then(Option::as_deref);
            let evidence = subject.evidence.and_then(|all| all.get(no)).filter(|evidence| !evidence.is_null());
            findings.push(part.evaluator.judge(Subject { output: subject.output, expected, evidence }, calls).await?);
        }
        Ok(self.combine(&findings))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::no_calls;
    use super::*;

    fn weighted() -> WeightedConfig {
        let part = |weight, kind: &str, config| Weighed { weight, part: Component { kind: kind.to_owned(), config } };
        let exact = part(3.0, "exact", json!({ "expect": "{{ capital }}" }));
        let regex = part(1.0, "regex", json!({ "pattern": "^[A-Z]" }));
        WeightedConfig { of: vec![exact, regex], threshold: 0.5 }
    }

    async fn judged(output: &str) -> Evaluation {
        let weighted = Weighted::build(serde_json::to_value(weighted()).unwrap(), &ComponentContext::plain()).unwrap();
        let expected = weighted.expected(&minijinja::context! { capital => "Paris" }).unwrap();
        weighted.judge(Subject::new(output, expected.as_deref()), &no_calls()).await.unwrap()
    }

    #[tokio::test]
    async fn values_count_by_their_weights() {
        assert_eq!(judged("Paris").await.value, Some(1.0));
        let half = judged("Rome").await;
        assert_eq!((half.verdict, half.value), (Verdict::Fail, Some(0.25)));
        assert_eq!(half.reason, "exact 0: expected \"Paris\", got \"Rome\"; regex 1: matches at 0: \"R\"");
    }

    #[test]
    fn an_error_is_the_whole_and_a_skipped_part_does_not_count() {
        let WeightedConfig { of, threshold } = weighted();
        let weights = of.iter().map(|weighed| weighed.weight).collect();
        let parts =
            of.into_iter().map(|weighed| Bound::part(weighed.part, &ComponentContext::plain()).unwrap()).collect();
        let weighted = Weighted { weights, parts, threshold };
        let skipped = Evaluation::skipped("no");
        let pass = Evaluation::binary(true, "yes");
        assert_eq!(weighted.combine(&[pass.clone(), Evaluation::error("oops")]).verdict, Verdict::Error);
        assert_eq!(weighted.combine(&[skipped.clone(), pass]).value, Some(1.0));
        assert_eq!(weighted.combine(&[skipped.clone(), skipped]).verdict, Verdict::Skipped);
    }
}
