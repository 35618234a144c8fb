//! `http://user:password@host:8123/database`. What is shown of it has no password.

use std::fmt;
use std::str::FromStr;

use reqwest::Url;

const DATABASE: &str = "default";

#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// Without credentials and database.
    pub url: Url,
    pub user: String,
    pub password: Option<String>,
    pub database: String,
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected http://user:password@host:8123/database";
        // The error of the parser may repeat the password.
        let mut url: Url = text.parse().map_err(|_| expected.to_owned())?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(expected.to_owned());
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(format!("{expected}, without parameters"));
        }
        let user = Some(decoded(url.username())).filter(|user| !user.is_empty()).unwrap_or_else(|| DATABASE.to_owned());
        let password = url.password().map(decoded);
        let database = url.path().trim_matches('/').to_owned();
        let is_name = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name(&database) {
            return Err(format!("{expected}; the name of the database has letters, digits and underscores only"));
        }
        let database = if database.is_empty() { DATABASE.to_owned() } else { database };
        let stripped = url.set_username("").and_then(|()| url.set_password(None));
        stripped.map_err(|()| expected.to_owned())?;
        url.set_path("/");
        Ok(Self { url, user, password, database })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.url, self.database)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

fn decoded(text: &str) -> String {
    let pair = format!("x={}", text.replace('+', "%2B"));
    form_urlencoded::parse(pair.as_bytes()).next().map(|(_, value)| value.into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        let address: Address = "https://ann:s3cret%40x@ch.example:8443/evals".parse().unwrap();
        assert_eq!((address.user.as_str(), address.password.as_deref()), ("ann", Some("s3cret@x")));
        assert_eq!(address.database, "evals");
        for shown in [address.to_string(), format!("{address:?}")] {
            assert_eq!(shown, "https://ch.example:8443/evals");
        }
        let plain: Address = "http://localhost:8123".parse().unwrap();
        assert_eq!((plain.user.as_str(), plain.database.as_str()), ("default", "default"));
    }

    #[test]
    fn what_is_no_address_is_rejected_without_repeating_it() {
        for wrong in ["ch:8123", "tcp://u:secret@h:9000", "http://u:secret@h:bad/", "http://h/a-b", "http://h/?x=1"] {
            let error = wrong.parse::<Address>().unwrap_err();
            assert!(error.contains("expected http://") && !error.contains("secret"), "{wrong}: {error}");
        }
    }
}
