//! The web UI: the files of `ui/dist`, embedded at build time. They hold no data; the pages read it from the API with the
//! key of the user.

use axum::extract::Path;
use axum::http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, Method, Uri};
use axum::response::{IntoResponse, Response};
use include_dir::{Dir, include_dir};

use crate::http::error::{self, ApiError};
use crate::http::middleware::rights;

static DIST: Dir = include_dir!("$CARGO_MANIFEST_DIR/../../ui/dist");

/// Nothing inline, and nothing from anywhere else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// The name of an asset holds the hash of what is in it.
const FOR_EVER: &str = "public, max-age=31536000, immutable";
/// It names the assets of this very version.
const ASK_EACH_TIME: &str = "no-cache";

/// `/`: the app, which has its own router.
pub async fn app() -> Response {
    let index = DIST.get_file("index.html").expect("ui/dist has an index.html").contents();
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, ASK_EACH_TIME),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    (headers, index).into_response()
}

/// A path without a route is a page of the app where a browser requests one.
pub async fn page(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let accepted = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    match method.is_safe() && accepted.contains("text/html") && !rights::is_of_api(uri.path()) {
        true => app().await,
        false => error::no_such_route(uri).await.into_response(),
    }
}

pub async fn asset(Path(file): Path<String>, uri: Uri) -> Result<Response, ApiError> {
    let Some(found) = DIST.get_file(format!("assets/{file}")) else {
        return Err(error::no_such_route(uri).await);
    };
    let kind = match file.rsplit_once('.').map(|(_, ending)| ending) {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    };
    let headers = [(CONTENT_TYPE, kind), (CACHE_CONTROL, FOR_EVER), (X_CONTENT_TYPE_OPTIONS, "nosniff")];
    Ok((headers, found.contents()).into_response())
}
