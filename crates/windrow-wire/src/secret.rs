//! Metadata of a secret. No type contains the value, so that no response can return it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windrow_model::secret::SecretListing;

use crate::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SecretView {
    pub name: String,
    pub workspace: String,
    /// Actor who set the value last.
    pub set_by: String,
    pub set_at: Timestamp,
    pub created_at: Timestamp,
    /// Id of the master key that encrypted the value.
    pub key_id: String,
}

impl From<&SecretListing> for SecretView {
    fn from(secret: &SecretListing) -> Self {
        Self {
            name: secret.name.clone(),
            workspace: secret.workspace.clone(),
            set_by: secret.actor.clone(),
            set_at: secret.set_at.into(),
            created_at: secret.created_at.into(),
            key_id: secret.key_id.clone(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SecretList {
    pub secrets: Vec<SecretView>,
}

/// Result of setting a secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SecretSet {
    pub name: String,
    pub workspace: String,
    /// False if an earlier value was replaced.
    pub created: bool,
}
