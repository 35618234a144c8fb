//! Calls that are recorded once and answered offline afterwards.

use windrow_model::ErrorClass;
use windrow_model::workload::{Done, Halt};

use crate::endpoint::{Endpoint, completion};
use crate::fixture::{Folder, KEY, items, prepare};
use crate::journal::MemoryJournal;

const ROW: &str = "{\"country\":\"France\",\"capital\":\"Paris\"}\n";

fn job(mode: &str, target: &str) -> String {
    format!(
        "kind: experiment\nname: n\ndataset: rows.jsonl\ntarget:\n  replay: {{ mode: {mode}, file: calls.jsonl, target: {{ \
         {target} }} }}\n  prompt: \"Capital of {{{{ country }}}}?\"\nevaluators:\n  - exact: {{ expect: \"{{{{ capital }}}}\" }}\n"
    )
}

async fn run(folder: &Folder, yaml: &str) -> (Result<Done, Halt>, MemoryJournal) {
    folder.write("job.yaml", yaml);
    let program = prepare(&folder.load().unwrap_or_else(|report| panic!("{}", report.render()))).await;
    let journal = MemoryJournal::default();
    let item = items(&*program).await.remove(0);
    (program.execute(&item, &journal).await, journal)
}

#[tokio::test]
async fn a_call_is_recorded_once_and_replayed_without_a_key_or_a_network() {
    let endpoint = Endpoint::start(|_| completion(&format!("Paris {KEY}"))).await;
    let folder = Folder::new(&[("rows.jsonl", ROW)]);
    let model = |key: &str| {
        format!("openai: {{ model: gpt-4o, base_url: \"{}\", api_key: \"${{env:{key}}}\" }}", endpoint.base_url)
    };
    let (first, journal) = run(&folder, &job("auto", &model("TEST_KEY"))).await;
    let first = first.unwrap();
    assert!(first.usage.cost_nanos > 0);
    assert_eq!(journal.story()[..2], ["begin target", "done"]);
    let (again, _) = run(&folder, &job("auto", &model("TEST_KEY"))).await;
    assert_eq!(again.unwrap().scores, first.scores);
    assert_eq!(endpoint.calls().len(), 1);
    // Offline: nothing is paid, no key is asked for, and nothing is called.
    let (offline, journal) = run(&folder, &job("replay", &model("NO_SUCH_KEY"))).await;
    let offline = offline.unwrap();
    assert_eq!((&offline.scores, offline.usage.cost_nanos), (&first.scores, 0));
    assert_eq!((offline.usage.tokens_in, offline.latency_ms), (first.usage.tokens_in, first.latency_ms));
    assert_eq!(journal.story()[0], "whole target");
    assert_eq!(endpoint.calls().len(), 1);
    let recorded = std::fs::read_to_string(folder.path("calls.jsonl")).unwrap();
    assert!(recorded.lines().count() == 1 && !recorded.contains(KEY), "{recorded}");
    run(&folder, &job("record", &model("TEST_KEY"))).await.0.unwrap();
    assert_eq!(endpoint.calls().len(), 2);
}

#[tokio::test]
async fn a_call_that_was_not_recorded_is_named() {
    let endpoint = Endpoint::of_capitals().await;
    let folder = Folder::new(&[("rows.jsonl", ROW)]);
    let model = format!("openai: {{ model: any, base_url: \"{}\" }}", endpoint.base_url);
    run(&folder, &job("auto", &model)).await.0.unwrap();
    let asked = job("replay", &model).replace("Capital of", "Seat of");
    let Err(Halt::Failed(missing)) = run(&folder, &asked).await.0 else { panic!("it is not recorded") };
    assert_eq!(missing.class, ErrorClass::InvalidRequest);
    assert!(missing.message.contains("calls.jsonl") && missing.message.contains("Seat of France?"), "{missing}");
    assert_eq!(endpoint.calls().len(), 1);
}

#[test]
fn what_is_wrong_is_said_before_anything_runs() {
    let model = "openai: { model: any, base_url: \"http://127.0.0.1:1/v1\" }";
    let report = |yaml: &str| Folder::new(&[("job.yaml", yaml), ("rows.jsonl", ROW)]).report();
    let missing = report(&job("replay", model));
    assert!(missing.contains("run it once with mode: auto"), "{missing}");
    let unasked = report(&job("auto", model).replace("  prompt: \"Capital of {{ country }}?\"\n", ""));
    assert!(unasked.contains("the target `replay` is asked nothing"), "{unasked}");
    let unknown = report(&job("sometimes", model));
    assert!(unknown.contains("record") && unknown.contains("auto"), "{unknown}");
    let inner = report(&job("auto", "opnai: { model: any }"));
    assert!(inner.contains("did you mean `openai`?"), "{inner}");
}
