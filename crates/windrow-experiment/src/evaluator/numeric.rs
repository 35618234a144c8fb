//! `numeric`: a number in the output is the expected one, within a tolerance.

use std::sync::LazyLock;

use async_trait::async_trait;
use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::template::Template;
use windrow_model::Failure;
use windrow_model::workload::Halt;

use super::{Calls, ComponentContext, Doc, Evaluation, Evaluator, Subject, quote, rendered, template, thaw};
use crate::definition::component::{self, Config};

pub const DOC: Doc = Doc {
    passes: "gives the expected number, within a tolerance",
    value: "0 or 1",
    text: r##"`expect` (*template*); `extract` (`last`, `first`, or `whole`: the text is only a number); `tolerance` (default 0);
`relative_tolerance` (default 0, a share of the expected number). The wider tolerance applies. `1,234.5`, `.5`, `−3` and
`6e23` are numbers. The expected number is extracted in the same way, so `#### 18` works. An expectation without a number
is an `error`.

```yaml
- numeric: { expect: "{{ population }}", relative_tolerance: 0.05 }
```"##,
};

/// `1`, `-1.5`, `.5`, `1,234,567.8`, `6.02e23`; the minus may be the typographic one.
static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    let number = r"[-+−]?(?:\d{1,3}(?:,\d{3})+\b|\d+|\.\d)\d*(?:\.\d+)?(?:[eE][-+]?\d+)?";
    Regex::new(number).expect("the pattern is a regular expression")
});

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NumericConfig {
    /// Template of the expected number; text around it is allowed as in the output.
    pub expect: String,
    /// Which number of a text counts.
    #[serde(default)]
    pub extract: Extract,
    /// How far away the number may be.
    #[serde(default)]
    pub tolerance: f64,
    /// How far away the number may be, as a share of the expected one. The wider tolerance counts.
    #[serde(default)]
    pub relative_tolerance: f64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extract {
    First,
    #[default]
    Last,
    /// The text must be a number and nothing else.
    Whole,
}

impl Extract {
    fn from(self, text: &str) -> Option<f64> {
        match self {
            Self::First => numbers(text).next(),
            Self::Last => numbers(text).last(),
            Self::Whole => {
                let found = NUMBER.find(text.trim())?;
                (found.as_str() == text.trim()).then(|| numbers(text).next())?
            }
        }
    }
}

fn numbers(text: &str) -> impl Iterator<Item = f64> + '_ {
    NUMBER.find_iter(text).filter_map(|found| {
        let number = found.as_str().replace(',', "").replace('−', "-");
        // In `2024-05` and `x-1` the dash joins, and is no minus.
        let joined = text[..found.start()].chars().next_back().is_some_and(char::is_alphanumeric);
        let number = if joined { number.trim_start_matches(['-', '+']) } else { &number };
        number.parse().ok().filter(|number: &f64| number.is_finite())
    })
}

impl Config for NumericConfig {
    fn templates(&self) -> Vec<(&'static str, &str)> {
        vec![("expect", &self.expect)]
    }

    fn check(&self, _environment: &Environment) -> Vec<component::Issue> {
        let fields = [("tolerance", self.tolerance), ("relative_tolerance", self.relative_tolerance)];
        let bad = fields.into_iter().filter(|(_, value)| !(value.is_finite() && *value >= 0.0));
        bad.map(|(field, _)| component::Issue::problem(field, "must not be negative", "for example: 0.01")).collect()
    }
}

pub struct Numeric {
    expect: Template,
    extract: Extract,
    tolerance: f64,
    relative_tolerance: f64,
}

impl Numeric {
    pub fn build(config: Value, _setting: &ComponentContext) -> Result<Box<dyn Evaluator>, Failure> {
        let NumericConfig { expect, extract, tolerance, relative_tolerance } = thaw(config)?;
        Ok(Box::new(Self { expect: template(&expect)?, extract, tolerance, relative_tolerance }))
    }

    fn compare(&self, output: &str, expected: &str) -> Evaluation {
        let Some(wanted) = self.extract.from(expected) else {
            return Evaluation::error(format!("the expected text {} has no number", quote(expected)));
        };
        let Some(found) = self.extract.from(output) else {
            return Evaluation::binary(false, format!("expected {wanted}, and {} has no number", quote(output)));
        };
        let allowed = self.tolerance.max(self.relative_tolerance * wanted.abs());
        let away = (found - wanted).abs();
        match away <= allowed {
            true => Evaluation::binary(true, format!("{found} is {wanted} within {allowed}")),
            false => Evaluation::binary(false, format!("expected {wanted} within {allowed}, got {found}")),
        }
    }
}

#[async_trait]
impl Evaluator for Numeric {
    fn expected(&self, variables: &minijinja::Value) -> Result<Option<String>, String> {
        rendered(&self.expect, variables).map(Some)
    }

    async fn judge(&self, subject: Subject<'_>, _calls: &Calls<'_>) -> Result<Evaluation, Halt> {
        Ok(self.compare(subject.output, subject.expected.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use windrow_model::step::Verdict;

    use super::*;

    #[test]
    fn numbers_are_found_in_text() {
        let all = |text: &str| numbers(text).collect::<Vec<_>>();
        assert_eq!(all("It costs $1,234.50, or 1.2e3."), [1234.5, 1200.0]);
        assert_eq!(all("-3 and −4 and .5"), [-3.0, -4.0, 0.5]);
        assert_eq!(all("on 2024-05-06"), [2024.0, 5.0, 6.0]);
        assert_eq!(all("1,2,3 and 12,345,678"), [1.0, 2.0, 3.0, 12345678.0]);
        assert_eq!(all("none, or 1e999"), Vec::<f64>::new());
    }

    #[test]
    fn the_last_the_first_or_the_whole_text_counts() {
        assert_eq!(Extract::Last.from("2 + 2 = 4."), Some(4.0));
        assert_eq!(Extract::First.from("2 + 2 = 4."), Some(2.0));
        assert_eq!(Extract::Whole.from(" 42\n"), Some(42.0));
        assert_eq!(Extract::Whole.from("42 km"), None);
    }

    #[test]
    fn the_wider_tolerance_counts() {
        let numeric = |tolerance, relative_tolerance| Numeric {
            expect: Template::new("x").unwrap(),
            extract: Extract::Last,
            tolerance,
            relative_tolerance,
        };
        let verdict = |numeric: Numeric, output: &str| numeric.compare(output, "#### 200").verdict;
        assert_eq!(verdict(numeric(0.0, 0.0), "200.0"), Verdict::Pass);
        assert_eq!(verdict(numeric(0.0, 0.0), "201"), Verdict::Fail);
        assert_eq!(verdict(numeric(1.0, 0.0), "201"), Verdict::Pass);
        assert_eq!(verdict(numeric(1.0, 0.01), "-> 198"), Verdict::Pass);
        assert_eq!(verdict(numeric(1.0, 0.01), "197.9"), Verdict::Fail);
        assert_eq!(verdict(numeric(1.0, 0.01), "no idea"), Verdict::Fail);
        assert_eq!(numeric(0.0, 0.0).compare("1", "none").verdict, Verdict::Error);
    }
}
