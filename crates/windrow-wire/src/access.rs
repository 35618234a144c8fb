//! Representations of API keys, the caller and the audit log.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windrow_model::Time;
use windrow_model::access::{ApiKey, KeyState, Role};
use windrow_model::audit::AuditEntry;

use crate::Timestamp;

/// An API key, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeyView {
    pub id: String,
    pub name: String,
    pub role: Role,
    /// Null for all workspaces.
    pub workspace: Option<String>,
    pub state: KeyState,
    pub created_by: String,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    /// Last use, to the minute.
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

/// A new API key. The secret is returned only here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreatedKey {
    /// Send it as `Authorization: Bearer …`.
    pub secret: String,
    pub key: KeyView,
}

/// The caller of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CallerView {
    pub actor: String,
    pub role: Role,
    /// Null for all workspaces.
    pub workspace: Option<String>,
    /// True if the caller sent an API key; without keys the server accepts local callers only.
    pub with_key: bool,
}

/// A change, or an attempted change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditLine {
    pub id: i64,
    pub at: Timestamp,
    pub actor: String,
    /// `http`, `grpc` or `cli`.
    pub via: String,
    /// The caller's workspace, if the caller is restricted to one.
    pub workspace: Option<String>,
    pub operation: String,
    pub resource: String,
    pub address: Option<String>,
    pub request: Option<String>,
    /// `done`, `refused`, `failed`, or `unknown` if the process ended before the change.
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
    /// Cursor for `before` to get the next page; null on the last page.
    pub next: Option<i64>,
}
