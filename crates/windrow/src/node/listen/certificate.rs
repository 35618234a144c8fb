//! The TLS certificate and its key, from two PEM files. They are reloaded when they change, or on SIGHUP, so that a renewed
//! certificate needs no restart; an invalid one is reported and the previous one kept.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::signal::unix::{SignalKind, signal};

use crate::error::{Error, Exit, Result};

const LOOK_EVERY: Duration = Duration::from_secs(5);
/// gRPC needs the first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

#[derive(Debug)]
pub struct Certificate {
    chain: PathBuf,
    key: PathBuf,
    provider: Arc<CryptoProvider>,
    current: RwLock<Arc<CertifiedKey>>,
}

impl Certificate {
    pub fn load(chain: &Path, key: &Path) -> Result<Arc<Self>> {
        let provider = Arc::new(ring::default_provider());
        let current = RwLock::new(Arc::new(read(chain, key, &provider)?));
        Ok(Arc::new(Self { chain: chain.to_owned(), key: key.to_owned(), provider, current }))
    }

    pub fn config(self: Arc<Self>) -> std::result::Result<Arc<ServerConfig>, rustls::Error> {
        let builder =
            ServerConfig::builder_with_provider(self.provider.clone()).with_safe_default_protocol_versions()?;
        let mut config = builder.with_no_client_auth().with_cert_resolver(self);
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
        Ok(Arc::new(config))
    }

    /// Runs as long as the server.
    pub async fn keep_fresh(self: Arc<Self>) {
        let Ok(mut hangup) = signal(SignalKind::hangup()) else { return };
        let mut seen = self.changed_at();
        loop {
            let asked = tokio::select! {
                _ = hangup.recv() => true,
                () = tokio::time::sleep(LOOK_EVERY) => false,
            };
            let now = self.changed_at();
            if asked || now != seen {
                seen = now;
                self.reload();
            }
        }
    }

    fn changed_at(&self) -> [Option<SystemTime>; 2] {
        let changed = |path: &Path| std::fs::metadata(path).and_then(|file| file.modified()).ok();
        [changed(&self.chain), changed(&self.key)]
    }

    fn reload(&self) {
        match read(&self.chain, &self.key, &self.provider) {
            Ok(fresh) => {
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(fresh);
                eprintln!("certificate {} reloaded", self.chain.display());
            }
            Err(error) => eprint!("failed to reload the certificate, keeping the previous one: {}", error.render()),
        }
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

fn read(chain: &Path, key: &Path, provider: &CryptoProvider) -> Result<CertifiedKey> {
    let broken = |path: &Path, why: String| {
        let what = format!("cannot use {} for TLS: {why}", path.display());
        let remedy = "pass PEM files: the certificate chain with --tls-cert, and its key with --tls-key";
        Error::new(what, remedy).ending_with(Exit::Usage)
    };
    let certificates =
        CertificateDer::pem_file_iter(chain).and_then(|found| found.collect::<std::result::Result<Vec<_>, _>>());
    let certificates = certificates.map_err(|error| broken(chain, error.to_string()))?;
    if certificates.is_empty() {
        return Err(broken(chain, "no certificate found".to_owned()));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| broken(key, error.to_string()))?;
    CertifiedKey::from_der(certificates, private, provider).map_err(|error| broken(key, error.to_string()))
}
