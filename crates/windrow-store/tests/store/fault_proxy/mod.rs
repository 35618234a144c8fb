//! A proxy between a store and its server. It ends transactions on the server: after a row of an answer, at the end of an
//! answer, at the commit, or without telling the client. Each statement gets each of these faults once.

mod mysql;
mod postgres;

use std::collections::BTreeSet;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Faults of one transaction in a row, so that its verb succeeds before the pool stops running it again.
const IN_A_ROW: u32 = 5;
/// Faults are injected after so many rows; the end of an answer is a place of its own.
const ROWS: [usize; 4] = [1, 2, 3, 8];

/// When a transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    AfterRow(usize),
    AtEnd,
    /// At the end of the answer, and the client is not told.
    Silently,
    /// Of the transaction whose last statement it is.
    AtCommit,
}

#[derive(Default)]
pub struct Faults {
    armed: AtomicBool,
    met: Mutex<BTreeSet<(Moment, String)>>,
    struck: Mutex<BTreeSet<(Moment, String)>>,
}

impl Faults {
    pub fn arm(&self, armed: bool) {
        self.armed.store(armed, Ordering::SeqCst);
    }

    /// How many faults were injected.
    pub fn struck(&self) -> usize {
        self.struck.lock().unwrap().len()
    }

    /// Faults that could have been injected, and were not yet.
    pub fn left(&self) -> Vec<(Moment, String)> {
        self.met.lock().unwrap().difference(&self.struck.lock().unwrap()).cloned().collect()
    }
}

/// Starts a proxy for the server at this port; returns its own port.
pub fn start(server: u16, mysql: bool, faults: &Arc<Faults>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("a port").port();
    let faults = Arc::clone(faults);
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let faults = Arc::clone(&faults);
            std::thread::spawn(move || {
                let server = TcpStream::connect(("127.0.0.1", server))?;
                client.set_nodelay(true)?;
                server.set_nodelay(true)?;
                let transaction = Transaction::new(faults);
                // Ends when either side closes its connection.
                match mysql {
                    true => mysql::serve(client, server, transaction),
                    false => postgres::serve(client, server, transaction),
                }
            });
        }
    });
    port
}

/// The transaction of one connection.
struct Transaction {
    faults: Arc<Faults>,
    open: bool,
    in_a_row: u32,
    last: String,
}

impl Transaction {
    fn new(faults: Arc<Faults>) -> Self {
        Self { faults, open: false, in_a_row: 0, last: String::new() }
    }

    /// Notes a statement that is sent without values.
    fn control(&mut self, sql: &str) {
        match sql.split([' ', ';']).next() {
            Some("BEGIN" | "START") => self.open = true,
            _ if sql.ends_with("COMMIT") => (self.open, self.in_a_row) = (false, 0),
            _ if sql.ends_with("ROLLBACK") => self.open = false,
            _ => {}
        }
    }

    /// Whether to end it now.
    fn strikes(&mut self, moment: Moment, sql: &str) -> bool {
        if let Moment::AfterRow(rows) = moment
            && !ROWS.contains(&rows)
        {
            return false;
        }
        if !self.open || !self.faults.armed.load(Ordering::SeqCst) {
            return false;
        }
        let point = (moment, sql.to_owned());
        self.faults.met.lock().unwrap().insert(point.clone());
        if self.in_a_row == IN_A_ROW || !self.faults.struck.lock().unwrap().insert(point) {
            return false;
        }
        self.in_a_row += 1;
        self.open = false;
        true
    }

    /// The error of this fault: each in turn.
    fn pick<T: Copy>(&self, codes: &[T]) -> T {
        codes[self.faults.struck() % codes.len()]
    }

    fn strikes_commit(&mut self, sql: &str) -> bool {
        let last = std::mem::take(&mut self.last);
        sql.ends_with("COMMIT") && self.strikes(Moment::AtCommit, &last)
    }
}

fn closed() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}
