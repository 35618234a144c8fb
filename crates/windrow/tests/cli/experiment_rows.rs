//! The rows of an experiment at any size, in a real browser against the real binary: a million rows, links and keys that
//! lead to rows which were never in sight, ranges over several pages, trials and variants; and what the server answers
//! for them (E19, X1, X2).

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::Place;

const FILTER: &str = "new URLSearchParams(location.search).get('q')";
const SELECTED: &str = "document.querySelector('.bar [role=status]')?.innerText";
const TITLE: &str = "document.querySelector('.drawer h2')?.innerText";
const WIDTHS: [(u32, u32); 3] = [(1440, 900), (1024, 800), (390, 844)];

/// Answers of the server for a table of a million rows: each is the first row with its own number.
const MILLION: &str = r"
const ask = window.fetch, MANY = 1_000_000, json = { headers: { 'content-type': 'application/json' } };
let first;
window.fetch = async (input, init) => {
  const address = String(input.url ?? input), page = /rows\?offset=(\d+)&limit=(\d+)/.exec(address);
  if (page && first) {
    const [offset, limit] = [Number(page[1]), Number(page[2])];
    const rows = Array.from({ length: Math.min(limit, MANY - offset) }, (_, n) => offset + n + 1);
    return new Response(JSON.stringify({ offset, total: MANY, rows: rows.map(row => ({ ...first, row, item: String(row) })) }), json);
  }
  const response = await ask(input, init);
  if (page) { first = (await response.json()).rows[0]; return window.fetch(input, init) }
  if (!/\/views$/.test(address)) return response;
  return new Response(JSON.stringify({ ...await response.json(), total: MANY, rows_of_job: MANY }), json);
}";

/// The rows below the head of the table: the number in their text, their place, and where they are on the screen.
const SEEN: &str = r"(() => {
  const top = document.querySelector('[role=grid] .head').getBoundingClientRect().bottom;
  const seen = [...document.querySelectorAll('[role=grid] .body .row')].map(row => [row, row.getBoundingClientRect()]);
  return seen.filter(([, at]) => at.bottom > top + 1 && at.top < innerHeight - 1).map(([row, at]) =>
    [Number(/Row (\d+)/.exec(row.innerText)?.[1] ?? 0), Number(row.getAttribute('aria-rowindex')) - 1, Math.round(at.top)])
})()";

fn finished(rows: usize) -> (Place, Endpoint, Served) {
    let (place, endpoint) = (Place::empty(), Endpoint::open());
    let job = place.served_job("counted", &endpoint, rows, 32);
    let server = Served::start(&place, &[]);
    server.submit(&job).with_status(201);
    server.wait_for_state("counted", "completed");
    (place, endpoint, server)
}

/// Two prompts, of which one gets right answers, for so many targets; each asked twice.
fn variants(targets: usize, rows: usize) -> (Place, Endpoint, Served) {
    let (place, endpoint) = (Place::empty(), Endpoint::open());
    let lines: String = (0..rows).map(|n| format!("{}\n", json!({ "n": n }))).collect();
    place.write("numbers.jsonl", &lines);
    place.windrow(&["datasets", "import", "numbers.jsonl"]).ended_with(0);
    let model =
        format!("{{ openai: {{ model: any, base_url: \"{}\", api_key: \"${{env:OPENAI_API_KEY}}\" }} }}", endpoint.url);
    let models: String = (0..targets).map(|no| format!("  m{no}: {model}\n")).collect();
    let job = format!(
        "kind: experiment\nname: matrix\ndataset: {{ name: numbers }}\ntargets:\n{models}prompts:\n  right: \"{{{{ n }}}}\"\n  \
         wrong: \"none\"\ntrials: 2\nevaluators:\n  - exact: {{ expect: \"answer {{{{ n }}}}\" }}\nconcurrency: 32\n"
    );
    let server = Served::start(&place, &[]);
    server.submit(&job).with_status(201);
    server.wait_for_state("matrix", "completed");
    (place, endpoint, server)
}

fn accessible_at_every_width(browser: &mut Browser, what: &str) {
    for (width, height) in WIDTHS {
        browser.resize(width, height);
        for dark in [true, false] {
            browser.prefer_dark(dark);
            assert_eq!(browser.inaccessible(), [""; 0], "{what} at {width}, dark: {dark}");
        }
    }
}

/// Every row in sight is the one of its place, below the one before it.
#[track_caller]
fn rows_in_sight(browser: &mut Browser, what: &str) -> (i64, i64) {
    let whole = "seen => seen.length > 8 && seen.every(([row, place, top], n) => row === place && \
                 (n === 0 || place === seen[n - 1][1] + 1 && top - seen[n - 1][2] === 32))";
    browser.wait_for(what, &format!("({whole})({SEEN})"));
    let seen = browser.evaluate(SEEN);
    let seen = seen.as_array().unwrap();
    (seen[0][0].as_i64().unwrap(), seen[seen.len() - 1][0].as_i64().unwrap())
}

#[test]
fn any_of_a_million_rows_is_reached_by_the_scroll_bar_and_by_keys() {
    let (_place, _endpoint, server) = finished(3);
    let mut browser = Browser::open(&server.url());
    browser.before_each_page(MILLION);
    browser.wide();
    browser.go(&format!("{}/jobs/counted?vs=none&sort=row", server.url()));
    browser.wait_for_text("1,000,000 of 1,000,000 rows");
    assert_eq!(rows_in_sight(&mut browser, "the first rows").0, 1);
    for share in [0.25, 0.5, 0.9] {
        browser.evaluate(&format!("scrollTo(0, document.documentElement.scrollHeight * {share})"));
        let (from, to) = rows_in_sight(&mut browser, "rows far away");
        let expected = (1_000_000.0 * share) as i64;
        assert!((from - 200..to + 200).contains(&expected), "{from} to {to} at {share}");
    }
    let (before, _) = rows_in_sight(&mut browser, "rows before small steps");
    browser.evaluate("scrollBy(0, 320)");
    browser.wait_for("ten rows further", &format!("{SEEN}[0][0] === {}", before + 10));
    rows_in_sight(&mut browser, "rows after a small step");

    browser.evaluate("document.querySelectorAll('[role=grid] .body [role=row]')[14].focus({ preventScroll: true })");
    let place = "Number(document.activeElement.getAttribute('aria-rowindex')) - 1";
    let from = browser.evaluate(place).as_i64().unwrap();
    for step in 1..=40 {
        browser.press_key("j");
        browser.wait_for("the next row", &format!("{place} === {}", from + step));
    }
    browser.press_key("k");
    browser.wait_for("the row before", &format!("{place} === {}", from + 39));
    let inside = "(at => at.top > 150 && at.bottom < innerHeight)(document.activeElement.getBoundingClientRect())";
    browser.wait_for("the focused row in sight", inside);
    rows_in_sight(&mut browser, "rows after keys");
    browser.press_key("End");
    browser.wait_for("the last row", &format!("{place} === 1000000"));
    assert_eq!(rows_in_sight(&mut browser, "the last rows").1, 1_000_000);
    browser.press_key("Home");
    browser.wait_for("the first row", &format!("{place} === 1"));
    assert_eq!(rows_in_sight(&mut browser, "the first rows again").0, 1);
    assert!(browser.evaluate("document.querySelectorAll('[role=grid] .row').length").as_i64().unwrap() <= 80);
    assert_eq!(browser.complaints, [json!(null); 0]);
}

#[test]
fn links_walks_and_ranges_lead_beyond_the_first_page() {
    let (_place, _endpoint, server) = finished(260);
    let items = server.get("/api/v1/jobs/counted/items?limit=300").json()["items"].take();
    let id_of = |ordinal: i64| {
        let found = items.as_array().unwrap().iter().find(|item| item["ordinal"] == ordinal).unwrap();
        found["id"].as_str().unwrap().to_owned()
    };
    let mut browser = Browser::open(&server.url());
    browser.wide();
    browser.go(&format!("{}/jobs/counted?sort=row&item={}", server.url(), id_of(198)));
    browser.wait_for("the drawer", &format!("{TITLE} === 'Row 199'"));
    browser.wait_for_text("199 of 260");
    let opened =
        "(at => at.top > 100 && at.bottom < innerHeight)(document.querySelector('.row.open').getBoundingClientRect())";
    browser.wait_for("its row in sight", &format!("!!document.querySelector('.row.open') && {opened}"));
    for row in 200..=203 {
        browser.press_key("j");
        browser.wait_for("the next item", &format!("{TITLE} === 'Row {row}'"));
    }
    browser.press_key("Escape");
    browser.wait_for("focus on its row", "!!document.activeElement.innerText?.startsWith('Row 203')");

    browser.evaluate("scrollTo(0, 0)");
    browser.click("[aria-label='Select row 5']");
    browser.wait_for("one row", &format!("{SELECTED} === '1 selected'"));
    browser.evaluate("document.activeElement.blur(); scrollTo(0, document.documentElement.scrollHeight)");
    browser.wait_for("the last row", "!!document.querySelector(\"[aria-label='Select row 250']\")");
    browser.evaluate("document.querySelector(\"[aria-label='Select row 250']\").closest('[role=row]').focus()");
    browser.press_key("X");
    browser.wait_for("all rows between", &format!("{SELECTED} === '246 selected'"));

    // The queue of a review goes on where a page ends.
    browser.go(&format!("{}/jobs/counted?sort=row&q=reviewed+%3D+false&item={}", server.url(), id_of(98)));
    browser.wait_for("the drawer", &format!("{TITLE} === 'Row 99'"));
    browser.wait_for_text("99 of 260");
    for row in 100..=102 {
        browser.press_key("1");
        browser.wait_for("the next of the queue", &format!("{TITLE} === 'Row {row}'"));
    }
    assert_eq!(browser.evaluate(FILTER), "reviewed = false");

    browser.go(&format!("{}/jobs", server.url()));
    browser.wait_for_text("counted");
    browser.press_key("j");
    browser.wait_for("the row", "document.activeElement.getAttribute('role') === 'row'");
    browser.press_key("x");
    browser.wait_for_text("1 selected");
    assert_eq!(browser.complaints, [json!(null); 0]);
}

#[test]
fn a_page_of_rows_is_found_by_item_and_rows_of_the_dataset_come_whole() {
    let (_place, _endpoint, server) = variants(2, 5);
    let view = server.post_json("/api/v1/jobs/matrix/views", &json!({})).with_status(200).json();
    let path = format!("/api/v1/jobs/matrix/views/{}/rows", view["view"].as_str().unwrap());
    let all = server.get(&format!("{path}?limit=1000")).json()["rows"].take();
    let all = all.as_array().unwrap();
    assert_eq!(all.len(), 5 * 2 * 2 * 2);
    for (at, row) in all.iter().enumerate() {
        let page =
            server.get(&format!("{path}?limit=7&item={}", row["item"].as_str().unwrap())).with_status(200).json();
        assert_eq!(page["offset"], at as i64 / 7 * 7);
        assert!(page["rows"].as_array().unwrap().contains(row));
        let trials: Vec<&Value> = row["trials"].as_array().unwrap().iter().collect();
        assert_eq!(trials.iter().map(|trial| &trial["trial"]).collect::<Vec<_>>(), [1, 2]);
        assert!(trials.iter().all(|trial| trial["outcome"] == row["outcome"]));
        assert!(trials.iter().any(|trial| trial["item"] == row["item"]));
    }
    server.get(&format!("{path}?item=999999")).with_status(404);
    let lines = server.get(&format!("{path}?lines=true&offset=3&limit=10")).with_status(200).json();
    assert_eq!((&lines["total"], &lines["offset"]), (&json!(5), &json!(3)));
    assert_eq!(lines["rows"].as_array().unwrap()[..], all[24..]);
}

#[test]
fn variants_that_do_not_fit_are_a_step_away() {
    let (_place, _endpoint, server) = variants(7, 50);
    let mut browser = Browser::open(&server.url());
    browser.wide();
    browser.go(&format!("{}/jobs/matrix?layout=matrix", server.url()));
    browser.wait_for_text("of 14");
    let heads = "[...document.querySelectorAll('[role=grid] .head b')].map(head => head.title)";
    let first = browser.evaluate(heads);
    let shown = first.as_array().unwrap().len();
    assert!((4..14).contains(&shown), "{first}");
    browser.wait_for(
        "the dots of two trials",
        "document.querySelectorAll('[role=grid] .row .dots')[0]?.children.length === 2",
    );
    accessible_at_every_width(&mut browser, "matrix");
    browser.wide();
    browser.press_key("l");
    browser.wait_for("the next variant", &format!("{heads}[0] === {}", first[1]));
    browser.press_key("h");
    browser.wait_for("the first variant again", &format!("{heads}[0] === {}", first[0]));
    browser.click("[aria-label='Variants after']");
    browser.wait_for("other variants", &format!("{heads}[0] !== {}", first[0]));
    browser.click("[aria-label='Variants after']");
    browser.wait_for(
        "the last variants",
        &format!("{heads}.length === {shown} && document.body.innerText.includes('to 14 of 14')"),
    );
    browser.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
    browser.wait_for("the last row", "document.querySelector('[role=grid] .body').innerText.includes('Row 50')");
    browser.click("[role=grid] .row[aria-rowindex='51'] .cell a");
    browser.wait_for("the item", &format!("{TITLE} === 'Row 50'"));
    accessible_at_every_width(&mut browser, "item of a matrix");
    browser.wide();
    browser.press_key("Escape");
    browser.evaluate("scrollTo(0, 0)");
    browser.press("Compare 10 variants");
    browser.wait_for_text("Compare 10 variants");
    browser.wait_for_text("9 comparisons, p-values after Holm over all metrics");
    let flipped = "/\\b0 fixed · 50 regressed|50 fixed · 0 regressed/.test(document.body.innerText)";
    browser.wait_for("what the other prompt got right or wrong", flipped);
    browser.press("Compare each with each");
    browser.wait_for_text("Click a cell for its rows.");
    assert_eq!(browser.inaccessible(), [""; 0], "variants");
    assert_eq!(browser.complaints, [json!(null); 0]);
}

#[test]
fn the_first_page_is_there_within_a_second() {
    let (_place, _endpoint, server) = finished(3);
    let mut browser = Browser::open(&server.url());
    let read = "Math.max(performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Infinity, \
                ...performance.getEntriesByType('resource').filter(entry => entry.name.includes('/api/v1/jobs')).map(entry => entry.responseEnd))";
    let mut fastest = f64::MAX;
    for _ in 0..5 {
        browser.go(&server.url());
        browser.wait_for_text("Nothing is running");
        browser.wait_for("the first paint", "performance.getEntriesByName('first-contentful-paint').length > 0");
        fastest = fastest.min(browser.evaluate(read).as_f64().unwrap());
    }
    assert!(fastest < 1_000.0, "{fastest} ms");
}
