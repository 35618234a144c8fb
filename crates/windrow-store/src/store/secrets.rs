//! The port of secrets.

use async_trait::async_trait;
use windrow_model::secret::{Resealed, SealedSecret, SecretListing, SecretStore};
use windrow_model::store::Result;

use super::SqlStore;
use crate::sql::admin::secrets;

#[async_trait]
impl SecretStore for SqlStore {
    async fn put_secret(&self, secret: SealedSecret) -> Result<bool> {
        self.write("put_secret", move |tx| secrets::put(tx, &secret)).await
    }

    async fn secret(&self, workspace: &str, name: &str) -> Result<Option<SealedSecret>> {
        let (workspace, name) = (workspace.to_owned(), name.to_owned());
        self.read("secret", move |conn| secrets::find(conn, &workspace, &name)).await
    }

    async fn secrets(&self, workspace: &str) -> Result<Vec<SecretListing>> {
        let workspace = workspace.to_owned();
        self.read("secrets", move |conn| secrets::list(conn, &workspace)).await
    }

    async fn delete_secret(&self, workspace: &str, name: &str) -> Result<()> {
        let (workspace, name) = (workspace.to_owned(), name.to_owned());
        self.write("delete_secret", move |tx| secrets::delete(tx, &workspace, &name)).await
    }

    async fn secret_keys(&self) -> Result<Vec<(String, i64)>> {
        self.read("secret_keys", secrets::keys).await
    }

    async fn sealed_secrets(&self) -> Result<Vec<SealedSecret>> {
        self.read("sealed_secrets", secrets::all).await
    }

    async fn reseal_secrets(&self, resealed: Vec<Resealed>) -> Result<bool> {
        self.write("reseal_secrets", move |tx| secrets::reseal(tx, &resealed)).await
    }
}
