//! Evaluators that ask a model: what they ask, what they make of the reply, and what is paid.

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde_json::json;
use windrow_model::step::{Score, Usage, Verdict};
use windrow_model::workload::{Done, Halt, Program};
use windrow_model::{ErrorClass, Failure};

use crate::endpoint::{Call, Endpoint, completion};
use crate::fixture::{Folder, items, prepare};
use crate::journal::MemoryJournal;

const ROW: &str = "{\"country\":\"France\",\"capital\":\"Paris\",\"other\":\"Lyon\"}\n";

/// A target and a judge on the same endpoint; `{judge}` in the text becomes the judge's model.
fn folder(endpoint: &Endpoint, evaluators: &str, more: &str) -> Folder {
    let base_url = &endpoint.base_url;
    let model = format!("{{ openai: {{ model: referee, base_url: \"{base_url}\" }} }}");
    let evaluators = evaluators.replace("{judge}", &model);
    let job = format!(
        "kind: experiment\nname: n\ndataset: rows.jsonl\ntarget:\n  openai: {{ model: any, base_url: \"{base_url}\" }}\n  \
         prompt: \"Capital of {{{{ country }}}}?\"\nevaluators:\n{evaluators}\n{more}"
    );
    Folder::new(&[("job.yaml", &job), ("rows.jsonl", ROW)])
}

async fn program_of(folder: &Folder) -> std::sync::Arc<dyn Program> {
    prepare(&folder.load().unwrap_or_else(|report| panic!("{}", report.render()))).await
}

async fn run(folder: &Folder, journal: &MemoryJournal) -> Result<Done, Halt> {
    let program = program_of(folder).await;
    program.execute(&items(&*program).await[0], journal).await
}

async fn score(folder: &Folder) -> Score {
    run(folder, &MemoryJournal::default()).await.unwrap().scores.remove(0)
}

/// Answers "Paris" as the target, and what `judging` says as the judge.
async fn endpoint(judging: impl Fn(&Call) -> String + Send + Sync + 'static) -> Endpoint {
    Endpoint::start(move |call| match call.body["model"] == "referee" {
        true => completion(&judging(call)),
        false => completion("Paris"),
    })
    .await
}

fn asked_of_the_judge(endpoint: &Endpoint) -> Vec<Call> {
    endpoint.calls().into_iter().filter(|call| call.body["model"] == "referee").collect()
}

#[tokio::test]
async fn a_judge_sees_rubric_question_and_answer_and_its_score_is_a_share_of_the_scale() {
    let endpoint = endpoint(|_| r#"{"reason": "Right, but curt.", "score": 4}"#.to_owned()).await;
    let evaluators = "  - judge: { model: {judge}, rubric: \"Is {{ output }} the capital of {{ country }}?\", \
                      expect: \"{{ capital }}!\" }";
    let folder = folder(&endpoint, evaluators, "");
    let journal = MemoryJournal::default();
    let done = run(&folder, &journal).await.unwrap();
    let score = &done.scores[0];
    assert_eq!((score.verdict, score.value), (Verdict::Pass, Some(0.75)));
    assert_eq!(score.reason, "4 on 1 to 5: Right, but curt.");
    assert_eq!(done.usage, Usage { tokens_in: 22, tokens_out: 6, cost_nanos: 0 }, "target and judge");
    assert_eq!(
        journal.story(),
        ["begin target", "done", "begin call judge", "done", "whole evaluator judge"],
        "the judge's call is announced before it is made"
    );
    let prompt = asked_of_the_judge(&endpoint)[0].last_message().to_owned();
    for part in [
        "<rubric>\nIs Paris the capital of France?\n</rubric>",
        "<question>\nCapital of France?\n</question>",
        "<expected>\nParis!\n</expected>",
        "<answer>\nParis\n</answer>",
        "\"score\": <a number from 1 to 5>",
    ] {
        assert!(prompt.contains(part), "no {part:?} in:\n{prompt}");
    }
    assert!(!prompt.contains("<earlier>"), "{prompt}");
}

/// Rule 9: the judge's call is a step, so that what only reads it anew pays nothing.
#[tokio::test]
async fn another_threshold_is_no_new_call() {
    let endpoint = endpoint(|_| r#"{"score": 4}"#.to_owned()).await;
    let evaluators = |threshold| format!("  - judge: {{ model: {{judge}}, rubric: Good?, threshold: {threshold} }}");
    let first = MemoryJournal::default();
    let passed = run(&folder(&endpoint, &evaluators(0.7), ""), &first).await.unwrap();
    let second = first.next_attempt();
    let failed = run(&folder(&endpoint, &evaluators(0.8), ""), &second).await.unwrap();
    assert_eq!((passed.scores[0].verdict, failed.scores[0].verdict), (Verdict::Pass, Verdict::Fail));
    assert_eq!(second.story(), ["reuse target", "reuse call judge", "whole evaluator judge"]);
    assert_eq!(failed.usage, passed.usage);
    assert_eq!(endpoint.calls().len(), 2);
}

#[tokio::test]
async fn a_reply_that_cannot_be_read_is_asked_for_once_more() {
    let endpoint = endpoint(|call| match call.roles().len() {
        1 => "Splendid!".to_owned(),
        _ => "Sorry. ```json\n{\"score\": \"5/5\",}\n```".to_owned(),
    })
    .await;
    let folder = folder(&endpoint, "  - judge: { model: {judge}, rubric: Good? }", "");
    let journal = MemoryJournal::default();
    let done = run(&folder, &journal).await.unwrap();
    assert_eq!((done.scores[0].verdict, done.scores[0].value), (Verdict::Pass, Some(1.0)));
    assert_eq!(done.usage.tokens_in, 33, "both calls of the judge count");
    let calls = asked_of_the_judge(&endpoint);
    assert_eq!(calls[1].roles(), ["user", "assistant", "user"]);
    assert!(calls[1].last_message().starts_with("This reply cannot be used: it has no score."), "{calls:?}");
}

#[tokio::test]
async fn a_judge_that_never_scores_is_an_error_with_its_words() {
    let endpoint = endpoint(|_| "Splendid!".to_owned()).await;
    let folder = folder(&endpoint, "  - judge: { model: {judge}, rubric: Good? }", "");
    let journal = MemoryJournal::default();
    let done = run(&folder, &journal).await.unwrap();
    assert_eq!((done.scores[0].verdict, done.scores[0].value), (Verdict::Error, None));
    assert!(done.scores[0].reason.ends_with("it has no score; it said \"Splendid!\""), "{:?}", done.scores);
    assert_eq!((asked_of_the_judge(&endpoint).len(), done.usage.tokens_in), (2, 33));
}

#[tokio::test]
async fn a_judge_may_choose_instead_and_be_asked_in_other_words() {
    let endpoint = endpoint(|_| "Verdict: partly".to_owned()).await;
    let evaluators = "  - judge: { model: {judge}, choices: { right: 1, partly: 0.5, wrong: 0 }, threshold: 0.6, \
                      prompt: \"{{ transcript }} - right? {{ format }}\" }";
    let folder = folder(&endpoint, evaluators, "");
    let found = score(&folder).await;
    assert_eq!((found.verdict, found.value), (Verdict::Fail, Some(0.5)));
    assert_eq!(found.reason, "partly: Verdict: partly");
    let asked = asked_of_the_judge(&endpoint)[0].last_message().to_owned();
    assert!(asked.starts_with("user: Capital of France?\n\nassistant: Paris - right? Reply with one JSON"), "{asked}");
    assert!(asked.contains("<one of: partly, right, wrong>"), "{asked}");
}

#[tokio::test]
async fn a_schema_is_sent_where_wanted_and_done_without_where_it_is_refused() {
    let evaluators = "  - judge: { model: {judge}, rubric: Good?, structured: true }";
    let knows = endpoint(|_| r#"{"score": 5}"#.to_owned()).await;
    assert_eq!(score(&folder(&knows, evaluators, "")).await.value, Some(1.0));
    let format = asked_of_the_judge(&knows)[0].body["response_format"].clone();
    assert_eq!(format["json_schema"]["schema"]["required"], json!(["reason", "score"]));

    let does_not = Endpoint::start(|call| match call.body.get("response_format") {
        Some(_) => (StatusCode::BAD_REQUEST, "no such field").into_response(),
        None if call.body["model"] == "referee" => completion(r#"{"score": 5}"#),
        None => completion("Paris"),
    })
    .await;
    assert_eq!(score(&folder(&does_not, evaluators, "")).await.value, Some(1.0));
}

#[tokio::test]
async fn a_whole_conversation_is_judged_by_its_transcript() {
    let endpoint = endpoint(|_| r#"{"score": 5}"#.to_owned()).await;
    let evaluators = "  - judge: { model: {judge}, rubric: Polite?, over: conversation }";
    let folder = folder(&endpoint, evaluators, "");
    folder.write("rows.jsonl", "{\"turns\":[{\"country\":\"France\"},{\"country\":\"Peru\"}]}\n");
    let done = run(&folder, &MemoryJournal::default()).await.unwrap();
    assert_eq!((done.scores.len(), done.scores[0].turn), (1, 1));
    let asked = asked_of_the_judge(&endpoint);
    assert_eq!(asked.len(), 1);
    let shown = "<conversation>\nuser: Capital of France?\n\nassistant: Paris\n\nuser: Capital of Peru?\n\nassistant: \
                 Paris\n</conversation>";
    assert!(asked[0].last_message().contains(shown), "{}", asked[0].last_message());
    assert!(!asked[0].last_message().contains("<question>"));
}

const PAIRWISE: &str = "  - pairwise: { model: {judge}, against: \"{{ other }}\" }";

fn prefers(call: &Call, wanted: &str) -> String {
    let first = call.last_message().contains(&format!("<answer_a>\n{wanted}\n"));
    format!("{{\"choice\": \"{}\"}}", if first { "A" } else { "B" })
}

#[tokio::test]
async fn a_preference_counts_if_it_survives_the_exchange() {
    let better = endpoint(|call| prefers(call, "Paris")).await;
    let won = score(&folder(&better, PAIRWISE, "")).await;
    assert_eq!((won.verdict, won.value), (Verdict::Pass, Some(1.0)));
    assert_eq!(won.reason, "better in both orders; as A: A; as B: B");
    assert_eq!(asked_of_the_judge(&better).len(), 2);

    let worse = endpoint(|call| prefers(call, "Lyon")).await;
    let lost = score(&folder(&worse, PAIRWISE, "")).await;
    assert_eq!((lost.verdict, lost.value), (Verdict::Fail, Some(0.0)));

    let first_come = endpoint(|_| "A".to_owned()).await;
    let unsure = score(&folder(&first_come, PAIRWISE, "")).await;
    assert_eq!(unsure.value, Some(0.5));
    assert!(unsure.reason.starts_with("inconsistent"), "{}", unsure.reason);
}

#[tokio::test]
async fn the_same_text_twice_is_a_tie_that_costs_nothing() {
    let endpoint = endpoint(|_| "A".to_owned()).await;
    let evaluators = PAIRWISE.replace("other", "capital");
    assert_eq!(score(&folder(&endpoint, &evaluators, "")).await.value, Some(0.5));
    assert!(asked_of_the_judge(&endpoint).is_empty());
}

/// A crash between the two calls of a pairwise judge repeats only the second.
#[tokio::test]
async fn each_of_the_two_calls_is_a_step() {
    let asked = AtomicUsize::new(0);
    let endpoint = Endpoint::start(move |call| {
        match call.body["model"] == "referee" && asked.fetch_add(1, Ordering::Relaxed) == 1 {
            true => (StatusCode::INTERNAL_SERVER_ERROR, "down").into_response(),
            false => completion("A"),
        }
    })
    .await;
    let folder = folder(&endpoint, PAIRWISE, "");
    let first = MemoryJournal::default();
    let Err(Halt::Failed(failure)) = run(&folder, &first).await else { panic!("the second call fails") };
    assert_eq!(failure.class, ErrorClass::Server);
    let second = first.next_attempt();
    run(&folder, &second).await.unwrap();
    assert_eq!(asked_of_the_judge(&endpoint).len(), 3);
}

/// Vectors in which Paris and Lyon are at a right angle, and everything else is between them.
async fn endpoint_of_vectors() -> Endpoint {
    let vector = |text: &str| match text {
        "Paris" => json!([2.0, 0.0]),
        "Lyon" => json!([0.0, 2.0]),
        _ => json!([1.0, 1.0]),
    };
    Endpoint::start(move |call| match call.body["input"].as_array() {
        None => completion("Paris"),
        Some(texts) => {
            let data = texts.iter().enumerate().rev();
            let data = data.map(|(index, text)| json!({ "index": index, "embedding": vector(text.as_str().unwrap()) }));
            let usage = json!({ "prompt_tokens": 5, "total_tokens": 5 });
            axum::Json(json!({ "data": data.collect::<Vec<_>>(), "usage": usage })).into_response()
        }
    })
    .await
}

#[tokio::test]
async fn nearness_in_meaning_is_the_cosine_of_two_vectors_from_one_call() {
    let endpoint = endpoint_of_vectors().await;
    let evaluator =
        |expect: &str| format!("  - embedding: {{ model: {{judge}}, expect: \"{expect}\", threshold: 0.7 }}");
    let journal = MemoryJournal::default();
    let done = run(&folder(&endpoint, &evaluator("Orly, {{ country }}"), ""), &journal).await.unwrap();
    assert_eq!(done.scores[0].verdict, Verdict::Pass);
    assert_eq!(done.scores[0].reason, "0.707 reaches 0.7 against \"Orly, France\"");
    assert_eq!(done.usage.tokens_in, 16, "the call of the target and that for the vectors");
    let story = ["begin target", "done", "begin call embedding", "done", "whole evaluator embedding"];
    assert_eq!(journal.story(), story);
    assert!(!format!("{:?}", journal.told()).contains("\"embedding\":["), "vectors are not kept");
    let asked = endpoint.calls().remove(1).body;
    assert_eq!(asked, json!({ "model": "referee", "input": ["Paris", "Orly, France"] }));
    assert_eq!(score(&folder(&endpoint, &evaluator("{{ other }}"), "")).await.value, Some(0.0));
    assert_eq!(endpoint.calls().len(), 4);
    assert_eq!(score(&folder(&endpoint, &evaluator("{{ capital }}"), "")).await.value, Some(1.0));
    assert_eq!(endpoint.calls().len(), 5, "the same text needs no vectors");
}

/// What is good stands, what may pass is tried again, and in the end the verdict is `error`.
#[tokio::test]
async fn only_the_failing_judge_is_tried_again_and_in_the_end_it_is_an_error() {
    let endpoint = Endpoint::start(|call| match (&call.body["model"], call.last_message().contains("down")) {
        (model, true) if model == "referee" => (StatusCode::SERVICE_UNAVAILABLE, "later").into_response(),
        (model, false) if model == "referee" => completion(r#"{"score": 5}"#),
        _ => completion("Paris"),
    })
    .await;
    let evaluators = "  - judge: { model: {judge}, rubric: Good?, name: good }\n  - exact: { expect: \"{{ capital }}\" }\n  \
                      - judge: { model: {judge}, rubric: Is it down?, name: down }";
    let folder = folder(&endpoint, evaluators, "retry: { max: 2 }");
    let program = program_of(&folder).await;
    let mut item = items(&*program).await.remove(0);
    let mut journal = MemoryJournal::default();
    for retries in 0..2 {
        item.tried.retries = retries;
        let Err(Halt::Failed(Failure { class, .. })) = program.execute(&item, &journal).await else {
            panic!("try {retries} fails")
        };
        assert_eq!(class, ErrorClass::Server);
        journal = journal.next_attempt();
    }
    item.tried.retries = 2;
    let done = program.execute(&item, &journal).await.unwrap();
    let verdicts: Vec<_> = done.scores.iter().map(|score| (score.name.as_str(), score.verdict)).collect();
    assert_eq!(verdicts, [("good", Verdict::Pass), ("exact", Verdict::Pass), ("down", Verdict::Error)]);
    assert!(done.scores[2].reason.starts_with("server: HTTP 503"), "{:?}", done.scores[2]);
    let calls = endpoint.calls();
    assert_eq!(calls.iter().filter(|call| call.body["model"] == "any").count(), 1, "the target is called once");
    let judged = |word: &str| asked_of_the_judge(&endpoint).iter().filter(|c| c.last_message().contains(word)).count();
    assert_eq!((judged("Good?"), judged("Is it down?")), (1, 3));
}

#[test]
fn a_judge_that_cannot_work_is_refused() {
    let refused = |evaluator: &str, part: &str| {
        let job = format!(
            "kind: experiment\nname: n\ndataset: rows.jsonl\ntarget: {{ recorded: {{ field: other }} }}\nevaluators:\n  - {evaluator}\n"
        );
        let report = Folder::new(&[("job.yaml", &job), ("rows.jsonl", ROW)]).report();
        assert!(report.contains(part), "no {part:?} in:\n{report}");
    };
    let model = "model: { openai: { model: m, base_url: 'http://127.0.0.1:1' } }";
    refused("judge: { rubric: x }", "the field `evaluators[0].judge.model` is missing");
    refused(&format!("judge: {{ {model} }}"), "told nothing to judge by");
    refused(&format!("judge: {{ {model}, rubric: x, threshold: 4 }}"), "4 on a scale from 1 to 5 is 0.75");
    refused(&format!("judge: {{ {model}, rubric: x, scale: [5, 1] }}"), "judge.scale`: must be two numbers");
    refused(&format!("judge: {{ {model}, rubric: '{{{{ capitol }}}}' }}"), "did you mean `capital`?");
    refused(&format!("judge: {{ {model}, rubic: x }}"), "did you mean `rubric`?");
    refused("judge: { model: { recorded: { field: other } }, rubric: x }", "cannot be asked with messages");
    refused(
        "embedding: { model: { anthropic: { model: m, base_url: 'http://127.0.0.1:1' } }, expect: x }",
        "makes no embeddings",
    );
    refused("judge: { model: { openai: { modl: m } }, rubric: x }", "unknown field `modl`");
}
