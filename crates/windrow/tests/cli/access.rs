//! Authentication and authorisation (T7, T9): each way to be rejected has its status and reveals nothing.

use serde_json::{Value, json};

use crate::client::{Reply, Served};
use crate::endpoint::Endpoint;
use crate::place::{Place, wait_until};
use crate::socket::Socket;

/// Creates a key on the command line and returns it as a header.
fn key(place: &Place, arguments: &[&str]) -> String {
    let said = place.windrow(&[&["keys", "create"], arguments].concat()).ended_with(0);
    let secret = said.stdout.trim();
    assert!(secret.starts_with("wrw_") && !said.stderr.contains(secret), "{}", said.stderr);
    format!("Authorization: Bearer {secret}")
}

#[track_caller]
fn refused(reply: Reply, status: u16, code: &str) -> Value {
    let reply = reply.with_status(status);
    assert_eq!(reply.header("content-type"), Some("application/problem+json"));
    assert_eq!(reply.header("www-authenticate").is_some(), status == 401, "{}", reply.headers);
    let problem = reply.json();
    assert_eq!(problem["code"], code);
    problem
}

#[test]
fn requests_without_a_valid_key_are_rejected() {
    let place = Place::empty();
    let admin = key(&place, &["root", "--role", "admin"]);
    let expired = key(&place, &["gone", "--role", "admin", "--expires", "1ms"]);
    let server = Served::start(&place, &[]);
    let ask = |header: &str| server.ask("GET", "/api/v1/jobs", &[header], "");
    ask(&admin).with_status(200);
    let secret = admin.strip_prefix("Authorization: Bearer ").unwrap();
    ask(&format!("X-API-Key: {secret}")).with_status(200);

    refused(server.get("/api/v1/jobs"), 401, "unauthenticated");
    let one_digit_off = match admin.strip_suffix('0') {
        Some(rest) => format!("{rest}1"),
        None => format!("{}0", &admin[..admin.len() - 1]),
    };
    let unknown = refused(ask(&one_digit_off), 401, "unauthenticated");
    for wrong in ["Authorization: Bearer x", "Authorization: Basic cm9vdA==", "X-API-Key: wrw_", &admin[..60]] {
        let problem = refused(ask(wrong), 401, "unauthenticated");
        assert!(!problem.to_string().contains("root"), "{problem}");
    }
    assert_eq!(refused(ask("Authorization: Bearer x"), 401, "unauthenticated"), unknown, "nothing is told of a guess");
    assert_eq!(refused(ask(&expired), 401, "unauthenticated")["detail"], "API key is expired");
    // The responses do not reveal which routes exist either.
    for path in ["/api/v1/nothing", "/metrics", "/api/eval-tasks", "/api/v1/events", "/api", "/api/docs/x"] {
        refused(server.get(path), 401, "unauthenticated");
    }
    refused(server.post("/nothing"), 401, "unauthenticated");
    refused(server.submit("kind: experiment"), 401, "unauthenticated");
    for open in ["/", "/healthz", "/readyz", "/api/docs", "/api/v1/openapi.json"] {
        server.get(open).with_status(200);
    }
}

#[test]
fn a_revoked_key_is_rejected() {
    let place = Place::empty();
    let admin = key(&place, &["root", "--role", "admin"]);
    let first = key(&place, &["first", "--role", "viewer"]);
    let second = key(&place, &["second", "--role", "viewer"]);
    let server = Served::start(&place, &[]);
    let status = |header: &str| server.ask("GET", "/api/v1/jobs", &[header], "").status;
    assert_eq!((status(&first), status(&second)), (200, 200));
    let mut events = server.events("/api/v1/events", &[&first]);
    let mut socket = Socket::open_with(&server, "/api/v1/ws", &first);
    // Through the server: takes effect at once.
    let revoked = server.ask("DELETE", "/api/v1/keys/first", &[&admin], "").with_status(200).json();
    assert_eq!((&revoked["state"], status(&first)), (&"revoked".into(), 401));
    assert_eq!((events.next(), socket.next()), (None, None), "streams end with the key");
    // By another process: takes effect when the server reloads its keys.
    place.windrow(&["keys", "revoke", "second"]).ended_with(0);
    wait_until("the key to be refused", || status(&second) == 401);
    server.ask("DELETE", "/api/v1/keys/first", &[&admin], "").with_status(404);
}

#[test]
fn a_running_server_requires_keys_once_one_exists() {
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    server.get("/api/v1/jobs").with_status(200);
    let created = server.post_json("/api/v1/keys", &json!({ "name": "root", "role": "admin", "expires_in": "90d" }));
    let created = created.with_status(201);
    assert_eq!(created.header("cache-control"), Some("no-store"));
    let secret = created.json()["secret"].as_str().unwrap().to_owned();
    refused(server.get("/api/v1/jobs"), 401, "unauthenticated");
    let header = format!("Authorization: Bearer {secret}");
    let listed = server.ask("GET", "/api/v1/keys", &[&header], "").with_status(200);
    assert!(!listed.body.contains(&secret[20..]), "a secret is shown once: {}", listed.body);
    assert_eq!(listed.json()["keys"][0]["created_by"], "http");
    let database = std::fs::read(place.database()).unwrap();
    let log = std::fs::read(place.data().join("windrow.db-wal")).unwrap_or_default();
    let hidden = secret.rsplit('_').next().unwrap().as_bytes();
    assert!(![database, log].iter().any(|bytes| bytes.windows(64).any(|window| window == hidden)), "stored as it is");
}

/// Covers every operation of the OpenAPI document.
#[test]
fn every_operation_requires_its_role() {
    let place = Place::empty();
    let viewer = key(&place, &["v", "--role", "viewer"]);
    let operator = key(&place, &["o", "--role", "operator"]);
    let server = Served::start(&place, &[]);
    let document = server.get("/api/v1/openapi.json").with_status(200).json();
    let mut asked = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let role = operation["x-windrow-role"].as_str().unwrap();
            let too_low: &[&String] = match role {
                "viewer" => &[],
                "operator" => &[&viewer],
                _ => &[&viewer, &operator],
            };
            for header in too_low {
                let path = path.replace(['{', '}'], "");
                refused(server.ask(&method.to_uppercase(), &path, &[header], ""), 403, "forbidden");
                asked += 1;
            }
        }
    }
    assert!(asked > 15, "{asked}");
    server.ask("GET", "/api/v1/jobs", &[&viewer], "").with_status(200);
    let job = server.ask("POST", "/api/v1/jobs/x/pause", &[&operator], "");
    refused(job, 404, "not_found");
}

#[test]
fn a_key_of_one_workspace_has_no_access_to_another() {
    let (place, endpoint) = (Place::empty(), Endpoint::open());
    let file = place.served_job("counted", &endpoint, 2, 2);
    let root = key(&place, &["root", "--role", "admin"]);
    let team = key(&place, &["team", "--role", "admin", "--workspace", "team"]);
    place.write("rows.jsonl", "{\"n\": 1}\n");
    place.windrow(&["datasets", "import", "rows.jsonl", "--name", "secret-rows"]).ended_with(0);
    let server = Served::start(&place, &[]);
    let as_root = ["Content-Type: text/yaml", &root, "Idempotency-Key: once"];
    let submitted = server.ask("POST", "/api/v1/jobs", &as_root, &file).with_status(201).json();
    wait_until("the job to be done", || {
        let job = server.ask("GET", "/api/v1/jobs/counted", &[&root], "").json();
        job["latest_run"]["state"] == "completed"
    });
    let items = server.ask("GET", "/api/v1/jobs/counted/items", &[&root], "").json();
    let item = items["items"][0]["id"].as_str().unwrap();
    let (job, run) = (submitted["job"].as_str().unwrap(), submitted["run"].as_str().unwrap());

    let ask = |method: &str, path: &str| server.ask(method, path, &[&team], "");
    for path in [
        &format!("/api/v1/jobs/{job}"),
        "/api/v1/jobs/counted",
        &format!("/api/v1/runs/{run}"),
        &format!("/api/v1/items/{item}"),
        "/api/v1/jobs/counted/logs",
        "/api/v1/jobs/counted/events",
        "/api/v1/datasets/secret-rows",
        "/api/v1/datasets/secret-rows?workspace=default",
        "/api/eval-tasks/counted",
    ] {
        let reply = ask("GET", path).with_status(404);
        assert!(!reply.body.contains("did you mean"), "{}", reply.body);
    }
    ask("POST", "/api/v1/jobs/counted/cancel").with_status(404);
    ask("DELETE", "/api/v1/keys/root").with_status(404);
    // Operations on all workspaces are not allowed for an admin of one.
    refused(ask("POST", "/api/v1/clean-up"), 403, "forbidden");
    refused(ask("GET", "/metrics"), 403, "forbidden");
    for (path, list) in [
        ("/api/v1/jobs", "jobs"),
        ("/api/v1/jobs?workspace=default", "jobs"),
        ("/api/v1/datasets", "datasets"),
        ("/api/v1/datasets?workspace=default", "datasets"),
    ] {
        assert_eq!(ask("GET", path).with_status(200).json()[list], json!([]), "{path}");
    }
    let keys = ask("GET", "/api/v1/keys").with_status(200).json();
    assert_eq!((&keys["keys"][0]["name"], &keys["keys"][1]), (&"team".into(), &Value::Null));
    let chosen = server.ask("GET", "/api/v1/jobs", &[&team, "X-Windrow-Workspace: default"], "");
    refused(chosen, 403, "forbidden");
    let for_others = ["Content-Type: application/json", &team];
    let wish = json!({ "name": "more", "role": "admin", "workspace": "default" }).to_string();
    refused(server.ask("POST", "/api/v1/keys", &for_others, &wish), 403, "forbidden");

    // Neither through a file that names another workspace, nor a dataset name, nor an idempotency key.
    let send = |file: &str| {
        let headers = ["Content-Type: text/yaml", &team, "Idempotency-Key: once"];
        server.ask("POST", "/api/v1/jobs", &headers, file)
    };
    refused(send(&format!("{file}\nworkspace: default\n")), 403, "forbidden");
    for dataset in ["counted.jsonl", "{ name: secret-row }", "{ name: secret-rows }"] {
        let file = file.replace("dataset: counted.jsonl", &format!("dataset: {dataset}"));
        let broken = refused(send(&file), 422, "broken_job_file").to_string();
        assert!(!broken.contains("did you mean"), "{broken}");
    }
    // Audit entries of other workspaces are hidden.
    let audit = ask("GET", "/api/v1/audit").with_status(200).json();
    assert!(audit["entries"].as_array().unwrap().iter().all(|entry| entry["workspace"] == "team"), "{audit}");
}

#[test]
fn the_first_key_is_made_and_shown_once() {
    let place = Place::empty();
    let server = Served::start(&place, &["--require-keys"]);
    refused(server.get("/api/v1/jobs"), 401, "unauthenticated");
    server.signal(rustix::process::Signal::TERM);
    let said = server.finish().ended_with(0);
    let secret = said.stderr.split_whitespace().find(|word| word.starts_with("wrw_")).unwrap().to_owned();
    let server = Served::start(&place, &["--require-keys"]);
    server.ask("GET", "/api/v1/keys", &[&format!("Authorization: Bearer {secret}")], "").with_status(200);
    server.signal(rustix::process::Signal::TERM);
    assert!(!server.finish().ended_with(0).stderr.contains("wrw_"));
}

#[test]
fn a_public_server_with_keys_warns_about_missing_tls() {
    let place = Place::empty();
    let root = key(&place, &["root", "--role", "admin"]);
    let process = place.start(&["serve", "--listen", "0.0.0.0:0"]);
    let port = process.first_line().rsplit(':').next().unwrap().to_owned();
    process.wait_for_stderr("unencrypted");
    let server = Served::at(format!("127.0.0.1:{port}"), process);
    // The host name is not checked: authentication relies on the key.
    server.ask("GET", "/api/v1/jobs", &[&root, "Host: windrow.example"], "").with_status(200);
    refused(server.ask("GET", "/api/v1/jobs", &["Host: windrow.example"], ""), 401, "unauthenticated");
}

#[test]
fn a_browser_keeps_its_key_in_a_cookie_for_its_own_pages_only() {
    let place = Place::empty();
    let root = key(&place, &["root", "--role", "operator"]);
    let server = Served::start(&place, &[]);
    let opened = server.ask("POST", "/api/v1/session", &[&root], "").with_status(200);
    assert_eq!(opened.json(), json!({ "actor": "root", "role": "operator", "workspace": null, "with_key": true }));
    let set = opened.header("set-cookie").unwrap();
    assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict"), "{set}");
    let cookie = format!("Cookie: other=1; {}", set.split(';').next().unwrap());
    let own = format!("Origin: http://{}", server.address);
    server.ask("GET", "/api/v1/jobs", &[&cookie], "").with_status(200);
    refused(server.ask("POST", "/api/v1/jobs/x/pause", &[&cookie, &own], ""), 404, "not_found");
    for foreign in ["Origin: https://evil.example", "Origin: null", "Sec-Fetch-Site: cross-site"] {
        refused(server.ask("POST", "/api/v1/jobs/x/pause", &[&cookie, foreign], ""), 403, "foreign_origin");
    }
    let closed = server.ask("DELETE", "/api/v1/session", &[&root], "").with_status(204);
    assert!(closed.header("set-cookie").unwrap().contains("Max-Age=0"));
}

#[test]
fn only_configured_origins_may_send_requests() {
    let place = Place::empty();
    let root = key(&place, &["root", "--role", "viewer"]);
    let page = "Origin: https://evals.example";
    let asking = ["Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization"];
    let closed = Served::start(&place, &[]);
    let reply = closed.ask("OPTIONS", "/api/v1/jobs", &[&[page], &asking[..]].concat(), "");
    assert_eq!(reply.header("access-control-allow-origin"), None);
    drop(closed);

    let server =
        Served::start(&place, &["--cors-origin", "https://evals.example", "--cors-origin", "http://localhost:5"]);
    let reply = server.ask("OPTIONS", "/api/v1/jobs", &[&[page], &asking[..]].concat(), "").with_status(200);
    assert_eq!(reply.header("access-control-allow-origin"), Some("https://evals.example"));
    assert_eq!(reply.header("access-control-allow-credentials"), None);
    assert!(reply.header("access-control-allow-headers").unwrap().contains("authorization"), "{}", reply.headers);
    let reply = server.ask("GET", "/api/v1/jobs", &[page, &root], "").with_status(200);
    assert_eq!(reply.header("access-control-allow-origin"), Some("https://evals.example"));
    let foreign = server.ask("OPTIONS", "/api/v1/jobs", &[&["Origin: https://evil.example"], &asking[..]].concat(), "");
    assert_eq!(foreign.header("access-control-allow-origin"), None);
    let said = place.windrow(&["serve", "--cors-origin", "*"]).ended_with(2);
    assert!(said.stderr.contains("is not an origin"), "{}", said.stderr);
}
