//! `json_path`: what a JSONPath query (RFC 9535) selects from the output is the expected value.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json_path::JsonPath;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::template::Template;
use windrow_model::Failure;
use windrow_model::workload::Halt;

use super::{Calls, ComponentContext, Doc, Evaluation, Evaluator, Subject, quote, rendered, template, thaw, unfit};
use crate::definition::component::{self, Config};

pub const DOC: Doc = Doc {
    passes: "is JSON with the expected value at a path",
    value: "0 or 1",
    text: r##"`path` is a JSONPath query ([RFC 9535](https://www.rfc-editor.org/rfc/rfc9535)). `expect` is a value or a *template*. A
rendered template equals a string, or any value with the same JSON: `"36"` equals 36. Several selected values are compared
as a list. A query that selects nothing fails.

```yaml
- json_path: { path: $.city.name, expect: "{{ capital }}" }
- json_path: { path: "$.cities[*].id", expect: [1, 2, 3] }
```"##,
};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JsonPathConfig {
    pub path: String,
    /// A value as it stands, or the template of a text. A rendered text equals a text, and any other
    /// value whose JSON it is.
    pub expect: Value,
}

impl Config for JsonPathConfig {
    fn templates(&self) -> Vec<(&'static str, &str)> {
        self.expect.as_str().map(|text| ("expect", text)).into_iter().collect()
    }

    fn check(&self, _environment: &Environment) -> Vec<component::Issue> {
        let help = "correct the query; the syntax is that of RFC 9535, for example: $.person.name";
        let wrong = JsonPath::parse(&self.path).err();
        wrong.into_iter().map(|error| component::Issue::problem("path", bad(&error.to_string()), help)).collect()
    }
}

fn bad(reason: &str) -> String {
    format!("this is not a JSONPath query: {reason}")
}

enum Expect {
    Text(Template),
    Value(Value),
}

pub struct JsonPathEquality {
    path: JsonPath,
    expect: Expect,
}

impl JsonPathEquality {
    pub fn build(config: Value, _setting: &ComponentContext) -> Result<Box<dyn Evaluator>, Failure> {
        let JsonPathConfig { path, expect } = thaw(config)?;
        let path = JsonPath::parse(&path).map_err(|error| unfit(&bad(&error.to_string())))?;
        let expect = match expect {
            Value::String(text) => Expect::Text(template(&text)?),
            value => Expect::Value(value),
        };
        Ok(Box::new(Self { path, expect }))
    }

    fn compare(&self, output: &str, expected: &str) -> Evaluation {
        let document: Value = match serde_json::from_str(output) {
            Ok(document) => document,
            Err(error) => return Evaluation::binary(false, format!("the output is not JSON: {error}")),
        };
        let nodes = self.path.query(&document).all();
        let shown = |value: &Value| quote(&value.to_string());
        // A query that may select several values is compared as a list.
        let list = Value::Array(nodes.iter().copied().cloned().collect());
        match nodes.as_slice() {
            [] => Evaluation::binary(false, format!("{} selects nothing", self.path)),
            [one] if self.equals(one, expected) => Evaluation::binary(true, format!("{} is {}", self.path, shown(one))),
            _ if self.equals(&list, expected) => Evaluation::binary(true, format!("{} is {}", self.path, shown(&list))),
            [one] => Evaluation::binary(false, format!("expected {}, got {}", quote(expected), shown(one))),
            _ => Evaluation::binary(false, format!("expected {}, got {}", quote(expected), shown(&list))),
        }
    }

    fn equals(&self, found: &Value, expected: &str) -> bool {
        match (&self.expect, found) {
            (Expect::Text(_), Value::String(text)) => text == expected,
            (Expect::Text(_), _) => serde_json::from_str(expected).is_ok_and(|expected| same(found, &expected)),
            (Expect::Value(expected), _) => same(found, expected),
        }
    }
}

/// Equality in which `1` is `1.0`, as in JSON itself.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || (x.is_f64() != y.is_f64() && x.as_f64() == y.as_f64()),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

#[async_trait]
impl Evaluator for JsonPathEquality {
    fn expected(&self, variables: &minijinja::Value) -> Result<Option<String>, String> {
        match &self.expect {
            Expect::Text(template) => rendered(template, variables).map(Some),
            Expect::Value(value) => Ok(Some(value.to_string())),
        }
    }

    async fn judge(&self, subject: Subject<'_>, _calls: &Calls<'_>) -> Result<Evaluation, Halt> {
        Ok(self.compare(subject.output, subject.expected.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::no_calls;
    use super::*;

    async fn passes(path: &str, expect: Value, output: &str) -> bool {
        let evaluator =
            JsonPathEquality::build(json!({ "path": path, "expect": expect }), &ComponentContext::plain()).unwrap();
        let expected = evaluator.expected(&minijinja::context! { name => "Ada", age => 36 }).unwrap();
        let finding = evaluator.judge(Subject::new(output, expected.as_deref()), &no_calls()).await.unwrap();
        finding.value == Some(1.0)
    }

    #[tokio::test]
    async fn a_selected_value_is_compared_by_value() {
        let output = r#"{"person": {"name": "Ada", "age": 36.0, "tags": ["a", "b"]}}"#;
        assert!(passes("$.person.name", json!("{{ name }}"), output).await);
        assert!(passes("$.person.age", json!("{{ age }}"), output).await);
        assert!(passes("$.person.age", json!(36), output).await);
        assert!(!passes("$.person.name", json!("Bob"), output).await);
        assert!(passes("$.person.tags", json!(["a", "b"]), output).await);
        assert!(passes("$.person.tags[*]", json!(["a", "b"]), output).await);
        assert!(!passes("$.person.tags[*]", json!(["b", "a"]), output).await);
    }

    #[tokio::test]
    async fn text_and_number_are_told_apart() {
        assert!(!passes("$.age", json!(36), r#"{"age": "36"}"#).await);
        assert!(passes("$.age", json!("{{ age }}"), r#"{"age": "36"}"#).await);
    }

    #[tokio::test]
    async fn nothing_selected_and_no_json_fail() {
        assert!(!passes("$.other", json!(null), r#"{"age": null}"#).await);
        assert!(passes("$.age", json!(null), r#"{"age": null}"#).await);
        assert!(!passes("$", json!("Ada"), "Ada").await);
    }
}
