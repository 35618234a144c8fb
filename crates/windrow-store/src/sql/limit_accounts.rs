//! The port of shared limits, kept by the database: a question is one transaction that holds the rows of its
//! resources, decides over them and writes them back.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use windrow_model::limit::account::Account;
use windrow_model::limit::shared::{Answer, Ask, SharedLimits};
use windrow_model::store::Result;
use windrow_model::{Json, SessionId, Time};

use super::cells::Cells;
use super::db::{Cell, Connection, params};
use super::limit_authority::{Authority, authority};
use super::{SqlStore, fault, lock};

/// Between one authority and the next: until every node has seen it, told it what is under way, and its clock
/// agrees that the time has come.
pub(crate) const SETTLING_MS: i64 = 6_000;
/// A node without Redis keeps the others from it for so long.
const WITHOUT_REDIS_MS: i64 = 600_000;

#[async_trait]
impl SharedLimits for SqlStore {
    async fn ask(&self, session: SessionId, asks: Vec<Ask>, now: Time) -> Result<Vec<Answer>> {
        let count = asks.len();
        let before = match self.ask_accounts(session, asks, now).await? {
            Ok(answers) => return Ok(answers),
            Err(authority) => authority,
        };
        tracing::warn!(
            "other nodes share limits by a Redis that this one was not told of (--redis): the database does it"
        );
        let (since, redis_from) = (now + SETTLING_MS, now + WITHOUT_REDIS_MS);
        let next = self.appoint(Authority { epoch: before.epoch + 1, redis: None, since, redis_from }).await?;
        Ok(vec![Answer::not_yet(next.epoch, next.since - now); count])
    }
}

impl SqlStore {
    /// The answers, or who keeps the accounts if it is not the database.
    pub(crate) async fn ask_accounts(
        &self,
        session: SessionId,
        asks: Vec<Ask>,
        now: Time,
    ) -> Result<std::result::Result<Vec<Answer>, Authority>> {
        self.write_hot("ask_limits", move |tx| ask(tx, session, &asks, now)).await
    }
}

fn ask(
    tx: &Connection,
    session: SessionId,
    asks: &[Ask],
    now: Time,
) -> fault::Result<std::result::Result<Vec<Answer>, Authority>> {
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
    tx.execute_many("UPDATE limit_accounts SET account = ?2 WHERE id = ?1", &rows)?;
    Ok(Ok(answers))
}

fn find(tx: &Connection, ids: impl Iterator<Item = i64>) -> fault::Result<BTreeMap<i64, Account>> {
    let (ids, mut found): (BTreeSet<i64>, _) = (ids.collect(), BTreeMap::new());
    let rows: Vec<[Cell; 1]> = ids.iter().map(|id| [Cell::Int(*id)]).collect();
    tx.query_many("SELECT id, account FROM limit_accounts WHERE id = ?1", &rows, |_, row| {
        let mut c = Cells::of(row);
        found.insert(c.get()?, c.parsed(Json::parse)?);
        Ok(())
    })?;
    Ok(found)
}

/// The first question about a resource; two nodes may ask it at the same time.
fn begin(tx: &Connection, resource: &str, authority: &Authority) -> fault::Result<Account> {
    let (id, account) = (id_of(resource), Account::new(authority.epoch, authority.since));
    tx.prepare_cached(
        "INSERT INTO limit_accounts (id, resource, account) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO NOTHING",
    )?
    .execute(params![id, resource, Json::of(&account).as_str()])?;
    tx.lock("limit_accounts", [id])?;
    Ok(find(tx, [id].into_iter())?.remove(&id).unwrap_or(account))
}

fn id_of(resource: &str) -> i64 {
    lock::hash_of(resource).cast_signed()
}
