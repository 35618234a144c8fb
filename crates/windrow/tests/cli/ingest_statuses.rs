//! The statuses of ingest (I1) are produced by the real binary, and read at that moment from lists, commands and the
//! API; only a plan is never `PARTIAL`, because its slices are computed and none of them can fail. Whatever is read later of a plan, slice, task, run or batch is reached by transitions that
//! its table allows.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use windrow_model::machine::Machine;
use windrow_model::view::ingest::{BATCH, PLAN, RUN, SLICE, TASK};
use windrow_model::vocabulary::Word;

use crate::bulk_statuses::job_reads;
use crate::client::Served;
use crate::place::{Place, wait_until};

/// A source that answers for a slice once it was let go: with two records, none (`empty`), one that fits and one without
/// a key (`odd`), or 500 (`bad`).
struct Source {
    url: String,
    open: Arc<Mutex<BTreeSet<String>>>,
}

impl Source {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/records", listener.local_addr().unwrap());
        let open = Arc::new(Mutex::new(BTreeSet::new()));
        let gate = open.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let gate = gate.clone();
                std::thread::spawn(move || answer(stream, &gate));
            }
        });
        Self { url, open }
    }

    fn let_go(&self, slices: &[&str]) {
        self.open.lock().unwrap().extend(slices.iter().map(|slice| (*slice).to_owned()));
    }
}

fn answer(mut stream: TcpStream, gate: &Mutex<BTreeSet<String>>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let Some(Ok(first)) = lines.next() else { return };
    lines.take_while(|line| line.as_ref().is_ok_and(|line| !line.is_empty())).for_each(drop);
    let slice = first.split("slice=").nth(1).and_then(|rest| rest.split([' ', '&']).next()).unwrap_or_default();
    while !gate.lock().unwrap().contains(slice) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let (status, body) = match slice {
        "bad" => ("500 Broken", json!({})),
        "empty" => ("200 OK", json!({ "records": [] })),
        "odd" => ("200 OK", json!({ "records": [{ "id": 1 }, { "name": "no key" }] })),
        _ => ("200 OK", json!({ "records": [{ "id": 1 }, { "id": 2 }] })),
    };
    let body = body.to_string();
    let length = body.len();
    let _ = write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
}

/// A server that coordinates one run at a time, so that the next one waits.
struct Scene {
    place: Place,
    server: Served,
    source: Source,
    /// The last status of everything there is, by its path in the lineage.
    last: RefCell<BTreeMap<String, String>>,
    seen: RefCell<BTreeSet<String>>,
}

impl Scene {
    fn start() -> Self {
        let place = Place::empty();
        let server = Served::start(&place, &["--jobs", "1"]);
        let (last, seen) = (RefCell::default(), RefCell::default());
        Self { place, server, source: Source::start(), last, seen }
    }

    fn submit(&self, name: &str, slices: &Value) {
        let job = json!({
            "kind": "ingest", "name": name, "concurrency": 1, "retry": { "max": 0 }, "key": "id", "slices": slices,
            "source": { "rest": {
                "url": self.source.url, "records": "$.records", "params": { "slice": "{{ slice.name }}" },
            } },
            "destination": { "sqlite": { "path": format!("{name}.db") } },
        });
        self.server.submit(&job.to_string()).with_status(201);
    }

    fn reads(&self, plan: &str, status: &str) {
        job_reads(&self.place, &self.server, plan, status);
        self.took("plan", &PLAN, plan.to_owned(), status);
    }

    /// It reads so now. What it read before must lead there.
    fn took<S: Word>(&self, level: &str, machine: &Machine<S, S>, path: String, status: &str) {
        let word = |text: &str| *S::ALL.iter().find(|word| word.as_str() == text).expect("a status of the table");
        let (to, before) = (word(status), self.last.borrow().get(&path).map(|last| word(last)));
        let from = before.map_or_else(|| machine.initial.to_vec(), |before| vec![before]);
        assert!(leads(machine, from, to), "{path}: {before:?} became {to:?}");
        self.last.borrow_mut().insert(path, status.to_owned());
        self.seen.borrow_mut().insert(format!("{level} {status}"));
    }

    fn lineage(&self, plan: &str) -> Value {
        self.lineage_of(plan, "")
    }

    fn lineage_of(&self, plan: &str, more: &str) -> Value {
        let run = self.server.get(&format!("/api/v1/jobs/{plan}")).with_status(200).json();
        let run = run["latest_run"]["id"].as_str().unwrap().to_owned();
        self.server.get(&format!("/api/v1/runs/{run}/lineage?limit=50{more}")).with_status(200).json()
    }

    /// The newest batches of each attempt are three, as in the command.
    fn lineage_with(&self, plan: &str, more: &str) -> Value {
        self.lineage_of(plan, &format!("&batches=3&{more}"))
    }

    /// The slices of a plan, with the task, the runs and the batches of each.
    fn slices_read(&self, plan: &str, statuses: &[[&str; 4]]) {
        let of = |list: &Value| -> Vec<[String; 4]> {
            let text = |value: &Value| value.as_str().unwrap_or("–").to_owned();
            let one = |slice: &Value| {
                let run = &slice["task"]["runs"][0];
                [&slice["status"], &slice["task"]["status"], &run["status"], &run["batches"][0]["status"]].map(text)
            };
            list["slices"].as_array().unwrap().iter().map(one).collect()
        };
        let wanted: Vec<[String; 4]> = statuses.iter().map(|one| one.map(str::to_owned)).collect();
        wait_until(&format!("slices of {plan} to be {statuses:?}"), || of(&self.lineage(plan)) == wanted);
        let shown = self.place.windrow_at(&self.server, &["ingest", "lineage", plan, "--json"]).ended_with(0).json();
        assert_eq!(of(&shown), wanted, "ingest lineage");
        let slices: Vec<Value> = statuses.iter().map(|one| json!(one[0])).collect();
        let items = |list: &Value| -> Vec<Value> {
            list["items"].as_array().unwrap().iter().map(|item| item["status"].clone()).collect()
        };
        let listed = self.server.get(&format!("/api/v1/jobs/{plan}/items")).with_status(200).json();
        assert_eq!(items(&listed), slices, "GET items");
        let listed = self.place.windrow_at(&self.server, &["jobs", "items", plan, "--json"]).ended_with(0).json();
        assert_eq!(items(&listed), slices, "jobs items");
        for (n, [slice, task, run, batch]) in statuses.iter().enumerate() {
            let path = |level: &str| format!("{plan} {n} {level}");
            self.took("slice", &SLICE, path("slice"), slice);
            self.took("task", &TASK, path("task"), task);
            self.took("run", &RUN, path("run"), run);
            if *batch != "–" {
                self.took("batch", &BATCH, path("batch"), batch);
            }
        }
    }
}

/// By transitions of the table, one after the other.
fn leads<S: Word>(machine: &Machine<S, S>, from: Vec<S>, to: S) -> bool {
    let (mut reached, mut next) = (from, 0);
    while let Some(&at) = reached.get(next) {
        let onward = machine.table.iter().filter(|(from, _, _)| *from == at).map(|(_, _, to)| *to);
        let new: Vec<S> = onward.filter(|to| !reached.contains(to)).collect();
        reached.extend(new);
        next += 1;
    }
    reached.contains(&to)
}

#[test]
fn every_status_of_ingest_is_seen_everywhere_and_reached_as_tabled() {
    let scene = Scene::start();
    scene.submit("first", &json!({ "values": ["first"] }));
    scene.server.wait_for_state("first", "running");
    scene.submit("orders", &json!({ "values": ["ok", "empty", "odd", "bad"] }));
    scene.reads("orders", "DRAFT");
    scene.source.let_go(&["first"]);
    scene.reads("orders", "READY");
    const WAITS: [&str; 4] = ["DISPATCHED", "QUEUED", "PLANNED", "–"];
    const EXECUTES: [&str; 4] = ["EXECUTING", "RUNNING", "RUNNING", "RUNNING"];
    scene.slices_read("orders", &[EXECUTES, WAITS, WAITS, WAITS]);
    scene.source.let_go(&["ok", "empty", "odd"]);
    let done = ["SUCCEEDED", "SUCCEEDED", "SUCCEEDED", "SUCCEEDED"];
    let skipped = ["SUCCEEDED", "SUCCEEDED", "SUCCEEDED", "SKIPPED"];
    let partial = ["PARTIAL", "SUCCEEDED", "SUCCEEDED", "SUCCEEDED"];
    scene.slices_read("orders", &[done, skipped, partial, EXECUTES]);
    scene.source.let_go(&["bad"]);
    scene.reads("orders", "COMPLETED");
    scene.slices_read("orders", &[done, skipped, partial, ["FAILED"; 4]]);
    let shown = scene.place.windrow_at(&scene.server, &["jobs", "items", "orders", "--json"]).ended_with(0).json();
    let why = shown["items"][2]["error"]["message"].as_str().unwrap_or_default();
    assert_eq!(why, "1 record was rejected, the others are written", "{shown}");
    let partial = scene.lineage_with("orders", "status=PARTIAL");
    assert_eq!((partial["slices"].as_array().unwrap().len(), &partial["slices"][0]["name"]), (1, &json!("odd")));
    // I6: the batches that failed, of all there are.
    let failed = scene.lineage_with("orders", "failed_batches=true");
    let count = |n: usize| failed["slices"][n]["task"]["runs"][0]["batches"].as_array().unwrap().len();
    assert_eq!([count(0), count(1), count(2), count(3)], [0, 0, 0, 1], "{failed}");
    let words = ["ingest", "lineage", "orders", "--failed-batches", "--json"];
    assert_eq!(scene.place.windrow_at(&scene.server, &words).ended_with(0).json()["slices"], failed["slices"]);

    scene.submit("ended", &json!({ "values": ["one", "two"] }));
    scene.slices_read("ended", &[EXECUTES, WAITS]);
    scene.place.windrow_at(&scene.server, &["jobs", "cancel", "ended"]).ended_with(0);
    scene.source.let_go(&["one"]);
    scene.reads("ended", "COMPLETED");
    scene.slices_read("ended", &[done, ["CANCELLED", "CANCELLED", "CANCELLED", "–"]]);

    scene.submit("broken", &json!({ "values": ["bad"] }));
    job_reads(&scene.place, &scene.server, "broken", "FAILED");
    scene.seen.borrow_mut().insert("plan FAILED".to_owned());

    // I6: by source and operation, over all plans.
    let of = |progress: &Value| progress["sources"][0].clone();
    let all = of(&scene.server.get("/api/v1/ingest/progress?operation=harvest").with_status(200).json());
    let expected = json!({ "SUCCEEDED": 5, "FAILED": 2, "CANCELLED": 1 });
    assert_eq!((&all["plans"], &all["tasks"]), (&json!(4), &expected), "first, orders, ended, broken");
    let origin = all["provenance"].as_str().unwrap();
    let words = ["ingest", "progress", "--provenance", origin, "--json"];
    assert_eq!(of(&scene.place.windrow_at(&scene.server, &words).ended_with(0).json()), all);
    let none = scene.server.get("/api/v1/ingest/progress?operation=other").with_status(200).json();
    assert_eq!(none, json!({ "sources": [] }));

    // So many that it is paused while they are made.
    scene.submit("large", &json!({ "keys": { "from": 0, "to": 3_000_000, "every": 1 } }));
    let slices = || scene.server.get("/api/v1/jobs/large/items?limit=2").with_status(200).json()["items"].clone();
    wait_until("some slices", || slices().as_array().unwrap().len() == 2);
    scene.place.windrow_at(&scene.server, &["jobs", "pause", "large"]).ended_with(0);
    scene.reads("large", "SLICING");
    let lineage = scene.lineage("large");
    let last = lineage["slices"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["status"], &last["task"]["status"]), (&json!("PENDING"), &json!("QUEUED")), "{last}");
    assert_eq!(slices()[1]["status"], "PENDING");
    scene.seen.borrow_mut().insert("slice PENDING".to_owned());
    // A cancel while slices are made, and one before the first.
    scene.place.windrow_at(&scene.server, &["jobs", "cancel", "large"]).ended_with(0);
    scene.reads("large", "COMPLETED");
    assert_eq!(slices()[1]["status"], "CANCELLED");
    scene.submit("busy", &json!({ "values": ["busy"] }));
    scene.server.wait_for_state("busy", "running");
    scene.submit("never", &json!({ "values": ["never"] }));
    scene.reads("never", "DRAFT");
    scene.place.windrow_at(&scene.server, &["jobs", "cancel", "never"]).ended_with(0);
    scene.source.let_go(&["busy"]);
    scene.reads("never", "COMPLETED");

    let seen = scene.seen.borrow();
    assert_eq!(missing(&seen, "plan", &PLAN), ["PARTIAL"]);
    assert_eq!(missing(&seen, "slice", &SLICE), [""; 0]);
    assert_eq!(missing(&seen, "task", &TASK), [""; 0]);
    assert_eq!(missing(&seen, "run", &RUN), [""; 0]);
    assert_eq!(missing(&seen, "batch", &BATCH), [""; 0]);
}

fn missing<S: Word>(seen: &BTreeSet<String>, level: &str, _: &Machine<S, S>) -> Vec<&'static str> {
    let words = S::ALL.iter().map(|word| word.as_str());
    words.filter(|word| !seen.contains(&format!("{level} {word}"))).collect()
}
