//! The oldest open transaction of the server. Row versions that are newer cannot be removed, and the hot path reads over
//! them again and again.

use crate::backend::failure::Result;
use crate::backend::{Connection, OptionalExtension};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldTransaction {
    pub open_s: i64,
    /// Whose it is, as the server tells.
    pub whose: String,
    /// The statement that ends it.
    pub remedy: String,
}

const OF_POSTGRES: &str = "SELECT CAST(extract(epoch FROM clock_timestamp() - xact_start) AS BIGINT), \
     CAST(concat(usename, ' (', application_name, ', ', state, ')') AS TEXT), \
     CAST(concat('SELECT pg_terminate_backend(', pid, ')') AS TEXT) FROM pg_stat_activity \
     WHERE xact_start IS NOT NULL AND backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY xact_start LIMIT 1";
const OF_MYSQL: &str = "SELECT CAST(TIMESTAMPDIFF(SECOND, trx_started, NOW()) AS SIGNED), \
     concat('thread ', trx_mysql_thread_id, ' (', trx_state, ')'), concat('KILL ', trx_mysql_thread_id) \
     FROM information_schema.innodb_trx WHERE trx_mysql_thread_id <> connection_id() ORDER BY trx_started LIMIT 1";

/// The oldest one. Seeing those of other users requires a privilege.
pub(crate) fn oldest(conn: &Connection) -> Result<Option<OldTransaction>> {
    let sql = match conn {
        Connection::Sqlite(_) => return Ok(None),
        Connection::Postgres(_) => OF_POSTGRES,
        Connection::MySql(_) => OF_MYSQL,
    };
    let found = conn
        .query_row(sql, (), |row| Ok(OldTransaction { open_s: row.get(0)?, whose: row.get(1)?, remedy: row.get(2)? }));
    Ok(found.optional()?)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::backend::Address;
    use crate::services::url;

    #[test]
    fn one_that_is_kept_open_is_seen() {
        for server in ["WINDROW_TEST_POSTGRES", "WINDROW_TEST_MARIADB"] {
            let address = Address::parse(&format!("{}?sslmode=disable", url(server))).unwrap();
            let connect = || address.connect_reader().unwrap_or_else(|error| panic!("{error}"));
            let (keeper, watcher) = (connect(), connect());
            keeper.perform(address.begin_reading()).unwrap();
            keeper.query_row("SELECT count(*) FROM information_schema.tables", (), |_| Ok(())).unwrap();
            std::thread::sleep(Duration::from_millis(1_200));
            let found = oldest(&watcher).unwrap_or_else(|fault| panic!("{fault:?}")).expect("at least this one");
            assert!(found.open_s >= 1 && !found.whose.is_empty(), "{server}: {found:?}");
            keeper.perform("COMMIT").unwrap();
        }
    }
}
