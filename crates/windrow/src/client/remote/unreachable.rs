//! No response, or not all of it.

use crate::client::remote::Remote;
use crate::error::{Code, Error};

pub fn broken(remote: &Remote, error: reqwest::Error) -> Error {
    let (what, remedy) = if error.is_connect() {
        (format!("no server at {}", remote.url()), "start one with `windrow serve`, or correct `--server`")
    } else if error.is_timeout() {
        (format!("{} timed out", remote.url()), "retry; the request may have taken effect")
    } else {
        (format!("connection to {} lost", remote.url()), "retry; the request may have taken effect")
    };
    let cause = cause(&error);
    let remedy = if cause.contains("certificate") {
        "pass the CA certificate with `--ca FILE`, or use the host name in the server's certificate"
    } else {
        remedy
    };
    Error::new(format!("{what}: {cause}"), remedy).coded(Code::Unavailable)
}

/// The innermost reason; the outer ones add nothing.
fn cause(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
