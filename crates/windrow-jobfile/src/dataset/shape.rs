//! How the fields of a row become what templates see (`input`, `expected`, `system`, `turns`): first
//! the mapping of the job file, then the row's own shape. Depends on nothing but the row, adds fields
//! and never changes one. Item keys are of the row as it was read, so another mapping is the same item.

mod messages;
mod path;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::template::Fields;

pub const INPUT: &str = "input";
pub const EXPECTED: &str = "expected";
pub const SYSTEM: &str = "system";
const TURNS: &str = "turns";

windrow_model::vocabulary! {
    /// Shapes in which other tools write their rows.
    pub enum Shape {
        #[doc = "The first of the shapes below that a row has; a row with `turns`, or with none of them, stays as it is."]
        Auto = "auto",
        #[doc = "No recognition: fields are what the file says."]
        Plain = "plain",
        #[doc = "`messages` with `role` and `content`: each user message is a turn with `input`, what the assistant answers is its `expected`, and system messages are `system`."]
        Messages = "messages",
        #[doc = "`input` with `target` or `expected_output`, which becomes `expected`. An `input` that is a list of messages is read like `messages`."]
        Input = "input",
        #[doc = "Objects `inputs` and `outputs`: their fields are fields of the row, and `input` and `expected` are the objects, or the only value in them."]
        Inputs = "inputs",
        #[doc = "`vars` and `assert`: the variables are fields of the row, a single one is `input`, and the value of the first assertion `equals` is `expected`."]
        Vars = "vars",
    }
}

/// `fields` and `shape` of a dataset.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Reading {
    /// New name ← path of an existing field, with dots.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Shape::is_auto")]
    pub shape: Shape,
}

#[expect(clippy::derivable_impls, reason = "a vocabulary's values take no attribute")]
impl Default for Shape {
    fn default() -> Self {
        Shape::Auto
    }
}

impl Shape {
    fn is_auto(&self) -> bool {
        *self == Shape::Auto
    }
}

impl Reading {
    /// The row with what was mapped and recognised. An error says why a row is not of the shape asked for.
    pub fn read(&self, mut row: Fields) -> Result<Fields, String> {
        let mapped: Vec<(&String, Value)> =
            self.fields.iter().filter_map(|(name, old)| Some((name, path::find(&row, old)?.clone()))).collect();
        for (name, value) in mapped {
            row.insert(name.clone(), value);
        }
        let added = match self.shape {
            Shape::Plain => None,
            Shape::Auto if row.contains_key(TURNS) => None,
            Shape::Auto => [messages, input, inputs, vars].iter().find_map(|shape| shape(&row).ok()),
            Shape::Messages => Some(messages(&row)?),
            Shape::Input => Some(input(&row)?),
            Shape::Inputs => Some(inputs(&row)?),
            Shape::Vars => Some(vars(&row)?),
        };
        for (name, value) in added.into_iter().flatten() {
            row.entry(name).or_insert(value);
        }
        Ok(row)
    }
}

/// Fields to add, or why the row is not of the shape.
type Added = Result<Fields, String>;

fn messages(row: &Fields) -> Added {
    let list = row.get("messages").ok_or("it has no field `messages`")?;
    messages::read(list, None).map_err(|why| format!("in `messages`, {why}"))
}

fn input(row: &Fields) -> Added {
    let input = row.get(INPUT).ok_or("it has no field `input`")?;
    let expected = [EXPECTED, "target", "expected_output"].iter().find_map(|name| row.get(*name));
    if let Ok(conversation) = messages::read(input, expected) {
        return Ok(conversation);
    }
    let mut added = Fields::new();
    if let Some(expected) = expected {
        added.insert(EXPECTED.into(), expected.clone());
    }
    Ok(added)
}

fn inputs(row: &Fields) -> Added {
    let Some(Value::Object(inputs)) = row.get("inputs") else {
        return Err("it has no object `inputs`".to_owned());
    };
    if let Some(list) = inputs.get("messages").filter(|_| inputs.len() == 1) {
        let expected = row.get("outputs").and_then(Value::as_object).map(whole_or_only);
        if let Ok(conversation) = messages::read(list, expected.as_ref()) {
            return Ok(conversation);
        }
    }
    let mut added = inputs.clone();
    added.insert(INPUT.into(), inputs.get(INPUT).cloned().unwrap_or_else(|| whole_or_only(inputs)));
    if let Some(Value::Object(outputs)) = row.get("outputs") {
        added.insert(EXPECTED.into(), whole_or_only(outputs));
        for (name, value) in outputs {
            added.entry(name).or_insert(value.clone());
        }
    }
    Ok(added)
}

fn vars(row: &Fields) -> Added {
    let Some(Value::Object(vars)) = row.get("vars") else { return Err("it has no object `vars`".to_owned()) };
    let mut added = vars.clone();
    if vars.len() == 1 {
        added.entry(INPUT).or_insert_with(|| whole_or_only(vars));
    }
    let assertions = row.get("assert").and_then(Value::as_array);
    let equals = assertions.into_iter().flatten().find(|assertion| assertion["type"] == "equals");
    if let Some(value) = equals.and_then(|assertion| assertion.get("value")) {
        added.entry(EXPECTED).or_insert_with(|| value.clone());
    }
    Ok(added)
}

/// An object of one field means its value.
fn whole_or_only(object: &Fields) -> Value {
    match object.values().next() {
        Some(only) if object.len() == 1 => only.clone(),
        _ => Value::Object(object.clone()),
    }
}

#[cfg(test)]
mod tests;
