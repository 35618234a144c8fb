//! Reading a request: the query, the body, limits of a page. Whatever is wrong is said with the field it
//! is about.

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::app::error::Code;
use crate::http::error::ApiError;

const MAX_PAGE: usize = 1000;

/// The query, as `T`.
pub struct Asked<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let query = parts.uri.query().unwrap_or_default();
        let read = serde_urlencoded::Deserializer::new(form_urlencoded(query));
        serde_path_to_error::deserialize(read).map(Self).map_err(|error| {
            let field = field_of(&error.path().to_string());
            ApiError::bad(field, error.inner().to_string(), "see /api/docs for the parameters there are")
        })
    }
}

fn form_urlencoded(query: &str) -> form_urlencoded::Parse<'_> {
    form_urlencoded::parse(query.as_bytes())
}

/// Parts of the path, decoded.
pub struct Named(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Path(all) = Path::<BTreeMap<String, String>>::from_request_parts(parts, state).await.map_err(|error| {
            ApiError::bad("", format!("the path cannot be read: {error}"), "write it as UTF-8, percent-encoded")
        })?;
        Ok(Self(all.into_values().next().unwrap_or_default()))
    }
}

/// The body, with the type it came with.
pub struct Sent {
    media_type: String,
    pub bytes: Bytes,
}

impl<S: Send + Sync> FromRequest<S> for Sent {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let given = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let media_type = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let bytes = Bytes::from_request(request, state).await.map_err(|error| match error.status() {
            StatusCode::PAYLOAD_TOO_LARGE => {
                let remedy = format!("send at most {} MiB at a time", crate::http::MAX_BODY >> 20);
                ApiError::new(Code::TooLarge, error.body_text(), remedy)
            }
            _ => ApiError::new(Code::BadRequest, error.body_text(), "send the request again"),
        })?;
        Ok(Self { media_type, bytes })
    }
}

impl Sent {
    pub fn is_one_of(&self, media_types: &[&str]) -> bool {
        media_types.contains(&self.media_type.as_str())
    }

    pub fn unsupported(&self, expected: &str) -> ApiError {
        let given = if self.media_type.is_empty() { "none was given" } else { self.media_type.as_str() };
        let detail = format!("the body's Content-Type must be {expected}; found: {given}");
        ApiError::new(Code::UnsupportedType, detail, format!("set the header Content-Type to {expected}"))
    }

    pub fn text(&self) -> Result<&str, ApiError> {
        std::str::from_utf8(&self.bytes)
            .map_err(|error| ApiError::bad("", format!("the body is not UTF-8: {error}"), "send it as UTF-8"))
    }

    pub fn json<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        let mut read = serde_json::Deserializer::from_slice(&self.bytes);
        serde_path_to_error::deserialize(&mut read).map_err(|error| {
            let field = field_of(&error.path().to_string());
            ApiError::bad(field, format!("the body: {}", error.inner()), "see /api/docs for what is expected")
        })
    }

    /// Where only JSON is taken.
    pub fn json_only<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        match self.is_one_of(&["application/json"]) {
            true => self.object(),
            false => Err(self.unsupported("application/json")),
        }
    }

    /// A list would be read as the fields of an object in their order, which nobody means.
    pub fn object<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        match self.bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'[') => Err(ApiError::bad("", "the body is a list", "send a JSON object")),
            _ => self.json(),
        }
    }

    /// Where a body may be left out.
    pub fn json_or_default<T: DeserializeOwned + Default>(&self) -> Result<T, ApiError> {
        match (self.bytes.is_empty(), self.is_one_of(&["application/json"])) {
            (true, _) => Ok(T::default()),
            (false, true) => Ok(self.object::<Option<T>>()?.unwrap_or_default()),
            (false, false) => Err(self.unsupported("application/json")),
        }
    }
}

/// The path of a field; one that is unknown has none.
fn field_of(path: &str) -> String {
    path.trim_matches('.').trim_matches('?').trim_end_matches('.').to_owned()
}

/// How many to give, where some were asked for.
pub fn page(limit: Option<usize>, usual: usize) -> Result<usize, ApiError> {
    match limit {
        None => Ok(usual),
        Some(limit @ 1..=MAX_PAGE) => Ok(limit),
        Some(limit) => Err(ApiError::bad("limit", format!("limit is {limit}"), format!("use 1 to {MAX_PAGE}"))),
    }
}
