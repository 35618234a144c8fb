//! Conversations of more than one turn: forced history, a simulated user, and evaluators that look
//! at the whole.

use serde_json::json;
use windrow_model::step::Verdict;
use windrow_model::workload::{Done, Halt, Program};

use crate::endpoint::{Call, Endpoint, completion};
use crate::fixture::{Folder, items, job, program};
use crate::journal::MemoryJournal;

const TURNS: &str = "{\"turns\":[{\"country\":\"France\",\"capital\":\"Lyon\"},\
                     {\"country\":\"Japan\",\"capital\":\"Tokyo\"}]}\n";

async fn run(program: &dyn Program, journal: &MemoryJournal) -> Result<Done, Halt> {
    let item = items(program).await.remove(0);
    program.execute(&item, journal).await
}

/// The history is what the row says was answered, not what the model answers now.
#[tokio::test]
async fn a_forced_history_is_the_recorded_one() {
    let endpoint = Endpoint::of_capitals().await;
    let yaml = job(&endpoint.base_url, "conversation: { forced: { reply: capital } }\n");
    let (_folder, program) = program(&yaml, TURNS).await;
    let done = run(&*program, &MemoryJournal::default()).await.unwrap();
    assert_eq!(done.scores[0].reason, "expected \"Lyon\", got \"Paris\"");
    let second = endpoint.calls().remove(1);
    assert_eq!(second.body["messages"][1], json!({"role": "assistant", "content": "Lyon"}));
}

fn plays_user(call: &Call) -> bool {
    call.roles()[0] == "system" && call.body["messages"][0]["content"].as_str().unwrap().contains("You play a person")
}

/// Asks for two countries and leaves; the assistant knows capitals.
async fn both_sides() -> Endpoint {
    Endpoint::start(|call| match (plays_user(call), call.roles().len()) {
        (true, 2) => completion("And France?"),
        (true, 4) => completion("And Japan?"),
        (true, _) => completion("[END]"),
        (false, _) if call.last_message().contains("France") => completion("Paris"),
        (false, _) => completion("Tokyo"),
    })
    .await
}

fn simulated(base_url: &str, max_turns: usize) -> String {
    format!(
        "kind: experiment\nname: n\ndataset: rows.jsonl\ntarget: {{ openai: {{ model: any, base_url: \"{base_url}\" }} }}\n\
         conversation:\n  simulated:\n    user: {{ openai: {{ model: player, base_url: \"{base_url}\" }} }}\n    \
         persona: a {{{{ age }}}} year old\n    goal: \"{{{{ goal }}}}\"\n    max_turns: {max_turns}\nevaluators:\n\
         - regex: {{ pattern: '^\\w+$' }}\n- contains: {{ all: [Paris, Tokyo], over: conversation, name: both }}\n"
    )
}

const GOAL: &str = "{\"age\": 9, \"goal\": \"learn two capitals\"}\n";

/// E18: the person is a model; each of its messages is a recorded call, taken over by a second attempt.
#[tokio::test]
async fn a_simulated_user_talks_until_it_has_what_it_wants() {
    let endpoint = both_sides().await;
    let folder = Folder::new(&[("job.yaml", &simulated(&endpoint.base_url, 10)), ("rows.jsonl", GOAL)]);
    let program = crate::fixture::prepare(&folder.load().unwrap_or_else(|report| panic!("{}", report.render()))).await;
    let journal = MemoryJournal::default();
    let done = run(&*program, &journal).await.unwrap();
    let found: Vec<_> = done.scores.iter().map(|score| (score.name.as_str(), score.turn, score.verdict)).collect();
    assert_eq!(found, [("regex", 0, Verdict::Pass), ("regex", 1, Verdict::Pass), ("both", 1, Verdict::Pass)]);
    let turn = ["begin call user", "done", "begin target", "done", "whole evaluator regex"];
    let second = ["begin call user", "done", "partial 1", "begin target", "done", "whole evaluator regex"];
    assert_eq!(journal.story(), [&turn[..], &second, &["begin call user", "done", "whole evaluator both"]].concat());
    let calls = endpoint.calls();
    let instructions = calls[0].body["messages"][0]["content"].as_str().unwrap();
    assert!(instructions.contains("a 9 year old") && instructions.contains("learn two capitals"), "{instructions}");
    // The person hears the assistant as the one it talks to.
    assert_eq!(calls[2].roles(), ["system", "user", "assistant", "user"]);
    assert_eq!(calls[3].last_message(), "And Japan?");
    assert_eq!(done.usage.tokens_in, 5 * 11);

    let again = journal.next_attempt();
    let repeated = run(&*program, &again).await.unwrap();
    assert_eq!(repeated, done);
    assert_eq!(endpoint.calls().len(), 5);
}

#[tokio::test]
async fn a_simulated_conversation_ends_after_its_last_turn() {
    let endpoint = both_sides().await;
    let folder = Folder::new(&[("job.yaml", &simulated(&endpoint.base_url, 1)), ("rows.jsonl", GOAL)]);
    let program = crate::fixture::prepare(&folder.load().unwrap()).await;
    let done = run(&*program, &MemoryJournal::default()).await.unwrap();
    assert_eq!(endpoint.calls().len(), 2);
    assert_eq!(done.scores.last().unwrap().verdict, Verdict::Fail);
}

#[tokio::test]
async fn what_is_wrong_with_a_conversation_is_said_with_its_place() {
    let wrong = |text: &str| {
        let yaml = job("http://127.0.0.1:1/v1", text);
        Folder::new(&[("job.yaml", &yaml), ("capitals.jsonl", TURNS)]).report()
    };
    assert!(
        wrong("conversation: { forced: { reply: answer } }\n")
            .contains("`conversation.forced.reply` uses unknown field `answer`")
    );
    let simulated =
        "conversation: { simulated: { user: { recorded: { field: x } }, goal: '{{ nothing }}', max_turns: 0 } }\n";
    let report = wrong(simulated);
    for part in ["cannot be asked with messages", "max_turns` must be 1", "uses unknown field `nothing`"] {
        assert!(report.contains(part), "{part} in {report}");
    }
    assert!(wrong("conversation: improvised\n").contains("must be one of scripted, forced and simulated"));
}

/// An evaluator that does not apply is skipped, which is not a fail.
#[tokio::test]
async fn a_condition_decides_which_rows_are_judged() {
    let endpoint = Endpoint::of_capitals().await;
    let yaml = job(&endpoint.base_url, "").replace("expect:", "when: \"country == 'Japan'\", expect:");
    let rows = "{\"country\":\"France\",\"capital\":\"x\"}\n{\"country\":\"Japan\",\"capital\":\"Tokyo\"}\n";
    let (_folder, program) = program(&yaml, rows).await;
    let mut verdicts = Vec::new();
    for item in items(&*program).await {
        let done = program.execute(&item, &MemoryJournal::default()).await.unwrap();
        verdicts.push(done.scores[0].verdict);
    }
    assert_eq!(verdicts, [Verdict::Skipped, Verdict::Pass]);
}
