//! Where connections come from: plain or through TLS, both for `axum::serve`, which ends gracefully with
//! either.

mod certificate;
mod plain;
mod tls;

pub use certificate::Certificate;
pub use plain::PlainListener;
pub use tls::TlsListener;
