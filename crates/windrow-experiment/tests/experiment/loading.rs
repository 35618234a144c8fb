//! Job files in, frozen definitions or reports out (E4: nothing is stored unless all is in order).

use windrow_model::priority::Priority;

use crate::fixture::{Folder, KEY, environment, job, try_prepare};

const ROWS: &str = "{\"country\":\"France\",\"capital\":\"Paris\"}\n{\"country\":\"Japan\",\"capital\":\"Tokyo\"}\n";
const LOCAL: &str = "http://127.0.0.1:8099/v1";
const REMOTE: &str = "https://models.example.com/v1";

fn folder(yaml: &str) -> Folder {
    Folder::new(&[("job.yaml", yaml), ("capitals.jsonl", ROWS)])
}

#[track_caller]
fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
}

#[test]
fn the_file_of_the_issue_works_as_written() {
    let yaml = r#"
kind: experiment
name: capitals
dataset: capitals.jsonl
target:
  openai: { model: any, base_url: "http://127.0.0.1:8099/v1", api_key: "${env:OPENAI_API_KEY}" }
  prompt: "Capital of {{ country }}?"
evaluators:
  - exact: { expect: "{{ capital }}" }
concurrency: 32
"#;
    let folder = folder(yaml);
    let job = folder.load().unwrap();
    assert_eq!((job.name.as_str(), job.kind, job.workspace.as_str()), ("capitals", "experiment", "default"));
    assert_eq!((job.limits.concurrency, job.rows, job.priority), (32, 2, Priority::NORMAL));
    assert!(job.warnings[0].contains("OPENAI_API_KEY is not set"), "{:?}", job.warnings);
    let spec = job.spec.value();
    assert_eq!(spec["target"]["config"]["api_key"], "${env:OPENAI_API_KEY}");
    let path = folder.root().canonicalize().unwrap().join("capitals.jsonl");
    assert_eq!(spec["dataset"]["path"], path.to_str().unwrap());
}

#[test]
fn every_field_is_read() {
    let yaml = job(
        LOCAL,
        "  - exact: { expect: x, ignore_case: true, trim: false }\n  - regex: { pattern: '^P', name: starts_with_p }\n\
         description: what capitals it knows\nworkspace: geo\npriority: 2\nlabels: { creator: ada, region: eu, extra: { team: 7 } }\n\
         timeout: 120s\nretry: { max: 1, delays: [0s, 1m], on: { auth: stop_run, server: fail } }\n",
    );
    let job = folder(&yaml).load().unwrap();
    assert_eq!((job.workspace.as_str(), job.priority.get(), job.limits.concurrency), ("geo", 2, 10));
    assert_eq!(job.description.as_deref(), Some("what capitals it knows"));
    assert_eq!((job.labels.creator.as_str(), job.labels.region.as_str()), ("ada", "eu"));
    assert_eq!(job.labels.extra["team"], 7);
    let spec = job.spec.value();
    assert_eq!(spec["timeout_ms"], 120_000);
    assert_eq!(spec["retry"]["max_retries"], 1);
    assert_eq!(spec["retry"]["delays_ms"], serde_json::json!([0, 60_000]));
    assert_eq!(spec["retry"]["classes"], serde_json::json!({ "auth": "stop_run", "server": "fail" }));
    let names: Vec<_> = spec["evaluators"].as_array().unwrap().iter().map(|e| e["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["exact", "exact_2", "starts_with_p"]);
}

/// T9: secrets stay references in everything that is stored.
#[test]
fn the_key_is_not_in_the_frozen_definition() {
    let job = folder(&job(REMOTE, "prices: { any: { input: 1, output: 2 } }\n")).load().unwrap();
    assert!(!job.spec.as_str().contains(KEY));
    assert_says(job.spec.as_str(), &["${env:TEST_KEY}"]);
    assert_eq!(job.warnings, Vec::<String>::new());
}

#[test]
fn rows_that_are_added_keep_the_definition_and_a_changed_prompt_does_not() {
    let text = job(LOCAL, "");
    let folder = folder(&text);
    let first = folder.load().unwrap();
    folder.write("capitals.jsonl", &format!("{ROWS}{{\"country\":\"Peru\",\"capital\":\"Lima\"}}\n"));
    let grown = folder.load().unwrap();
    assert_eq!((first.spec_hash.clone(), grown.rows), (grown.spec_hash, 3));
    folder.write("job.yaml", &text.replace("Capital of", "Name the capital of"));
    assert_ne!(folder.load().unwrap().spec_hash, first.spec_hash);
    folder.write("job.yaml", &format!("{text}concurrency: 3\npriority: 1\n"));
    assert_eq!(folder.load().unwrap().spec_hash, first.spec_hash);
}

#[test]
fn broken_yaml_names_file_line_and_remedy() {
    let folder = folder("kind: experiment\nname: [oops\ndataset: x\n");
    let report = folder.report();
    assert_says(
        &report,
        &["not valid YAML", "help: correct the YAML", &format!("{}:", folder.path("job.yaml").display())],
    );
    assert_says(&report, &["job.yaml:3: this is not valid YAML: "]);
    folder.write("job.yaml", "kind: experiment\nname: a\nname: b\n");
    assert_says(&folder.report(), &["job.yaml:3: this is not valid YAML: duplicate mapping key: name\n"]);
}

#[test]
fn an_unknown_field_is_named_with_what_was_meant() {
    let report = folder(&job(LOCAL, "concurency: 3\n")).report();
    assert_says(&report, &["job.yaml:9: unknown field `concurency`", "did you mean `concurrency`?"]);
    let nested = folder(&job(LOCAL, "").replace("model: any", "model: any, temprature: 1")).report();
    assert_says(&nested, &["job.yaml:5: unknown field `temprature`", "did you mean `temperature`?"]);
    let evaluator = folder(&job(LOCAL, "").replace("expect:", "nme: a, expect:")).report();
    assert_says(&evaluator, &["job.yaml:8: unknown field `nme`", "did you mean `name`?"]);
}

/// One mistake is one error: a misspelt field is not also missing, and it does not hide the others.
#[test]
fn a_misspelt_field_of_the_target_hides_no_unknown_field_of_the_prompt() {
    let yaml = "name: x\nkind: experiment\nconcurrency: many\ndataset: capitals.jsonl\ntarget:\n  \
                openai: { modle: gpt-4o-mini }\n  prompt: \"{{ contry }}\"\nevaluators: []\n";
    let report = folder(yaml).report();
    assert_says(
        &report,
        &[
            "`concurrency` must be a positive integer",
            "unknown field `modle`",
            "did you mean `model`?",
            "`target.prompt` uses unknown field `contry`",
            "job.yaml has 3 errors. Nothing was called or stored.",
        ],
    );
}

#[test]
fn all_problems_come_in_one_report() {
    let yaml = "kind: experiment\nconcurrency: many\ntimeout: 120\nlabels: { regoin: eu }\ndataset: capitals.jsonl\n\
                target:\n  openai: { modell: any, timeout: soon, api_key: sk-123 }\n  prompt: \"{{ contry }} {{ oops\"\n\
                evaluators:\n  - exact: { ignore_case: 3 }\n  - regex: { pattern: '(' }\n  - exakt: {}\nfoo: 1\n";
    let report = folder(yaml).report();
    assert_says(
        &report,
        &[
            "job.yaml has 13 errors. Nothing was called or stored.",
            "job.yaml:1: the field `name` is missing",
            "job.yaml:2: `concurrency` must be a positive integer",
            "job.yaml:3: `timeout` must be a length of time with its unit, like 30s",
            "job.yaml:4: unknown field `regoin`",
            "job.yaml:7: unknown field `modell`",
            "job.yaml:7: `target.openai.timeout`: \"soon\" is not a length of time",
            "job.yaml:8: `target.prompt` is not a valid template",
            "job.yaml:10: `evaluators[0].exact.ignore_case` must be true or false",
            "job.yaml:10: the field `evaluators[0].exact.expect` is missing",
            "job.yaml:11: `evaluators[1].regex.pattern`: this is not a regular expression: unclosed group",
            "job.yaml:12: unknown evaluator `exakt`",
            "did you mean `exact`?",
            "job.yaml:13: unknown field `foo`",
        ],
    );
}

#[test]
fn an_unknown_kind_is_told_which_there_are() {
    assert_says(
        &folder("kind: experimnt\n").report(),
        &["unknown kind \"experimnt\"", "did you mean `experiment`?", "The kinds are: experiment"],
    );
    assert_says(&folder("name: x\n").report(), &["job.yaml:1: the field `kind` is missing"]);
    assert_says(&folder("- a\n").report(), &["job.yaml:1: a job file is a map of fields, found a list"]);
    assert_says(&folder("").report(), &["a job file is a map of fields"]);
}

#[test]
fn a_missing_job_file_is_named() {
    let folder = Folder::new(&[]);
    assert_says(&folder.report(), &["job.yaml: the job file cannot be read", "help: check the path"]);
}

#[test]
fn a_missing_dataset_names_the_path_that_was_tried() {
    let folder = folder(&job(LOCAL, "").replace("capitals.jsonl", "capitols.jsonl"));
    let tried = folder.root().canonicalize().unwrap().join("capitols.jsonl");
    assert_says(
        &folder.report(),
        &["job.yaml:3: ", &format!("{} does not exist", tried.display()), "did you mean `capitals.jsonl`?"],
    );
}

#[test]
fn an_unclear_format_and_an_empty_dataset_are_refused() {
    let unclear =
        Folder::new(&[("job.yaml", &job(LOCAL, "").replace("capitals.jsonl", "rows.txt")), ("rows.txt", ROWS)]);
    assert_says(&unclear.report(), &["job.yaml:3: the format of", "format: jsonl"]);
    let object = job(LOCAL, "").replace("capitals.jsonl", "{ path: rows.txt, format: jsonl }");
    unclear.write("job.yaml", &object);
    assert_eq!(unclear.load().unwrap().rows, 2);
    unclear.write("rows.txt", "\n\n");
    assert_says(&unclear.report(), &["job.yaml:3: the dataset", "has no rows"]);
}

#[test]
fn a_row_that_is_not_json_is_shown_with_its_line() {
    let folder = folder(&job(LOCAL, ""));
    folder.write("capitals.jsonl", &format!("{ROWS}\n{{\"country\": \"Peru\",\n[1]\n{ROWS}"));
    let report = folder.report();
    let rows = folder.path("capitals.jsonl").display().to_string();
    assert_says(
        &report,
        &[
            &format!("{rows}:4: this row is not JSON: "),
            &format!("{rows}:5: this row is JSON, but not an object"),
            "help: write each row as",
        ],
    );
}

#[test]
fn many_bad_rows_are_counted_not_listed() {
    let folder = folder(&job(LOCAL, ""));
    folder.write("capitals.jsonl", &"oops\n".repeat(1000));
    let report = folder.report();
    assert_says(&report, &["980 more rows of"]);
    assert_eq!(report.matches("not JSON:").count(), 20);
}

#[test]
fn a_ragged_csv_row_is_named_and_later_rows_are_still_checked() {
    let folder = Folder::new(&[
        ("job.yaml", &job(LOCAL, "").replace("capitals.jsonl", "capitals.csv")),
        ("capitals.csv", "country,capital\nFrance,Paris\n\"Two\nlines\",x,y\nJapan,Tokyo\nPeru\n"),
    ]);
    let rows = folder.path("capitals.csv").display().to_string();
    let report = folder.report();
    assert_says(
        &report,
        &[
            &format!("{rows}:3: this row has 3 fields, but there are 2 columns"),
            &format!("{rows}:6: this row has 1 fields, but there are 2 columns"),
            "help: add or remove a comma",
        ],
    );
    folder.write("capitals.csv", "country,country\nFrance,Paris\n");
    assert_says(&folder.report(), &[&format!("{rows}:1: the column `country` is there twice")]);
}

#[test]
fn a_variable_that_no_row_has_is_an_error_in_the_job_file() {
    let report = folder(&job(LOCAL, "").replace("{{ country }}", "{{ contry }}")).report();
    assert_says(
        &report,
        &["job.yaml:6: `target.prompt` uses unknown field `contry`", "did you mean `country`?", "capital, country"],
    );
}

#[test]
fn a_variable_that_some_rows_lack_stops_a_prompt_and_warns_for_an_evaluator() {
    let folder = folder(&job(LOCAL, ""));
    folder.write("capitals.jsonl", &format!("{ROWS}{{\"capital\":\"Lima\"}}\n"));
    let rows = folder.path("capitals.jsonl").display().to_string();
    assert_says(
        &folder.report(),
        &[&format!("{rows}:3: this row has no field `country`, which `target.prompt` needs")],
    );
    folder.write("capitals.jsonl", &format!("{ROWS}{{\"country\":\"Peru\"}}\n"));
    let warnings = folder.load().unwrap().warnings;
    assert_says(&warnings[0], &["1 of 3 rows", "`evaluators[0].exact.expect`", &format!("{rows}:3")]);
}

#[test]
fn a_default_makes_a_variable_optional() {
    let yaml = job(LOCAL, "")
        .replace("{{ country }}", "{{ note | default('France') }}{% if x is defined %}{{ x }}{% endif %}");
    folder(&yaml).load().unwrap();
}

#[test]
fn equal_rows_are_pointed_out() {
    let folder = folder(&job(LOCAL, ""));
    folder.write("capitals.jsonl", &ROWS.repeat(3));
    let job = folder.load().unwrap();
    assert_eq!(job.rows, 6);
    assert_says(&job.warnings[0], &["4 rows of", "each is called and counted on its own"]);
}

#[tokio::test]
async fn an_unset_key_is_an_error_except_for_a_local_endpoint() {
    let yaml = job(REMOTE, "").replace("TEST_KEY", "NO_SUCH_KEY");
    assert_says(
        &folder(&yaml).report(),
        &["job.yaml:5: ", "the environment variable NO_SUCH_KEY is not set", "export NO_SUCH_KEY"],
    );
    for local in [LOCAL, "http://localhost:1/v1", "http://[::1]:1/v1"] {
        let job = folder(&yaml.replace(REMOTE, local)).load().unwrap();
        assert_says(&job.warnings[0], &["NO_SUCH_KEY is not set"]);
        assert!(try_prepare(&job, environment()).await.is_ok());
    }
    let literal = folder(&job(REMOTE, "").replace("${env:TEST_KEY}", "sk-literal")).report();
    assert_says(
        &literal,
        &["job.yaml:5: ", "`target.openai.api_key` is a secret in clear", "${env:API_KEY}", "--allow-plain-secrets"],
    );
}

#[test]
fn a_target_must_be_one_known_target_and_be_asked_something() {
    let base = "kind: experiment\nname: n\ndataset: capitals.jsonl\ntarget: ";
    let says = |target: &str, parts: &[&str]| assert_says(&folder(&format!("{base}{target}\n")).report(), parts);
    says("{ prompt: hi }", &["job.yaml:4: `target` names no target", "openai, anthropic, gemini", "recorded"]);
    says("{ opnai: { model: m }, prompt: hi }", &["unknown field `opnai`", "did you mean `openai`?"]);
    says("{ openai: { model: m, base_url: \"http://localhost\" } }", &["the target `openai` is asked nothing"]);
    says("{ openai: { model: m, base_url: \"ftp://x\" }, prompt: hi }", &["must begin with http:// or https://"]);
    says("{ recorded: }", &["the field `target.recorded.field` is missing"]);
    says("{ recorded: { field: capitol } }", &["uses unknown field `capitol`", "did you mean `capital`?"]);
    says("openai", &["`target` must name a target, found text"]);
}

#[test]
fn the_rendering_shows_file_line_and_column() {
    let folder = folder(&job(LOCAL, "concurency: 3\n"));
    folder.write("capitals.jsonl", &format!("{ROWS}oops\n"));
    let text = folder.load().unwrap_err().render();
    assert_says(&text, &["job.yaml:9:1", "did you mean `concurrency`?", "capitals.jsonl:3:1", "oops"]);
}
