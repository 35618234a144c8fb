//! The result table of a job: the same answers on the command line and over HTTP (E16, E19, T6).

use serde_json::{Value, json};

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::{Place, wait_until};

/// 12 rows of two languages; every fourth answer is wrong.
fn finished(endpoint: &Endpoint) -> Place {
    let place = Place::empty();
    let rows: Vec<Value> = (0..12)
        .map(|n| json!({"n": n, "lang": if n % 2 == 0 { "de" } else { "größe" }, "answer": if n % 4 == 0 { "=wrong".to_owned() } else { format!("answer {n}") }}))
        .collect();
    let job = "  prompt: \"{{ n }}\"\nevaluators:\n  - exact: { expect: \"{{ answer }}\" }\n";
    place.write_experiment(endpoint, &rows, job);
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    place
}

const JOB: &str = "counted";

fn rows_of(found: &Value) -> Vec<i64> {
    found["rows"].as_array().unwrap().iter().map(|row| row["row"].as_i64().unwrap()).collect()
}

#[test]
fn results_are_filtered_sorted_grouped_and_paged() {
    let endpoint = Endpoint::open();
    let place = finished(&endpoint);
    let results = |args: &[&str]| place.windrow(&[&["results", JOB, "--json"], args].concat()).ended_with(0).json();

    let bad = results(&["--where", "score.exact < 0.5", "--sort=-row"]);
    assert_eq!((rows_of(&bad), &bad["total"], &bad["rows_of_job"]), (vec![9, 5, 1], &3.into(), &12.into()));
    assert_eq!(bad["header"]["outcomes"], json!({"fail": 3}));
    assert_eq!((&bad["metrics"][0]["n"], &bad["metrics"][0]["mean"]), (&3.into(), &json!(0.0)));
    assert_eq!(bad["rows"][0]["scores"]["exact"]["verdict"], "fail");
    assert_eq!(bad["rows"][0]["output"], "answer 8");

    let words = "field.lang = größe and output contains \"ANSWER 1\" and not outcome = fail";
    assert_eq!(rows_of(&results(&["--where", words])), [2, 12]);
    assert_eq!(rows_of(&results(&["--limit", "5", "--after", "10"])), [11, 12]);
    let groups = results(&["--group", "field.lang"])["groups"].clone();
    assert_eq!((&groups[0]["n"], groups.as_array().unwrap().len()), (&6.into(), 2));
    let groups = results(&["--group", "field.n by 5"])["groups"].clone();
    let counted: Vec<Value> =
        groups.as_array().unwrap().iter().map(|group| json!([group["value"], group["n"]])).collect();
    assert_eq!(counted, [json!(["0 to 5", 5]), json!(["5 to 10", 5]), json!(["10 to 15", 2])]);
    let sorted = results(&["--sort", "score.exact,-field.lang,-row"]);
    assert_eq!(rows_of(&sorted), [9, 5, 1, 12, 10, 8, 6, 4, 2, 11, 7, 3]);
    // Against itself nothing has changed.
    let same = results(&["--vs", "#1", "--where", "change.exact = same"]);
    assert_eq!((&same["total"], &same["metrics"][0]["paired"]["diff"]), (&12.into(), &json!(0.0)));
    assert_eq!(same["metrics"][0]["paired"]["verdict"], "unchanged");
    let delta = "delta.latency_ms = 0 and delta.tokens = 0 and delta.cost = 0 and delta.exact = 0";
    let deltas = results(&["--vs", "#1", "--where", delta, "--sort", "-delta.tokens,row"]);
    assert_eq!((rows_of(&deltas).len(), &deltas["rows"][0]["baseline"]["delta"]["tokens"]), (12, &json!(0.0)));

    let said = place.windrow(&["results", JOB, "--where", "outcome = fail", "--limit", "2"]).ended_with(0).stdout;
    assert!(said.starts_with("3 of 12 rows match\n3 fail · P50 ") && said.contains("more: --after 2"), "{said}");
    assert!(said.contains("\nEVALUATOR  N  PASS  FAIL") && said.contains("  EXPECTED  "), "{said}");
    let said = place.windrow(&["results", JOB, "--facets=outcome,row", "--limit", "0"]).ended_with(0).stdout;
    for part in [
        "\nOUTCOME  ROWS\n",
        "\npass        9  ████████████████████████\n",
        "\nfail        3  ████████\n",
        "\n10.9 to 12      2  ",
    ] {
        assert!(said.contains(part), "no {part:?} in {said}");
    }
    let said = place.windrow(&["results", JOB, "--facets"]).ended_with(0).stdout;
    assert!(said.contains("\nFIELD.LANG") && said.contains("\nVERDICT.EXACT"), "{said}");
    let csv = place.windrow(&["results", JOB, "--csv", "--columns", "row,expected,score.exact", "--limit", "2"]);
    assert_eq!(csv.ended_with(0).stdout, "row,expected,score.exact\n1,'=wrong,0.0\n2,answer 1,1.0\n");
}

#[test]
fn an_unknown_name_is_an_error_with_a_suggestion() {
    let endpoint = Endpoint::open();
    let place = finished(&endpoint);
    let said = place.windrow(&["results", JOB, "--where", "tries > 0 and score.exacct < 1"]).ended_with(2).stderr;
    assert!(said.contains("character 15: unknown name `score.exacct`"), "{said}");
    assert!(said.contains("did you mean `score.exact`?"), "{said}");
}

/// Whatever is committed before a question is in its answer, without reading the job again; a page of an older view stays.
#[test]
fn a_table_has_every_change_at_once() {
    let endpoint = Endpoint::open();
    let place = finished(&endpoint);
    let server = Served::start(&place, &[]);
    let views = "/api/v1/jobs/counted/views";
    let ask = |request: &Value| server.post_json(views, request).with_status(200).json();
    let reviewed = json!({"where": "reviewed = true", "group": "label.exact"});
    assert_eq!(ask(&reviewed)["total"], 0);
    let (first, again) = (ask(&json!({})), ask(&json!({})));
    assert_ne!(first["view"], again["view"]);
    assert_eq!((&first["header"], &first["metrics"]), (&again["header"], &again["metrics"]));
    let label = json!({"where": "outcome = fail", "labels": {"exact": "pass"}, "reason": "seen"});
    server.post_json("/api/v1/jobs/counted/labels", &label).with_status(200);
    let found = ask(&reviewed);
    assert_eq!((&found["total"], &found["groups"][0]["value"]), (&3.into(), &"pass".into()));
    assert_eq!(found["metrics"][0]["corrected"]["labelled"], 3);
    let of_run = ask(&json!({"run": 1, "where": "corrected.exact = 1"}));
    assert_eq!(of_run["total"], 12);
    let page =
        server.get(&format!("{views}/{}/rows?limit=12", first["view"].as_str().unwrap())).with_status(200).json();
    assert!(page["rows"].as_array().unwrap().iter().all(|row| row["reviewed"] == false), "{page}");
    // Another process changes the same store, and new rows come at the end.
    for n in 12..15 {
        place.append("rows.jsonl", &json!({"n": n, "lang": "fr", "answer": format!("answer {n}")}).to_string());
    }
    place.windrow(&["run", "job.yaml", "--append"]).ended_with(0);
    let grown = ask(&json!({"sort": "-row", "facets": ["field.lang"]}));
    assert_eq!((&grown["total"], &grown["header"]["outcomes"]["pass"]), (&15.into(), &12.into()));
    assert_eq!(grown["facets"][0]["values"].as_array().unwrap().len(), 3);
}

#[test]
fn a_server_gives_the_same_view_in_pages() {
    let endpoint = Endpoint::open();
    let place = finished(&endpoint);
    let server = Served::start(&place, &[]);
    let views = "/api/v1/jobs/counted/views";
    let request = json!({"where": "row > 2", "sort": "-row", "facets": ["field.lang", "score.exact"]});
    let view = server.post_json(views, &request).with_status(200).json();
    assert_eq!((&view["total"], &view["facets"][0]["values"][0]["count"]), (&10.into(), &5.into()));
    let page = |offset: usize| {
        let view = view["view"].as_str().unwrap();
        server.get(&format!("{views}/{view}/rows?offset={offset}&limit=4")).with_status(200).json()
    };
    let pages: Vec<i64> = [0, 4, 8].iter().flat_map(|offset| rows_of(&page(*offset))).collect();
    assert_eq!(pages, (3..=12).rev().collect::<Vec<_>>());
    let gone = server.get(&format!("{views}/gone/rows")).with_status(410).json();
    assert!(gone.to_string().contains("has expired, or another node made it"), "{gone}");
    let wrong = server.post_json(views, &json!({"where": "outcome = fial"})).with_status(422).json();
    assert_eq!((&wrong["code"], &wrong["at"]), (&"invalid_query".into(), &json!({"from": 10, "to": 14})));
    let fields = server.get("/api/v1/jobs/counted/fields").with_status(200).json();
    let lang = fields["fields"].as_array().unwrap().iter().find(|field| field["name"] == "field.lang").unwrap();
    assert_eq!(lang["values"].as_array().unwrap().len(), 2);
}

/// Pages are of the rows as they were when the view was made.
#[test]
fn pages_neither_repeat_nor_skip_a_row_while_a_run_writes() {
    let endpoint = Endpoint::gated(30);
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    server.submit(&place.served_job("half", &endpoint, 60, 10)).with_status(201);
    wait_until("half of the rows", || endpoint.answered() >= 30);
    let views = "/api/v1/jobs/half/views";
    let view = server.post_json(views, &json!({"sort": "outcome,-latency_ms"})).with_status(200).json();
    let id = view["view"].as_str().unwrap();
    let mut rows = Vec::new();
    for offset in (0..60).step_by(7) {
        match offset {
            21 => endpoint.open_gate(),
            42 => server.wait_for_state("half", "completed"),
            _ => {}
        }
        let page = server.get(&format!("{views}/{id}/rows?offset={offset}&limit=7")).with_status(200).json();
        assert_eq!(page["total"], 60);
        rows.extend(rows_of(&page));
    }
    rows.sort_unstable();
    assert_eq!(rows, (1..=60).collect::<Vec<i64>>());
    let done = server.post_json(views, &json!({"where": "outcome = pass"})).with_status(200).json();
    assert_eq!(done["total"], 60);
}

/// From the database, and from tables that are in memory.
#[test]
fn a_comparison_is_the_same_wherever_it_is_made() {
    let endpoint = Endpoint::open();
    let place = finished(&endpoint);
    place.edit("job.yaml", "{{ answer }}", "{% if n % 3 == 0 %}other{% else %}{{ answer }}{% endif %}");
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    let server = Served::start(&place, &[]);
    let compared = |rows: usize| {
        let found = server.get(&format!("/api/v1/comparison?runs=counted%231,counted%232&rows={rows}"));
        found.with_status(200).json()["changes"].clone()
    };
    let from_database = compared(20);
    assert_eq!(from_database[0]["evaluators"]["exact"]["rows"], 12);
    assert!(from_database[0]["evaluators"]["exact"]["broken"].as_i64().unwrap() > 0, "{from_database}");
    for run in [1, 2] {
        server.post_json("/api/v1/jobs/counted/views", &json!({ "run": run })).with_status(200);
    }
    assert_eq!(compared(21), from_database);
    assert_eq!(compared(21), from_database, "and again");
}
