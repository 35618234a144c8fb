//! `regex`: the pattern is found in the output.

use async_trait::async_trait;
use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windrow_jobfile::environment::Environment;
use windrow_model::Failure;
use windrow_model::workload::Halt;

use super::{Calls, ComponentContext, Doc, Evaluation, Evaluator, Subject, quote, thaw, unfit};
use crate::definition::component::{self, Config};

pub const DOC: Doc = Doc {
    passes: "matches a regular expression",
    value: "0 or 1",
    text: r##"`pattern` in [Rust regex syntax](https://docs.rs/regex/latest/regex/#syntax), matched anywhere in the output; `ignore_case`
(default false).

```yaml
- regex: { pattern: '^\d{4}-\d{2}-\d{2}$' }
```"##,
};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegexConfig {
    pub pattern: String,
    #[serde(default)]
    pub ignore_case: bool,
}

impl RegexConfig {
    fn compile(&self) -> Result<Regex, String> {
        RegexBuilder::new(&self.pattern).case_insensitive(self.ignore_case).build().map_err(|error| {
            let text = error.to_string();
            // The last line is the reason; the lines before draw the pattern.
            text.lines().last().unwrap_or(&text).trim_start_matches("error: ").to_owned()
        })
    }
}

impl Config for RegexConfig {
    fn check(&self, _environment: &Environment) -> Vec<component::Issue> {
        let help =
            "correct the pattern; the syntax is that of https://docs.rs/regex (no look-around, no back-references)";
        let wrong = self.compile().err();
        wrong.into_iter().map(|reason| component::Issue::problem("pattern", bad(&reason), help)).collect()
    }
}

fn bad(reason: &str) -> String {
    format!("this is not a regular expression: {reason}")
}

pub struct RegexMatch {
    pattern: Regex,
}

impl RegexMatch {
    pub fn build(config: Value, _setting: &ComponentContext) -> Result<Box<dyn Evaluator>, Failure> {
        let config: RegexConfig = thaw(config)?;
        Ok(Box::new(Self { pattern: config.compile().map_err(|reason| unfit(&bad(&reason)))? }))
    }
}

#[async_trait]
impl Evaluator for RegexMatch {
    async fn judge(&self, subject: Subject<'_>, _calls: &Calls<'_>) -> Result<Evaluation, Halt> {
        let finding = match self.pattern.find(subject.output) {
            Some(found) => Evaluation::binary(true, format!("matches at {}: {}", found.start(), quote(found.as_str()))),
            None => Evaluation::binary(false, format!("no match in {}", quote(subject.output))),
        };
        Ok(finding)
    }
}
