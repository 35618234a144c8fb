//! The web UI in a real browser, served by the real binary: the nodes of a cluster with their heartbeats, and draining
//! a node (X1, B13).

use serde_json::json;

use crate::browser::Browser;
use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::Place;
use crate::{encrypted, services};

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
fn the_nodes_page_shows_heartbeats_and_drains_a_node() {
    let (place, url, endpoint) = (Place::empty(), services::postgres(), Endpoint::gated(0));
    let job = place.served_job("counted", &endpoint, 16, 16);
    let (one, two) = (node(&place, &url), node(&place, &url));
    one.submit(&job).with_status(201);

    let mut browser = Browser::open(&one.url());
    browser.wait_for("both to run items", &format!("{ROWS}.filter(row => /\\b8\\b/.test(row)).length === 2"));
    assert_eq!(browser.evaluate("location.pathname"), "/nodes");
    for (row, server) in rows(&mut browser).iter().zip([&one, &two]) {
        for part in ["ses_", "alive", " s ago", "api scheduler worker", &server.url(), env!("CARGO_PKG_VERSION")] {
            assert!(row.contains(part), "no {part:?} in {row:?}");
        }
    }
    let before = browser.evaluate(BEATS);
    browser.wait_for("the next heartbeat of both", &format!("{BEATS}.every((beat, n) => beat > {before}[n])"));

    browser.evaluate("document.querySelectorAll('tbody button')[1].focus()");
    browser.press_key("Enter");
    browser.wait_for_text("finishes its 8 running items");
    assert!(!browser.text().contains("No other node"), "the first node stays");
    browser.press_key("Escape");
    browser.wait_for("the dialog to close", "!document.querySelector('dialog')");
    assert!(rows(&mut browser)[1].contains("alive"), "no drain was requested");

    browser.evaluate("document.querySelectorAll('tbody button')[1].focus()");
    browser.press_key("Enter");
    browser.press("Drain this node");
    browser.wait_for(
        "the node to be draining",
        &format!("{ROWS}[1].includes('draining') && !{ROWS}[1].includes('Drain…')"),
    );
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
