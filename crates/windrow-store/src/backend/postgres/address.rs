//! Where the database is, from its URL. Two words are ours: `schema`, in which the tables are (`windrow`), and
//! `sslrootcert`, a file with the certificates to trust beside those of the system. TLS always checks whom it
//! talks to, unless it is `sslmode=disable`.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use postgres::config::SslMode;
use postgres::{Client, Config, NoTls};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;
use windrow_model::store::{Result, StoreError};

use crate::backend::failure::StoreFailure;
use crate::backend::postgres::{Link, migrate};
use crate::backend::{self, Connection};

const CONNECT: Duration = Duration::from_secs(10);
/// A server that has gone without a word is noticed after this long.
const SILENCE: Duration = Duration::from_secs(20);

#[derive(Clone)]
pub(crate) struct Address {
    config: Config,
    schema: String,
    tls: Option<MakeRustlsConnect>,
}

impl Address {
    pub fn parse(url: &str) -> Result<Self> {
        let refused = |why: String| StoreError::Unavailable(format!("the database URL is not understood: {why}"));
        let (plain, mut ours) = take_ours(url);
        let mut config = Config::from_str(&plain).map_err(|error| refused(with_cause(&error)))?;
        config.connect_timeout(CONNECT).tcp_user_timeout(SILENCE).keepalives_idle(SILENCE);
        if config.get_application_name().is_none() {
            config.application_name("windrow");
        }
        let schema = ours.remove("schema").unwrap_or_else(|| "windrow".to_owned());
        if schema.is_empty() || !schema.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(refused(format!("schema={schema}: letters, digits and _ only")));
        }
        let tls = match config.get_ssl_mode() {
            SslMode::Disable => None,
            _ => Some(tls(ours.get("sslrootcert")).map_err(refused)?),
        };
        Ok(Self { config, schema, tls })
    }

    /// For verbs that write. They reach every row by a key; a plan that was made when the tables were empty must not
    /// read them from end to end when they are full.
    pub fn connect_writer(&self) -> backend::Result<Connection> {
        let conn = self.connect()?;
        conn.perform(
            "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off; \
             SET enable_mergejoin = off",
        )?;
        Ok(conn)
    }

    /// A connection whose tables are ours.
    pub fn connect(&self) -> backend::Result<Connection> {
        let link = Link::new(self.client()?);
        // Compiling a statement takes longer than running one of ours.
        link.batch(&format!("SET search_path TO {}; SET jit = off", self.schema))?;
        Ok(Connection::Postgres(Box::new(link)))
    }

    /// A connection as the server gives it.
    pub fn client(&self) -> backend::Result<Client> {
        Ok(match &self.tls {
            Some(tls) => self.config.connect(tls.clone())?,
            None => self.config.connect(NoTls)?,
        })
    }

    /// Where nodes that share these tables call each other.
    pub fn channel(&self) -> String {
        format!("windrow_{}", self.schema.to_lowercase())
    }

    /// Brings the schema up to date; whoever comes second waits for the first.
    pub fn migrate(&self) -> Result<()> {
        migrate::migrate(&self.connect().map_err(StoreFailure::from)?, &self.schema)
    }
}

type Words = std::collections::BTreeMap<String, String>;

/// The driver refuses words that it does not know.
fn take_ours(url: &str) -> (String, Words) {
    let Some((place, query)) = url.split_once('?') else { return (url.to_owned(), Words::new()) };
    let mut ours = Words::new();
    let theirs: Vec<&str> = query
        .split('&')
        .filter(|pair| match pair.split_once('=') {
            Some((name @ ("schema" | "sslrootcert"), value)) => {
                ours.insert(name.to_owned(), value.to_owned());
                false
            }
            _ => true,
        })
        .map(|pair| if matches!(pair, "sslmode=verify-full" | "sslmode=verify-ca") { "sslmode=require" } else { pair })
        .collect();
    (format!("{place}?{}", theirs.join("&")), ours)
}

fn tls(more: Option<&String>) -> std::result::Result<MakeRustlsConnect, String> {
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

fn with_cause(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}
