//! Status, counters and results are those of the whole job, whatever the latest run did (E16, E25, B8, I1).

use serde_json::{Value, json};

use crate::endpoint::Endpoint;
use crate::ingest::{BY_TOKEN, write_plan};
use crate::mock_source::MockSource;
use crate::place::Place;

/// The entry of the only job.
fn listed(place: &Place) -> Value {
    place.windrow(&["jobs", "list", "--json"]).ended_with(0).json()["jobs"][0].clone()
}

fn named(place: &Place, status: &str) -> usize {
    let found = place.windrow(&["jobs", "list", "--status", status, "--json"]).ended_with(0).json();
    found["jobs"].as_array().unwrap().len()
}

#[test]
fn a_row_that_fails_again_does_not_fail_the_experiment() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 10, 2);
    place.append("job.yaml", "retry: { max: 0 }");
    endpoint.fail_on([2]);
    place.windrow(&["run", "job.yaml", "--quiet"]).ended_with(0);
    let retried = place.windrow(&["jobs", "retry", "counted", "--json"]).ended_with(0).json();
    assert_eq!((&retried["items"]["total"], &retried["items"]["failed"]), (&json!(1), &json!(1)), "{retried}");
    assert_eq!((&retried["run"]["status"], &retried["job"]["status"]), (&json!("failed"), &json!("success")));
    let job = listed(&place);
    assert_eq!((&job["status"], &job["latest_run"]["status"]), (&json!("success"), &json!("failed")), "{job}");
    let items = &job["items"];
    assert_eq!((&items["total"], &items["succeeded"], &items["failed"]), (&json!(10), &json!(9), &json!(1)));
    let list = place.windrow(&["jobs", "list"]).ended_with(0).stdout;
    assert!(list.contains("10 of 10"), "{list}");
    let shown = place.windrow(&["jobs", "show", "counted"]).ended_with(0).stdout;
    assert!(shown.contains("10 · 9 succeeded · 1 failed"), "{shown}");
    let again = place.windrow(&["jobs", "retry", "counted", "--quiet"]).ended_with(0).stdout;
    assert!(again.contains("10 · 9 succeeded · 1 failed"), "{again}");
    assert!(again.contains("1 item retried · 0 succeeded, 1 failed"), "{again}");

    // Filters take public words and kernel words.
    assert_eq!((named(&place, "success"), named(&place, "succeeded"), named(&place, "completed")), (1, 1, 1));
    assert_eq!((named(&place, "fail"), named(&place, "failed"), named(&place, "FAILED")), (0, 0, 0));
    for word in ["fail", "failed"] {
        let found = place.windrow(&["jobs", "items", "counted", "--status", word, "--json"]).ended_with(0).json();
        assert_eq!(found["items"].as_array().unwrap().len(), 1, "{found}");
    }
}

/// Targets are files; one named in `refuse` cannot be changed.
fn change_files(place: &Place, n: usize) {
    let names: Vec<String> = (0..n).map(|n| format!("t{n}")).collect();
    names.iter().for_each(|name| place.write(name, "1"));
    place.write(
        "change.yaml",
        &format!(
            "kind: operation\nname: change\ntargets: [{}]\nretry: {{ max: 0 }}\naction:\n  command:\n    \
             read: {{ run: [cat, \"{{{{ target.name }}}}\"] }}\n    \
             apply: {{ run: [sh, -c, \"! grep -q $WINDROW_TARGET refuse && echo 2 > $WINDROW_TARGET\"] }}\n    \
             undo: {{ run: [sh, -c, \"echo {{{{ before }}}} > $WINDROW_TARGET\"] }}\n    done: \"now == 2\"\n",
            names.join(", ")
        ),
    );
}

#[test]
fn a_batch_reads_as_all_its_targets() {
    let place = Place::empty();
    change_files(&place, 10);
    place.write("refuse", "t1 t2 t3");
    place.windrow(&["run", "change.yaml", "--quiet"]);
    assert_eq!(listed(&place)["status"], "partial_fail");
    place.windrow(&["jobs", "retry", "change", "--quiet"]);
    let job = listed(&place);
    assert_eq!((&job["status"], &job["latest_run"]["status"]), (&json!("partial_fail"), &json!("fail")), "{job}");
    assert_eq!((&job["items"]["succeeded"], &job["items"]["failed"]), (&json!(7), &json!(3)));
    assert_eq!((named(&place, "partial_fail"), named(&place, "success")), (1, 0));

    place.write("refuse", "none");
    place.windrow(&["jobs", "retry", "change", "--quiet"]).ended_with(0);
    assert_eq!(listed(&place)["status"], "success");
    place.windrow(&["jobs", "rollback", "change", "--item", "1", "--quiet"]).ended_with(0);
    assert_eq!(listed(&place)["status"], "success", "one of ten");
    place.windrow(&["jobs", "rollback", "change", "--quiet"]).ended_with(0);
    assert_eq!(listed(&place)["status"], "rollback_success");
    let failed = place.windrow(&["jobs", "targets", "change", "--status", "failed", "--json"]).ended_with(0);
    assert_eq!(failed.stdout.trim(), "");
}

#[test]
fn a_plan_whose_only_slice_failed_is_failed() {
    let place = Place::empty();
    let source = MockSource::start(&place, &["--records", "10"]);
    write_plan(&place, &source, "nowhere", BY_TOKEN, "");
    place.edit("plan.yaml", "retry: { max: 8, delays: [10ms] }", "retry: { max: 0 }");
    place.windrow(&["run", "plan.yaml", "--quiet"]);
    assert_eq!(listed(&place)["status"], "FAILED");
}
