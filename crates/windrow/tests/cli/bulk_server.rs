//! Bulk operations on a server: the same commands, remote workers, and servers with one region each.

use serde_json::json;

use crate::bulk::write_job;
use crate::client::Served;
use crate::mock_connect::MockConnect;
use crate::place::{Place, wait_until};

const TWO_TASKS: &str = "do: change_config\n    set: { tasks.max: \"2\" }";

#[test]
fn an_operation_is_planned_run_approved_and_rolled_back_on_a_server() {
    let (place, elsewhere) = (Place::empty(), Place::empty());
    let connect = MockConnect::start(&place, &["--connectors", "5"]);
    let server = Served::start(&elsewhere, &[]);
    write_job(&place, &connect, TWO_TASKS, "{ waves: [2, 3], approval: each, max_failed: 1 }");

    let plan = place.windrow_at(&server, &["plan", "job.yaml", "--limit", "1", "--json"]).ended_with(0).json();
    assert_eq!((&plan["changed"], &plan["waves"]), (&json!(5), &json!([2, 3])));
    assert_eq!(plan["targets"][0]["changes"], json!(["config.tasks.max: \"1\" → \"2\""]));
    assert_eq!((plan["targets"].as_array().unwrap().len(), connect.calls("config")), (1, 0));

    let run = place.start_at(&server, &["run", "job.yaml", "--json"]);
    run.wait_for_stderr("wave 2 needs approval");
    let shown = server.get("/api/v1/jobs/change").with_status(200).json();
    assert_eq!(shown["latest_run"]["rollout"]["wave"], 1);
    let said = place.windrow_at(&server, &["jobs", "approve", "change"]).ended_with(0);
    assert!(said.stdout.contains("wave 2 approved"), "{}", said.stdout);
    assert_eq!(run.finish().ended_with(0).json()["items"]["succeeded"], 5);
    let first = server.post_json("/api/v1/jobs/change/approve", &json!({ "wave": 1 })).with_status(400).json();
    assert_eq!(first["field"], "wave");
    server.post("/api/v1/jobs/change/approve").with_status(409);

    let csv = place.windrow_at(&server, &["jobs", "targets", "change", "--as", "csv"]).ended_with(0).stdout;
    assert!(csv.lines().count() == 6 && csv.contains("orders-0004,2,success,true"), "{csv}");
    let page = server.get("/api/v1/jobs/change/targets?limit=2").with_status(200).json();
    assert_eq!((&page["targets"][1]["target"], &page["next"]), (&json!("orders-0001"), &json!("2")));
    server.get("/api/v1/jobs/change/targets?status=done").with_status(400);

    place.windrow_at(&server, &["jobs", "rollback", "change", "--wave", "2", "-q"]).ended_with(0);
    let list = |status: &str| {
        let said = place.windrow_at(&server, &["jobs", "targets", "change", "--json", "--status", status]);
        said.ended_with(0).stdout.lines().count()
    };
    assert_eq!((list("rollback_success"), list("success")), (3, 2));
    let items = server.get("/api/v1/jobs/change/items").json();
    assert_eq!(
        (&items["items"][0]["status"], &items["items"][4]["status"]),
        (&json!("success"), &json!("rollback_success"))
    );

    let mut config = connect.get("/east/connectors/orders-0000/config");
    config["tasks.max"] = json!("7");
    connect.put("/east/connectors/orders-0000/config", &config);
    place.windrow_at(&server, &["jobs", "rollback", "change", "-q"]).ended_with(4);
    // A retry of a failed rollback is a rollback too.
    let said = place.windrow_at(&server, &["jobs", "retry", "change", "--json"]).ended_with(4).json();
    assert_eq!((&said["run"]["mode"], &said["items"]["total"]), (&json!("rollback"), &json!(1)));
    place.windrow_at(&server, &["jobs", "rollback", "change", "--force", "--yes", "-q"]).ended_with(0);
    assert_eq!(connect.get("/east/connectors/orders-0000/config")["tasks.max"], "1");
    server.post_json("/api/v1/jobs/change/rollback", &json!({ "wave": 0 })).with_status(400);
}

/// B9: items of an operation go to workers with the required capability.
#[test]
fn a_remote_worker_changes_and_restores_its_targets() {
    let (place, elsewhere) = (Place::empty(), Place::empty());
    let connect = MockConnect::start(&place, &["--connectors", "4"]);
    let server = Served::start(&elsewhere, &[]);
    write_job(&place, &connect, TWO_TASKS, "{ max_failed: 1 }");
    place.append("job.yaml", "worker: dmz");
    let before = connect.connectors();
    let run = place.start_at(&server, &["run", "job.yaml", "--json"]);
    wait_until("the reason to be reported", || {
        let why = server.get("/api/v1/jobs/change/why").json();
        why["headline"].as_str().is_some_and(|said| said.contains("`dmz`"))
    });
    assert_eq!(connect.calls("config"), 0);
    // Its targets have passwords, which are sealed with the worker's key.
    let key = [("WINDROW_MASTER_KEY", "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff")];
    let worker = place.start_with(&key, &["worker", "--server", &server.url(), "--capability", "dmz"]);
    assert_eq!(run.finish().ended_with(0).json()["items"]["succeeded"], 4);
    place.windrow_at(&server, &["jobs", "rollback", "change", "-q"]).ended_with(0);
    for (key, one) in connect.connectors() {
        assert_eq!((&one["config"], &one["puts"]), (&before[&key]["config"], &json!(2)));
    }
    worker.kill();
}

/// B10: two servers on one database, each with its own region.
#[test]
fn a_server_runs_only_jobs_of_its_region() {
    let place = Place::empty();
    let east = Served::start(&place, &["--region", "east"]);
    let west = Served::start(&place, &["--region", "west,south"]);
    let job = |region: &str| {
        format!(
            "kind: operation\nname: of-{region}\nlabels: {{ region: {region} }}\ntargets: [a]\n\
             action: {{ command: {{ apply: {{ run: [\"true\"] }} }} }}\n"
        )
    };
    for region in ["east", "south", "north"] {
        east.submit(&job(region)).with_status(201);
    }
    east.wait_for_state("of-east", "completed");
    // The job is executed by a server of its region, whichever server accepted it.
    east.wait_for_state("of-south", "completed");
    let why = west.get("/api/v1/jobs/of-north/why").json();
    assert!(why["headline"].as_str().unwrap().contains("serves region \"north\""), "{why}");
    let logs = |job: &str| east.get(&format!("/api/v1/jobs/{job}/logs")).json().to_string();
    assert!(logs("of-east").contains("completed") && logs("of-south").contains("completed"));
    let regions: Vec<String> = east.get("/api/v1/workers").json()["workers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|worker| worker["regions"].to_string())
        .collect();
    assert!(
        regions.contains(&"[\"east\"]".to_owned()) && regions.contains(&"[\"west\",\"south\"]".to_owned()),
        "{regions:?}"
    );
}
