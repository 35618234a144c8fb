//! What an operator watches in the web UI, in a real browser against the real binary: rejected records that are replayed,
//! alerts that are acknowledged, schedules that are paused, and the audit log by who, what and when (I7, T7, T12, E10).

use serde_json::json;

use crate::admin_pages::{DIALOG_GONE, WIDE};
use crate::browser::Browser;
use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::ingest::number;
use crate::place::{Place, wait_until};

/// Forty records; of the last twenty, `amount` does not fit the declared column. A second run has a plan without it.
fn with_rejected_records() -> Place {
    let place = Place::empty();
    let line = |id: i64| match id <= 20 {
        true => json!({ "id": id, "amount": id }),
        false => json!({ "id": id, "amount": format!("{id} EUR") }),
    };
    let lines: Vec<String> = (1..=40).map(|id| line(id).to_string() + "\n").collect();
    place.write("rows.jsonl", &lines.concat());
    for columns in ["columns: { amount: integer }\n", ""] {
        let plan = format!(
            "kind: ingest\nname: orders\nsource:\n  files: {{ path: rows.jsonl }}\nkey: id\n\
             destination:\n  sqlite: {{ path: orders.db }}\n{columns}"
        );
        place.write("plan.yaml", &plan);
        place.windrow(&["run", "plan.yaml", "--quiet"]).ended_with(0);
    }
    place
}

#[test]
fn rejected_records_are_read_and_replayed() {
    let place = with_rejected_records();
    let rows = || number(&place, "SELECT count(*) FROM orders");
    assert_eq!(rows(), 20);
    let server = Served::start(&place, &[]);
    let mut browser = Browser::open(&format!("{}/jobs/orders?range=all", server.url()));
    browser.wait_for_text("Schema: orders.amount integer → text, rejected");
    browser.wait_for_text("Definition changed");
    browser.wait_for_text("\"amount\": 21 EUR");
    browser.click("[aria-label='Checkpoint 1 of all']");
    browser.wait_for("the checkpoint", "location.search.includes('version=1')");
    browser.click("[aria-label='Select rejected record 1']");
    browser.press("Replay 1…");
    browser.wait_for_text("Replay 1 rejected record?");
    browser.press("Replay");
    browser.wait_for("the dialog to close", DIALOG_GONE);
    wait_until("the record", || rows() == 21);
    for (dark, width) in [(false, 1440), (true, 1024), (false, 390)] {
        browser.prefer_dark(dark);
        browser.resize(width, 900);
        assert_eq!(browser.inaccessible(), [""; 0], "{width} px, dark: {dark}");
        assert_eq!(browser.evaluate(WIDE), false, "wider than {width} px");
    }
    browser.resize(1440, 900);
    browser.press("Replay all…");
    browser.press("Replay");
    browser.wait_for_text("19 records written");
    browser.wait_for_text("No rejected records");
    assert_eq!(rows(), 40);
    assert_eq!(browser.complaints, [json!(null); 0]);
}

#[test]
fn an_alert_is_acknowledged_and_stays_active() {
    let (place, endpoint) = (Place::empty(), Endpoint::gated(0));
    let server = Served::start(&place, &["--threshold", "slow_run=100ms", "--watch-every", "50ms"]);
    server.submit(&place.served_job("stuck", &endpoint, 8, 2)).with_status(201);
    let active = || server.get("/api/v1/alerts").with_status(200).json()["active"].clone();
    wait_until("an alert", || active()[0]["rule"] == "slow_run");
    let mut browser = Browser::open(&format!("{}/health", server.url()));
    browser.wait_for_text("active now, 1 not acknowledged");
    browser.press("Acknowledge");
    browser.wait_for("who did it", "document.querySelector('td:last-child')?.innerText.startsWith('by ')");
    assert_eq!(browser.inaccessible(), [""; 0]);
    let alert = active()[0].clone();
    assert!(!alert["acknowledged_at"].is_null() && alert["cleared_at"].is_null(), "{alert}");
    let id = alert["id"].as_str().unwrap();
    let again = server.post(&format!("/api/v1/alerts/{id}/acknowledge")).with_status(200).json();
    assert_eq!(again["acknowledged_at"], alert["acknowledged_at"], "the first one stays noted");
    let unknown = "alr_0000000000000";
    server.post(&format!("/api/v1/alerts/{unknown}/acknowledge")).with_status(404);
    let said = place.windrow(&["alerts", "--acknowledge", id]).ended_with(0).stdout;
    assert!(said.contains("acknowledged by"), "{said}");
    endpoint.open_gate();
    server.wait_for_state("stuck", "completed");
    assert_eq!(browser.complaints, [json!(null); 0]);
}

#[test]
fn a_schedule_is_paused_and_resumed_and_the_log_says_who_did_it() {
    let (place, endpoint) = (Place::empty(), Endpoint::open());
    let server = Served::start(&place, &[]);
    for job in ["nightly", "hourly"] {
        server.submit(&place.served_job(job, &endpoint, 2, 2)).with_status(201);
        server.wait_for_state(job, "completed");
    }
    let schedule = |job: &str, body: serde_json::Value| {
        let (path, kind) = (format!("/api/v1/jobs/{job}/schedule"), ["Content-Type: application/json"]);
        server.ask("PUT", &path, &kind, &body.to_string()).with_status(200).json()
    };
    let hourly = schedule("hourly", json!({ "cron": "0 * * * *" }));
    assert_eq!((hourly["upcoming"].as_array().unwrap().len(), &hourly["upcoming"][0]), (5, &hourly["next_at"]));
    schedule("nightly", json!({ "cron": "tz=Europe/Berlin 0 3 * * *" }));
    let nightly = || server.get("/api/v1/jobs/nightly").with_status(200).json()["schedule"].clone();
    let mut browser = Browser::open(&format!("{}/schedules", server.url()));
    browser.click("[aria-label='Pause schedule of nightly']");
    browser.wait_for("the pause", "!!document.querySelector(\"[aria-label='Resume schedule of nightly']\")");
    assert_eq!(nightly(), json!({ "cron": "tz=Europe/Berlin 0 3 * * *", "next_at": null, "paused": true }));
    assert_eq!(browser.inaccessible(), [""; 0]);
    // A run that ends meanwhile sets no next time.
    server.post_json("/api/v1/jobs/nightly/rescore", &json!({})).with_status(201);
    server.wait_for_state("nightly", "completed");
    assert_eq!(nightly()["next_at"], json!(null));
    browser.click("[aria-label='Resume schedule of nightly']");
    browser.wait_for("the next time", "!!document.querySelector(\"[aria-label='Pause schedule of nightly']\")");
    assert!(nightly()["next_at"].is_string(), "{}", nightly());

    browser.go(&format!("{}/audit?q=NIGHTLY/schedule", server.url()));
    let rows = "document.querySelectorAll('[role=grid] .body [role=row]').length";
    browser.wait_for("three changes of the schedule", &format!("{rows} === 3"));
    browser.press("Refused");
    browser.wait_for_text("No entry matches");
    browser.press("Done");
    browser.wait_for("the entries", &format!("{rows} === 3"));
    browser.go(&format!("{}/audit?since=2099-01-01T00:00", server.url()));
    browser.wait_for_text("No entry matches");
    let none = place.windrow(&["audit", "--until", "2020-01-01T00:00:00Z"]).ended_with(0).stdout;
    assert!(none.contains("No entries"), "{none}");
    assert_eq!(browser.complaints, [json!(null); 0]);
}
