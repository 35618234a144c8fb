//! A trace collector: accepts and decodes OTLP over HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;

pub struct Collector {
    pub url: String,
    spans: Arc<Mutex<Vec<Span>>>,
    paths: Arc<Mutex<Vec<String>>>,
}

impl Collector {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (spans, paths) = (Arc::<Mutex<Vec<Span>>>::default(), Arc::<Mutex<Vec<String>>>::default());
        let (taken, called) = (spans.clone(), paths.clone());
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (taken, called) = (taken.clone(), called.clone());
                std::thread::spawn(move || while take(&connection, &taken, &called).is_some() {});
            }
        });
        Self { url, spans, paths }
    }

    pub fn spans(&self) -> Vec<Span> {
        self.spans.lock().unwrap().clone()
    }

    pub fn paths(&self) -> Vec<String> {
        self.paths.lock().unwrap().clone()
    }
}

/// Reads one request; `None` at the end of the connection.
fn take(connection: &TcpStream, spans: &Mutex<Vec<Span>>, paths: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(connection);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length =
        head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok())?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    paths.lock().unwrap().push(head.split_whitespace().nth(1)?.to_owned());
    let request = ExportTraceServiceRequest::decode(&body[..]).unwrap();
    let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
    spans.lock().unwrap().extend(scopes.flat_map(|scope| scope.spans));
    let mut connection = connection;
    connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").ok()
}

/// An attribute as text.
pub fn attribute(span: &Span, name: &str) -> Option<String> {
    let found = span.attributes.iter().find(|attribute| attribute.key == name)?;
    Some(match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(number) => number.to_string(),
        Value::DoubleValue(number) => number.to_string(),
        other => format!("{other:?}"),
    })
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
