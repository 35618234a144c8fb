//! Opens connections: one that writes, a few that read, and the settings both rely on. Memory is
//! bounded here: the page caches are the largest thing the store keeps.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use windrow_model::store::StoreError;

use crate::backend::failure::Result;
use crate::backend::sqlite::migrate;

/// How long another process may hold the file before we give up.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Measured with the benchmark `walk`: a tenth cheaper than 4096, and no dearer at a million items.
const PAGE_BYTES: i64 = 8192;
const WRITER_CACHE_KIB: i64 = 64 * 1024;
const READER_CACHE_KIB: i64 = 4 * 1024;
/// 32 MB of log: a page written again and again is copied back once, and a restart reads it in no time.
const CHECKPOINT_PAGES: i64 = 4_000;
const STATEMENTS: usize = 128;

pub(crate) fn open_writer(path: &Path) -> Result<Connection> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)
            .map_err(|error| StoreError::Unavailable(format!("cannot create {}: {error}", folder.display())))?;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(BUSY_TIMEOUT)?;
    // The page size counts only before the first table is made.
    conn.pragma_update(None, "page_size", PAGE_BYTES)?;
    enter_wal_mode(&conn)?;
    conn.pragma_update(None, "synchronous", "full")?;
    conn.pragma_update(None, "foreign_keys", false)?;
    conn.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    // Savepoints keep old pages in a statement journal; it belongs in memory, not in a file.
    conn.pragma_update(None, "temp_store", "memory")?;
    conn.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    conn.pragma_update(None, "journal_size_limit", 2 * CHECKPOINT_PAGES * PAGE_BYTES)?;
    keep_plans(&conn)?;
    migrate::migrate(&conn)?;
    Ok(conn)
}

/// Changing the mode of a new file needs it alone, and SQLite does not wait for that as it waits for a
/// write: two processes that create the same database would see one of them fail.
fn enter_wal_mode(conn: &Connection) -> Result<()> {
    let give_up = Instant::now() + BUSY_TIMEOUT;
    loop {
        match conn.pragma_update(None, "journal_mode", "wal") {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && Instant::now() < give_up => {
                std::thread::sleep(Duration::from_millis(5));
            }
            outcome => return Ok(outcome?),
        }
    }
}

pub(crate) fn open_reader(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(BUSY_TIMEOUT)?;
    conn.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    keep_plans(&conn)?;
    Ok(conn)
}

/// Statements are prepared once. Unless told that a plan must not depend on bound values, SQLite
/// prepares one with `LIMIT ?` again each time another value is bound.
fn keep_plans(conn: &Connection) -> Result<()> {
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}
