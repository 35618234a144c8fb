//! `/api/docs`: the OpenAPI document as a page. It loads nothing from elsewhere.

use axum::http::header::CONTENT_SECURITY_POLICY;
use axum::response::{Html, IntoResponse, Response};

use crate::error::Code;

const PAGE: &str = include_str!("browser.html");
/// Nothing is loaded from elsewhere, whatever a text in the document contains.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'";

pub async fn page() -> Response {
    let rows = Code::ALL.iter().map(|code| format!("<tr id=\"{code}\"><td><code>{code}</code><td>{}", code.doc()));
    let page = PAGE.replace("<!-- codes -->", &rows.collect::<String>());
    ([(CONTENT_SECURITY_POLICY, POLICY)], Html(page)).into_response()
}
