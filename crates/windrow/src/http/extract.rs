//! Reading a request: query, path, body, page limits. An error names the field that is wrong.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use utoipa::IntoParams;

use crate::error::Code;
use crate::http::error::ApiError;

const MAX_PAGE: usize = 1000;

/// The query string, as `T`.
pub struct Query<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let query = parts.uri.query().unwrap_or_default();
        let read = serde_urlencoded::Deserializer::new(form_urlencoded(query));
        serde_path_to_error::deserialize(read).map(Self).map_err(|error| {
            let field = field_of(&error.path().to_string());
            ApiError::bad(field, error.inner().to_string(), "see /api/docs for the parameters")
        })
    }
}

fn form_urlencoded(query: &str) -> form_urlencoded::Parse<'_> {
    form_urlencoded::parse(query.as_bytes())
}

/// The parameter of the path, decoded.
pub struct PathParam(pub String);

impl<S: Send + Sync> FromRequestParts<S> for PathParam {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Path(all) = Path::<BTreeMap<String, String>>::from_request_parts(parts, state)
            .await
            .map_err(|error| ApiError::bad("", format!("invalid path: {error}"), "send it as percent-encoded UTF-8"))?;
        Ok(Self(all.into_values().next().unwrap_or_default()))
    }
}

/// The body, with its media type.
pub struct Body {
    media_type: String,
    pub bytes: Bytes,
}

impl<S: Send + Sync> FromRequest<S> for Body {
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

impl Body {
    pub fn is_one_of(&self, media_types: &[&str]) -> bool {
        media_types.contains(&self.media_type.as_str())
    }

    pub fn unsupported(&self, expected: &str) -> ApiError {
        let given = if self.media_type.is_empty() { "none" } else { self.media_type.as_str() };
        let detail = format!("Content-Type must be {expected}, not {given}");
        ApiError::new(Code::UnsupportedType, detail, format!("set the header Content-Type to {expected}"))
    }

    pub fn text(&self) -> Result<&str, ApiError> {
        std::str::from_utf8(&self.bytes)
            .map_err(|error| ApiError::bad("", format!("body is not UTF-8: {error}"), "send it as UTF-8"))
    }

    pub fn json<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        let mut read = serde_json::Deserializer::from_slice(&self.bytes);
        serde_path_to_error::deserialize(&mut read).map_err(|error| {
            let field = field_of(&error.path().to_string());
            ApiError::bad(field, format!("invalid body: {}", error.inner()), "see /api/docs for its fields")
        })
    }

    /// Where only JSON is accepted.
    pub fn json_only<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        match self.is_one_of(&["application/json"]) {
            true => self.object(),
            false => Err(self.unsupported("application/json")),
        }
    }

    /// serde would read a list as the fields of an object in their order.
    pub fn object<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        match self.bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'[') => Err(ApiError::bad("", "body must be a JSON object", "")),
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

/// The page size: the one of the request, or the usual one.
pub fn page(limit: Option<usize>, usual: usize) -> Result<usize, ApiError> {
    match limit {
        None => Ok(usual),
        Some(limit @ 1..=MAX_PAGE) => Ok(limit),
        Some(_) => Err(ApiError::bad("limit", format!("`limit` must be 1 to {MAX_PAGE}"), "")),
    }
}

/// The value of a parameter that has an upper bound.
pub fn at_most(field: &str, wanted: Option<usize>, usual: usize, most: usize) -> Result<usize, ApiError> {
    match wanted.unwrap_or(usual) {
        wanted if wanted <= most => Ok(wanted),
        _ => Err(ApiError::bad(field, format!("`{field}` must be 0 to {most}"), "")),
    }
}

/// An id in the path.
pub fn id<T: FromStr<Err: Display>>(field: &str, text: &str) -> Result<T, ApiError> {
    text.parse().map_err(|error| ApiError::bad(field, format!("invalid {field} id {text:?}: {error}"), ""))
}

#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "describes the path, which `PathParam` reads")]
pub struct JobPath {
    /// Name or id of the job
    job: String,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "describes the path, which `PathParam` reads")]
pub struct RunPath {
    /// Id of the run, or `JOB` for its latest, or `JOB#3`
    run: String,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "describes the path, which `PathParam` reads")]
pub struct WebhookPath {
    /// Id of the webhook
    webhook: String,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "describes the path, which `PathParam` reads")]
pub struct DatasetPath {
    /// Name of the dataset
    name: String,
}
