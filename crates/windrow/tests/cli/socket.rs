//! A WebSocket client: the parts of RFC 6455 that the tests need.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::client::Served;

const PATIENCE: Duration = Duration::from_secs(30);

pub struct Socket {
    connection: BufReader<TcpStream>,
}

impl Socket {
    pub fn open(server: &Served, path: &str) -> Self {
        Self::open_with(server, path, "X-Nothing: more")
    }

    /// With an additional header.
    pub fn open_with(server: &Served, path: &str, header: &str) -> Self {
        let mut connection = TcpStream::connect(&server.address).unwrap();
        connection.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\n{header}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            server.address
        );
        connection.write_all(head.as_bytes()).unwrap();
        let mut connection = BufReader::new(connection);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(connection.read_line(&mut head).unwrap() > 0, "{head}");
        }
        assert!(head.starts_with("HTTP/1.1 101"), "{head}");
        assert!(head.to_ascii_lowercase().contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="), "{head}");
        Self { connection }
    }

    /// The next text message; `None` when the server closes. Answers pings.
    pub fn next(&mut self) -> Option<Value> {
        loop {
            let mut head = [0; 2];
            self.connection.read_exact(&mut head).ok()?;
            let length = match head[1] & 127 {
                126 => u64::from(u16::from_be_bytes(self.bytes())),
                127 => u64::from_be_bytes(self.bytes()),
                short => u64::from(short),
            };
            let mut payload = vec![0; length as usize];
            self.connection.read_exact(&mut payload).unwrap();
            match head[0] & 15 {
                1 => return Some(serde_json::from_slice(&payload).unwrap()),
                8 => return None,
                9 => self.send(10, &payload),
                other => panic!("a frame of type {other}"),
            }
        }
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.connection.read_exact(&mut bytes).unwrap();
        bytes
    }

    pub fn say(&mut self, text: &str) {
        self.send(1, text.as_bytes());
    }

    /// Masked, as a client must, but with a zero mask.
    fn send(&mut self, kind: u8, payload: &[u8]) {
        assert!(payload.len() < 126);
        let mut frame = vec![0x80 | kind, 0x80 | payload.len() as u8, 0, 0, 0, 0];
        frame.extend_from_slice(payload);
        self.connection.get_mut().write_all(&frame).unwrap();
    }
}
