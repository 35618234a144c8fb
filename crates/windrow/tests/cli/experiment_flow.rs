//! An experiment from the form to its export in a real browser, against the real binary: once by mouse, once by keyboard
//! alone; and rows reviewed by people (E19, X1, X2).

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::Place;

const ITEMS: &str =
    "[...document.querySelectorAll('[role=grid][aria-label=Items] .body [role=row]')].map(row => row.innerText)";
const COUNTS: &str = "document.querySelector('.progress ul')?.textContent.replace(/\\s+/g, ' ')";
const RUN: &str = "[...document.querySelectorAll('button')].find(button => button.innerText === 'Run')";
const FOCUSED: &str = "document.activeElement.innerText?.trim()";
const FILTER: &str = "new URLSearchParams(location.search).get('q')";

/// A server with a dataset of six numbers.
fn with_numbers(place: &Place) -> Served {
    let rows: String = (0..6).map(|n| format!("{}\n", json!({ "n": n }))).collect();
    place.write("numbers.jsonl", &rows);
    place.windrow(&["datasets", "import", "numbers.jsonl"]).ended_with(0);
    Served::start(place, &[])
}

/// Fills the form of an experiment over the numbers.
fn fill_in(browser: &mut Browser, endpoint: &Endpoint, name: &str, prompt: &str) {
    browser.wait_for("the form", "!!document.getElementById('form-url')");
    browser.fill("form-name", name);
    browser.fill("form-url", &endpoint.url);
    browser.fill("form-prompt", prompt);
    if browser.evaluate("!document.getElementById('form-evaluator-0-expect')") == true {
        browser.choose("form-add", "exact");
        browser.wait_for("the evaluator", "!!document.getElementById('form-evaluator-0-expect')");
    }
    browser.fill("form-evaluator-0-expect", "answer {{ n }}");
}

fn press_run(browser: &mut Browser) {
    browser.wait_for("Run to be on", &format!("{RUN}?.disabled === false"));
    browser.press("Run");
}

fn labels(server: &Served) -> Vec<(Value, Value)> {
    let found = server.get("/api/v1/jobs/asked/labels").json()["labels"].take();
    found.as_array().unwrap().iter().map(|label| (label["name"].clone(), label["verdict"].clone())).collect()
}

/// Runs of one job. With the prompt `0` all rows but the first get a wrong answer.
fn ran(server: &Served, endpoint: &Endpoint, prompts: &[&str]) {
    for prompt in prompts {
        let model =
            format!("openai: {{ model: any, base_url: \"{}\", api_key: \"${{env:OPENAI_API_KEY}}\" }}", endpoint.url);
        let file = format!(
            "kind: experiment\nname: asked\ndataset: {{ name: numbers }}\ntarget:\n  {model}\n  prompt: \"{prompt}\"\n\
             evaluators:\n  - exact: {{ expect: \"answer {{{{ n }}}}\" }}\n"
        );
        server.submit(&file).with_status(201);
        server.wait_for_state("asked", "completed");
    }
}

#[test]
fn an_experiment_goes_from_the_form_to_its_export() {
    let (place, endpoint) = (Place::empty(), Endpoint::gated(0));
    let server = with_numbers(&place);
    let mut browser = Browser::open(&format!("{}/datasets/numbers", server.url()));
    browser.wide();
    browser.press("New experiment…");
    fill_in(&mut browser, &endpoint, "asked", "{{ m }}");
    browser.wait_for_text("Off until 1 error is corrected");
    browser.wait_for("the error at its field", "document.querySelector('.field .problem')?.innerText.includes('m')");
    assert_eq!(browser.inaccessible(), [""; 0], "form");
    browser.fill("form-prompt", "{{ n }}");
    browser.wait_for("the forecast", "document.body.innerText.includes('6 target')");
    browser.press("File");
    browser.wait_for(
        "the same file in the editor",
        "document.querySelector('.host')?.shadowRoot?.textContent.includes('answer {{ n }}')",
    );
    browser.press("Form");
    press_run(&mut browser);

    browser.wait_for("the page of the job", "location.pathname.startsWith('/jobs/job_')");
    browser.evaluate("window.stays = true");
    browser.wait_for("running items", &format!("/running/.test({COUNTS})"));
    endpoint.let_through(3);
    browser.wait_for("three results", &format!("{COUNTS}?.includes('3 succeeded')"));
    endpoint.open_gate();
    browser.wait_for("all results", &format!("{COUNTS}?.trim() === '6 pass'"));
    assert_eq!(browser.evaluate("window.stays"), true, "without a reload");

    browser.go(&format!("{}/jobs/new?from=asked&as=form", server.url()));
    browser.wait_for("its file", "document.getElementById('form-name')?.value === 'asked-2'");
    fill_in(&mut browser, &endpoint, "asked", "0");
    press_run(&mut browser);
    browser.wait_for_text("5 regressed");
    browser.press("5 regressed");
    browser.wait_for("the regressed rows", &format!("{ITEMS}.length === 5"));
    assert_eq!(browser.evaluate(FILTER), "change.exact = regressed");
    browser.click("[role=grid] .body [role=row]");
    browser.wait_for_text("1 part removed, 1 part added");
    browser.press("Retry item");
    browser.wait_for_text("1 new");

    browser.press("Scores");
    browser.press("Correct this score…");
    browser.press("Pass");
    browser.wait_for_text("Labelled exact: pass");
    browser.wait_for("the correction in its row", "!!document.querySelector('[role=grid] .said')");
    browser.wait_for_text("corrected by people");
    assert_eq!(labels(&server), [(json!("exact"), json!("pass"))]);
    assert_eq!(browser.inaccessible(), [""; 0], "scores");
    browser.press_key("Escape");
    browser.wait_for("the drawer to close", "!document.querySelector('.drawer')");

    browser.click(".foot [aria-label=Export]");
    let link = "[...document.querySelectorAll('.foot [role=menuitem]')].find(a => a.innerText === 'HTML, one file')";
    browser.wait_for("the export", &format!("!!{link}"));
    let path = browser.evaluate(&format!("{link}.pathname + {link}.search")).as_str().unwrap().to_owned();
    assert!(server.get(&path).with_status(200).body.contains("asked"), "{path}");
    browser.press_key("Escape");
    browser.press("Compare runs");
    browser.wait_for_text("Compare 2 runs");
    assert_eq!(browser.complaints, [json!(null); 0]);
}

#[test]
fn the_whole_way_works_by_keyboard_alone() {
    let (place, endpoint) = (Place::empty(), Endpoint::open());
    let server = with_numbers(&place);
    ran(&server, &endpoint, &["{{ n }}"]);
    let mut browser = Browser::open(&format!("{}/jobs/new?as=form&from=asked", server.url()));
    browser.wait_for("its file", "document.getElementById('form-name')?.value === 'asked-2'");
    browser.tab_to("the name", "document.activeElement.id === 'form-name'");
    browser.type_text("asked");
    browser.tab_to("the prompt", "document.activeElement.id === 'form-prompt'");
    browser.type_text("00");
    browser.wait_for("Run to be on", &format!("{RUN}?.disabled === false"));
    browser.press_key("Ctrl+Enter");
    browser.wait_for("the end of the run", &format!("{COUNTS}?.includes('6 fail')"));

    browser.tab_to("the regressed rows", &format!("{FOCUSED} === '6 regressed'"));
    browser.press_key("Enter");
    browser.wait_for("their filter", &format!("{FILTER} === 'change.exact = regressed'"));
    browser.press_key("j");
    browser.wait_for("a row", "document.activeElement.getAttribute('role') === 'row'");
    browser.press_key("Enter");
    browser.wait_for_text("1 part removed, 1 part added");
    browser.press_key("1");
    browser.wait_for_text("Labelled the row: pass");
    browser.press_key("c");
    browser.wait_for("the note", "document.activeElement.getAttribute('placeholder') === 'Note'");
    browser.insert("a synonym");
    browser.press_key("Enter");
    browser.wait_for_text("Note saved");
    browser.tab_to("the correction", &format!("{FOCUSED} === 'Correct this score…'"));
    browser.press_key("Enter");
    browser.wait_for("the value", "document.activeElement.getAttribute('placeholder') === 'or 0.5'");
    browser.insert("0.5");
    browser.press_key("Enter");
    browser.wait_for_text("Labelled exact: 0.5");
    browser.tab_to("the retry", &format!("{FOCUSED} === 'Retry item'"));
    browser.press_key("Enter");
    browser.wait_for_text("1 new");
    browser.press_key("Escape");
    browser.wait_for("the drawer to close", "!document.querySelector('.drawer')");

    browser.tab_to("the export", "document.activeElement.getAttribute('aria-label') === 'Export'");
    browser.press_key("Enter");
    browser.wait_for("its formats", "!!document.querySelector('.foot [role=menuitem]')");
    browser.press_key("ArrowDown");
    browser.wait_for("the first format", "!!document.activeElement.href?.includes('/export?')");
    browser.press_key("Escape");
    browser.tab_to("the comparison", &format!("{FOCUSED} === 'Compare runs'"));
    browser.press_key("Enter");
    browser.wait_for_text("Compare 2 runs");
    let named = labels(&server);
    assert_eq!(named[0], (json!("outcome"), json!("pass")), "{named:?}");
    assert_eq!(named.len(), 3, "verdict, note and correction: {named:?}");
    assert_eq!(browser.complaints, [json!(null); 0]);
}

#[test]
fn unreviewed_rows_are_a_queue_and_a_selection_is_labelled_and_undone() {
    let (place, endpoint) = (Place::empty(), Endpoint::open());
    let server = with_numbers(&place);
    ran(&server, &endpoint, &["{{ n }}", "0"]);
    let mut browser = Browser::open(&format!("{}/jobs/asked?vs=none", server.url()));
    browser.wait_for("all rows", &format!("{ITEMS}.length === 6"));
    browser.press("Review");
    browser.wait_for(
        "the queue",
        &format!("{FILTER} === 'outcome in (pass, fail) and reviewed = false' && {ITEMS}.length === 6"),
    );
    browser.press_key("j");
    browser.press_key("Enter");
    browser.wait_for("the drawer", "document.querySelector('.drawer h2')?.innerText === 'Row 2'");
    browser.press_key("2");
    browser.wait_for("the next row", "document.querySelector('.drawer h2')?.innerText === 'Row 3'");
    assert_eq!(browser.evaluate(&format!("{ITEMS}.length")), 6, "rows do not move while they are read");
    browser.press_key("Escape");
    browser.wait_for("the drawer to close", "!document.querySelector('.drawer')");
    browser.press_key("r");
    browser.wait_for("the rest of the queue", &format!("{ITEMS}.length === 5"));

    browser.press_key("Ctrl+a");
    browser.wait_for_text("5 selected");
    browser.press("Label…");
    browser.fill("label-said", "pass");
    browser.fill("label-reason", "all the same");
    assert_eq!(browser.inaccessible(), [""; 0], "label");
    browser.press("Label 5");
    browser.wait_for_text("Labelled 5 rows");
    browser.wait_for_text("No item matches");
    assert_eq!(labels(&server).len(), 6);
    browser.press("Undo");
    browser.wait_for("them to be unreviewed again", &format!("{ITEMS}.length === 5"));

    browser.press("End review");
    browser.wait_for("all rows again", &format!("{FILTER} === null && {ITEMS}.length === 6"));
    browser.press_key("Ctrl+a");
    browser.wait_for_text("6 selected");
    browser.press("New experiment…");
    browser.wait_for("the name", "document.getElementById('dataset')?.value === 'asked-selection'");
    browser.press("Continue");
    browser.wait_for(
        "the definition over the selection",
        "document.querySelector('.host')?.shadowRoot?.textContent.includes('asked-selection')",
    );
    assert_eq!(server.get("/api/v1/datasets/asked-selection").json()["version"]["rows"], 6);
    browser.wait_for("Run to be on", &format!("{RUN}?.disabled === false"));
    assert_eq!(browser.complaints, [json!(null); 0]);
}
