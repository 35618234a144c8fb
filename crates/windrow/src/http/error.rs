//! Errors as `application/problem+json` (RFC 9457), by one table from our words to HTTP's numbers.

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use windrow_jobfile::Report;
use windrow_model::store::StoreError;
use windrow_wire::{PlacedProblem, Problem};

use crate::app::error::{Code, Error};

/// Where the browsable page explains each word; relative to the server, as RFC 9457 allows.
const DOCS: &str = "/api/docs#";
const MEDIA_TYPE: &str = "application/problem+json";

/// Code, status.
const TABLE: &[(Code, StatusCode)] = &[
    (Code::NotFound, StatusCode::NOT_FOUND),
    (Code::RunningExisted, StatusCode::CONFLICT),
    (Code::ForbiddenTransition, StatusCode::CONFLICT),
    (Code::KindChanged, StatusCode::CONFLICT),
    (Code::IntakeClosed, StatusCode::CONFLICT),
    (Code::BudgetSpent, StatusCode::CONFLICT),
    (Code::Conflict, StatusCode::CONFLICT),
    (Code::BrokenJobFile, StatusCode::UNPROCESSABLE_ENTITY),
    (Code::BrokenRows, StatusCode::UNPROCESSABLE_ENTITY),
    (Code::Changed, StatusCode::PRECONDITION_FAILED),
    (Code::NothingToUndo, StatusCode::CONFLICT),
    (Code::BadRequest, StatusCode::BAD_REQUEST),
    (Code::Unauthenticated, StatusCode::UNAUTHORIZED),
    (Code::Forbidden, StatusCode::FORBIDDEN),
    (Code::ForeignOrigin, StatusCode::FORBIDDEN),
    (Code::NoSuchRoute, StatusCode::NOT_FOUND),
    (Code::MethodNotAllowed, StatusCode::METHOD_NOT_ALLOWED),
    (Code::TooLarge, StatusCode::PAYLOAD_TOO_LARGE),
    (Code::UnsupportedType, StatusCode::UNSUPPORTED_MEDIA_TYPE),
    (Code::UpgradeRequired, StatusCode::UPGRADE_REQUIRED),
    (Code::QueueFull, StatusCode::TOO_MANY_REQUESTS),
    (Code::RateLimited, StatusCode::TOO_MANY_REQUESTS),
    (Code::TimedOut, StatusCode::SERVICE_UNAVAILABLE),
    (Code::Unavailable, StatusCode::SERVICE_UNAVAILABLE),
    (Code::Failed, StatusCode::INTERNAL_SERVER_ERROR),
];

/// An answer that is no.
#[derive(Debug)]
pub struct ApiError(Box<Problem>);

impl ApiError {
    pub fn new(code: Code, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        let remedy = Some(remedy.into()).filter(|remedy| !remedy.is_empty());
        Self(Box::new(Problem {
            r#type: format!("{DOCS}{code}"),
            title: code.doc().trim_end_matches('.').to_owned(),
            status: status_of(code).as_u16(),
            detail: detail.into(),
            code: code.to_string(),
            field: None,
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

fn status_of(code: Code) -> StatusCode {
    TABLE.iter().find(|(known, _)| *known == code).map_or(StatusCode::INTERNAL_SERVER_ERROR, |(_, status)| *status)
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = self.status();
        if status.is_server_error() {
            tracing::error!(code = self.0.code, detail = self.0.detail, "a request failed");
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
            Error::Plain { what, remedy, code, .. } => ApiError::new(code, what, remedy),
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        Error::from(error).into()
    }
}

fn broken_file(report: &Report) -> ApiError {
    let remedy = "correct what is listed under `problems`, then send it again";
    ApiError::new(Code::BrokenJobFile, report.to_string(), remedy).about("file").listing(placed(report))
}

/// Of a file of rows that was sent.
pub fn broken_rows(report: &Report) -> ApiError {
    let remedy = "correct what is listed under `problems`, then send all of it again";
    ApiError::new(Code::BrokenRows, report.to_string(), remedy).listing(placed(report))
}

fn placed(report: &Report) -> Vec<PlacedProblem> {
    let problems = report.problems.iter().map(|problem| {
        let place = problem.location.as_ref();
        PlacedProblem {
            file: place.map(|place| place.excerpt.name.clone()),
            line: place.map(|place| place.excerpt.line_of(place.span.start)),
            text: place.map(|place| place.excerpt.line_text(place.span.start).to_owned()),
            message: problem.message.clone(),
            remedy: problem.help.clone(),
        }
    });
    problems.collect()
}

pub async fn no_such_route(uri: Uri) -> ApiError {
    ApiError::new(Code::NoSuchRoute, format!("there is nothing at {}", uri.path()), "see /api/docs for what there is")
}

pub async fn method_not_allowed(method: Method, uri: Uri) -> ApiError {
    let detail = format!("{} does not know {method}", uri.path());
    ApiError::new(Code::MethodNotAllowed, detail, "see /api/docs for what there is")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_has_one_status() {
        for code in Code::ALL {
            assert_eq!(TABLE.iter().filter(|(known, _)| known == code).count(), 1, "{code}");
        }
    }
}
