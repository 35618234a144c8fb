//! Who keeps the accounts of shared limits. It is written down here, in the one place that all nodes see, with
//! the time from which it holds; each change is a new epoch, whose accounts begin empty.

use windrow_model::Time;

use crate::backend::{Connection, OptionalExtension, Sql, failure, params};
use crate::sql::cells::Cells;

const ONLY: i64 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Authority {
    pub epoch: i64,
    /// Where in Redis the accounts are; `None`: they are in the database.
    pub redis: Option<String>,
    /// No call is admitted before.
    pub since: Time,
    /// No node uses Redis before.
    pub redis_from: Time,
}

pub(crate) fn authority(conn: &Connection) -> failure::Result<Authority> {
    let sql = "SELECT epoch, redis, since, redis_from FROM limit_authority WHERE id = ?1";
    let found = conn.prepare_cached(sql)?.query_row([ONLY], |row| {
        let mut c = Cells::of(row);
        Ok(Authority { epoch: c.get()?, redis: c.get()?, since: c.time()?, redis_from: c.time()? })
    });
    Ok(found.optional()?.unwrap_or_default())
}

pub(crate) static BEGIN: Sql = Sql::new(|d| {
    let ignore = d.or_ignore("id");
    format!("INSERT INTO limit_authority (id, epoch, redis, since, redis_from) VALUES (?1, 0, NULL, 0, 0){ignore}")
});

pub(crate) fn appoint(tx: &Connection, next: &Authority) -> failure::Result<Authority> {
    tx.prepare_cached(&BEGIN)?.execute([ONLY])?;
    tx.prepare_cached(
        "UPDATE limit_authority SET epoch = ?2, redis = ?3, since = ?4, redis_from = ?5 WHERE id = ?1 AND epoch = ?2 - 1",
    )?
    .execute(params![ONLY, next.epoch, next.redis, next.since.0, next.redis_from.0])?;
    authority(tx)
}
