//! The editor of job files in a real browser: it completes what the server knows, in every place of every kind, and
//! shows errors below their line (X1).

use serde_json::json;

use crate::browser::Browser;
use crate::client::Served;
use crate::place::Place;

const EDITOR: &str = "document.querySelector('.host')?.shadowRoot";
const OFFERED: &str = "[...document.querySelector('.host').shadowRoot.querySelectorAll('.cm-tooltip-autocomplete li')].map(li => li.innerText)";

/// Writes a file from its start to the cursor, and asks what can follow.
fn offered(browser: &mut Browser, file: &str) -> Vec<String> {
    browser.press_key("Escape");
    browser.press_key("Ctrl+a");
    browser.insert(file);
    let last = file.lines().last().unwrap().trim();
    browser.wait_for("the file", &format!("{EDITOR}.querySelector('.cm-content').innerText.includes({})", json!(last)));
    browser.press_key("Ctrl+ ");
    browser.wait_for(&format!("what can follow {file:?}"), &format!("{OFFERED}.length > 0"));
    serde_json::from_value(browser.evaluate(OFFERED)).unwrap()
}

#[test]
fn the_editor_completes_every_kind_of_job_from_what_the_server_knows() {
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let mut browser = Browser::open(&format!("{}/jobs/new?example=capitals", server.url()));
    browser.wait_for("the editor", &format!("!!{EDITOR}?.querySelector('.cm-content')"));
    let inside = format!("!!{EDITOR}?.activeElement?.className.includes('cm-content')");
    browser.tab_to("the editor", &inside);
    let cases: [(&str, &[&str]); 7] = [
        ("kind: ", &["experiment", "operation", "ingest"]),
        ("kind: experiment\nname: a\nev", &["evaluators"]),
        ("kind: experiment\nname: a\ntarget:\n  openai:\n    model: m\n    te", &["temperature"]),
        ("kind: experiment\nname: a\nevaluators:\n  - judge: { ru", &["rubric"]),
        ("kind: operation\nname: a\nstrategy:\n  on_failure: ", &["stop", "pause", "rollback"]),
        ("kind: operation\nname: a\naction:\n  kaf", &["kafka-connect"]),
        ("kind: ingest\nname: a\ndestination: { cl", &["clickhouse"]),
    ];
    for (file, expected) in cases {
        let found = offered(&mut browser, file);
        for name in expected {
            assert!(found.iter().any(|other| other == name), "no {name} in {found:?} after {file:?}");
        }
    }
    offered(&mut browser, "kind: ingest\nname: a\nkey: id\nslic");
    // CodeMirror takes no choice in the first 75 ms of a list, which nobody has read yet.
    std::thread::sleep(std::time::Duration::from_millis(200));
    browser.press_key("Enter");
    browser.wait_for("the name", &format!("{EDITOR}.querySelector('.cm-content').innerText.includes('slices: ')"));
    browser.press_key("Ctrl+a");
    browser.insert("kind: operation\nname: a\nstrategy:\n  on_failure: explode\n");
    let below = "document.querySelector('.host').shadowRoot.querySelector('.cm-content').innerText";
    browser.wait_for(
        "the error below its line",
        &format!("/on_failure: explode\\s+[^]*unknown word \"explode\"/.test({below})"),
    );
    assert_eq!(browser.complaints, [json!(null); 0]);
}
