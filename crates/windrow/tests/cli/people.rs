//! People: labels beside computed scores, queues of unreviewed rows, agreement, rows for a dataset (E19); comparisons of
//! several runs and trends (E16).

use serde_json::{Value, json};

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::Place;

const JOB: &str = "counted";

/// 12 rows; the answers to rows 1, 5 and 9 are wrong.
fn finished(endpoint: &Endpoint) -> Place {
    let place = Place::empty();
    write(&place, endpoint, 4);
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    place
}

fn write(place: &Place, endpoint: &Endpoint, wrong: usize) {
    let rows: Vec<Value> = (0..12).map(|n| json!({"n": n, "id": n})).collect();
    let expect = format!("{{% if n % {wrong} == 0 %}}wrong{{% else %}}answer {{{{ n }}}}{{% endif %}}");
    let job = format!("  prompt: \"{{{{ n }}}}\"\nevaluators:\n  - exact: {{ expect: \"{expect}\" }}\n");
    place.write_experiment(endpoint, &rows, &job);
}

fn items(place: &Place, condition: &str) -> Vec<String> {
    let found = place.windrow(&["results", JOB, "--json", "--where", condition]).ended_with(0).json();
    found["rows"].as_array().unwrap().iter().map(|row| row["item"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn labels_stand_beside_what_was_computed() {
    let endpoint = Endpoint::open();
    let place = finished(&endpoint);
    let bad = items(&place, "outcome = fail");
    assert_eq!(bad.len(), 3);
    let label = |args: &[&str]| place.windrow(&[&["label", JOB], args].concat());
    let said = label(&[&bad[0], "exact=pass", "--reason", "a synonym"]).ended_with(0).stdout;
    assert!(said.contains("1 label added to 1 row of counted"), "{said}");
    assert!(label(&[&bad[0], "exact=pass", "--reason", "a synonym"]).ended_with(0).stdout.contains("nothing new"));
    // A bare verdict is about the only evaluator.
    label(&["--where", "outcome = pass", "pass"]).ended_with(0);
    label(&[&bad[1], "note=look again"]).ended_with(0);

    let found = place.windrow(&["results", JOB, "--json"]).ended_with(0).json();
    let metric = &found["metrics"][0];
    assert_eq!((&metric["basis"], &metric["pass_rate"]), (&"computed".into(), &json!(0.75)));
    let corrected = &metric["corrected"];
    assert_eq!((&corrected["labelled"], &corrected["n"]), (&10.into(), &12.into()));
    assert!((corrected["pass_rate"].as_f64().unwrap() - 10.0 / 12.0).abs() < 1e-12);
    let row = &found["rows"][0];
    assert_eq!((&row["scores"]["exact"]["value"], &row["labels"]["exact"]["corrected"]), (&json!(0.0), &json!(1.0)));
    assert_eq!((&row["labels"]["exact"]["reason"], &row["reviewed"]), (&"a synonym".into(), &true.into()));
    assert_eq!(items(&place, "score.exact = 0 and corrected.exact = 1"), bad[..1]);
    assert_eq!(items(&place, "reviewed = false"), bad[1..], "a note is no review");
    assert_eq!(items(&place, "label.note contains \"again\""), bad[1..2]);

    let csv = place.windrow(&["results", JOB, "--csv", "--columns", "row,score.exact,label.exact,corrected.exact"]);
    assert!(csv.ended_with(0).stdout.contains("\n1,0.0,pass,1.0\n"));
    place.windrow(&["export", JOB, "--format", "csv", "-o", "out.csv"]).ended_with(0);
    let file = std::fs::read_to_string(place.path("out.csv")).unwrap();
    assert!(file.lines().next().unwrap().ends_with("reviewed,label.exact,corrected.exact,label.note"), "{file}");

    let history = label(&[&bad[0]]).ended_with(0).stdout;
    assert!(history.contains("a synonym") && history.contains("exact"), "{history}");
    label(&[&bad[0], "exact="]).ended_with(0);
    assert_eq!(items(&place, "reviewed = false").len(), 3, "cleared");
    assert!(label(&[&bad[0]]).ended_with(0).stdout.contains("cleared"), "and the history stays");
    let audit = place.windrow(&["audit", "--json"]).ended_with(0).stdout;
    assert!(audit.contains("\"label\""), "{audit}");
}

#[test]
fn a_label_that_cannot_be_is_refused_with_a_suggestion() {
    let endpoint = Endpoint::open();
    let place = finished(&endpoint);
    let refused = |args: &[&str]| place.windrow(&[&["label", JOB], args].concat()).ended_with(2).stderr;
    let one = &items(&place, "row = 1")[0];
    assert!(refused(&[one, "exacct=fail"]).contains("did you mean `exact`?"));
    assert!(refused(&[one, "exact=good"]).contains("pass, fail or a number"));
    assert!(refused(&["exact=fail"]).contains("--where"));
    assert!(refused(&["--where", "score.exacct < 1", "exact=fail"]).contains("did you mean `score.exact`?"));
    place.windrow(&["label", JOB, one, "tone=friendly", "--new"]).ended_with(0);
    place.windrow(&["label", JOB, one, "tone=cold"]).ended_with(0);
    assert_eq!(items(&place, "label.tone = cold").len(), 1);
}

#[test]
fn a_queue_of_unreviewed_rows_leads_to_agreement() {
    let endpoint = Endpoint::open();
    let place = finished(&endpoint);
    let next = || place.windrow(&["label", JOB, "--next", "--json"]).ended_with(0).json();
    let mut seen = Vec::new();
    loop {
        let found = next();
        let Some(item) = found["row"]["item"].as_str().map(str::to_owned) else { break };
        assert_eq!(found["left"], json!(12 - seen.len()));
        // The person agrees with the evaluator, but for the first row.
        let verdict =
            if seen.is_empty() { "pass" } else { found["row"]["scores"]["exact"]["verdict"].as_str().unwrap() };
        place.windrow(&["label", JOB, &item, &format!("exact={verdict}")]).ended_with(0);
        seen.push(item);
    }
    assert_eq!(seen.len(), 12);
    let found = place.windrow(&["agreement", JOB, "--json"]).ended_with(0).json();
    let exact = &found["evaluators"][0];
    assert_eq!(
        (&found["reviewed"], &exact["n"], &exact["confusion"]["only_person"]),
        (&12.into(), &12.into(), &1.into())
    );
    // Evaluator 9 of 12, person 10 of 12: chance 0.6667, kappa (11/12 - 2/3) / (1/3) = 0.75.
    assert!((exact["kappa"].as_f64().unwrap() - 0.75).abs() < 1e-12, "{exact}");
    assert!(place.windrow(&["agreement", JOB]).ended_with(0).stdout.contains("12 rows of counted reviewed"));
}

#[test]
fn labels_survive_a_rescore_and_are_deleted_with_the_job() {
    let endpoint = Endpoint::open();
    let place = finished(&endpoint);
    place.windrow(&["label", JOB, "--where", "row = 1", "exact=pass"]).ended_with(0);
    // Another evaluator over the same outputs.
    write(&place, &endpoint, 3);
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    let found = place.windrow(&["results", JOB, "--json", "--where", "row = 1"]).ended_with(0).json();
    assert_eq!(found["rows"][0]["labels"]["exact"]["outdated"], false);
    assert_eq!(items(&place, "reviewed = true").len(), 1);
    let text = place.windrow(&["compare", "counted#1", "counted#2"]).ended_with(0).stdout;
    for part in [
        "counted#1 → counted#2",
        "REGRESSED",
        "P (HOLM)",
        "exact: no difference by McNemar's exact test; 12 rows detect",
        "Changed in the definition",
        "evaluator",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    let lean = place.windrow(&["compare", "counted#1", "counted#2", "--format", "lean"]).ended_with(0).stdout;
    assert!(lean.starts_with("base counted#1\nvs counted#2\nexact 0.750>0.667 "), "{lean}");
    assert!(lean.contains("\ndef ") && lean.contains("\nregressed exact row=4 "), "{lean}");
    let several = place.windrow(&["compare", "counted#1", "counted#2", "counted#1", "--json"]).ended_with(0).json();
    assert_eq!(several["sides"].as_array().unwrap().len(), 3);
    assert_eq!(several["changes"][1]["evaluators"]["exact"]["same"], 12, "a run does not differ from itself");
    let regressed = &several["changes"][0]["rows"][0];
    assert_eq!((&regressed["change"], &regressed["after"]), (&"regressed".into(), &"answer 3".into()));
    let md = place.windrow(&["compare", "counted#1", "counted#2", "--format", "md"]).ended_with(0).stdout;
    assert!(md.contains("| evaluator | before | after |"), "{md}");
    assert!(place.windrow(&["compare", "counted#1", "counted@b"]).ended_with(1).stderr.contains("no variant"));

    let trends = place.windrow(&["trends", JOB, "--json"]).ended_with(0).json();
    assert_eq!(trends["runs"][1]["changed"], json!(["evaluator"]));
    assert_eq!(trends["metrics"][0]["metric"], "exact.mean");
    assert_eq!(trends["metrics"][0]["points"][0]["value"], json!(0.75));
    assert!(
        !place.windrow(&["results", JOB]).ended_with(0).stdout.contains("EXPECTED"),
        "no row says what is expected"
    );
    let chart = place.windrow(&["trends", JOB, "--metric", "exact.mean"]).ended_with(0).stdout;
    assert!(chart.contains("0.750 [") && chart.contains("← evaluator"), "{chart}");
    let corrected = place.windrow(&["trends", JOB, "--metric", "exact.corrected.mean", "--json"]).ended_with(0).json();
    let points = &corrected["metrics"][0]["points"];
    assert!((points[0]["value"].as_f64().unwrap() - 10.0 / 12.0).abs() < 1e-12, "row 1 is right, people say: {points}");
    let all = place.windrow(&["trends", JOB]).ended_with(0).stdout;
    let latency = all.lines().find(|line| line.starts_with("latency.p99")).unwrap_or_default();
    assert!(latency.ends_with(" ms") || latency.ends_with(" s"), "{all}");
    assert!(place.windrow(&["trends", JOB, "--metric", "exact.maen"]).ended_with(2).stderr.contains("`exact.mean`"));

    // The file has the same name, and one more row.
    place.append("rows.jsonl", "{\"n\": 12, \"id\": 12}");
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    let trends = place.windrow(&["trends", JOB, "--json"]).ended_with(0).json();
    assert_eq!(trends["runs"][2]["changed"], json!(["dataset"]));
    let change = &trends["runs"][2]["definition"][0];
    assert_eq!(
        (&change["path"], change["before"].as_str().unwrap().split(',').next()),
        (&"dataset.rows".into(), Some("12 rows"))
    );

    place.windrow(&["jobs", "delete", JOB, "--yes"]).ended_with(0);
    write(&place, &endpoint, 4);
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    assert_eq!(items(&place, "reviewed = true").len(), 0, "a new job has no labels");
}

#[test]
fn selected_rows_become_rows_of_a_dataset() {
    let endpoint = Endpoint::open();
    let place = finished(&endpoint);
    let add = |condition: &str| {
        place.windrow(&["datasets", "add", "hard", "--from", JOB, "--where", condition, "--json"]).ended_with(0).json()
    };
    let first = add("outcome = fail");
    assert_eq!(
        (&first["added"], &first["version"]["version"], &first["version"]["rows"]),
        (&3.into(), &1.into(), &3.into())
    );
    let second = add("row <= 2");
    assert_eq!((&second["selected"], &second["added"], &second["version"]["rows"]), (&2.into(), &1.into(), &4.into()));
    assert_eq!(add("row = 1")["unchanged"], true);
    let none = place.windrow(&["datasets", "add", "none", "--from", JOB, "--where", "row > 99"]);
    assert!(none.ended_with(2).stderr.contains("no row matches"));
}

#[test]
fn a_server_takes_labels_and_answers_the_same() {
    let endpoint = Endpoint::open();
    let place = finished(&endpoint);
    let server = Served::start(&place, &[]);
    let labels = "/api/v1/jobs/counted/labels";
    let request = json!({"where": "outcome = fail", "labels": {"exact": "fail", "note": "bad"}, "reason": "seen"});
    let done = server.post_json(labels, &request).with_status(200).json();
    assert_eq!((&done["items"], &done["added"]), (&3.into(), &6.into()));
    let list = server.get(labels).with_status(200).json();
    let first = &list["labels"][0];
    assert_eq!(
        (&first["author"], &first["reason"], &first["verdict"]),
        (&"http".into(), &"seen".into(), &"fail".into())
    );
    let item = first["item"].as_str().unwrap();
    assert_eq!(
        server.get(&format!("/api/v1/items/{item}/labels")).with_status(200).json()["labels"].as_array().unwrap().len(),
        2
    );
    let clear = |query: &str| server.ask("DELETE", &format!("/api/v1/items/{item}/labels/note{query}"), &[], "");
    clear("?reason=wrong").with_status(204);
    clear("").with_status(404);
    server.post_json(labels, &json!({"items": [item], "labels": {"exacct": "fail"}})).with_status(400);
    let agreement = server.get("/api/v1/jobs/counted/agreement").with_status(200).json();
    assert_eq!((&agreement["reviewed"], &agreement["evaluators"][0]["accuracy"]), (&3.into(), &json!(1.0)));
    let compared = server.get("/api/v1/comparison?runs=counted%231,counted").with_status(200).json();
    assert_eq!(compared["changes"][0]["evaluators"]["exact"]["rows"], 12);
    assert_eq!(server.get("/api/v1/jobs/counted/trends").with_status(200).json()["runs"][0]["no"], 1);
    server.get("/api/v1/comparison?runs=counted").with_status(400);
    let add = json!({"from": "counted", "where": "label.exact = fail"});
    assert_eq!(server.post_json("/api/v1/datasets/hard/rows", &add).with_status(200).json()["added"], 3);
}
