//! Ids of new items. On a server a page takes its ids with a statement of its own on a connection of its own, so that the
//! row that numbers items is never locked until a page commits. A page that is undone leaves a gap.

use std::sync::{Arc, Mutex, PoisonError};

use crate::backend::{self, Connect, Connection};

/// How often it is tried again after a conflict or on another connection.
const AGAIN: u32 = 3;

#[derive(Default)]
pub(crate) struct ItemIds {
    /// `None` for a file, whose one writer takes them in its transaction.
    server: Option<Server>,
}

struct Server {
    connect: Arc<Connect>,
    conn: Mutex<Option<Connection>>,
}

impl ItemIds {
    pub fn of_server(connect: Arc<Connect>) -> Self {
        Self { server: Some(Server { connect, conn: Mutex::default() }) }
    }

    /// Takes so many; returns the id before the first.
    pub fn take(&self, tx: &Connection, many: i64) -> backend::Result<i64> {
        let last = match &self.server {
            Some(server) => server.take(many)?,
            None => tx.advance("items", many)?,
        };
        Ok(last - many)
    }
}

impl Server {
    fn take(&self, many: i64) -> backend::Result<i64> {
        let mut held = self.conn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tried = 0;
        loop {
            let conn = match held.take().filter(|conn| !conn.is_closed()) {
                Some(conn) => conn,
                None => (self.connect)()?,
            };
            match conn.advance("items", many) {
                Ok(last) => {
                    *held = Some(conn);
                    return Ok(last);
                }
                Err(error) if tried == AGAIN || !error.is_passing() => return Err(error),
                Err(_) => tried += 1,
            }
        }
    }
}

impl Drop for Server {
    /// The driver of PostgreSQL waits when it closes a connection, and the last owner may be a task of an async runtime.
    fn drop(&mut self) {
        let conn = self.conn.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if conn.is_some() {
            std::thread::spawn(move || drop(conn));
        }
    }
}
