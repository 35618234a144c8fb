//! The HTTP client, and which URLs it may be given.

use std::time::Duration;

use windrow_model::{ErrorClass, Failure};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// `timeout` is for one exchange, connection included.
pub fn client(base_url: &str, timeout: Duration) -> Result<reqwest::Client, Failure> {
    // An error means that one is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut client = reqwest::Client::builder()
        .timeout(timeout)
        .connect_timeout(CONNECT_TIMEOUT.min(timeout))
        // A redirected POST would arrive as a GET.
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("windrow/", env!("CARGO_PKG_VERSION")));
    if is_loopback(base_url) {
        client = client.no_proxy();
    }
    client.build().map_err(|error| Failure::new(ErrorClass::InvalidRequest, format!("no HTTP client: {error}")))
}

pub fn web_url(text: &str) -> Result<reqwest::Url, String> {
    let url: reqwest::Url = text.parse().map_err(|error| format!("{text:?} is not a URL: {error}"))?;
    match url.scheme() {
        _ if !url.username().is_empty() || url.password().is_some() => {
            Err("a URL with a password in it would be stored; use a header".to_owned())
        }
        "http" | "https" => Ok(url),
        other => Err(format!("a URL must begin with http:// or https://, not {other}:")),
    }
}

pub fn is_loopback(base_url: &str) -> bool {
    let Ok(url) = base_url.parse::<reqwest::Url>() else { return false };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
