//! The address of the database, from its URL (see `windrow_sql`); `schema` names the schema of our tables (`windrow`).

use postgres::Client;
use windrow_model::store::{Result, StoreError};
use windrow_sql::postgres::Address as Server;

use crate::backend::failure::StoreFailure;
use crate::backend::postgres::{Link, migrate};
use crate::backend::{self, Connection, IDLE_S, LOCK_WAIT_S, READER_IDLE_S, STATEMENT_S};

#[derive(Clone)]
pub(crate) struct Address {
    server: Server,
    schema: String,
}

impl Address {
    pub fn parse(url: &str) -> Result<Self> {
        let refused = |why: String| StoreError::Unavailable(format!("the database URL is not understood: {why}"));
        let server = Server::parse(url, "windrow").map_err(refused)?;
        let schema = server.schema().unwrap_or("windrow").to_owned();
        if schema.is_empty() || !schema.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(refused(format!("schema={schema}: letters, digits and _ only")));
        }
        Ok(Self { server, schema })
    }

    /// For verbs that write. They reach every row by a key; a plan that was made when the tables were empty must not
    /// read them from end to end when they are full. What it locks is free again soon after its node has stopped:
    /// waiting for its next statement, sending to it, and the transaction as a whole have limits. Only newer servers have
    /// the last two settings.
    pub fn connect_writer(&self) -> backend::Result<Connection> {
        let conn = self.connect()?;
        conn.perform(&format!(
            "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off; \
             SET enable_mergejoin = off; SET idle_in_transaction_session_timeout = '{IDLE_S}s'; \
             SET lock_timeout = '{LOCK_WAIT_S}s'; SET tcp_user_timeout = '{LOCK_WAIT_S}s'; \
             SET statement_timeout = '{STATEMENT_S}s'; \
             SELECT set_config(name, CASE name WHEN 'transaction_timeout' THEN '{STATEMENT_S}s' ELSE 'off' END, false) \
             FROM pg_settings WHERE name IN ('transaction_timeout', 'enable_incremental_sort')"
        ))?;
        Ok(conn)
    }

    /// For verbs that read.
    pub fn connect_reader(&self) -> backend::Result<Connection> {
        let conn = self.connect()?;
        conn.perform(&format!("SET idle_in_transaction_session_timeout = '{READER_IDLE_S}s'"))?;
        Ok(conn)
    }

    /// A connection whose tables are ours.
    pub fn connect(&self) -> backend::Result<Connection> {
        let link = Link::new(self.client()?);
        // Compiling a statement takes longer than running one of ours.
        link.batch(&format!("SET search_path TO {}; SET jit = off", self.schema))?;
        Ok(Connection::Postgres(Box::new(link)))
    }

    /// A connection as the server gives it.
    pub fn client(&self) -> backend::Result<Client> {
        Ok(self.server.connect()?)
    }

    /// Where nodes that share these tables call each other.
    pub fn channel(&self) -> String {
        format!("windrow_{}", self.schema.to_lowercase())
    }

    /// Brings the schema up to date; whoever comes second waits for the first.
    pub fn migrate(&self) -> Result<()> {
        migrate::migrate(&self.connect().map_err(StoreFailure::from)?, &self.schema)
    }
}
