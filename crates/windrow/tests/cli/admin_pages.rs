//! What an operator and an administrator do in the web UI, in a real browser against the real binary: an operation from
//! its plan to the rollback of one wave, an ingest from its lineage to a backfill, keys, webhooks, backups, and the API
//! explorer (X1, B13).

use serde_json::json;

use crate::browser::Browser;
use crate::bulk::write_job;
use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::ingest::{BY_TOKEN, write_plan};
use crate::mock_connect::MockConnect;
use crate::mock_source::MockSource;
use crate::pages::edit;
use crate::place::{Place, wait_until};
use crate::receiver::Receiver;

const TWO_TASKS: &str = "do: change_config\n    set: { tasks.max: \"2\" }";
pub const WIDE: &str = "document.documentElement.scrollWidth > document.documentElement.clientWidth";
pub const DIALOG_GONE: &str = "!document.querySelector('dialog[open]')";

/// Fills a field by its id.
fn fill(browser: &mut Browser, id: &str, text: &str) {
    browser.wait_for(id, &format!("!!document.getElementById({})", json!(id)));
    browser.evaluate(&format!("document.getElementById({}).focus()", json!(id)));
    browser.type_text(text);
}

/// Accessible and no wider than the window: at a desk, on a tablet and on a phone, light and dark.
fn fits(browser: &mut Browser, what: &str) {
    for (dark, width) in [(false, 1440), (true, 1440), (true, 1024), (false, 390), (true, 390)] {
        browser.prefer_dark(dark);
        browser.resize(width, 900);
        assert_eq!(browser.inaccessible(), [""; 0], "{what}: {width} px, dark: {dark}");
        assert_eq!(browser.evaluate(WIDE), false, "{what} is wider than {width} px");
    }
    browser.prefer_dark(false);
    browser.wide();
}

fn read(place: &Place, file: &str) -> String {
    std::fs::read_to_string(place.path(file)).unwrap()
}

#[test]
fn an_operation_is_planned_approved_stopped_by_its_cap_and_one_wave_rolled_back() {
    let place = Place::empty();
    // The tasks of the connectors 1, 2 and 4 fail after the change.
    let connect = MockConnect::start(&place, &["--connectors", "12", "--broken", "0.25"]);
    write_job(&place, &connect, TWO_TASKS, "{ waves: [1, 4, 7], approval: each, max_failed: 3 }");
    let server = Served::start(&place, &[]);
    let mut browser = Browser::open(&format!("{}/jobs/new", server.url()));
    edit(&mut browser, &read(&place, "job.yaml"));
    browser.press("Preview the changes");
    browser.wait_for_text("12 to change, 0 up to date, 0 invalid");
    browser.wait_for_text("Stops when 3 may have failed; targets in flight are counted.");
    let lines = "[...document.querySelectorAll('.diff .old, .diff .new')].map(line => line.textContent.trim())";
    let shown = browser.evaluate(lines).to_string();
    assert!(shown.contains(r#"\"tasks.max\": \"1\""#) && shown.contains(r#"\"tasks.max\": \"2\""#), "{shown}");
    browser.press("Whole");
    browser.wait_for_text("database.password");
    assert!(!browser.text().contains("0ld-mysql-pass"), "passwords are masked");
    browser.wait_for_text("12 of this kind");
    fits(&mut browser, "plan");
    assert_eq!(connect.calls("config"), 0, "nothing was changed");

    browser.press("Run");
    browser.wait_for_text("Wave 2 waits for approval");
    browser.wait_for_text("at most 3 may fail");
    browser.press("Approve wave 2…");
    browser.press("Approve wave 2");
    browser.wait_for_text("reached");
    browser.wait_for_text("3 of 3 may have failed");
    browser
        .wait_for("the run to end", "[...document.querySelectorAll('button')].some(b => b.innerText === 'Roll back…')");
    let tasks = |name: &str| connect.get(&format!("/east/connectors/{name}/config"))["tasks.max"].clone();
    assert_eq!(
        (tasks("orders-0000"), tasks("orders-0003"), tasks("orders-0005")),
        (json!("2"), json!("2"), json!("1"))
    );

    // Failed first, and each counter filters.
    let rows =
        "[...document.querySelectorAll('[role=grid][aria-label=Targets] .body [role=row]')].map(r => r.innerText)";
    browser.wait_for("failed first", &format!("{rows}.slice(0, 3).every(row => row.includes('fail'))"));
    browser.press("3 failed");
    browser.wait_for("the failed ones only", &format!("{rows}.length === 3"));
    browser.press("All targets");
    fits(&mut browser, "operation");
    // A target that failed shows what it should have become.
    browser.evaluate("document.querySelector('[role=grid][aria-label=Targets] .body [role=row]').click()");
    browser.wait_for_text("before → wanted, not verified");
    let drawn = browser.evaluate("document.querySelector('.drawer .diff').textContent").to_string();
    assert!(drawn.contains(r#"\"tasks.max\": \"2\""#), "{drawn}");
    browser.press_key("Escape");

    browser.click("[aria-label='Roll back wave 1']");
    browser.wait_for_text("Roll back 1 target of wave 1?");
    browser.press("Roll back 1");
    wait_until("the first wave to be restored", || tasks("orders-0000") == "1");
    browser.wait_for_text("rollback_success");
    assert_eq!(tasks("orders-0003"), "2", "the second wave stays as it is");
    assert_eq!(browser.complaints, [json!(null); 0]);
}

#[test]
fn a_lineage_is_walked_to_its_schedule_a_checkpoint_edited_and_restored_and_slices_fetched_again() {
    let place = Place::empty();
    let source = MockSource::start(&place, &["--records", "1000", "--page-size", "100"]);
    write_plan(&place, &source, "records", BY_TOKEN, "");
    let server = Served::start(&place, &[]);
    server.submit(&read(&place, "plan.yaml")).with_status(201);
    wait_until("the run to end", || !server.get("/api/v1/jobs/orders").json()["latest_run"]["ended_at"].is_null());
    let cron = json!({ "cron": "0 6 * * *" }).to_string();
    server.ask("PUT", "/api/v1/jobs/orders/schedule", &["Content-Type: application/json"], &cron).with_status(200);

    let mut browser = Browser::open(&format!("{}/jobs/orders?batch=4", server.url()));
    browser.wait_for_text("Page 4");
    // By keyboard, from the batch to the plan.
    browser.evaluate("document.querySelector('section[aria-label=Batches] a.current').focus()");
    for level in ["Runs", "Task", "Slices", "Plan"] {
        browser.press_key("h");
        browser.wait_for(level, &format!("document.activeElement.closest('section').ariaLabel === {}", json!(level)));
    }
    browser.press("0 6 * * *");
    browser.wait_for_text("Scheduled jobs");
    browser.press("orders");

    browser.wait_for_text("slice all");
    browser.press("Edit…");
    fill(&mut browser, "position", "\"tok-edited\"");
    browser.press("Save the checkpoint");
    browser.wait_for("the dialog to close", DIALOG_GONE);
    browser.wait_for_text("Checkpoint of all edited");
    let newest = || server.get("/api/v1/jobs/orders/checkpoints").json()["checkpoints"][0].clone();
    wait_until("the edit", || newest()["position"] == "tok-edited");
    browser.go(&format!("{}/jobs/orders?version=3", server.url()));
    browser.press("Restore…");
    browser.press("Restore");
    browser.wait_for("the dialog to close", DIALOG_GONE);
    wait_until("the restored position", || newest()["cause"] == "restore" && newest()["position"] != "tok-edited");
    browser.press("All");
    browser.wait_for_text("Checkpoint of all edited");
    browser.wait_for_text("Checkpoint of all restored");

    let pages = source.pages();
    browser.press("Backfill…");
    fits(&mut browser, "backfill");
    browser.wait_for_text("1 slice will be fetched again. Their last runs fetched 1,000 records.");
    browser.press("Start the backfill");
    browser.wait_for_text("Run 2, fail_retry");
    wait_until("the backfill", || source.pages() >= pages + 10);
    browser.wait_for_text("of 10 batches");
    fits(&mut browser, "ingest");
    assert_eq!(browser.complaints, [json!(null); 0]);
}

#[test]
fn a_key_is_created_shown_once_and_a_viewer_may_not_administer() {
    let place = Place::empty();
    let admin = place.windrow(&["keys", "create", "ann", "--role", "admin"]).ended_with(0).stdout;
    let server = Served::start(&place, &[]);
    let mut browser = Browser::open(&format!("{}/settings", server.url()));
    browser.wait_for("the form", "document.activeElement.id === 'key'");
    browser.type_text(admin.trim());
    browser.press("Sign in");
    browser.press("New key…");
    fill(&mut browser, "key-name", "eve");
    browser.press("Create the key");
    browser.wait_for_text("is shown only once");
    let key = browser.evaluate("document.querySelector('.made pre').innerText").as_str().unwrap().to_owned();
    browser.press("Hide it");
    browser.wait_for("the key to be gone", &format!("!document.body.innerText.includes({})", json!(key)));

    browser.evaluate("fetch('/api/v1/session', { method: 'DELETE' }).then(() => { window.out = true }); undefined");
    browser.wait_for("the end of the session", "window.out === true");
    browser.go(&format!("{}/settings/api?op=make_backup", server.url()));
    browser.wait_for("the form", "document.activeElement.id === 'key'");
    browser.type_text(&key);
    browser.press("Sign in");
    let why = "Requires the role admin; you are viewer";
    browser.wait_for_text(why);
    browser.wait_for("Send to be off", "document.querySelector('form button[type=submit]').disabled");
    browser.go(&format!("{}/settings/api?op=get_session", server.url()));
    browser.press("Send");
    browser.wait_for_text("200 OK");
    browser.wait_for_text("\"role\": \"viewer\"");
    for path in ["/settings", "/settings/webhooks", "/settings/backups", "/audit"] {
        browser.go(&format!("{}{path}", server.url()));
        browser.wait_for_text("Use another key");
    }
    assert_eq!(browser.complaints, [json!(null); 0]);
}

#[test]
fn webhooks_are_tested_and_redelivered_and_backups_made_and_verified() {
    let (place, receiver) = (Place::empty(), Receiver::start());
    let server = Served::start(&place, &[]);
    let mut browser = Browser::open(&format!("{}/settings/webhooks", server.url()));
    browser.wait_for_text("No webhooks");
    browser.press("New webhook…");
    fill(&mut browser, "hook-url", &receiver.url);
    fill(&mut browser, "hook-events", "run.*");
    browser.press("Create the webhook");
    browser.wait_for_text("is shown only once");
    browser.press("Hide it");
    browser.press("Send a test");
    browser.wait_for_text("test: 204");

    let endpoint = Endpoint::open();
    server.submit(&place.served_job("counted", &endpoint, 2, 2)).with_status(201);
    receiver.wait_for("run.completed");
    let before = receiver.received().len();
    browser.press("Delivered");
    browser.wait_for_text("run.completed");
    browser.press("Redeliver");
    wait_until("the delivery", || receiver.received().len() > before);

    browser.press("Backups");
    browser.wait_for_text("No backups yet");
    browser.press("Back up now");
    browser.wait_for_text("windrow-20");
    browser.press("Verify");
    browser.wait_for_text("complete: ");
    let made = server.get("/api/v1/backups").with_status(200).json();
    let name = made["backups"][0]["name"].as_str().unwrap().to_owned();
    let file = place.path(".windrow/backups").join(&name);
    assert!(file.is_file(), "{}", file.display());
    std::fs::write(&file, "not a backup").unwrap();
    browser.press("Verify");
    browser.wait_for_text("invalid backup");
    server.post("/api/v1/backups/windrow-nothing.tar.zst/verify").with_status(404);
    assert_eq!(browser.complaints, [json!(null); 0]);
}

#[test]
fn administration_pages_are_accessible_and_fit_a_phone() {
    let (place, receiver) = (Place::empty(), Receiver::start());
    let server = Served::start(&place, &[]);
    server.post_json("/api/v1/webhooks", &json!({ "url": receiver.url, "events": ["*"] })).with_status(201);
    server.post("/api/v1/backups").with_status(201);
    let mut browser = Browser::open(&server.url());
    let pages = [
        ("/settings", "API keys"),
        ("/settings/webhooks", "Nothing was sent yet"),
        ("/settings/limits", "No active runs"),
        ("/settings/backups", "Verify"),
        ("/settings/api?op=create_task", "Create a task"),
        ("/schedules", "No scheduled jobs"),
        ("/health", "No active alerts"),
        ("/audit", "/api/v1/backups"),
    ];
    for (path, text) in pages {
        browser.go(&format!("{}{path}", server.url()));
        browser.wait_for_text(text);
        fits(&mut browser, path);
    }
    assert_eq!(browser.complaints, [json!(null); 0]);
}

#[test]
fn a_target_that_somebody_else_changed_is_shown_and_overwritten_only_when_forced() {
    let place = Place::empty();
    let connect = MockConnect::start(&place, &["--connectors", "3"]);
    write_job(&place, &connect, TWO_TASKS, "{ waves: [3] }");
    place.windrow(&["run", "job.yaml", "--quiet"]).ended_with(0);
    let path = "/east/connectors/orders-0001/config";
    let mut config = connect.get(path);
    config["tasks.max"] = json!("9");
    connect.put(path, &config);
    let server = Served::start(&place, &[]);
    let mut browser = Browser::open(&format!("{}/jobs/change", server.url()));
    browser.press("Roll back…");
    browser.press("Roll back 3");
    browser.wait_for_text("1 target changed after the operation and was not overwritten.");
    assert_eq!(connect.get(path)["tasks.max"], "9");
    let others = || connect.get("/east/connectors/orders-0000/config")["tasks.max"].clone();
    wait_until("the others to be restored", || others() == "1");
    browser.press("orders-0001");
    browser.wait_for_text("What somebody else changed");
    let drawn = "[...document.querySelectorAll('.drawer .diff')].map(diff => diff.textContent)";
    let drawn = browser.evaluate(drawn).to_string();
    assert!(drawn.contains(r#"\"tasks.max\": \"9\""#) && drawn.contains(r#"\"tasks.max\": \"1\""#), "{drawn}");
    fits(&mut browser, "conflict");
    browser.press_key("Escape");
    browser.press("Overwrite 1…");
    browser.wait_for_text("are lost");
    browser.press("Roll back 1");
    wait_until("the target to be restored", || connect.get(path)["tasks.max"] == "1");
    assert_eq!(browser.complaints, [json!(null); 0]);
}

#[test]
fn limits_of_a_run_change_while_it_works() {
    let (place, endpoint) = (Place::empty(), Endpoint::gated(0));
    let server = Served::start(&place, &["--quota", "4"]);
    server.submit(&place.served_job("counted", &endpoint, 12, 2)).with_status(201);
    let run = || server.get("/api/v1/jobs/counted").json()["latest_run"].clone();
    wait_until("two items at work", || run()["items"]["running"] == 2);
    let mut browser = Browser::open(&format!("{}/settings/limits", server.url()));
    browser.wait_for_text("2 of 2");
    browser.wait_for_text("1 of 4");
    browser.click("[aria-label='Change the limits of counted']");
    fits(&mut browser, "limits");
    fill(&mut browser, "limits-concurrency", "none");
    browser.wait_for_text("Concurrency must be a whole number above 0");
    fill(&mut browser, "limits-concurrency", "5");
    fill(&mut browser, "limits-cap", "9");
    browser.press("Change the limits");
    browser.wait_for("the dialog to close", DIALOG_GONE);
    browser.wait_for_text("5 of 5");
    browser.wait_for_text("0 of 9");
    assert_eq!((&run()["concurrency"], &run()["max_failed"]), (&json!(5), &json!(9)));
    wait_until("five calls", || endpoint.questions() == 5);
    endpoint.open_gate();
    server.wait_for_state("counted", "completed");
    browser.wait_for_text("No active runs");
    assert_eq!(browser.complaints, [json!(null); 0]);
}
