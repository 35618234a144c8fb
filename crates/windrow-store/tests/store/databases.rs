//! Creates an empty store in each of the databases.

use std::sync::Arc;

use windrow_store::SqlStore;

use crate::mariadb::Tables;
use crate::services::{unique, url};

/// An empty store in an SQL database, and its resources.
pub struct Database {
    pub store: Arc<SqlStore>,
    place: Place,
}

enum Place {
    Folder(tempfile::TempDir),
    Schema(Schema),
    Tables(Tables),
}

impl Database {
    /// Empties all tables and restarts all sequences but that of items, whose ids a node takes in advance.
    pub fn empty(&self) {
        match &self.place {
            Place::Folder(_) => unreachable!("a new file is made in no time"),
            Place::Schema(schema) => schema.perform(format!(
                "SET search_path TO {0};
                 DO $$ DECLARE t text; BEGIN
                     FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = '{0}'
                              AND tablename NOT IN ('migrations', 'stripes', 'sequences') LOOP
                         EXECUTE 'DELETE FROM ' || t;
                     END LOOP;
                     FOR t IN SELECT table_name FROM information_schema.columns
                              WHERE table_schema = '{0}' AND is_identity = 'YES' LOOP
                         EXECUTE 'ALTER TABLE ' || t || ' ALTER COLUMN id RESTART';
                     END LOOP;
                     UPDATE sequences SET last = 0 WHERE name <> 'items';
                 END $$",
                schema.name
            )),
            Place::Tables(tables) => tables.empty(),
        }
    }

    /// Executes SQL directly, bypassing the stores.
    pub fn perform(&self, sql: &str) {
        match &self.place {
            Place::Folder(_) => unreachable!("only servers have several programs at a time"),
            Place::Schema(schema) => schema.perform(format!("SET search_path TO {}; {sql}", schema.name)),
            Place::Tables(tables) => tables.query(sql.to_owned()),
        }
    }

    pub fn url(&self) -> String {
        match &self.place {
            Place::Folder(_) => unreachable!("a file has a path"),
            Place::Schema(schema) => schema.url(),
            Place::Tables(tables) => tables.url(),
        }
    }

    /// Closes every connection of its stores, as a restart of the server does.
    pub fn cut(&self) {
        match &self.place {
            Place::Folder(_) => {}
            Place::Schema(schema) => schema.perform(format!(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{}'",
                schema.name
            )),
            Place::Tables(tables) => tables.cut(),
        }
    }

    /// The store of another node.
    pub async fn another(&self) -> SqlStore {
        match &self.place {
            Place::Folder(home) => SqlStore::open(&home.path().join("windrow.db")).expect("the same file"),
            Place::Schema(schema) => SqlStore::connect(&schema.url()).await.expect("the same schema"),
            Place::Tables(tables) => SqlStore::connect(&tables.url()).await.expect("the same tables"),
        }
    }
}

pub async fn sqlite() -> Database {
    let home = tempfile::tempdir().expect("a temporary directory");
    let store = SqlStore::open(&home.path().join("windrow.db")).expect("a new database");
    Database { store: Arc::new(store), place: Place::Folder(home) }
}

pub async fn postgres() -> Database {
    let schema = Schema { server: url("WINDROW_TEST_POSTGRES"), name: unique("t") };
    let store = SqlStore::connect(&schema.url()).await.expect("a new schema");
    Database { store: Arc::new(store), place: Place::Schema(schema) }
}

pub async fn mariadb() -> Database {
    let tables = Tables::new(&url("WINDROW_TEST_MARIADB"), unique("t"));
    let store = SqlStore::connect(&tables.url()).await.expect("a new database");
    Database { store: Arc::new(store), place: Place::Tables(tables) }
}

/// The schema of one test, dropped with it.
pub struct Schema {
    pub server: String,
    pub name: String,
}

impl Schema {
    pub fn url(&self) -> String {
        format!("{0}?sslmode=disable&schema={1}&application_name={1}", self.server, self.name)
    }
}

impl Schema {
    fn perform(&self, sql: String) {
        let server = self.server.clone();
        // The driver blocks, and must not run on a thread of the async runtime.
        let performed = std::thread::spawn(move || {
            let mut client = postgres::Client::connect(&server, postgres::NoTls).expect("the server of the test");
            client.batch_execute(&sql).expect("performed");
        });
        if performed.join().is_err() {
            eprintln!("something of {} is left behind", self.name);
        }
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        self.perform(format!("DROP SCHEMA IF EXISTS {} CASCADE", self.name));
    }
}
