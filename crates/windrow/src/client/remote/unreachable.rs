//! No answer, or not all of it.

use crate::client::remote::Remote;
use crate::error::{Code, Error};

pub fn broken(remote: &Remote, error: reqwest::Error) -> Error {
    let (what, remedy) = if error.is_connect() {
        (format!("no server answers at {}", remote.url()), "start it there with `windrow serve`, or correct `--server`")
    } else if error.is_timeout() {
        (format!("{} does not answer in time", remote.url()), "try again; what was asked may have happened")
    } else {
        (format!("the connection to {} broke", remote.url()), "try again; what was asked may have happened")
    };
    let cause = cause(&error);
    let remedy = if cause.contains("certificate") {
        "name the certificate that vouches for it with `--ca FILE`, or address it by the name in its certificate"
    } else {
        remedy
    };
    Error::new(format!("{what}: {cause}"), remedy).coded(Code::Unavailable)
}

/// The innermost reason: what is around it says only that there is one.
fn cause(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
