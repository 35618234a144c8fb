//! What should have been called: as the job file says it, rendered for a row, and held against one
//! call.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use windrow_jobfile::template::Template;

use super::called::Called;

/// One expected call.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    pub name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
    /// Further arguments are wrong.
    #[serde(default)]
    exact: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    schema: Option<Value>,
}

/// The list with its templates, or the template of a list.
pub enum Expectation {
    List(Vec<Wanted>),
    Template(Template),
}

/// Every text that is a template.
pub fn texts(expect: &Value) -> Vec<&str> {
    match expect {
        Value::String(text) => vec![text],
        Value::Array(calls) => calls.iter().filter_map(|call| call.get("arguments")).flat_map(texts_inside).collect(),
        _ => Vec::new(),
    }
}

fn texts_inside(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(values) => values.iter().flat_map(texts_inside).collect(),
        Value::Object(fields) => fields.values().flat_map(texts_inside).collect(),
        _ => Vec::new(),
    }
}

impl Expectation {
    pub fn new(expect: &Value) -> Result<Self, String> {
        match expect {
            Value::String(text) => Template::new(text).map(Self::Template).map_err(|error| error.message),
            Value::Array(_) => Ok(Self::List(Wanted::all(&expect.to_string())?)),
            _ => Err("must be a list of calls, or the template of one".to_owned()),
        }
    }

    /// The list for a row, as JSON.
    pub fn rendered(&self, variables: &minijinja::Value) -> Result<Value, String> {
        match self {
            Self::List(list) => {
                let mut list = serde_json::to_value(list).map_err(|error| error.to_string())?;
                for call in list.as_array_mut().into_iter().flatten() {
                    render(&mut call["arguments"], variables)?;
                }
                Ok(list)
            }
            Self::Template(template) => {
                let text = template.render(variables).map_err(|error| error.message)?;
                serde_json::from_str(&text).map_err(|error| format!("the template renders to no JSON list: {error}"))
            }
        }
    }
}

fn render(value: &mut Value, variables: &minijinja::Value) -> Result<(), String> {
    match value {
        Value::String(text) => {
            let template = Template::new(text).map_err(|error| error.message)?;
            *text = template.render(variables).map_err(|error| error.message)?;
            Ok(())
        }
        Value::Array(values) => values.iter_mut().try_for_each(|value| render(value, variables)),
        Value::Object(fields) => fields.values_mut().try_for_each(|value| render(value, variables)),
        _ => Ok(()),
    }
}

impl Wanted {
    pub fn all(list: &str) -> Result<Vec<Self>, String> {
        let list: Vec<Self> =
            serde_json::from_str(list).map_err(|error| format!("must be a list of calls: {error}"))?;
        for wanted in &list {
            wanted.validator()?;
        }
        Ok(list)
    }

    fn validator(&self) -> Result<Option<jsonschema::Validator>, String> {
        let compiled = self.schema.as_ref().map(|schema| jsonschema::options().offline().build(schema));
        compiled.transpose().map_err(|error| format!("the schema for `{}` is not one: {error}", self.name))
    }

    pub fn fits(&self, call: &Called) -> bool {
        self.name == call.name && self.differences(call).is_empty()
    }

    /// Why nothing that was called is this.
    pub fn missed(&self, called: &[Called]) -> String {
        let mut same_name = called.iter().filter(|call| call.name == self.name).map(|call| self.differences(call));
        match same_name.find(|differences| !differences.is_empty()) {
            Some(differences) => format!("{}: {}", self.name, differences.join(", ")),
            None => format!("{} was not called", self.name),
        }
    }

    fn differences(&self, call: &Called) -> Vec<String> {
        let mut differences = Vec::new();
        let given = call.arguments.as_object();
        if given.is_none() && !(self.arguments.is_empty() && self.schema.is_none()) {
            return vec![format!("its arguments are no JSON object: {}", call.arguments)];
        }
        for (name, wanted) in &self.arguments {
            match given.and_then(|given| given.get(name)) {
                None => differences.push(format!("`{name}` is missing")),
                Some(value) if !same(wanted, value) => {
                    differences.push(format!("`{name}` is {value} and should be {wanted}"));
                }
                Some(_) => {}
            }
        }
        let further = given.into_iter().flat_map(Map::keys).filter(|name| !self.arguments.contains_key(*name));
        if self.exact {
            differences.extend(further.map(|name| format!("`{name}` was not expected")));
        }
        if let Ok(Some(validator)) = self.validator() {
            differences.extend(validator.iter_errors(&call.arguments).map(|error| error.to_string()));
        }
        differences
    }
}

/// A rendered text also equals another value whose JSON it is.
fn same(wanted: &Value, value: &Value) -> bool {
    match (wanted, value) {
        (Value::String(text), Value::String(other)) => text == other,
        (Value::String(text), other) => serde_json::from_str::<Value>(text).is_ok_and(|parsed| equal(&parsed, other)),
        (Value::Array(all), Value::Array(others)) => {
            all.len() == others.len() && all.iter().zip(others).all(|(one, other)| same(one, other))
        }
        (Value::Object(all), Value::Object(others)) => {
            all.len() == others.len()
                && all.iter().all(|(name, one)| others.get(name).is_some_and(|other| same(one, other)))
        }
        (one, other) => equal(one, other),
    }
}

/// 3 and 3.0 are the same number.
fn equal(one: &Value, other: &Value) -> bool {
    one == other || (one.is_number() && one.as_f64() == other.as_f64())
}
