//! `/backups` (T13, T19): backups in the directory of the server.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use windrow_wire::{BackupList, BackupView, VerifiedBackup};

use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::backups;
use crate::http::error::ApiError;
use crate::http::extract::PathParam;
use crate::http::server::Shared;

/// Backups in the directory of the server, newest first
#[utoipa::path(get, operation_id = "list_backups", path = "/backups", tag = "server",
    responses((status = 200, description = "The backups", body = BackupList)))]
pub async fn list(State(server): Shared, actor: Actor) -> Result<Json<BackupList>, ApiError> {
    Ok(Json(backups::list(&server.app, &actor).await?))
}

/// Write a backup while work continues, without the master key
///
/// The response comes when the backup is written and verified. At most one per second.
#[utoipa::path(post, operation_id = "make_backup", path = "/backups", tag = "server",
    responses((status = 201, description = "The backup", body = BackupView)))]
pub async fn make(State(server): Shared, change: Change) -> Result<(StatusCode, Json<BackupView>), ApiError> {
    let _permit = server.heavy_request_permit().await?;
    Ok((StatusCode::CREATED, Json(backups::make(&server.app, &change).await?)))
}

/// Read a backup whole and compare it with its manifest
#[utoipa::path(post, operation_id = "verify_backup", path = "/backups/{backup}/verify", tag = "server",
    params(("backup" = String, Path, description = "Name of the file")),
    responses((status = 200, description = "It is complete and unchanged", body = VerifiedBackup)))]
pub async fn verify(
    State(server): Shared,
    change: Change,
    PathParam(backup): PathParam,
) -> Result<Json<VerifiedBackup>, ApiError> {
    let _permit = server.heavy_request_permit().await?;
    Ok(Json(backups::verify(&server.app, &change, &backup).await?))
}
