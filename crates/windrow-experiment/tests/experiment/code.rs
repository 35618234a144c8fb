//! Code of the user as evaluator and as target: what it is given, what its reply means, how it is
//! kept within its limits, and when it is run again.

use std::sync::Arc;

use serde_json::json;
use windrow_model::step::{Score, StepResult, Usage, Verdict};
use windrow_model::workload::{Done, Halt, Program};
use windrow_model::{ErrorClass, Failure};

use crate::fixture::{Folder, KEY, environment, items, prepare, try_prepare};
use crate::journal::{MemoryJournal, Told};

const ROWS: &str = "{\"country\":\"France\",\"capital\":\"Paris\",\"said\":\"Paris\"}\n";

fn folder(evaluator: &str, rows: &[&str], files: &[(&str, &str)]) -> Folder {
    let job = format!(
        "kind: experiment\nname: n\ndataset: rows.jsonl\ntarget: {{ recorded: {{ field: said }} }}\nevaluators:\n  - {evaluator}\n"
    );
    let rows: String = match rows {
        [] => ROWS.to_owned(),
        said => said.iter().map(|said| json!({ "said": said }).to_string() + "\n").collect(),
    };
    let folder = Folder::new(&[("job.yaml", &job), ("rows.jsonl", &rows)]);
    files.iter().for_each(|(name, text)| folder.write(name, text));
    folder
}

async fn program(folder: &Folder) -> Arc<dyn Program> {
    prepare(&folder.load().unwrap_or_else(|report| panic!("{}", report.render()))).await
}

/// The first score of every row, one after the other.
async fn scores(program: &dyn Program) -> Vec<Score> {
    let mut scores = Vec::new();
    for item in items(program).await {
        scores.extend(program.execute(&item, &MemoryJournal::default()).await.unwrap().scores);
    }
    scores
}

#[tokio::test]
async fn a_python_function_is_given_what_it_asks_for_and_may_return_what_it_likes() {
    let code = "print('loading')\n\
                def evaluate(output, expected, row, history, answer):\n    \
                    print('judging')\n    \
                    assert history == [{'role': 'assistant', 'content': 'Paris'}], history\n    \
                    assert 'latency_ms' in answer\n    \
                    return {'score': 0.25, 'reason': f\"{output} {expected} {row['country']}\"}\n\
                def yes(output): return output == 'Paris'\n\
                async def third(**given): return len(given['output']) / 15\n\
                def skip(row): return {'skip': 'no reference'}\n\
                def wrong(output): return 7\n\
                def broken(output): raise ValueError('oh')\n\
                def lost(nothing): return 1\n";
    let judged = async |config: &str| {
        let folder = folder(&format!("python: {{ file: check.py, {config} }}"), &[], &[("check.py", code)]);
        scores(&*program(&folder).await).await.remove(0)
    };
    let graded = judged("expect: '{{ capital }}!'").await;
    assert_eq!((graded.verdict, graded.value), (Verdict::Fail, Some(0.25)), "{graded:?}");
    assert_eq!(graded.reason, "Paris Paris! France");
    let passed = judged("function: yes").await;
    assert_eq!((passed.verdict, passed.value), (Verdict::Pass, Some(1.0)));
    assert_eq!(judged("function: third, threshold: 0.3").await.verdict, Verdict::Pass);
    let skipped = judged("function: skip").await;
    assert_eq!((skipped.verdict, skipped.reason.as_str()), (Verdict::Skipped, "no reference"));
    let wrong = judged("function: wrong").await;
    assert_eq!(wrong.verdict, Verdict::Error);
    assert!(wrong.reason.ends_with("the score 7 is not a number from 0 to 1"), "{}", wrong.reason);
    let broken = judged("function: broken").await;
    assert_eq!((broken.verdict, broken.reason.as_str()), (Verdict::Error, "handler: ValueError: oh (check.py:11)"));
    assert!(judged("function: lost").await.reason.contains("wants `nothing`; it can have: answer, expected"));
    assert!(judged("function: absent").await.reason.contains("check.py has no function `absent`"));
}

#[tokio::test]
async fn one_process_serves_many_items() {
    let code = "import os\ndef evaluate(output): return {'pass': True, 'reason': str(os.getpid())}\n";
    let folder = folder("python: { file: check.py, workers: 1 }", &["a", "b", "c"], &[("check.py", code)]);
    let mut processes: Vec<String> = scores(&*program(&folder).await).await.into_iter().map(|s| s.reason).collect();
    processes.dedup();
    assert_eq!(processes.len(), 1, "{processes:?}");
}

#[tokio::test]
async fn a_program_may_be_started_once_per_item() {
    let script = "read -r input\ncase \"$input\" in *Paris*) echo '{\"pass\": true, \"reason\": \"'$$'\"}';; \
                  *) echo oh no >&2; exit 3;; esac\n";
    let rows = ["Paris", "Paris!", "Rome"];
    let folder = folder("command: { run: [sh, check.sh], mode: once }", &rows, &[("check.sh", script)]);
    let found = scores(&*program(&folder).await).await;
    assert_eq!((found[0].verdict, found[1].verdict), (Verdict::Pass, Verdict::Pass));
    assert_ne!(found[0].reason, found[1].reason, "two processes");
    assert_eq!(found[2].verdict, Verdict::Error);
    assert_eq!(found[2].reason, "handler: the process failed (exit status: 3): oh no");
}

/// Answers each line with its process id, unless it says something worse.
const MOODY: &str = "while read -r line; do case \"$line\" in *hang*) sleep 1000;; *die*) echo help >&2; exit 7;; *babble*) \
                     printf '%05000d' 0; echo;; *chat*) echo hello;; *) echo '{\"pass\": true, \
                     \"reason\": \"'$$'\"}';; esac; done\n";

#[tokio::test]
async fn a_process_that_misbehaves_costs_one_item_and_is_started_anew() {
    let rows = ["ok", "hang", "ok 2", "die", "ok 3", "babble", "ok 4", "chat", "ok 5"];
    let evaluator = "command: { run: [sh, moody.sh], workers: 1, timeout: 2s, max_output: 4KB }";
    let folder = folder(evaluator, &rows, &[("moody.sh", MOODY)]);
    let program = program(&folder).await;
    let found = scores(&*program).await;
    let verdicts: Vec<_> = found.iter().map(|score| score.verdict == Verdict::Pass).collect();
    assert_eq!(verdicts, [true, false, true, false, true, false, true, false, true], "{found:#?}");
    let why = |no: usize, part: &str| assert!(found[no].reason.contains(part), "{}", found[no].reason);
    why(1, "gave no reply within 2000 ms");
    why(3, "ended without a reply (exit status: 7): help");
    why(5, "more than 4096 bytes");
    why(7, "not JSON");
    assert_ne!(found[0].reason, found[2].reason, "another process");
}

/// The failure keeps what was written to standard error.
#[tokio::test]
async fn last_words_are_kept_with_the_failed_step() {
    let job = "kind: experiment\nname: n\ndataset: rows.jsonl\ntarget: { command: { run: [sh, moody.sh] } }\n";
    let folder = Folder::new(&[("job.yaml", job), ("rows.jsonl", "{\"say\":\"die\"}\n"), ("moody.sh", MOODY)]);
    let failure = fail(&folder).await;
    assert_eq!(failure.class, ErrorClass::Handler);
    assert_eq!(failure.detail.unwrap().value()["stderr"], "help\n");
}

#[tokio::test]
async fn memory_is_limited() {
    let code = "def evaluate(output): return len(bytearray(3 << 30)) > 0\n";
    let limited = folder("python: { file: check.py, memory: 1GB }", &[], &[("check.py", code)]);
    let score = scores(&*program(&limited).await).await.remove(0);
    assert_eq!(score.verdict, Verdict::Error);
    assert!(score.reason.contains("MemoryError"), "{}", score.reason);
}

#[tokio::test]
async fn the_environment_is_what_was_given_and_secrets_are_cut_out() {
    let env = "env: { TOKEN: '${env:TEST_KEY}', LEVEL: high }";
    let folder = target(&format!("command: {{ run: [env], mode: once, output: text, {env} }}"), "");
    let journal = MemoryJournal::default();
    let program = program(&folder).await;
    program.execute(&items(&*program).await[0], &journal).await.unwrap();
    let told = journal.told();
    let Told::Finish(_, StepResult::Done { output, .. }) = &told[1] else { panic!("{told:?}") };
    let content = output.value()["content"].as_str().unwrap().to_owned();
    assert!(content.contains("TOKEN=[redacted]") && content.contains("LEVEL=high"), "{content}");
    assert!(!format!("{told:?}").contains(KEY));
    let given = ["HOME", "LANG", "LEVEL", "PATH", "TOKEN"];
    assert!(content.lines().all(|line| given.contains(&line.split('=').next().unwrap())), "{content}");
}

#[tokio::test]
async fn what_a_process_started_ends_with_it() {
    let script = "sleep 1000 & while read -r line; do echo '{\"pass\": true, \"reason\": \"'$!'\"}'; done\n";
    let folder = folder("command: { run: [sh, check.sh] }", &[], &[("check.sh", script)]);
    let program = program(&folder).await;
    let child = scores(&*program).await.remove(0).reason;
    let stat = format!("/proc/{child}/stat");
    let lives = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
    assert!(lives(), "{child}");
    drop(program);
    // The signal is sent at once; the kernel carries it out when it gets to it.
    let ended = async {
        while lives() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), ended).await.expect("the child ends");
}

/// Rule 9: a changed script is another evaluator; another limit or place is not.
#[tokio::test]
async fn a_changed_script_is_computed_anew_and_nothing_else() {
    let text = |value: &str| format!("from helper import help\ndef evaluate(output): return {value}\n");
    let evaluator = "python: { file: check.py, files: [helper.py] }";
    let one = folder(evaluator, &[], &[("check.py", &text("1")), ("helper.py", "help = 1")]);
    let run = async |folder: &Folder, journal: &MemoryJournal| {
        let program = program(folder).await;
        program.execute(&items(&*program).await[0], journal).await.unwrap();
        journal.story()
    };
    let first = MemoryJournal::default();
    assert_eq!(run(&one, &first).await, ["whole target", "begin evaluator python", "done"]);
    let elsewhere = evaluator.replace(" }", ", timeout: 9s, workers: 3 }");
    let same = folder(&elsewhere, &[], &[("check.py", &text("1")), ("helper.py", "help = 1")]);
    assert_eq!(run(&same, &first.next_attempt()).await, ["reuse target", "reuse evaluator python"]);
    one.write("helper.py", "help = 2");
    assert_eq!(run(&one, &first.next_attempt()).await, ["reuse target", "begin evaluator python", "done"]);
    let loaded = one.load().unwrap();
    one.write("check.py", &text("0"));
    let Err(failure) = try_prepare(&loaded, environment()).await else { panic!("the frozen script is gone") };
    assert!(failure.message.contains("check.py has changed since the job was submitted"), "{failure}");
}

#[test]
fn what_cannot_be_run_is_refused() {
    let refused = |evaluator: &str, part: &str| {
        let report = folder(evaluator, &[], &[]).report();
        assert!(report.contains(part), "no {part:?} in:\n{report}");
    };
    refused("python: { file: chekc.py }", "evaluators[0].python.file`: chekc.py cannot be read: file not found");
    refused("python: { fil: check.py }", "did you mean `file`?");
    refused("command: { run: [] }", "command.run`: names no program");
    refused("command: { run: [sh], memory: 512 }", "command.memory`");
    refused("command: { run: [sh], workers: 0 }", "command.workers`: must be 1 to 1024");
    refused("command: { run: [sh], env: { A: '${env:NOT_SET}' } }", "the environment variable NOT_SET is not set");
    refused("command: { run: [sh], expect: '{{ capitol }}' }", "did you mean `capital`?");
}

fn target(target: &str, code: &str) -> Folder {
    let job = format!(
        "kind: experiment\nname: n\ndataset: rows.jsonl\ntarget:\n  {target}\nevaluators:\n  - exact: {{ expect: '{{{{ capital }}}}' }}\n"
    );
    Folder::new(&[("job.yaml", &job), ("rows.jsonl", ROWS), ("agent.py", code), ("agent.sh", code)])
}

async fn run(folder: &Folder) -> Result<Done, Halt> {
    let program = program(folder).await;
    program.execute(&items(&*program).await[0], &MemoryJournal::default()).await
}

async fn fail(folder: &Folder) -> Failure {
    let Err(Halt::Failed(failure)) = run(folder).await else { panic!("it fails") };
    failure
}

#[tokio::test]
async fn a_python_function_may_be_the_target() {
    let code = "def answer(messages, row, turn, trial):\n    \
                    assert (messages[0]['content'], turn, trial) == ('Capital of France?', 0, 1), messages\n    \
                    return {'output': row['capital'], 'usage': {'tokens_in': 7, 'tokens_out': 2, 'cost': 0.25}, \
                'latency_ms': 12.4}\n";
    let folder = target("python: { file: agent.py }\n  prompt: 'Capital of {{ country }}?'", code);
    let done = run(&folder).await.unwrap();
    assert_eq!(done.scores[0].verdict, Verdict::Pass, "{done:?}");
    assert_eq!(done.usage, Usage { tokens_in: 7, tokens_out: 2, cost_nanos: 250_000_000 });
    assert_eq!(done.latency_ms, 12);
}

#[tokio::test]
async fn whatever_a_command_writes_may_be_the_answer() {
    let text = target("command: { run: [sh, agent.sh], mode: once, output: text }", "cat > /dev/null\necho Paris\n");
    assert_eq!(run(&text).await.unwrap().scores[0].verdict, Verdict::Pass);
    let json = target("command: { run: [sh, agent.sh] }", "while read -r line; do echo '\"Paris\"'; done");
    assert_eq!(run(&json).await.unwrap().scores[0].verdict, Verdict::Pass);
    let wrong = fail(&target("command: { run: [sh, agent.sh] }", "while read -r line; do echo '{}'; done")).await;
    assert_eq!(wrong.class, ErrorClass::InvalidOutput);
    assert!(wrong.message.contains("set `output: text`"), "{wrong}");
}

/// T4: the code says what kind of failure it is.
#[tokio::test]
async fn a_failure_that_the_code_reports_keeps_its_class() {
    let code = "read -r line; echo '{\"error\": {\"message\": \"busy\", \"class\": \"rate_limited\", \"retry_after_ms\": 3000}}'";
    let failure = fail(&target("command: { run: [sh, agent.sh], mode: once }", code)).await;
    assert_eq!((failure.class, failure.retry_after_ms), (ErrorClass::RateLimited, Some(3000)));
    let absent = fail(&target("command: { run: [./no-such-program] }", "")).await;
    assert!(absent.message.contains("`./no-such-program` cannot be started"), "{absent}");
}

/// Before an item has been executed, an evaluator that cannot be started stops the run instead of giving each row the
/// verdict `error`.
#[tokio::test]
async fn an_evaluator_that_cannot_be_imported_fails_the_first_items_with_its_traceback() {
    let folder = folder("python: { file: check.py }", &[], &[("check.py", "import no_such_module\n")]);
    let program = program(&folder).await;
    let mut item = items(&*program).await.remove(0);
    item.proven = false;
    let Err(Halt::Failed(failure)) = program.execute(&item, &MemoryJournal::default()).await else {
        panic!("it cannot be imported")
    };
    assert_eq!(failure.setting.as_deref(), Some("`python.file` of evaluator `python`"));
    assert!(failure.message.contains("No module named 'no_such_module'"), "{failure}");
    assert!(failure.detail.unwrap().as_str().contains("Traceback"));
    item.proven = true;
    let done = program.execute(&item, &MemoryJournal::default()).await.unwrap();
    assert_eq!(done.scores[0].verdict, Verdict::Error);
}

/// E19: the intent of code that may take seconds is recorded before it runs; other evaluators say how long they took.
#[tokio::test]
async fn own_code_is_announced_before_it_runs_and_other_evaluators_are_timed() {
    let evaluators = "python: { file: check.py }\n  - exact: { expect: Paris }";
    let folder = folder(evaluators, &[], &[("check.py", "def evaluate(output): return True\n")]);
    let program = program(&folder).await;
    let journal = MemoryJournal::default();
    let item = items(&*program).await.remove(0);
    program.execute(&item, &journal).await.unwrap();
    let mut story = journal.story();
    story.sort();
    assert_eq!(story, ["begin evaluator python", "done", "whole evaluator exact", "whole target"]);
    assert_eq!(journal.took_ms.lock().unwrap().len(), 2);
}
