//! Authentication settings of `windrow serve`.

pub mod keyring;

use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, ETAG, HeaderName, IF_MATCH, LOCATION, RETRY_AFTER};
use axum::http::{HeaderValue, Method};
use tower_http::cors::{AllowOrigin, CorsLayer};

pub use keyring::Keyring;

const ONE_HOUR: std::time::Duration = std::time::Duration::from_secs(3600);

pub struct AuthConfig {
    pub keyring: Keyring,
    /// Origins whose pages may send requests. None by default.
    pub cors_origins: Vec<HeaderValue>,
    /// Connections are encrypted.
    pub tls: bool,
}

impl AuthConfig {
    /// `None` where no other origin is allowed. Browsers send no cookie from there: such a page sends its key itself.
    pub fn cors(&self) -> Option<CorsLayer> {
        if self.cors_origins.is_empty() {
            return None;
        }
        let own = ["idempotency-key", "last-event-id", "x-api-key", "x-request-id", "x-windrow-workspace"];
        let sent = own.map(HeaderName::from_static).into_iter().chain([AUTHORIZATION, CONTENT_TYPE, IF_MATCH]);
        let layer = CorsLayer::new()
            .allow_origin(AllowOrigin::list(self.cors_origins.clone()))
            .allow_methods([Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE])
            .allow_headers(sent.collect::<Vec<_>>())
            .expose_headers([LOCATION, ETAG, RETRY_AFTER, HeaderName::from_static("x-request-id")])
            .max_age(ONE_HOUR);
        Some(layer)
    }
}
