//! The results of an experiment in a real browser, against the real binary: regressions by a click, the diff of an item,
//! retry, export, facets, groups and charts, and the same by keyboard alone (X1, X2).

use serde_json::json;

use crate::browser::Browser;
use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::Place;

const ITEMS: &str =
    "[...document.querySelectorAll('[role=grid][aria-label=Items] .body [role=row]')].map(row => row.innerText)";
const FILTER: &str = "new URLSearchParams(location.search).get('q')";
const CHANGED: &str = "[...document.querySelectorAll('.drawer del, .drawer ins')].map(part => part.innerText)";

/// Two runs of one job: the second asks another question, so that all rows but the first get a wrong answer.
fn regressed(place: &Place, endpoint: &Endpoint) -> Served {
    let job = place.served_job("counted", endpoint, 6, 4);
    let server = Served::start(place, &[]);
    for prompt in ["{{ n }}", "0"] {
        let file = job.replace("prompt: \"{{ n }}\"", &format!("prompt: \"{prompt}\""));
        server.submit(&file).with_status(201);
        server.wait_for_state("counted", "completed");
    }
    server
}

fn accessible(browser: &mut Browser, what: &str) {
    for dark in [true, false] {
        browser.prefer_dark(dark);
        assert_eq!(browser.inaccessible(), [""; 0], "{what}, dark: {dark}");
    }
}

#[test]
fn regressions_are_found_by_a_click_read_as_a_diff_retried_and_exported() {
    let (place, endpoint) = (Place::empty(), Endpoint::open());
    let server = regressed(&place, &endpoint);
    let mut browser = Browser::open(&format!("{}/jobs/counted", server.url()));
    browser.wait_for_text("5 regressed");
    browser.wait_for("all rows", &format!("{ITEMS}.length === 6"));
    let first = browser.evaluate(&format!("{ITEMS}[0]"));
    assert!(first.as_str().unwrap().contains("−1.00"), "the largest regression is first: {first}");
    assert_eq!(browser.evaluate("document.querySelector('[role=grid]').getAttribute('aria-rowcount')"), "7");
    accessible(&mut browser, "results");

    browser.press("5 regressed");
    browser.wait_for("the regressed rows", &format!("{ITEMS}.length === 5"));
    assert_eq!(browser.evaluate(FILTER), "change.exact = regressed");
    browser.wait_for_text("5 of 6 rows");
    assert!(browser.text().contains("0 improved"), "the strip is about all rows");

    browser.click("[role=grid] .body [role=row]");
    browser.wait_for_text("1 part removed, 1 part added");
    assert_eq!(browser.evaluate(&format!("{CHANGED}.length")), 2);
    browser.wait_for_text("Reason, this run");
    accessible(&mut browser, "diff");
    for (tab, text) in [("Scores", "expected"), ("Trace", "Span"), ("History", "pass 1, fail 1, error 0")] {
        browser.press(tab);
        browser.wait_for_text(text);
    }
    accessible(&mut browser, "history");
    browser.press("Retry item");
    browser.wait_for_text("1 new");
    let latest = &server.get("/api/v1/jobs/counted").json()["latest_run"];
    assert_eq!(
        (&latest["mode"], &latest["items"]["total"]),
        (&json!("fail_retry"), &json!(1)),
        "no other item was repeated"
    );
    browser.press_key("Escape");
    browser.wait_for("the drawer to close", "!document.querySelector('.drawer')");
    browser.press_key("r");
    browser.wait_for("the new rows", "!document.body.innerText.includes('1 new')");

    browser.click("[aria-label='Select row 2']");
    browser.click("[aria-label='Select row 3']");
    browser.wait_for_text("2 selected");
    browser.click(".bar [aria-label='Export the selection']");
    browser.wait_for_text("JSON lines");
    let link = "[...document.querySelectorAll('.bar [role=menuitem]')].find(a => a.innerText === 'JSON lines')";
    let path = browser.evaluate(&format!("{link}.pathname + {link}.search")).as_str().unwrap().to_owned();
    assert_eq!(server.get(&path).with_status(200).body.lines().count(), 2, "{path}");
    browser.press_key("Escape");
    browser.press("Add to dataset…");
    browser.wait_for("the field", "!!document.querySelector('dialog input')");
    browser.evaluate("document.querySelector('dialog input').focus()");
    browser.insert("hard-rows");
    browser.press("Add 2");
    browser.wait_for_text("Added 2 rows to hard-rows");
    assert_eq!(server.get("/api/v1/datasets/hard-rows").json()["sample"], json!([{"n": 1}, {"n": 2}]));
    assert_eq!(browser.complaints, [json!(null); 0]);
}

#[test]
fn facets_groups_charts_and_a_baseline_are_in_the_address() {
    let (place, endpoint) = (Place::empty(), Endpoint::open());
    let server = regressed(&place, &endpoint);
    let mut browser = Browser::open(&format!("{}/jobs/counted", server.url()));
    browser.wide();
    browser.click("aside [aria-label=outcome] button");
    browser.wait_for("the facet in the filter", &format!("{FILTER} === 'outcome = fail'"));
    browser.wait_for("the rows that failed", &format!("{ITEMS}.length === 5"));
    assert_eq!(browser.evaluate("document.querySelector('aside .set .number').innerText"), "5");
    browser.click("aside [aria-label=outcome] .set");
    browser.wait_for("all rows", &format!("{FILTER} === null && {ITEMS}.length === 6"));

    browser.press("Grouped");
    browser.wait_for("groups", "document.querySelectorAll('[aria-label=\"Groups by outcome\"] tbody tr').length === 2");
    accessible(&mut browser, "groups");
    browser.press("pass");
    browser.wait_for("the rows of the group", &format!("{ITEMS}.length === 1 && {FILTER} === 'outcome = pass'"));
    browser.go(&format!("{}/jobs/counted", server.url()));
    browser.press("Chart");
    browser.wait_for_text("exact, row by row");
    accessible(&mut browser, "charts");
    browser.click("[aria-label='Distribution of exact'] a");
    browser.wait_for("the bar in the filter", &format!("{FILTER} === 'score.exact <= 0.1'"));

    browser.go(&format!("{}/jobs/counted?vs=none&rows=diff", server.url()));
    browser.wait_for(
        "no baseline",
        "document.body.innerText.includes('5 fail') && !document.body.innerText.includes('regressed')",
    );
    browser.wait_for("diff rows", "document.querySelectorAll('[role=grid] del').length > 0");
    accessible(&mut browser, "rows as diffs");
    assert_eq!(browser.complaints, [json!(null); 0]);
}

#[test]
fn the_results_work_by_keyboard_alone() {
    let (place, endpoint) = (Place::empty(), Endpoint::open());
    let server = regressed(&place, &endpoint);
    let mut browser = Browser::open(&format!("{}/jobs/counted?sort=row", server.url()));
    browser.wait_for("all rows", &format!("{ITEMS}.length === 6"));
    browser.press_key("j");
    let focused = "document.activeElement.innerText";
    browser.wait_for("the first row", &format!("{focused}?.includes('Row 1')"));
    browser.press_key("n");
    browser.wait_for("the next regression", &format!("{focused}?.includes('Row 2')"));
    browser.press_key("x");
    browser.wait_for_text("1 selected");
    browser.press_key("Ctrl+a");
    browser.wait_for_text("6 selected");
    browser.press_key("Enter");
    browser.wait_for_text("1 part removed, 1 part added");
    browser.press_key("d");
    browser.wait_for("lines", &format!("{CHANGED}.some(part => part.includes('answer'))"));
    browser.press_key("j");
    browser.wait_for("the next item", "document.querySelector('.drawer h2').innerText === 'Row 3'");
    browser.press_key("Escape");
    browser.wait_for("the drawer to close", "!document.querySelector('.drawer')");

    browser.press_key("/");
    let input = "document.activeElement.getAttribute('aria-label') === 'Filter items'";
    browser.wait_for("the filter", input);
    browser.insert("outc");
    browser.wait_for("a completion", "document.querySelector('[role=option]')?.innerText.startsWith('outcome')");
    browser.press_key("ArrowDown");
    browser.press_key("Enter");
    browser.insert("= fial");
    browser.press_key("Enter");
    browser.wait_for_text("did you mean `fail`?");
    assert_eq!(browser.evaluate(&format!("{ITEMS}.length")), 6, "the last good rows stay");
    browser.type_text("outcome = fail");
    browser.press_key("Enter");
    browser.wait_for("the rows that failed", &format!("{ITEMS}.length === 5"));
    browser.press_key("Escape");
    browser.press_key("t");
    browser.wait_for_text("exact, row by row");
    assert_eq!(browser.complaints, [json!(null); 0]);
}
