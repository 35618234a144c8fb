//! The port of API keys.

use async_trait::async_trait;
use windrow_model::access::{AccessStore, ApiKey};
use windrow_model::store::Result;
use windrow_model::{KeyId, Time};

use super::SqlStore;
use crate::sql::admin::access;

#[async_trait]
impl AccessStore for SqlStore {
    async fn add_key(&self, key: ApiKey) -> Result<()> {
        self.write("add_key", move |tx| access::add(tx, &key)).await
    }

    async fn has_keys(&self) -> Result<bool> {
        self.glance("has_keys", access::has_keys).await
    }

    async fn keys(&self) -> Result<Vec<ApiKey>> {
        self.read("keys", access::keys).await
    }

    async fn key(&self, id: KeyId) -> Result<Option<ApiKey>> {
        self.glance("key", move |conn| access::find(conn, id)).await
    }

    async fn revoke_key(&self, id: KeyId, now: Time) -> Result<ApiKey> {
        self.write("revoke_key", move |tx| access::revoke(tx, id, now)).await
    }

    async fn note_key_use(&self, id: KeyId, at: Time) -> Result<()> {
        self.write("note_key_use", move |tx| access::note_use(tx, id, at)).await
    }
}
