//! Live results over WebSocket (E11, E14): the same events as the other streams, resumable and filtered.

use serde_json::{Value, json};

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::Place;
use crate::socket::Socket;

fn until_completed(socket: &mut Socket) -> Vec<Value> {
    let mut seen = Vec::new();
    while let Some(event) = socket.next() {
        let over = event["kind"] == "run_state" && event["body"]["state"] == "completed";
        seen.push(event);
        if over {
            return seen;
        }
    }
    panic!("the socket closed: {seen:?}");
}

/// The response to a request; events in flight arrive before it.
fn answer(socket: &mut Socket) -> Value {
    loop {
        let said = socket.next().unwrap();
        if said.get("id").is_none() {
            return said;
        }
    }
}

#[test]
fn a_socket_sends_the_events_of_the_stream_and_resumes() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let mut socket = Socket::open(&server, "/api/v1/ws");
    server.submit(&place.served_job("watched", &endpoint, 40, 4)).with_status(201);
    let live = until_completed(&mut socket);
    let streamed = server.events("/api/v1/events?after=0", &[]).until_run_is("completed");
    let streamed: Vec<Value> = streamed.into_iter().map(|(_, event)| event).collect();
    assert_eq!(live, streamed);
    let (middle, rest) = (live[live.len() / 2]["id"].clone(), &live[live.len() / 2 + 1..]);
    let mut again = Socket::open(&server, &format!("/api/v1/jobs/watched/ws?after={middle}"));
    assert_eq!(until_completed(&mut again), rest);
}

#[test]
fn a_client_can_filter_events_by_job() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    for name in ["one", "other"] {
        server.submit(&place.served_job(name, &endpoint, 3, 2)).with_status(201);
        server.wait_for_state(name, "completed");
    }
    let other = server.get("/api/v1/jobs/other").json()["id"].clone();
    let mut socket = Socket::open(&server, "/api/v1/ws");
    socket.say(&json!({ "jobs": ["other"] }).to_string());
    assert_eq!(answer(&mut socket), json!({ "kind": "subscribed", "body": { "jobs": [other] } }));
    server.submit(&place.served_job("one", &endpoint, 4, 2)).with_status(201);
    server.wait_for_state("one", "completed");
    server.submit(&place.served_job("other", &endpoint, 4, 2)).with_status(201);
    let seen = until_completed(&mut socket);
    assert!(seen.iter().all(|event| event["job"] == other), "{seen:?}");

    socket.say(&json!({ "jobs": ["none"] }).to_string());
    let refusal = answer(&mut socket);
    assert_eq!((&refusal["kind"], &refusal["body"]["code"]), (&"error".into(), &"not_found".into()));
    socket.say("{");
    assert_eq!(answer(&mut socket)["kind"], "error");
    socket.say(&json!({ "jobs": null }).to_string());
    assert_eq!(answer(&mut socket)["body"]["jobs"], Value::Null);
}

#[test]
fn a_socket_rejects_other_origins_and_plain_requests() {
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let origin = ["Origin: http://evil.example", "Connection: Upgrade", "Upgrade: websocket"];
    assert_eq!(server.ask("GET", "/api/v1/ws", &origin, "").with_status(403).json()["code"], "foreign_origin");
    assert_eq!(server.get("/api/v1/ws").with_status(426).json()["code"], "upgrade_required");
}

#[test]
fn a_socket_is_closed_when_the_server_stops() {
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let mut socket = Socket::open(&server, "/api/v1/ws");
    server.signal(rustix::process::Signal::TERM);
    assert_eq!(socket.next(), None);
    server.finish().ended_with(0);
}
