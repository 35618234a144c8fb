//! MySQL and MariaDB.

use std::time::Duration;

use mysql::Conn;
use mysql::prelude::Queryable;
use windrow_jobfile::spec::invalid_request;
use windrow_model::{ErrorClass, Failure};
use windrow_sql::mysql::Address;

const SILENCE: Duration = Duration::from_secs(300);

pub fn is_url(url: &str) -> bool {
    url.starts_with("mysql://") || url.starts_with("mariadb://")
}

/// In a session where a value that does not fit is an error, and never cut short.
pub fn connect(url: &str) -> Result<Conn, Failure> {
    // As before there was an `sslmode`: without one, no TLS.
    let address =
        Address::parse(url, "disable").map_err(|error| invalid_request(format!("the URL of the database: {error}")))?;
    let options = address.options().read_timeout(Some(SILENCE)).write_timeout(Some(SILENCE)).stmt_cache_size(Some(64));
    let mut conn = address.connect(options).map_err(|error| failure(&error))?;
    let settings =
        "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO', time_zone = '+00:00'";
    conn.query_drop(settings).map_err(|error| failure(&error))?;
    conn.query_drop("SET NAMES utf8mb4").map_err(|error| failure(&error))?;
    Ok(conn)
}

/// What an error means to whoever may try again.
pub fn failure(error: &mysql::Error) -> Failure {
    let mysql::Error::MySqlError(said) = error else {
        return Failure::new(ErrorClass::Network, format!("MySQL: {error}"));
    };
    let class = match said.code {
        1044 | 1045 | 1142 | 1143 | 1698 => ErrorClass::Auth,
        // No such database, table or column; a statement that is none.
        1049 | 1054 | 1064 | 1146 => ErrorClass::InvalidRequest,
        // Too many connections, shutting down, locks that were waited for too long, deadlocks, a full disk.
        1040 | 1053 | 1205 | 1213 | 1021 | 1114 => ErrorClass::Server,
        _ => ErrorClass::Handler,
    };
    Failure::new(class, format!("MySQL: {} ({})", said.message, said.code))
}
