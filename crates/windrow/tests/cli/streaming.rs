//! The text of a long turn is shown while it arrives, and only what is final is kept (E30).

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::client::{Events, Served};
use crate::place::{Place, wait_until};
use crate::socket::Socket;

/// A model that says what it is told to, piece by piece, each of its calls apart.
struct Speaker {
    url: String,
    /// By call.
    words: Vec<Sender<Option<String>>>,
}

impl Speaker {
    fn start(calls: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (words, told): (Vec<_>, Vec<_>) = (0..calls).map(|_| channel()).unzip();
        std::thread::spawn(move || {
            for (connection, told) in listener.incoming().zip(told) {
                // A caller that was killed reads no more.
                std::thread::spawn(move || answer(connection.unwrap(), &told));
            }
        });
        Self { url, words }
    }

    fn say(&self, call: usize, text: &str) {
        self.words[call].send(Some(text.to_owned())).unwrap();
    }

    fn end(&self, call: usize) {
        self.words[call].send(None).unwrap();
    }
}

fn answer(connection: TcpStream, told: &Receiver<Option<String>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(connection);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    reader.read_exact(&mut vec![0; length])?;
    let mut connection = reader.into_inner();
    connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")?;
    let mut send =
        |choice: Value| connection.write_all(format!("data: {}\n\n", json!({ "choices": [choice] })).as_bytes());
    while let Ok(Some(text)) = told.recv() {
        send(json!({ "index": 0, "delta": { "content": text } }))?;
    }
    send(json!({ "index": 0, "delta": {}, "finish_reason": "stop" }))?;
    connection.write_all(b"data: [DONE]\n\n")
}

/// One row and one call that streams.
fn job(place: &Place, speaker: &Speaker) -> String {
    std::fs::create_dir_all(place.path(".windrow/files")).unwrap();
    place.write(".windrow/files/rows.jsonl", "{\"n\": 1}\n");
    let model =
        format!("model: any, stream: true, base_url: \"{}\", api_key: \"${{env:OPENAI_API_KEY}}\"", speaker.url);
    let head = "kind: experiment\nname: long\ndataset: rows.jsonl\n";
    format!(
        "{head}columns:\n  draft: {{ openai: {{ {model} }}, prompt: \"{{{{ n }}}}\" }}\n  \
             short: {{ template: \"{{{{ draft }}}}!\" }}\n"
    )
}

fn next_text(events: &mut Events) -> Value {
    loop {
        let (_, event) = events.next().expect("the stream goes on");
        if event["kind"] == "item_text" {
            return event["body"]["items"][0].clone();
        }
    }
}

/// Until the reader has been told this much; pieces may come together or apart.
fn told(mut next: impl FnMut() -> Value, so_far: &mut String, whole: &str) -> Value {
    loop {
        let item = next();
        assert_eq!(item["from"], so_far.chars().count(), "{item}");
        so_far.push_str(item["text"].as_str().unwrap());
        assert!(whole.starts_with(so_far.as_str()), "{so_far:?}");
        if so_far == whole {
            return item;
        }
    }
}

#[test]
fn a_long_turn_shows_its_text_in_streams_in_its_item_and_in_the_table() {
    let (speaker, place) = (Speaker::start(1), Place::empty());
    let server = Served::start(&place, &[]);
    server.submit(&job(&place, &speaker)).with_status(201);
    let mut events = server.events("/api/v1/jobs/long/events?text=true", &[]);
    let (mut heard, mut heard_too) = (String::new(), String::new());
    speaker.say(0, "Größe");
    let item = told(|| next_text(&mut events), &mut heard, "Größe");
    assert_eq!((&item["column"], &item["turn"]), (&"draft".into(), &0.into()));
    speaker.say(0, " zählt");
    told(|| next_text(&mut events), &mut heard, "Größe zählt");
    // One that comes later is told all of it.
    let mut socket = Socket::open(&server, "/api/v1/ws?text=true");
    let mut next = || loop {
        let message = socket.next().expect("the socket stays open");
        if message["kind"] == "item_text" {
            return message["body"]["items"][0].clone();
        }
    };
    told(&mut next, &mut heard_too, "Größe zählt");

    let item = format!("/api/v1/items/{}", item["item"].as_str().unwrap());
    let shown = server.get(&item).with_status(200).json();
    assert_eq!(shown["streaming"], json!({ "column": "draft", "turn": 0, "text": "Größe zählt", "length": 11 }));
    speaker.say(0, &"x".repeat(300));
    wait_until("the long text", || server.get(&item).json()["streaming"]["length"] == 311);
    let view = server.post_json("/api/v1/jobs/long/views", &json!({})).with_status(200).json();
    let rows = format!("/api/v1/jobs/long/views/{}/rows", view["view"].as_str().unwrap());
    let row = &server.get(&rows).with_status(200).json()["rows"][0];
    assert_eq!((&row["streaming"]["text"], &row["output"]), (&"x".repeat(200).into(), &Value::Null));
    let cells = server.get("/api/v1/jobs/long/cells").with_status(200).json();
    let states: Vec<&Value> = cells["cells"].as_array().unwrap().iter().map(|cell| &cell["state"]).collect();
    assert_eq!(states, ["running", "pending"]);

    speaker.end(0);
    server.wait_for_state("long", "completed");
    let shown = server.get(&item).with_status(200).json();
    assert!(shown.get("streaming").is_none(), "{shown}");
    let cell = server.get(&format!("{item}/cells/draft")).with_status(200).json();
    assert_eq!(cell["value"], format!("Größe zählt{}", "x".repeat(300)));
}

#[test]
fn a_crash_keeps_nothing_of_a_text_that_was_not_final() {
    let (speaker, place) = (Speaker::start(2), Place::empty());
    let server = Served::start(&place, &[]);
    server.submit(&job(&place, &speaker)).with_status(201);
    speaker.say(0, "half a");
    let mut events = server.events("/api/v1/jobs/long/events?text=true", &[]);
    let item = told(|| next_text(&mut events), &mut String::new(), "half a")["item"].as_str().unwrap().to_owned();
    server.kill();
    let left = place.windrow(&["jobs", "item", "long", &item, "--json"]).ended_with(0).json();
    assert!(left.get("streaming").is_none(), "{left}");
    assert!(!left.to_string().contains("half a"), "{left}");
    let server = Served::start(&place, &[]);
    speaker.say(1, "whole");
    speaker.end(1);
    server.wait_for_state("long", "completed");
    let cell = server.get(&format!("/api/v1/items/{item}/cells/draft")).with_status(200).json();
    assert_eq!((&cell["value"], &cell["tries"]), (&"whole".into(), &2.into()));
}

#[test]
fn the_pages_show_a_text_while_it_arrives() {
    let (place, speaker) = (Place::empty(), Speaker::start(1));
    let job = job(&place, &speaker);
    let server = Served::start(&place, &[]);
    server.submit(&job).with_status(201);
    let mut browser = Browser::open(&format!("{}/jobs/long", server.url()));
    browser.wide();
    let row = "document.querySelector('[role=grid][aria-label=Items] .body [role=row]')?.innerText ?? ''";
    browser.wait_for("the row at work", &format!("({row}).includes('Row 1')"));
    speaker.say(0, "Once upon");
    browser.wait_for("the first words in the row", &format!("({row}).includes('Once upon')"));
    speaker.say(0, " a time");
    browser.wait_for("the next words in the row", &format!("({row}).includes('Once upon a time')"));
    browser.click("[role=grid][aria-label=Items] .body [role=row]");
    let so_far = "document.querySelector('.drawer [aria-label=\"Answer so far\"] pre')?.innerText";
    browser.wait_for("the words in the item", &format!("{so_far} === 'Once upon a time'"));
    speaker.say(0, ", far away");
    browser.wait_for("more words in the item", &format!("{so_far} === 'Once upon a time, far away'"));
    assert_eq!(browser.inaccessible(), [""; 0], "answer so far");
    speaker.end(0);
    browser.wait_for("the end of the item", &format!("{so_far} === undefined"));
    browser.wait_for_text("1 new");
    assert_eq!(browser.complaints, [json!(null); 0]);
}
