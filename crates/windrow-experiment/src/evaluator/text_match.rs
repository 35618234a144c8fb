//! `exact` and `starts_with`: the output is the expected text, or begins with it.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windrow_jobfile::template::Template;
use windrow_model::Failure;
use windrow_model::workload::Halt;

use super::{Calls, ComponentContext, Doc, Evaluation, Evaluator, Subject, quote, rendered, template, thaw};
use crate::definition::component::Config;

pub const EXACT: Doc = Doc {
    passes: "equals the expected text",
    value: "0 or 1",
    text: r##"`expect` (*template*); `ignore_case` (default false); `trim` (default true: ignore leading and trailing white space of both
texts).

```yaml
- exact: { expect: "{{ capital }}", ignore_case: true }
```"##,
};

pub const STARTS_WITH: Doc = Doc {
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
pub struct TextMatchConfig {
    /// Template of the expected text.
    pub expect: String,
    #[serde(default)]
    pub ignore_case: bool,
    /// White space around the expected text, and before the output (for `exact` also after it) does not count.
    #[serde(default = "yes")]
    pub trim: bool,
}

fn yes() -> bool {
    true
}

impl Config for TextMatchConfig {
    fn templates(&self) -> Vec<(&'static str, &str)> {
        vec![("expect", &self.expect)]
    }
}

enum Match {
    Whole,
    Start,
}

struct TextMatch {
    part: Match,
    expect: Template,
    ignore_case: bool,
    trim: bool,
}

pub fn build_exact(config: Value, _context: &ComponentContext) -> Result<Box<dyn Evaluator>, Failure> {
    build(Match::Whole, config)
}

pub fn build_starts_with(config: Value, _context: &ComponentContext) -> Result<Box<dyn Evaluator>, Failure> {
    build(Match::Start, config)
}

fn build(part: Match, config: Value) -> Result<Box<dyn Evaluator>, Failure> {
    let TextMatchConfig { expect, ignore_case, trim } = thaw(config)?;
    Ok(Box::new(TextMatch { part, expect: template(&expect)?, ignore_case, trim }))
}

impl TextMatch {
    fn matches(&self, output: &str, expected: &str) -> bool {
        let fits = |output: &str, expected: &str| match self.part {
            Match::Whole if self.trim => output.trim() == expected.trim(),
            Match::Whole => output == expected,
            Match::Start if self.trim => output.trim_start().starts_with(expected),
            Match::Start => output.starts_with(expected),
        };
        fits(output, expected) || (self.ignore_case && fits(&output.to_lowercase(), &expected.to_lowercase()))
    }
}

#[async_trait]
impl Evaluator for TextMatch {
    fn expected(&self, variables: &minijinja::Value) -> Result<Option<String>, String> {
        let text = rendered(&self.expect, variables)?;
        let Match::Start = self.part else { return Ok(Some(text)) };
        let text = if self.trim { text.trim() } else { &text };
        match text.is_empty() {
            true => Err("the expected text is empty, and every output starts with that".to_owned()),
            false => Ok(Some(text.to_owned())),
        }
    }

    async fn judge(&self, subject: Subject<'_>, _calls: &Calls<'_>) -> Result<Evaluation, Halt> {
        let expected = subject.expected.unwrap_or_default();
        let pass = self.matches(subject.output, expected);
        let (output, expected) = (quote(subject.output), quote(expected));
        let reason = match (&self.part, pass) {
            (Match::Whole, true) => format!("equals {expected}"),
            (Match::Whole, false) => format!("expected {expected}, got {output}"),
            (Match::Start, true) => format!("starts with {expected}"),
            (Match::Start, false) => format!("{output} does not start with {expected}"),
        };
        Ok(Evaluation::binary(pass, reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_white_space_count_as_configured() {
        let expect = || Template::new("x").unwrap();
        let exact = |ignore_case, trim| TextMatch { part: Match::Whole, expect: expect(), ignore_case, trim };
        assert!(exact(false, true).matches(" Paris\n", "Paris"));
        assert!(!exact(false, false).matches(" Paris\n", "Paris"));
        assert!(!exact(false, true).matches("paris", "Paris"));
        assert!(exact(true, true).matches("ÉVRY", "évry"));
        let start = |ignore_case, trim| TextMatch { part: Match::Start, expect: expect(), ignore_case, trim };
        assert!(start(false, true).matches("\n Yes, sir", "Yes"));
        assert!(!start(false, false).matches("\n Yes, sir", "Yes"));
        assert!(!start(false, true).matches("yes", "Yes"));
        assert!(start(true, true).matches("ÉVRY is", "évry"));
        assert!(!start(true, true).matches("Y", "yes"));
    }
}
