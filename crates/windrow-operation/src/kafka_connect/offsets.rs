//! Offsets as the REST API shows and takes them: a list of partitions, each with an offset.

use serde_json::{Value, json};
use windrow_jobfile::canonical::canonical;

/// In one order, so that two looks can be compared.
pub fn sorted(offsets: &Value) -> Value {
    let mut list = offsets.as_array().cloned().unwrap_or_default();
    list.sort_by_key(|entry| canonical(&entry["partition"]));
    Value::Array(list)
}

/// What brings one list to another: partitions that are to be gone are reset.
pub fn patch(now: &Value, goal: &Value) -> Value {
    let of = |list: &Value| list.as_array().cloned().unwrap_or_default();
    let goal = of(goal);
    let wanted = |entry: &Value| goal.iter().any(|wanted| wanted["partition"] == entry["partition"]);
    let gone = of(now).into_iter().filter(|entry| !wanted(entry) && !entry["offset"].is_null());
    let gone = gone.map(|entry| json!({ "partition": entry["partition"], "offset": null }));
    sorted(&goal.iter().cloned().chain(gone).collect())
}

/// The given partitions set, the others as they are. One that is set to null is gone.
pub fn with(before: &Value, set: &Value) -> Value {
    let mut list = before.as_array().cloned().unwrap_or_default();
    for entry in set.as_array().into_iter().flatten() {
        list.retain(|known| known["partition"] != entry["partition"]);
        if !entry["offset"].is_null() {
            list.push(entry.clone());
        }
    }
    sorted(&Value::Array(list))
}

/// Another GTID set in every offset. `file` and `pos` stay, because Debezium refuses offsets without them. What says
/// how far the next transaction or a snapshot was read goes: it would be skipped in another transaction.
pub fn with_gtid(before: &Value, gtid: &str) -> Value {
    let mut list = before.as_array().cloned().unwrap_or_default();
    for entry in list.iter_mut().filter(|entry| entry["offset"].is_object()) {
        if let Some(fields) = entry["offset"].as_object_mut() {
            fields.retain(|field, _| !matches!(field.as_str(), "event" | "row") && !field.starts_with("snapshot"));
            fields.insert("gtids".to_owned(), json!(gtid));
        }
    }
    sorted(&Value::Array(list))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gtid_is_set_and_nothing_of_the_next_transaction_is_skipped() {
        let before = json!([{ "partition": { "server": "a" }, "offset": {
            "file": "bin.7", "pos": 4, "gtids": "x:1-5", "event": 2, "row": 1, "snapshot": true, "snapshot_completed": true,
        } }]);
        let after = with_gtid(&before, "x:1-9");
        assert_eq!(after[0]["offset"], json!({ "file": "bin.7", "pos": 4, "gtids": "x:1-9" }));
        assert_eq!(patch(&after, &before), before);
    }

    #[test]
    fn partitions_that_were_not_there_are_reset() {
        let (a, b) = (
            json!({ "partition": { "p": 0 }, "offset": { "o": 1 } }),
            json!({ "partition": { "p": 1 }, "offset": { "o": 2 } }),
        );
        let before = json!([a]);
        let after = with(&before, &json!([b, { "partition": { "p": 0 }, "offset": null }]));
        assert_eq!(after, json!([b]));
        assert_eq!(patch(&after, &before), json!([a, { "partition": { "p": 1 }, "offset": null }]));
    }
}
