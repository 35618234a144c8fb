//! PostgreSQL. TLS is used where the server has it, and always checks whom it talks to; `sslmode=require` in the
//! URL insists on it, `sslmode=disable` does without.

use std::ops::{Deref, DerefMut};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use postgres::config::SslMode;
use postgres::{Client, Config, NoTls};
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;
use windrow_model::{ErrorClass, Failure};

use crate::unfit;

const CONNECT: Duration = Duration::from_secs(10);
/// A server that has gone without a word is noticed after this long.
const SILENCE: Duration = Duration::from_secs(30);

/// A connection. Saying goodbye to the server blocks, so it is done on a thread of its own, wherever this is dropped.
pub struct Session(Option<Client>);

impl Deref for Session {
    type Target = Client;

    fn deref(&self) -> &Client {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl DerefMut for Session {
    fn deref_mut(&mut self) -> &mut Client {
        self.0.as_mut().expect("it is there until it is dropped")
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let client = self.0.take();
        std::thread::spawn(move || drop(client));
    }
}

pub fn is_url(url: &str) -> bool {
    url.starts_with("postgres://") || url.starts_with("postgresql://")
}

pub fn connect(url: &str) -> Result<Session, Failure> {
    let plain = url.replace("sslmode=verify-full", "sslmode=require").replace("sslmode=verify-ca", "sslmode=require");
    let mut config = Config::from_str(&plain).map_err(|error| unfit(format!("the URL of the database: {error}")))?;
    config.connect_timeout(CONNECT).tcp_user_timeout(SILENCE).keepalives_idle(SILENCE);
    if config.get_application_name().is_none() {
        config.application_name("windrow ingest");
    }
    let connected = match config.get_ssl_mode() {
        SslMode::Disable => config.connect(NoTls),
        _ => config.connect(tls()?),
    };
    connected.map(|client| Session(Some(client))).map_err(|error| failure(&error))
}

fn tls() -> Result<MakeRustlsConnect, Failure> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unfit(format!("TLS: {error}")))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// What an error means to whoever may try again.
pub fn failure(error: &postgres::Error) -> Failure {
    let Some(said) = error.as_db_error() else {
        let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
        return Failure::new(ErrorClass::Network, format!("PostgreSQL: {error}{cause}"));
    };
    let code = said.code().code();
    let class = match &code[..2] {
        // Wrong names, wrong types, and whatever else the same statement would meet again.
        "42" | "3D" | "3F" => ErrorClass::InvalidRequest,
        "28" => ErrorClass::Auth,
        // Conflicts between transactions, resources that are used up, an operator who stops it.
        "40" | "53" | "55" | "57" | "58" | "08" => ErrorClass::Server,
        _ => ErrorClass::Handler,
    };
    Failure::new(class, format!("PostgreSQL: {} ({code})", said.message()))
}
