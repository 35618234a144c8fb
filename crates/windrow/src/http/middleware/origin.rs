//! While no key exists, only this machine may send requests. A page of another origin in a local browser could otherwise
//! send some too (also by DNS rebinding). So a request must name a loopback host, and its origin, if any, must be the
//! server's own or an allowed one.

use std::net::IpAddr;

use axum::http::header::{HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Uri};

use crate::error::Code;
use crate::http::error::ApiError;

pub fn admit(request: &Parts, welcome: &[HeaderValue]) -> Result<(), ApiError> {
    let host = host_of(request).unwrap_or_default();
    if !is_loopback(host) {
        let detail = format!("host {host:?} not allowed: this server accepts local requests only");
        return Err(ApiError::new(Code::ForeignOrigin, detail, "use 127.0.0.1, [::1] or localhost"));
    }
    match request.headers.get(ORIGIN) {
        Some(origin) if !welcome.contains(origin) && !is_own(origin, request) => {
            let detail = format!("origin {origin:?} not allowed");
            Err(ApiError::new(Code::ForeignOrigin, detail, "allow it with `windrow serve --cors-origin`"))
        }
        _ => Ok(()),
    }
}

/// Whether the origin is this server.
pub fn is_own(origin: &HeaderValue, request: &Parts) -> bool {
    let Ok(origin) = origin.to_str() else { return false };
    let authority = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
    authority.is_some() && authority == host_of(request)
}

/// HTTP/2, which browsers speak over TLS, names the host in the address instead of a header.
fn host_of(request: &Parts) -> Option<&str> {
    let named = request.headers.get(HOST).and_then(|value| value.to_str().ok());
    named.or_else(|| request.uri.authority().map(|authority| authority.as_str()))
}

fn is_loopback(host: &str) -> bool {
    let Ok(uri) = host.parse::<Uri>() else { return false };
    let Some(name) = uri.host() else { return false };
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    #[test]
    fn a_page_of_this_server_is_its_own_over_either_protocol() {
        let own = |origin: &'static str, parts: &Parts| is_own(&HeaderValue::from_static(origin), parts);
        let (http1, ()) = Request::get("/").header(HOST, "barn:7373").body(()).unwrap().into_parts();
        let (http2, ()) = Request::get("https://barn:7373/").body(()).unwrap().into_parts();
        for parts in [http1, http2] {
            assert!(own("http://barn:7373", &parts) && own("https://barn:7373", &parts));
            for foreign in ["https://barn", "https://evil.example", "null", "barn:7373", "https://barn:73733"] {
                assert!(!own(foreign, &parts), "{foreign}");
            }
        }
    }

    #[test]
    fn only_names_of_this_machine_are_loopback() {
        for own in ["localhost:7373", "127.0.0.1:7373", "[::1]:7373", "LOCALHOST", "127.0.0.2"] {
            assert!(is_loopback(own), "{own}");
        }
        for foreign in ["evil.example:7373", "127.0.0.1.evil.example", "192.168.0.7", "", "localhost.evil.example"] {
            assert!(!is_loopback(foreign), "{foreign}");
        }
    }
}
