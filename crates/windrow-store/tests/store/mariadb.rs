//! A MariaDB database for one test, dropped with it.

use mysql::Conn;
use mysql::prelude::Queryable;

/// Tables with AUTO_INCREMENT.
const NUMBERED: [&str; 7] = ["labels", "result_changes", "log", "outbox_staged", "dataset_rows", "deliveries", "audit"];

pub struct Tables {
    /// URL without a database.
    server: String,
    name: String,
}

impl Tables {
    pub fn new(url: &str, name: String) -> Self {
        let (server, _) = url.rsplit_once('/').expect("a URL with a database");
        Self { server: server.to_owned(), name }
    }

    pub fn url(&self) -> String {
        format!("{}/{}?sslmode=disable", self.server, self.name)
    }

    /// Empties all tables and restarts all sequences but that of items, whose ids a node takes in advance.
    pub fn empty(&self) {
        let name = self.name.clone();
        self.perform(move |conn| {
            conn.query_drop(format!("USE {name}"))?;
            for table in conn.query::<String, _>("SHOW TABLES")? {
                if !["migrations", "stripes", "sequences"].contains(&table.as_str()) {
                    conn.query_drop(format!("DELETE FROM `{table}`"))?;
                }
            }
            for table in NUMBERED {
                conn.query_drop(format!("ALTER TABLE {table} AUTO_INCREMENT = 1"))?;
            }
            conn.query_drop("UPDATE sequences SET last = 0 WHERE name <> 'items'")
        });
    }

    /// Kills all connections to the database.
    pub fn cut(&self) {
        let sql = format!("SELECT id FROM information_schema.processlist WHERE db = '{}'", self.name);
        self.perform(move |conn| {
            let ids: Vec<u64> = conn.query(sql)?;
            // A connection may already have ended.
            ids.iter().for_each(|id| drop(conn.query_drop(format!("KILL {id}"))));
            Ok(())
        });
    }

    pub fn query(&self, sql: String) {
        let name = self.name.clone();
        self.perform(move |conn| {
            conn.select_db(&name)?;
            conn.query_drop(sql)
        });
    }

    fn perform(&self, task: impl FnOnce(&mut Conn) -> mysql::Result<()> + Send + 'static) {
        let server = self.server.clone();
        // The driver blocks, and must not run on a thread of the async runtime.
        let performed = std::thread::spawn(move || {
            let mut conn = Conn::new(format!("{server}?prefer_socket=false").as_str()).expect("the server of the test");
            task(&mut conn).expect("performed");
        });
        if performed.join().is_err() {
            eprintln!("something of {} is left behind", self.name);
        }
    }
}

impl Drop for Tables {
    fn drop(&mut self) {
        let sql = format!("DROP DATABASE IF EXISTS {}", self.name);
        self.perform(move |conn| conn.query_drop(sql));
    }
}
