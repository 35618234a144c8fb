//! Every public status of a batch and its tasks (B5, B8, B18) is produced by the real binary, and read at that moment from
//! `jobs list`, `jobs show`, `jobs targets`, the items, and the API.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::{Value, json};
use windrow_model::view::batch::BatchStatus;

use crate::client::Served;
use crate::place::{Place, wait_until};

/// A server that coordinates one run at a time, so that the next one waits.
struct Scene {
    place: Place,
    server: Served,
    seen: RefCell<BTreeSet<String>>,
}

impl Scene {
    fn start() -> Self {
        let place = Place::empty();
        let server = Served::start(&place, &["--jobs", "1"]);
        Self { place, server, seen: RefCell::default() }
    }

    /// Targets are files. A change of `t1` waits until `t1.go` is there, and fails while `t1.refuse` is.
    fn submit(&self, name: &str, targets: &[&str]) {
        let folder = self.place.path("").display().to_string();
        let wait =
            "f={folder}/$WINDROW_TARGET; while [ -e $f ] && [ ! -e $f.go ]; do sleep 0.02; done; [ ! -e $f.refuse ]";
        let wait = wait.replace("{folder}", folder.trim_end_matches('/'));
        targets.iter().for_each(|target| self.place.write(target, "1"));
        let job = json!({
            "kind": "operation", "name": name, "targets": targets, "concurrency": 1, "retry": { "max": 0 },
            "timeout": "10m", "strategy": { "max_failed": 100 },
            "action": { "command": {
                "read": { "run": ["cat", format!("{folder}/{{{{ target.name }}}}")] },
                "apply": { "run": ["sh", "-c", format!("{wait} && echo 2 > $f")] },
                "undo": { "run": ["sh", "-c", format!("{wait} && echo 1 > $f")] },
                "done": "now == 2",
            } },
        });
        self.server.submit(&job.to_string()).with_status(201);
    }

    fn release(&self, targets: &[&str]) {
        targets.iter().for_each(|target| self.place.write(&format!("{target}.go"), ""));
    }

    fn hold(&self, targets: &[&str]) {
        targets.iter().for_each(|target| std::fs::remove_file(self.place.path(&format!("{target}.go"))).unwrap());
    }

    fn refuse(&self, targets: &[&str]) {
        targets.iter().for_each(|target| self.place.write(&format!("{target}.refuse"), ""));
    }

    fn accept(&self, targets: &[&str]) {
        targets.iter().for_each(|target| std::fs::remove_file(self.place.path(&format!("{target}.refuse"))).unwrap());
    }

    /// Another run takes the only place, until the returned target is let go.
    fn occupy(&self, name: &'static str) -> [&'static str; 1] {
        self.submit(name, &[name]);
        self.server.wait_for_state(name, "running");
        [name]
    }

    fn get(&self, path: &str) -> Value {
        self.server.get(&format!("/api/v1/{path}")).with_status(200).json()
    }

    fn windrow(&self, words: &[&str]) -> String {
        self.place.windrow_at(&self.server, words).ended_with(0).stdout
    }

    fn reads(&self, job: &str, status: &str) {
        job_reads(&self.place, &self.server, job, status);
        self.seen.borrow_mut().insert(status.to_owned());
    }

    /// Its tasks read so everywhere, in their order.
    fn tasks_read(&self, job: &str, statuses: &[&str]) {
        let wanted: Vec<Value> = statuses.iter().map(|status| json!(status)).collect();
        let of = |list: &Value, key: &str| -> Vec<Value> {
            list[key].as_array().unwrap().iter().map(|one| one["status"].clone()).collect()
        };
        let targets = || of(&self.get(&format!("jobs/{job}/targets")), "targets");
        wait_until(&format!("tasks of {job} to be {statuses:?}"), || targets() == wanted);
        assert_eq!(of(&self.get(&format!("jobs/{job}/items")), "items"), wanted, "GET items");
        let lines = self.windrow(&["jobs", "targets", job, "--json"]);
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let lines: Vec<Value> = lines.collect();
        assert_eq!(lines.iter().map(|one| one["status"].clone()).collect::<Vec<_>>(), wanted, "jobs targets");
        for (line, status) in lines.iter().zip(statuses) {
            let name = line["target"].as_str().unwrap();
            let shown = self.windrow(&["jobs", "item", job, name, "--json"]);
            assert_eq!(serde_json::from_str::<Value>(&shown).unwrap()["status"], *status, "jobs item {name}");
            let filtered = self.windrow(&["jobs", "targets", job, "--status", status, "--json"]);
            assert!(filtered.lines().any(|one| one.contains(&format!("\"{name}\""))), "--status {status}: {filtered}");
        }
        self.seen.borrow_mut().extend(statuses.iter().map(|status| format!("task {status}")));
    }

    fn post(&self, path: &str) {
        self.server.post_json(&format!("/api/v1/jobs/{path}"), &json!({})).with_status(201);
    }
}

/// The job reads so everywhere: in lists, with and without a filter, and alone; over HTTP and in commands.
pub fn job_reads(place: &Place, server: &Served, job: &str, status: &str) {
    let get = |path: &str| server.get(&format!("/api/v1/{path}")).with_status(200).json();
    wait_until(&format!("{job} to be {status}"), || get(&format!("jobs/{job}"))["status"] == status);
    let of = |list: &Value| {
        let found = list["jobs"].as_array().unwrap().iter().find(|one| one["name"] == job).cloned();
        found.map(|one| one["status"].clone())
    };
    let wanted = Some(json!(status));
    assert_eq!(of(&get("jobs")), wanted, "GET /jobs");
    assert_eq!(of(&get(&format!("jobs?status={status}"))), wanted, "GET /jobs?status");
    let windrow = |words: &[&str]| place.windrow_at(server, words).ended_with(0);
    assert_eq!(of(&windrow(&["jobs", "list", "--status", status, "--json"]).json()), wanted, "jobs list");
    let table = windrow(&["jobs", "list"]).stdout;
    // A paused job says that instead.
    let says = |line: &str| line.starts_with(job) && (line.contains(status) || line.contains("paused"));
    assert!(table.lines().any(says), "{status}:\n{table}");
    assert_eq!(windrow(&["jobs", "show", job, "--json"]).json()["status"], status, "jobs show");
}

#[test]
fn every_status_of_a_batch_and_its_tasks_is_seen_everywhere() {
    let scene = Scene::start();
    let all = ["t1", "t2", "t3", "t4"];

    let first = scene.occupy("first");
    scene.submit("batch", &all);
    scene.reads("batch", "pending");
    scene.release(&first);
    scene.reads("batch", "running");
    scene.tasks_read("batch", &["running", "pending", "pending", "pending"]);
    scene.refuse(&["t2", "t3"]);
    scene.release(&all);
    scene.reads("batch", "partial_fail");
    scene.tasks_read("batch", &["success", "fail", "fail", "success"]);

    let second = scene.occupy("second");
    scene.post("batch/retry");
    scene.reads("batch", "retry_pending");
    scene.hold(&all);
    scene.accept(&["t2", "t3"]);
    scene.release(&second);
    scene.tasks_read("batch", &["success", "running", "retry_pending", "success"]);
    scene.reads("batch", "running");
    scene.release(&all);
    scene.reads("batch", "success");
    scene.tasks_read("batch", &["success"; 4]);

    let third = scene.occupy("third");
    scene.post("batch/rollback");
    scene.reads("batch", "rollback_pending");
    scene.hold(&all);
    scene.release(&third);
    scene.reads("batch", "rollback_running");
    // The last changed target is restored first.
    let state = || scene.get("jobs/batch/targets")["targets"].as_array().unwrap().clone();
    wait_until("a rollback", || state().iter().any(|one| one["status"] == "rollback_running"));
    let waiting = state().iter().filter(|one| one["status"] == "rollback_pending").count();
    assert_eq!(waiting, 3, "{:?}", state());
    let statuses: Vec<String> = state().iter().map(|one| one["status"].as_str().unwrap().to_owned()).collect();
    scene.tasks_read("batch", &statuses.iter().map(String::as_str).collect::<Vec<_>>());
    scene.refuse(&["t1"]);
    scene.release(&all);
    scene.reads("batch", "rollback_fail");
    scene.tasks_read("batch", &["rollback_fail", "rollback_success", "rollback_success", "rollback_success"]);
    scene.accept(&["t1"]);
    scene.post("batch/rollback");
    scene.reads("batch", "rollback_success");

    scene.submit("ended", &["c1", "c2"]);
    scene.tasks_read("ended", &["running", "pending"]);
    scene.windrow(&["jobs", "cancel", "ended"]);
    scene.release(&["c1"]);
    scene.reads("ended", "cancel");
    scene.tasks_read("ended", &["cancel", "cancel"]);

    scene.refuse(&["f1", "f2"]);
    scene.release(&["f1", "f2"]);
    scene.submit("broken", &["f1", "f2"]);
    scene.reads("broken", "fail");

    let seen = scene.seen.borrow();
    let missing = |prefix: &str| -> Vec<&str> {
        let words = BatchStatus::ALL.iter().map(|status| status.as_str());
        words.filter(|word| !seen.contains(&format!("{prefix}{word}"))).collect()
    };
    assert_eq!(missing(""), ["unknown"], "a batch whose tasks are unknown has failed");
    // Only a batch succeeds in part; what is unknown has a test of its own.
    assert_eq!(missing("task "), ["partial_fail", "unknown"]);
}

/// B18: the server was killed during a call, and nobody can look whether it happened.
#[test]
fn a_task_whose_outcome_nobody_knows_is_unknown_everywhere() {
    let scene = Scene::start();
    let job = json!({
        "kind": "operation", "name": "batch", "targets": ["a", "b"], "concurrency": 1, "retry": { "max": 0 },
        "action": { "command": { "apply": { "run": ["sh", "-c", format!(
            "[ $WINDROW_TARGET = b ] || {{ touch {0}; while [ -e {0} ]; do sleep 0.02; done; }}", scene.place.path("called").display()
        )] } } },
    });
    scene.server.submit(&job.to_string()).with_status(201);
    wait_until("the call", || scene.place.path("called").exists());
    let Scene { place, server, seen } = scene;
    server.kill();
    let server = Served::start(&place, &[]);
    let scene = Scene { place, server, seen };
    scene.reads("batch", "partial_fail");
    scene.tasks_read("batch", &["unknown", "success"]);
}
