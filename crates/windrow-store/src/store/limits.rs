//! The port of shared limits.

use async_trait::async_trait;
use windrow_model::limit::shared::{Answer, Ask, SharedLimits};
use windrow_model::store::Result;
use windrow_model::{SessionId, Time};

use super::SqlStore;
use crate::sql::admin::limit_authority::Authority;
use crate::sql::admin::{limit_accounts, limit_authority};

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
        let (since, redis_from) = (now + limit_accounts::SETTLING_MS, now + limit_accounts::WITHOUT_REDIS_MS);
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
        self.write_hot("ask_limits", move |tx| limit_accounts::ask(tx, session, &asks, now)).await
    }

    pub(crate) async fn limit_authority(&self) -> Result<Authority> {
        self.glance("limit_authority", limit_authority::authority).await
    }

    /// Follows the authority before it, unless another has done so already. Returns the one that holds.
    pub(crate) async fn appoint(&self, next: Authority) -> Result<Authority> {
        self.write("appoint", move |tx| limit_authority::appoint(tx, &next)).await
    }
}
