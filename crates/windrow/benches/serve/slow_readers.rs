//! A run without readers, and with a thousand slow readers; alternately, several times.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::server::Server;
use crate::{Figures, median};

const READERS: usize = 1_000;
const ROWS: usize = 40_000;
const ROUNDS: usize = 5;

pub fn measure() -> Figures {
    let server = Server::start();
    // The first run warms the caches and is not counted.
    server.submit_recorded("warm-up", ROWS);
    server.rate_of("warm-up", ROWS);
    let (mut alone, mut watched) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let name = format!("alone-{round}");
        server.submit_recorded(&name, ROWS);
        alone.push(server.rate_of(&name, ROWS));

        let readers = Readers::open(&server);
        let name = format!("watched-{round}");
        server.submit_recorded(&name, ROWS);
        watched.push(server.rate_of(&name, ROWS));
        readers.close();
        eprintln!("  round {round}: {:.0} alone, {:.0} watched", alone[round], watched[round]);
    }
    let (alone, watched) = (median(alone), median(watched));
    [
        ("slow_readers.items_per_s_alone".to_owned(), alone),
        ("slow_readers.items_per_s_watched".to_owned(), watched),
        ("slow_readers.watched_over_alone".to_owned(), watched / alone),
        ("slow_readers.peak_mb".to_owned(), server.peak_mb()),
    ]
    .into()
}

struct Readers {
    over: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<()>,
}

impl Readers {
    fn open(server: &Server) -> Self {
        let open = |_| {
            let mut connection = TcpStream::connect(&server.address).expect("the server listens");
            let head = format!("GET /api/v1/events HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
            connection.write_all(head.as_bytes()).expect("sent");
            let mut head = [0; 12];
            connection.read_exact(&mut head).expect("answered");
            assert_eq!(&head, b"HTTP/1.1 200");
            connection.set_nonblocking(true).expect("a socket");
            connection
        };
        let connections: Vec<TcpStream> = (0..READERS).map(open).collect();
        let over = Arc::new(AtomicBool::new(false));
        let told = over.clone();
        let thread = std::thread::spawn(move || {
            // Reads a few bytes per second each.
            while !told.load(Ordering::Relaxed) {
                for mut connection in &connections {
                    let _ = connection.read(&mut [0; 64]);
                }
                std::thread::sleep(Duration::from_secs(1));
            }
        });
        Self { over, thread }
    }

    fn close(self) {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().expect("readers end");
    }
}
