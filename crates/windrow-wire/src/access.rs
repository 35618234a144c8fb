//! Keys, the caller, and the audit log, as they are shown.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windrow_model::Time;
use windrow_model::access::{ApiKey, KeyState, Role};
use windrow_model::audit::AuditEntry;

use crate::Timestamp;

/// A key, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeyView {
    pub id: String,
    pub name: String,
    pub role: Role,
    /// Null: all.
    pub workspace: Option<String>,
    pub state: KeyState,
    pub created_by: String,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    /// To the minute.
    pub used_at: Option<Timestamp>,
}

impl KeyView {
    pub fn of(key: &ApiKey, now: Time) -> Self {
        Self {
            id: key.id.to_string(),
            name: key.name.clone(),
            role: key.role,
            workspace: key.workspace.clone(),
            state: key.state(now),
            created_by: key.created_by.clone(),
            created_at: key.created_at.into(),
            expires_at: key.expires_at.map(Timestamp),
            revoked_at: key.revoked_at.map(Timestamp),
            used_at: key.used_at.map(Timestamp),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeyList {
    /// Oldest first.
    pub keys: Vec<KeyView>,
}

/// A new key: the only time that its secret is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreatedKey {
    /// Send it as `Authorization: Bearer …`.
    pub secret: String,
    pub key: KeyView,
}

/// The caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CallerView {
    pub actor: String,
    pub role: Role,
    /// Null: all.
    pub workspace: Option<String>,
    /// Whether it sent a key; a server without keys needs none.
    pub with_key: bool,
}

/// One change, or a rejected request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditLine {
    pub id: i64,
    pub at: Timestamp,
    pub actor: String,
    /// `http`, `grpc` or `cli`.
    pub via: String,
    /// The workspace of an actor that is limited to one.
    pub workspace: Option<String>,
    pub operation: String,
    pub resource: String,
    pub address: Option<String>,
    pub request: Option<String>,
    /// `done`, `refused`, `failed`, or `unknown` where the process ended before the change did.
    pub outcome: String,
    pub detail: String,
}

impl From<&AuditEntry> for AuditLine {
    fn from(entry: &AuditEntry) -> Self {
        let what = entry.what.clone();
        Self {
            id: entry.id,
            at: entry.at.into(),
            actor: what.actor,
            via: what.via,
            workspace: what.workspace,
            operation: what.operation,
            resource: what.resource,
            address: what.address,
            request: what.request,
            outcome: entry.verdict.map_or("unknown", |verdict| verdict.as_str()).to_owned(),
            detail: entry.detail.clone(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditList {
    /// Newest first.
    pub entries: Vec<AuditLine>,
    /// Pass it as `before` for the next page; null on the last one.
    pub next: Option<i64>,
}
