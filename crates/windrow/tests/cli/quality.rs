//! Quality gates and exit codes, trials, comparisons.

use serde_json::Value;

use crate::endpoint::Endpoint;
use crate::place::{Place, Said};

/// Rows whose number is divisible by `wrong` expect a different answer.
fn place(endpoint: &Endpoint, rows: usize, wrong: usize, more: &str) -> Place {
    let place = Place::empty();
    write(&place, endpoint, "counted", rows, wrong, more);
    place
}

fn write(place: &Place, endpoint: &Endpoint, name: &str, rows: usize, wrong: usize, more: &str) {
    place.write_job(&format!("{name}.yaml"), name, endpoint, rows, 8);
    let yaml = std::fs::read_to_string(place.path(&format!("{name}.yaml"))).unwrap();
    let expect = format!("{{% if n % {wrong} == 0 %}}no{{% else %}}answer {{{{ n }}}}{{% endif %}}");
    place.write(&format!("{name}.yaml"), &format!("{}{more}", yaml.replace("answer {{ n }}", &expect)));
}

fn run(place: &Place) -> Said {
    place.windrow(&["run", "counted.yaml", "--json", "-q"])
}

fn verdicts(result: &Value) -> Vec<&str> {
    result["gates"].as_array().unwrap().iter().map(|gate| gate["verdict"].as_str().unwrap()).collect()
}

#[test]
fn every_gate_is_evaluated_and_a_failed_one_exits_with_3() {
    let endpoint = Endpoint::open();
    let gates =
        "gates:\n  - exact.mean >= 0.9\n  - exact.pass_rate > 95%\n  - errors < 1%\n  - exact.mean >= baseline\n";
    let place = place(&endpoint, 50, 10, gates);
    let result = run(&place).ended_with(3).json();
    assert_eq!(verdicts(&result), ["passed", "failed", "passed", "passed"]);
    assert_eq!((&result["gates"][1]["actual"], &result["gates"][1]["bound"]), (&0.9.into(), &0.95.into()));
    assert_eq!(result["gates"][3]["note"], "no baseline yet");
    let again = place.windrow(&["gates", "counted", "--json"]).ended_with(3).json();
    assert_eq!(again, result["gates"], "stored results are judged alike");
    let table = place.windrow(&["gates", "counted"]).ended_with(3).stdout;
    assert!(table.contains("exact.pass_rate > 95%") && table.contains("failed"), "{table}");
}

#[test]
fn passed_gates_exit_with_0_and_inconclusive_ones_with_6() {
    let endpoint = Endpoint::open();
    let place = place(&endpoint, 30, 1000, "gates:\n  - exact.mean >= 0.9\n  - failed == 0\n");
    // Row 0 is wrong: 29 of 30.
    let result = run(&place).ended_with(0).json();
    assert_eq!(verdicts(&result), ["passed", "passed"]);
    write(&place, &endpoint, "counted", 30, 1000, "gates:\n  - exact.mean >= 0.9 at 95%\n");
    let result = run(&place).ended_with(6).json();
    assert_eq!(verdicts(&result), ["undecided"]);
    write(&place, &endpoint, "counted", 30, 1000, "gates:\n  - exact.mean >= 0.5 at 95%\n");
    run(&place).ended_with(0);
    write(&place, &endpoint, "counted", 30, 1000, "min_items: 31\n");
    run(&place).ended_with(6);
    assert_eq!(endpoint.calls(), 30, "another gate is no reason to ask again");
}

#[test]
fn too_many_errors_exit_with_4_whatever_the_gates() {
    let endpoint = Endpoint::open();
    endpoint.fail_on([1, 2]);
    let place = place(&endpoint, 10, 1000, "max_errors: 10%\ngates:\n  - exact.mean >= 0.99\n");
    let result = run(&place).ended_with(4).json();
    assert_eq!((&result["errors"]["invalid_request"], verdicts(&result)[0]), (&2.into(), "failed"));
    write(&place, &endpoint, "counted", 10, 1000, "max_errors: 2\n");
    run(&place).ended_with(0);
}

/// Results of a retry count together with the earlier successes.
#[test]
fn a_retry_is_judged_by_the_whole_job() {
    let endpoint = Endpoint::open();
    endpoint.fail_on([3]);
    let place = place(&endpoint, 20, 1000, "gates:\n  - exact.n >= 20\n  - failed == 0\n");
    assert_eq!(verdicts(&run(&place).ended_with(3).json()), ["failed", "failed"]);
    endpoint.fail_on([]);
    let result = place.windrow(&["jobs", "retry", "counted", "--json", "-q"]).ended_with(0).json();
    assert_eq!((&result["items"]["total"], verdicts(&result)), (&1.into(), vec!["passed", "passed"]));
}

#[test]
fn runs_are_compared_row_by_row_and_with_a_baseline() {
    let endpoint = Endpoint::open();
    let place = place(&endpoint, 40, 1000, "");
    run(&place).ended_with(0);
    write(&place, &endpoint, "counted", 40, 4, "gates:\n  - exact.mean >= baseline - 0.02\n");
    let result = run(&place).ended_with(3).json();
    assert_eq!(
        (&result["baseline"]["no"], &result["comparison"]["evaluators"]["exact"]["broken"]),
        (&1.into(), &9.into())
    );
    let said = place.windrow(&["compare", "counted#1", "counted#2", "--json"]).ended_with(0).json();
    let exact = &said["evaluators"]["exact"];
    assert_eq!((&exact["rows"], &exact["broken"], &exact["fixed"]), (&40.into(), &9.into(), &0.into()));
    assert_eq!(exact["broken_rows"][0]["ordinal"], 4);
    assert!((exact["mean"]["difference"].as_f64().unwrap() + 9.0 / 40.0).abs() < 1e-12);
    assert!(exact["mean"]["p"].as_f64().unwrap() < 0.01);
    let text = place.windrow(&["compare", "counted#1", "counted"]).ended_with(0).stdout;
    assert!(text.contains("Regressed on exact: 9 rows") && text.contains("row 5 "), "{text}");
    let page = place.windrow(&["report", "counted#2"]).ended_with(0).stdout;
    assert!(page.contains("#### Regressed rows") && page.contains("| 5 | exact | 1.000 | 0.000 |"), "{page}");
    assert!(page.contains("| failed: required 0.955 |"), "{page}");

    // A failed run is no baseline: the same bad file fails again, and so do its stored gates.
    let again = run(&place).ended_with(3).json();
    assert_eq!((&again["baseline"]["no"], verdicts(&again)), (&1.into(), vec!["failed"]));
    let page = place.windrow(&["run", "counted.yaml", "-q"]).ended_with(3).stdout;
    assert!(page.contains("counted: 1 of 1 quality gate failed · run 4"), "{page}");
    place.windrow(&["gates", "counted"]).ended_with(3);

    // Compared with itself, nothing regressed.
    let result =
        place.windrow(&["run", "counted.yaml", "--json", "-q", "--baseline", "counted#2"]).ended_with(0).json();
    assert_eq!(verdicts(&result), ["passed"]);
    let wrong = place.windrow(&["run", "counted.yaml", "-q", "--baseline", "counted#9"]).ended_with(1);
    assert!(wrong.stderr.contains("has no run 9"), "{}", wrong.stderr);
    // Another job over the same rows.
    std::fs::copy(place.path("counted.jsonl"), place.path("other.jsonl")).unwrap();
    write(
        &place,
        &endpoint,
        "other",
        40,
        4,
        "baseline: { job: counted, run: 1 }\ngates:\n  - exact.mean >= baseline\n",
    );
    let other = place.windrow(&["run", "other.yaml", "--json", "-q"]).ended_with(3).json();
    assert_eq!((&other["baseline"]["job"], &other["baseline"]["no"]), (&"counted".into(), &1.into()));
}

#[test]
fn rows_run_as_often_as_trials_says_and_more_trials_reuse_the_first() {
    let endpoint = Endpoint::open();
    let place = place(&endpoint, 5, 2, "");
    run(&place).ended_with(0);
    write(&place, &endpoint, "counted", 5, 2, "trials: 3\ngates:\n  - exact.pass^3 >= 0.4\n");
    let result = run(&place).ended_with(0).json();
    assert!(endpoint.calls_by_question().values().all(|calls| *calls == 3), "{:?}", endpoint.calls_by_question());
    let trials = &result["evaluators"]["exact"]["trials"];
    assert_eq!(trials["histogram"], serde_json::json!([[3, 0, 3], [3, 3, 2]]));
    assert_eq!((&result["items"]["total"], &trials["kappa"]), (&15.into(), &1.0.into()));
    run(&place).ended_with(0);
    assert_eq!(endpoint.calls(), 15, "nothing is paid twice");
}

#[test]
fn an_invalid_gate_stops_before_anything_is_stored() {
    let endpoint = Endpoint::open();
    let place = place(&endpoint, 5, 2, "gates:\n  - exakt.mean >= 0.9\n");
    let said = run(&place).ended_with(2);
    assert!(said.stderr.contains("\"line\":11") && said.stderr.contains("did you mean `exact`"), "{}", said.stderr);
    assert!(!place.data().exists() && endpoint.calls() == 0);
}

#[test]
fn failing_rows_are_run_again_before_a_failed_gate_fails_the_build() {
    let endpoint = Endpoint::open();
    let gates = "confirm: 2\ngates:\n  - exact.mean == 1\n";
    let place = Place::with_rows(&endpoint, 10, 4);
    place.append("job.yaml", gates);
    endpoint.errs(3, 1);
    endpoint.errs(5, 2);
    let said = place.windrow(&["run", "job.yaml", "--json"]).ended_with(0);
    let times = |n: &str| endpoint.calls_by_question()[n];
    assert_eq!((times("3"), times("5"), endpoint.calls()), (2, 3, 13), "only failing rows are run again");
    for part in [
        "Running 2 failing rows again (confirm 1 of 2)",
        "confirm 1 of 2: exact passed 1 of 2 · 10 tokens · $0.00",
        "Running 1 failing row again (confirm 2 of 2)",
        "confirm 2 of 2: exact passed 1 of 1",
    ] {
        assert!(said.stderr.contains(part), "no {part:?} in {}", said.stderr);
    }
    let result = said.json();
    assert_eq!((&result["run"]["no"], &result["job"]["items"]["succeeded"]), (&3.into(), &10.into()));
    assert_eq!(verdicts(&result), ["passed"]);

    endpoint.errs(7, 99);
    let said = place.windrow(&["run", "job.yaml", "--new", "--json"]).ended_with(3);
    assert_eq!(times("7"), 1 + 3, "once in the first run, then in the new one and twice more");
    assert!(said.stderr.contains("confirm: still failing after 2 repeats of the failing rows"), "{}", said.stderr);
    assert_eq!(verdicts(&said.json()), ["failed"]);
}

#[test]
fn after_a_confirmation_a_paired_gate_compares_all_rows_with_the_baseline() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 40, 8);
    place.append("job.yaml", "confirm: 1\ngates:\n  - exact.mean >= baseline - 0.02 at 95%\n");
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    (0..8).for_each(|n| endpoint.errs(n, 1));
    let result = place.windrow(&["run", "job.yaml", "--new", "--json"]).ended_with(0).json();
    let gate = &result["gates"][0];
    assert_eq!((&gate["verdict"], &gate["n"]), (&"passed".into(), &40.into()), "{gate}");
    assert_eq!(result["comparison"]["evaluators"]["exact"]["rows"], 40);
}

#[test]
fn a_confirmation_is_for_gates_on_rows() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 3, 4);
    place.append("job.yaml", "confirm: 2\ngates:\n  - tokens.total < 1\n");
    let said = place.windrow(&["run", "job.yaml"]).ended_with(3).stderr;
    assert!(said.contains("no rows to run again"), "{said}");
    assert_eq!(endpoint.calls(), 3);
    for (confirm, part) in [("confirm: 9", "must be 1 to 5"), ("confirm: 2", "`confirm` needs `gates`")] {
        let place = Place::with_rows(&endpoint, 3, 4);
        place.append("job.yaml", confirm);
        let said = place.windrow(&["check", "job.yaml"]).ended_with(2).stderr;
        assert!(said.contains(part), "{said}");
    }
}
