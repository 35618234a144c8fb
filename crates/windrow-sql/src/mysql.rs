//! MySQL and MariaDB. The driver's own `require_ssl=true` of older URLs means `sslmode=require`.

use std::path::{Path, PathBuf};

use mysql::{Conn, DriverError, Error, Opts, OptsBuilder, SslOpts};

use crate::{CONNECT, option, split};

const KNOWN: [&str; 3] = ["sslmode", "sslrootcert", "require_ssl"];
/// A server that stopped answering is noticed after this time.
const SILENCE_MS: u32 = 10_000;
#[cfg(target_os = "linux")]
const PROBE_S: u32 = 2;

#[derive(Clone)]
pub struct Address {
    opts: Opts,
    tls: Option<SslOpts>,
    /// Fall back to a connection without TLS where the server has none.
    optional: bool,
}

impl Address {
    /// `usual` is the `sslmode` of a URL that names none.
    pub fn parse(url: &str, usual: &str) -> Result<Self, String> {
        let url = url.split_once("://").map_or(url, |(_, rest)| rest);
        let (base, ours, theirs) = split(url, &KNOWN);
        if let Some((name, value)) = theirs.first() {
            return Err(format!("{name}={value}: it knows sslmode and sslrootcert"));
        }
        let mode = option(&ours, "sslmode").unwrap_or(match option(&ours, "require_ssl") {
            Some("true") => "require",
            _ => usual,
        });
        let tls = match mode {
            "disable" => None,
            "prefer" | "require" | "verify-ca" | "verify-full" => {
                let tls = SslOpts::default().with_danger_skip_domain_validation(mode == "verify-ca");
                Some(match option(&ours, "sslrootcert") {
                    Some(file) if !Path::new(file).is_file() => {
                        return Err(format!("sslrootcert={file}: file not found"));
                    }
                    Some(file) => tls.with_root_cert_path(Some(PathBuf::from(file))),
                    None => tls,
                })
            }
            other => return Err(format!("sslmode={other}: disable, prefer, require, verify-ca or verify-full")),
        };
        let opts = Opts::from_url(&format!("mysql://{base}")).map_err(|error| error.to_string())?;
        let opts = OptsBuilder::from_opts(opts)
            .prefer_socket(false)
            .tcp_connect_timeout(Some(CONNECT))
            .tcp_keepalive_time_ms(Some(SILENCE_MS));
        #[cfg(target_os = "linux")]
        let opts = opts.tcp_user_timeout_ms(Some(SILENCE_MS)).tcp_keepalive_probe_interval_secs(Some(PROBE_S));
        Ok(Self { opts: opts.into(), tls, optional: mode == "prefer" })
    }

    pub fn database(&self) -> Option<&str> {
        self.opts.get_db_name()
    }

    /// For further settings of a connection.
    pub fn options(&self) -> OptsBuilder {
        OptsBuilder::from_opts(self.opts.clone())
    }

    pub fn connect(&self, options: OptsBuilder) -> Result<Conn, Error> {
        let Some(tls) = &self.tls else { return Conn::new(options) };
        match Conn::new(options.clone().ssl_opts(tls.clone())) {
            Err(Error::DriverError(DriverError::TlsNotSupported)) if self.optional => Conn::new(options),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(url: &str) -> String {
        Address::parse(url, "prefer").err().unwrap_or_default()
    }

    #[test]
    fn a_url_says_what_is_wrong_with_it() {
        assert!(why("mysql://ann:hush@db/w?sslmode=maybe").contains("verify-full"));
        assert!(why("mysql://ann:hush@db/w?schema=x").contains("sslmode and sslrootcert"));
        assert!(why("mysql://ann:hush@db/w?sslrootcert=/nowhere.pem").contains("file not found"));
        assert_eq!(why("mariadb://ann:hush@db:3307/w?sslmode=require"), "");
    }

    #[test]
    fn the_word_of_older_urls_insists_on_tls() {
        let old = Address::parse("mysql://ann@db/w?require_ssl=true", "disable").unwrap();
        assert!(old.tls.is_some() && !old.optional);
        assert!(Address::parse("mysql://ann@db/w", "prefer").unwrap().optional);
        assert!(Address::parse("mysql://ann@db/w", "disable").unwrap().tls.is_none());
        assert_eq!(old.database(), Some("w"));
    }
}
