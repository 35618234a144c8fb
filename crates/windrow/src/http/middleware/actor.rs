//! Who asks. The layer [`identify`](super::identify) finds out and leaves an [`Actor`] with the request, and the layer
//! [`audit`](super::audit) a [`Change`] where the request changes something. Handlers extract one of the two.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::error::Code;
use crate::http::error::ApiError;

impl<S: Sync> FromRequestParts<S> for Actor {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let missing = || ApiError::new(Code::Failed, "request has no caller (bug)", "");
        parts.extensions.get().cloned().ok_or_else(missing)
    }
}

impl<S: Sync> FromRequestParts<S> for Change {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let missing = || ApiError::new(Code::Failed, "change is not on the audit log (bug)", "");
        parts.extensions.get().cloned().ok_or_else(missing)
    }
}
