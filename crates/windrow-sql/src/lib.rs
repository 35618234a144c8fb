//! How to reach PostgreSQL and MySQL or MariaDB, from one dialect of URLs: `sslmode` (`disable`, `prefer`,
//! `require`, `verify-ca`, `verify-full`) and `sslrootcert`, a file with certificates to trust in addition to the public ones.
//! TLS checks the server's certificate, unless it is `sslmode=disable`. Connections block.

pub mod mysql;
pub mod postgres;

use std::time::Duration;

const CONNECT: Duration = Duration::from_secs(10);

/// The remedy, if this is the error of a certificate that cannot be verified. MySQL creates and signs its own.
pub fn certificate_remedy(error: &str) -> Option<&'static str> {
    let remedy = "the certificate of the server is not signed by an authority that this machine trusts, or names another host. \
        Add to the database URL either sslrootcert=FILE with the CA certificate of the server (MySQL: ca.pem in its data \
        directory), or sslmode=verify-ca&sslrootcert=FILE if the certificate names another host (certificates that MySQL \
        creates itself), or sslmode=disable if the server runs on this machine";
    error.contains("invalid peer certificate").then_some(remedy)
}

/// Names and values, as they are in the URL.
type Options<'u> = Vec<(&'u str, &'u str)>;

/// A URL and the options after its `?`, those named in `own` apart from the others.
fn split<'u>(url: &'u str, own: &[&str]) -> (&'u str, Options<'u>, Options<'u>) {
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let (ours, theirs) = pairs.partition(|(name, _)| own.contains(name));
    (base, ours, theirs)
}

/// The value of an option; the last one counts.
fn option<'u>(options: &[(&str, &'u str)], name: &str) -> Option<&'u str> {
    options.iter().rev().find(|(given, _)| *given == name).map(|(_, value)| *value)
}
