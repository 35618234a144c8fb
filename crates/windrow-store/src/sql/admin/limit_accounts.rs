//! Shared limits, kept by the database: a question is one transaction that holds the rows of its
//! resources, decides over them and writes them back.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use windrow_model::limit::account::Account;
use windrow_model::limit::shared::{Answer, Ask};
use windrow_model::{Json, SessionId, Time};

use crate::backend::{Cell, Change, Connection, Lookup, Sql, failure, params};
use crate::sql::admin::limit_authority::{Authority, authority};
use crate::sql::cells::Cells;
use crate::sql::lock;

pub(crate) static ACCOUNT: Lookup = Lookup::new("id, account", "limit_accounts", "id = ?1", "");
pub(crate) static KEEP: Change = Change::update("limit_accounts", "account = ?2", "id = ?1");

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
    let mut accounts = find(tx, asks.iter().map(|ask| id_of(&ask.resource)))?;
    let mut answers = Vec::with_capacity(asks.len());
    for ask in asks {
        let account = match accounts.entry(id_of(&ask.resource)) {
            Entry::Occupied(kept) => kept.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(begin(tx, &ask.resource, &authority)?),
        };
        if account.epoch() != authority.epoch {
            *account = Account::new(authority.epoch, authority.since);
        }
        answers.push(account.ask(session, ask, now));
    }
    let accounts: Vec<(i64, Json)> = accounts.iter().map(|(id, account)| (*id, Json::of(account))).collect();
    let rows: Vec<[Cell; 2]> = accounts.iter().map(|(id, kept)| [Cell::Int(*id), Cell::Text(kept.as_str())]).collect();
    tx.execute_many(&KEEP, &rows)?;
    Ok(Ok(answers))
}

fn find(tx: &Connection, ids: impl Iterator<Item = i64>) -> failure::Result<BTreeMap<i64, Account>> {
    let (ids, mut found): (BTreeSet<i64>, _) = (ids.collect(), BTreeMap::new());
    let rows: Vec<[Cell; 1]> = ids.iter().map(|id| [Cell::Int(*id)]).collect();
    tx.query_many(&ACCOUNT, &rows, |_, row| {
        let mut c = Cells::of(row);
        found.insert(c.get()?, c.parsed(Json::parse)?);
        Ok(())
    })?;
    Ok(found)
}

pub(crate) static BEGIN: Sql = Sql::new(|d| {
    format!("INSERT INTO limit_accounts (id, resource, account) VALUES (?1, ?2, ?3){}", d.or_ignore("id"))
});

/// The first question about a resource; two nodes may ask it at the same time.
fn begin(tx: &Connection, resource: &str, authority: &Authority) -> failure::Result<Account> {
    let (id, account) = (id_of(resource), Account::new(authority.epoch, authority.since));
    tx.prepare_cached(&BEGIN)?.execute(params![id, resource, Json::of(&account).as_str()])?;
    tx.lock("limit_accounts", [id])?;
    Ok(find(tx, [id].into_iter())?.remove(&id).unwrap_or(account))
}

fn id_of(resource: &str) -> i64 {
    lock::hash_of(resource).cast_signed()
}
