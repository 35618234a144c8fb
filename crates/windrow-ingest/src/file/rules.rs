//! The fields that say what becomes of records.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::job_file::Section;
use windrow_model::suggest;

use super::check_skip;
use crate::column::{Column, Types};
use crate::spec::Tolerance;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    table: Option<String>,
    key: Option<Value>,
    skip: Option<String>,
    max_rejected: Option<Value>,
    columns: Option<BTreeMap<String, String>>,
    on_type_change: Option<String>,
    provenance: Option<String>,
    operation: Option<String>,
}

pub struct Own {
    pub table: Option<String>,
    pub key: Vec<String>,
    pub skip: Option<String>,
    pub max_rejected: Option<Tolerance>,
    pub types: Types,
    pub provenance: Option<String>,
    pub operation: Option<String>,
}

pub fn read(section: &Section, problems: &mut Problems) -> Option<Own> {
    let given: Given = section.read(&[], problems)?;
    let mut wrong = |field: &str, message: String, help: &str| problems.add(section.span_of(field), message, help);
    if let Some(table) = given.table.as_deref().filter(|table| !is_table(table)) {
        wrong("table", format!("{table:?} cannot be the name of a table"), "use letters, digits and _, like orders");
    }
    let key = match &given.key {
        None => Some(Vec::new()),
        Some(Value::String(one)) => Some(vec![one.clone()]),
        Some(Value::Array(list)) => list.iter().map(|name| name.as_str().map(str::to_owned)).collect(),
        Some(_) => None,
    };
    if key.is_none() {
        wrong("key", "`key` is a field or a list of fields".to_owned(), "for example: key: id");
    }
    if let Some(Err(why)) = given.skip.as_deref().map(check_skip) {
        wrong("skip", format!("`skip` is not an expression: {why}"), "for example: skip: \"status == 'test'\"");
    }
    let tolerance = given.max_rejected.as_ref().map(tolerance);
    if tolerance == Some(None) {
        let message = "`max_rejected` is a number of records or a part of all".to_owned();
        wrong("max_rejected", message, "for example: max_rejected: 100, or max_rejected: 1%");
    }
    let mut types = Types::default();
    if let Some(word) = &given.on_type_change {
        match word.parse() {
            Ok(policy) => types.on_change = policy,
            Err(_) => {
                let message = format!("`on_type_change` is {word:?}, which is unknown");
                wrong("on_type_change", message, "use widen, reject or stop");
            }
        }
    }
    for (name, word) in given.columns.iter().flatten() {
        match word.parse() {
            Ok(column) => drop(types.columns.insert(name.clone(), column)),
            Err(_) => {
                let known: Vec<&str> = Column::ALL.iter().map(|column| column.as_str()).collect();
                let meant = suggest::nearest(word, known.iter().copied());
                let meant = meant.map_or(String::new(), |meant| format!("did you mean `{meant}`? "));
                let message = format!("`columns.{name}` has the type {word:?}, which is unknown");
                wrong("columns", message, &format!("{meant}The types are: {}", known.join(", ")));
            }
        }
    }
    Some(Own {
        types,
        table: given.table,
        key: key?,
        skip: given.skip,
        max_rejected: tolerance.flatten(),
        provenance: given.provenance,
        operation: given.operation,
    })
}

fn tolerance(value: &Value) -> Option<Tolerance> {
    match value {
        Value::Number(number) => number.as_i64().filter(|most| *most >= 0).map(Tolerance::Records),
        Value::String(text) => {
            let percent: f64 = text.trim().strip_suffix('%')?.trim().parse().ok()?;
            (0.0..=100.0).contains(&percent).then_some(Tolerance::Share(percent / 100.0))
        }
        _ => None,
    }
}

fn is_table(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || c == '_';
    !name.is_empty()
        && name.len() <= 63
        && name.chars().all(plain)
        && !name.to_lowercase().starts_with("_windrow")
        && !name.to_lowercase().starts_with("sqlite_")
}

/// What a plan's records are called where nothing is said.
pub fn table_name(plan: &str) -> String {
    let name: String = plan.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).take(63).collect();
    if is_table(&name) { name } else { "records".to_owned() }
}
