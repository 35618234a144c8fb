//! Where the databases are, and a fresh place in each. `scripts/services` starts those that are servers; a test that
//! does not find one fails, it is never skipped.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use windrow_store::SqlStore;

/// A fresh store in an SQL database, and what must live as long as it.
pub struct Database {
    pub store: Arc<SqlStore>,
    place: Place,
}

enum Place {
    Folder(tempfile::TempDir),
    Schema(Schema),
}

impl Database {
    /// Takes everything out of its tables, and starts all numbers from the beginning.
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
                     UPDATE sequences SET last = 0;
                 END $$",
                schema.name
            )),
        }
    }

    /// Cuts every connection of its stores, as a restart of the server does.
    pub fn cut(&self) {
        match &self.place {
            Place::Folder(_) => {}
            Place::Schema(schema) => schema.perform(format!(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{}'",
                schema.name
            )),
        }
    }

    /// The store of another node.
    pub async fn another(&self) -> SqlStore {
        match &self.place {
            Place::Folder(home) => SqlStore::open(&home.path().join("windrow.db")).expect("the same file"),
            Place::Schema(schema) => SqlStore::connect(&schema.url()).await.expect("the same schema"),
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

/// The tables of one test; they go with it.
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
        // The driver blocks, which a thread of the runtime must not.
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

pub fn unique(prefix: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{prefix}_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// From the environment, or from what `scripts/services up` left behind.
pub fn url(name: &str) -> String {
    let left_behind = || {
        let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| {
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target").to_string_lossy().into_owned()
        });
        let urls = std::fs::read_to_string(Path::new(&target).join("services/urls")).ok()?;
        urls.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
    };
    std::env::var(name).ok().or_else(left_behind).unwrap_or_else(|| {
        panic!("{name} is not set and no services are up: run `scripts/services up`, or the tests by `make test`")
    })
}
