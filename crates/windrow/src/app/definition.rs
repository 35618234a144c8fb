//! What is different between the definitions of two runs, field by field.

use std::collections::BTreeMap;

use serde_json::Value;
use windrow_jobfile::dataset::Content;
use windrow_model::record::Run;
use windrow_wire::FieldChange;

use crate::app::App;
use crate::error::Result;
use crate::text;

/// Characters of a value.
const SHOWN: usize = 300;
const MOST: usize = 200;

/// A dataset whose rows changed has changed, although the definition names the same file.
pub async fn changes(app: &App, before: &Run, after: &Run) -> Result<Vec<FieldChange>> {
    let mut found = match before.spec_hash == after.spec_hash {
        true => Vec::new(),
        false => {
            let (old, new) = (app.store.spec(&before.spec_hash).await?, app.store.spec(&after.spec_hash).await?);
            differences(&old.value(), &new.value())
        }
    };
    found.extend(of_rows(before, after));
    Ok(found)
}

/// The rows that the runs have read; nothing where one of them is not known.
fn of_rows(before: &Run, after: &Run) -> Option<FieldChange> {
    let content = |run: &Run| Content::of_cursor(run.cursor.as_ref().filter(|_| run.planned)?);
    let (old, new) = (content(before)?, content(after)?);
    let shown = |content: &Content| format!("{}, {}", text::plural(content.rows as i64, "row"), &content.digest()[..8]);
    let (path, part) = ("dataset.rows".to_owned(), "dataset".to_owned());
    let change = FieldChange { path, part, before: Some(shown(&old)), after: Some(shown(&new)) };
    (old != new).then_some(change)
}

fn differences(before: &Value, after: &Value) -> Vec<FieldChange> {
    let (mut old, mut new) = (BTreeMap::new(), BTreeMap::new());
    flatten("", before, &mut old);
    flatten("", after, &mut new);
    let paths: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let changed = paths.into_iter().filter(|path| old.get(*path) != new.get(*path));
    let change = |path: &String| FieldChange {
        path: path.clone(),
        part: part_of(path).to_owned(),
        before: old.get(path).map(|value| shown(value)),
        after: new.get(path).map(|value| shown(value)),
    };
    changed.take(MOST).map(change).collect()
}

fn flatten<'a>(path: &str, value: &'a Value, found: &mut BTreeMap<String, &'a Value>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields.iter().for_each(|(name, value)| flatten(&below(name), value, found));
        }
        Value::Array(list) if !list.is_empty() => {
            list.iter().enumerate().for_each(|(at, value)| flatten(&below(&at.to_string()), value, found));
        }
        value => drop(found.insert(path.to_owned(), value)),
    }
}

/// By the words of the path, from the outside in.
fn part_of(path: &str) -> &'static str {
    for word in path.split('.') {
        match word {
            "evaluators" | "evaluator" => return "evaluator",
            "dataset" | "data" | "rows" => return "dataset",
            "model" | "temperature" | "max_tokens" | "seed" => return "model",
            "prompt" | "prompts" | "messages" | "system" | "instructions" | "template" => return "prompt",
            _ => {}
        }
    }
    "other"
}

fn shown(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_that_differ_are_named_by_their_path_and_part() {
        let before = json!({ "target": { "model": "a", "prompt": "Hi" }, "evaluators": [{ "type": "exact" }] });
        let after = json!({ "target": { "model": "b", "prompt": "Hi" }, "evaluators": [{ "type": "exact" }, "new"] });
        let found = differences(&before, &after);
        let found: Vec<_> =
            found.iter().map(|c| (c.path.as_str(), c.part.as_str(), c.before.as_deref(), c.after.as_deref())).collect();
        let expected =
            [("evaluators.1", "evaluator", None, Some("new")), ("target.model", "model", Some("a"), Some("b"))];
        assert_eq!(found, expected);
        assert!(differences(&before, &before).is_empty());
    }
}
