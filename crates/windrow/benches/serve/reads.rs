//! Mixed reads while a run archives: jobs, runs, items, one item with its steps, logs, stats, health.

use crate::server::Server;
use crate::{Figures, load};

const FINISHED: usize = 20_000;
/// More items than can be archived during the measurement.
const ARCHIVING: usize = 200_000;
const SECONDS: u64 = 20;
const PACE: f64 = 10_000.0;

pub fn measure() -> Figures {
    let server = Server::start();
    server.submit_recorded("finished", FINISHED);
    server.rate_of("finished", FINISHED);
    let endpoint = server.endpoint("100ms");
    server.submit_asking("archiving", ARCHIVING, &endpoint, 64);
    let paths = mix(&server);
    let archived = || server.get("/api/v1/jobs?name=archiving")["jobs"][0]["latest_run"]["items"]["succeeded"].as_f64();
    while archived() < Some(100.0) {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    load::run(&server.address, &paths, 3, None);
    let most = load::run(&server.address, &paths, SECONDS, None);
    let before = archived().expect("a count");
    let paced = load::run(&server.address, &paths, SECONDS, Some(PACE));
    let archived_per_s = (archived().expect("a count") - before) / paced.seconds;
    assert!(archived_per_s > 50.0, "the run archives meanwhile: {archived_per_s}/s");
    [
        ("reads.most_per_s".to_owned(), most.per_s()),
        ("reads.paced_per_s".to_owned(), paced.per_s()),
        ("reads.paced_ms_p50".to_owned(), paced.percentile_ms(0.5)),
        ("reads.paced_ms_p99".to_owned(), paced.percentile_ms(0.99)),
        ("reads.paced_ms_max".to_owned(), paced.percentile_ms(1.0)),
        ("reads.archived_per_s_meanwhile".to_owned(), archived_per_s),
        ("reads.peak_mb".to_owned(), server.peak_mb()),
    ]
    .into()
}

/// A realistic mix: mostly pages of items and single items.
fn mix(server: &Server) -> Vec<String> {
    let finished = server.get("/api/v1/jobs?name=finished")["jobs"][0].clone();
    let run = finished["latest_run"]["id"].as_str().expect("an id").to_owned();
    let item = server.get("/api/v1/jobs/finished/items?limit=1")["items"][0]["id"].clone();
    let first: i64 = item.as_str().and_then(|id| id.parse().ok()).or(item.as_i64()).expect("a number");
    let mut paths = Vec::new();
    for no in 0..20 {
        let somewhere = first + no * 900;
        paths.extend([
            format!("/api/v1/items/{somewhere}"),
            format!("/api/v1/jobs/finished/items?limit=20&after={somewhere}"),
            format!("/api/v1/items/{}", somewhere + 7),
            "/api/v1/jobs?limit=20".to_owned(),
            "/api/v1/jobs/archiving".to_owned(),
            format!("/api/v1/runs/{run}"),
            "/api/v1/jobs/archiving/items?limit=20".to_owned(),
            "/api/v1/jobs/finished".to_owned(),
            "/api/v1/jobs/archiving/logs?limit=20".to_owned(),
            "/api/v1/health".to_owned(),
        ]);
        if no % 5 == 0 {
            paths.push("/api/v1/jobs/archiving/stats".to_owned());
        }
    }
    paths
}
