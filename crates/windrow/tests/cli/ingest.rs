//! Records from an API into SQLite: every kind of pagination, incremental runs, and errors (I3–I9, T4).

use rusqlite::Connection;
use serde_json::Value;

use crate::mock_source::MockSource;
use crate::place::{Place, Said};

/// Writes `plan.yaml` for this route of the source, with extra fields of `rest` and of the file.
pub fn write_plan(place: &Place, source: &MockSource, way: &str, rest: &str, more: &str) {
    let url = &source.url;
    let text = format!(
        "kind: ingest\nname: orders\nsource:\n  rest:\n    url: \"{url}/{way}\"\n    records: $.records\n{rest}\
         key: id\ndestination:\n  sqlite: {{ path: orders.db }}\nretry: {{ max: 8, delays: [10ms] }}\n{more}"
    );
    place.write("plan.yaml", &text);
}

pub const BY_TOKEN: &str = "    pagination: { token: { param: page_token, next: $.next } }\n";

pub fn run(place: &Place) -> Said {
    place.windrow(&["run", "plan.yaml", "--quiet", "--json"])
}

pub fn database(place: &Place) -> Connection {
    Connection::open(place.path("orders.db")).unwrap()
}

pub fn number(place: &Place, sql: &str) -> i64 {
    database(place).query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Each record once, equal to the source's record.
#[track_caller]
pub fn holds_exactly(place: &Place, records: i64) {
    let sums = "SELECT json_array(count(*), count(DISTINCT id), coalesce(sum(id), 0), \
                sum(customer = id * 31 % 10007 AND name = 'order ' || id)) FROM orders";
    let found: String = database(place).query_row(sums, [], |row| row.get(0)).unwrap();
    assert_eq!(found, format!("[{records},{records},{},{records}]", records * (records + 1) / 2));
}

/// The recorded batches of an item, oldest first.
pub fn batches(place: &Place, item: i64) -> Vec<Value> {
    let shown = place.windrow(&["jobs", "item", "orders", &item.to_string(), "--json"]).ended_with(0).json();
    shown["steps"].as_array().unwrap().clone()
}

#[test]
fn every_kind_of_pagination_fetches_every_record_once() {
    for (way, rest) in [
        ("records", BY_TOKEN),
        ("headed", "    pagination: { token: { param: page_token, header: x-next-token } }\n"),
        ("linked", "    pagination: { link: true }\n"),
        ("keyset", "    pagination: { keyset: { param: after, field: id } }\n"),
        ("pages", "    pagination: { page: { param: page, size: 400 } }\n    params: { limit: 400 }\n"),
    ] {
        let place = Place::empty();
        let source = MockSource::start(&place, &["--records", "2500", "--page-size", "400"]);
        write_plan(&place, &source, way, rest, "");
        run(&place).ended_with(0);
        holds_exactly(&place, 2500);
        let stats = source.stats();
        assert_eq!(stats["pages"], stats["distinct_pages"], "{way}: {stats}");
    }
}

/// I5: the running total equals the sum of the batches.
#[test]
fn stats_of_batches_add_up_to_those_of_the_run() {
    let place = Place::empty();
    let source = MockSource::start(&place, &["--records", "2500", "--page-size", "400"]);
    write_plan(&place, &source, "records", BY_TOKEN, "skip: status == 'test'\n");
    run(&place).ended_with(0);
    let steps = batches(&place, 1);
    assert_eq!(steps.len(), 7);
    let output = |step: &Value| step["output"].clone();
    let total = output(&steps[6])["total"].clone();
    for name in total.as_object().unwrap().keys() {
        let sum: i64 = steps.iter().map(|step| output(step)["stats"][name].as_i64().unwrap()).sum();
        assert_eq!(total[name].as_i64(), Some(sum), "{name}");
    }
    let of = |name: &str| total[name].as_i64().unwrap();
    assert_eq!((of("fetched"), of("upserted"), of("skipped")), (2500, 1875, 625));
    assert_eq!((of("pages"), of("tokensUsed"), of("failed")), (7, 6, 0));
    // I4 and I8: a batch starts where the previous one ended; every batch has its own key.
    let intent = |no: usize| steps[no]["input"].clone();
    for no in 1..7 {
        assert_eq!(intent(no)["before"], output(&steps[no - 1])["after"]);
        assert_ne!(intent(no)["idempotentKey"], intent(no - 1)["idempotentKey"]);
        assert_eq!(intent(no)["exprHash"], intent(0)["exprHash"]);
    }
}

#[test]
fn a_later_run_fetches_only_new_records_and_new_fetches_everything() {
    let place = Place::empty();
    let source = MockSource::start(&place, &["--records", "1000", "--page-size", "100"]);
    write_plan(&place, &source, "records", &format!("{BY_TOKEN}    incremental: {{ param: since, field: id }}\n"), "");
    run(&place).ended_with(0);
    source.grow(1250);
    run(&place).ended_with(0);
    holds_exactly(&place, 1250);
    assert_eq!(source.stats()["records"], 1250);
    place.windrow(&["run", "plan.yaml", "--quiet", "--json", "--new"]).ended_with(0);
    holds_exactly(&place, 1250);
    assert_eq!(source.stats()["records"], 2500);
}

/// T4.
#[test]
fn transient_errors_are_retried_and_others_are_not() {
    let place = Place::empty();
    let faults = "503:20%,429:10%:retry_after=0s";
    let source = MockSource::start(&place, &["--records", "3000", "--page-size", "100", "--faults", faults]);
    write_plan(&place, &source, "records", BY_TOKEN, "");
    run(&place).ended_with(0);
    holds_exactly(&place, 3000);
    let stats = source.stats();
    assert!(stats["refused"].as_i64().unwrap() > 0, "{stats}");
    assert_eq!(stats["pages"], 30);

    let place = Place::empty();
    let source = MockSource::start(&place, &["--bearer", "right-token"]);
    write_plan(&place, &source, "records", &format!("{BY_TOKEN}    auth: {{ bearer: wrong-token }}\n"), "");
    let said = run(&place).ended_with(4);
    assert_eq!(source.stats()["requests"], 1, "{}", said.stdout);
    assert_eq!(said.json()["errors"]["auth"], 1);
}

#[test]
fn credentials_are_sent_and_never_recorded() {
    for (auth, secret) in [
        ("{ bearer: \"${env:TOKEN}\" }", "s3cret-token-value"),
        (
            "{ oauth2: { token_url: \"URL/oauth/token\", client_id: me, client_secret: \"${env:TOKEN}\" } }",
            "s3cret-token-value",
        ),
    ] {
        let place = Place::empty();
        let source = MockSource::start(&place, &["--records", "50", "--bearer", "s3cret-token-value"]);
        let auth = auth.replace("URL", &source.url);
        write_plan(&place, &source, "records", &format!("{BY_TOKEN}    auth: {auth}\n"), "");
        place.windrow_with(&[("TOKEN", secret)], &["run", "plan.yaml", "--quiet"]).ended_with(0);
        holds_exactly(&place, 50);
        let kept = std::fs::read(place.database()).unwrap();
        assert!(!kept.windows(secret.len()).any(|bytes| bytes == secret.as_bytes()));
    }
}

#[test]
fn slices_run_concurrently_and_closed_windows_are_read_once() {
    let place = Place::empty();
    let source = MockSource::start(&place, &["--records", "5000", "--page-size", "100"]);
    let params = "    params: { from: \"{{ slice.from }}\", to: \"{{ slice.to }}\" }\n";
    write_plan(
        &place,
        &source,
        "records",
        &format!("{BY_TOKEN}{params}"),
        "slices: { keys: { from: 1, to: 5001, every: 1000 } }\n",
    );
    assert_eq!(run(&place).ended_with(0).json()["items"]["succeeded"], 5);
    holds_exactly(&place, 5000);

    // Records are one minute apart from 2026-01-01; these days contain the first 4319.
    let place = Place::empty();
    let source = MockSource::start(&place, &["--records", "4319", "--page-size", "1000"]);
    let days = "slices: { time: { from: 2026-01-01, to: 2026-01-04, every: 1d } }\n";
    write_plan(&place, &source, "records", &format!("{BY_TOKEN}{params}"), days);
    assert_eq!(run(&place).ended_with(0).json()["items"]["succeeded"], 3);
    holds_exactly(&place, 4319);
    let pages = source.pages();
    let again = run(&place).ended_with(0).json();
    assert_eq!((&again["items"]["skipped"], source.pages()), (&3.into(), pages));
}

/// Rejected records are kept with their reason, and too many of them stop the run.
#[test]
fn rejected_records_are_kept_with_their_reason() {
    let place = Place::empty();
    let lines = r#"{"id":1,"v":"a"}\n{"v":"no key"}\n[7]\n{"id":2,"v":{"deep":true}}\n"#;
    let plan = |more: &str| {
        format!(
            "kind: ingest\nname: orders\nsource:\n  command: {{ run: [printf, '{lines}'] }}\nkey: id\n\
             destination:\n  sqlite: {{ path: orders.db }}\n{more}"
        )
    };
    place.write("plan.yaml", &plan(""));
    run(&place).ended_with(0);
    assert_eq!(number(&place, "SELECT count(*) FROM orders"), 2);
    let reasons =
        "SELECT count(*) FROM _windrow_rejected WHERE reason LIKE '%key field \"id\"%' OR reason LIKE '%object%'";
    assert_eq!(number(&place, reasons), 2);
    place.write("plan.yaml", &plan("max_rejected: 1\n"));
    let said = run(&place);
    assert_ne!(said.code, 0);
    assert!(said.stdout.contains("2 of 4 records were rejected"), "{}", said.stdout);
}

#[test]
fn an_invalid_file_names_line_and_error() {
    let place = Place::empty();
    for (file, said) in [
        ("source: { rst: { url: x } }\ndestination: { sqlite: { path: a } }", "did you mean `rest`"),
        ("source: { rest: { url: \"ftp://x\" } }\ndestination: { sqlite: { path: a } }", "http:// or https://"),
        (
            "source: { rest: { url: \"http://x\", records: \"$[\" } }\ndestination: { sqlite: { path: a } }",
            "not a JSONPath",
        ),
        ("source: { rest: { url: \"http://x\" } }\ndestination: { sqlite: { pth: a } }", "did you mean `path`"),
        (
            "source: { rest: { url: \"http://x\" } }\ndestination: { sqlite: { path: a } }\nslices: { keys: { from: 5, to: 1, every: 1 } }",
            "`to` must be above",
        ),
        (
            "source: { rest: { url: \"http://x\" } }\ndestination: { sqlite: { path: a } }\nmax_rejected: many",
            "number of records",
        ),
        (
            "source: { rest: { url: \"http://x\", auth: { bearer: a, basic: { user: b } } } }\ndestination: { sqlite: { path: a } }",
            "more than one way",
        ),
        ("destination: { sqlite: { path: a } }", "`source` is missing"),
        (
            "source: { rest: { url: \"http://x\" } }\ndestination: { sqlite: { path: a } }\nworker: mine",
            "an ingest job has no `worker`",
        ),
        (
            "source: { rest: { url: \"http://x\" } }\ndestination: { sqlite: { path: a } }\ntimeout: 5s",
            "source.rest.timeout",
        ),
    ] {
        place.write("plan.yaml", &format!("kind: ingest\nname: orders\n{file}\n"));
        let checked = place.windrow(&["check", "plan.yaml"]);
        assert!(checked.code != 0 && checked.stderr.contains(said), "{file}\n{}", checked.stderr);
    }
}

#[test]
fn experiment_flags_are_rejected_for_other_kinds() {
    let place = Place::empty();
    place.write(
        "plan.yaml",
        "kind: ingest\nname: orders\nsource: { rest: { url: \"http://127.0.0.1:1\" } }\ndestination: { sqlite: { path: a.db } }\n",
    );
    for flag in ["--dry-run", "--rescore", "--online"] {
        let said = place.windrow(&["run", "plan.yaml", flag]).ended_with(2);
        assert!(said.stderr.contains(&format!("`{flag}` works only for experiments")), "{}", said.stderr);
    }
}
