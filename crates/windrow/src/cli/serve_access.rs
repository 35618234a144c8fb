//! Who `windrow serve` lets in: keys, TLS, origins. What would be dangerous is refused before anything starts.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderValue, Uri};
use windrow_model::access::Role;
use windrow_model::audit::AuditLog;
use windrow_model::time::DAY_MS;
use windrow_model::{Clock, Time};
use windrow_wire::request::NewKey;

use crate::app::actor::Actor;
use crate::app::{App, keys};
use crate::cli::view::output;
use crate::error::{Error, Exit, Result};
use crate::http::{AuthConfig, Keyring};
use crate::node::listen::Certificate;
use crate::node::options::GlobalOptions;

const FIRST_KEY: &str = "admin";
const FORGET_EVERY: Duration = Duration::from_secs(3600);
const FORGOTTEN_AT_ONCE: usize = 1000;

#[derive(Debug, clap::Args)]
pub struct Access {
    /// Require an API key for every request; creates and prints an admin key if none exists. Always on once a
    /// key exists
    #[arg(long, env = "WINDROW_REQUIRE_KEYS")]
    require_keys: bool,
    /// TLS certificate chain (PEM); reloaded when the file changes
    #[arg(long, value_name = "FILE", requires = "tls_key", env = "WINDROW_TLS_CERT")]
    tls_cert: Option<PathBuf>,
    /// Private key of the TLS certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert", env = "WINDROW_TLS_KEY")]
    tls_key: Option<PathBuf>,
    /// Allow requests from this origin, e.g. https://evals.example.com; may be repeated
    #[arg(long = "cors-origin", value_name = "ORIGIN", value_parser = origin, env = "WINDROW_CORS_ORIGIN", value_delimiter = ',')]
    cors_origins: Vec<HeaderValue>,
    /// Days that entries of the audit log are kept
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(i64).range(1..))]
    keep_audit: i64,
}

impl Access {
    pub fn certificate(&self) -> Result<Option<Arc<Certificate>>> {
        match (&self.tls_cert, &self.tls_key) {
            (Some(chain), Some(key)) => Certificate::load(chain, key).map(Some),
            _ => Ok(None),
        }
    }

    /// A client that reaches the port of a server without keys can start programs as this user, so only clients of
    /// this machine may. Said before anything is made or taken.
    pub async fn refuse_strangers(&self, options: &GlobalOptions, address: SocketAddr) -> Result<()> {
        if address.ip().is_loopback() || self.require_keys {
            return Ok(());
        }
        if let Some(app) = App::open_if_there(options).await?
            && app.access.has_keys().await?
        {
            return Ok(());
        }
        let what = format!("cannot listen on {address} without API keys");
        let remedy = "add --require-keys, which creates an admin key, or run `windrow keys create NAME --role admin`; \
            without keys, listen on 127.0.0.1 or [::1]";
        Err(Error::new(what, remedy).ending_with(Exit::Usage))
    }

    pub async fn auth(self, app: &App, address: SocketAddr, tls: bool) -> Result<AuthConfig> {
        if self.require_keys && !app.access.has_keys().await? {
            let wish = NewKey { name: FIRST_KEY.into(), role: Role::Admin, workspace: None, expires_in: None };
            let create = |change| async move { keys::create(app, &change, wish).await };
            show_once(&app.act(&Actor::local(), "keys create", FIRST_KEY, create).await?.secret);
        }
        if !address.ip().is_loopback() && !tls {
            output::say(
                "warning: API keys and data cross the network unencrypted; add --tls-cert and --tls-key, or use a TLS proxy",
            );
        }
        let keyring = Keyring::new(app.access.clone(), app.clock());
        Ok(AuthConfig { keyring, cors_origins: self.cors_origins, tls })
    }

    pub fn keep_audit_ms(&self) -> i64 {
        self.keep_audit.saturating_mul(DAY_MS)
    }
}

fn show_once(secret: &str) {
    let lines = ["Created the admin API key. Copy it now; it is not shown again.".to_owned(), format!("  {secret}")];
    let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    let rule = "─".repeat(width + 2);
    let framed: String = lines.iter().map(|line| format!("│ {line:width$} │\n")).collect();
    output::say(&format!("┌{rule}┐\n{framed}└{rule}┘"));
}

/// Runs as long as the server.
pub async fn forget_old_audit(audit: Arc<dyn AuditLog>, clock: Arc<dyn Clock>, keep_ms: i64) {
    loop {
        let before = Time(clock.now().0.saturating_sub(keep_ms));
        match audit.forget_audit(before, FORGOTTEN_AT_ONCE).await {
            Ok(forgotten) if forgotten > 0 => continue,
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "old entries of the audit log could not be forgotten"),
        }
        tokio::time::sleep(FORGET_EVERY).await;
    }
}

fn origin(text: &str) -> std::result::Result<HeaderValue, String> {
    let wrong = || format!("{text:?} is not an origin; e.g. https://evals.example.com, without a path");
    let uri: Uri = text.parse().map_err(|_| wrong())?;
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else { return Err(wrong()) };
    let origin = format!("{scheme}://{authority}").to_ascii_lowercase();
    let plain =
        origin == text.to_ascii_lowercase() && matches!(scheme, "http" | "https") && !origin.contains(['*', '@']);
    if plain { HeaderValue::from_str(&origin).map_err(|_| wrong()) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_named_origin_is_one() {
        assert_eq!(origin("https://Evals.example.com").unwrap(), "https://evals.example.com");
        assert_eq!(origin("http://localhost:5173").unwrap(), "http://localhost:5173");
        for wrong in
            ["*", "null", "https://*", "evals.example.com", "https://a.example/path", "https://a.example/", "ftp://a"]
        {
            assert!(origin(wrong).is_err(), "{wrong}");
        }
    }
}
