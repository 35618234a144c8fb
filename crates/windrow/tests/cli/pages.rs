//! The web UI in a real browser, served by the real binary: the nodes of a database with their signs of life, and how
//! one is asked to leave (X1, B13).

use serde_json::json;

use crate::browser::Browser;
use crate::client::Served;
use crate::encrypted;
use crate::endpoint::Endpoint;
use crate::place::Place;
use crate::services;

const URL: &str = "WINDROW_DATABASE_URL";
const HTML: &str = "Accept: text/html,application/xhtml+xml,*/*;q=0.8";
const ROWS: &str = "[...document.querySelectorAll('tbody tr')].map(row => row.innerText)";
const BEATS: &str = "[...document.querySelectorAll('tbody tr td:nth-of-type(2) time')].map(beat => beat.dateTime)";

fn node(place: &Place, url: &str) -> Served {
    Served::of(place.start_with(&[(URL, url)], &["serve", "--listen", "127.0.0.1:0", "--workers", "4"]))
}

fn rows(browser: &mut Browser) -> Vec<String> {
    serde_json::from_value(browser.evaluate(ROWS)).unwrap()
}

#[test]
fn the_page_of_nodes_follows_their_signs_of_life_and_drains_one() {
    let (place, url, endpoint) = (Place::empty(), services::postgres(), Endpoint::gated(0));
    let job = place.served_job("counted", &endpoint, 16, 16);
    let (one, two) = (node(&place, &url), node(&place, &url));
    one.submit(&job).with_status(201);

    let mut browser = Browser::open(&one.url());
    browser.wait_for("both at work", &format!("{ROWS}.filter(row => /\\b8\\b/.test(row)).length === 2"));
    assert_eq!(browser.evaluate("location.pathname"), "/nodes");
    for (row, server) in rows(&mut browser).iter().zip([&one, &two]) {
        for part in ["ses_", "alive", " s ago", "api scheduler worker", &server.url(), env!("CARGO_PKG_VERSION")] {
            assert!(row.contains(part), "no {part:?} in {row:?}");
        }
    }
    let before = browser.evaluate(BEATS);
    browser.wait_for("the next beat of both", &format!("{BEATS}.every((beat, n) => beat > {before}[n])"));

    browser.evaluate("document.querySelectorAll('tbody button')[1].focus()");
    browser.press_key("Enter");
    browser.wait_for_text("finishes what it has (8 items at work)");
    assert!(!browser.text().contains("No other node"), "the first one stays");
    browser.press_key("Escape");
    browser.wait_for("the dialog to close", "!document.querySelector('dialog')");
    assert!(rows(&mut browser)[1].contains("alive"), "nobody has asked for anything");

    browser.evaluate("document.querySelectorAll('tbody button')[1].focus()");
    browser.press_key("Enter");
    browser.press("Drain this node");
    browser.wait_for("it to be draining", &format!("{ROWS}[1].includes('draining') && !{ROWS}[1].includes('Drain…')"));
    two.wait_for_stderr("asked to leave");
    endpoint.open_gate();
    two.finish().ended_with(0);
    browser.wait_for("it to be gone", &format!("{ROWS}.length === 1"));
    browser.press("Drain…");
    browser.wait_for_text("No other node answers requests");
    assert_eq!(browser.complaints, [json!(null); 0]);
}

/// Over TLS, where a browser speaks HTTP/2 and names the host in another place.
#[test]
fn a_page_asks_for_a_key_where_one_is_needed_and_says_what_a_key_may_not() {
    let place = Place::empty();
    let key = |name: &str, role: &str| place.windrow(&["keys", "create", name, "--role", role]).ended_with(0).stdout;
    let (ann, eve) = (key("ann", "admin"), key("eve", "viewer"));
    encrypted::certify(&place);
    let server = encrypted::start(&place, &[]);
    let url = format!("https://{}/nodes", server.address);
    let mut browser = Browser::open(&url);
    browser.wait_for_text("API key required");
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
    browser.wait_for_text("ann · admin");
    assert_eq!(browser.evaluate("document.cookie + Object.keys(sessionStorage) + Object.keys(localStorage)"), "");
    browser.go(&url);
    browser.wait_for_text("1 alive");
    browser.press("Drain…");
    browser.press("Drain this node");
    server.wait_for_stderr("asked to leave");
    assert_eq!(browser.complaints, [json!(null); 0]);
}

#[test]
fn a_page_says_that_the_server_is_gone_and_goes_on_when_it_is_back() {
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let address = server.address.clone();
    let mut browser = Browser::open(&format!("http://{address}/nothing/here"));
    browser.wait_for_text("There is nothing at /nothing/here");
    browser.evaluate("window.stays = true");
    browser.press("Nodes");
    browser.wait_for_text("1 alive");
    server.kill();
    browser.wait_for_text("The server cannot be reached since");
    assert!(rows(&mut browser)[0].contains("alive"), "what was known stays in sight");
    let _again = Served::start_again(&place, &address, &[]);
    browser.wait_for("it to go on", "!document.body.innerText.includes('cannot be reached')");
    browser.wait_for_text("1 alive");
    assert_eq!(browser.evaluate("window.stays"), true, "without loading anew");
}

#[test]
fn the_files_of_the_pages_are_open_strict_and_kept_by_their_hash() {
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
    assert_eq!(server.get("/nodes").with_status(404).json()["code"], "no_such_route", "nobody asked for a page");
}
