//! PostgreSQL. `schema` is an option of ours; all others are the driver's.

use std::error::Error as _;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use postgres::config::SslMode;
use postgres::{Client, Config, Error, NoTls};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::{CONNECT, option, split};

/// A server that stopped answering is noticed after this time.
const SILENCE: Duration = Duration::from_secs(10);
const PROBE: Duration = Duration::from_secs(2);

#[derive(Clone)]
pub struct Address {
    config: Config,
    schema: Option<String>,
    tls: Option<MakeRustlsConnect>,
}

impl Address {
    /// `application` is shown by the server, unless the URL says otherwise.
    pub fn parse(url: &str, application: &str) -> Result<Self, String> {
        let (base, ours, theirs) = split(url, &["schema", "sslrootcert"]);
        // The driver knows `require` only, and its TLS always checks the certificate.
        let theirs = theirs.into_iter().map(|(name, value)| match (name, value) {
            ("sslmode", "verify-full" | "verify-ca") => "sslmode=require".to_owned(),
            _ => format!("{name}={value}"),
        });
        let plain = format!("{base}?{}", theirs.collect::<Vec<_>>().join("&"));
        let mut config = Config::from_str(&plain).map_err(|error| match error.source() {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        })?;
        config.connect_timeout(CONNECT).tcp_user_timeout(SILENCE).keepalives_idle(SILENCE).keepalives_interval(PROBE);
        if config.get_application_name().is_none() {
            config.application_name(application);
        }
        let tls = match config.get_ssl_mode() {
            SslMode::Disable => None,
            _ => Some(tls(option(&ours, "sslrootcert"))?),
        };
        Ok(Self { config, schema: option(&ours, "schema").map(str::to_owned), tls })
    }

    pub fn schema(&self) -> Option<&str> {
        self.schema.as_deref()
    }

    pub fn connect(&self) -> Result<Client, Error> {
        match &self.tls {
            Some(tls) => self.config.connect(tls.clone()),
            None => self.config.connect(NoTls),
        }
    }
}

fn tls(more: Option<&str>) -> Result<MakeRustlsConnect, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = more {
        let unreadable = |error: &dyn std::fmt::Display| format!("sslrootcert={path}: {error}");
        for cert in CertificateDer::pem_file_iter(path).map_err(|error| unreadable(&error))? {
            let cert = cert.map_err(|error| unreadable(&error))?;
            roots.add(cert).map_err(|error| unreadable(&error))?;
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}
