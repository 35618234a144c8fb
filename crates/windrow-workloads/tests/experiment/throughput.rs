//! How much the workload adds to the bare calls. Measures, so it runs on demand only:
//! `cargo test -p windrow-workloads --release --test experiment -- --ignored --nocapture throughput`.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::endpoint::{Endpoint, completion};
use crate::fixture::{Folder, items, job, program};
use crate::journal::MemoryJournal;

const CALLS: usize = 20_000;
const CONCURRENCY: usize = 32;

fn rows(n: usize) -> String {
    (0..n).fold(String::new(), |mut text, no| {
        writeln!(text, "{{\"country\": \"country number {no}\", \"capital\": \"capital number {no}\"}}").unwrap();
        text
    })
}

/// Calls per second of `one`, made `CALLS` times by `CONCURRENCY` tasks.
async fn rate<F: Future<Output = ()> + Send>(one: impl Fn(usize) -> F + Send + Sync + 'static) -> f64 {
    let (one, next) = (Arc::new(one), Arc::new(AtomicUsize::new(0)));
    let started = Instant::now();
    let tasks: Vec<_> = (0..CONCURRENCY)
        .map(|_| {
            let (one, next) = (one.clone(), next.clone());
            tokio::spawn(async move {
                loop {
                    let no = next.fetch_add(1, Ordering::Relaxed);
                    if no >= CALLS {
                        return;
                    }
                    one(no).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    CALLS as f64 / started.elapsed().as_secs_f64()
}

#[ignore = "measures"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn throughput_of_items_against_bare_calls() {
    let endpoint = Endpoint::start(|_| completion("capital number 7")).await;
    let (_folder, program) = program(&job(&endpoint.base_url, ""), &rows(1000)).await;
    let items = Arc::new(items(&*program).await);
    let (client, url) = (reqwest::Client::new(), format!("{}/chat/completions", endpoint.base_url));
    let bare = rate(move |_| {
        let call = client.post(&url).body(r#"{"model":"any","messages":[{"role":"user","content":"?"}]}"#).send();
        async { drop(call.await.unwrap().bytes().await.unwrap()) }
    })
    .await;
    let done = rate(move |no| {
        let (program, items) = (program.clone(), items.clone());
        async move {
            program.execute(&items[no % items.len()], &MemoryJournal::default()).await.unwrap();
        }
    })
    .await;
    println!("items {done:.0}/s, bare calls {bare:.0}/s, ratio {:.2}", done / bare);
}

#[ignore = "measures"]
#[tokio::test]
async fn throughput_of_checking_and_paging_a_million_rows() {
    let folder = Folder::new(&[("job.yaml", &job("http://127.0.0.1:1/v1", "")), ("capitals.jsonl", &rows(1_000_000))]);
    let bytes = std::fs::read(folder.path("capitals.jsonl")).unwrap();
    let started = Instant::now();
    let parsed = bytes.split(|b| *b == b'\n').filter(|line| serde_json::from_slice::<serde_json::Value>(line).is_ok());
    assert_eq!(parsed.count(), 1_000_000);
    let bare = started.elapsed();
    drop(bytes);
    let started = Instant::now();
    let loaded = folder.load().unwrap();
    let checked = started.elapsed();
    assert_eq!(loaded.rows, 1_000_000);
    let program = crate::fixture::prepare(&loaded).await;
    let (started, mut cursor, mut planned) = (Instant::now(), None, 0);
    loop {
        let page = program.page(cursor.as_ref(), 1000).await.unwrap();
        planned += page.items.len();
        cursor = page.cursor;
        if page.done {
            break;
        }
    }
    assert_eq!(planned, 1_000_000);
    let paged = started.elapsed();
    println!(
        "check {checked:?}, page {paged:?}, bare parse {bare:?}, ratio {:.2}",
        checked.as_secs_f64() / bare.as_secs_f64()
    );
}
