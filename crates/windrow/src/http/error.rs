//! Errors as `application/problem+json` (RFC 9457).

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use windrow_jobfile::Report;
use windrow_model::store::StoreError;
use windrow_wire::{PlacedProblem, Problem};

use crate::error::{Code, Error, placed};

/// Where the API docs explain each code; relative to the server, as RFC 9457 allows.
const DOCS: &str = "/api/docs#";
const MEDIA_TYPE: &str = "application/problem+json";

/// An error response.
#[derive(Debug)]
pub struct ApiError(Box<Problem>);

impl ApiError {
    pub fn new(code: Code, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        let remedy = Some(remedy.into()).filter(|remedy| !remedy.is_empty());
        Self(Box::new(Problem {
            r#type: format!("{DOCS}{code}"),
            title: code.doc().trim_end_matches('.').to_owned(),
            status: code.http(),
            detail: detail.into(),
            code: code.to_string(),
            field: None,
            at: None,
            remedy,
            problems: Vec::new(),
        }))
    }

    pub fn bad(field: impl Into<String>, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(Code::BadRequest, detail, remedy).about(field)
    }

    pub fn about(mut self, field: impl Into<String>) -> Self {
        self.0.field = Some(field.into()).filter(|field| !field.is_empty());
        self
    }

    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    pub fn code(&self) -> &str {
        &self.0.code
    }

    pub fn problem(&self) -> &Problem {
        &self.0
    }

    pub fn listing(mut self, problems: Vec<PlacedProblem>) -> Self {
        self.0.problems = problems;
        self
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = self.status();
        if status.is_server_error() {
            tracing::error!(code = self.0.code, detail = self.0.detail, "request failed");
        }
        let body = serde_json::to_vec(&self.0).expect("a problem serialises to JSON");
        let mut response = (status, [(CONTENT_TYPE, MEDIA_TYPE)], body).into_response();
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"windrow\""));
        }
        if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        match error {
            Error::File(report) => broken_file(&report),
            Error::Plain { what, remedy, code, field, at, .. } => {
                let mut error = ApiError::new(code, what, remedy).about(field.unwrap_or_default());
                error.0.at = at;
                error
            }
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        Error::from(error).into()
    }
}

fn broken_file(report: &Report) -> ApiError {
    let remedy = "correct what is listed under `problems` and retry";
    ApiError::new(Code::BrokenJobFile, report.to_string(), remedy).about("file").listing(placed(report))
}

/// Of a file of rows.
pub fn broken_rows(report: &Report) -> ApiError {
    let remedy = "correct what is listed under `problems` and send all rows again";
    ApiError::new(Code::BrokenRows, report.to_string(), remedy).listing(placed(report))
}

pub async fn no_such_route(uri: Uri) -> ApiError {
    ApiError::new(Code::NoSuchRoute, format!("route not found: {}", uri.path()), "see /api/docs for all routes")
}

pub async fn method_not_allowed(method: Method, uri: Uri) -> ApiError {
    let detail = format!("{} does not support {method}", uri.path());
    ApiError::new(Code::MethodNotAllowed, detail, "see /api/docs for all routes")
}
