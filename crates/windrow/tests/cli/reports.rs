//! The files that `--report` writes, compared as a whole, with times masked.

use crate::endpoint::Endpoint;
use crate::place::Place;

fn place(endpoint: &Endpoint) -> Place {
    endpoint.fail_on([2]);
    let place = Place::with_rows(endpoint, 4, 1);
    let yaml = std::fs::read_to_string(place.path("job.yaml")).unwrap();
    let gates =
        "  - regex: { pattern: \"answer [0-2]\", name: a<b }\ngates:\n  - exact.mean >= 0.9\n  - a<b.mean >= 0.9\n";
    let gates = gates.replace("a<b", "low");
    place.write("job.yaml", &yaml.replace("concurrency", &format!("{gates}concurrency")));
    place
}

/// Masks all times.
fn blotted(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let time = line.find(" time=\"").map(|at| (at, line[at + 7..].find('"').unwrap() + at + 8));
        match time {
            Some((from, to)) => out += &format!("{}{}\n", &line[..from], &line[to..]),
            None if line.contains("P50") => out += "(numbers)\n",
            None => out += &format!("{line}\n"),
        }
    }
    out
}

/// Ids of traces differ from run to run.
fn without_traces(text: &str) -> String {
    let mut parts = text.split("\"trace_id\" value=\"");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| out + "\"trace_id\" value=\"" + &part[32..])
}

#[test]
fn reports_are_written_next_to_the_result() {
    let endpoint = Endpoint::open();
    let place = place(&endpoint);
    let reports = ["--report", "junit=out.xml", "--report", "markdown=out.md", "--report", "json=out.json"];
    let said = place.windrow(&[&["run", "job.yaml", "-q", "--json"][..], &reports].concat()).ended_with(3);
    let read = |file: &str| std::fs::read_to_string(place.path(file)).unwrap();
    let junit = without_traces(&blotted(&read("out.xml")).replace(&endpoint.url, "URL"));
    assert_eq!(junit, include_str!("golden/report.xml"));
    assert_eq!(blotted(&read("out.md")), include_str!("golden/report.md"));
    let json: serde_json::Value = serde_json::from_str(&read("out.json")).unwrap();
    assert_eq!(json, said.json());

    let again = place.windrow(&["report", "counted#1", "--format", "junit", "-o", "again.xml"]).ended_with(0);
    assert_eq!((read("again.xml"), again.stdout.as_str()), (read("out.xml"), ""));
    let shown = place.windrow(&["report", "counted"]).ended_with(0).stdout;
    assert_eq!(shown.trim_end(), read("out.md").trim_end());
}

#[test]
fn a_report_without_a_file_or_format_is_a_usage_error() {
    let said = Place::empty().windrow(&["run", "job.yaml", "--report", "html=x"]).ended_with(2);
    assert!(said.stderr.contains("junit, markdown and json"), "{}", said.stderr);
}
