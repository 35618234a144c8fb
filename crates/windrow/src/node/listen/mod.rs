//! Listeners for `axum::serve`: plain TCP and TLS.

mod certificate;
mod plain;
mod tls;

pub use certificate::Certificate;
pub use plain::PlainListener;
pub use tls::TlsListener;
