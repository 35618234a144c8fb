//! The address of the database, from its URL (see `windrow_sql`).

use mysql::consts::CapabilityFlags;
use mysql::{Conn, OptsBuilder};
use windrow_model::store::{Result, StoreError};
use windrow_sql::mysql::Address as Server;

use crate::backend::failure::StoreFailure;
use crate::backend::mysql::{Link, link, migrate};
use crate::backend::{self, Connection, IDLE_S, LOCK_WAIT_S, READER_IDLE_S, STATEMENT_S};

/// What the statements rely on: `||` joins texts, a backslash is nothing special, and what does not fit is an error.
const MODE: &str = "SET SESSION sql_mode = \
     'STRICT_ALL_TABLES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO'";
/// Deadlocks are found at once; this is for one that holds a row and does not go on. MariaDB ends a transaction that does
/// nothing. MySQL can only end a connection that does nothing (`Link::is_closed`). Each skips what is meant for the other.
fn limits_of_writer() -> String {
    format!(
        "SET SESSION innodb_lock_wait_timeout = {LOCK_WAIT_S}, SESSION net_read_timeout = {LOCK_WAIT_S}, \
         SESSION net_write_timeout = {LOCK_WAIT_S} \
         /*M!, SESSION idle_transaction_timeout = {IDLE_S}, SESSION max_statement_time = {STATEMENT_S} */ \
         /*!80000 , SESSION wait_timeout = {IDLE_S} */"
    )
}

fn limits_of_reader() -> String {
    format!(
        "SET SESSION innodb_lock_wait_timeout = {LOCK_WAIT_S} /*M!, SESSION idle_transaction_timeout = {READER_IDLE_S} */"
    )
}

const LATEST: &str = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
const SNAPSHOT: &str = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ";

#[derive(Clone)]
pub(crate) struct Address {
    server: Server,
    database: String,
}

impl Address {
    pub fn parse(url: &str) -> Result<Self> {
        let refused = |why: String| StoreError::Unavailable(format!("the database URL is not understood: {why}"));
        let server = Server::parse(url, "prefer").map_err(refused)?;
        let database = server.database().unwrap_or_default().to_owned();
        if database.is_empty() {
            return Err(refused("it names no database, like mysql://user:password@host/windrow".into()));
        }
        Ok(Self { server, database })
    }

    /// For verbs that write: each statement sees what is committed.
    pub fn connect_writer(&self) -> backend::Result<Connection> {
        Ok(Connection::MySql(Box::new(Link::of_writer(self.connect(&[MODE, &limits_of_writer(), LATEST])?)?)))
    }

    /// For verbs that read: a transaction sees one moment.
    pub fn connect_reader(&self) -> backend::Result<Connection> {
        Ok(Connection::MySql(Box::new(Link::new(self.connect(&[MODE, &limits_of_reader(), SNAPSHOT])?))))
    }

    /// For one who migrates or moves everything.
    pub fn connect_unlimited(&self) -> backend::Result<Connection> {
        Ok(Connection::MySql(Box::new(Link::new(self.connect(&[MODE, LATEST])?))))
    }

    fn connect(&self, settings: &[&str]) -> backend::Result<Conn> {
        Ok(self.open(self.options().init(settings.to_vec()))?)
    }

    fn options(&self) -> OptsBuilder {
        let options = self.server.options().stmt_cache_size(2 * link::STATEMENTS);
        // An update counts the rows that it found, also those that were so already.
        options.additional_capabilities(CapabilityFlags::CLIENT_FOUND_ROWS)
    }

    fn open(&self, options: OptsBuilder) -> mysql::Result<Conn> {
        self.server.connect(options)
    }

    /// Brings the tables up to date, in a database that is made if it is missing; whoever comes second waits for the first.
    pub fn migrate(&self) -> Result<()> {
        let conn = match self.connect_unlimited() {
            Err(error) if error.is_unknown_database() => self.create_database().and_then(|()| self.connect_unlimited()),
            other => other,
        };
        migrate::migrate(&conn.map_err(StoreFailure::from)?)
    }

    fn create_database(&self) -> backend::Result<()> {
        let nowhere = self.options().db_name(None::<String>);
        let name = self.database.replace('`', "``");
        Link::new(self.open(nowhere)?).batch(&format!("CREATE DATABASE IF NOT EXISTS `{name}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_database() {
        let error = Address::parse("mysql://ann:hush@db").err().unwrap();
        assert!(error.to_string().contains("names no database"), "{error}");
    }
}
