//! A database that records are put into: a file, or one of a server of `scripts/services` that nobody else has.

use std::sync::atomic::{AtomicU32, Ordering};

use mysql::prelude::Queryable;

use crate::place::Place;
use crate::services;

pub enum Warehouse {
    Sqlite(std::path::PathBuf),
    Postgres { url: String, schema: String },
    MariaDb { url: String },
}

pub const ALL: [fn(&Place) -> Warehouse; 3] = [Warehouse::sqlite, Warehouse::postgres, Warehouse::mariadb];

fn unique() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("ingest_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

impl Warehouse {
    pub fn sqlite(place: &Place) -> Self {
        Self::Sqlite(place.path("orders.db"))
    }

    pub fn postgres(_: &Place) -> Self {
        Self::Postgres { url: format!("{}?sslmode=disable", services::url("WINDROW_TEST_POSTGRES")), schema: unique() }
    }

    pub fn mariadb(_: &Place) -> Self {
        let (server, name) = (services::url("WINDROW_TEST_MARIADB"), unique());
        let mut conn = mysql::Conn::new(server.as_str()).unwrap();
        conn.query_drop(format!("CREATE DATABASE {name}")).unwrap();
        let (address, _) = server.rsplit_once('/').unwrap();
        Self::MariaDb { url: format!("{address}/{name}") }
    }

    /// As a plan names it.
    pub fn destination(&self) -> String {
        match self {
            Self::Sqlite(path) => format!("sqlite: {{ path: \"{}\" }}", path.display()),
            Self::Postgres { url, schema } => format!("postgres: {{ url: \"{url}\", schema: {schema} }}"),
            Self::MariaDb { url } => format!("mysql: {{ url: \"{url}\" }}"),
        }
    }

    /// The beginning of a source that reads a table of it.
    pub fn source(&self, table: &str) -> String {
        match self {
            Self::Sqlite(path) => format!("url: \"sqlite:{}\", table: {table}", path.display()),
            Self::Postgres { url, schema } => format!("url: \"{url}\", table: {schema}.{table}"),
            Self::MariaDb { url } => format!("url: \"{url}\", table: {table}"),
        }
    }

    pub fn perform(&self, sql: &str) {
        match self {
            Self::Sqlite(path) => rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap(),
            Self::Postgres { .. } => self.connect_postgres().batch_execute(sql).unwrap(),
            Self::MariaDb { url } => {
                let mut conn = mysql::Conn::new(url.as_str()).unwrap();
                sql.split(';').filter(|sql| !sql.trim().is_empty()).for_each(|sql| conn.query_drop(sql).unwrap());
            }
        }
    }

    fn connect_postgres(&self) -> postgres::Client {
        let Self::Postgres { url, schema } = self else { unreachable!("only asked where it is one") };
        let mut client = postgres::Client::connect(url, postgres::NoTls).unwrap();
        client.batch_execute(&format!("CREATE SCHEMA IF NOT EXISTS {schema}; SET search_path TO {schema}")).unwrap();
        client
    }

    /// The rows of a query, the columns of each joined; null is `-`.
    pub fn rows(&self, sql: &str, columns: usize) -> Vec<String> {
        let joined = |cells: Vec<Option<String>>| {
            cells.into_iter().map(|cell| cell.unwrap_or_else(|| "-".to_owned())).collect::<Vec<_>>().join("|")
        };
        match self {
            Self::Sqlite(path) => {
                let db = rusqlite::Connection::open(path).unwrap();
                let mut stmt = db.prepare(sql).unwrap();
                let text = |row: &rusqlite::Row<'_>, no| {
                    Ok(match row.get_ref(no)? {
                        rusqlite::types::ValueRef::Null => None,
                        rusqlite::types::ValueRef::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
                        rusqlite::types::ValueRef::Integer(number) => Some(number.to_string()),
                        other => Some(other.as_f64().unwrap().to_string()),
                    })
                };
                let found = stmt.query_map([], |row| (0..columns).map(|no| text(row, no)).collect());
                found.unwrap().map(|cells| joined(cells.unwrap())).collect()
            }
            Self::Postgres { .. } => {
                let rows = self.connect_postgres().simple_query(sql).unwrap();
                let rows = rows.iter().filter_map(|message| match message {
                    postgres::SimpleQueryMessage::Row(row) => Some(row),
                    _ => None,
                });
                rows.map(|row| joined((0..columns).map(|no| row.get(no).map(str::to_owned)).collect())).collect()
            }
            Self::MariaDb { url } => {
                let rows: Vec<mysql::Row> = mysql::Conn::new(url.as_str()).unwrap().query(sql).unwrap();
                rows.into_iter().map(|row| joined((0..columns).map(|no| row.get(no).unwrap()).collect())).collect()
            }
        }
    }

    pub fn number(&self, sql: &str) -> i64 {
        self.rows(sql, 1)[0].parse().unwrap()
    }

    /// Each of them once, and each as the source has it.
    #[track_caller]
    pub fn holds_exactly(&self, records: i64) {
        let name = if matches!(self, Self::MariaDb { .. }) { "concat('order ', id)" } else { "'order ' || id" };
        let sql = format!(
            "SELECT count(*), count(DISTINCT id), sum(id), \
             sum(CASE WHEN customer = id * 31 % 10007 AND name = {name} THEN 1 ELSE 0 END) FROM orders"
        );
        let expected = format!("{records}|{records}|{}|{records}", records * (records + 1) / 2);
        assert_eq!(self.rows(&sql, 4), [expected]);
    }
}

impl Drop for Warehouse {
    fn drop(&mut self) {
        // What a server has of it would otherwise stay as long as the server is up.
        match self {
            Self::Sqlite(_) => {}
            Self::Postgres { url, schema } => {
                if let Ok(mut client) = postgres::Client::connect(url, postgres::NoTls) {
                    let _ = client.batch_execute(&format!("DROP SCHEMA IF EXISTS {schema} CASCADE"));
                }
            }
            Self::MariaDb { url } => {
                let name = url.rsplit('/').next().unwrap_or_default().to_owned();
                if let Ok(mut conn) = mysql::Conn::new(url.as_str()) {
                    let _ = conn.query_drop(format!("DROP DATABASE IF EXISTS {name}"));
                }
            }
        }
    }
}
