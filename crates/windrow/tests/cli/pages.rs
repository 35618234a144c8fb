//! The web UI in a real browser, served by the real binary: a job from the editor to its retried item, by mouse and by
//! keyboard, what a viewer may do, accessibility of all pages, and the nodes of a cluster (X1, B13).

use serde_json::json;

use crate::browser::Browser;
use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::Place;
use crate::{encrypted, services};

const URL: &str = "WINDROW_DATABASE_URL";
const HTML: &str = "Accept: text/html,application/xhtml+xml,*/*;q=0.8";
const ROWS: &str = "[...document.querySelectorAll('.nodes tbody tr')].map(row => row.innerText)";
const BEATS: &str =
    "[...document.querySelectorAll('.nodes tbody tr td:nth-of-type(2) time')].map(beat => beat.dateTime)";
const RUN: &str = "[...document.querySelectorAll('button')].find(button => button.innerText === 'Run')";
const EDITOR: &str = "document.querySelector('.host')?.shadowRoot?.querySelector('.cm-content')";
/// The counts of the run in the head of its page, e.g. `11 succeeded 1 failed`.
const COUNTS: &str = "document.querySelector('.progress ul')?.textContent.replace(/\\s+/g, ' ')";
const ITEMS: &str =
    "[...document.querySelectorAll('[role=grid][aria-label=Items] .body [role=row]')].map(row => row.innerText)";

fn node(place: &Place, url: &str) -> Served {
    Served::of(place.start_with(&[(URL, url)], &["serve", "--listen", "127.0.0.1:0", "--workers", "4"]))
}

fn rows(browser: &mut Browser) -> Vec<String> {
    serde_json::from_value(browser.evaluate(ROWS)).unwrap()
}

#[test]
fn the_nodes_page_shows_heartbeats_and_drains_a_node() {
    let (place, url, endpoint) = (Place::empty(), services::postgres(), Endpoint::gated(0));
    let job = place.served_job("counted", &endpoint, 16, 16);
    let (one, two) = (node(&place, &url), node(&place, &url));
    one.submit(&job).with_status(201);

    let mut browser = Browser::open(&format!("{}/nodes", one.url()));
    browser.wait_for("both to run items", &format!("{ROWS}.filter(row => /\\b8\\b/.test(row)).length === 2"));
    for (row, server) in rows(&mut browser).iter().zip([&one, &two]) {
        for part in ["ses_", "alive", " s ago", "api scheduler worker", &server.url(), env!("CARGO_PKG_VERSION")] {
            assert!(row.contains(part), "no {part:?} in {row:?}");
        }
    }
    let before = browser.evaluate(BEATS);
    browser.wait_for("the next heartbeat of both", &format!("{BEATS}.every((beat, n) => beat > {before}[n])"));

    browser.evaluate("document.querySelectorAll('.nodes tbody button')[1].focus()");
    browser.press_key("Enter");
    browser.wait_for_text("finishes its 8 running items");
    assert!(!browser.text().contains("No other node"), "the first node stays");
    browser.press_key("Escape");
    browser.wait_for("the dialog to close", "!document.querySelector('dialog')");
    assert!(rows(&mut browser)[1].contains("alive"), "no drain was requested");

    browser.evaluate("document.querySelectorAll('.nodes tbody button')[1].focus()");
    browser.press_key("Enter");
    browser.press("Drain this node");
    let draining = format!("{ROWS}.find(row => row.includes({}))", json!(two.url()));
    browser.wait_for("it to drain", &format!("{draining}.includes('draining') && !{draining}.includes('Drain…')"));
    two.wait_for_stderr("Draining: requested by");
    endpoint.open_gate();
    two.finish().ended_with(0);
    browser.wait_for("the node to be gone", &format!("{ROWS}.length === 1"));
    browser.press("Drain…");
    browser.wait_for_text("No other node serves the API");
    assert_eq!(browser.complaints, [json!(null); 0]);
}

/// Over TLS, where a browser uses HTTP/2 and sends the host as `:authority`.
#[test]
fn a_page_asks_for_a_required_key_and_shows_missing_permissions() {
    let place = Place::empty();
    let key = |name: &str, role: &str| place.windrow(&["keys", "create", name, "--role", role]).ended_with(0).stdout;
    let (ann, eve) = (key("ann", "admin"), key("eve", "viewer"));
    encrypted::certify(&place);
    let server = encrypted::start(&place, &[]);
    let url = format!("https://{}/nodes", server.address);
    let mut browser = Browser::open(&url);
    browser.wait_for_text("API key required");
    assert_eq!(browser.inaccessible(), [""; 0]);
    assert_eq!(browser.evaluate("performance.getEntriesByType('navigation')[0].nextHopProtocol"), "h2");
    browser.type_text("wrw_nonsense");
    browser.press_key("Enter");
    browser.wait_for_text("invalid API key");
    browser.evaluate("document.getElementById('key').focus()");
    browser.type_text(eve.trim());
    browser.press("Sign in");
    browser.wait_for_text("role admin required; the key \"eve\" has role viewer");
    browser.wait_for_text("use a key with that role, or ask an admin");
    browser.press("Use another key");
    browser.wait_for("the form", "document.activeElement.id === 'key'");
    browser.type_text(ann.trim());
    browser.press("Sign in");
    browser.wait_for_text("1 alive");
    browser.click("[aria-label$='account and settings']");
    browser.wait_for_text("ann · admin");
    browser.press_key("Escape");
    assert_eq!(browser.evaluate("document.cookie + Object.keys(sessionStorage) + Object.keys(localStorage)"), "");
    browser.go(&url);
    browser.wait_for_text("1 alive");
    browser.press("Drain…");
    browser.press("Drain this node");
    server.wait_for_stderr("Draining: requested by");
    assert_eq!(browser.complaints, [json!(null); 0]);
}

#[test]
fn a_page_reports_an_unreachable_server_and_reconnects() {
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let address = server.address.clone();
    let mut browser = Browser::open(&format!("http://{address}/nothing/here"));
    browser.wait_for_text("/nothing/here does not exist");
    browser.evaluate("window.stays = true");
    browser.press("Nodes");
    browser.wait_for_text("1 alive");
    server.kill();
    browser.wait_for_text("The server is unreachable since");
    assert!(rows(&mut browser)[0].contains("alive"), "the last known state stays visible");
    let _again = Served::start_again(&place, &address, &[]);
    browser.wait_for("the page to reconnect", "!document.body.innerText.includes('unreachable')");
    browser.wait_for_text("1 alive");
    assert_eq!(browser.evaluate("window.stays"), true, "without a reload");
}

#[test]
fn page_assets_are_public_immutable_and_have_a_strict_csp() {
    let place = Place::empty();
    place.windrow(&["keys", "create", "ann", "--role", "admin"]).ended_with(0);
    let server = Served::start(&place, &[]);
    let page = server.get("/").with_status(200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    let assets: Vec<&str> = page.body.split('"').filter(|part| part.starts_with("/assets/")).collect();
    assert_eq!(assets.len(), 3, "{}", page.body);
    for asset in assets {
        let file = server.get(asset).with_status(200);
        assert!(file.header("cache-control").unwrap().contains("immutable"), "{asset}");
        assert_eq!(file.header("x-content-type-options"), Some("nosniff"));
    }
    let as_browser = |path: &str| server.ask("GET", path, &[HTML], "");
    assert_eq!(as_browser("/nodes").with_status(200).body, page.body);
    for (path, status) in [("/assets/nothing.js", 404), ("/api/nothing", 401), ("/api/v1/nodes", 401)] {
        assert_eq!(as_browser(path).with_status(status).header("content-type"), Some("application/problem+json"));
    }
    assert_eq!(server.get("/nodes").with_status(404).json()["code"], "no_such_route", "not a browser request");
}

/// Opens the page of a new job with this file in the editor.
pub fn edit(browser: &mut Browser, file: &str) {
    browser.wait_for("the editor", &format!("!!{EDITOR}"));
    browser.evaluate(&format!("{EDITOR}.focus()"));
    browser.press_key("Ctrl+a");
    browser.insert(file);
}

#[test]
fn a_job_is_run_from_the_editor_watched_live_filtered_and_an_item_retried() {
    let (place, endpoint) = (Place::empty(), Endpoint::gated(0));
    let job = place.served_job("counted", &endpoint, 12, 4);
    endpoint.fail_on([3]);
    let server = Served::start(&place, &[]);
    let mut browser = Browser::open(&server.url());
    browser.wait_for_text("No jobs yet");
    browser.press("New job");
    edit(&mut browser, &job.replace("exact:", "exat:"));
    browser.wait_for_text("line 8");
    browser.wait_for(
        "the error below its line",
        &format!("{EDITOR}.querySelector('.problem').innerText.includes('exat')"),
    );
    browser.wait_for("Run to be off", &format!("{RUN}?.disabled === true"));
    edit(&mut browser, &job);
    browser.press("Run");

    browser.wait_for("the page of the job", "location.pathname.startsWith('/jobs/job_')");
    browser.evaluate("window.stays = true");
    browser.wait_for("four running items", &format!("{COUNTS}?.includes('4 running')"));
    endpoint.let_through(5);
    browser.wait_for("five results", &format!("/[45] succeeded/.test({COUNTS}) && !{COUNTS}.includes('12 queued')"));
    endpoint.open_gate();
    browser.wait_for("all results", &format!("{COUNTS}?.trim() === '11 pass 1 error'"));
    browser.wait_for_text("success");
    assert_eq!(browser.evaluate("window.stays"), true, "without a reload");

    browser.click(".progress ul li:nth-child(2) a");
    browser.wait_for("the failed row only", &format!("{ITEMS}.length === 1 && {ITEMS}[0].includes('Row 4')"));
    assert_eq!(browser.evaluate("new URLSearchParams(location.search).get('q')"), "outcome = error");
    browser.click("[role=grid][aria-label=Items] .body [role=row]");
    browser.wait_for_text("Retry item");
    browser.wait_for_text("invalid_request");
    endpoint.fail_on([]);
    browser.press("Retry item");
    browser.wait_for("the second run", &format!("{COUNTS}?.trim() === '12 pass'"));
    browser.wait_for("the item to have succeeded", "document.querySelector('.drawer .status').innerText === 'success'");
    assert_eq!(endpoint.calls_by_question()["3"], 2);
    assert_eq!(endpoint.calls(), 13, "no other item was repeated");
    assert_eq!(browser.complaints, [json!(null); 0]);
}

#[test]
fn the_same_works_by_keyboard_alone() {
    let (place, endpoint) = (Place::empty(), Endpoint::open());
    let job = place.served_job("counted", &endpoint, 6, 4);
    endpoint.fail_on([2]);
    let server = Served::start(&place, &[]);
    let mut browser = Browser::open(&server.url());
    browser.wait_for_text("No jobs yet");
    browser.press_key("Ctrl+k");
    browser.wait_for("the palette", "document.activeElement.getAttribute('role') === 'combobox'");
    browser.insert("new job");
    browser.wait_for_text("New job");
    browser.press_key("Enter");
    browser.wait_for("the editor", &format!("!!{EDITOR}"));
    browser.tab_to("the editor", "document.activeElement.className.includes('host')");
    browser.insert(&job);
    browser.wait_for("Run to be on", &format!("{RUN}?.disabled === false"));
    browser.press_key("Ctrl+Enter");
    browser.wait_for("the end of the run", &format!("{COUNTS}?.trim() === '5 pass 1 error'"));
    browser.press_key("/");
    browser.wait_for("the filter", "document.activeElement.getAttribute('aria-label') === 'Filter items'");
    browser.insert("stat = failed");
    browser.press_key("Enter");
    browser.wait_for_text("The rows of the last valid filter stay below.");
    browser.type_text("state = failed");
    browser.press_key("Enter");
    browser.wait_for("the failed row only", &format!("{ITEMS}.length === 1"));
    browser.press_key("Escape");
    browser.press_key("j");
    browser.wait_for("the row", "document.activeElement.getAttribute('role') === 'row'");
    browser.press_key("Enter");
    browser.wait_for("the drawer", "document.activeElement.closest('.drawer') !== null");
    endpoint.fail_on([]);
    browser.wait_for(
        "the button to be enabled",
        "[...document.querySelectorAll('.drawer button')].some((b) => b.innerText === 'Retry item' && !b.disabled)",
    );
    browser.tab_to("the button", "document.activeElement.innerText === 'Retry item'");
    browser.press_key("Enter");
    browser.wait_for("the second run", &format!("{COUNTS}?.trim() === '6 pass'"));
    browser.press_key("Escape");
    browser.wait_for("the drawer to close", "!document.querySelector('.drawer')");
    browser.press_key("?");
    browser.wait_for_text("Keyboard shortcuts");
    browser.press_key("Escape");
    browser.wait_for("the help to close", "!document.querySelector('dialog')");
    assert_eq!(browser.complaints, [json!(null); 0]);
}

#[test]
fn runs_are_compared_row_by_row_and_a_regressed_row_is_read_as_a_diff() {
    let (place, endpoint) = (Place::empty(), Endpoint::open());
    let job = place.served_job("counted", &endpoint, 12, 4);
    let server = Served::start(&place, &[]);
    let mut browser = Browser::open(&format!("{}/compare", server.url()));
    browser.wait_for_text("No runs to compare");
    for prompt in ["{{ n }}", "0"] {
        let file = job.replace("prompt: \"{{ n }}\"", &format!("prompt: \"{prompt}\""));
        server.submit(&file).with_status(201);
        server.wait_for_state("counted", "completed");
    }
    browser.go(&format!("{}/jobs/counted", server.url()));
    browser.wait_for_text("last run that passed");
    browser.press("Compare runs");
    browser.wait_for_text("Compare 2 runs");
    browser.wait_for_text("Worse: Run 2 (−0.917 [");
    browser.wait_for_text("0 fixed · 11 regressed");
    for dark in [false, true] {
        browser.prefer_dark(dark);
        assert_eq!(browser.inaccessible(), [""; 0], "compare, dark: {dark}");
    }
    browser.press("Row 4");
    browser.wait_for_text("1 part removed, 1 part added");
    let changed = "[...document.querySelectorAll('.drawer del, .drawer ins')].map(part => part.innerText)";
    assert_eq!(browser.evaluate(changed), json!(["3", "0"]));
    assert_eq!(browser.inaccessible(), [""; 0], "diff");
    browser.press_key("d");
    browser.wait_for("whole lines", &format!("{changed}.join() === 'answer 3,answer 0'"));

    browser.go(&format!("{}/jobs/counted?tab=runs", server.url()));
    browser.press("Trends");
    browser.wait_for_text("over 2 runs");
    assert_eq!(browser.evaluate("document.querySelectorAll('path.changed').length"), 3, "the prompt changed");
    for dark in [false, true] {
        browser.prefer_dark(dark);
        assert_eq!(browser.inaccessible(), [""; 0], "trends, dark: {dark}");
    }
    browser.press("As table");
    browser.wait_for_text("As chart");
    for run in [1, 2] {
        browser.click(&format!("[aria-label='Select run {run}']"));
    }
    browser.press("Compare 2 selected");
    browser.wait_for_text("Worse: Run 2");
    browser.evaluate("document.querySelector('[aria-label=Baseline]').focus()");
    browser.press_key("ArrowDown");
    browser.wait_for_text("Better than Run 2 in exact: Run 1 (+0.917");
    assert_eq!(browser.complaints, [json!(null); 0]);
}

#[test]
fn a_viewer_reads_everything_and_can_start_nothing() {
    let (place, endpoint) = (Place::empty(), Endpoint::open());
    let job = place.served_job("counted", &endpoint, 4, 4);
    endpoint.fail_on([1]);
    let key = |name: &str, role: &str| place.windrow(&["keys", "create", name, "--role", role]).ended_with(0).stdout;
    let (ann, eve) = (key("ann", "operator"), key("eve", "viewer"));
    let server = Served::start(&place, &[]);
    let bearer = format!("Authorization: Bearer {}", ann.trim());
    server.ask("POST", "/api/v1/jobs", &["Content-Type: text/yaml", &bearer], &job).with_status(201);
    let mut browser = Browser::open(&format!("{}/jobs", server.url()));
    browser.wait_for("the form", "document.activeElement.id === 'key'");
    browser.type_text(eve.trim());
    browser.press("Sign in");
    browser.wait_for_text("counted");
    browser.click("[aria-label='Select counted']");
    browser.wait_for_text("1 selected");
    let off = "title => [...document.querySelectorAll('button')].filter(b => b.title === title && b.disabled).map(b => b.innerText)";
    let off = format!("({off})('Requires the role operator; you are viewer')");
    for action in ["Retry failed…", "Pause…", "Delete…"] {
        browser.wait_for(action, &format!("{off}.includes({})", json!(action)));
    }
    browser.press("counted");
    browser.wait_for("the run's end", &format!("{COUNTS}?.trim() === '3 pass 1 error'"));
    browser.wait_for("Retry to be off", &format!("{off}.includes('Retry 1…')"));
    browser.click("[role=grid][aria-label=Items] .body [role=row]");
    browser.wait_for("Retry item to be off", &format!("{off}.includes('Retry item')"));
    browser.go(&format!("{}/jobs/new?example=capitals", server.url()));
    browser.wait_for("Run to be off", &format!("{off}.includes('Run')"));
    assert_eq!(browser.complaints, [json!(null); 0]);
}

#[test]
fn no_page_has_a_serious_accessibility_problem_in_light_or_dark() {
    let (place, endpoint) = (Place::empty(), Endpoint::open());
    let job = place.served_job("counted", &endpoint, 4, 4);
    endpoint.fail_on([1]);
    place.write("quiz.jsonl", "{\"question\": \"2 + 2\", \"answer\": \"4\"}\n");
    place.windrow(&["datasets", "import", "quiz.jsonl"]).ended_with(0);
    let server = Served::start(&place, &[]);
    server.submit(&job).with_status(201);
    server.wait_for_state("counted", "completed");
    let item =
        server.get("/api/v1/jobs/counted/items?state=failed").json()["items"][0]["id"].as_str().unwrap().to_owned();
    let mut browser = Browser::open(&server.url());
    let pages = [
        ("/", "Running now"),
        ("/jobs", "counted"),
        ("/jobs/new?example=capitals", "not found in workspace"),
        ("/jobs/new?as=form&example=capitals", "Quality gates"),
        ("/jobs/counted", "Row 4"),
        (&format!("/jobs/counted?item={item}&view=scores"), "Nothing was scored"),
        (&format!("/jobs/counted?item={item}&view=attempts"), "Throttled"),
        ("/jobs/counted?tab=runs", "newest first"),
        ("/jobs/counted?tab=log", "run 1 submitted"),
        ("/jobs/counted?tab=definition", "evaluators"),
        ("/datasets", "quiz"),
        ("/datasets/quiz", "2 + 2"),
        ("/nodes", "1 alive"),
        ("/about", "Open Font License"),
        ("/nothing", "does not exist"),
    ];
    for dark in [false, true] {
        browser.prefer_dark(dark);
        for (path, text) in pages {
            browser.go(&format!("{}{path}", server.url()));
            browser.wait_for_text(text);
            assert_eq!(browser.inaccessible(), [""; 0], "dark: {dark}");
        }
        browser.press_key("Ctrl+k");
        browser.wait_for_text("Actions");
        assert_eq!(browser.inaccessible(), [""; 0], "palette, dark: {dark}");
        browser.press_key("Escape");
        browser.wait_for("the palette to close", "!document.querySelector('dialog')");
        browser.press_key("?");
        browser.wait_for_text("Keyboard shortcuts");
        assert_eq!(browser.inaccessible(), [""; 0], "help, dark: {dark}");
    }
    assert_eq!(browser.complaints, [json!(null); 0]);
}
