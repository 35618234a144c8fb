//! Repeats: a row tried k times is k items. The first has the row's own key, so that trying more
//! often later takes over what there is; the others have keys of their own, and so do their steps.

use windrow_jobfile::dataset::Row;
use windrow_jobfile::template::Fields;
use windrow_model::priority::Priority;
use windrow_model::step::ContentKey;
use windrow_model::store::NewItem;
use windrow_model::{Json, Time};

/// The field that tells a row's trials apart, from 1.
pub const TRIAL: &str = "trial";

pub const MAX_TRIALS: u32 = 100;

/// The row's items, in order.
pub fn items_of(row: Row, trials: usize, placing: &Placing) -> Vec<NewItem> {
    let Row { fields, text, .. } = row;
    let key = Row::key(fields.clone());
    if trials == 1 {
        return vec![item(key, None, Json::from_text(text), placing)];
    }
    let trial = |no: u32| {
        let mut fields = fields.clone();
        fields.insert(TRIAL.to_owned(), no.into());
        item(of_trial(key, no), Some(key), Json::of(&fields), placing)
    };
    (1..=trials as u32).map(trial).collect()
}

fn item(key: ContentKey, group: Option<ContentKey>, input: Json, placing: &Placing) -> NewItem {
    let Placing { resource, priority, not_before } = placing.clone();
    NewItem { key, input, priority, resource, not_before, group }
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
