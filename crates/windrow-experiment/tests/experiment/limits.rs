//! Limits of a provider: what is asked of the journal before a call, and what a limit must not change.

use windrow_model::limit::Limits;

use crate::endpoint::Endpoint;
use crate::fixture::{Folder, KEY, items, job, program};
use crate::journal::{MemoryJournal, Told};

const FRANCE: &str = "{\"country\":\"France\",\"capital\":\"Paris\"}\n";

fn with(endpoint: &str, fields: &str) -> String {
    job(endpoint, "").replacen("model: any", &format!("model: any, {fields}"), 1)
}

async fn journal_of(yaml: &str) -> MemoryJournal {
    let (_folder, program) = program(yaml, FRANCE).await;
    let journal = MemoryJournal::default();
    program.execute(&items(&*program).await[0], &journal).await.unwrap();
    journal
}

#[tokio::test]
async fn a_call_asks_for_leave_on_its_credential_and_no_secret_is_in_its_name() {
    let endpoint = Endpoint::of_capitals().await;
    let limits = "max_tokens: 40, limits: { requests_per_minute: 500, tokens_per_minute: 100000, concurrency: 20 }";
    let journal = journal_of(&with(&endpoint.base_url, limits)).await;
    let demands = journal.demands();
    assert_eq!(demands.len(), 1, "the evaluator needs none");
    let expected = Limits { requests_per_minute: Some(500), tokens_per_minute: Some(100_000), concurrency: Some(20) };
    assert_eq!(demands[0].limits, expected);
    assert!(demands[0].resource.starts_with("127.0.0.1:") && demands[0].resource.contains(" · key "));
    assert!(!demands[0].resource.contains(KEY));
    assert!((50..80).contains(&demands[0].tokens), "{demands:?}");
}

#[tokio::test]
async fn a_changed_limit_changes_no_step() {
    let endpoint = Endpoint::of_capitals().await;
    let key = async |fields: &str| {
        let told = journal_of(&with(&endpoint.base_url, fields)).await.told();
        let Told::Begin(intent) = &told[0] else { panic!("{told:?}") };
        intent.key
    };
    let without = key("temperature: 0").await;
    assert_eq!(key("temperature: 0, limits: { concurrency: 2 }").await, without);
    assert_ne!(key("temperature: 1, limits: { concurrency: 2 }").await, without);
}

#[test]
fn a_limit_that_lets_nothing_through_is_refused_with_its_place() {
    let report = |fields| {
        let yaml = with("http://127.0.0.1:1/v1", fields);
        Folder::new(&[("job.yaml", &yaml), ("capitals.jsonl", FRANCE)]).report()
    };
    let zero = report("limits: { requests_per_minute: 0 }");
    assert!(zero.contains("job.yaml:5") && zero.contains("`requests_per_minute` is 0"), "{zero}");
    let unknown = report("limits: { request_per_minute: 5 }");
    assert!(unknown.contains("did you mean `requests_per_minute`"), "{unknown}");
}

/// The credential of any service is its host and what it is sent in secret; a limit is no part of what
/// determines the answer.
#[tokio::test]
async fn an_http_service_has_limits_too() {
    let endpoint = Endpoint::of_capitals().await;
    let url = &endpoint.base_url;
    let asked = async |more: &str| {
        let target = format!(
            "target:\n  http: {{ url: \"{url}/chat/completions\", body: {{ messages: \"{{{{ country }}}}\" }}, \
             headers: {{ authorization: \"Bearer ${{env:TEST_KEY}}\" }}{more} }}\n"
        );
        let yaml = format!("kind: experiment\nname: capitals\ndataset: capitals.jsonl\n{target}");
        let (_folder, program) = program(&yaml, FRANCE).await;
        let journal = MemoryJournal::default();
        let _ = program.execute(&items(&*program).await[0], &journal).await;
        let Told::Begin(intent) = &journal.told()[0] else { panic!("{:?}", journal.told()) };
        (intent.key, journal.demands().remove(0))
    };
    let (key, demand) = asked(", limits: { concurrency: 3 }").await;
    assert_eq!(demand.limits.concurrency, Some(3));
    assert!(demand.resource.starts_with("127.0.0.1:") && demand.resource.contains(" · key "), "{demand:?}");
    assert_eq!(asked("").await.0, key);
}
