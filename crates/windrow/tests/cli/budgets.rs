//! A run that reaches its budget pauses, keeps its results, and resumes with a larger budget.

use serde_json::Value;

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::{Place, Said, wait_until};

const ROWS: usize = 40;
/// Each answer uses 3 input tokens and 2 output tokens.
const TOKENS: usize = 5;

fn succeeded(result: &Value) -> usize {
    result["items"]["succeeded"].as_u64().unwrap() as usize
}

/// A paused run names its budget and how to continue.
fn is_spent(said: Said, spent: &str) -> Value {
    let said = said.ended_with(5);
    for part in ["Paused: budget of", spent, "Results so far are saved", "--budget"] {
        assert!(said.stderr.contains(part), "no {part:?} in {}", said.stderr);
    }
    let result = said.json();
    assert_eq!((&result["run"]["state"], &result["exit_code"]), (&"paused".into(), &5.into()));
    result
}

#[test]
fn a_token_budget_pauses_the_run_and_a_larger_one_finishes_it() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, ROWS, 4);
    let said = place.windrow(&["run", "job.yaml", "--budget-tokens", "50", "--yes", "--json"]);
    let result = is_spent(said, "of 50 tokens");
    // Ten calls use 50 tokens; three more may have been in flight.
    let made = endpoint.calls();
    assert!((10..=13).contains(&made), "{made} calls");
    assert_eq!(succeeded(&result), made, "every call that was made is kept");
    let used = &result["usage"];
    assert_eq!(used["tokens_in"].as_u64().unwrap() + used["tokens_out"].as_u64().unwrap(), (made * TOKENS) as u64);

    // Without a larger budget every command pauses the same way at once.
    let command: [&[&str]; 2] =
        [&["run", "job.yaml", "--budget-tokens", "50"], &["jobs", "resume", "counted", "--here"]];
    for arguments in command {
        let said = place.windrow(arguments).ended_with(5);
        assert!(said.stderr.contains("cannot resume") && said.stderr.contains("--budget-tokens"), "{}", said.stderr);
    }
    let why = place.windrow(&["jobs", "why", "counted"]).ended_with(0);
    for part in
        ["Paused since", "budget of 50 tokens reached", "calls in flight when the budget was reached are counted"]
    {
        assert!(why.stdout.contains(part), "no {part:?} in {}", why.stdout);
    }
    let advice = why.stdout.lines().find_map(|line| line.strip_prefix("next: windrow ")).unwrap();
    assert!(advice.starts_with("jobs resume counted --here --budget-tokens "), "{advice}");
    assert_eq!(endpoint.calls(), made);

    // The advice works as it is printed.
    place.windrow(&advice.split_whitespace().collect::<Vec<_>>()).ended_with(5);
    assert!(endpoint.calls() > made);

    let result = place.windrow(&["run", "job.yaml", "--budget-tokens", "100000", "--json"]).ended_with(0).json();
    assert_eq!((&result["resumed"], succeeded(&result), endpoint.calls()), (&true.into(), ROWS, ROWS));
    assert_eq!(result["run"]["reason"], Value::Null, "what paused it is over");
}

#[test]
fn a_cost_budget_is_raised_in_the_file_or_on_resume() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, ROWS, 1);
    // Half a cent for each call.
    place.append("job.yaml", "prices: { any: { input: 1000, output: 1000 } }\nbudget: { cost: 0.025 }");
    is_spent(place.windrow(&["run", "job.yaml", "--yes", "--json"]), "of $0.025");
    assert_eq!(endpoint.calls(), 5);
    place.edit("job.yaml", "cost: 0.025", "cost: 0.05");
    is_spent(place.windrow(&["run", "job.yaml", "--json"]), "of $0.05");
    assert_eq!(endpoint.calls(), 10);
    let result = place.windrow(&["jobs", "resume", "counted", "--here", "--budget", "5", "--json"]).ended_with(0);
    assert_eq!((succeeded(&result.json()), endpoint.calls()), (ROWS, ROWS));
}

#[test]
fn a_first_run_estimated_over_its_budget_is_rejected() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, ROWS, 4);
    let said = place.windrow(&["run", "job.yaml", "--budget-tokens", "50"]).ended_with(5);
    for part in ["over budget: the run is estimated at", "the budget is 50 tokens", "--yes"] {
        assert!(said.stderr.contains(part), "no {part:?} in {}", said.stderr);
    }
    assert_eq!(endpoint.calls(), 0);
    place.windrow(&["run", "job.yaml", "--budget-tokens", "1000000"]).ended_with(0);
    // All of it again is as much as a first run.
    place.windrow(&["run", "job.yaml", "--new", "--budget-tokens", "50"]).ended_with(5);
    assert_eq!(endpoint.calls(), ROWS);
}

/// E4: what a workspace may spend, over all its jobs.
#[test]
fn a_workspace_that_used_up_its_balance_starts_no_run() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 4, 1);
    // Half a cent for each call.
    place.append("job.yaml", "prices: { any: { input: 1000, output: 1000 } }");
    let balance = |amount| [("WINDROW_BALANCE", amount)];
    place.windrow_with(&balance("default=0.02"), &["run", "job.yaml", "--yes"]).ended_with(0);
    let said = place.windrow_with(&balance("default=0.02"), &["run", "job.yaml", "--new"]).ended_with(5);
    let part = "the balance of workspace \"default\" is used up: $0.0200 of $0.0200 spent";
    assert!(said.stderr.contains(part), "{}", said.stderr);
    assert_eq!(endpoint.calls(), 4);
    for enough in ["default=0.03", "other=0.01"] {
        place.windrow_with(&balance(enough), &["run", "job.yaml"]).ended_with(0);
    }
    // What was spent stays spent when its job is deleted.
    place.windrow(&["jobs", "delete", "counted", "--yes"]).ended_with(0);
    let said = place.windrow_with(&balance("0.02"), &["run", "job.yaml"]).ended_with(5);
    assert!(said.stderr.contains(part), "{}", said.stderr);
}

/// E4.
#[test]
fn a_first_run_estimated_over_what_is_left_of_the_balance_is_rejected() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 40, 4);
    place.append("job.yaml", "prices: { any: { input: 1000, output: 1000 } }");
    let balance = [("WINDROW_BALANCE", "0.05")];
    let said = place.windrow_with(&balance, &["run", "job.yaml"]).ended_with(5);
    for part in ["over the balance of workspace \"default\"", "$0.00 of $0.0500 is spent", "--yes"] {
        assert!(said.stderr.contains(part), "no {part:?} in {}", said.stderr);
    }
    assert_eq!(endpoint.calls(), 0);
    place.windrow_with(&balance, &["run", "job.yaml", "--yes"]).ended_with(0);
    assert_eq!(endpoint.calls(), 40);
}

/// E4: a schedule starts no run that a person could not start.
#[test]
fn a_workspace_that_used_up_its_balance_starts_no_scheduled_run() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 4, 1);
    place.append("job.yaml", "prices: { any: { input: 1000, output: 1000 } }\nschedule: \"* * * * * *\"");
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    let server = Served::start(&place, &["--balance", "0.02"]);
    let log = || server.get("/api/v1/jobs/counted/logs").with_status(200).body;
    wait_until("the schedule", || log().contains("schedule_failed"));
    assert!(log().contains("is used up: $0.0200 of $0.0200 spent"), "{}", log());
    let job = server.get("/api/v1/jobs/counted").with_status(200).json();
    assert_eq!((&job["latest_run"]["no"], endpoint.calls()), (&1.into(), 4));
    assert!(job["schedule"]["next_at"].is_string(), "it starts again when there is a balance: {job}");
}

/// The budget may come from the command line, after the file was checked.
#[test]
fn a_budget_in_money_rejects_a_model_without_a_price() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 2, 1);
    place.append("job.yaml", "prices: { other: { input: 1, output: 1 } }");
    // Not a loopback address, where nothing is paid.
    place.edit("job.yaml", "127.0.0.1", "models.example.com");
    let said = place.windrow(&["run", "job.yaml", "--budget", "5"]).ended_with(2);
    for part in ["the price of `any` is unknown", "prices: { \"MODEL\""] {
        assert!(said.stderr.contains(part), "no {part:?} in {}", said.stderr);
    }
    assert_eq!(place.windrow(&["jobs", "list", "--json"]).ended_with(0).json()["jobs"], serde_json::json!([]));
}

/// Reused results were paid for by the earlier run.
#[test]
fn a_re_run_with_reused_results_spends_nothing() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, ROWS, 4);
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    place.windrow(&["run", "job.yaml", "--budget-tokens", "1"]).ended_with(0);
    assert_eq!(endpoint.calls(), ROWS);
}

#[test]
fn a_retry_that_reached_its_budget_resumes_with_the_printed_command() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 10, 1);
    endpoint.fail_on(2..10);
    place.windrow(&["run", "job.yaml", "--budget-tokens", "20", "--yes"]).ended_with(0);
    endpoint.fail_on([]);
    let command = "windrow jobs resume counted --here";
    is_spent(place.windrow(&["jobs", "retry", "counted", "--json"]), &format!("{command} --budget"));
    assert_eq!(endpoint.calls(), 14);
    let said = place.windrow(&["jobs", "retry", "counted"]).ended_with(1);
    assert!(said.stderr.contains(command), "{}", said.stderr);
    place.windrow(&["jobs", "resume", "counted", "--here", "--budget-tokens", "1000"]).ended_with(0);
    assert_eq!(endpoint.calls(), 18);
}
