//! Without keys, only this machine may ask, and only by its own wish. A page of another origin open in a
//! browser here could otherwise send requests (or come in under a host name it makes point here), so a
//! request must be for a loopback host, and one that names an origin must come from the server's own pages or from one that is
//! welcome.

use std::net::IpAddr;

use axum::http::header::{HOST, HeaderName, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Uri};

use super::refusal::Refusal;
use crate::error::Code;

pub fn admit(request: &Parts, welcome: &[HeaderValue]) -> Result<(), Refusal> {
    let header = |name: HeaderName| request.headers.get(name).and_then(|value| value.to_str().ok());
    let host = header(HOST).or_else(|| request.uri.authority().map(|authority| authority.as_str()));
    let Some(host) = host.filter(|host| is_loopback(host)) else {
        let detail = format!("this server answers for this machine only, not for {:?}", host.unwrap_or_default());
        return Err(Refusal::new(Code::ForeignOrigin, detail, "address it as 127.0.0.1, [::1] or localhost"));
    };
    match request.headers.get(ORIGIN) {
        Some(origin) if !welcome.contains(origin) && origin.as_bytes() != format!("http://{host}").as_bytes() => {
            let detail = format!("pages of {origin:?} may not use this server");
            Err(Refusal::new(Code::ForeignOrigin, detail, "call it from a program, or from its own pages"))
        }
        _ => Ok(()),
    }
}

fn is_loopback(host: &str) -> bool {
    let Ok(uri) = host.parse::<Uri>() else { return false };
    let Some(name) = uri.host() else { return false };
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

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
