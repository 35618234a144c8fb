//! Repeats and gates in a job file.

use std::collections::BTreeSet;

use crate::endpoint::Endpoint;
use crate::fixture::{Folder, items, job, prepare, program};
use crate::journal::{MemoryJournal, Told};

const ROWS: &str = "{\"country\":\"France\",\"capital\":\"Paris\"}\n{\"country\":\"Japan\",\"capital\":\"Tokyo\"}\n";
const LOCAL: &str = "http://127.0.0.1:8099/v1";

fn folder(more: &str) -> Folder {
    Folder::new(&[("job.yaml", &job(LOCAL, more)), ("capitals.jsonl", ROWS)])
}

#[tokio::test]
async fn each_row_becomes_its_trials_and_the_first_keeps_the_rows_key() {
    let (_once, program) = program(&job(LOCAL, ""), ROWS).await;
    let once = items(&*program).await;
    let folder = folder("trials: 3\n");
    let loaded = folder.load().unwrap();
    assert_eq!(loaded.rows, 6);
    let page = prepare(&loaded).await.page(None, 1000).await.unwrap();
    let told: Vec<_> =
        page.items.iter().map(|item| (item.group.unwrap(), item.input.value()["trial"].clone())).collect();
    let groups =
        [once[0].key, once[1].key].iter().flat_map(|key| [1, 2, 3].map(|no| (*key, no.into()))).collect::<Vec<_>>();
    assert_eq!(told, groups);
    assert_eq!((page.items[0].key, page.items[3].key), (once[0].key, once[1].key), "trial 1 is the row itself");
    assert_eq!(page.items.iter().map(|item| item.key).collect::<BTreeSet<_>>().len(), 6);
}

#[tokio::test]
async fn a_page_holds_all_trials_of_a_row() {
    let (_folder, program) = program(&job(LOCAL, "trials: 3\n"), ROWS).await;
    for limit in [1, 4, 5] {
        let first = program.page(None, limit).await.unwrap();
        assert_eq!((first.items.len(), first.done), (3, false), "limit {limit}");
        let second = program.page(first.cursor.as_ref(), limit).await.unwrap();
        assert_eq!((second.items.len(), second.done), (3, true), "limit {limit}");
    }
}

/// Every trial is asked for itself, though the question is the same.
#[tokio::test]
async fn no_trial_stands_in_for_another() {
    let endpoint = Endpoint::of_capitals().await;
    let (_folder, program) = program(&job(&endpoint.base_url, "trials: 3\n"), ROWS).await;
    let mut keys = BTreeSet::new();
    for item in items(&*program).await.iter().take(3) {
        let journal = MemoryJournal::default();
        program.execute(item, &journal).await.unwrap();
        keys.extend(journal.told().iter().filter_map(|told| match told {
            Told::Begin(intent) => Some(intent.key),
            _ => None,
        }));
    }
    assert_eq!((endpoint.calls().len(), keys.len()), (3, 3));
}

#[test]
fn gates_are_frozen_as_written() {
    let more = "trials: 3\ngates:\n  - exact.mean >= 0.9\n  - 'errors < 1%'\n  - \"exact.pass@3 >= 0.9 at 95%\"\n\
                baseline: { job: main, run: 7 }\nmax_errors: 10%\nmin_items: 2\n";
    let spec = folder(more).load().unwrap().spec.value();
    let expected = serde_json::json!({
        "gates": ["exact.mean >= 0.9", "errors < 1%", "exact.pass@3 >= 0.9 at 95%"],
        "baseline": { "job": "main", "run": 7 }, "max_errors": "10%", "min_items": 2,
    });
    assert_eq!((&spec["quality"], &spec["trials"]), (&expected, &3.into()));
    let plain = folder("").load().unwrap().spec.value();
    assert!(plain.get("quality").is_none() && plain.get("trials").is_none(), "a file without them freezes as before");
}

/// E4: all of it in one report, each with its line.
#[test]
fn what_is_wrong_with_gates_is_reported_together() {
    let more = "trials: 0\ngates:\n  - exakt.mean >= 0.9\n  - \"exact.pass@3 >= 0.9\"\n  - latency.p90 < 2\n  - 7\n\
                max_errors: lots\nmin_items: 0\nbaseline: { jab: x }\n";
    let report = folder(more).report();
    for part in [
        "job.yaml:9: `trials` is 0, but must be 1 to 100",
        "job.yaml:11: `gates[0]`: unknown evaluator `exakt`",
        "did you mean `exact`?",
        "job.yaml:12: `gates[1]`: this needs 3 trials",
        "add `trials: 3`",
        "job.yaml:13: `gates[2]`: `2` does not fit here",
        "500ms",
        "job.yaml:14: `gates[3]` must be text",
        "job.yaml:15: `max_errors` is \"lots\"",
        "job.yaml:16: `min_items` must be at least 1",
        "job.yaml:17: unknown field `jab`",
    ] {
        assert!(report.contains(part), "no {part:?} in:\n{report}");
    }
}

#[test]
fn a_dataset_must_leave_the_field_trial_free() {
    let rows = "{\"country\":\"France\",\"capital\":\"Paris\",\"trial\":1}\n";
    let folder = Folder::new(&[("job.yaml", &job(LOCAL, "trials: 2\n")), ("capitals.jsonl", rows)]);
    let report = folder.report();
    assert!(report.contains("has a field `trial`") && report.contains("rename the field"), "{report}");
    folder.write("job.yaml", &job(LOCAL, ""));
    assert!(folder.load().is_ok(), "without repeats it is a field like any other");
}
