//! `contains`: the output has the expected text in it, or any or all of several.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::template::Template;
use windrow_model::Failure;
use windrow_model::workload::Halt;

use super::{Calls, ComponentContext, Doc, Evaluation, Evaluator, Subject, quote, rendered, template, thaw, unfit};
use crate::definition::component::{self, Config};

pub const DOC: Doc = Doc {
    passes: "contains a text, or any or all of several texts",
    value: "0 or 1",
    text: r##"One of `expect` (*template*), `any` or `all` (lists of *templates*); `ignore_case` (default false). An expectation that
renders to an empty string is an `error`, because every output contains it.

```yaml
- contains: { expect: "{{ capital }}" }
- contains: { any: ["{{ capital }}", "I don't know"], ignore_case: true }
- contains: { all: ["{{ capital }}", "{{ country }}"], name: both_names }
```"##,
};

/// Exactly one of `expect`, `any` and `all` is given.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContainsConfig {
    /// Template of the one text that must be there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<String>,
    /// Templates of texts of which one must be there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub any: Option<Vec<String>>,
    /// Templates of texts that must all be there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all: Option<Vec<String>>,
    #[serde(default)]
    pub ignore_case: bool,
}

impl Config for ContainsConfig {
    fn templates(&self) -> Vec<(&'static str, &str)> {
        let one = self.expect.iter().map(|text| ("expect", text.as_str()));
        let any = self.any.iter().flatten().map(|text| ("any", text.as_str()));
        let all = self.all.iter().flatten().map(|text| ("all", text.as_str()));
        one.chain(any).chain(all).collect()
    }

    fn check(&self, _environment: &Environment) -> Vec<component::Issue> {
        let given = [
            self.expect.as_ref().map(|_| ("expect", 1)),
            self.any.as_ref().map(|texts| ("any", texts.len())),
            self.all.as_ref().map(|texts| ("all", texts.len())),
        ];
        let given: Vec<_> = given.into_iter().flatten().collect();
        let help = "for example: contains: { any: [\"yes\", \"{{ answer }}\"] }";
        match given.as_slice() {
            [(field, 0)] => vec![component::Issue::problem(field, "the list is empty", help)],
            [_] => Vec::new(),
            _ => vec![component::Issue::problem("expect", "give exactly one of `expect`, `any` and `all`", help)],
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Quantity {
    Any,
    All,
}

pub struct Contains {
    texts: Vec<Template>,
    quantity: Quantity,
    ignore_case: bool,
}

impl Contains {
    pub fn build(config: Value, _setting: &ComponentContext) -> Result<Box<dyn Evaluator>, Failure> {
        let ContainsConfig { expect, any, all, ignore_case } = thaw(config)?;
        let (quantity, texts) = match (expect, any, all) {
            (Some(text), None, None) => (Quantity::All, vec![text]),
            (None, Some(texts), None) => (Quantity::Any, texts),
            (None, None, Some(texts)) => (Quantity::All, texts),
            _ => return Err(unfit("`contains` has not exactly one of `expect`, `any` and `all`")),
        };
        let texts = texts.iter().map(|text| template(text)).collect::<Result<_, _>>()?;
        Ok(Box::new(Self { texts, quantity, ignore_case }))
    }
}

#[async_trait]
impl Evaluator for Contains {
    /// The rendered texts as a JSON list.
    fn expected(&self, variables: &minijinja::Value) -> Result<Option<String>, String> {
        let texts: Vec<String> = self.texts.iter().map(|text| rendered(text, variables)).collect::<Result<_, _>>()?;
        match texts.iter().any(String::is_empty) {
            true => Err("an expected text is empty, and every output contains that".to_owned()),
            false => Ok(Some(Value::from(texts).to_string())),
        }
    }

    async fn judge(&self, subject: Subject<'_>, _calls: &Calls<'_>) -> Result<Evaluation, Halt> {
        let texts: Vec<String> = serde_json::from_str(subject.expected.unwrap_or("[]")).unwrap_or_default();
        Ok(find(subject.output, &texts, self.quantity, self.ignore_case))
    }
}

fn find(output: &str, texts: &[String], quantity: Quantity, ignore_case: bool) -> Evaluation {
    let folded = |text: &str| if ignore_case { text.to_lowercase() } else { text.to_owned() };
    let whole = folded(output);
    let (there, missing): (Vec<&String>, Vec<&String>) = texts.iter().partition(|text| whole.contains(&folded(text)));
    let list = |texts: &[&String]| texts.iter().map(|text| quote(text)).collect::<Vec<_>>().join(", ");
    let pass = match quantity {
        Quantity::Any => !there.is_empty(),
        Quantity::All => missing.is_empty(),
    };
    match pass {
        true => Evaluation::binary(true, format!("contains {}", list(&there))),
        false => Evaluation::binary(false, format!("{} is not in {}", list(&missing), quote(output))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(output: &str, texts: &[&str], quantity: Quantity, ignore_case: bool) -> bool {
        let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
        find(output, &texts, quantity, ignore_case).value == Some(1.0)
    }

    #[test]
    fn any_wants_one_and_all_wants_every_text() {
        assert!(passes("Paris, France", &["Rome", "France"], Quantity::Any, false));
        assert!(!passes("Paris, France", &["Rome", "Berlin"], Quantity::Any, false));
        assert!(passes("Paris, France", &["Paris", "France"], Quantity::All, false));
        assert!(!passes("Paris, France", &["Paris", "Rome"], Quantity::All, false));
    }

    #[test]
    fn case_counts_unless_it_is_ignored() {
        assert!(!passes("PARIS", &["paris"], Quantity::All, false));
        assert!(passes("À PARIS", &["à paris"], Quantity::All, true));
    }

    #[test]
    fn the_reason_names_what_is_missing() {
        let texts = ["Paris".to_owned(), "Rome".to_owned()];
        let finding = find("Paris", &texts, Quantity::All, false);
        assert_eq!(finding.reason, "\"Rome\" is not in \"Paris\"");
    }

    #[test]
    fn an_empty_expectation_is_an_error_and_not_a_pass() {
        let contains = Contains::build(serde_json::json!({ "expect": "{{ x }}" }), &ComponentContext::plain()).unwrap();
        assert!(contains.expected(&minijinja::context! { x => "" }).is_err());
        let rendered = contains.expected(&minijinja::context! { x => "a\"b" }).unwrap();
        assert_eq!(rendered.as_deref(), Some(r#"["a\"b"]"#));
    }
}
