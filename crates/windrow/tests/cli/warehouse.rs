//! A destination database: a file, or a private database of a server of `scripts/services`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU32, Ordering};

use mysql::prelude::Queryable;

use crate::client::Reply;
use crate::place::Place;
use crate::services;

pub enum Warehouse {
    Sqlite(std::path::PathBuf),
    Postgres { url: String, schema: String },
    MariaDb { url: String },
    ClickHouse { server: String, database: String },
}

/// Databases that are also sources.
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

    pub fn clickhouse(_: &Place) -> Self {
        let warehouse = Self::ClickHouse { server: services::url("WINDROW_TEST_CLICKHOUSE"), database: unique() };
        if let Self::ClickHouse { server, database } = &warehouse {
            ask_clickhouse(server, "default", &format!("CREATE DATABASE {database}"));
        }
        warehouse
    }

    /// The `destination` field of a job file.
    pub fn destination(&self) -> String {
        match self {
            Self::Sqlite(path) => format!("sqlite: {{ path: \"{}\" }}", path.display()),
            Self::Postgres { url, schema } => format!("postgres: {{ url: \"{url}\", schema: {schema} }}"),
            Self::MariaDb { url } => format!("mysql: {{ url: \"{url}\" }}"),
            Self::ClickHouse { server, database } => {
                format!("clickhouse: {{ url: \"{server}/{database}\", batch: 1000 }}")
            }
        }
    }

    /// The start of a `source` that reads one of its tables.
    pub fn source(&self, table: &str) -> String {
        match self {
            Self::Sqlite(path) => format!("url: \"sqlite:{}\", table: {table}", path.display()),
            Self::Postgres { url, schema } => format!("url: \"{url}\", table: {schema}.{table}"),
            Self::MariaDb { url } => format!("url: \"{url}\", table: {table}"),
            Self::ClickHouse { .. } => unreachable!("it is no source"),
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
            Self::ClickHouse { server, database } => drop(ask_clickhouse(server, database, sql)),
        }
    }

    fn connect_postgres(&self) -> postgres::Client {
        let Self::Postgres { url, schema } = self else { unreachable!("only asked where it is one") };
        let mut client = postgres::Client::connect(url, postgres::NoTls).unwrap();
        client.batch_execute(&format!("CREATE SCHEMA IF NOT EXISTS {schema}; SET search_path TO {schema}")).unwrap();
        client
    }

    /// The rows of a query with joined columns; null is `-`.
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
            Self::ClickHouse { server, database } => {
                // `FINAL` merges replaced rows at query time.
                let sql =
                    ["orders", "_windrow_ledger", "_windrow_rejected"].iter().fold(sql.to_owned(), |sql, table| {
                        sql.replace(&format!("FROM {table}"), &format!("FROM {table} FINAL"))
                    });
                let answer = ask_clickhouse(server, database, &format!("{sql} FORMAT JSONCompact"));
                let text = |cell: &serde_json::Value| match cell {
                    serde_json::Value::Null => None,
                    serde_json::Value::String(text) => Some(text.clone()),
                    other => Some(other.to_string()),
                };
                let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
                let rows = answer["data"].as_array().unwrap();
                rows.iter().map(|row| joined(row.as_array().unwrap().iter().map(text).collect())).collect()
            }
        }
    }

    pub fn number(&self, sql: &str) -> i64 {
        self.rows(sql, 1)[0].parse().unwrap()
    }

    /// Each record once, equal to the source's record.
    #[track_caller]
    pub fn holds_exactly(&self, records: i64) {
        let name = match self {
            Self::MariaDb { .. } => "concat('order ', id)",
            Self::ClickHouse { .. } => "concat('order ', toString(id))",
            Self::Sqlite(_) | Self::Postgres { .. } => "'order ' || id",
        };
        let sql = format!(
            "SELECT count(*), count(DISTINCT id), sum(id), \
             sum(CASE WHEN customer = id * 31 % 10007 AND name = {name} THEN 1 ELSE 0 END) FROM orders"
        );
        let expected = format!("{records}|{records}|{}|{records}", records * (records + 1) / 2);
        assert_eq!(self.rows(&sql, 4), [expected]);
    }
}

pub fn ask_clickhouse(server: &str, database: &str, sql: &str) -> String {
    let (credentials, address) = server.strip_prefix("http://").unwrap().split_once('@').unwrap();
    let (user, password) = credentials.split_once(':').unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let (path, length) = (format!("/?database={database}&user={user}&password={password}"), sql.len());
    write!(stream, "POST {path} HTTP/1.0\r\ncontent-length: {length}\r\n\r\n{sql}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let reply = Reply::of(&answer).unwrap().with_status(200);
    reply.body
}

impl Drop for Warehouse {
    fn drop(&mut self) {
        // Otherwise the data would stay as long as the server runs.
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
            Self::ClickHouse { server, database } => {
                ask_clickhouse(server, "default", &format!("DROP DATABASE IF EXISTS {database}"));
            }
        }
    }
}
