//! Where the database is, from its URL. Two words are ours, and mean what they mean for PostgreSQL: `sslmode`, and
//! `sslrootcert`, a file with the certificates to trust beside the public ones.

use std::path::Path;
use std::time::Duration;

use mysql::consts::CapabilityFlags;
use mysql::{Conn, DriverError, Error, Opts, OptsBuilder, SslOpts};
use windrow_model::store::{Result, StoreError};

use crate::backend::failure::StoreFailure;
use crate::backend::mysql::{Link, link, migrate};
use crate::backend::{self, Connection};

const CONNECT: Duration = Duration::from_secs(10);
/// A server that has gone without a word is noticed after this long.
const SILENCE_MS: u32 = 20_000;
/// `No such database`, in their words.
const UNKNOWN_DATABASE: u16 = 1049;

/// What the statements rely on: `||` joins texts, a backslash is nothing special, and what does not fit is an error.
const MODE: &str = "SET SESSION sql_mode = \
     'STRICT_ALL_TABLES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO'";
/// Seconds. Deadlocks are found at once; this is for one that holds a row and does not go on.
const PATIENCE: &str = "SET SESSION innodb_lock_wait_timeout = 10";
const LATEST: &str = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
const SNAPSHOT: &str = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ";

#[derive(Clone)]
pub(crate) struct Address {
    plain: Opts,
    database: String,
    tls: Option<SslOpts>,
    /// Not without TLS.
    insists: bool,
}

impl Address {
    pub fn parse(url: &str) -> Result<Self> {
        let refused = |why: String| StoreError::Unavailable(format!("the database URL is not understood: {why}"));
        let url = url.split_once("://").map_or(url, |(_, rest)| rest);
        let (place, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut mode, mut roots) = ("prefer", None);
        for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            match name {
                "sslmode" => mode = value,
                "sslrootcert" => roots = Some(value.to_owned()),
                _ => return Err(refused(format!("{name}={value}: it knows sslmode and sslrootcert"))),
            }
        }
        let opts = Opts::from_url(&format!("mysql://{place}")).map_err(|error| refused(error.to_string()))?;
        let database = opts.get_db_name().unwrap_or_default().to_owned();
        if database.is_empty() {
            return Err(refused("it names no database, like mysql://user:password@host/windrow".into()));
        }
        let tls = match mode {
            "disable" => None,
            "prefer" | "require" | "verify-ca" | "verify-full" => {
                let tls = SslOpts::default().with_danger_skip_domain_validation(mode == "verify-ca");
                Some(match roots {
                    Some(file) if !Path::new(&file).is_file() => {
                        return Err(refused(format!("sslrootcert={file}: there is no such file")));
                    }
                    Some(file) => tls.with_root_cert_path(Some(std::path::PathBuf::from(file))),
                    None => tls,
                })
            }
            other => {
                return Err(refused(format!("sslmode={other}: disable, prefer, require, verify-ca or verify-full")));
            }
        };
        let plain = OptsBuilder::from_opts(opts)
            .prefer_socket(false)
            .tcp_connect_timeout(Some(CONNECT))
            .tcp_keepalive_time_ms(Some(SILENCE_MS))
            .stmt_cache_size(2 * link::STATEMENTS)
            // An update counts the rows that it found, also those that were so already.
            .additional_capabilities(CapabilityFlags::CLIENT_FOUND_ROWS);
        #[cfg(target_os = "linux")]
        let plain = plain.tcp_user_timeout_ms(Some(SILENCE_MS));
        Ok(Self { plain: plain.into(), database, tls, insists: mode != "prefer" })
    }

    /// For verbs that write: each statement sees what is committed.
    pub fn connect_writer(&self) -> backend::Result<Connection> {
        self.connect(&[MODE, PATIENCE, LATEST])
    }

    /// For verbs that read: a transaction sees one moment.
    pub fn connect_reader(&self) -> backend::Result<Connection> {
        self.connect(&[MODE, SNAPSHOT])
    }

    fn connect(&self, settings: &[&str]) -> backend::Result<Connection> {
        let opts = OptsBuilder::from_opts(self.plain.clone()).init(settings.to_vec());
        Ok(Connection::MySql(Box::new(Link::new(self.open(opts)?))))
    }

    fn open(&self, opts: OptsBuilder) -> mysql::Result<Conn> {
        let Some(tls) = &self.tls else { return Conn::new(opts) };
        match Conn::new(opts.clone().ssl_opts(tls.clone())) {
            Err(Error::DriverError(DriverError::TlsNotSupported)) if !self.insists => Conn::new(opts),
            other => other,
        }
    }

    /// Brings the tables up to date, in a database that is made if it is missing; whoever comes second waits for the first.
    pub fn migrate(&self) -> Result<()> {
        let conn = match self.connect_writer() {
            Err(backend::Error::MySql(Error::MySqlError(told))) if told.code == UNKNOWN_DATABASE => {
                self.create_database().and_then(|()| self.connect_writer())
            }
            other => other,
        };
        migrate::migrate(&conn.map_err(StoreFailure::from)?)
    }

    fn create_database(&self) -> backend::Result<()> {
        let nowhere = OptsBuilder::from_opts(self.plain.clone()).db_name(None::<String>);
        let name = self.database.replace('`', "``");
        Link::new(self.open(nowhere)?).batch(&format!("CREATE DATABASE IF NOT EXISTS `{name}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(url: &str) -> String {
        Address::parse(url).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_url_says_what_is_wrong_with_it() {
        assert!(why("mysql://ann:hush@db").contains("names no database"));
        assert!(why("mysql://ann:hush@db/w?sslmode=maybe").contains("verify-full"));
        assert!(why("mysql://ann:hush@db/w?schema=x").contains("sslmode and sslrootcert"));
        assert!(why("mysql://ann:hush@db/w?sslrootcert=/nowhere.pem").contains("no such file"));
        assert_eq!(why("mariadb://ann:hush@db:3307/w?sslmode=require"), "");
    }
}
