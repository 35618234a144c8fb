//! The protocol of PostgreSQL, one request and its answer at a time.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::TcpStream;

use super::{Moment, Transaction, closed};

/// A serialization failure, a cancelled query, and an internal error.
const CODES: [&str; 3] = ["40001", "57014", "XX000"];

struct Message {
    kind: u8,
    body: Vec<u8>,
}

pub(super) fn serve(mut client: TcpStream, mut server: TcpStream, mut transaction: Transaction) -> io::Result<()> {
    log_in(&mut client, &mut server)?;
    let (mut texts, mut running) = (HashMap::new(), String::new());
    loop {
        let message = read(&mut client)?;
        match message.kind {
            b'P' => drop(texts.insert(text(&message.body, 0), text(&message.body, 1))),
            b'B' => running = texts.get(&text(&message.body, 1)).cloned().unwrap_or_default(),
            b'Q' if transaction.strikes_commit(&text(&message.body, 0)) => {
                ask(&mut server, "ROLLBACK")?;
                write(&mut client, &error(CODES[0]))?;
                write(&mut client, &Message { kind: b'Z', body: vec![b'I'] })?;
                continue;
            }
            b'Q' => transaction.control(&text(&message.body, 0)),
            _ => {}
        }
        write(&mut server, &message)?;
        match message.kind {
            b'Q' | b'S' => answer(&mut client, &mut server, &mut transaction, &running)?,
            b'X' => return Ok(()),
            _ => {}
        }
        if message.kind == b'S' && !running.is_empty() {
            transaction.last = std::mem::take(&mut running);
        }
    }
}

fn log_in(client: &mut TcpStream, server: &mut TcpStream) -> io::Result<()> {
    let mut length = [0; 4];
    client.read_exact(&mut length)?;
    let mut startup = vec![0; u32::from_be_bytes(length) as usize - 4];
    client.read_exact(&mut startup)?;
    server.write_all(&[&length[..], &startup].concat())?;
    loop {
        let message = read(server)?;
        write(client, &message)?;
        match (message.kind, message.body.get(3)) {
            (b'Z', _) => return Ok(()),
            (b'E', _) => return Err(closed()),
            // A password, or a step of SASL.
            (b'R', Some(3 | 5 | 10 | 11)) => write(server, &read(client)?)?,
            _ => {}
        }
    }
}

/// Passes the answer on, up to ReadyForQuery. An empty text is an answer without a prepared statement.
fn answer(client: &mut TcpStream, server: &mut TcpStream, transaction: &mut Transaction, sql: &str) -> io::Result<()> {
    let mut rows = 0;
    loop {
        let message = read(server)?;
        let moment = match message.kind {
            b'D' => Some(Moment::AfterRow(rows)),
            b'C' => Some(Moment::AtEnd),
            b'Z' => {
                if !sql.is_empty() && transaction.strikes(Moment::Silently, sql) {
                    ask(server, "SELECT 1/0")?;
                }
                return write(client, &message);
            }
            _ => None,
        };
        rows += usize::from(message.kind == b'D');
        if !sql.is_empty() && moment.is_some_and(|moment| transaction.strikes(moment, sql)) {
            while read(server)?.kind != b'Z' {}
            // From here on it has failed on the server as well.
            ask(server, "SELECT 1/0")?;
            write(client, &error(transaction.pick(&CODES)))?;
            return write(client, &Message { kind: b'Z', body: vec![b'E'] });
        }
        write(client, &message)?;
    }
}

/// Runs a statement of our own.
fn ask(server: &mut TcpStream, sql: &str) -> io::Result<()> {
    write(server, &Message { kind: b'Q', body: [sql.as_bytes(), &[0]].concat() })?;
    while read(server)?.kind != b'Z' {}
    Ok(())
}

fn error(code: &str) -> Message {
    Message { kind: b'E', body: format!("SERROR\0VERROR\0C{code}\0Mthe proxy ended the transaction\0\0").into_bytes() }
}

/// The n-th of the texts that a message begins with.
fn text(body: &[u8], n: usize) -> String {
    String::from_utf8_lossy(body.split(|byte| *byte == 0).nth(n).unwrap_or_default()).into_owned()
}

fn read(from: &mut TcpStream) -> io::Result<Message> {
    let mut head = [0; 5];
    from.read_exact(&mut head)?;
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
    let mut body = vec![0; length as usize - 4];
    from.read_exact(&mut body)?;
    Ok(Message { kind: head[0], body })
}

fn write(to: &mut TcpStream, message: &Message) -> io::Result<()> {
    let length = (message.body.len() as u32 + 4).to_be_bytes();
    to.write_all(&[&[message.kind], &length[..], &message.body].concat())
}
