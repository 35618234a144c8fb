//! E4: what is checked before anything is stored, all in one report, each with its place.

use windrow_experiment::FILE_KIND;
use windrow_jobfile::Environment;
use windrow_jobfile::job_file::load_with;

use crate::fixture::Folder;

const ALL_WRONG: &str = r#"kind: experiment
name: wrong
budget: { cost: -1 }
forbidden: [classified]
dataset: rows.jsonl
target:
  openai: { model: any, base_url: "https://models.example.com/v1", api_key: "${env:NO_KEY}" }
  system: You know what is Classified.
  prompt: "Capital of {{ contry }}?"
evaluators:
  - exact: { expect: "{{ capitol }}" }
  - judge:
      model: { openai: { model: any, base_url: "${env:NO_URL}", api_key: "${env:NO_JUDGE_KEY}" } }
      rubric: "Is {{ output }} as good as {{ reference }}?"
  - command: { run: [./check.sh], env: { TOKEN: "${env:NO_TOKEN}" } }
gates:
  - exact.mean >> 0.9
  - exakt.mean >= 0.9
concurrency: 0
timeout: 0s
"#;

const ROWS: &str = "{\"country\":\"France\",\"capital\":\"Paris\"}\n{\"country\":\"Japan\",\"capital\":\"a CLASSIFIED place\"}\n{\"country\":\n";

#[test]
fn all_that_is_wrong_is_in_one_report_with_its_place() {
    let folder = Folder::new(&[("job.yaml", ALL_WRONG), ("rows.jsonl", ROWS)]);
    let report = folder.report();
    for (place, what) in [
        ("job.yaml:3:", "`budget.cost` and `budget.tokens` must be greater than 0"),
        ("job.yaml:7:", "the environment variable NO_KEY is not set"),
        ("job.yaml:8:", "\"Classified\" is a forbidden word"),
        ("job.yaml:9:", "`target.prompt` uses unknown field `contry`"),
        ("job.yaml:11:", "uses unknown field `capitol`"),
        ("job.yaml:13:", "the environment variable NO_URL is not set"),
        ("job.yaml:13:", "the environment variable NO_JUDGE_KEY is not set"),
        ("job.yaml:14:", "uses unknown field `reference`"),
        ("job.yaml:15:", "the environment variable NO_TOKEN is not set"),
        ("job.yaml:17:", "`gates[0]`"),
        ("job.yaml:18:", "`gates[1]`"),
        ("job.yaml:19:", "`concurrency` must be a positive integer"),
        ("job.yaml:20:", "`timeout` must not be zero"),
        ("rows.jsonl:2:", "\"CLASSIFIED\" is a forbidden word"),
        ("rows.jsonl:3:", ""),
    ] {
        let said = report.lines().any(|line| line.contains(place) && line.contains(what));
        assert!(said, "no {what:?} at {place} in:\n{report}");
    }
    let problems = folder.load().unwrap_err().problems;
    assert_eq!(problems.len(), 15, "nothing is said twice:\n{report}");
    assert!(problems.iter().all(|problem| !problem.help.is_empty()), "{report}");
}

#[test]
fn a_missing_name_or_dataset_hides_nothing_else() {
    let yaml = ALL_WRONG.replace("name: wrong", "labels: {}");
    let folder = Folder::new(&[("job.yaml", &yaml)]);
    let report = folder.report();
    for what in [
        "the field `name` is missing",
        "rows.jsonl does not exist",
        "`budget.cost` and `budget.tokens` must be",
        "NO_KEY",
        "`gates[1]`",
    ] {
        assert!(report.contains(what), "no {what:?} in:\n{report}");
    }
    folder.write("rows.jsonl", "");
    let report = folder.report();
    assert!(report.contains("rows.jsonl has no rows") && report.contains("NO_TOKEN"), "{report}");
}

fn forbidding(forbidden: &str) -> String {
    format!(
        "kind: experiment\nname: short\n{forbidden}\ndataset: rows.jsonl\ntarget: {{ recorded: {{ field: answer }} }}\n"
    )
}

#[test]
fn forbidden_words_come_from_the_file_a_list_of_its_own_and_the_machine() {
    let rows = "{\"answer\":\"one\"}\n{\"answer\":\"tw\\u006f\",\"turn\":{\"deep\":[\"Three\"]}}\n";
    let folder = Folder::new(&[("rows.jsonl", rows), ("words.txt", "# ours\ntwo\n"), ("machine.txt", "three\n")]);
    let machine = folder.path("machine.txt").display().to_string();
    let environment = Environment::new(move |name| (name == "WINDROW_FORBIDDEN").then(|| machine.clone()));
    let says = |yaml: &str| {
        folder.write("job.yaml", yaml);
        let found = load_with(&folder.path("job.yaml"), &environment, None, &[FILE_KIND]).map(|job| job.rows);
        found.map_err(|report| report.problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>())
    };
    let word = |word: &str| format!("{word:?} is a forbidden word");
    assert_eq!(says(&forbidding("forbidden: words.txt")), Err(vec![word("Three"), word("two")]));
    assert_eq!(says(&forbidding("forbidden: [ONE, tw]")), Err(vec![word("one"), word("Three")]));
    assert_eq!(says(&forbidding("description: nothing")), Err(vec![word("Three")]));
    assert!(says(&forbidding("forbidden: none.txt")).unwrap_err()[0].contains("none.txt cannot be read"));
    folder.write("machine.txt", "\n");
    assert_eq!(says(&forbidding("forbidden: []")), Ok(2));
}

/// Memory and output stay small however much is wrong.
#[test]
fn many_forbidden_words_are_counted_rather_than_listed() {
    let rows: String = (0..500).map(|n| format!("{{\"answer\":\"bad {n}\"}}\n")).collect();
    let yaml = forbidding("forbidden: [bad]") + &"# bad in a comment is nobody's business\n".repeat(30);
    let folder = Folder::new(&[("job.yaml", &yaml), ("rows.jsonl", &rows)]);
    let report = folder.load().unwrap_err();
    assert_eq!(report.problems.len(), 21, "{}", report.render());
    assert!(report.render().contains("480 more forbidden words are in rows of"), "{}", report.render());
}
