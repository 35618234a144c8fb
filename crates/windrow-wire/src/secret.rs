//! What may be known of a secret. There is no shape with a value in it: nothing ever answers with one.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windrow_model::secret::SecretListing;

use crate::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SecretView {
    pub name: String,
    pub workspace: String,
    /// Who set it last.
    pub set_by: String,
    pub set_at: Timestamp,
    pub created_at: Timestamp,
    /// Id of the master key.
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

/// A secret that was set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SecretSet {
    pub name: String,
    pub workspace: String,
    /// False if it replaced an earlier value.
    pub created: bool,
}
