//! What a verb holds while it looks and writes. A file has one writer, who holds everything; in a server others
//! write at the same time, and what was read stays true only while it is held. The order is always sessions,
//! attempts, stripes, runs, jobs, numbers; where two verbs meet in another order, one is undone and run again.

use crate::backend::Connection;
use crate::backend::failure::Result;

/// Rows that stand for what has no row. One at a time takes runs on, so that a quota is counted once.
pub(crate) const ADMISSION: i64 = 64;
/// One node at a time raises alerts, so that each is raised once.
pub(crate) const ALERTS: i64 = 63;
/// Secrets are re-encrypted as a whole.
pub(crate) const SECRETS: i64 = 65;

pub(crate) fn named(tx: &Connection, lock: i64) -> Result<()> {
    Ok(tx.lock("stripes", [lock])?)
}

/// FNV-1a: the same on every node and in every version.
pub(crate) fn hash_of(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The last number of something, whose row is locked.
pub(crate) fn sequence(tx: &Connection, name: &str) -> Result<i64> {
    let sql = match tx.is_shared() {
        true => "SELECT last FROM sequences WHERE name = ?1 FOR UPDATE",
        false => "SELECT last FROM sequences WHERE name = ?1",
    };
    Ok(tx.prepare_cached(sql)?.query_row([name], |row| row.get(0))?)
}

/// What a query finds, read once more when its rows are held: they may have changed while we waited for them.
pub(crate) fn lock_and_recheck<T>(
    tx: &Connection,
    table: &str,
    read: impl Fn() -> Result<Vec<T>>,
    id: impl Fn(&T) -> i64,
) -> Result<Vec<T>> {
    let found = read()?;
    if !tx.is_shared() || found.is_empty() {
        return Ok(found);
    }
    let mut held: Vec<i64> = found.iter().map(&id).collect();
    tx.lock(table, held.iter().copied())?;
    held.sort_unstable();
    let mut found = read()?;
    found.retain(|row| held.binary_search(&id(row)).is_ok());
    Ok(found)
}
