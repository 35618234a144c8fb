//! Connections to database servers, for sources and destinations alike. They block: whoever uses one does so
//! where blocking is allowed.

pub mod mysql;
pub mod postgres;

/// What a URL shows of itself: where it leads, and nothing that is secret.
pub fn place_of(url: &str) -> String {
    let Ok(parsed) = reqwest::Url::parse(url) else { return "sql".to_owned() };
    let port = parsed.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}{port}{}", parsed.host_str().unwrap_or("localhost"), parsed.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_no_password() {
        assert_eq!(place_of("postgres://me:hidden@db.example:5433/shop?sslmode=require"), "db.example:5433/shop");
        assert_eq!(place_of("${secret:URL}"), "sql");
    }
}
