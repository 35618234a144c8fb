//! `starts_with`: the output begins with the expected text.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use windrow_model::Failure;
use windrow_model::workload::Halt;

use super::{Calls, ComponentContext, Doc, Evaluation, Evaluator, Subject, quote, rendered, template, thaw};
use crate::definition::component::Config;
use windrow_jobfile::template::Template;

pub const DOC: Doc = Doc {
    passes: "starts with a text",
    value: "0 or 1",
    text: r##"`expect` (*template*); `ignore_case` (default false); `trim` (default true: ignore white space before the output and around
the expected text).

```yaml
- starts_with: { expect: "Yes" }
```"##,
};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartsWithConfig {
    /// Template of the expected beginning.
    pub expect: String,
    #[serde(default)]
    pub ignore_case: bool,
    /// White space before the output and around the expected text does not count.
    #[serde(default = "yes")]
    pub trim: bool,
}

fn yes() -> bool {
    true
}

impl Config for StartsWithConfig {
    fn templates(&self) -> Vec<(&'static str, &str)> {
        vec![("expect", &self.expect)]
    }
}

pub struct StartsWith {
    expect: Template,
    ignore_case: bool,
    trim: bool,
}

impl StartsWith {
    pub fn build(config: Value, _setting: &ComponentContext) -> Result<Box<dyn Evaluator>, Failure> {
        let StartsWithConfig { expect, ignore_case, trim } = thaw(config)?;
        Ok(Box::new(Self { expect: template(&expect)?, ignore_case, trim }))
    }

    fn begins(&self, output: &str, expected: &str) -> bool {
        let output = if self.trim { output.trim_start() } else { output };
        output.starts_with(expected)
            || (self.ignore_case && output.to_lowercase().starts_with(&expected.to_lowercase()))
    }
}

#[async_trait]
impl Evaluator for StartsWith {
    fn expected(&self, variables: &minijinja::Value) -> Result<Option<String>, String> {
        let text = rendered(&self.expect, variables)?;
        let text = if self.trim { text.trim() } else { &text };
        match text.is_empty() {
            true => Err("the expected text is empty, and every output starts with that".to_owned()),
            false => Ok(Some(text.to_owned())),
        }
    }

    async fn judge(&self, subject: Subject<'_>, _calls: &Calls<'_>) -> Result<Evaluation, Halt> {
        let expected = subject.expected.unwrap_or_default();
        let finding = match self.begins(subject.output, expected) {
            true => Evaluation::binary(true, format!("starts with {}", quote(expected))),
            false => {
                Evaluation::binary(false, format!("{} does not start with {}", quote(subject.output), quote(expected)))
            }
        };
        Ok(finding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_white_space_count_as_configured() {
        let with = |ignore_case, trim| StartsWith { expect: Template::new("x").unwrap(), ignore_case, trim };
        assert!(with(false, true).begins("\n Yes, sir", "Yes"));
        assert!(!with(false, false).begins("\n Yes, sir", "Yes"));
        assert!(!with(false, true).begins("yes", "Yes"));
        assert!(with(true, true).begins("ÉVRY is", "évry"));
        assert!(!with(true, true).begins("Y", "yes"));
    }
}
