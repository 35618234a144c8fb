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
    /// Which master key sealed it.
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

/// What became of a value that was sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SecretSet {
    pub name: String,
    pub workspace: String,
    /// False where it took the place of an earlier value.
    pub created: bool,
}
