//! The address of the server and the API key. The key comes from a file or the environment, never from the command
//! line, where every process of the machine could read it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::header::HeaderValue;
use reqwest::{Certificate, Url};

use crate::client::remote::Remote;
use crate::error::{Error, Exit, Result};
use crate::worker::Link;

const SERVER: &str = "WINDROW_SERVER";
const KEY: &str = "WINDROW_API_KEY";
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// How long a connection without a word is taken to live.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Server")]
pub struct ServerArgs {
    /// Send commands to this server, e.g. https://windrow.example:7373
    #[arg(long, global = true, value_name = "URL", env = SERVER, value_parser = url)]
    server: Option<Url>,
    /// File with the API key for the server; without it WINDROW_API_KEY is used
    #[arg(long, global = true, value_name = "FILE", env = "WINDROW_API_KEY_FILE")]
    api_key_file: Option<PathBuf>,
    /// CA certificate (PEM) to trust for the server, in addition to the system's
    #[arg(long, global = true, value_name = "FILE", env = "WINDROW_CA")]
    ca: Option<PathBuf>,
}

impl ServerArgs {
    /// `None`: the data directory.
    pub fn remote(&self) -> Result<Option<Remote>> {
        let Some(url) = &self.server else { return Ok(None) };
        // An error means that one is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut client = reqwest::Client::builder()
            .connect_timeout(CONNECT_WITHIN)
            .tcp_keepalive(KEEP_ALIVE)
            .user_agent(concat!("windrow/", env!("CARGO_PKG_VERSION")));
        if is_loopback(url) {
            client = client.no_proxy();
        }
        if let Some(path) = &self.ca {
            client = client.tls_certs_merge(certificates(path)?);
        }
        let client = client.build().map_err(|error| {
            Error::new(format!("cannot set up TLS: {error}"), "check the certificates of this machine")
        })?;
        let by_environment = std::env::var(SERVER).is_ok_and(|given| given.parse().as_ref() == Ok(url));
        Ok(Some(Remote { client, url: url.clone(), key: self.key()?, by_environment }))
    }

    /// The same server for a worker, over gRPC.
    pub fn link(&self) -> Result<Link> {
        let Some(url) = &self.server else {
            let remedy = "pass `--server URL`, or set WINDROW_SERVER";
            return Err(usage("a worker needs a server".to_owned(), remedy));
        };
        let authority = self.ca.as_deref().map(|path| read(path, "the certificate")).transpose()?;
        let key = self.key_text()?.map(|(key, _)| key);
        Link::new(url.as_str(), key.as_deref(), authority.as_deref())
    }

    fn key(&self) -> Result<Option<HeaderValue>> {
        let Some((key, from)) = self.key_text()? else { return Ok(None) };
        let header = HeaderValue::from_str(&format!("Bearer {key}"));
        let mut header = header
            .map_err(|_| usage(format!("invalid API key in {from}"), "a key is one line of visible characters"))?;
        header.set_sensitive(true);
        Ok(Some(header))
    }

    /// The key and where it comes from.
    fn key_text(&self) -> Result<Option<(String, String)>> {
        let (key, from) = match &self.api_key_file {
            Some(path) => (read(path, "the file with the API key")?, path.display().to_string()),
            None => (std::env::var(KEY).unwrap_or_default(), KEY.to_owned()),
        };
        let key = key.trim().to_owned();
        Ok((!key.is_empty()).then_some((key, from)))
    }
}

fn certificates(path: &Path) -> Result<Vec<Certificate>> {
    let pem = read(path, "the certificate")?;
    match Certificate::from_pem_bundle(pem.as_bytes()) {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(usage(format!("no certificate in {}", path.display()), "pass a PEM file with `--ca`")),
    }
}

fn read(path: &Path, what: &str) -> Result<String> {
    std::fs::read_to_string(path)
        .map_err(|error| usage(format!("cannot read {what} {}: {error}", path.display()), "check the path"))
}

fn usage(what: String, remedy: &str) -> Error {
    Error::new(what, remedy).ending_with(Exit::Usage)
}

fn url(text: &str) -> std::result::Result<Url, String> {
    let url: Url = text.parse().map_err(|error| format!("use a URL, e.g. http://127.0.0.1:7373 ({error})"))?;
    match url.scheme() {
        "http" | "https" if url.has_host() && url.password().is_none() && url.username().is_empty() => Ok(url),
        "http" | "https" => {
            Err("use a URL with a host and without a password; the key goes into WINDROW_API_KEY".to_owned())
        }
        _ => Err("include the scheme, e.g. http://127.0.0.1:7373".to_owned()),
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_named_by_its_url_and_by_no_password() {
        assert_eq!(url("http://127.0.0.1:7373").unwrap().as_str(), "http://127.0.0.1:7373/");
        for wrong in ["127.0.0.1:7373", "windrow.example", "ftp://x", "http://me:secret@x", "http://"] {
            assert!(url(wrong).is_err(), "{wrong}");
        }
    }
}
