//! `--limit` and `--after` of lists: pages have every row once, in the order of the whole list.

use serde_json::Value;

use crate::endpoint::Endpoint;
use crate::mock_connect::MockConnect;
use crate::place::Place;

/// All rows of a list, read two at a time by the cursors that are printed. `row` reads one from a line of the table.
fn read_in_pages(place: &Place, command: &[&str], row: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let (mut rows, mut after) = (Vec::new(), None::<String>);
    loop {
        let mut arguments = [command, &["--limit", "2"]].concat();
        let cursor = after.map(|cursor| format!("--after={cursor}"));
        arguments.extend(cursor.as_deref());
        let page = place.windrow(&arguments).ended_with(0).stdout;
        let found: Vec<String> = page.lines().filter_map(&row).collect();
        assert!((1..=2).contains(&found.len()), "{page}");
        rows.extend(found);
        after = page.lines().find_map(|line| line.strip_prefix("more: --after=")).map(str::to_owned);
        if after.is_none() {
            return rows;
        }
    }
}

fn first_word(line: &str) -> Option<String> {
    line.split_whitespace().next().map(str::to_owned)
}

#[test]
fn named_things_are_listed_in_pages() {
    let place = Place::empty();
    let file = place.path("rows.jsonl");
    place.write("rows.jsonl", "{\"n\": 1}\n");
    for name in ["alpha", "beta", "gamma", "delta", "eta"] {
        place.windrow(&["datasets", "import", file.to_str().unwrap(), "--name", name]).ended_with(0);
        place.windrow(&["keys", "create", name, "--role", "viewer"]).ended_with(0);
    }
    for (list, field) in [("datasets", "datasets"), ("keys", "keys")] {
        let whole = place.windrow(&[list, "list", "--json"]).ended_with(0).json();
        let names = |rows: &Value| -> Vec<String> {
            rows.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
        };
        let all = names(&whole[field]);
        let row = |line: &str| first_word(line).filter(|name| all.contains(name));
        assert_eq!((all.len(), read_in_pages(&place, &[list, "list"], row)), (5, all.clone()), "{list}");
        let two = place.windrow(&[list, "list", "--limit", "2", "--json"]).ended_with(0).json();
        assert_eq!(names(&two[field]), all[..2]);
    }
    let said = place.windrow(&["datasets", "list", "--after", "gone"]).ended_with(2);
    assert!(said.stderr.contains("unknown cursor \"gone\""), "{}", said.stderr);
}

#[test]
fn targets_and_log_entries_are_listed_in_pages() {
    let place = Place::empty();
    let connect = MockConnect::start(&place, &["--connectors", "5"]);
    let action = "do: change_config\n    set: { tasks.max: \"2\" }";
    crate::bulk::write_job(&place, &connect, action, "{ max_failed: 1 }");
    place.windrow(&["run", "job.yaml", "--quiet"]).ended_with(0);
    let target = |line: &str| first_word(line).filter(|name| name.starts_with("orders-"));
    let all: Vec<String> = (0..5).map(|n| format!("orders-000{n}")).collect();
    assert_eq!(read_in_pages(&place, &["jobs", "targets", "change"], target), all);
    let lines = place.windrow(&["jobs", "targets", "change", "--limit", "3", "--json"]).ended_with(0).stdout;
    assert_eq!(lines.lines().count(), 3);

    let whole = place.windrow(&["jobs", "logs", "change"]).ended_with(0).stdout;
    let entry = |line: &str| (!line.starts_with("more:")).then(|| line.to_owned());
    assert_eq!(read_in_pages(&place, &["jobs", "logs", "change"], entry), whole.lines().collect::<Vec<_>>());
}

#[test]
fn a_page_of_alerts_is_behind_its_cursor() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 1, 1);
    place.windrow(&["run", "job.yaml", "--quiet"]).ended_with(0);
    let said = place.windrow(&["alerts", "--limit", "1", "--after", "alr_0000000000000"]).ended_with(0);
    assert_eq!(said.stdout, "No alerts.\n");
}
