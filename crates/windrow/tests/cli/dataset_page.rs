//! Datasets in a real browser: rows by drop, versions, what changed between them, rows of any number, and paper (X1).

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::Place;

const ROWS: &str =
    "[...document.querySelectorAll('[role=grid][aria-label=Rows] .body [role=row]')].map(row => row.innerText)";
const SHOWN: &str = "document.querySelectorAll('[role=grid][aria-label=Items] .body [role=row]').length";

fn lines(rows: impl IntoIterator<Item = Value>) -> String {
    rows.into_iter().map(|row| format!("{row}\n")).collect()
}

/// Drops a file onto the place for it.
fn drop_file(browser: &mut Browser, name: &str, text: &str) {
    browser.wait_for("a place to drop", "!!document.querySelector('button.drop:not(:disabled)')");
    let file = format!("new File([{}], {})", json!(text), json!(name));
    browser.evaluate(&format!(
        "(() => {{ const dataTransfer = new DataTransfer(); dataTransfer.items.add({file}); \
         document.querySelector('button.drop').dispatchEvent(new DragEvent('drop', \
         {{ dataTransfer, bubbles: true, cancelable: true }})) }})()"
    ));
    browser.press(&format!("Import {name}"));
}

#[test]
fn a_dropped_file_becomes_a_dataset_and_its_next_version_a_diff() {
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let mut browser = Browser::open(&format!("{}/datasets", server.url()));
    browser.wait_for_text("No datasets yet");
    drop_file(&mut browser, "broken.jsonl", "{\"n\": 1}\nno json\n");
    browser.wait_for_text("line 2");
    assert_eq!(server.get("/api/v1/datasets").json()["datasets"], json!([]), "nothing was stored");
    drop_file(&mut browser, "numbers.jsonl", &lines((0..2_000).map(|n| json!({ "n": n, "id": n }))));
    browser.wait_for_text("Imported 2,000 rows as v1");
    browser.wait_for("the first rows", &format!("{ROWS}.length > 5 && {ROWS}[0].startsWith('1')"));
    assert_eq!(browser.evaluate("document.querySelector('[role=grid]').getAttribute('aria-rowcount')"), "2001");
    let end = format!("scrollTo(0, document.documentElement.scrollHeight), {ROWS}.some(row => /^2,000\\s/.test(row))");
    browser.wait_for("the last row", &end);
    assert!(browser.evaluate(&format!("{ROWS}.length")).as_i64().unwrap() < 200, "only rows in sight are in the page");

    let changed = (0..2_001).map(|n| json!({ "n": if n == 7 { -7 } else { n }, "id": n }));
    drop_file(&mut browser, "numbers.jsonl", &lines(changed));
    browser.wait_for_text("as v2");
    browser.wait_for("what changed", "/[12] added/.test(document.body.innerText.replace(/\\s+/g, ' '))");
    for dark in [false, true] {
        browser.prefer_dark(dark);
        assert_eq!(browser.inaccessible(), [""; 0], "dataset, dark: {dark}");
    }
    assert_eq!(browser.complaints, [json!(null); 0]);
}

#[test]
fn results_are_printed_with_all_their_rows() {
    let (place, endpoint) = (Place::empty(), Endpoint::open());
    let job = place.served_job("counted", &endpoint, 250, 16);
    let server = Served::start(&place, &[]);
    server.submit(&job).with_status(201);
    server.wait_for_state("counted", "completed");
    let mut browser = Browser::open(&format!("{}/jobs/counted", server.url()));
    browser.wait_for("rows", &format!("{SHOWN} > 5"));
    assert!(browser.evaluate(SHOWN).as_i64().unwrap() < 100, "only rows in sight are in the page");
    browser.evaluate("window.print = () => { window.printed = true; dispatchEvent(new Event('beforeprint')) }");
    browser.press("Print");
    browser.wait_for("all rows", &format!("window.printed === true && {SHOWN} === 250"));
    browser.evaluate("dispatchEvent(new Event('afterprint'))");
    browser.wait_for("those in sight", &format!("{SHOWN} < 100"));
    assert_eq!(browser.complaints, [json!(null); 0]);
}
