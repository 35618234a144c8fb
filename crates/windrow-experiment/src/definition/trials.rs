//! What a row becomes: one item per variant and trial. The first trial of a job without variants has the row's own key, so
//! that trying more often later takes over what there is; the others have keys of their own, and so do their steps.

use windrow_jobfile::canonical::canonical;
use windrow_jobfile::dataset::Row;
use windrow_jobfile::template::Fields;
use windrow_model::priority::Priority;
use windrow_model::step::ContentKey;
use windrow_model::store::NewItem;
use windrow_model::{Json, Time};

use crate::definition::spec::ExperimentSpec;

/// The field that tells a row's trials apart, from 1.
pub const TRIAL: &str = "trial";
/// The field that names the item's variant, where the job has several.
pub const VARIANT: &str = "variant";

pub const MAX_TRIALS: u32 = 100;

/// How a job makes items of its rows.
#[derive(Debug, Clone)]
pub struct Shape {
    /// The fields that identify a row; its content where there are none.
    id: Vec<String>,
    trials: u32,
    variants: Vec<String>,
}

impl Shape {
    pub fn of(spec: &ExperimentSpec) -> Self {
        let variants = spec.variants.iter().map(|variant| variant.name.clone()).collect();
        Self { id: spec.id.clone(), trials: spec.trials, variants }
    }

    /// What identifies the row.
    pub fn key(&self, fields: &Fields) -> ContentKey {
        if self.id.is_empty() { Row::key(fields.clone()) } else { key_of_id(&self.id, fields) }
    }

    /// The row's items, in order.
    pub fn items_of(&self, row: Row, placing: &Placing) -> Vec<NewItem> {
        let Row { fields, text, .. } = row;
        let row = self.key(&fields);
        let by_id = !self.id.is_empty();
        let item = |key, group, variant: Option<&String>, input| {
            let Placing { resource, priority, not_before } = placing.clone();
            NewItem { key, input, priority, resource, not_before, group, variant: variant.cloned(), by_id }
        };
        if self.trials == 1 && self.variants.is_empty() {
            return vec![item(row, None, None, Json::from_text(text))];
        }
        let mut items = Vec::new();
        let names = self.variants.iter().map(Some);
        for variant in names.chain(self.variants.is_empty().then_some(None)) {
            let key = variant.map_or(row, |name| ContentKey::of(&[b"variant", &row.0, name.as_bytes()]));
            for no in 1..=self.trials {
                let mut fields = fields.clone();
                fields.extend(variant.map(|name| (VARIANT.to_owned(), name.clone().into())));
                fields.extend((self.trials > 1).then(|| (TRIAL.to_owned(), no.into())));
                items.push(item(of_trial(key, no), Some(row), variant, Json::of(&fields)));
            }
        }
        items
    }
}

/// Of the values of the fields, whatever else the row has. A field that is missing is null.
pub fn key_of_id(id: &[String], fields: &Fields) -> ContentKey {
    let values: Vec<_> = id.iter().map(|name| fields.get(name).cloned().unwrap_or_default()).collect();
    ContentKey::of(&[b"id", canonical(&values.into()).as_bytes()])
}

/// When and beside what the items of a row run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placing {
    pub resource: Option<String>,
    pub priority: Priority,
    pub not_before: Option<Time>,
}

/// The number of the trial that an item is.
pub fn number(row: &Fields, trials: u32) -> u32 {
    let number = row.get(TRIAL).filter(|_| trials > 1).and_then(serde_json::Value::as_u64);
    number.and_then(|number| number.try_into().ok()).unwrap_or(1)
}

/// A row's key in one of its trials.
fn of_trial(key: ContentKey, number: u32) -> ContentKey {
    if number <= 1 { key } else { ContentKey::of(&[b"trial", &key.0, &number.to_le_bytes()]) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(value: serde_json::Value) -> Row {
        let serde_json::Value::Object(fields) = value else { panic!("a row is an object") };
        Row { line: 1, text: json!(fields).to_string().into(), fields }
    }

    fn items(id: &[&str], trials: u32, variants: &[&str], of: serde_json::Value) -> Vec<NewItem> {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Shape { id: owned(id), trials, variants: owned(variants) }.items_of(row(of), &Placing::default())
    }

    #[test]
    fn a_row_keeps_its_key_while_its_id_is_the_same() {
        let of = |id: &[&str], expected: &str| {
            items(id, 1, &[], json!({ "n": 1, "lang": "en", "expected": expected }))[0].key
        };
        assert_eq!(of(&["n", "lang"], "a"), of(&["n", "lang"], "b"));
        assert_ne!(of(&["n", "expected"], "a"), of(&["n", "expected"], "b"));
        assert_ne!(of(&[], "a"), of(&[], "b"), "without an id the content identifies the row");
    }

    #[test]
    fn each_variant_and_trial_is_an_item_and_all_are_grouped_by_the_row() {
        let all = items(&[], 2, &["a", "b"], json!({ "n": 1 }));
        assert_eq!(all[1].input.value(), json!({ "n": 1, "variant": "a", "trial": 2 }));
        let row = items(&[], 1, &[], json!({ "n": 1 }))[0].key;
        assert!(all.iter().all(|item| item.group == Some(row)));
        let keys: std::collections::BTreeSet<_> = all.iter().map(|item| item.key).collect();
        assert_eq!((keys.len(), all[2].variant.as_deref()), (4, Some("b")));
        // Another variant later leaves the keys of those before as they are.
        let more = items(&[], 2, &["c", "a", "b"], json!({ "n": 1 }));
        assert_eq!((all[0].key, all[3].key), (more[2].key, more[5].key));
    }
}
