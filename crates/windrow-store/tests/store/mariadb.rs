//! A database of MariaDB for one test, which goes with it.

use mysql::Conn;
use mysql::prelude::Queryable;

/// The tables whose rows the server numbers.
const NUMBERED: [&str; 4] = ["log", "dataset_rows", "deliveries", "audit"];

pub struct Tables {
    /// Without a database.
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

    /// Takes everything out, and starts all numbers from the beginning.
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
            conn.query_drop("UPDATE sequences SET last = 0")
        });
    }

    /// Ends every connection that uses it.
    pub fn cut(&self) {
        let sql = format!("SELECT id FROM information_schema.processlist WHERE db = '{}'", self.name);
        self.perform(move |conn| {
            let ids: Vec<u64> = conn.query(sql)?;
            // One may have ended by itself.
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
        // The driver blocks, which a thread of the runtime must not.
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
