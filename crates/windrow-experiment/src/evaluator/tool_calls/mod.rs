//! `tool_calls`: the model called the tools it should have, with the right arguments.

mod called;
mod expected;
mod matching;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use windrow_jobfile::environment::Environment;
use windrow_model::Failure;
use windrow_model::workload::Halt;

use super::{Calls, Case, ComponentContext, Doc, Evaluation, Evaluator, Subject, thaw, unfit};
use crate::definition::component::{self, Config};
use called::Called;
use expected::{Expectation, Wanted};
use matching::matched;

pub const DOC: Doc = Doc {
    passes: "calls the expected tools with the expected arguments",
    value: "share of correct calls, passes at 1",
    text: r##"`expect` lists the calls:

- `name`
- `arguments`: values that the call must have; strings are *templates*
- `exact` (default false: other arguments are allowed)
- `schema`: a JSON Schema for all arguments

Instead of a list, `expect` may be a *template* that renders to such a list as JSON, e.g. from the row. An empty list means
that no call is allowed. `order` is `any` (default) or `exact` (the order of the list). `extra` is `forbid` (default) or
`allow` (other calls are ignored). A rendered template equals a string, or any value with the same JSON. With
`over: conversation` the calls of all turns count.

```yaml
- tool_calls:
    expect:
      - { name: weather, arguments: { city: "{{ capital }}" } }
      - name: map
        schema: { type: object, required: [zoom], properties: { zoom: { type: integer, minimum: 1 } } }
    order: exact
    extra: allow
- tool_calls: { expect: "{{ calls | default([]) | tojson }}", name: as_in_the_row }
```"##,
};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCallsConfig {
    /// A list of calls, or the template of one.
    pub expect: Value,
    #[serde(default)]
    pub order: Order,
    #[serde(default)]
    pub extra: Extra,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    #[default]
    Any,
    Exact,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extra {
    #[default]
    Forbid,
    Allow,
}

impl Config for ToolCallsConfig {
    fn templates(&self) -> Vec<(&'static str, &str)> {
        expected::texts(&self.expect).into_iter().map(|text| ("expect", text)).collect()
    }

    fn check(&self, _environment: &Environment) -> Vec<component::Issue> {
        let wrong = Expectation::new(&self.expect).err();
        let help = "for example: expect: [{ name: weather, arguments: { city: \"{{ city }}\" } }]";
        wrong.into_iter().map(|message| component::Issue::problem("expect", message, help)).collect()
    }
}

pub struct ToolCalls {
    expect: Expectation,
    order: Order,
    extra: Extra,
}

impl ToolCalls {
    pub fn build(config: Value, _setting: &ComponentContext) -> Result<Box<dyn Evaluator>, Failure> {
        let ToolCallsConfig { expect, order, extra } = thaw(config)?;
        let expect = Expectation::new(&expect).map_err(|reason| unfit(&reason))?;
        Ok(Box::new(Self { expect, order, extra }))
    }

    fn compare(&self, wanted: &[Wanted], called: &[Called]) -> Evaluation {
        let pairs = matched(wanted, called, self.order);
        let right = pairs.len();
        let mut wrong: Vec<String> = (0..wanted.len())
            .filter(|no| !pairs.iter().any(|(want, _)| want == no))
            .map(|no| wanted[no].missed(called))
            .collect();
        if self.extra == Extra::Forbid {
            let extra = (0..called.len()).filter(|no| !pairs.iter().any(|(_, call)| call == no));
            wrong.extend(extra.map(|no| format!("{} was not expected", called[no])));
        }
        if wrong.is_empty() {
            let calls = called.iter().map(|call| call.name.as_str()).collect::<Vec<_>>().join(", ");
            let reason = if called.is_empty() { "nothing was called".to_owned() } else { format!("called {calls}") };
            return Evaluation::binary(true, reason);
        }
        // One call too many and one missing may be the same mistake, so the longer list counts.
        let all = if self.extra == Extra::Forbid { wanted.len().max(called.len()) } else { wanted.len() };
        let out_of_order = self.order == Order::Exact && matched(wanted, called, Order::Any).len() > right;
        let note = if out_of_order { "; the order is not the expected one" } else { "" };
        let value = right as f64 / all as f64;
        Evaluation::graded(value, 1.0, wrong.join("; ") + note)
    }
}

#[async_trait]
impl Evaluator for ToolCalls {
    fn expected(&self, variables: &minijinja::Value) -> Result<Option<String>, String> {
        self.expect.rendered(variables).map(|list| Some(list.to_string()))
    }

    fn evidence(&self, case: &Case<'_>) -> Result<Option<Value>, String> {
        let called = case.answer.tool_calls.as_ref().map_or(Vec::new(), |calls| Called::all(&calls.value()));
        Ok(Some(json!({ "tool_calls": called })))
    }

    async fn judge(&self, subject: Subject<'_>, _calls: &Calls<'_>) -> Result<Evaluation, Halt> {
        let wanted = match Wanted::all(subject.expected.unwrap_or("[]")) {
            Ok(wanted) => wanted,
            Err(reason) => return Ok(Evaluation::error(format!("what to expect cannot be said: {reason}"))),
        };
        let called = subject.evidence.map(|evidence| evidence["tool_calls"].clone()).unwrap_or_default();
        let called: Vec<Called> = serde_json::from_value(called).unwrap_or_default();
        Ok(self.compare(&wanted, &called))
    }
}

#[cfg(test)]
mod tests {
    use windrow_model::step::Verdict;

    use super::*;

    fn judged(config: Value, called: &Value) -> Evaluation {
        let ToolCallsConfig { expect, order, extra } = thaw(config).unwrap();
        let expect = Expectation::new(&expect).unwrap();
        let row = minijinja::context! { city => "Paris", days => 3 };
        let wanted = Wanted::all(&expect.rendered(&row).unwrap().to_string()).unwrap();
        ToolCalls { expect, order, extra }.compare(&wanted, &Called::all(called))
    }

    fn call(name: &str, arguments: &str) -> Value {
        json!({ "id": "1", "type": "function", "function": { "name": name, "arguments": arguments } })
    }

    #[test]
    fn arguments_are_compared_with_what_the_row_says() {
        let expect =
            json!({ "expect": [{ "name": "weather", "arguments": { "city": "{{ city }}", "days": "{{ days }}" } }] });
        let right = json!([call("weather", r#"{"city":"Paris","days":3,"unit":"C"}"#)]);
        assert_eq!(judged(expect.clone(), &right).verdict, Verdict::Pass);
        let wrong = judged(expect.clone(), &json!([call("weather", r#"{"city":"Rome","days":3}"#)]));
        assert_eq!((wrong.verdict, wrong.value), (Verdict::Fail, Some(0.0)));
        assert!(wrong.reason.starts_with("weather: `city` is \"Rome\" and should be \"Paris\""), "{}", wrong.reason);
        let mut exact = expect;
        exact["expect"][0]["exact"] = json!(true);
        assert!(judged(exact, &right).reason.contains("`unit` was not expected"));
    }

    #[test]
    fn a_schema_judges_all_arguments() {
        let schema = json!({ "type": "object", "properties": { "zoom": { "type": "integer" } }, "required": ["zoom"] });
        let expect = json!({ "expect": [{ "name": "map", "schema": schema }] });
        assert_eq!(judged(expect.clone(), &json!([call("map", r#"{"zoom":2}"#)])).verdict, Verdict::Pass);
        assert!(judged(expect, &json!([call("map", r#"{"zoom":"2"}"#)])).reason.contains("is not of type"));
    }

    #[test]
    fn order_and_further_calls_count_as_configured() {
        let expect = |order: &str, extra: &str| json!({ "expect": [{ "name": "a" }, { "name": "b" }], "order": order, "extra": extra });
        let (ab, ba) = (json!([call("a", "{}"), call("b", "{}")]), json!([call("b", "{}"), call("a", "{}")]));
        assert_eq!(judged(expect("any", "forbid"), &ba).verdict, Verdict::Pass);
        assert_eq!(judged(expect("exact", "forbid"), &ab).verdict, Verdict::Pass);
        let swapped = judged(expect("exact", "allow"), &ba);
        assert_eq!((swapped.verdict, swapped.value), (Verdict::Fail, Some(0.5)));
        assert!(swapped.reason.ends_with("the order is not the expected one"), "{}", swapped.reason);
        let more = json!([call("a", "{}"), call("c", "{}"), call("b", "{}")]);
        assert_eq!(judged(expect("exact", "allow"), &more).verdict, Verdict::Pass);
        assert_eq!(judged(expect("exact", "forbid"), &more).reason, "c({}) was not expected");
        assert_eq!(judged(json!({ "expect": [] }), &ab).verdict, Verdict::Fail);
        assert_eq!(judged(json!({ "expect": [] }), &Value::Null).reason, "nothing was called");
    }

    #[test]
    fn expectations_find_the_calls_that_fit_them_all() {
        let expect = json!({ "expect": [{ "name": "find" }, { "name": "find", "arguments": { "q": "x" } }] });
        let calls = json!([call("find", r#"{"q":"x"}"#), call("find", r#"{"q":"y"}"#)]);
        assert_eq!(judged(expect, &calls).verdict, Verdict::Pass);
    }

    #[test]
    fn a_list_may_come_from_the_row_and_a_wrong_one_is_a_problem() {
        let from_row = json!({ "expect": "[{\"name\": \"weather\", \"arguments\": {\"city\": \"{{ city }}\"}}]" });
        assert_eq!(judged(from_row, &json!([call("weather", r#"{"city":"Paris"}"#)])).verdict, Verdict::Pass);
        for wrong in [json!(3), json!([{ "nam": "a" }]), json!([{ "name": "a", "schema": { "type": "txt" } }])] {
            assert!(Expectation::new(&wrong).is_err(), "{wrong}");
        }
    }
}
