//! Shared limits, kept by the database: a question is one transaction that holds the rows of its
//! resources, decides over them and writes them back.

use windrow_model::limit::account::Account;
use windrow_model::limit::shared::{Answer, Ask};
use windrow_model::{Json, SessionId, Time};

use crate::backend::Sql;
use crate::backend::failure;
use crate::backend::{Connection, OptionalExtension, params};
use crate::sql::admin::limit_authority::{Authority, authority};
use crate::sql::cells::Cells;
use crate::sql::lock;

/// Between one authority and the next: until every node has seen it, told it what is under way, and its clock
/// agrees that the time has come.
pub(crate) const SETTLING_MS: i64 = 6_000;
/// A node without Redis keeps the others from it for so long.
pub(crate) const WITHOUT_REDIS_MS: i64 = 600_000;

pub(crate) fn ask(
    tx: &Connection,
    session: SessionId,
    asks: &[Ask],
    now: Time,
) -> failure::Result<std::result::Result<Vec<Answer>, Authority>> {
    let authority = authority(tx)?;
    if authority.redis.is_some() {
        return Ok(Err(authority));
    }
    tx.lock("limit_accounts", asks.iter().map(|ask| id_of(&ask.resource)))?;
    let mut answers = Vec::with_capacity(asks.len());
    for ask in asks {
        let kept = match find(tx, &ask.resource)? {
            Some(kept) => kept,
            None => begin(tx, &ask.resource, &authority)?,
        };
        let mut account = match kept.epoch() == authority.epoch {
            true => kept,
            false => Account::new(authority.epoch, authority.since),
        };
        answers.push(account.ask(session, ask, now));
        tx.prepare_cached("UPDATE limit_accounts SET account = ?2 WHERE id = ?1")?
            .execute(params![id_of(&ask.resource), Json::of(&account).as_str()])?;
    }
    Ok(Ok(answers))
}

fn find(tx: &Connection, resource: &str) -> failure::Result<Option<Account>> {
    let mut stmt = tx.prepare_cached("SELECT account FROM limit_accounts WHERE id = ?1")?;
    Ok(stmt.query_row([id_of(resource)], |row| Cells::of(row).parsed(Json::parse)).optional()?)
}

pub(crate) static BEGIN: Sql = Sql::new(|d| {
    format!("INSERT INTO limit_accounts (id, resource, account) VALUES (?1, ?2, ?3){}", d.or_ignore("id"))
});

/// The first question about a resource; two nodes may ask it at the same time.
fn begin(tx: &Connection, resource: &str, authority: &Authority) -> failure::Result<Account> {
    let (id, account) = (id_of(resource), Account::new(authority.epoch, authority.since));
    tx.prepare_cached(&BEGIN)?.execute(params![id, resource, Json::of(&account).as_str()])?;
    tx.lock("limit_accounts", [id])?;
    Ok(find(tx, resource)?.unwrap_or(account))
}

fn id_of(resource: &str) -> i64 {
    lock::hash_of(resource).cast_signed()
}
