//! Requests over keep-alive connections, as cheap as possible, because they share two cores with the server. At a fixed
//! rate the latency counts from when a request was due (no coordinated omission): a server that stalls is charged for
//! the requests it delayed.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Concurrent requests.
const CONNECTIONS: usize = 48;

pub struct Outcome {
    pub answers: usize,
    pub seconds: f64,
    /// Sorted ascending.
    latencies_ms: Vec<f64>,
}

impl Outcome {
    pub fn per_s(&self) -> f64 {
        self.answers as f64 / self.seconds
    }

    pub fn percentile_ms(&self, share: f64) -> f64 {
        self.latencies_ms[((self.latencies_ms.len() - 1) as f64 * share) as usize]
    }
}

/// Requests the paths in turn for this many seconds, at a fixed rate per second or as fast as possible.
pub fn run(address: &str, paths: &[String], seconds: u64, per_s: Option<f64>) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let questions: Vec<Vec<u8>> =
        paths.iter().map(|path| format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").into_bytes()).collect();
    runtime.block_on(async {
        let began = Instant::now();
        let end = began + Duration::from_secs(seconds);
        let clients = (0..CONNECTIONS).map(|no| {
            let pace = per_s.map(|per_s| Duration::from_secs_f64(CONNECTIONS as f64 / per_s));
            // Spread over the first interval.
            let first = began + pace.map_or(Duration::ZERO, |pace| pace.mul_f64(no as f64 / CONNECTIONS as f64));
            client(address, &questions, no, first, pace, end)
        });
        let mut latencies_ms: Vec<f64> = futures::future::join_all(clients).await.into_iter().flatten().collect();
        let seconds = began.elapsed().as_secs_f64();
        latencies_ms.sort_by(f64::total_cmp);
        Outcome { answers: latencies_ms.len(), seconds, latencies_ms }
    })
}

async fn client(
    address: &str,
    questions: &[Vec<u8>],
    no: usize,
    first: Instant,
    pace: Option<Duration>,
    end: Instant,
) -> Vec<f64> {
    let mut connection = TcpStream::connect(address).await.expect("the server listens");
    connection.set_nodelay(true).expect("a socket");
    let (mut latencies, mut due, mut buffer) = (Vec::new(), first, Vec::with_capacity(64 << 10));
    for question in questions.iter().cycle().skip(no) {
        match pace {
            Some(pace) => {
                tokio::time::sleep_until(due.into()).await;
                if Instant::now() >= end {
                    break;
                }
                exchange(&mut connection, question, &mut buffer).await;
                latencies.push(due.elapsed().as_secs_f64() * 1e3);
                due += pace;
            }
            None => {
                let asked = Instant::now();
                if asked >= end {
                    break;
                }
                exchange(&mut connection, question, &mut buffer).await;
                latencies.push(asked.elapsed().as_secs_f64() * 1e3);
            }
        }
    }
    latencies
}

async fn exchange(connection: &mut TcpStream, question: &[u8], buffer: &mut Vec<u8>) {
    connection.write_all(question).await.expect("sent");
    buffer.clear();
    loop {
        assert!(connection.read_buf(buffer).await.expect("answered") > 0, "the server closed a connection");
        let Some(head) = buffer.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        assert!(buffer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&buffer[..head]));
        let mut left = (head + 4 + length(&buffer[..head])).saturating_sub(buffer.len());
        while left > 0 {
            left = left.saturating_sub(connection.read_buf(buffer).await.expect("the rest"));
        }
        return;
    }
}

fn length(head: &[u8]) -> usize {
    let head = std::str::from_utf8(head).expect("a head is text");
    let line = head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("a length");
    line.trim().parse().expect("a number")
}
