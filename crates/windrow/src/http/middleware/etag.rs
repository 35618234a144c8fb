//! `ETag`: a hash of the response, so that a client can ask whether it has changed (`If-None-Match`, 304) and act only
//! on what it has seen (`If-Match`, 412).

use axum::body::{Body, HttpBody, to_bytes};
use axum::extract::{FromRequestParts, Request};
use axum::http::header::{CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::app::actor::Actor;
use crate::app::jobs;
use crate::error::Code;
use crate::http::error::ApiError;
use crate::http::server::Server;

/// Larger responses are streams and exports, and have no tag.
const LARGEST: u64 = 8 << 20;
const ANY: &str = "*";

/// Tags JSON responses to GET, and leaves out the body of those the client already has.
pub async fn attach(request: Request, next: Next) -> Response {
    if request.method() != Method::GET {
        return next.run(request).await;
    }
    let known = request.headers().get(IF_NONE_MATCH).cloned();
    let response = next.run(request).await;
    if response.status() != StatusCode::OK || !is_small_json(&response) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, LARGEST as usize).await else {
        return ApiError::new(Code::Failed, "failed to read the response", "retry").into_response();
    };
    let tag = tag_of(&bytes);
    let seen = known.as_ref().and_then(|known| known.to_str().ok()).is_some_and(|known| lists(known, &tag));
    let value = HeaderValue::try_from(tag).expect("hexadecimal digits in quotes are a valid header");
    if seen {
        return (StatusCode::NOT_MODIFIED, [(ETAG, value)]).into_response();
    }
    head.headers.insert(ETAG, value);
    Response::from_parts(head, Body::from(bytes))
}

fn is_small_json(response: &Response) -> bool {
    let is_json = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes() == b"application/json");
    is_json && response.body().size_hint().exact().is_some_and(|size| size <= LARGEST)
}

fn tag_of(bytes: &[u8]) -> String {
    format!("\"{}\"", &blake3::hash(bytes).to_hex()[..32])
}

/// Whether a header lists the tag. A tag that a proxy made weak still names the same response.
fn lists(header: &str, tag: &str) -> bool {
    header.split(',').map(|one| one.trim().trim_start_matches("W/")).any(|one| one == tag || one == ANY)
}

/// `If-Match` of a request that changes something.
pub struct IfMatch(Option<String>);

impl<S: Sync> FromRequestParts<S> for IfMatch {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Ok(Self(wanted(&parts.headers)?))
    }
}

fn wanted(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(given) = headers.get(IF_MATCH) else { return Ok(None) };
    let text = given
        .to_str()
        .map(str::to_owned)
        .map_err(|_| ApiError::bad("If-Match", "invalid tag", "send the ETag of the response that you act on"))?;
    Ok(Some(text))
}

impl IfMatch {
    /// Rejects the request if `GET /jobs/{job}` no longer has this tag.
    pub async fn check_job(&self, server: &Server, actor: &Actor, job: &str) -> Result<(), ApiError> {
        if self.0.is_none() {
            return Ok(());
        }
        self.check(&jobs::show(&server.app, actor, job).await?)
    }

    /// Rejects the request if the response no longer has this tag.
    pub fn check<T: Serialize>(&self, answer: &T) -> Result<(), ApiError> {
        let Some(wanted) = &self.0 else { return Ok(()) };
        let bytes = serde_json::to_vec(answer).expect("answers serialise to JSON");
        if lists(wanted, &tag_of(&bytes)) {
            return Ok(());
        }
        let remedy = "read it again, then retry with its new ETag";
        Err(ApiError::new(Code::Changed, "the resource has changed since it was read", remedy).about("If-Match"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_found_in_a_list() {
        let tag = tag_of(b"x");
        for header in [tag.clone(), format!("\"a\", {tag}"), format!("W/{tag}"), "*".to_owned()] {
            assert!(lists(&header, &tag), "{header}");
        }
        assert!(!lists("\"a\"", &tag) && !lists("", &tag));
    }
}
