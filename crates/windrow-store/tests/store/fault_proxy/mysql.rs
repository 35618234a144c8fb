//! The protocol of MySQL and MariaDB, one request and its answer at a time.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::TcpStream;

use super::{Moment, Transaction, closed};

/// A deadlock, a killed query, and a code that says nothing.
const CODES: [u16; 3] = [1213, 1317, 1105];
const MORE_RESULTS: u8 = 8;

const QUIT: u8 = 0x01;
const QUERY: u8 = 0x03;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;
const SEND_LONG_DATA: u8 = 0x18;
const CLOSE: u8 = 0x19;

struct Packet {
    number: u8,
    body: Vec<u8>,
}

impl Packet {
    fn is_end(&self) -> bool {
        self.body[0] == 0xfe && self.body.len() < 9
    }

    fn is_error(&self) -> bool {
        self.body[0] == 0xff
    }
}

pub(super) fn serve(mut client: TcpStream, mut server: TcpStream, mut transaction: Transaction) -> io::Result<()> {
    log_in(&mut client, &mut server)?;
    let mut texts = HashMap::new();
    loop {
        let request = read(&mut client)?;
        let text = String::from_utf8_lossy(&request.body[1..]).into_owned();
        if request.body[0] == QUERY && transaction.strikes_commit(&text) {
            ask(&mut server, "ROLLBACK")?;
            // The savepoint is released, and then the commit fails.
            write(&mut client, &Packet { number: 1, body: vec![0, 0, 0, 1 | MORE_RESULTS, 0, 0, 0] })?;
            write(&mut client, &error(2, CODES[0]))?;
            continue;
        }
        write(&mut server, &request)?;
        match request.body[0] {
            QUIT => return Ok(()),
            CLOSE | SEND_LONG_DATA => {}
            PREPARE => {
                if let Some(id) = prepared(&mut client, &mut server)? {
                    texts.insert(id, text);
                }
            }
            EXECUTE => {
                let sql = texts.get(&request.body[1..5]).cloned().unwrap_or_default();
                results(&mut client, &mut server, &mut transaction, Some(&sql))?;
                transaction.last = sql;
            }
            QUERY => {
                transaction.control(&text);
                results(&mut client, &mut server, &mut transaction, None)?;
            }
            _ => results(&mut client, &mut server, &mut transaction, None)?,
        }
    }
}

fn log_in(client: &mut TcpStream, server: &mut TcpStream) -> io::Result<()> {
    let mut greeting = read(server)?;
    let name = greeting.body.iter().skip(1).position(|byte| *byte == 0).ok_or_else(closed)?;
    // No extensions of MariaDB: with them, an answer may leave out its columns.
    let extensions = 1 + name + 1 + 4 + 8 + 1 + 2 + 1 + 2 + 2 + 1 + 6;
    greeting.body[extensions..extensions + 4].fill(0);
    write(client, &greeting)?;
    write(server, &read(client)?)?;
    loop {
        let packet = read(server)?;
        write(client, &packet)?;
        match packet.body[..] {
            [0, ..] => return Ok(()),
            [0xff, ..] => return Err(closed()),
            [1, 3] => {}
            _ => write(server, &read(client)?)?,
        }
    }
}

/// The id of the statement, unless the server refused it.
fn prepared(client: &mut TcpStream, server: &mut TcpStream) -> io::Result<Option<Vec<u8>>> {
    let head = pass(client, server)?;
    if head.is_error() {
        return Ok(None);
    }
    for list in [&head.body[5..7], &head.body[7..9]] {
        if list != [0, 0] {
            while !pass(client, server)?.is_end() {}
        }
    }
    Ok(Some(head.body[1..5].to_vec()))
}

/// Passes all results of a request on.
fn results(
    client: &mut TcpStream,
    server: &mut TcpStream,
    transaction: &mut Transaction,
    sql: Option<&str>,
) -> io::Result<()> {
    loop {
        let mut packet = read(server)?;
        if packet.body[0] != 0 && !packet.is_error() {
            write(client, &packet)?;
            // Its columns, then its rows.
            while !pass(client, server)?.is_end() {}
            let mut rows = 0;
            packet = read(server)?;
            while !packet.is_end() && !packet.is_error() {
                if sql.is_some_and(|sql| transaction.strikes(Moment::AfterRow(rows), sql)) {
                    let number = packet.number;
                    while !packet.is_end() && !packet.is_error() {
                        packet = read(server)?;
                    }
                    return fail(client, server, number, transaction);
                }
                write(client, &packet)?;
                rows += 1;
                packet = read(server)?;
            }
        }
        if packet.is_error() {
            return write(client, &packet);
        }
        if sql.is_some_and(|sql| transaction.strikes(Moment::AtEnd, sql)) {
            return fail(client, server, packet.number, transaction);
        }
        if sql.is_some_and(|sql| transaction.strikes(Moment::Silently, sql)) {
            ask(server, "ROLLBACK")?;
        }
        write(client, &packet)?;
        if status(&packet) & MORE_RESULTS == 0 {
            return Ok(());
        }
    }
}

/// Of an end of rows, or of an OK, where two numbers of variable length come first.
fn status(packet: &Packet) -> u8 {
    if packet.is_end() {
        return packet.body[3];
    }
    let length = |first: u8| match first {
        0xfc => 3,
        0xfd => 4,
        0xfe => 9,
        _ => 1,
    };
    let second = 1 + length(packet.body[1]);
    packet.body[second + length(packet.body[second])]
}

fn fail(client: &mut TcpStream, server: &mut TcpStream, number: u8, transaction: &Transaction) -> io::Result<()> {
    ask(server, "ROLLBACK")?;
    write(client, &error(number, transaction.pick(&CODES)))
}

/// Runs a statement of our own that answers with an OK.
fn ask(server: &mut TcpStream, sql: &str) -> io::Result<()> {
    write(server, &Packet { number: 0, body: [&[QUERY], sql.as_bytes()].concat() })?;
    read(server).map(drop)
}

fn error(number: u8, code: u16) -> Packet {
    let body = [&[0xff][..], &code.to_le_bytes(), b"#40001the proxy ended the transaction"].concat();
    Packet { number, body }
}

fn pass(client: &mut TcpStream, server: &mut TcpStream) -> io::Result<Packet> {
    let packet = read(server)?;
    write(client, &packet)?;
    Ok(packet)
}

fn read(from: &mut TcpStream) -> io::Result<Packet> {
    let mut head = [0; 4];
    from.read_exact(&mut head)?;
    let mut body = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
    from.read_exact(&mut body)?;
    Ok(Packet { number: head[3], body })
}

fn write(to: &mut TcpStream, packet: &Packet) -> io::Result<()> {
    let length = (packet.body.len() as u32).to_le_bytes();
    to.write_all(&[&length[..3], &[packet.number], &packet.body].concat())
}
