//! `exact`: the output is the expected text.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use windrow_model::Failure;
use windrow_model::workload::Halt;

use super::{Calls, ComponentContext, Doc, Evaluation, Evaluator, Subject, quote, rendered, template, thaw};
use crate::definition::component::Config;
use windrow_jobfile::template::Template;

pub const DOC: Doc = Doc {
    passes: "equals the expected text",
    value: "0 or 1",
    text: r##"`expect` (*template*); `ignore_case` (default false); `trim` (default true: ignore leading and trailing white space of both
texts).

```yaml
- exact: { expect: "{{ capital }}", ignore_case: true }
```"##,
};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExactConfig {
    /// Template of the expected text.
    pub expect: String,
    #[serde(default)]
    pub ignore_case: bool,
    /// White space around both texts does not count.
    #[serde(default = "yes")]
    pub trim: bool,
}

fn yes() -> bool {
    true
}

impl Config for ExactConfig {
    fn templates(&self) -> Vec<(&'static str, &str)> {
        vec![("expect", &self.expect)]
    }
}

pub struct Exact {
    expect: Template,
    ignore_case: bool,
    trim: bool,
}

impl Exact {
    pub fn build(config: Value, _setting: &ComponentContext) -> Result<Box<dyn Evaluator>, Failure> {
        let ExactConfig { expect, ignore_case, trim } = thaw(config)?;
        Ok(Box::new(Self { expect: template(&expect)?, ignore_case, trim }))
    }

    fn equal(&self, output: &str, expected: &str) -> bool {
        let (output, expected) = if self.trim { (output.trim(), expected.trim()) } else { (output, expected) };
        output == expected || (self.ignore_case && output.to_lowercase() == expected.to_lowercase())
    }
}

#[async_trait]
impl Evaluator for Exact {
    fn expected(&self, variables: &minijinja::Value) -> Result<Option<String>, String> {
        rendered(&self.expect, variables).map(Some)
    }

    async fn judge(&self, subject: Subject<'_>, _calls: &Calls<'_>) -> Result<Evaluation, Halt> {
        let expected = subject.expected.unwrap_or_default();
        let finding = match self.equal(subject.output, expected) {
            true => Evaluation::binary(true, format!("equals {}", quote(expected))),
            false => Evaluation::binary(false, format!("expected {}, got {}", quote(expected), quote(subject.output))),
        };
        Ok(finding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_white_space_count_as_configured() {
        let exact = |ignore_case, trim| Exact { expect: Template::new("x").unwrap(), ignore_case, trim };
        assert!(exact(false, true).equal(" Paris\n", "Paris"));
        assert!(!exact(false, false).equal(" Paris\n", "Paris"));
        assert!(!exact(false, true).equal("paris", "Paris"));
        assert!(exact(true, true).equal("ÉVRY", "évry"));
    }
}
