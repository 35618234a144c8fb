//! Secrets (T9) reach the endpoint and appear nowhere else: not in the database, a log, a response or a report,
//! whatever the endpoint returns.

use std::io::Write;
use std::path::Path;

use rustix::process::Signal;
use serde_json::json;

use crate::client::Served;
use crate::parrot::{Parrot, forms};
use crate::place::Place;

/// Contains every character that needs escaping somewhere.
const TOKEN: &str = "t0k/en+Wi\"th\\Trouble?=9";
const KEY: &str = "sk-Zq7xWv93LmPoR";
const JOBS: [&str; 5] = ["polite", "angry", "service", "later", "program"];

fn set(place: &Place, name: &str, value: &str) {
    let (process, mut stdin) = place.start_fed(&["secrets", "set", name]);
    writeln!(stdin, "{value}").unwrap();
    drop(stdin);
    process.finish().ended_with(0);
}

/// Fails if a text contains a secret in any encoding.
#[track_caller]
fn is_clean(what: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for secret in [TOKEN, KEY] {
        for form in forms(secret) {
            if let Some(at) = text.find(&form) {
                let from = (0..=at.saturating_sub(100)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
                panic!("{what} shows a secret as {form}: …{}", &text[from..at + form.len()]);
            }
        }
    }
}

fn files_below(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

fn write_jobs(place: &Place, parrot: &Parrot) {
    let head = |name: &str| format!("kind: experiment\nname: {name}\ndataset: rows.jsonl\nretry: {{ max: 0 }}\n");
    let judge = "evaluators:\n  - contains: { expect: sent }\n";
    for name in ["polite", "angry"] {
        let model = format!(
            "target:\n  openai:\n    model: any\n    base_url: \"{}/{name}/v1\"\n    api_key: \"${{secret:KEY}}\"\n    \
             headers: {{ x-token: \"Bearer ${{secret:TOKEN}}\" }}\n  prompt: \"{{{{ n }}}}\"\n",
            parrot.url
        );
        place.write(&format!("{name}.yaml"), &(head(name) + &model + judge));
    }
    let service = format!(
        "target:\n  http:\n    url: \"{}/polite/ask\"\n    body: {{ n: \"{{{{ n }}}}\" }}\n    output: $.sent\n    \
         headers: {{ authorization: \"Bearer ${{secret:KEY}}\", x-token: \"${{secret:TOKEN}}\" }}\n",
        parrot.url
    );
    place.write("service.yaml", &(head("service") + &service + judge));
    let poll = "    poll: { url: \"/polite/result\", until: \"status == 200\" }\n";
    place.write("later.yaml", &(head("later") + &service + poll + judge));
    let program = "target:\n  command:\n    run: [sh, -c, 'echo \"seen $TOKEN\" >&2; echo \"$TOKEN is no JSON\"']\n    \
                   mode: once\n    env: { TOKEN: \"${secret:TOKEN}\" }\n";
    place.write("program.yaml", &(head("program") + program));
}

#[test]
fn secrets_are_redacted_everywhere_even_if_the_endpoint_echoes_them() {
    let parrot = Parrot::start();
    let place = Place::empty();
    set(&place, "TOKEN", TOKEN);
    let files = place.data().join("files");
    std::fs::create_dir_all(&files).unwrap();
    std::fs::write(files.join("rows.jsonl"), "{\"n\": 1}\n{\"n\": 2}\n").unwrap();
    write_jobs(&place, &parrot);

    let server = Served::start(&place, &["--log-filter", "trace"]);
    let put = server.ask(
        "PUT",
        "/api/v1/secrets/KEY",
        &["Content-Type: application/json"],
        &json!({"value": KEY}).to_string(),
    );
    is_clean("PUT", put.with_status(201).body.as_bytes());
    for name in JOBS {
        let file = std::fs::read_to_string(place.path(&format!("{name}.yaml"))).unwrap();
        is_clean(name, server.submit(&file).with_status(201).body.as_bytes());
    }
    for name in JOBS {
        server.wait_for_state(name, "completed");
    }
    assert!(parrot.has_heard(TOKEN) && parrot.has_heard(KEY), "the endpoint got what it needs");

    let mut pages: Vec<String> = ["jobs", "secrets", "stats", "workers", "datasets", "health", "openapi.json"]
        .iter()
        .map(|page| format!("/api/v1/{page}"))
        .collect();
    for name in JOBS {
        for part in ["", "/items", "/runs", "/logs", "/stats", "/why"] {
            pages.push(format!("/api/v1/jobs/{name}{part}"));
        }
        let items = server.get(&format!("/api/v1/jobs/{name}/items")).json();
        for item in items["items"].as_array().unwrap() {
            pages.push(format!("/api/v1/items/{}", item["id"].as_str().unwrap_or_default()));
        }
    }
    let mut redacted = 0;
    for page in &pages {
        let reply = server.get(page).with_status(200);
        is_clean(page, reply.body.as_bytes());
        is_clean(page, reply.headers.as_bytes());
        redacted += reply.body.matches("[redacted]").count();
    }
    assert!(redacted > 20, "what came back is there, with the secrets cut out: {redacted}");
    let mut events = server.events("/api/v1/events?after=0", &[]);
    for _ in 0..JOBS.len() * 3 {
        is_clean("events", events.next().unwrap().1.to_string().as_bytes());
    }
    drop(events);
    server.signal(Signal::TERM);
    let said = server.finish().ended_with(0);
    is_clean("the server's stderr", said.stderr.as_bytes());
    is_clean("the server's stdout", said.stdout.as_bytes());
    assert!(said.stderr.len() > 10_000, "it did log: {}", said.stderr.len());

    for name in JOBS {
        for arguments in [&["report", name, "--json"][..], &["jobs", "show", name, "--json"], &["jobs", "logs", name]] {
            let said = place.windrow(arguments);
            is_clean(&arguments.join(" "), (said.stdout + &said.stderr).as_bytes());
        }
    }
    for path in files_below(&place.data()) {
        is_clean(&path.display().to_string(), &std::fs::read(&path).unwrap());
    }
}

#[test]
fn a_secret_is_set_listed_replaced_and_deleted() {
    let place = Place::empty();
    place.write("key.txt", "from a file\n");
    let said = place.windrow(&["secrets", "set", "A", "--from-file", "key.txt", "--json"]).ended_with(0);
    assert_eq!(said.json(), json!({"name": "A", "workspace": "default", "created": true}));
    set(&place, "A", "another value");
    let listed = place.windrow(&["secrets", "list", "--json"]).ended_with(0).json();
    assert_eq!((listed["secrets"].as_array().unwrap().len(), &listed["secrets"][0]["set_by"]), (1, &json!("tester")));
    assert!(!listed.to_string().contains("another value"));
    place.windrow(&["secrets", "set", "A", "value on the command line"]).ended_with(2);
    place.windrow(&["secrets", "delete", "A", "--yes"]).ended_with(0);
    let said = place.windrow(&["secrets", "delete", "A", "--yes"]).ended_with(1);
    assert!(said.stderr.contains("secret A not found"), "{}", said.stderr);
}

#[test]
fn a_job_that_names_a_secret_wrongly_is_refused_before_anything_starts() {
    let place = Place::empty();
    place.write("rows.jsonl", "{\"n\": 1}\n");
    let job = |fields: &str| {
        format!(
            "kind: experiment\nname: x\ndataset: rows.jsonl\ntarget:\n  openai: {{ {fields} }}\n  prompt: \"{{{{ n }}}}\"\n"
        )
    };
    let check = |fields: &str| {
        place.write("job.yaml", &job(fields));
        place.windrow(&["check", "job.yaml"]).ended_with(2).stderr
    };
    set(&place, "KNOWN", "some long value");
    let unknown = check("model: any, base_url: \"http://127.0.0.1:1/v1\", api_key: \"${secret:NONE}\"");
    assert!(unknown.contains("job.yaml:5") && unknown.contains("secret NONE not found"), "{unknown}");
    for place in ["model: \"${secret:KNOWN}\"", "model: any, base_url: \"${secret:KNOWN}\""] {
        let misplaced = check(place);
        assert!(misplaced.contains("api_key, headers and env"), "{misplaced}");
    }
    std::fs::remove_file(place.data().join("master.key")).unwrap();
    let keyless = check("model: any, base_url: \"http://127.0.0.1:1/v1\", api_key: \"${secret:KNOWN}\"");
    assert!(keyless.contains("master key not found"), "{keyless}");
}

#[test]
fn an_invalid_secret_body_is_rejected_without_being_quoted() {
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let json_type = ["Content-Type: application/json"];
    for body in ["{\"value\": 1234567890123}", "\"justtext12345\"", "{\"value\": \"tiny\"}", "{\"valu", "{}"] {
        let reply = server.ask("PUT", "/api/v1/secrets/A", &json_type, body).with_status(400);
        assert!(!reply.body.contains("12345") && !reply.body.contains("tiny"), "{}", reply.body);
    }
    server.ask("PUT", "/api/v1/secrets/1%20a", &json_type, "{\"value\": \"long enough\"}").with_status(400);
    server.ask("DELETE", "/api/v1/secrets/A", &[], "").with_status(404);
    server.ask("PUT", "/api/v1/secrets/A", &json_type, "{\"value\": \"long enough\"}").with_status(201);
    server.ask("PUT", "/api/v1/secrets/A?workspace=w", &json_type, "{\"value\": \"long enough\"}").with_status(201);
    server.ask("PUT", "/api/v1/secrets/A", &json_type, "{\"value\": \"long enough\"}").with_status(200);
    assert_eq!(server.get("/api/v1/secrets?workspace=w").json()["secrets"].as_array().unwrap().len(), 1);
    server.ask("DELETE", "/api/v1/secrets/A", &[], "").with_status(204);
}
