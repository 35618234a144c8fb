//! What a person sees in a terminal: colours, the progress line, hints and notes. Every transcript reads: headline, whole
//! job, this run, evidence, what to do next.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::json;

use crate::endpoint::Endpoint;
use crate::mock_connect::MockConnect;
use crate::mock_source::MockSource;
use crate::place::{Place, wait_until};

/// Runs a command in a pseudo-terminal of 100 columns.
const TERMINAL: &str = "
import fcntl, os, pty, struct, sys, termios
child, screen = pty.fork()
if child == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 40, 100, 0, 0))
    os.execvp(sys.argv[1], sys.argv[1:])
while True:
    try:
        written = os.read(screen, 65536)
    except OSError:
        break
    if not written:
        break
    sys.stdout.buffer.write(written)
    sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
";

/// Cursor movements and colours.
static CONTROL: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\x1b\[[0-9;?]*[A-Za-z]").unwrap());

fn plain(screen: &str) -> String {
    CONTROL.replace_all(screen, "").replace('\r', "\n")
}

struct Screen {
    code: i32,
    /// As it was written, with its colours.
    raw: String,
    text: String,
}

fn terminal(place: &Place, arguments: &[&str]) -> crate::place::Background {
    place.start_in("python3", &["-c", TERMINAL], arguments)
}

fn screen(place: &Place, arguments: &[&str]) -> Screen {
    let said = terminal(place, arguments).finish();
    Screen { code: said.code, text: plain(&said.stdout), raw: said.stdout }
}

impl Screen {
    #[track_caller]
    fn shows(&self, parts: &[&str]) {
        let mut rest = self.text.as_str();
        for part in parts {
            let at = rest.find(part).unwrap_or_else(|| panic!("no {part:?}, in this order, in\n{}", self.text));
            rest = &rest[at + part.len()..];
        }
    }

    /// The values after a label, e.g. of `items     10 · 10 succeeded`.
    #[track_caller]
    fn fact(&self, label: &str) -> &str {
        let line = self.text.lines().find_map(|line| line.strip_prefix(label)?.strip_prefix("  "));
        line.unwrap_or_else(|| panic!("no {label:?} in\n{}", self.text)).trim()
    }
}

#[test]
fn a_first_run_shows_its_whole_result_in_colour() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 10, 4);
    let screen = screen(&place, &["run", "job.yaml"]);
    assert_eq!(screen.code, 0);
    screen.shows(&[
        "✓ counted: success · run 1",
        "items",
        "latency",
        "tokens",
        "time",
        "EVALUATOR",
        "PASS RATE [95% CI]",
    ]);
    assert_eq!(screen.fact("items"), "10 · 10 succeeded");
    for painted in ["\x1b[32m✓\x1b[0m", "\x1b[1mcounted\x1b[0m", "\x1b[32msuccess\x1b[0m"] {
        assert!(screen.raw.contains(painted), "no {painted:?} in {}", screen.raw);
    }
    assert!(screen.text.lines().all(|line| line.chars().count() <= 100), "{}", screen.text);
}

#[test]
fn the_progress_of_a_retry_shows_the_whole_job_first() {
    // The questions of the first run, and no more.
    let endpoint = Endpoint::gated(10);
    let place = Place::with_rows(&endpoint, 10, 1);
    place.append("job.yaml", "retry: { max: 0 }");
    endpoint.fail_on([2, 5]);
    place.windrow(&["run", "job.yaml", "--quiet"]).ended_with(0);
    endpoint.fail_on([]);
    let retry = terminal(&place, &["jobs", "retry", "counted"]);
    endpoint.let_through(1);
    wait_until("one of two", || plain(&retry.stdout_so_far()).contains("this run 1 of 2"));
    let shown = plain(&retry.stdout_so_far());
    let line = shown.lines().find(|line| line.contains("this run 1 of 2")).unwrap();
    assert!(line.contains("90%  9/10 · 0 failed · this run 1 of 2"), "{line}");
    endpoint.open_gate();
    let said = retry.finish().ended_with(0);
    let text = plain(&said.stdout);
    for part in
        ["Retrying 2 failed items", "✓ counted: success · run 2 (retry)", "this run  2 items retried · 2 succeeded"]
    {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

#[test]
fn a_retry_of_an_error_class_says_how_many_it_takes() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 6, 1);
    place.append("job.yaml", "retry: { max: 0 }");
    endpoint.fail_on([1, 2]);
    place.windrow(&["run", "job.yaml", "--quiet"]).ended_with(0);
    let said = place.windrow(&["jobs", "retry", "counted", "--error", "timeout"]);
    assert!(said.stderr.contains("Retrying 0 of 2 failed items"), "{}", said.stderr);
}

#[test]
fn an_interrupted_run_prints_how_to_resume_and_the_next_one_says_where_it_starts() {
    let endpoint = Endpoint::gated(3);
    let place = Place::with_rows(&endpoint, 6, 1);
    let run = place.start(&["run", "job.yaml"]);
    wait_until("the fourth call", || endpoint.calls() == 4);
    run.signal(rustix::process::Signal::INT);
    run.wait_for_stderr("Stopping: waiting for 1 running item (Ctrl-C again to stop now)");
    endpoint.let_through(1);
    let said = run.finish().ended_with(130);
    assert!(
        said.stderr.ends_with("! Interrupted: 4 of 6 items done and saved.\nnext: windrow run job.yaml\n"),
        "{}",
        said.stderr
    );
    endpoint.open_gate();
    let screen = screen(&place, &["run", "job.yaml"]);
    screen.shows(&[
        "Resuming run 1: 4 of 6 items done",
        "✓ counted: success · run 1",
        "this run",
        "resumed, 2 items in",
    ]);
    assert_eq!(screen.fact("items"), "6 · 6 succeeded");
}

#[test]
fn why_says_who_paused_it_then_facts_then_the_command() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 10, 1);
    place.windrow(&["run", "job.yaml", "--budget-tokens", "10", "--yes"]).ended_with(5);
    let screen = screen(&place, &["jobs", "why", "counted"]);
    screen.shows(&[
        "Paused since",
        "budget of 10 tokens reached",
        "items",
        "spent",
        "next: windrow jobs resume counted --here",
    ]);
    assert_eq!(screen.fact("items"), "2 of 10 done · 8 queued · 0 running");
    assert_eq!(screen.fact("spent"), "10 tokens (calls in flight when the budget was reached are counted)");
    let bold = screen.raw.starts_with("\x1b[1mPaused since");
    assert!(bold, "{}", screen.raw);
}

#[test]
fn a_rescore_says_what_it_computes_and_marks_earlier_scores() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 10, 4);
    place.append("job.yaml", "# end");
    place.edit("job.yaml", "evaluators:\n", "evaluators:\n  - contains: { expect: answer }\n");
    place.windrow(&["run", "job.yaml", "--quiet"]).ended_with(0);
    place.edit("job.yaml", "answer {{ n }}", "answer {{ n }}!");
    let screen = screen(&place, &["run", "job.yaml", "--rescore"]);
    screen.shows(&[
        "Rescoring 10 stored outputs: contains reused, exact changed. The target is not called.",
        "✓ counted: success · run 2 (rescore)",
        "this run",
        "10 items rescored · 10 succeeded",
        "EVALUATOR",
    ]);
    let previous = screen.text.lines().find(|line| line.starts_with("exact@")).expect("the earlier scores");
    assert!(previous.trim_end().ends_with("previous"), "{previous}");
    let now = screen.text.lines().find(|line| line.starts_with("exact ")).expect("the new scores");
    assert!(!now.contains("previous"), "{now}");
}

#[test]
fn a_failed_gate_is_the_headline_and_the_last_line() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 10, 4);
    place.edit("job.yaml", "answer {{ n }}", "answer 1");
    place.append("job.yaml", "gates:\n  - exact.mean >= 0.92\n  - errors < 50%");
    let screen = screen(&place, &["run", "job.yaml"]);
    assert_eq!(screen.code, 3);
    screen.shows(&[
        "✗ counted: 1 of 2 quality gates failed · run 1",
        "GATE",
        "ACTUAL [95% CI]",
        "RESULT",
        "exact.mean >= 0.92",
        "failed",
        "passed",
        "error: quality gate failed: exact.mean is 0.100, required 0.92",
    ]);
    assert!(screen.raw.contains("\x1b[31m1 of 2 quality gates failed"), "{}", screen.raw);
}

#[test]
fn a_conflict_of_a_rollback_is_shown_apart_with_the_command_that_overwrites_it() {
    let place = Place::empty();
    let connect = MockConnect::start(&place, &["--connectors", "3"]);
    let action = "do: change_config\n    set: { tasks.max: \"2\" }";
    crate::bulk::write_job(&place, &connect, action, "{ canary: 1, wave: 2, max_failed: 1 }");
    let run = screen(&place, &["run", "job.yaml"]);
    assert_eq!(run.code, 0);
    run.shows(&["✓ wave 1 of 2 (canary)  1 changed", "✓ change: success · run 1"]);
    assert_eq!(run.fact("targets"), "3 · 3 changed");
    let mut config = connect.get("/east/connectors/orders-0001/config");
    config["tasks.max"] = json!("9");
    connect.put("/east/connectors/orders-0001/config", &config);

    let undone = screen(&place, &["jobs", "rollback", "change"]);
    assert_eq!(undone.code, 4);
    undone.shows(&[
        "! change: rollback_fail, 1 conflict · run 2 (rollback)",
        "targets",
        "this run",
        "3 targets rolled back",
        "Conflicts (not overwritten)",
        "  orders-0001  ",
        "error: 1 target not restored, to keep later changes",
        "next: windrow jobs targets change",
        "windrow jobs rollback change --item orders-0001 --force",
    ]);
    assert_eq!(undone.fact("targets"), "3 · 2 restored · 1 conflict");
    assert!(undone.raw.contains("\x1b[33m1 conflict"), "{}", undone.raw);
}

#[test]
fn a_failed_slice_is_listed_by_its_name() {
    let place = Place::empty();
    let source = MockSource::start(&place, &["--records", "10"]);
    crate::ingest::write_plan(&place, &source, "nowhere", crate::ingest::BY_TOKEN, "");
    place.edit("plan.yaml", "retry: { max: 8, delays: [10ms] }", "retry: { max: 0 }");
    let screen = screen(&place, &["run", "plan.yaml"]);
    screen.shows(&[
        "✗ orders: FAILED, 1 slice failed · run 1",
        "slices",
        "records",
        "Failed slices",
        "next: windrow jobs retry orders",
        "windrow ingest lineage orders --status FAILED",
    ]);
    let lineage = place.windrow(&["ingest", "lineage", "orders", "--json"]).ended_with(0).json();
    let name = lineage["slices"][0]["name"].as_str().unwrap();
    screen.shows(&["Failed slices", &format!("  {name}  ")]);
    place.windrow(&["ingest", "lineage", "orders", "--status", "FAILED"]).ended_with(0);
    let again = place.windrow(&["jobs", "retry", "orders"]);
    assert!(again.stderr.contains("Retrying 1 failed item\n"), "{}", again.stderr);
    assert!(again.stdout.contains("1 slice retried · 0 succeeded, 1 failed · 0 fetched"), "{}", again.stdout);
}
